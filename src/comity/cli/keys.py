"""`comity keys`: who is who in a federation whose domains meet over a network."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from comity.cli.options import argument, group, option
from comity.cli.output import console, write_json
from comity.cli.session import Format, FormatOption
from comity.errors import Misuse, Place

if TYPE_CHECKING:
    from comity.gateway.keys import DomainKey, IdentityDocument

EXAMPLE = "Example:  comity keys new house.key"

app = group("Make keys of domains, sign them as the authority of a federation, and look at them.")


@app.command(epilog=EXAMPLE)
def new(
    file: Annotated[
        Path, argument("FILE", "Where the private key goes; the public one stands beside it, in FILE.pub.")
    ],
    format: FormatOption = Format.TEXT,
) -> None:
    """Make a key pair. Nobody else can read the file of the private key; keep it, there is no other copy."""
    import secrets

    from comity.gateway.keys import SEED_BYTES, DomainKey
    from comity.run.gateway.folder import write_private
    from comity.storage.durable import write_whole

    if file.exists():
        hint = "name another file; a key that is lost cannot be made again"
        raise Misuse("this file is there already", code="key-exists", place=Place(str(file)), hint=hint)
    key = DomainKey(secrets.token_bytes(SEED_BYTES))
    write_private(file, key.as_text().encode() + b"\n")
    write_whole(file.with_name(file.name + ".pub"), key.public.encode() + b"\n")
    if format is Format.JSON:
        write_json({"key": key.key_id, "public": key.public})
    else:
        console().print(f"key {key.key_id}: {file}, and for others {file}.pub")


@app.command(epilog="Example:  comity keys sign street.key house.key.pub --domain house --federation street")
def sign(
    authority: Annotated[Path, argument("AUTHORITY_KEY", "The private key of the authority.")],
    public: Annotated[Path, argument("PUBLIC_KEY", "The public key of a domain.")],
    domain: Annotated[str, option("NAME", "The domain whose key it is.", "--domain")],
    federation: Annotated[str, option("NAME", "The federation for which that holds.", "--federation")],
    number: Annotated[int, typer.Option(metavar="NUMBER", min=0, help="Its number, for gateways that know those.")] = 0,
    days: Annotated[int, typer.Option(metavar="DAYS", min=1, max=36_500, help="For how long it holds.")] = 365,
    out: Annotated[Path | None, option("FILE", "Where the document goes; default: DOMAIN.identity.", "--out")] = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Admit a domain: say, as the authority, whose a key is."""
    from datetime import timedelta

    from comity.gateway.keys import IdentityDocument, read_identity
    from comity.run.gateway.clock import now
    from comity.storage.durable import write_whole

    expires = (now() + timedelta(days=days)).replace(microsecond=0)
    said = IdentityDocument(
        federation=federation, domain=domain, number=number, key=public_key(public), expires=expires
    )
    document = _key(authority).sign_identity(read_identity(said.as_text()))
    file = out or Path(f"{domain}.identity")
    write_whole(file, document.as_text().encode() + b"\n")
    _tell(
        _of_document(document),
        f"{domain} has the key {document.key_id} in {federation}, {_until(document)}: {file}",
        format,
    )


@app.command(epilog="Example:  comity keys show house.identity")
def show(
    file: Annotated[Path, argument("FILE", "A private key, a public key, or an identity document.")],
    format: FormatOption = Format.TEXT,
) -> None:
    """Say what a file is, without showing what is secret in it."""
    from comity.gateway.keys import key_id, read_identity

    text = read_key_text(file)
    if text.startswith("{"):
        document = read_identity(text)
        line = f"identity of {document.domain} in {document.federation}, key {document.key_id}, {_until(document)}"
        _tell(_of_document(document), line, format)
    elif file.suffix == ".pub":
        public = public_key(file)
        _tell({"public": public, "key": key_id(public)}, f"public key {key_id(public)}", format)
    else:
        key = _key(file)
        _tell(
            {"key": key.key_id, "public": key.public},
            f"private key {key.key_id}, whose public one is {key.public}",
            format,
        )


def public_key(file: Path) -> str:
    """The public key in a file."""
    from comity.gateway.keys import check_public

    text = read_key_text(file)
    check_public(text)
    return text


def _key(file: Path) -> DomainKey:
    from comity.gateway.keys import DomainKey

    return DomainKey.of_text(read_key_text(file))


def read_key_text(file: Path) -> str:
    """The text of a small file."""
    from comity.document import read_text

    return read_text(file).strip()


def _of_document(document: IdentityDocument) -> dict[str, Any]:
    import msgspec

    told: dict[str, Any] = msgspec.to_builtins(document)
    return told | {"key_id": document.key_id}


def _until(document: IdentityDocument) -> str:
    return f"until {document.expires.date().isoformat()}"


def _tell(told: dict[str, Any], line: str, format: Format) -> None:
    if format is Format.JSON:
        write_json(told)
    else:
        console().print(line)
