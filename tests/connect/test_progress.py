"""What was sent, as a crash leaves it."""

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.connect.test_dead_letters import letter

from comity.connect.dead_letters import append_dead_letters
from comity.connect.identity import key_digest
from comity.connect.progress import KeyLog, KnownKeys, sink_progress
from comity.errors import Retryable

DIGESTS = st.lists(st.binary(min_size=16, max_size=16) | st.just(bytes(16)) | st.just(b"a" + bytes(15)))


@given(known=DIGESTS, others=DIGESTS)
def test_known_keys_are_a_set(known, others):
    keys = KnownKeys(b"".join(known))
    for digest in (*known, *others):
        assert (digest in keys) == (digest in set(known))


def test_key_log_survives_a_torn_write(tmp_path):
    log = KeyLog(tmp_path / "one.keys")
    log.add(["a", "b"])
    log.close()
    with log.path.open("ab") as stream:
        stream.write(key_digest("c")[:7])
    again = KeyLog(log.path)
    again.add(["d"])
    known = again.known()
    assert [key_digest(key) in known for key in "abcd"] == [True, True, False, True]
    again.close()


def test_finish_replaces_keys_by_a_mark(tmp_path):
    with sink_progress(tmp_path, "house_a", "screen") as progress:
        log, known = progress.begin("batch", 7)
        log.add(["a"])
        log.close()
        progress.finish("batch", 7)
        assert key_digest("a") not in known
    with sink_progress(tmp_path, "house_a", "screen") as progress:
        assert [progress.is_done("batch", number) for number in (6, 7, 8)] == [True, True, False]
        assert not progress.is_done("part", 0)
        assert sorted(path.name for path in progress.folder.iterdir()) == ["done", "lock"]


def test_begin_again_knows_dead_letters_that_were_not_noted(tmp_path):
    with sink_progress(tmp_path, "house_a", "screen") as progress:
        log, _ = progress.begin("batch", 0)
        log.add(["a"])
        log.close()
        append_dead_letters(progress.dead_letters, [letter(1)])
    with sink_progress(tmp_path, "house_a", "screen") as progress:
        log, known = progress.begin("batch", 0)
        log.close()
        assert key_digest("a") in known
        assert key_digest(letter(1).key) in known


def test_sink_progress_is_for_one_at_a_time(tmp_path):
    entered, leave, asked = threading.Event(), threading.Event(), []

    def hold():
        with sink_progress(tmp_path, "house_a", "screen"):
            entered.set()
            leave.wait(10)

    holder = threading.Thread(target=hold)
    holder.start()
    assert entered.wait(10)
    with pytest.raises(Retryable) as caught, sink_progress(tmp_path, "house_a", "screen", lambda: True):
        pass
    assert caught.value.code == "sink-in-use"

    def let_go():
        asked.append(leave.set())
        return False

    with sink_progress(tmp_path, "house_a", "screen", let_go):
        assert asked
    holder.join()


def test_sink_progress_of_a_folder_that_cannot_be_written(tmp_path):
    if os.geteuid() == 0:
        (tmp_path / ".sent").write_text("in the way")
    else:
        tmp_path.chmod(0o500)
    with pytest.raises(OSError), sink_progress(tmp_path, "house_a", "screen"):
        pass
