"""A federation at an address of a store is the one in a folder, and what is wrong in it is told by its address."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.s3 import KEY, REGION, SECRET, ObjectStore
from typer.testing import CliRunner

from comity.cli.main import app
from comity.errors import ComityError, Faults, Misuse
from comity.federation import load
from comity.federation.watch import WatchedFederation
from comity.limits import limited
from comity.run.sources import event_sources
from comity.storage.place import Storage
from comity.testing.outcomes import outcomes_in

EXAMPLE = Path(__file__).parents[2] / "examples" / "two_houses"
DOMAIN = "domain: plant\ntypes: {Reading: {attributes: {heat: float}}}\nsources: {own: {files: ../in}}\n"


@pytest.fixture
def place(s3: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Storage:
    """A folder in the store, which is reached as the environment says."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3.endpoint)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_REGION", REGION)
    return s3.storage(s3.bucket() + "/city/houses")


def put(place: Storage, folder: Path) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            place.write(str(path.relative_to(folder)), path.read_bytes())


def test_commands_take_an_address_for_a_folder(place: Storage, tmp_path: Path) -> None:
    put(place, EXAMPLE)
    found, known = load(place.address), load(EXAMPLE)
    assert (found.domains, found.contracts, found.profiles) == (known.domains, known.contracts, known.profiles)
    assert not list(Path(found.folder or "").rglob("*.jsonl")), "events stay where they are"
    runner = CliRunner()
    checked = runner.invoke(app, ["lint", place.address])
    assert checked.exit_code == 0, checked.output
    explained = [runner.invoke(app, ["explain", one]).output for one in (place.address, str(EXAMPLE))]
    assert explained[0].splitlines()[1:] == explained[1].splitlines()[1:]
    for folder, named in (("there", place.address), ("here", str(EXAMPLE))):
        command = ["run", named, "--events", f"{named}/events/*.jsonl", "--engine", "local"]
        done = runner.invoke(app, [*command, "--out", str(tmp_path / folder)])
        assert done.exit_code == 0, done.output
    names = known.domains
    assert outcomes_in(tmp_path / "there", names) == outcomes_in(tmp_path / "here", names)


def test_faults_are_told_by_the_address(place: Storage) -> None:
    place.write("plant.yaml", b"domain: plant\ntypes: {Reading: {attributes: {heat: flat}}}\n")
    with pytest.raises(Faults) as found:
        load(place.address)
    assert [str(one.place).startswith(f"{place.address}/plant.yaml:2:") for one in found.value.errors] == [True]
    with pytest.raises(Misuse) as empty:
        load(f"{place.address}/nowhere")
    assert (empty.value.code, str(empty.value.place)) == ("no-federation-files", f"{place.address}/nowhere")
    with limited(max_federation_bytes=10), pytest.raises(Misuse) as large:
        load(place.address)
    assert large.value.code == "too-large-federation"


def test_paths_of_sources_begin_at_the_address(place: Storage) -> None:
    place.write("plant.yaml", DOMAIN.encode())
    found = load(place.address)
    sources = event_sources(found, found.folder or Path(), None)
    assert sources.paths == (f"{place.address.rpartition('/')[0]}/in",)


def test_a_stream_takes_up_what_changes_in_the_store(place: Storage) -> None:
    place.write("plant.yaml", DOMAIN.encode())
    place.write("more.yaml", b"domain: office\ntypes: {}\n")
    now, faults = [0.0], list[ComityError]()

    def sleep(seconds: float) -> None:
        now[0] += seconds

    watched = WatchedFederation(place.address, faults.append, clock=lambda: now[0], sleep=sleep)
    assert set(watched.current().domains) == {"plant", "office"}
    place.write("more.yaml", b"domain: bureau\ntypes: {}\n")
    now[0] += 100
    assert set(watched.current().domains) == {"plant", "bureau"}
    place.write("more.yaml", b"domain: [\n")
    now[0] += 100
    assert set(watched.current().domains) == {"plant", "bureau"}
    assert len(faults) == 1
    assert str(faults[0]).startswith(f"{place.address}/more.yaml:2:1")
    place.delete("more.yaml")
    now[0] += 100
    assert set(watched.current().domains) == {"plant"}
