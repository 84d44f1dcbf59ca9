"""The page of the rooms names every room, and nothing that is not there."""

import re

from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "isovist"
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([a-z_0-9/]+(?:\.py|/))`", TEXT)


def test_every_room_and_folder_is_named():
    rooms = {path.parent.relative_to(SOURCE) for path in SOURCE.glob("*/**/__init__.py")}
    listed = {name.strip("/") for name in NAMED} | {
        f"paper/{name}" for name in ("gram", "static", "dynamic", "basis_fit")
    }
    within = {"apps/cli", "apps/ros/buses", "apps/server/processes"}
    inner = {"paper/statements/worlds", "paper/report"}
    assert {str(room) for room in rooms} - within - inner <= listed


def test_every_file_that_is_named_is_there():
    assert len(NAMED) > 60
    for name in NAMED:
        assert any(SOURCE.rglob(name.rstrip("/"))) or (ROOT / name).exists(), name
