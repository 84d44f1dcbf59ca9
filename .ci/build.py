"""The wheel and the source archive, built twice: they must be the same bytes.

    python .ci/build.py FOLDER

FOLDER gets both.  SOURCE_DATE_EPOCH is the time of the last commit unless it is set.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def build(folder: Path) -> dict[str, bytes]:
    """Build both into a folder; their bytes by name."""
    import setuptools.build_meta as backend

    folder.mkdir(parents=True)
    shutil.rmtree(ROOT / "build", ignore_errors=True)
    for make in (backend.build_sdist, backend.build_wheel):
        make(str(folder))
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def main() -> None:
    target = Path(sys.argv[1]).resolve()
    os.chdir(ROOT)
    if "SOURCE_DATE_EPOCH" not in os.environ:
        log = ["git", "log", "-1", "--format=%ct"]
        os.environ["SOURCE_DATE_EPOCH"] = subprocess.check_output(log, text=True).strip()
    subprocess.run(
        [sys.executable, "setup.py", "parts"], check=False
    )  # without npm it goes without
    first = build(target)
    second = build(target / "again")
    shutil.rmtree(target / "again")
    differing = [name for name in first if first[name] != second[name]]
    if differing or len(first) != 2:
        sys.exit(f"Built twice, these are not the same bytes: {', '.join(differing)}.")
    print(f"Built twice, the same bytes: {', '.join(first)}.")


if __name__ == "__main__":
    main()
