"""Files that may be hostile are decoded in a process that may die without taking the run along.

The formats of others are decoded by libraries in C, which a crafted file can drive into a crash, an endless loop or all
the memory there is. So a child process decodes them, with bounds on its memory and its computing time, and gives the
records back through a pipe. When it dies, the records that it gave stay, one rejected record stands for the rest of the
file, and the next file gets a new child.

A child is Python with the libraries loaded, about 0.2 s, and serves one file after the other; records cross in pieces
of 64 KB, while the next ones are decoded beside.
"""

from comity.event.isolation.decoders import decoded_apart

__all__ = ["decoded_apart"]
