"""Networks of brokers under virtual time: what they do, what it costs, and whether it is right.

Nothing here waits, and chance comes from one seed, so a run can be had again. What judges a run (`truth`, `checks`)
shares no code with the steps of the brokers.
"""
