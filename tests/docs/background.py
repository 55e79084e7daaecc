"""Programs that a page starts with `&`: they run beside what comes next, and what they say is said then.

A page has its ports: those that it names are exchanged for free ones, so that two readers are not in each other's way.
"""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

WAIT_S = 60.0
"""How long something may take to be said, on a machine with much else to do."""
_NAP_S = 0.02
_PORT = re.compile(r"\b747\d\b")


class Jobs:
    """The programs in the background of one reader, numbered from 1 as a shell does."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._jobs: list[subprocess.Popen[bytes]] = []
        self._said = folder / ".said"
        self._told = 0

    def start(self, words: list[str]) -> None:
        """Run `comity` with its arguments."""
        with self._said.open("ab") as stream:
            command = [sys.executable, "-m", "comity", *words]
            job = subprocess.Popen(command, cwd=self._folder, stdout=stream, stderr=stream, stdin=subprocess.DEVNULL)
        self._jobs.append(job)

    def kill(self, words: list[str]) -> None:
        """`kill %1`, `kill -9 %2`: end jobs, and wait until they have."""
        number = signal.SIGKILL if "-9" in words else signal.SIGTERM
        for word in words:
            if word.startswith("%"):
                job = self._jobs[int(word[1:]) - 1]
                job.send_signal(number)
                job.wait(WAIT_S)

    def new(self) -> str:
        """What was said since somebody heard it."""
        if not self._said.exists():
            return ""
        return self._said.read_bytes()[self._told :].decode(errors="replace")

    def hear(self) -> None:
        """What was said until now is heard."""
        self._told += len(self.new().encode())

    def are_none(self) -> bool:
        """Whether nothing was started."""
        return not self._jobs

    def wait(self) -> None:
        time.sleep(_NAP_S)

    def close(self) -> None:
        """End them all."""
        for job in self._jobs:
            if job.poll() is None:
                job.kill()
                job.wait()


class Ports:
    """For each port that a page names a free one."""

    def __init__(self) -> None:
        self._free: dict[str, str] = {}

    def there(self, text: str) -> str:
        """The text of a page with the ports that are there."""
        return _PORT.sub(lambda found: self._free.setdefault(found[0], _free_port()), text)

    def told(self, text: str) -> str:
        """What was said, with the ports of the page."""
        for port, free in self._free.items():
            text = re.sub(rf"\b{free}\b", port, text)
        return text


def _free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return str(listener.getsockname()[1])
