"""A broker as a node of a rendezvous overlay: what it says on the wire, and which events of a batch go where."""
