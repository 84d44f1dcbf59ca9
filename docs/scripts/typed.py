"""Check the Python of README.md and of two how-tos by mypy --strict.

    python docs/scripts/typed.py

`make lint` does it, where mypy has just read the library.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
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


def python_of(page: str) -> str:
    """Its blocks, one after the other."""
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.M | re.S)
    if not blocks:
        sys.exit(f"{page} has no Python any more: take it out of docs/scripts/typed.py.")
    return "\n".join(blocks)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{Path(page).stem.lower()}.py") for page in GIVEN]
        for path, (page, given) in zip(paths, GIVEN.items(), strict=True):
            path.write_text(given + python_of(page), encoding="utf-8")
        strict = [sys.executable, "-m", "mypy", "--strict", "--config-file", "pyproject.toml"]
        sys.exit(subprocess.run([*strict, *paths], cwd=ROOT, check=False).returncode)


if __name__ == "__main__":
    main()
