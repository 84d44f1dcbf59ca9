"""The studio and the server of the built wheel answer, from an empty folder.

    python .ci/check_studio.py BIN WHEEL

BIN is the folder of programs of an environment that holds the wheel with the extra `studio`.
"""

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

LARGEST = 4_000_000
"""Of the wheel, in bytes."""
PAGE = ("", "static/main.js", "static/studio.css", "sites/hall/plan.png")
PARTS = ("static/vendor/three.module.js", "static/vendor/three.core.js",
         "static/vendor/OrbitControls.js", "static/vendor/uPlot.esm.js")  # fmt: skip


def main() -> None:
    programs, wheel = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    size = wheel.stat().st_size
    if size > LARGEST:
        sys.exit(f"The wheel has {size} bytes, more than {LARGEST}.")
    isovist = str(programs / "isovist")
    with started(isovist, "studio", "--no-browser", "--port", "0") as address:
        for path in (*PAGE, *PARTS):
            with urlopen(address + path) as answer:
                if not answer.read(16):
                    sys.exit(f"{path} is empty.")
        about = {"site": "hall", "robot": {"x": 9.0, "y": 5.5, "yaw": 0.3}}
        head = {"Content-Type": "application/json"}
        with urlopen(Request(f"{address}locate", json.dumps(about).encode(), head)) as answer:
            verdict = json.load(answer)["answer"]["verdict"]
    serve = "serve", "--library", ".", "--port", "0", "--workers", "1"
    with started(isovist, *serve) as address, urlopen(f"{address}openapi.json") as answer:
        requests = len(json.load(answer)["paths"])
    print(
        f"The wheel has {size / 1e6:.1f} MB, its studio answers: {verdict}, and its server takes "
        f"{requests} requests."
    )


@contextmanager
def started(*command: str) -> Iterator[str]:
    """Start a program in an empty folder, and give the address that it prints."""
    with tempfile.TemporaryDirectory() as folder:
        server = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        try:
            line = next(line for line in server.stderr if "http" in line)
            yield re.findall(r"http://\S+/", line)[0]
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
