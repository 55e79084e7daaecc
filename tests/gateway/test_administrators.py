"""Administrators with folders of their own make, change, join and leave a contract through a real broker."""

from __future__ import annotations

import asyncio
import stat
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

import comity
from comity.errors import ComityError, Misuse
from comity.federation import load
from comity.gateway.agreements import ContractState, agreements
from comity.gateway.keys import DomainKey, IdentityDocument
from comity.gateway.messages import ContractConsent, GatewayMessage, MessageSender, encode_gateway_message
from comity.run.gateway import administer
from comity.run.gateway.clock import now
from comity.run.gateway.exchange import MESSAGE_TYPE
from comity.run.gateway.folder import GatewayFolder, GatewaySettings, make_gateway, open_gateway
from comity.testing.brokers import running_brokers

_START_S = 600
"""That a broker may take to begin, on a machine with much else to do."""
AUTHORITY = DomainKey(b"a" * 32)
KEYS = {name: DomainKey(name.encode().ljust(32)) for name in ("house", "office", "shop")}
TYPES = {"house": ("Enter", "who", "room"), "office": ("Access", "person", "door"), "shop": ("Visitor", "name", "gate")}


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a broker with a store, in a process of its own."""
    store = tmp_path_factory.mktemp("broker") / "store"
    found: list[str] = []
    is_there, is_done = threading.Event(), threading.Event()

    async def run() -> None:
        async with running_brokers({"town": None}, "--store", str(store)) as addresses:
            found.append(addresses["town"])
            is_there.set()
            await asyncio.to_thread(is_done.wait)

    thread = threading.Thread(target=asyncio.run, args=[run()])
    thread.start()
    try:
        assert is_there.wait(_START_S)
        yield found[0]
    finally:
        is_done.set()
        thread.join()


@pytest.fixture
def folders(tmp_path: Path, broker: str) -> dict[str, Path]:
    """A folder with a gateway for each domain; each test has a federation of its own."""
    return {name: _folder(tmp_path, name, broker) for name in TYPES}


def _identity(name: str, federation: str, key: DomainKey) -> IdentityDocument:
    expires = now() + timedelta(days=1)
    document = IdentityDocument(federation=federation, domain=name, key=key.public, expires=expires)
    return AUTHORITY.sign_identity(document)


def _federation_of(tmp_path: Path) -> str:
    return tmp_path.name.replace("-", "_")


def _folder(tmp_path: Path, name: str, broker: str) -> Path:
    root = tmp_path / name
    root.mkdir()
    type, who, where = TYPES[name]
    attributes = f"{{{who}: string, {where}: string}}"
    (root / "own.yaml").write_text(f"domain: {name}\ntypes: {{{type}: {{attributes: {attributes}}}}}\n")
    identity = _identity(name, _federation_of(tmp_path), KEYS[name])
    make_gateway(root, KEYS[name], identity, GatewaySettings(AUTHORITY.public, broker))
    return root


def entering(
    folder: Path, *, place: str = "room", version: int = 1, parties: tuple[str, ...] = ("house", "office")
) -> Path:
    lines = ["contract: entering", f"version: {version}", "founders: [house, office]"]
    lines += ["types: {Entering: {attributes: {person: string, place: string}}}", "members:"]
    for name in parties:
        type, who, where = TYPES[name]
        given = place if name == "house" else where
        lines.append(f'  {name}: {{type: {type}, map: {{person: {who}, place: "{given}"}}}}')
    file = folder.parent / f"entering-{version}-{len(place)}.yaml"
    file.write_text("\n".join(lines) + "\n")
    return file


def _meet(folders: dict[str, Path]) -> None:
    for _ in range(2):
        for root in folders.values():
            administer.synchronise(root)


def _states(root: Path) -> list[ContractState]:
    with open_gateway(root) as folder:
        return [one.state for one in agreements(folder.notes.state.facts)]


def _files(root: Path) -> dict[str, str]:
    return {str(path.relative_to(root)): path.read_text() for path in sorted(root.rglob("*.yaml"))}


def test_a_contract_from_its_proposal_to_its_end(folders: dict[str, Path]) -> None:
    _meet(folders)
    others = {name: _files(root) for name, root in folders.items()}
    proposed = administer.propose(folders["house"], entering(folders["house"]))
    assert proposed.agreement.proposed[0].awaits == {"office"}
    assert {name: _files(root) for name, root in folders.items()} == others, "nothing holds yet"
    assert administer.agree(folders["office"], "entering").agreement.state is ContractState.ACTIVE
    administer.synchronise(folders["house"])
    for name in ("house", "office"):
        contract = load(folders[name]).contracts["entering"]
        assert sorted(contract.members) == ["house", "office"]
    assert "entering" not in load(folders["shop"]).contracts

    part = folders["shop"].parent / "part.yaml"
    part.write_text("members: {shop: {type: Visitor, map: {person: name, place: gate}}}\n")
    joining = administer.join(folders["shop"], "entering", part)
    assert joining.agreement.proposed[0].awaits == {"house", "office"}
    administer.agree(folders["office"], "entering")
    administer.agree(folders["house"], "entering")
    _meet(folders)
    assert sorted(load(folders["shop"]).contracts["entering"].members) == ["house", "office", "shop"]

    administer.leave(folders["office"], "entering", "moved")
    _meet(folders)
    assert sorted(load(folders["shop"]).contracts["entering"].members) == ["house", "shop"]
    assert not load(folders["office"]).contracts
    administer.leave(folders["house"], "entering")
    _meet(folders)
    assert [_states(root) for root in folders.values()] == [[ContractState.SUSPENDED]] * 3
    assert not load(folders["shop"]).contracts


def test_another_form_takes_the_place_of_a_proposal_and_a_new_version_that_of_a_contract(
    folders: dict[str, Path],
) -> None:
    _meet(folders)
    administer.propose(folders["house"], entering(folders["house"], place="'hall'"))
    second = administer.propose(folders["office"], entering(folders["office"]))
    assert second.agreement.proposed[0].awaits == {"house"}
    administer.agree(folders["house"], "entering")
    third = administer.propose(folders["house"], entering(folders["house"], place="upper(room)", version=2))
    assert third.agreement.state is ContractState.ACTIVE
    assert third.agreement.proposed[0].awaits == {"office"}
    administer.refuse(folders["office"], "entering", "too loud")
    administer.synchronise(folders["house"])
    assert load(folders["house"]).contracts["entering"].version == 1
    with pytest.raises(Misuse) as caught:
        administer.agree(folders["office"], "entering")
    assert caught.value.code == "nothing-proposed"
    administer.propose(folders["house"], entering(folders["house"], place="lower(room)", version=2))
    administer.agree(folders["office"], "entering")
    administer.synchronise(folders["house"])
    assert load(folders["house"]).contracts["entering"].version == 2


def test_what_does_not_fit_the_own_files_is_not_proposed_nor_agreed_to(folders: dict[str, Path]) -> None:
    _meet(folders)
    with pytest.raises(Misuse) as caught:
        administer.propose(folders["house"], entering(folders["house"], place="cellar"))
    assert caught.value.code == "contract-does-not-fit"
    administer.propose(folders["house"], entering(folders["house"]))
    own = folders["office"] / "own.yaml"
    own.write_text(own.read_text().replace("door: string", "door: int"))
    with pytest.raises(Misuse) as caught:
        administer.agree(folders["office"], "entering")
    assert caught.value.code == "types-differ"
    assert _states(folders["office"]) == [ContractState.PROPOSED]


def test_files_that_the_administrator_wrote_are_left_alone(folders: dict[str, Path]) -> None:
    own = folders["house"] / "domains"
    own.mkdir()
    (own / "office.yaml").write_text("domain: office\ntypes: {Access: {attributes: {person: string, door: string}}}\n")
    before = (own / "office.yaml").read_text()
    _meet(folders)
    assert (own / "office.yaml").read_text() == before
    assert (own / "shop.yaml").exists()


def test_a_domain_that_nobody_has_heard_of_is_told(folders: dict[str, Path]) -> None:
    with pytest.raises(Misuse) as caught:
        administer.propose(folders["house"], entering(folders["house"]))
    assert caught.value.code == "unknown-domain"
    assert "comity gateway sync" in (caught.value.hint or "")


def _forged(folders: dict[str, Path], broker: str, message: GatewayMessage) -> None:
    data = {"federation": _federation_of(folders["house"].parent), "recipient": "*"}
    data["message"] = encode_gateway_message(message).decode()
    with comity.connect(broker) as node:
        node.publish({"id": message.id, "source": "/elsewhere", "type": MESSAGE_TYPE, "data": data})


def test_nobody_agrees_in_the_name_of_another(folders: dict[str, Path], broker: str) -> None:
    _meet(folders)
    proposed = administer.propose(folders["house"], entering(folders["house"]))
    federation = _federation_of(folders["house"].parent)
    stranger = DomainKey(b"s" * 32)
    consent = ContractConsent(typename="", contract="entering", revision=proposed.revision.digest)
    empty = GatewayMessage(
        id="forged", sender=MessageSender(), sent=now(), expires=now() + timedelta(hours=1), content=consent
    )
    own_word = msgspec.structs.replace(_identity("office", federation, stranger), signature="")
    for number, identity in enumerate((stranger.sign_identity(own_word), _identity("shop", federation, stranger))):
        message = msgspec.structs.replace(empty, id=f"forged-{number}")
        _forged(folders, broker, stranger.sign_message(message, identity))
    claimed = KEYS["shop"].sign_message(empty, _identity("shop", federation, KEYS["shop"]))
    sender = msgspec.structs.replace(claimed.sender, domain="office")
    _forged(folders, broker, msgspec.structs.replace(claimed, sender=sender))
    _, report = administer.synchronise(folders["house"])
    assert sorted(one.code for one in report.refused) == ["bad-identity", "not-authentic"]
    assert _states(folders["house"]) == [ContractState.PROPOSED], (
        "and the shop's consent, which is one, changes nothing"
    )


def test_what_was_not_sent_is_sent_the_next_time(folders: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    _meet(folders)
    settings = folders["house"] / ".gateway" / "settings.json"
    right = settings.read_bytes()
    file = entering(folders["house"])
    with open_gateway(folders["house"]) as folder:
        member = administer.member_of(folder)
    with monkeypatch.context() as patched:
        calls: list[GatewayFolder] = []

        def interrupted(folder: GatewayFolder, member: object) -> object:
            calls.append(folder)
            if len(calls) == 2:
                raise KeyboardInterrupt
            return folder, None

        patched.setattr(administer, "exchange", interrupted)
        with pytest.raises(KeyboardInterrupt):
            administer.propose(folders["house"], file)
    assert settings.read_bytes() == right
    assert member.domain == "house"
    assert _states(folders["house"]) == [ContractState.PROPOSED]
    administer.synchronise(folders["house"])
    assert administer.agree(folders["office"], "entering").agreement.state is ContractState.ACTIVE


def test_a_command_is_alone_in_a_folder_and_its_secrets_are_private(folders: dict[str, Path]) -> None:
    with open_gateway(folders["house"]), pytest.raises(ComityError) as caught, open_gateway(folders["house"]):
        pass
    assert caught.value.code == "gateway-busy"
    hidden = folders["house"] / ".gateway"
    assert stat.S_IMODE(hidden.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in hidden.iterdir()} == {0o600}


def test_a_folder_without_a_gateway_or_with_a_broken_one_says_so(folders: dict[str, Path], tmp_path: Path) -> None:
    with pytest.raises(Misuse) as caught, open_gateway(tmp_path):
        pass
    assert caught.value.code == "no-gateway"
    (folders["house"] / ".gateway" / "notes.json").write_text("{")
    with pytest.raises(Misuse) as caught, open_gateway(folders["house"]):
        pass
    assert caught.value.code == "broken-gateway"
    other = _identity("house", "street", KEYS["office"])
    with pytest.raises(Misuse, match="another key"):
        make_gateway(folders["house"], KEYS["house"], other, GatewaySettings(AUTHORITY.public, "comity://127.0.0.1:1"))
