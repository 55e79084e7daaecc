"""Results in topics: each notification once for readers of what is committed, whatever was done again."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import comity.spark as cs
from comity import Misuse, Retryable
from comity.connect.commits import Commit
from comity.connect.destination import Destination
from comity.connect.folder import Results
from comity.connect.target import WrittenFile
from comity.connect.topics.parts import TopicParts
from comity.connect.topics.place import Topics, read_config
from comity.connect.topics.target import TopicTarget
from comity.federation import load
from comity.pipeline.frame_stream import FixedFederation, FrameStream
from comity.pipeline.write import refuse_doubles
from comity.run.request import RunRequest
from comity.run.sources import event_sources
from comity.run.stored import run_stored
from comity.storage.access import StorageAccess
from tests.kafka.broker import Kafka
from tests.kafka.test_kafka_sources import PROFILES, federation, line

LINES = [*(line(number, number * 37 % 100) for number in range(200)), "{broken", line(9, 33.0)]


def topics(kafka: Kafka) -> str:
    """A topic, and those for what is rejected and late beside it."""
    name = kafka.topic()
    for what in ("rejected", "late"):
        kafka.topic(name=f"{name}.{what}")
    return name


def keys(kafka: Kafka, topic: str, *, committed: bool = True) -> list[tuple[str, ...]]:
    found = [message.key() for message in kafka.messages(topic, committed=committed)]
    assert all(found)
    return sorted(tuple(json.loads(key)) for key in found if key)


def wanted(spark: SparkSession, folder: Path, lines: Iterable[str]) -> list[tuple[str, ...]]:
    """The identities that a table of all lines gives."""
    table = spark.createDataFrame([(one,) for one in lines], "value string")
    rows = cs.deliver(table, folder, lines="value").select("profile", "source", "id").collect()
    return sorted((row["profile"], row["source"], row["id"]) for row in rows)


def batch(spark: SparkSession, lines: list[str]) -> DataFrame:
    return spark.createDataFrame([(one,) for one in lines], "value string").repartition(3)


def stream_into(kafka: Kafka, topic: str, folder: Path, state: Path, make: Callable[..., TopicTarget]) -> FrameStream:
    target = make(state, Topics(kafka.servers, topic), lambda: ["plant", "rejected"])
    return FrameStream(FixedFederation(load(folder)), out=state, target=target, columns={"lines": "value"})


@pytest.mark.spark
def test_messages_have_the_key_and_the_headers_of_their_notification(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    topic, state = topics(kafka), tmp_path / "state"
    folder = federation(tmp_path / "federation", "idle: {files: .}")
    (tmp_path / "in").mkdir()
    for number, some in enumerate((LINES, [line(3, 11.0), line(500, 60.0)])):
        (tmp_path / "in" / f"{number}.txt").write_text("".join(f"{one}\n" for one in some))
        events = spark.readStream.option("maxFilesPerTrigger", 1).text(str(tmp_path / "in"))
        stream = cs.stream(events, folder, lines="value")
        stream.to_kafka(kafka.servers, topic, state=state, until_empty=True).start().finish()
    assert keys(kafka, topic) == wanted(spark, folder, [*LINES, line(500, 60.0)])
    for message in kafka.messages(topic):
        value, headers = json.loads(message.value() or b""), dict(message.headers() or [])
        assert json.loads(message.key() or b"") == [value["profile"], value["source"], value["id"]]
        assert headers == {
            "subscriber": b"plant",
            "profile": value["profile"].encode(),
            "content-type": b"application/cloudevents+json",
        }
    (refused,) = kafka.messages(f"{topic}.rejected")
    assert json.loads(refused.value() or b"")["faults"][0]["code"] == "bad-json"
    assert not list(state.glob("plant/*"))


class Dying(TopicTarget):
    """The driver dies when a batch is about to count."""

    def publish(
        self, number: int, files: Iterable[WrittenFile], names: Iterable[str], after: Commit, *, is_again: bool
    ) -> None:
        raise KeyboardInterrupt


@pytest.mark.spark
def test_what_was_committed_before_the_driver_died_does_not_come_again(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    topic, state = topics(kafka), tmp_path / "state"
    folder = federation(tmp_path / "federation", "idle: {files: .}", profiles=PROFILES.partition("  rising")[0])
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            stream_into(kafka, topic, folder, state, Dying).take_frame(batch(spark, LINES), 0)
    stream = stream_into(kafka, topic, folder, state, TopicTarget)
    assert sum(stream.take_frame(batch(spark, LINES), 0).delivered.values()) == 0
    assert stream.take_frame(batch(spark, LINES), 0).records == 0, "it counts, and is left out"
    stream.take_frame(batch(spark, [*LINES, line(500, 60.0)]), 1)
    assert keys(kafka, topic) == wanted(spark, folder, [*LINES, line(500, 60.0)])
    assert len(kafka.messages(f"{topic}.rejected")) == 2, "a broken line of each batch"


@pytest.mark.spark
def test_what_only_some_tasks_committed_is_made_complete(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    topic, state = topics(kafka), tmp_path / "state"
    folder = federation(tmp_path / "federation", "idle: {files: .}", profiles=PROFILES.partition("  rising")[0])
    # Half of the lines are in the first attempt, as if the tasks of the others had not come to their ends.
    with pytest.raises(KeyboardInterrupt):
        stream_into(kafka, topic, folder, state, Dying).take_frame(batch(spark, LINES[:100]), 0)
    half = keys(kafka, topic)
    stream = stream_into(kafka, topic, folder, state, TopicTarget)
    stream.take_frame(batch(spark, LINES), 0)
    stream.take_frame(batch(spark, LINES), 1)
    assert keys(kafka, topic) == wanted(spark, folder, LINES)
    assert 0 < len(half) < len(keys(kafka, topic))


def test_of_two_tasks_of_one_bucket_one_counts(kafka: Kafka) -> None:
    topic = topics(kafka)
    parts = TopicParts(Topics(kafka.servers, topic), "a", 0, None)
    notification = json.dumps({**json.loads(line(1, 9.0)), "profile": "high"}).encode()
    first = parts.open(3)
    first.put("plant", notification)
    second = parts.open(3)
    second.put("plant", notification)
    with pytest.raises(Retryable) as shut_out:
        first.commit([])
    assert shut_out.value.code == "other-stream"
    second.commit([])
    assert len(kafka.messages(topic)) == 1
    third = parts.open(3)
    assert third.is_again
    third.close()


def test_a_spark_that_begins_doubles_of_tasks_is_refused() -> None:
    refuse_doubles("false")
    with pytest.raises(Misuse) as refused:
        refuse_doubles("true")
    assert refused.value.code == "task-doubles"


def test_what_no_broker_takes_is_told_among_the_rejected(kafka: Kafka) -> None:
    topic = topics(kafka)
    part = TopicParts(Topics(kafka.servers, topic), "a", 0, None).open()
    event = json.loads(line(1, 9.0))
    part.put("plant", json.dumps({**event, "profile": "high", "data": {"machine": "m" * 2_000_000}}).encode())
    part.commit([])
    assert kafka.messages(topic) == []
    (refused,) = kafka.messages(f"{topic}.rejected")
    told = json.loads(refused.value() or b"")
    assert (told["faults"][0]["code"], json.loads(told["key"])) == ("sink-refused", ["high", "/p", "1"])


@pytest.mark.spark
def test_stored_events_go_into_a_topic_for_each_subscriber(spark: SparkSession, kafka: Kafka, tmp_path: Path) -> None:
    name = kafka.topic()
    for to in ("plant", "rejected", "late"):
        kafka.topic(name=f"{name}-{to}")
    (tmp_path / "events.jsonl").write_text("".join(f"{one}\n" for one in LINES))
    folder = federation(tmp_path / "federation", "events: {files: ../events.jsonl}")
    found = load(folder)
    to = Destination.of(f"kafka://{kafka.servers}/{name}-{{subscriber}}", Results.KAFKA, StorageAccess.of({}))
    request = RunRequest(folder, found, event_sources(found, folder, None), to.folder, results=Results.KAFKA)
    done = run_stored(replace(request, topics=to.topics, is_passing=to.is_passing))
    told = keys(kafka, f"{name}-plant")
    assert Counter(done.summary.delivered) == Counter(profile for profile, *_ in told)
    assert told == wanted(spark, folder, LINES)
    assert not to.folder.exists()


@pytest.mark.spark
def test_topics_that_are_not_there_are_told_before_anything_is_done(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    folder = federation(tmp_path / "federation", "idle: {files: .}")
    (tmp_path / "in").mkdir()
    stream = cs.stream(spark.readStream.text(str(tmp_path / "in")), folder, lines="value")
    with pytest.raises(Misuse, match=r"no topics nowhere, nowhere\.late, nowhere\.rejected"):
        stream.to_kafka(kafka.servers, "nowhere", state=tmp_path / "state").start()
    topic = topics(kafka)
    with suppress(KeyboardInterrupt):
        stream_into(kafka, topic, folder, tmp_path / "state", Dying).take_frame(batch(spark, LINES), 0)
    with pytest.raises(Misuse) as other:
        stream.to_kafka(kafka.servers, topics(kafka), state=tmp_path / "state").start()
    assert other.value.code == "other-layout"
    with pytest.raises(Misuse) as files:
        stream.to_folder(tmp_path / "state").start()
    assert files.value.code == "other-layout"


@pytest.mark.parametrize("address", ["kafka://", "kafka://h:1", "kafka://h:1/a/b", "kafka://u:p@h:1/a", "kafka:///a"])
def test_addresses_of_no_topic_are_refused(address: str) -> None:
    with pytest.raises(Misuse) as refused:
        Topics.at(address)
    assert refused.value.code == ("secret-in-address" if "@" in address else "bad-topic")
    assert "u:p" not in str(refused.value)


def test_settings_of_the_client_come_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text("# SASL\nsasl.password = a=b c \n\nsecurity.protocol=SASL_SSL\n")
    config = read_config(tmp_path / "client.properties")
    assert config == {"sasl.password": "a=b c", "security.protocol": "SASL_SSL"}
    assert "a=b" not in repr(Topics.at("kafka://h:1/a", config))
    (tmp_path / "bad").write_text("sasl.password\n")
    with pytest.raises(Misuse) as refused:
        read_config(tmp_path / "bad")
    assert refused.value.place is not None
    assert refused.value.place.line == 1


def test_a_stream_into_topics_needs_a_state(tmp_path: Path) -> None:
    access = StorageAccess.of({})
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"out": "kafka://h:1/a", "results": Results.KAFKA, "is_stream": True}, "no-state"),
        ({"out": "kafka://h:1/a", "results": Results.JSONL}, "bad-usage"),
        ({"out": "results", "results": Results.KAFKA}, "bad-topic"),
        ({"out": "results", "results": Results.JSONL, "kafka": {"a": "b"}}, "bad-usage"),
    ]
    for given, code in wrong:
        with pytest.raises(Misuse) as refused:
            Destination.of(access=access, **given)
        assert refused.value.code == code
