"""`python -m isovist` is the command line."""

from isovist.cli.app import main

main()
