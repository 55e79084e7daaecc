"""The protocol by which domains meet over a network: as steps without clock, chance or IO."""
