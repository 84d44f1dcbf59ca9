"""The wheel carries what the studio's page needs, fetched by npm, by exact version.

`python setup.py parts` puts it beside the checkout; building a wheel does so where it is missing.
Without npm the wheel has no 3D view and no plots, and says so.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PARTS = ROOT / "src/isovist/studio/static/vendor"
FILES = {
    "three/build/three.module.js": "three.module.js",
    "three/build/three.core.js": "three.core.js",
    "three/examples/jsm/controls/OrbitControls.js": "OrbitControls.js",
    "three/LICENSE": "three.LICENSE.txt",
    "uplot/dist/uPlot.esm.js": "uPlot.esm.js",
    "uplot/dist/uPlot.min.css": "uPlot.min.css",
    "uplot/LICENSE": "uPlot.LICENSE.txt",
}
NPM = ("install", "--omit=dev", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund")


def fetch() -> bool:
    """Put the parts beside the modules of the page; whether they are there."""
    if all((PARTS / name).exists() for name in FILES.values()):
        return True
    npm = shutil.which("npm")
    if npm is None:
        print("npm is missing: the studio will have no 3D view and no plots.", file=sys.stderr)
        return False
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(ROOT / "package.json", folder)
        done = subprocess.run([npm, *NPM], cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or ["it did not say why"])[-1]
            print(f"npm failed, so the studio has no 3D view: {last}", file=sys.stderr)
            return False
        PARTS.mkdir(parents=True, exist_ok=True)
        for source, name in FILES.items():
            shutil.copy(Path(folder, "node_modules", source), PARTS / name)
    return True


def main() -> None:
    """Fetch the parts, or build as setuptools is told to."""
    if sys.argv[1:] == ["parts"]:
        raise SystemExit(0 if fetch() else 1)
    from setuptools import setup
    from setuptools.command.build_py import build_py

    class Build(build_py):
        """Fetches the parts before a wheel is made of them; an editable checkout waits for make."""

        def run(self) -> None:
            if not self.editable_mode:
                fetch()
            super().run()

    setup(cmdclass={"build_py": Build})


if __name__ == "__main__":
    main()
