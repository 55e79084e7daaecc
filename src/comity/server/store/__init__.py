"""What waits for durable subscribers: events once, a cursor for each of them, and their subscriptions.

`EventStore` is the door. `open_store` gives the one behind it that stands in a folder, in SQLite.
"""

from comity.server.store.port import (
    Committed,
    DurableCursor,
    EventPage,
    EventStore,
    NewEvent,
    StoredEvent,
    StoredSubscription,
    StoreFigures,
)
from comity.server.store.sqlite import Keeping, SqliteStore, open_store

__all__ = [
    "Committed",
    "DurableCursor",
    "EventPage",
    "EventStore",
    "Keeping",
    "NewEvent",
    "SqliteStore",
    "StoreFigures",
    "StoredEvent",
    "StoredSubscription",
    "open_store",
]
