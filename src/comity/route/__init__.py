"""Content-based routing in a network of brokers, as steps: a change or a message goes in, messages come out.

No clock, no chance, no input and output in here: `simulate` and `server` bring these.
"""
