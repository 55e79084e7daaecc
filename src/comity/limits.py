"""Every bound of the system, named, with its unit, in one place.

Each can be set by an environment variable: `COMITY_MAX_FILTER_CHARS=5000000 comity match …`, or in a block of Python:

>>> with limited(max_filter_chars=10):
...     limits().max_filter_chars
10
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace

from comity.errors import Misuse

MOST = 1_000_000_000_000
"""No bound can be set higher than this."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds in force."""

    max_filter_chars: int = 1_000_000
    """Characters of one expression's text."""
    max_expression_depth: int = 200
    """Levels of nesting in one expression."""
    max_record_bytes: int = 1_048_576
    """Bytes of one line of events; a longer one is rejected, and cut to `max_rejected_chars`."""
    max_rejected_chars: int = 4_096
    """Characters of a rejected record that are kept with its reason."""
    max_file_bytes: int = 16_777_216
    """Bytes of one type, contract, profile or federation file."""
    max_plan_bytes: int = 268_435_456
    """Bytes of a plan in its written form; a longer one is not read."""
    max_decoding_bytes: int = 1_073_741_824
    """Bytes of memory that decoding one file of Avro, XML or Parquet may take."""
    max_decoding_s: int = 10
    """Seconds of computing that decoding such a file may take for its next records."""
    max_expansion: int = 500
    """Bytes of records, 100 at least for each, that one byte of a compressed, Avro, XML or Parquet file may give."""
    free_expansion_bytes: int = 16_777_216
    """Bytes of records that any such file may give, however small it is."""
    max_automaton_states: int = 20_000
    """States of one automaton that a string constraint may need."""
    max_search_steps: int = 20_000
    """Branches that a relation may try before it turns to the solver."""
    solver_timeout_ms: int = 2_000
    """Milliseconds that the solver may take for one question; then the answer is unknown."""
    max_column_profiles: int = 256
    """Profiles that are compiled into Spark columns; more of them are matched in the workers."""
    max_column_nodes: int = 2_000
    """Nodes of all expressions that are compiled into Spark columns; more are matched in the workers."""
    max_conjunctions: int = 64
    """Conjunctions that one profile is turned into for matching; what goes beyond is tested event by event."""
    max_profile_cost: int = 10_000
    """Worst-case cost of one profile in matching, in the unit of `match/cost.py`; a dearer one is refused."""
    max_learned_types: int = 256
    """Types of events without declarations that a broker reads as columns; events of further ones are read singly."""
    max_seen_events: int = 65_536
    """Events that a broker in a network with circles remembers, so that one that comes twice goes on once."""
    max_overlay_types: int = 10_000
    """Types in whose trees a broker of a rendezvous overlay takes part, and those that it keeps for others."""
    max_filter_types: int = 64
    """Types of events that one filter in such an overlay may name."""
    max_merged_filters: int = 64
    """Filters that a broker puts together in one attribute; with each of them that comes or goes all are told anew."""
    profile_lock_timeout_ms: int = 60_000
    """Milliseconds that a change of profiles waits for another one to finish."""
    federation_grace_ms: int = 2_000
    """Milliseconds that a running stream waits for a file of its federation that is gone or empty; then that counts."""
    federation_poll_s: int = 10
    """Seconds between two looks of a running stream at the files of its federation, if these are in an object store."""
    federation_settle_ms: int = 100
    """Milliseconds that the files of a federation must stay the same before a running stream takes up their change."""
    max_metric_profiles: int = 200
    """Profiles that have a metric of their own; the others are counted together as `other`."""
    max_delivery_attempts: int = 8
    """Times that one notification is offered to a sink that cannot take it now; then it becomes a dead letter."""
    max_delivery_seconds: int = 60
    """Seconds that one notification is offered to a sink that cannot take it now; then it becomes a dead letter."""
    max_messages_in_flight: int = 100
    """Notifications handed to a sink before its progress is noted; a restart repeats these at the most."""
    max_stop_s: int = 30
    """Seconds that a stream has to end when it is asked to; then Java is ended, and after as long again the program."""
    max_parallel_sinks: int = 16
    """Sinks that are sent to at the same time."""
    max_age_days: int = 7_300
    """Days that an event of a stream may be old when it is read; an older one is rejected."""
    max_small_batch_bytes: int = 1_048_576
    """Bytes of a batch of a stream up to which one task takes all of it; with more in it, Spark plans it."""
    remember_days: int = 30
    """Days that a stream on Spark remembers what it delivered; what comes again later is delivered again."""
    max_history_days: int = 4_000_000
    """Days that a stored event may be old when it is read; an older one is rejected. By default no year is too far."""
    max_checked_notes_bytes: int = 1_073_741_824
    """Bytes of a file of delivered keys up to which it is checked when a stream starts; `comity doctor` checks any."""
    max_copies_bytes: int = 10_737_418_240
    """Bytes of copies that workers keep of files in an object store, on the disk of their machine."""
    max_federation_bytes: int = 268_435_456
    """Bytes of all files of a federation in an object store, which are copied onto this machine."""
    max_fetched_bytes: int = 10_737_418_240
    """Bytes of one file in an object store that are fetched to be read here; a larger one is not read."""
    max_matching_files: int = 1_000_000
    """Files and folders that one pattern may stand for."""
    max_storage_s: int = 60
    """Seconds, more or less, for which a request is sent again that an object store refuses or does not answer."""
    max_transaction_s: int = 300
    """Seconds that a transaction may take which writes into topics; readers wait so long for one that died."""
    max_future_s: int = 86_400
    """Seconds that an event's time may be ahead of the clock; beyond, it is rejected."""
    live_memory_s: int = 604_800
    """Seconds that an event may be old that is pushed into a live engine, which remembers so long, in memory."""
    late_after_s: int = 3_600
    """Seconds behind the newest event of earlier batches from which on an event of a stream is counted as late."""
    max_request_bytes: int = 8_388_608
    """Bytes of one request to a webhook; a longer one is answered with 413."""
    max_waiting_records: int = 10_000
    """Records that a webhook holds until they are kept; beyond it requests are answered with 429."""
    max_connections: int = 128
    """Connections that one webhook serves at the same time; beyond it one that waits is closed, or it answers 503."""
    max_connections_per_address: int = 64
    """The same for the connections of one address (of IPv6: of one /64)."""
    max_request_s: int = 20
    """Seconds from the first byte of a request to its last one, and for taking in its answer; then 408, and the end."""
    max_idle_s: int = 10
    """Seconds that a connection to a webhook stays open without a request."""
    max_header_bytes: int = 8_190
    """Bytes of the first line of a request, and of each of its headers; longer ones are answered with 400 or 431."""
    max_headers: int = 100
    """Headers of one request."""
    max_frame_bytes: int = 8_388_608
    """Bytes of one frame between brokers and clients, without its header; whoever sends a longer one is hung up on."""
    max_batch_events: int = 65_536
    """Events of one such frame."""
    max_node_connections: int = 4_096
    """Connections of a broker at the same time; beyond it one that has not said hello is closed, or the new one is."""
    max_send_queue_bytes: int = 16_777_216
    """Bytes that wait for one neighbour or client; what goes beyond is stored if it is durable, else it is left out."""
    max_window_bytes: int = 4_194_304
    """Bytes of frames of events that a neighbour or client may send before the broker is done with the first ones."""
    max_subscription_chars: int = 65_536
    """Characters of one filter in a network of brokers."""
    max_client_subscriptions: int = 10_000
    """Subscriptions that one client of a broker may have."""
    max_gateway_message_bytes: int = 1_048_576
    """Bytes of one message between gateways; a longer one is not read."""
    max_gateway_message_elements: int = 50_000
    """Elements of one such message, if it is XML."""
    max_gateway_message_levels: int = 64
    """Levels of elements of one such message, if it is XML."""
    max_gateway_message_s: int = 2_592_000
    """Seconds from when a message between gateways is sent until it expires."""
    max_remembered_messages: int = 10_000
    """Messages of one domain, which have not expired, by which a gateway knows one that comes again."""
    max_contract_revisions: int = 1_000
    """Forms of contracts, proposed, refused and in force, that a gateway knows of."""
    max_landed_rows: int = 50_000
    """Records of one file that a live source lands in."""
    max_landed_bytes: int = 33_554_432
    """Bytes of one file that a live source lands in, beyond its last record."""
    max_file_attempts: int = 2
    """Times in a row that Spark may fail to read a file, in each way of reading it; then it is set aside."""
    max_source_attempts: int = 6
    """Times in a row that a live source may fail before its run does."""
    max_traced_events: int = 2_000
    """Events that one trace of a composite profile shows step by step."""
    max_traced_steps: int = 20_000_000
    """Combinations of events that such a trace looks at, over all points of time."""
    max_simplified_nodes: int = 10_000
    """Nodes that one part of a filter may grow to when it is simplified; a larger one stays as it was."""
    max_rate_periods: int = 4_000
    """Periods that the exchange rate of one conversion may have."""
    max_assigned_attributes: int = 200
    """Attributes of a type for which `contract suggest` finds the best pairs; of more it takes the likeliest first."""
    max_sampled_events: int = 2_000
    """Events of each type that `contract suggest` looks at."""
    max_stored_days: int = 30
    """Days that a broker keeps an event for durable subscribers; what they lose by it is counted, and told to them."""
    max_stored_bytes: int = 10_737_418_240
    """Bytes of events that a broker keeps for durable subscribers; of more the oldest go, as by age."""
    max_remembered_identities: int = 1_000_000
    """Stored events, from the last half of them, that a broker recognises when they are published again."""
    max_uncommitted_bytes: int = 67_108_864
    """Bytes of events that wait for the disk; whoever publishes more waits, too."""
    max_node_types: int = 10_000
    """Types of an event server."""
    max_rule_chars: int = 65_536
    """Characters of a text of rules that is sent to an event server."""
    max_subscriber_rules: int = 10_000
    """Rules that one subscriber of an event server may have."""
    max_operand_events: int = 100
    """Events of an operand that an event server keeps for a composite rule that says nothing to bound them."""
    max_number_gaps: int = 1_000
    """Gaps in the numbers of a publisher that an event server remembers; of more the oldest counts as filled."""
    max_published_events: int = 10_000
    """Events of one request to an event server."""
    max_history_page: int = 1_000
    """Events of one page of the history of an event server."""
    max_waiting_passwords: int = 64
    """Passwords that wait to be compared; whoever comes when there are as many is told to try again."""
    min_password_chars: int = 8
    """Characters that a password must have."""
    max_password_chars: int = 256
    """Characters that a password may have."""
    max_simulated_brokers: int = 100_000
    """Brokers of one simulation."""
    max_simulated_events: int = 1_000_000
    """Events of one simulation, and subscriptions of its market."""


def _from_environment() -> Limits:
    changes: dict[str, int] = {}
    for field in fields(Limits):
        name = f"COMITY_{field.name.upper()}"
        text = os.environ.get(name)
        if text is None:
            continue
        if not text.isdecimal() or len(text) > len(str(MOST)) or not 0 < int(text) <= MOST:
            raise Misuse(f"{name} must be a whole number from 1 to {MOST:,}, not {text[:40]!r}", code="bad-limit")
        changes[field.name] = int(text)
    return replace(Limits(), **changes)


_current: ContextVar[Limits | None] = ContextVar("comity_limits", default=None)


def limits() -> Limits:
    """The bounds in force here."""
    current = _current.get()
    if current is None:
        current = _from_environment()
        _current.set(current)
    return current


@contextmanager
def limited(**changes: int) -> Iterator[Limits]:
    """Other bounds for the length of a `with` block."""
    token = _current.set(replace(limits(), **changes))
    try:
        yield limits()
    finally:
        _current.reset(token)
