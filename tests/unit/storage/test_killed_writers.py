"""Writers of files that are killed leave the old file, the new one or none, never half of one."""

import json
import os
import subprocess
import sys

import pytest
from tests.support.paths import SUPPORT

pytestmark = pytest.mark.slow


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a writer is killed in a fork")
def test_a_writer_killed_at_any_line_leaves_no_half_file_that_reads():
    driver = SUPPORT.joinpath("kill_files.py")
    done = subprocess.run([sys.executable, str(driver)], capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    assert set(told) == {"map.yaml", "plan.geojson", "scan.json", "scan.npz", "picture.png"}
    # A map is two files: between them there is none.
    assert told.pop("map.yaml") == [["new", "none", "old"], ["new", "none"]]
    for name, states in told.items():
        assert states == [["new", "old"], ["new", "none"]], name
