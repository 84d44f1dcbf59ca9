"""The Python of README.md and of two how-tos passes mypy --strict as it stands."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
GIVEN = {
    "README.md": """
import isovist as iv
odometry: iv.Pose
scan: iv.Scan
""",
    "docs/how-to/floors.md": """
import isovist as iv
odometry: iv.Pose
scan: iv.Scan
""",
    "docs/how-to/nav2.md": """
from typing import Any
import isovist as iv
odometry: iv.Pose
stamp: float

class LaserScan:
    angle_min: float
    angle_increment: float
    range_min: float
    range_max: float
    ranges: list[float]
msg: LaserScan
PoseWithCovarianceStamped: Any
publisher: Any
""",
}
"""What a page speaks of and does not define: the robot's own odometry and its messages."""


def python_of(page):
    """Its blocks, one after the other."""
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.M | re.S)
    assert blocks
    return "\n".join(blocks)


def test_the_python_of_the_pages_passes_mypy(tmp_path):
    """In one run, since most of it is reading the library."""
    paths = []
    for page, given in GIVEN.items():
        paths.append(tmp_path / f"{Path(page).stem.lower()}.py")
        paths[-1].write_text(given + python_of(page))
    strict = ["mypy", "--strict", "--config-file", ROOT / "pyproject.toml"]
    done = subprocess.run(
        [sys.executable, "-m", *strict, *paths],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert done.stdout == f"Success: no issues found in {len(GIVEN)} source files\n"
