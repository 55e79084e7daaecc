"""`python -m comity` is the program `comity`."""

from comity.cli.main import run

run()
