"""The wheel carries what the studio's page needs, fetched by npm, by exact version.

Source archives are the same bytes for the same files where SOURCE_DATE_EPOCH is set; of wheels
setuptools sees to that itself.

`python setup.py parts` puts it beside the checkout; building a wheel does so where it is missing.
Without npm the wheel has no 3D view and no plots, and says so.
"""

import gzip
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PARTS = ROOT / "src/isovist/apps/studio/static/vendor"
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


def pack(archive: Path, folder: Path, time: int) -> None:
    """A folder as a .tar.gz that holds names, content and whether it can be run, and one time."""
    with (
        archive.open("wb") as stream,
        gzip.GzipFile("", "wb", 9, stream, time) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as tar,
    ):
        for path in sorted([folder, *folder.rglob("*")]):
            info = tar.gettarinfo(path, str(path.relative_to(folder.parent)))
            info.uid = info.gid = 0
            info.uname = info.gname = ""
            info.mtime, info.mode = time, 0o755 if info.mode & 0o100 else 0o644
            with path.open("rb") if path.is_file() else tempfile.TemporaryFile() as content:
                tar.addfile(info, content if path.is_file() else None)


def main() -> None:
    """Fetch the parts, or build as setuptools is told to."""
    if sys.argv[1:] == ["parts"]:
        raise SystemExit(0 if fetch() else 1)
    from setuptools import setup
    from setuptools.command.build_py import build_py
    from setuptools.command.sdist import sdist

    class Build(build_py):
        """Fetches the parts before a wheel is made of them; an editable checkout waits for make."""

        def run(self) -> None:
            if not self.editable_mode:
                fetch()
            super().run()

    class Source(sdist):
        """Packs with the one time that it is told, if it is."""

        def make_archive(self, base_name: str, format: str, *rest: str, **more: str) -> str:
            time = os.environ.get("SOURCE_DATE_EPOCH")
            if time is None or format != "gztar":
                return str(super().make_archive(base_name, format, *rest, **more))
            archive = Path(f"{base_name}.tar.gz")
            archive.parent.mkdir(parents=True, exist_ok=True)
            pack(archive, Path(more["base_dir"]), int(time))
            return str(archive)

    setup(cmdclass={"build_py": Build, "sdist": Source})


if __name__ == "__main__":
    main()
