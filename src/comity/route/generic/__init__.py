"""Networks whose links form any graph: brokers agree on a spanning tree, and route along it."""
