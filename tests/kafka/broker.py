"""A broker of Kafka on loopback: one node, in a process of its own, which ends when whoever started it does."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from comity.pipeline.java import find_java
from tests.kafka.jars import BROKER, jars

PARTITIONS = 4
PATIENCE_S = 60
_SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/log
num.partitions={partitions}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
"""
_WITH_THE_PIPE = '"$@" & child=$!; read _; kill -9 $child'
"""It reads from a pipe that ends with the one who holds it."""


@dataclass(frozen=True)
class Kafka:
    """A broker that runs."""

    servers: str

    def topic(self, partitions: int = PARTITIONS, name: str | None = None) -> str:
        """The name of a new topic."""
        name = name or f"comity-{uuid4().hex[:12]}"
        admin = AdminClient({"bootstrap.servers": self.servers})  # what it promises ends with it
        for made in admin.create_topics([NewTopic(name, partitions, 1)]).values():
            made.result(PATIENCE_S)
        limit = time.monotonic() + PATIENCE_S
        while name not in admin.list_topics(timeout=PATIENCE_S).topics:  # it is told a moment before it is seen
            assert time.monotonic() < limit, "the topic does not appear"
            time.sleep(0.05)
        return name

    def send(self, topic: str, values: Sequence[str | bytes | None], **options: Any) -> None:
        """Put values into a topic, spread over its partitions."""
        producer = Producer({"bootstrap.servers": self.servers})
        failed: list[object] = []
        for value in values:
            producer.produce(topic, value, on_delivery=lambda error, _: error and failed.append(error), **options)
            producer.poll(0)
        assert producer.flush(PATIENCE_S) == 0
        assert not failed, failed[0]

    def messages(self, topic: str, *, committed: bool = True) -> list[Message]:
        """What is in a topic, as a reader sees it who waits for commits of transactions, or one who does not."""
        isolation = "read_committed" if committed else "read_uncommitted"
        consumer = Consumer(
            {
                "bootstrap.servers": self.servers,
                "group.id": uuid4().hex,
                "isolation.level": isolation,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
            }
        )
        try:
            return list(_to_the_ends(consumer, topic))
        finally:
            consumer.close()

    def delete_records(self, topic: str) -> None:
        """Remove everything from a topic, as its retention would."""
        ends = [TopicPartition(topic, number, -1) for number in range(PARTITIONS)]
        admin = AdminClient({"bootstrap.servers": self.servers})
        for done in admin.delete_records(ends).values():
            done.result(PATIENCE_S)


def _to_the_ends(consumer: Consumer, topic: str) -> Iterator[Message]:
    found = consumer.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions
    consumer.assign([TopicPartition(topic, number, 0) for number in found])
    open_ones, limit = set(found), time.monotonic() + PATIENCE_S
    while open_ones:
        assert time.monotonic() < limit, "the topic has no end"
        message = consumer.poll(1)
        if message is None:
            continue
        if message.error() is not None:
            open_ones.discard(message.partition())
        else:
            yield message


@contextmanager
def broker() -> Iterator[Kafka]:
    """A broker that is there while the block runs."""
    with tempfile.TemporaryDirectory(prefix="comity-kafka-") as name:
        folder = Path(name)
        port, controller = _free_ports(2)
        settings = folder / "server.properties"
        settings.write_text(_SETTINGS.format(port=port, controller=controller, folder=folder, partitions=PARTITIONS))
        _java(folder, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", str(settings))
        with (folder / "broker.log").open("w") as log:
            process = subprocess.Popen(
                ["sh", "-c", _WITH_THE_PIPE, "sh", *_command("kafka.Kafka", str(settings))],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                env=_environment(),
            )
        try:
            kafka = Kafka(f"127.0.0.1:{port}")
            _await(kafka, process, folder / "broker.log")
            yield kafka
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _await(kafka: Kafka, process: subprocess.Popen[bytes], log: Path) -> None:
    admin = AdminClient({"bootstrap.servers": kafka.servers, "log_level": 0})
    limit = time.monotonic() + PATIENCE_S
    while True:
        with suppress(Exception):  # not yet
            if admin.list_topics(timeout=1).brokers:
                return
        assert process.poll() is None, log.read_text()[-4_000:]
        assert time.monotonic() < limit, log.read_text()[-4_000:]


def _java(folder: Path, *arguments: str) -> None:
    done = subprocess.run(
        _command(*arguments),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        env=_environment(),
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _command(*arguments: str) -> list[str]:
    path = os.pathsep.join(str(jar) for jar in jars(BROKER))
    return [str(find_java().program or "java"), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", path, *arguments]


def _environment() -> Mapping[str, str]:
    """Without options that tests have for Spark's Java."""
    return {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [one.getsockname()[1] for one in sockets]
    finally:
        for one in sockets:
            one.close()


def main() -> None:
    """Run a broker until standard input ends; it says where it is."""
    with broker() as found:
        print(found.servers, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
