"""Compile every kernel beforehand, in as many processes as there are cores for it.

    python .ci/warm.py [PROCESSES]

Two workers of the tests would each compile what both need; so they find it in the cache.
"""

import subprocess
import sys

PART = """
import sys
from isovist.kernels.compiled import KERNELS
from isovist.kernels.warm_up import load_all
load_all()
for kernel in list(KERNELS.values())[int(sys.argv[1]) :: int(sys.argv[2])]:
    kernel.compile()
"""


def main() -> None:
    count = sys.argv[1] if len(sys.argv) > 1 else "2"
    parts = [
        subprocess.Popen([sys.executable, "-c", PART, str(k), count]) for k in range(int(count))
    ]
    sys.exit(max(part.wait() for part in parts))


if __name__ == "__main__":
    main()
