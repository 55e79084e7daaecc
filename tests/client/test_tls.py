"""TLS from the client's side: who is trusted, and what is told when somebody is not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
import trustme

import comity
from comity.errors import ComityError, Misuse
from comity.server.settings import TlsFiles
from tests.client.test_session import broker, take
from tests.server.peers import line


@dataclass(frozen=True)
class Files:
    """PEM files of an authority."""

    authority: trustme.CA
    folder: Path

    @property
    def ca(self) -> Path:
        path = self.folder / "ca.pem"
        self.authority.cert_pem.write_to_path(path)
        return path

    def certificate(self, *names: str) -> Path:
        """A certificate for somebody, with its key in one file."""
        path = self.folder / f"{names[0]}.pem"
        self.authority.issue_cert(*names).private_key_and_cert_chain_pem.write_to_path(path)
        return path

    def of_broker(self, *names: str) -> TlsFiles:
        certificate = self.certificate(*names)
        return TlsFiles(certificate, certificate, self.ca)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(trustme.CA(), tmp_path_factory.mktemp("tls"))


async def test_events_go_over_tls(files: Files) -> None:
    async with broker(tls=files.of_broker("north", "127.0.0.1")) as node:
        door = comity.connect(f"comitys://{node.address}", authorities=files.ca, certificate=files.certificate("ann"))
        async with door as client:
            subscription = await client.subscribe()
            await client.publish(line(7))
            assert await take(subscription, 1) == [7]


async def test_certificate_may_name_the_broker_instead_of_the_host(files: Files) -> None:
    async with broker(tls=files.of_broker("north")) as node:
        url, ours = f"comitys://{node.address}", files.certificate("ann")
        with pytest.raises(ComityError, match="wrong-certificate") as told:
            async with comity.connect(url, authorities=files.ca, certificate=ours):
                pass
        assert "--broker" in str(told.value.hint)
        async with comity.connect(url, authorities=files.ca, certificate=ours, broker="north") as client:
            assert client.broker == "north"


async def test_authority_that_is_not_trusted_is_told(files: Files, tmp_path: Path) -> None:
    others = Files(trustme.CA(), tmp_path)
    async with broker(tls=files.of_broker("north", "127.0.0.1")) as node:
        with pytest.raises(ComityError, match="wrong-certificate"):
            async with comity.connect(f"comitys://{node.address}", authorities=others.ca):
                pass


async def test_client_without_a_certificate_is_not_let_in(files: Files) -> None:
    async with broker(tls=files.of_broker("north", "127.0.0.1")) as node:
        with pytest.raises(ComityError):
            async with comity.connect(f"comitys://{node.address}", authorities=files.ca):
                pass


async def test_plain_and_secured_do_not_meet(files: Files) -> None:
    async with broker(tls=files.of_broker("north", "127.0.0.1")) as node:
        with pytest.raises(ComityError):
            async with comity.connect(f"comity://{node.address}", timeout_s=1.0):
                pass
    async with broker() as node:
        with pytest.raises(ComityError):
            async with comity.connect(f"comitys://{node.address}", authorities=files.ca, timeout_s=1.0):
                pass


async def test_files_that_are_none_are_told(files: Files, tmp_path: Path) -> None:
    letter = tmp_path / "letter.pem"
    letter.write_text("Dear authority,")
    for more in ({"authorities": letter}, {"authorities": files.ca, "certificate": letter}, {"authorities": "none"}):
        with pytest.raises(Misuse, match="bad-certificate"):
            async with comity.connect("comitys://127.0.0.1:1", **more):
                pass
