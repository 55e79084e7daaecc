"""Whose a results folder is, what is removed from it, and what a run that fails leaves there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from comity.connect.claim import LOCK, RUN_FILE, claimed_folder, lock_folder, locked_folder, shared_for_replay
from comity.errors import Misuse

RESULTS = ("house/part-00000.jsonl", "house/batch-00000001-00000.jsonl", "dead-letters/house/door.jsonl", ".sent/x")


def fill(out: Path, *names: str) -> None:
    for name in names:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text("kept")


def content(out: Path) -> set[str]:
    return {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}


def claim(out: Path, *, overwrite: bool = False, goes_on: bool = False) -> None:
    with claimed_folder(out, overwrite=overwrite, goes_on=goes_on):
        assert (out / LOCK).is_file()


def refusal(out: Path, *, overwrite: bool = False, goes_on: bool = False) -> str:
    before = content(out)
    with pytest.raises(Misuse) as refused:
        claim(out, overwrite=overwrite, goes_on=goes_on)
    assert content(out) == before
    return refused.value.code


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_folder_that_another_one_has_is_neither_emptied_nor_touched(tmp_path: Path, goes_on: bool) -> None:
    fill(tmp_path, *RESULTS, ".staging/to=house/part-1")
    with locked_folder(tmp_path):
        assert refusal(tmp_path, overwrite=True, goes_on=goes_on) == "folder-in-use"
    fill(tmp_path, RUN_FILE)
    claim(tmp_path, overwrite=True)
    assert content(tmp_path) == set()


def test_a_fresh_folder_that_another_one_has_is_not_withdrawn_from_under_it(tmp_path: Path) -> None:
    fill(tmp_path, ".staging/to=house/part-1", RUN_FILE)
    with locked_folder(tmp_path):
        assert refusal(tmp_path) == "folder-in-use"


def test_a_folder_from_which_dead_letters_are_replayed_is_not_emptied_but_may_be_written(tmp_path: Path) -> None:
    fill(tmp_path, *RESULTS)
    with shared_for_replay(tmp_path):
        with shared_for_replay(tmp_path):
            pass
        assert refusal(tmp_path, overwrite=True) == "folder-in-use"
        claim(tmp_path, goes_on=True)
    claim(tmp_path, overwrite=True)
    assert content(tmp_path) == set()


def test_what_has_the_folder_may_lock_it_again_and_nobody_else(tmp_path: Path) -> None:
    with claimed_folder(tmp_path / "out", overwrite=False):
        lock_folder(tmp_path / "out").close()
        _, status = os.waitpid(_try_in_another_process(tmp_path / "out"), 0)
        assert os.waitstatus_to_exitcode(status) == 3
    first = lock_folder(tmp_path / "out")
    with pytest.raises(Misuse, match="working on this folder"):
        lock_folder(tmp_path / "out")
    first.close()
    first.close()
    assert content(tmp_path / "out") == set()


_TRYING = """
import sys
from pathlib import Path
from comity.connect.claim import lock_folder
from comity.errors import Misuse
try:
    lock_folder(Path(sys.argv[1]))
except Misuse:
    sys.exit(3)
"""


def _try_in_another_process(out: Path) -> int:
    return subprocess.Popen([sys.executable, "-c", _TRYING, str(out)]).pid


def test_a_lock_whose_file_was_removed_is_not_taken_for_one(tmp_path: Path) -> None:
    """The holder removes the file; whoever had opened it before must not believe to have the folder."""
    lock = lock_folder(tmp_path)
    (tmp_path / LOCK).unlink()
    second = lock_folder(tmp_path)
    with pytest.raises(Misuse):
        lock_folder(tmp_path)
    second.close()
    lock.close()


def interrupt(out: Path, *names: str) -> None:
    """A run that is interrupted when it has written these files."""
    with claimed_folder(out, overwrite=False):
        (out / "rejected").mkdir()
        fill(out, *names)
        raise KeyboardInterrupt


def test_a_block_that_fails_leaves_no_folder_that_was_not_there(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(tmp_path / "a" / "b", ".staging/to=house/part-1", ".landing/stdin.jsonl", RUN_FILE)
    assert list(tmp_path.iterdir()) == []


def test_a_block_that_fails_behind_its_results_leaves_them(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(tmp_path / "a", RUN_FILE, RESULTS[0])
    assert content(tmp_path / "a") == {RUN_FILE, RESULTS[0]}


def test_what_a_run_leaves_that_was_killed_before_its_results_counts_as_nothing(tmp_path: Path) -> None:
    fill(tmp_path, RUN_FILE, LOCK, ".staging/to=house/part-1", ".backtest-x/y", ".landing/stdin.jsonl")
    fill(tmp_path, ".staging-candidates/bucket=1/x")
    claim(tmp_path)
    assert content(tmp_path) == set()


@pytest.mark.parametrize("name", [".landing/house-door/landed-000000000001.jsonl", ".checkpoint/offsets/0", "x.txt"])
def test_what_is_worth_something_is_not_taken_for_a_leftover(tmp_path: Path, name: str) -> None:
    fill(tmp_path, name)
    assert refusal(tmp_path) == "not-empty"
    claim(tmp_path, goes_on=True)
    assert content(tmp_path) == {name}


def test_results_of_a_run_that_was_killed_while_it_published_are_not_taken_for_whole_ones(tmp_path: Path) -> None:
    fill(tmp_path, RESULTS[0], ".staging/to=house/part-2")
    with pytest.raises(Misuse, match="not complete") as refused:
        claim(tmp_path)
    assert "--overwrite" in (refused.value.hint or "")
    claim(tmp_path, overwrite=True)
    assert content(tmp_path) == set()


def test_a_file_that_no_run_wrote_is_not_removed(tmp_path: Path) -> None:
    fill(tmp_path, *RESULTS, "notes.txt")
    assert refusal(tmp_path, overwrite=True) == "foreign-file"


@pytest.mark.parametrize(("overwrite", "goes_on"), [(False, False), (True, False), (False, True)])
def test_results_do_not_stand_in_one_another(tmp_path: Path, overwrite: bool, goes_on: bool) -> None:
    """A batch removes what an earlier attempt wrote by its name, wherever that is; and emptying takes all."""
    inner = tmp_path / "house"
    with claimed_folder(tmp_path, overwrite=False):
        fill(tmp_path, *RESULTS)
        assert refusal(inner, overwrite=overwrite, goes_on=goes_on) == "folder-in-use"
        fill(tmp_path, RUN_FILE)
    assert refusal(inner, overwrite=overwrite, goes_on=goes_on) == "folder-in-use"
    assert refusal(inner / "further" / "in", overwrite=overwrite, goes_on=goes_on) == "folder-in-use"
    (tmp_path / RUN_FILE).unlink()
    with claimed_folder(inner, overwrite=True):
        fill(inner, *RESULTS)
        assert refusal(tmp_path, overwrite=overwrite, goes_on=goes_on) == "foreign-file"


@pytest.mark.parametrize("mark", [RUN_FILE, LOCK, ".checkpoint/offsets/0", ".delivered.db"])
def test_results_deep_inside_are_not_removed_with_those_around_them(tmp_path: Path, mark: str) -> None:
    fill(tmp_path, *RESULTS, f"years/2026/{mark}", "years/2026/house/part-00000.jsonl")
    assert refusal(tmp_path, overwrite=True) == "foreign-file"


def test_a_lock_of_something_else_above_it_is_none_of_ours(tmp_path: Path) -> None:
    fill(tmp_path, LOCK)
    claim(tmp_path / "out")
