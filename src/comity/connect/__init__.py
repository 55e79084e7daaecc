"""Where events come from and where notifications go.

`comity.connect(...)` is a function, too, which joins a network of brokers: see `comity.client`.
"""

from comity.called import call_as

call_as(__name__, "comity.client", "connect")
