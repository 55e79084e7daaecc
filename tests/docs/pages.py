"""The pages of the documentation, their examples, and how an example is run."""

from __future__ import annotations

import contextvars
import doctest
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from comity.cli.main import run
from tests.docs.background import WAIT_S, Jobs, Ports

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]

_BLOCK = re.compile(
    r"(?:^<!-- file: (?P<file>\S+) -->\n)?"
    r"^(?P<fence>`{3,})(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=fence)$",
    re.M | re.S,
)
_STARTS_SPARK = re.compile(r"\bspark_session\(\)|^\$ comity run (?!.*--engine)", re.M)
_SHELL = ("cat", "cp", "head", "ls", "mkdir", "sed", "sort", "wc")
"""Programs that examples may call beside comity."""


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, its text, where it stands, and the file that it is the content of."""

    language: str
    body: str
    line: int
    file: str | None

    @property
    def runs(self) -> bool:
        return self.file is not None or self.language in ("python", "console")

    @property
    def starts_spark(self) -> bool:
        return self.runs and _STARTS_SPARK.search(self.body.replace("\\\n", " ")) is not None


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("body")) + 1
        yield Block(found["language"], found["body"], line, found["file"])


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


class Reader:
    """Somebody who follows a page from top to bottom, in an empty folder that has the examples of the project."""

    def __init__(self, page: Path, folder: Path, *, make_demo: bool = False) -> None:
        self.page, self.folder, self.make_demo = page, folder, make_demo
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.jobs, self._ports = Jobs(folder), Ports()
        shutil.copytree(ROOT / "examples", folder / "examples")

    def close(self) -> None:
        """End what still runs in the background."""
        self.jobs.close()

    def follow(self, block: Block) -> None:
        if block.file is not None:
            target = self.folder / block.file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(block.body, encoding="utf-8")
        elif block.language == "python":
            self._python(block)
        else:
            self._console(block)

    def _python(self, block: Block) -> None:
        where = f"{name_of(self.page)}:{block.line}"
        body = self._ports.there(block.body)
        with _inside(self.folder):
            if ">>>" not in body:
                exec(compile(body, where, "exec"), self.names)
                return
            test = doctest.DocTestParser().get_doctest(body, self.names, where, where, block.line - 1)
            said = io.StringIO()
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE, verbose=False)
            runner.run(test, out=said.write, clear_globs=False)
            self.names.update(test.globs)
            assert not runner.failures, said.getvalue()

    def _console(self, block: Block) -> None:
        for command, expected in _commands(block.body):
            if command.startswith("make ") and not self.make_demo:
                continue
            said = self._said(expected, self._run(self._ports.there(command)))
            where = f"{name_of(self.page)}:{block.line}"
            assert _fits(expected, said), f"{where}: $ {command}\n--- the page says\n{expected}\n--- it says\n{said}"

    def _said(self, expected: str, said: str) -> str:
        """What a command said, and, if the page has more, what programs in the background say meanwhile."""
        said = self._ports.told(said)
        if _fits(expected, said):
            return said
        until = time.monotonic() + WAIT_S
        while not _fits(expected, both := said + self._ports.told(self.jobs.new())) and time.monotonic() < until:
            if self.jobs.are_none():
                break
            self.jobs.wait()
        self.jobs.hear()
        return both

    def _run(self, command: str) -> str:
        words = shlex.split({"make demo": "comity demo"}.get(command, command))
        settings = dict(word.split("=", 1) for word in words if re.match(r"COMITY_\w+=", word))
        words = words[len(settings) :]
        if words[0] == "kill":
            self.jobs.kill(words)
            return ""
        if words[-1] == "&":
            assert words[0] == "comity", f"an example starts {words[0]}"
            self.jobs.start(words[1:-1])
            return ""
        with _inside(self.folder), mock.patch.dict(os.environ, settings):
            if words[0] == "comity":
                return _comity(words[1:])
            assert words[0] in _SHELL, f"an example calls {words[0]}"
            done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, encoding="utf-8", check=False)
            return done.stdout + done.stderr


def _commands(body: str) -> Iterator[tuple[str, str]]:
    """Each command with the output below it; a command goes on in the next line after a backslash."""
    parts = re.split(r"^\$ ", body.replace("\\\n", " "), flags=re.M)
    assert not parts[0].strip(), "a console block begins with a command"
    for part in parts[1:]:
        command, _, output = part.partition("\n")
        yield " ".join(command.split()) if "'" not in command and '"' not in command else command.strip(), output


def _fits(expected: str, said: str) -> bool:
    """Whether the output is that of the page: … in a line stands for a part of it, and alone for any lines."""
    wanted, found = ("".join(f"{line.rstrip()}\n" for line in text.strip().splitlines()) for text in (expected, said))
    pattern = "".join(_line_pattern(line) for line in wanted.splitlines())
    return re.fullmatch(pattern, found) is not None


def _line_pattern(line: str) -> str:
    if line.strip(" │") == "…":
        return "(?:.*\n)*?"
    return ".*?".join(re.escape(part) for part in line.split("…")) + "\n"


def _comity(arguments: list[str]) -> str:
    """What the program says, on both streams."""
    said = io.BytesIO()
    streams = [io.TextIOWrapper(said, encoding="utf-8", write_through=True) for _ in range(2)]

    def call() -> None:
        with suppress(SystemExit):
            run(arguments)

    # Settings of the environment are read once in a context, so each call has its own.
    with redirect_stdout(streams[0]), redirect_stderr(streams[1]):
        contextvars.Context().run(call)
    text = said.getvalue().decode()
    for stream in streams:
        stream.detach()
    return text


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def generator() -> Any:
    """The module that makes the reference."""
    if str(DOCS) not in sys.path:
        sys.path.insert(0, str(DOCS))
    import generate

    return generate
