"""`python -m isovist` is the command line."""

from isovist.apps.cli import main

main()
