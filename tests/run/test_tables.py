"""Tables as results of a run: what does not work with them is said before anything is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from comity.cli.main import run as comity

TWO_HOUSES = Path(__file__).parents[2] / "examples" / "two_houses"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (("--results", "delta", "--engine", "local"), "no-local-tables"),
        (("--results", "delta", "--engine", "local", "--stream"), "no-local-tables"),
        (("--results", "delta", "--print"), "no-sinks-of-tables"),
        (("--typed",), "not-typed"),
    ],
)
def test_what_does_not_work_is_refused(
    options: tuple[str, ...], code: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    arguments = ["run", str(TWO_HOUSES), "--events", str(TWO_HOUSES / "events"), "--out", str(out), *options]
    with pytest.raises(SystemExit) as ended:
        comity(arguments)
    assert ended.value.code == 2
    assert f"[{code}]" in capsys.readouterr().err.replace("\n", " ")
    assert not out.exists()
