"""Runs a program for as long as its owner lives, and removes a folder when the owner is gone.

    python keeper.py FOLDER ORPHAN_GRACE_S STOP_GRACE_S COMMAND …

The owner holds the other end of our standard input. A byte there says that the program is about to be ended; the end
of it, that the owner has gone or will not wait any longer, and then the program's own input is closed, too, which asks
it to end. Java in trouble does not: with its memory full it collects garbage for half an hour before it comes to its
shutdown, and whoever waits for an answer waits as long. So what is still there after the grace time is killed, and by
us, since the owner may be waiting, or dead. This is a script that needs nothing but Python: it is there for as long as
Spark is.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading

OWNER = os.getppid()


def keep(folder: str, orphan_grace_s: float, stop_grace_s: float, command: list[str]) -> int:
    """The exit code of the program."""
    # When its owner has died, a group with a stopped process in it is told to hang up.
    signal.signal(signal.SIGHUP, lambda number, frame: None)
    program = subprocess.Popen(command, stdin=subprocess.PIPE)
    threading.Thread(target=_listen, args=(program, orphan_grace_s, stop_grace_s), daemon=True).start()
    code = program.wait()
    if os.getppid() != OWNER:  # an owner that lives removes its files itself
        shutil.rmtree(folder, ignore_errors=True)
        os.killpg(0, signal.SIGKILL)  # and whatever the program has left in our group
    return code if code >= 0 else 128 - code


def _listen(program: subprocess.Popen[bytes], orphan_grace_s: float, stop_grace_s: float) -> None:
    while os.read(0, 1024):
        _kill_after(stop_grace_s, program)
    assert program.stdin is not None, "it was opened with a pipe"
    program.stdin.close()
    _kill_after(orphan_grace_s, program)


def _kill_after(grace_s: float, program: subprocess.Popen[bytes]) -> None:
    timer = threading.Timer(grace_s, program.kill)
    timer.daemon = True
    timer.start()


if __name__ == "__main__":
    sys.exit(keep(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]))
