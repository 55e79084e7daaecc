"""Which topics results go into, and how their broker is reached."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from comity.connect.folder import LATE, REJECTED
from comity.errors import ComityError, Misuse, Permanent, Place, Retryable
from comity.limits import limits

if TYPE_CHECKING:
    from confluent_kafka import KafkaError

SCHEME = "kafka"
_SUBSCRIBER = "{subscriber}"
_MOST_CONFIG_BYTES = 65_536


def is_topic_address(text: str) -> bool:
    """Whether a text names topics of a broker.

    >>> is_topic_address("kafka://broker:9092/alarms"), is_topic_address("results")
    (True, False)
    """
    return text.startswith(f"{SCHEME}://")


@dataclass(frozen=True, slots=True)
class Topics:
    """Topics at a broker: one for all subscribers, or one for each; one for what is rejected, one for what is late.

    >>> topics = Topics("broker:9092", "alarms")
    >>> topics.of("office"), topics.of("rejected"), topics.address
    ('alarms', 'alarms.rejected', 'kafka://broker:9092/alarms')
    >>> Topics("broker:9092", "{subscriber}-alarms").of("office")
    'office-alarms'
    """

    servers: str
    topic: str
    config: Mapping[str, str] = field(default_factory=dict, repr=False, hash=False)
    """Settings of the client, which may be secrets."""

    @classmethod
    def at(cls, address: str, config: Mapping[str, str] | None = None) -> Topics:
        """The topics at an address; raises `Misuse` for what is none."""
        parts = urlsplit(address)
        topic = parts.path.strip("/")
        hint = "write kafka://HOST:PORT/TOPIC, or kafka://HOST:PORT/{subscriber} for a topic for each"
        if "@" in parts.netloc:
            hint = "leave it out, and put it into the file that --kafka-config names"
            raise Misuse("the address of a broker holds a secret", code="secret-in-address", hint=hint)
        is_plain = topic.replace(_SUBSCRIBER, "").replace(".", "").replace("-", "").replace("_", "")
        if not parts.netloc or not topic or "/" in topic or not (is_plain.isalnum() or topic == _SUBSCRIBER):
            raise Misuse(f"this names no topic: {address}", code="bad-topic", hint=hint)
        return cls(parts.netloc, topic, config or {})

    @property
    def address(self) -> str:
        """What names them."""
        return f"{SCHEME}://{self.servers}/{self.topic}"

    def of(self, to: str) -> str:
        """The topic for a subscriber, for what is rejected, or for what is late."""
        if _SUBSCRIBER in self.topic:
            return self.topic.replace(_SUBSCRIBER, to)
        return f"{self.topic}.{to}" if to in (REJECTED, LATE) else self.topic

    def client(self, **settings: object) -> dict[str, Any]:
        """The settings of a client."""
        return {"bootstrap.servers": self.servers, "log_level": 2, **self.config, **settings}

    def check(self, targets: Iterable[str]) -> None:
        """Raise if the broker cannot be reached, or lacks one of the topics."""
        from confluent_kafka.admin import AdminClient

        admin = AdminClient(self.client())
        with self.failures():
            there = admin.list_topics(timeout=limits().max_storage_s).topics
        absent = sorted({self.of(to) for to in targets} - set(there))
        if absent:
            hint = "create them first, with the partitions and the retention that you want"
            message = f"the broker has no topics {', '.join(absent)}"
            raise Misuse(message, code="no-topic", place=Place(self.address), hint=hint)

    @contextmanager
    def failures(self) -> Iterator[None]:
        """What the client says, as one error."""
        from confluent_kafka import KafkaException

        try:
            yield
        except KafkaException as error:
            raise self.told(error.args[0]) from None

    def told(self, error: KafkaError) -> ComityError:
        """What a failure of the client means."""
        from confluent_kafka import KafkaError

        place = Place(self.address)
        if error.code() in (KafkaError._FENCED, KafkaError.INVALID_PRODUCER_EPOCH, KafkaError.PRODUCER_FENCED):
            hint = "if it is not a task that was done twice, another stream runs with a copy of this state: end it"
            return Retryable("somebody else has begun to write this", code="other-stream", place=place, hint=hint)
        if error.retriable() or error.code() in (
            KafkaError._TRANSPORT,
            KafkaError._ALL_BROKERS_DOWN,
            KafkaError._TIMED_OUT,
        ):
            hint = "look whether the broker can be reached; the same command goes on from there"
            return Retryable(f"the broker failed: {error.str()}", code="broker-failed", place=place, hint=hint)
        hint = "look at the settings of the topic and of the client"
        return Permanent(f"the broker refused: {error.str()}", code="broker-refused", place=place, hint=hint)


def check_client() -> None:
    """Raise `Misuse` if the client of Kafka is not there."""
    try:
        import confluent_kafka  # noqa: F401
    except ImportError:
        hint = "pip install 'comity[kafka]'"
        raise Misuse("topics need a package that is not installed", code="no-kafka", hint=hint) from None


def read_config(file: Path | None) -> dict[str, str]:
    """The settings of the client in a file: a line `name=value` for each, as in `client.properties`."""
    if file is None:
        return {}
    try:
        with file.open(encoding="utf-8") as stream:
            lines = stream.read(_MOST_CONFIG_BYTES).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(f"it cannot be read: {error}", code="unreadable-file", place=Place(str(file))) from None
    found: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, equals, value = line.partition("=")
            if not equals:
                place = Place(str(file), number)
                raise Misuse("this is no setting", code="bad-value", place=place, hint="write `name=value`")
            found[name.strip()] = value.strip()
    return found
