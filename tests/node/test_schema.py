"""schemathesis, as a program, over the OpenAPI document of a running node: no answer is missing there."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROFILE
from tests.node.clients import people, running

pytestmark = pytest.mark.slow
_EXAMPLES = 100 if PROFILE == "nightly" else 5
_CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
_LEFT_OUT = ("/v1/notifications", "/v1/account", "/v1/logout")
"""A stream, and what would end the account by which it asks."""


async def _token(url: str) -> str:
    async with people(url, "tester") as (tester,):
        return tester.headers["Authorization"]


def test_every_answer_is_one_that_the_document_tells(tmp_path: Path) -> None:
    with running(tmp_path / "house") as node:
        token = asyncio.run(_token(node.url))
        left_out = [word for path in _LEFT_OUT for word in ("--exclude-path", path)]
        program = Path(sys.executable).with_name("st")
        command = [str(program), "run", f"{node.url}/openapi.json", "-H", f"Authorization: {token}", *left_out]
        bounds = ["--max-examples", str(_EXAMPLES), "--request-timeout", "30", "--generation-database", "none"]
        phases = ["--phases", "coverage,fuzzing", "--checks", _CHECKS]
        done = subprocess.run([*command, *bounds, *phases], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4_000:]
