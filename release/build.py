"""Build the wheel and the source archive, and check that they depend on the files alone.

    python release/build.py FOLDER

Both are built twice, and the wheel a third time, from the source archive and without network.
All must be the same bytes.  SOURCE_DATE_EPOCH is the time of the last commit unless it is set.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NO_NETWORK = ("unshare", "--map-root-user", "--net")


def build(checkout: Path, folder: Path, *options: str, prefix: tuple[str, ...] = ()) -> None:
    """Build the archives of a checkout into a folder; stop with its message if it fails."""
    command = [*prefix, sys.executable, "-m", "hatchling", "build", "-d", str(folder), *options]
    done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or done.stdout.strip())


def can_unshare() -> bool:
    """Return whether a process without network can be started here."""
    try:
        done = subprocess.run([*NO_NETWORK, "true"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def main() -> None:
    target = Path(sys.argv[1]).resolve()
    if "SOURCE_DATE_EPOCH" not in os.environ:
        log = ["git", "log", "-1", "--format=%ct"]
        time = subprocess.check_output(log, cwd=ROOT, text=True).strip()
        os.environ["SOURCE_DATE_EPOCH"] = time
    with tempfile.TemporaryDirectory() as scratch:
        again, unpacked, offline = (Path(scratch, name) for name in ("again", "source", "offline"))
        build(ROOT, target)
        build(ROOT, again)
        (source,) = target.glob("*.tar.gz")
        with tarfile.open(source) as archive:
            archive.extractall(unpacked, filter="data")
        prefix = NO_NETWORK if can_unshare() else ()
        build(*unpacked.iterdir(), offline, "-t", "wheel", prefix=prefix)
        for path in sorted([*again.iterdir(), *offline.iterdir()]):
            if path.read_bytes() != (target / path.name).read_bytes():
                sys.exit(f"{path.name} of {path.parent.name} has other bytes than the first.")
    names = ", ".join(sorted(path.name for path in target.iterdir()))
    print(f"Built twice, and the wheel from the source archive, the same bytes: {names}.")


if __name__ == "__main__":
    main()
