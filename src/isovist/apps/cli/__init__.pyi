from isovist.apps.cli.app import main as main
