"""Ask a running `isovist serve` where scans were taken, with nothing but Python itself.

python examples/ask_server.py http://127.0.0.1:8080 scan.json…

A token comes from the variable ISOVIST_TOKEN.  A server that has too much to do says how long to
wait; this client does, and asks again.
"""

import json
import math
import os
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any


def ask(address: str, verb: str, body: dict[str, Any]) -> dict[str, Any]:
    """What the server answers; an error of it ends the program with its words."""
    request = urllib.request.Request(
        f"{address}/{verb}",
        json.dumps(body).encode(),
        {
            "Content-Type": "application/json",
            "Authorization": f"Bearer {os.environ.get('ISOVIST_TOKEN', '')}",
        },
    )
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60.0) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            wait = error.headers.get("Retry-After")
            text = json.load(error)["error"]
            if wait is None:
                sys.exit(text)
            time.sleep(float(wait))


def main() -> None:
    address, *paths = sys.argv[1:]
    for path in paths:
        told = ask(address.rstrip("/"), "locate", {"scan": json.loads(Path(path).read_text())})
        best = told["estimates"][0] if told["estimates"] else None
        if best is None:
            print(f"{told['verdict']}: {told['advice']}")
            continue
        where = f" on {best['map']}" if "map" in best else ""
        yaw = math.degrees(best["yaw"])
        print(f"{told['verdict']}{where}: x {best['x']:.3f} m, y {best['y']:.3f} m, yaw {yaw:.2f}°")


if __name__ == "__main__":
    main()
