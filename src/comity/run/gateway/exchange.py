"""What a gateway and the others say to each other, through brokers that keep it until it is fetched."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import msgspec

from comity.client import NetworkSession, connect
from comity.errors import Misuse
from comity.event.event import Event
from comity.gateway.contract_steps import ContractChange, changes
from comity.gateway.messages import (
    Addressee,
    Audience,
    DiscoveryQuestion,
    GatewayMessage,
    MessageSender,
    Rejection,
    decode_gateway_message,
    encode_gateway_message,
)
from comity.gateway.steps import Membership, ToTell, introduction, take_message
from comity.keyed import digest
from comity.limits import limits
from comity.run.gateway.clock import now
from comity.run.gateway.folder import GatewayFolder
from comity.run.gateway.kept_files import keep_files

MESSAGE_TYPE = "comity.GatewayMessage"
"""The type of the events by which messages travel."""
_EVERYONE = "*"
_SUBSCRIPTION = "gateway"


@dataclass(slots=True)
class ExchangeReport:
    """What an exchange brought."""

    taken: int = 0
    sent: int = 0
    changes: list[ContractChange] = field(default_factory=list)
    domains: list[str] = field(default_factory=list)
    """Of which something new is known."""
    refused: list[Misuse] = field(default_factory=list)
    """Why messages of others were not taken."""
    rejections: list[Rejection] = field(default_factory=list)
    """What others rejected of ours."""


def told(folder: GatewayFolder, member: Membership, tell: Iterable[ToTell]) -> GatewayFolder:
    """The folder with more in its outbox, signed."""
    signed = tuple(_signed(folder, one, now()) for one in tell)
    return folder.with_notes(msgspec.structs.replace(folder.notes, outbox=folder.notes.outbox + signed))


def exchange(folder: GatewayFolder, member: Membership) -> tuple[GatewayFolder, ExchangeReport]:
    """Send what waits in the outbox, take all that others said meanwhile, and keep the files of what came of it."""
    before = folder.notes.state.facts
    folder = _introduced(folder, member)
    found = _Exchange(folder, member)
    asyncio.run(found.run())
    keep_files(folder.root, found.folder.notes.state, folder.domain)
    found.report.changes = list(changes(before, found.folder.notes.state.facts))
    return found.folder, found.report


def _introduced(folder: GatewayFolder, member: Membership) -> GatewayFolder:
    """Whoever is new says what it publishes, and asks the others; after a change, it says so."""
    said = digest(member.published)
    if folder.notes.introduced == said:
        return folder
    tell = [ToTell(introduction(member))]
    if not folder.notes.introduced:
        tell.append(ToTell(DiscoveryQuestion()))
    notes = msgspec.structs.replace(folder.notes, introduced=said)
    return told(replace(folder, notes=notes), member, tell)


def _signed(folder: GatewayFolder, tell: ToTell, at: datetime) -> GatewayMessage:
    message = GatewayMessage(
        id=uuid.uuid4().hex,
        reply_to=tell.reply_to,
        sender=MessageSender(domain=folder.domain),
        to=Addressee(Audience.DOMAIN, tell.to) if tell.to else Addressee(Audience.ALL),
        sent=at,
        expires=at + timedelta(seconds=limits().max_gateway_message_s),
        content=tell.body,
    )
    return folder.key.sign_message(message, folder.identity)


@dataclass(slots=True)
class _Exchange:
    folder: GatewayFolder
    member: Membership
    report: ExchangeReport = field(default_factory=ExchangeReport)

    async def run(self) -> None:
        settings = self.folder.settings
        async with connect(settings.broker, name=f"gateway.{self.folder.domain}", patience_s=10.0) as node:
            subscription = node.subscribe(_filter(self.member), durable=_SUBSCRIPTION)
            await subscription.begin()
            mark = await self._send(node)
            async for event in subscription:
                if event.id == mark:
                    if not self.folder.notes.outbox:
                        break
                    mark = await self._send(node)
                elif "message" in event.data:
                    self._take(event)

    async def _send(self, node: NetworkSession) -> str:
        """Publish what waits, and behind it a mark for ourselves: what comes before the mark was said before."""
        waiting = self.folder.notes.outbox
        await node.publish([_event(self.member, one) for one in waiting])
        self.report.sent += len(waiting)
        self.folder = self.folder.with_notes(msgspec.structs.replace(self.folder.notes, outbox=()))
        mark = uuid.uuid4().hex
        await node.publish(_enveloped(self.member, mark, self.member.domain, {}))
        return mark

    def _take(self, event: Event) -> None:
        """One message. What came of it is on the disk before the next one is asked for, and so acknowledged."""
        try:
            message = decode_gateway_message(str(event.data["message"]).encode())
        except Misuse as error:
            self.report.refused.append(error)
            return
        state = self.folder.notes.state
        outcome = take_message(state, message, self.member, now())
        self.report.taken += message.sender.domain != self.member.domain
        if outcome.refused is not None:
            self.report.refused.append(outcome.refused)
        if outcome.rejection is not None:
            self.report.rejections.append(outcome.rejection)
        if outcome.domain:
            self.report.domains.append(outcome.domain)
        if outcome.state != state or outcome.tell:
            notes = msgspec.structs.replace(self.folder.notes, state=outcome.state)
            self.folder = told(replace(self.folder, notes=notes), self.member, outcome.tell)


def _filter(member: Membership) -> str:
    """Of the federation, for all or for us. Names are letters, digits and underscores, so nothing needs escaping."""
    ours = f"federation = '{member.federation}' and recipient in ('{_EVERYONE}', '{member.domain}')"
    return f"event.type = '{MESSAGE_TYPE}' and {ours}"


def _event(member: Membership, message: GatewayMessage) -> dict[str, Any]:
    recipient = message.to.name if message.to.scope is Audience.DOMAIN else _EVERYONE
    data = {"message": encode_gateway_message(message).decode()}
    return _enveloped(member, message.id, recipient, data)


def _enveloped(member: Membership, id: str, recipient: str, data: dict[str, Any]) -> dict[str, Any]:
    envelope = {"id": id, "source": f"/gateway/{member.federation}/{member.domain}", "type": MESSAGE_TYPE}
    return envelope | {"data": {"federation": member.federation, "recipient": recipient, **data}}
