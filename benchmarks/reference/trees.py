"""Checkouts of the project, and the processes that ask them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CACHE = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "isovist-reference"


class TreeError(Exception):
    """A tree cannot be asked; the text says why."""


def git(*arguments: str, root: Path = ROOT) -> str:
    """Return what git says, or raise `TreeError`."""
    command = ["git", "-C", str(root), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise TreeError(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.strip()


def clean_commit(root: Path = ROOT) -> str:
    """Return the commit of a tree, whose code must be as committed."""
    if changed := git("status", "--porcelain", "--", "src", "benchmarks/reference/*.py", root=root):
        raise TreeError(f"Commit these first, so that the record can name its commit:\n{changed}")
    return git("rev-parse", "HEAD", root=root)


def checkout(commit: str, cache: Path) -> Path:
    """Return a checkout of a commit, made in the cache unless it is there."""
    folder = cache / "trees" / commit[:12]
    if not (folder / "src" / "isovist").is_dir():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        part = folder.with_suffix(".part")
        shutil.rmtree(part, ignore_errors=True)
        git("clone", "--quiet", "--no-checkout", str(ROOT), str(part))
        git("checkout", "--quiet", "--detach", commit, root=part)
        part.rename(folder)
        _share_compiled(folder)
    return folder


def _share_compiled(folder: Path) -> None:
    """Copy what is compiled where the kernels are the same, which saves a minute."""
    ours, theirs = (root / "src" / "isovist" / "compute" for root in (ROOT, folder))
    texts = [
        {path.relative_to(kernels): path.read_bytes() for path in kernels.rglob("*.py")}
        for kernels in (ours, theirs)
    ]
    if texts[0] and texts[0] == texts[1]:
        for path in ours.rglob("__pycache__/*.nb[ci]"):
            copy = theirs / path.relative_to(ours)
            copy.parent.mkdir(exist_ok=True)
            shutil.copy2(path, copy)


def environment(tree: Path, package: Path = ROOT) -> dict[str, str]:
    """Return the environment of a process: code of the tree, benchmark of the package, a thread."""
    path = os.pathsep.join([str(tree / "src"), str(package)])
    one = dict.fromkeys(
        ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
    )
    return {**os.environ, **one, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}


def generate(tree: Path, sets: list[str], places: "Places", size: str, seed: int) -> None:
    """Have a tree make the inputs that are missing."""
    command = [sys.executable, "-m", "benchmarks.reference.generate", "--size", size]
    command += ["--seed", str(seed), "--data", str(places.data), "--inputs", str(places.inputs)]
    done = subprocess.run(
        [*command, *sets], env=environment(tree, tree), cwd=tree, stdout=sys.stderr, check=False
    )
    if done.returncode:
        raise TreeError("The inputs could not be made; see above.")


class Places:
    """Folders of a run: logs and maps, inputs, and the cache."""

    def __init__(self, data: Path, inputs: Path | None, cache: Path) -> None:
        self.data, self.cache = data.resolve(), cache.resolve()
        self.inputs = (inputs or cache / "inputs").resolve()


class Worker:
    """A process that asks one tree (`adapter`)."""

    def __init__(self, tree: Path, places: Places, core: int | None) -> None:
        command = [sys.executable, "-m", "benchmarks.reference.adapter"]
        command += ["--inputs", str(places.inputs), "--data", str(places.data)]
        command += [] if core is None else ["--core", str(core)]
        self.process = subprocess.Popen(
            command, env=environment(tree), cwd=ROOT, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
        self.version = self._read()["ready"]

    def ask(self, **message: Any) -> dict[str, Any]:
        """Send a message; return the reply."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        reply: dict[str, Any] = json.loads(line) if line else {"failed": self.process.poll()}
        if "failed" in reply:
            raise TreeError(f"A process that asked a tree ended with {reply['failed']}; see above.")
        return reply

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()
