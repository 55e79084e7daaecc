"""The store as its users see it: events once and in order, cursors, subscriptions, and what is told when it fails."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pytest

from comity.errors import Misuse, Permanent, Retryable
from comity.limits import limited
from comity.server.store import Keeping, NewEvent, SqliteStore, StoredEvent, StoredSubscription, open_store
from comity.server.store.schema import FILE
from tests.store.events import event, number_of


async def read_all(store: SqliteStore, after: int = 0) -> list[int]:
    """The numbers in the lines of all events behind a number of the store."""
    found: list[int] = []
    while after < store.last:
        page = await store.read(after)
        found += [number_of(one.line) for one in page.events]
        after = page.position
    return found


async def test_append_numbers_events_and_answers_repeats(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        first = await store.append([event(1), event(2), event(1)])
        again = await store.append([event(2), event(3)])
    assert [tuple(one) for one in first] == [(1, True), (2, True), (1, False)]
    assert [tuple(one) for one in again] == [(2, False), (3, True)]


async def test_identity_is_source_and_id(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        answers = await store.append(
            [NewEvent("/a", "b1", b"1"), NewEvent("/ab", "1", b"2"), NewEvent("/a", "b1", b"3")]
        )
        lines = [one.line for one in (await store.read(0)).events]
    assert [one.is_new for one in answers] == [True, True, False]
    assert lines == [b"1", b"2"]


async def test_what_was_stored_is_there_after_opening_again(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.keep(StoredSubscription("ann", "dear", "price > 45", lease_s=30.0, label="dear ones"))
        await store.append([event(1), event(2)])
        await store.advance("ann", 1)
    async with open_store(tmp_path) as store:
        assert store.last == 2
        assert await read_all(store, after=1) == [2]
        assert (await store.cursors())["ann"].position == 1
        kept = await store.subscriptions()
        assert [(one.client, one.key, one.filter, one.lease_s, one.label) for one in kept] == [
            ("ann", "dear", "price > 45", 30.0, "dear ones")
        ]
        assert not (await store.append([event(2)]))[0].is_new


async def test_notes_are_committed_with_events(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append([event(1)], {"taken east": "7"})
        await store.append([], {"taken east": "9", "taken west": "2"})
    async with open_store(tmp_path) as store:
        assert await store.notes() == {"taken east": "9", "taken west": "2"}


async def test_each_store_is_a_log_of_its_own(tmp_path: Path) -> None:
    async with open_store(tmp_path / "one") as one, open_store(tmp_path / "two") as two:
        logs = one.log, two.log
    async with open_store(tmp_path / "one") as one:
        assert one.log == logs[0] != logs[1]


async def test_concurrent_publishers_share_commits(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.keep(StoredSubscription("ann", "all", "true"))
        answers = await asyncio.gather(*(store.append([event(number)]) for number in range(500)))
        commits = sqlite3.connect(tmp_path / FILE).execute("select count(*) from known").fetchone()[0]
        found = await read_all(store)
    assert sorted(one[0].sequence for one in answers) == list(range(1, 501))
    assert found == [number_of(event(number).line) for number in range(500)]
    assert commits < 100


async def test_read_goes_on_where_a_page_ended_and_gives_what_was_chosen(tmp_path: Path) -> None:
    def every_hundredth(events: Sequence[StoredEvent]) -> list[StoredEvent]:
        return [one for one in events if number_of(one.line) % 100 == 0]

    async with open_store(tmp_path) as store:
        await store.keep(StoredSubscription("ann", "all", "true"))
        await store.append([event(number) for number in range(2_500)])
        found, position, pages = [], 0, 0
        while position < store.last:
            page = await store.read(position, every_hundredth)
            found += [number_of(one.line) for one in page.events]
            position, pages = page.position, pages + 1
    assert found == list(range(0, 2_500, 100))
    assert pages == 3


async def test_page_ends_when_it_has_bytes_enough(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.keep(StoredSubscription("ann", "all", "true"))
        await store.append([event(number, size=400_000) for number in range(5)])
        assert len((await store.read(0)).events) == 3


async def test_grown_waits_for_the_next_commit(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        waiting = asyncio.create_task(store.grown(0))
        await asyncio.sleep(0)
        assert not waiting.done()
        await store.append([event(1)])
        assert await waiting == 1
        assert await store.grown(0) == 1


async def test_cursor_begins_where_its_subscription_does(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append([event(1)])
        kept = await store.keep(StoredSubscription("ann", "dear", "price > 45"))
        await store.append([event(2)])
        later = await store.keep(StoredSubscription("ann", "cheap", "price < 5"))
        assert (kept.since, later.since) == (1, 2)
        assert (await store.cursors())["ann"].position == 1


async def test_renewed_subscription_keeps_its_beginning_and_a_changed_one_does_not(tmp_path: Path) -> None:
    now = [100.0]
    async with open_store(tmp_path, Keeping(clock=lambda: now[0])) as store:
        await store.keep(StoredSubscription("ann", "dear", "price > 45"))
        await store.append([event(1)])
        now[0] = 200.0
        renewed = await store.keep(StoredSubscription("ann", "dear", "price > 45"))
        changed = await store.keep(StoredSubscription("ann", "dear", "price > 50"))
        assert (renewed.since, renewed.renewed_s) == (0, 200.0)
        assert changed.since == 1
        assert [one.filter for one in await store.subscriptions()] == ["price > 50"]


async def test_cursor_goes_with_the_last_durable_subscription(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.keep(StoredSubscription("ann", "dear", "price > 45"))
        await store.keep(StoredSubscription("ann", "all", "true"))
        await store.keep(StoredSubscription("bob", "all", "true", durable=False))
        await store.drop("ann", "dear")
        assert list(await store.cursors()) == ["ann"]
        await store.keep(StoredSubscription("ann", "all", "true", durable=False))
        assert await store.cursors() == {}
        await store.forget("ann")
        assert [one.client for one in await store.subscriptions()] == ["bob"]


async def test_cursor_never_goes_back_nor_beyond_the_last_event(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.keep(StoredSubscription("ann", "all", "true"))
        await store.append([event(1), event(2)])
        await store.advance("ann", 2)
        await store.advance("ann", 1)
        assert (await store.cursors())["ann"].position == 2
        await store.advance("ann", 50)
        assert (await store.cursors())["ann"].position == 2
        await store.advance("nobody", 1)


async def test_publishers_wait_while_much_waits_for_the_disk(tmp_path: Path) -> None:
    with limited(max_uncommitted_bytes=250):
        async with open_store(tmp_path) as store:
            answers = await asyncio.gather(*(store.append([event(number)]) for number in range(20)))
            assert sorted(one[0].sequence for one in answers) == list(range(1, 21))
            commits = sqlite3.connect(tmp_path / FILE).execute("select count(*) from known").fetchone()[0]
            assert commits >= 10


async def test_remembers_as_many_identities_as_the_bound_says(tmp_path: Path) -> None:
    with limited(max_remembered_identities=10):
        async with open_store(tmp_path) as store:
            for number in range(30):
                await store.append([event(number)])
            recent = await store.append([event(number) for number in range(25, 30)])
            old = await store.append([event(0)])
    assert not any(one.is_new for one in recent)
    assert old[0].is_new


async def test_full_disk_refuses_what_is_new_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.keep(StoredSubscription("ann", "all", "true"))
        await store.append([event(1)])
        await store._committer.do(lambda desk: desk.database.execute("pragma max_page_count = 30"))
        with pytest.raises(Retryable, match="store-full"):
            await store.append([event(2, size=500_000)])
        await store._committer.do(lambda desk: desk.database.execute("pragma max_page_count = 100000"))
        assert (await store.append([event(2, size=500_000)]))[0] == (2, True)
        assert await read_all(store) == [1, 2]


async def test_task_that_fails_does_not_fail_others(tmp_path: Path) -> None:
    def fail(desk: object) -> None:
        raise ZeroDivisionError

    async with open_store(tmp_path) as store:
        await store.keep(StoredSubscription("ann", "all", "true"))
        tasks = [store.append([event(1)]), store._committer.do(fail), store.append([event(2)])]
        answers = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(answers[1], ZeroDivisionError)
        assert await read_all(store) == [1, 2]


async def test_damaged_database_is_told_when_it_is_opened(tmp_path: Path) -> None:
    await filled(tmp_path)
    damage(tmp_path / FILE, 5_000, 30_000)
    with pytest.raises(Permanent, match="broken-state") as told:
        await SqliteStore.opened(tmp_path)
    assert told.value.hint is not None
    assert "move it away" in told.value.hint


async def test_no_database_at_all_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"this is a letter, and no database" * 100)
    with pytest.raises(Permanent, match="broken-state"):
        await SqliteStore.opened(tmp_path)


async def test_damaged_line_is_told_when_it_is_read(tmp_path: Path) -> None:
    await filled(tmp_path)
    content = (tmp_path / FILE).read_bytes()
    place = content.index(event(7).line) + 50
    damage(tmp_path / FILE, place, place + 1)
    async with open_store(tmp_path) as store:
        with pytest.raises(Permanent, match="the checksum of event 8 is wrong"):
            await read_all(store)


async def test_store_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    await filled(tmp_path)
    database = sqlite3.connect(tmp_path / FILE)
    database.execute("pragma user_version = 99")
    database.close()
    with pytest.raises(Misuse, match="newer-state"):
        await SqliteStore.opened(tmp_path)


async def test_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises((Misuse, OSError)):
        await SqliteStore.opened(tmp_path)


async def test_files_are_for_the_owner_only(tmp_path: Path) -> None:
    async with open_store(tmp_path) as store:
        await store.append([event(1)])
        assert {path.stat().st_mode & 0o077 for path in tmp_path.iterdir()} == {0}


async def filled(folder: Path) -> None:
    async with open_store(folder) as store:
        await store.keep(StoredSubscription("ann", "all", "true"))
        await store.append([event(number) for number in range(500)])


def damage(path: Path, start: int, end: int) -> None:
    content = bytearray(path.read_bytes())
    content[start:end] = bytes(one ^ 0x55 for one in content[start:end])
    path.write_bytes(content)
