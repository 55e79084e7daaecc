"""What all commands have in common."""

import json
import signal
import subprocess
import sys

import pytest

import comity as package
from comity.cli import relate
from comity.cli.main import app
from comity.errors import Permanent, Retryable

COMMANDS = [command.name or command.callback.__name__ for command in app.registered_commands]


def test_help_names_every_command(comity):
    result = comity("--help")
    assert result.code == 0
    assert {"relate", "match", "lint"} <= set(COMMANDS)
    assert all(f"  {name} " in result.out for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_shows_an_example(comity, name):
    result = comity(name, "--help")
    assert result.code == 0
    assert f"comity {name}" in result.out.split("Example", 1)[1]


def test_version(comity):
    assert comity("--version").out == f"comity {package.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["nope"], ["relate"], ["relate", "x", "y", "--nope"], ["relate", "x", "y", "--format", "xml"]]
)
def test_wrong_usage_is_bad_input(comity, arguments):
    result = comity(*arguments)
    assert result.code == 2
    assert "Usage: comity" in result.err


@pytest.mark.parametrize("arguments", [["--help"], ["match", "--help"], ["relate", "x > 1", "x > 2"]])
def test_start_loads_nothing_heavy(arguments):
    heavy = {"pyspark", "z3", "numba", "pint", "pyarrow", "pandas", "numpy"}
    script = f"""if True:
        import sys
        from comity.cli.main import run
        try:
            run({arguments!r})
        except SystemExit:
            print(sorted({heavy!r} & set(sys.modules)), file=sys.stderr)
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_import_of_the_package_loads_nothing():
    script = "import sys, comity; print(sorted(name for name in sys.modules if name.startswith('comity')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['comity']"


def test_every_public_name_can_be_imported():
    for name in package.__all__:
        assert getattr(package, name) is not None
        assert name in dir(package)
    with pytest.raises(AttributeError, match="nope"):
        package.nope  # noqa: B018


@pytest.mark.parametrize("error", [ZeroDivisionError("by\nzero"), RecursionError(), MemoryError()])
def test_unexpected_error_is_one_line_and_an_advice(comity, monkeypatch, error):
    monkeypatch.setattr(relate, "_scope", _raising(error))
    result = comity("relate", "x", "y")
    assert result.code == 70
    first, *rest = result.err.splitlines()
    assert first.startswith(f"error: unexpected {type(error).__name__}")
    assert "COMITY_DEBUG=1" in "".join(rest)


@pytest.mark.parametrize("way", ["-v", "COMITY_DEBUG"])
def test_verbose_shows_the_traceback_of_an_unexpected_error(capsys, monkeypatch, way):
    from comity.cli.main import run

    monkeypatch.setattr(relate, "_scope", _raising(ZeroDivisionError("by zero")))
    if way == "COMITY_DEBUG":
        monkeypatch.setenv("COMITY_DEBUG", "1")
    with pytest.raises(SystemExit) as exit:
        run([*(["-v"] if way == "-v" else []), "relate", "x", "y"])
    assert exit.value.code == 70
    assert "Traceback" in capsys.readouterr().err


@pytest.mark.parametrize("error", [Permanent("no", code="a"), Retryable("no", code="a"), OSError(28, "No space left")])
def test_other_errors_leave_with_1(comity, monkeypatch, error):
    monkeypatch.setattr(relate, "_scope", _raising(error))
    assert comity("relate", "x", "y").code == 1


def test_errors_as_json(comity):
    result = comity("relate", "x >", "y <", "--format", "json")
    assert (result.code, result.out) == (2, "")
    errors = json.loads(result.err)["errors"]
    assert [(error["file"], error["line"], error["column"], error["code"]) for error in errors] == [
        ("F", 1, 4, "syntax"),
        ("G", 1, 4, "syntax"),
    ]


def test_bad_limit_in_the_environment(start):
    process = start("relate", "x > 1", "x > 2", env={"COMITY_MAX_FILTER_CHARS": "many"})
    _, err = process.communicate(timeout=60)
    assert process.returncode == 2
    assert b"COMITY_MAX_FILTER_CHARS must be a whole number" in err


def test_interrupt_leaves_quietly(start, write):
    write("p.txt", "a: x > 1")
    process = start("match", "p.txt", "-", stdin=subprocess.PIPE)
    # More than a pipe holds: when all of it is written, the program is reading.
    process.stdin.write(b'{"id":"1","source":"/a","type":"T","data":{"x":0}}\n' * 20_000)
    process.stdin.flush()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err.strip() == b""


def test_broken_pipe_is_quiet(start, write):
    write("p.txt", "a: x > 1")
    line = '{"id":"%d","source":"/a","type":"T","data":{"x":2}}\n'
    write("e.jsonl", "".join(line % number for number in range(50_000)))
    process = start("match", "p.txt", "e.jsonl")
    assert process.stdout.readline() == b'{"profile":"a","event":"0"}\n'
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) in (0, 1)


def test_terminal_without_unicode(start):
    process = start("relate", "x = 'ö'", "x = 'é'", env={"PYTHONIOENCODING": "ascii"})
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, b"")
    assert b"F satisfiable" in out


def test_no_colours_outside_a_terminal(start):
    for arguments in (["relate", "x > 1", "x > 2"], ["relate", "x >", "x"]):
        out, err = start(*arguments).communicate(timeout=60)
        assert b"\x1b" not in out + err


def _raising(error):
    def fail(*_):
        raise error

    return fail
