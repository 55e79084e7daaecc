"""Writes the parts of the reference that come from the code, or says that they no longer fit it.

`python docs/generate.py` writes them, `python docs/generate.py --check` leaves with 1 if a page is stale. A page is
made as a whole (`cli.md`, `limits.md`, `errors.md`, `python.md`) or between two marks in a page that people write.
The pictures of the tutorial on patterns are drawn by `pictures.py`, that of the README by `overview.py`.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from enum import Enum
from functools import partial
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any

import overview
import pictures
import typer
import yaml

import comity
from comity.cli.main import app
from comity.expression.constraints import CONSTRAINTS
from comity.expression.functions import FUNCTIONS
from comity.expression.render import KEYWORDS
from comity.limits import Limits
from comity.node.api.table import ROUTES

DOCS = Path(__file__).parent
REFERENCE = DOCS / "reference"
SOURCE = Path(comity.__file__).parent

_MADE = "<!-- Made by docs/generate.py from {source}: change that, and run `python docs/generate.py`. -->\n"


# The command line

_CLI_TEXT = """\
Results go to standard output or to the files that you name, messages to standard error. Exit codes: 0 all went well,
1 it failed, 2 the input is wrong, 70 a bug in Comity, 130 interrupted, 143 ended by SIGTERM. `--format json` gives
results and errors as JSON; the shape of an error is on the page of [error codes](errors.md).
"""


def cli_page() -> str:
    """Every command with its arguments and options."""
    root: Any = typer.main.get_command(app)
    parts = [
        "# Command line\n",
        _MADE.format(source="src/comity/cli"),
        f"{root.help}\n",
        _CLI_TEXT,
        "## Options of every call\n",
        _options(root),
    ]
    for name, command in _commands(root):
        parts += [f"## comity {name}\n", *_command(name, command)]
    return "\n".join(parts)


def _commands(group: Any, lead: str = "") -> Iterator[tuple[str, Any]]:
    """The commands of a group, each followed by those below it."""
    for name, command in group.commands.items():
        yield lead + name, command
        if hasattr(command, "commands"):
            yield from _commands(command, f"{lead}{name} ")


def _command(name: str, command: Any) -> Iterator[str]:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    metavars = " ".join(one.metavar or one.name.upper() for one in arguments)
    yield f"```text\ncomity {name} {metavars}".rstrip() + " [OPTIONS]\n```\n"
    yield f"{_flowing(command.help)}\n"
    if arguments:
        rows = [f"| `{one.metavar}` | {_cell(one.help or '')} |" for one in arguments]
        yield "\n".join(["| argument | |", "|---|---|", *rows, ""])
    yield _options(command)
    if command.epilog:
        example = command.epilog.removeprefix("Example:").strip()
        yield f"Example:\n\n```sh\n{example}\n```\n"


def _options(command: Any) -> str:
    options = [one for one in command.params if one.param_type_name == "option" and one.name not in _COMPLETION]
    rows = [f"| {_names(one)} | {_cell(one.help or '')}{_default(one)} |" for one in options]
    return "\n".join(["| option | |", "|---|---|", *rows, ""]) if rows else ""


_COMPLETION = {"help", "install_completion", "show_completion"}


def _names(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    if isinstance(option.default, Enum):
        return f"{names} {' or '.join(f'`{one.value}`' for one in type(option.default))}"
    return names if option.is_flag or not option.metavar else f"{names} `{option.metavar}`"


def _default(option: Any) -> str:
    value = getattr(option.default, "value", option.default)
    if option.required:
        return " Required."
    return f" Default: `{value}`." if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _flowing(text: str) -> str:
    """Help texts break their lines for the source; a page does not need that."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(" ".join(part.split()) for part in paragraphs)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


# Limits

_LIMITS_TEXT = """\
Everything that could grow without end has a bound, and every bound is here. What is beyond one is refused or rejected
with a clear reason; nothing is cut silently. [Set limits](../how-to/set-limits.md) shows how. A value is a whole number
above zero. In Python, `comity.limits.limited(name=value)` sets it for a `with` block.
"""


