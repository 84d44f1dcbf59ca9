"""How often does the demonstration find the robot?

python -m benchmarks.demo [SEEDS]
"""

import sys

from isovist.localization import Verdict
from isovist.simulation.demo import demonstrate


def main() -> None:
    seeds = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    right = unique = wrong = 0
    for seed in range(seeds):
        shown = demonstrate(seed)
        right += shown.right
        unique += shown.answer.verdict is Verdict.UNIQUE
        wrong += shown.answer.verdict is Verdict.UNIQUE and not shown.right
        if not shown.right:
            gap, _ = shown.error
            print(f"seed {seed}: {shown.answer.verdict.value}, {gap:.2f} m off")
    print(f"demo: {right} of {seeds} right, {unique} unique, {wrong} unique and wrong")
    raise SystemExit(0 if wrong == 0 and right >= 0.98 * seeds else 1)


if __name__ == "__main__":
    main()
