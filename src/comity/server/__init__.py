"""What runs as a program of its own and speaks to others: brokers, their wire, and what they keep."""