def limits_page() -> str:
    """Every bound with its default and its variable."""
    said = _attribute_docs(SOURCE / "limits.py", "Limits")
    rows = [
        f"| `{one.name}` | {one.default:,} | {said[one.name]} | `COMITY_{one.name.upper()}` |" for one in fields(Limits)
    ]
    return "\n".join(
        [
            "# Limits\n",
            _MADE.format(source="src/comity/limits.py"),
            _LIMITS_TEXT,
            "| name | default | what it bounds | environment variable |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _attribute_docs(path: Path, class_name: str) -> dict[str, str]:
    """The text below each attribute of a class."""
    module = ast.parse(path.read_text(encoding="utf-8"))
    body = next(one.body for one in module.body if isinstance(one, ast.ClassDef) and one.name == class_name)
    found: dict[str, str] = {}
    for attribute, text in pairwise(body):
        if isinstance(attribute, ast.AnnAssign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            found[ast.unparse(attribute.target)] = _cell(str(text.value.value))
    return found


# Error codes

_ERRORS_TEXT = """\
An error has a code for programs, and a message, a place and often a hint for people. On the command line an error is
printed as `place: message [code]`; with `--format json` errors are
`{"errors": [{"code": …, "message": …, "file": …, "line": …, "column": …, "path": …, "hint": …}]}`, keys without a value
left out. In Python, `Misuse` (mend the input), `Retryable` (try again) and `Permanent` (neither helps) are the three
branches of `ComityError`, and `Faults` is a `Misuse` that holds several.
"""
_RECORDS_TEXT = """\
A record that is no event, or does not fit its type, is rejected alone; the records beside it go on. It is kept as
`{"file": …, "line": …, "raw": …, "faults": [{"path": …, "value": …, "reason": …, "code": …}]}` with every fault that it
has (the first 100).
"""
_CODE_AT = {"Fault": 3, "fault": 3, "_UnfitError": 1, "_fault": 2}
"""Where the code stands among the positional arguments of the functions that take one."""


def codes_in_source() -> dict[str, set[str]]:
    """Every code in the source, with the packages that use it."""
    found: dict[str, set[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        if "testing" in path.parts:
            continue
        package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            for code in _codes(call) if isinstance(call, ast.Call) else ():
                found.setdefault(code, set()).add(package)
    return found


def _codes(call: ast.Call) -> Iterator[str]:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    at = 2 if isinstance(call.func, ast.Attribute) and name == "fault" else _CODE_AT.get(name)
    if not given and at is not None and len(call.args) > at:
        given = [call.args[at]]
    for value in given:
        choices = [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
        yield from (one.value for one in choices if isinstance(one, ast.Constant) and isinstance(one.value, str))


def errors_page() -> str:
    """Every code with its meaning."""
    meanings = error_meanings()
    parts = [
        "# Error codes\n",
        _MADE.format(source="the codes in src/comity and docs/error_meanings.yaml"),
        _ERRORS_TEXT,
        "## Errors\n",
        *_code_table(meanings["errors"]),
        "## Reasons of rejected records\n",
        _RECORDS_TEXT,
        *_code_table(meanings["records"]),
    ]
    return "\n".join(parts)


def error_meanings() -> dict[str, Any]:
    """What the codes mean: `errors` and `records` by code; `computed` are those that no constant spells."""
    return dict(yaml.safe_load((DOCS / "error_meanings.yaml").read_text(encoding="utf-8")))


def _code_table(meanings: dict[str, str]) -> Iterator[str]:
    yield "| code | meaning, and what to do |\n|---|---|"
    yield from (f"| `{code}` | {meanings[code]} |" for code in sorted(meanings))
    yield ""


# Python


def python_page() -> str:
    """Every public name with what it is."""
    rows = [f"| `{name}` | {_cell(_first_sentence(_public(name)))} |" for name in sorted(comity.__all__)]
    jobs = import_module("comity.spark")
    spark = [f"| `{name}` | {_cell(_first_sentence(getattr(jobs, name)))} |" for name in jobs.__all__]
    return "\n".join(
        [
            "# Python\n",
            _MADE.format(source="src/comity/__init__.py"),
            _PYTHON_TEXT,
            "| name | |",
            "|---|---|",
            *rows,
            "",
            _SPARK_TEXT,
            "| name | |",
            "|---|---|",
            *spark,
            "",
        ]
    )


_SPARK_TEXT = """\
## In a Spark job

`import comity.spark as cs`: DataFrames in, DataFrames out. How, is on
[use Comity in your Spark job](../how-to/use-in-your-spark-job.md).
"""

_PYTHON_TEXT = """\
`from comity import Filter, …`. These names are stable; each has a docstring with an example. How they go together is on
[use Comity from Python](../how-to/use-from-python.md).
"""


def _public(name: str) -> Any:
    """The thing itself: `comity.run` is the function's package when that was imported first."""
    return getattr(import_module(comity._HOMES[name]), name)


def _first_sentence(thing: Any) -> str:
    paragraph = (thing.__doc__ or "").strip().split("\n\n")[0]
    return " ".join(paragraph.split())


# The expression language, and that of patterns


def keywords_part() -> str:
    """The words that cannot be used as names without backticks."""
    return ", ".join(f"`{word}`" for word in sorted(KEYWORDS)) + "\n"


def grammar_part(package: str = "expression") -> str:
    """The grammar without its comments."""
    text = (SOURCE / package / "grammar.lark").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("//")]
    return "```lark\n" + "\n".join(lines).strip() + "\n```\n"


def functions_part() -> str:
    """Every function with what it takes."""
    rows = [
        f"| `{one.name}({_parameters(one)})` | {_cell(one.summary)} |"
        for one in sorted(FUNCTIONS.values(), key=lambda one: one.name)
    ]
    return "\n".join(["| function | gives |", "|---|---|", *rows, ""])


def _parameters(function: Any) -> str:
    kinds = [" or ".join(sorted(taken)) for taken in function.takes]
    first_optional = len(kinds) - function.optional
    return ", ".join(f"[{kind}]" if at >= first_optional else kind for at, kind in enumerate(kinds))


def constraints_part() -> str:
    """Every constraint class that comes with Comity."""
    rows = [f"| `x in {one.name}({', '.join(one.parameters)})` |" for one in CONSTRAINTS.values()]
    return "\n".join(["| constraint class |", "|---|", *rows, ""])


def requests_part() -> str:
    """Every request to an event server."""
    rows = [
        f"| {'*' if one.is_public else ''}`{one.method} {one.path}`{'*' if one.is_public else ''} | {one.about} "
        f"| {', '.join(f'`{own.name}`' for own in one.parameters)} |"
        for one in ROUTES
    ]
    return "\n".join(["| request | | parameters |", "|---|---|---|", *rows, ""])


PAGES: dict[Path, Callable[[], str]] = {
    REFERENCE / "cli.md": cli_page,
    REFERENCE / "limits.md": limits_page,
    REFERENCE / "errors.md": errors_page,
    REFERENCE / "python.md": python_page,
}
PARTS: dict[Path, dict[str, Callable[[], str]]] = {
    REFERENCE / "expressions.md": {
        "keywords": keywords_part,
        "grammar": grammar_part,
        "functions": functions_part,
        "constraints": constraints_part,
    },
    REFERENCE / "event-server.md": {"requests": requests_part},
    REFERENCE / "patterns.md": {"grammar": partial(grammar_part, "pattern/text")},
}


def everything() -> dict[Path, str]:
    """What each page and picture should hold now."""
    whole = {path: make() for path, make in PAGES.items()}
    return {**whole, **{path: _with_parts(path) for path in PARTS}, **pictures.pictures(), **overview.picture()}


def _with_parts(path: Path) -> str:
    text = path.read_text(encoding="utf-8")
    for name, make in PARTS[path].items():
        begin, end = f"<!-- made: {name} -->\n", "<!-- end -->"
        before, found, rest = text.partition(begin)
        if not found:
            raise SystemExit(f"{path.name} has no mark {begin.strip()}")
        text = before + begin + make() + end + rest.partition(end)[2]
    return text


def stale() -> dict[Path, str | None]:
    """The files that no longer fit the code, with what they should hold; None for pictures that no page shows."""
    wanted = everything()
    old: dict[Path, str | None] = {
        path: text for path, text in wanted.items() if not path.exists() or path.read_text(encoding="utf-8") != text
    }
    return {**old, **dict.fromkeys(pictures.stray())}


def main() -> None:
    old = stale()
    if "--check" in sys.argv[1:]:
        names = ", ".join(str(path.relative_to(DOCS)) for path in old)
        sys.exit(f"stale: {names}; run `python docs/generate.py`" if old else 0)
    for path, text in old.items():
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        print(f"{'removed' if text is None else 'wrote'} {path.relative_to(DOCS)}")


if __name__ == "__main__":
    main()
