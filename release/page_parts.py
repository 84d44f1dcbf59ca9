"""Fetch the libraries of the studio's page, and check them.

    python release/page_parts.py

The files go to src/isovist/apps/studio/static/vendor.  npm fetches them, by the versions in
package.json, into a temporary folder.  Each must have the SHA-256 below.  After a change of
version, run the script: it prints the new sums, which you compare with what the authors publish.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "src/isovist/apps/studio/static/vendor"
PARTS = {
    "three/build/three.module.js": (
        "three.module.js",
        "104f56145899722094556490d787aae0617cc2fc3382f31df02d724ea1aee341",
    ),
    "three/build/three.core.js": (
        "three.core.js",
        "613e370f76638fdef83926642bf256dc9615684922de1ce1f63a8583e5d78578",
    ),
    "three/examples/jsm/controls/OrbitControls.js": (
        "OrbitControls.js",
        "e7fca2fe9e7670a828af9b28084669a5909445b7f36f1f26cee9bf8f2961c32c",
    ),
    "three/LICENSE": (
        "three.LICENSE.txt",
        "8b378ebe60e2fe500158cb0ac71cb5e8b7d92953c2abcc63a0eb90499653b5bc",
    ),
    "uplot/dist/uPlot.esm.js": (
        "uPlot.esm.js",
        "5dd9b3281aa64b461b42d9945f6adb2649d346502b12281a9ae0d46599a80eba",
    ),
    "uplot/dist/uPlot.min.css": (
        "uPlot.min.css",
        "df630c6a8d6f8eeaff264b50f73ce5b114f646ffd9a0bb74f049b0a00135fa04",
    ),
    "uplot/LICENSE": (
        "uPlot.LICENSE.txt",
        "8f989229699b4fe2f1a0432d0e9edc338a8a911e250e2d1b01ecd770a5f5b1bd",
    ),
}
"""Paths in node_modules, with the name beside the page and the SHA-256 of each."""
NPM = ("install", "--omit=dev", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund")


def fault(folder: Path = FOLDER) -> str:
    """Return which part is missing or differs from its checksum; empty if all are right."""
    for name, checksum in PARTS.values():
        path = folder / name
        if not path.is_file():
            return f"{name} is missing"
        sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
        if sha256 != checksum:
            return f"{name} has the SHA-256 {sha256}, not {checksum}"
    return ""


def fetch() -> str:
    """Put the parts beside the page, and return why this failed; empty if it did not."""
    npm = shutil.which("npm")
    if npm is None:
        return "npm is missing; install Node.js"
    with tempfile.TemporaryDirectory() as scratch:
        shutil.copy(ROOT / "package.json", scratch)
        run = subprocess.run([npm, *NPM], cwd=scratch, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            return f"npm failed: {(run.stderr.strip().splitlines() or ['no message'])[-1]}"
        parts = Path(scratch, "parts")
        parts.mkdir()
        for source, (name, _) in PARTS.items():
            shutil.copy(Path(scratch, "node_modules", source), parts / name)
        why = fault(parts)
        if not why:
            shutil.rmtree(FOLDER, ignore_errors=True)
            shutil.copytree(parts, FOLDER)
        return why


def main() -> None:
    """Fetch the parts unless they are there and right."""
    why = fault() and fetch()
    if why:
        sys.exit(f"The studio's page has no 3D view and no plots: {why}.")


if __name__ == "__main__":
    main()
