"""`python -m isovist` is the command line."""

from isovist.apps.cli.app import main

main()
