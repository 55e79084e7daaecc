"""What clients say to a node over HTTP, WebSocket and server-sent events, and the documents that tell of it."""
