"""Recorded answers: does a change of the code change what it answers, and what that costs?

    python -m benchmarks.reference sets
    python -m benchmarks.reference record  [--quick | --full] [SET …]
    python -m benchmarks.reference compare [--quick | --full] [--rounds N] [SET …]
    python -m benchmarks.reference sealed  [--seed 9000] [--quick] [SET …]
    python -m benchmarks.reference sample

README.md beside this file says what is asked.
"""

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.reference import report, store
from benchmarks.reference.outcomes import Counts
from benchmarks.reference.run import Plan, run
from benchmarks.reference.sets import SEALED, SEED, SIZES, Set, sets_of
from benchmarks.reference.shards import hash_of
from benchmarks.reference.trees import (
    CACHE,
    ROOT,
    Places,
    TreeError,
    checkout,
    clean_commit,
    generate,
)

Records = Mapping[str, Sequence[store.Record]]


def hashes_of(sets: Sequence[Set], places: Places, size: str) -> dict[str, str]:
    """Hashes of all files of inputs of some sets, and of what lies beside them."""
    names = {path.name for path in places.inputs.iterdir() if belongs(path.name, sets, size)}
    return {name: hash_of(places.inputs / name) for name in sorted(names)}


def belongs(name: str, sets: Sequence[Set], size: str) -> bool:
    """Whether a file is one of the inputs of some sets."""
    stem = name.partition("+")[0]
    return any(stem == f"{one.name}-{SEED}" or name in one.files(size) for one in sets)


def record(given: argparse.Namespace, places: Places) -> int:
    """Record what this tree answers."""
    commit, sets = clean_commit(), sets_of(given.sets)
    generate(ROOT, [one.name for one in sets], places, given.size, SEED)
    records = run([ROOT], sets, places, Plan(given.size), given.jobs)
    store.clear(given.recorded)
    for name, (one,) in records.items():
        store.write_record(name, one, given.recorded)
    store.Manifest(
        commit, given.size, [one.name for one in sets], hashes_of(sets, places, given.size),
        store.machine(),
    ).write(given.recorded)  # fmt: skip
    print(report.table(records))
    return 0


def compare(given: argparse.Namespace, places: Places) -> int:
    """Ask the recorded checkout and a tree in turn, and print what is different."""
    manifest = store.Manifest.read(given.recorded)
    if manifest is None:
        raise TreeError("Nothing is recorded yet: python -m benchmarks.reference record")
    if SIZES.index(given.size) > SIZES.index(manifest.size):
        raise TreeError(f"Only the {manifest.size} size is recorded.")
    sets = [one for one in sets_of(given.sets) if one.name in manifest.sets]
    before = given.before or checkout(manifest.commit, places.cache)
    generate(before, [one.name for one in sets], places, given.size, SEED)
    found = hashes_of(sets, places, given.size)
    wanted = {k: v for k, v in manifest.hashes.items() if belongs(k, sets, given.size)}
    if other := [name for name in found | wanted if found.get(name) != wanted.get(name)]:
        raise TreeError(
            f"{len(other)} files of inputs are not those that were recorded, {other[0]} first. "
            f"Delete those of their sets from {places.inputs}; they are made anew."
        )
    records = run([before, given.tree], sets, places, Plan(given.size, SEED, given.rounds),
                  given.jobs)  # fmt: skip
    changed = tell(records)
    repeated = {name: report.differing(store.read_outcomes(name, given.recorded), pair[0].outcomes)
                for name, pair in records.items()}  # fmt: skip
    total = {key: sum(one[key] for one in repeated.values()) for key in ("verdict", "hypotheses")}
    print(f"The recorded checkout repeats its record but for {total['verdict']} verdicts and "
          f"{total['hypotheses']} lists of hypotheses.")  # fmt: skip
    if given.json:
        write_json(given.json, records, changed)
    return 1 if given.strict and changed else 0


def sealed(given: argparse.Namespace, places: Places) -> int:
    """Ask both trees questions of a seed that nobody has looked at; nothing is stored."""
    if given.seed < SEALED:
        raise TreeError(f"Sealed seeds begin at {SEALED}.")
    manifest = store.Manifest.read(given.recorded)
    if manifest is None:
        raise TreeError("Nothing is recorded yet: python -m benchmarks.reference record")
    before = given.before or checkout(manifest.commit, places.cache)
    sets = [one for one in sets_of(given.sets) if one.seeded]
    generate(before, [one.name for one in sets], places, given.size, given.seed)
    records = run([before, given.tree], sets, places, Plan(given.size, given.seed), given.jobs)
    changed = tell(records)
    if given.json:
        write_json(given.json, records, changed)
    return 0


def tell(records: Records) -> list[str]:
    """Print the rows and every changed verdict; return the latter."""
    print(report.table(records))
    ratios = report.pooled(records)
    print(f"\npooled CPU ratio {sum(ratios) / len(ratios):.3f}; by round "
          f"{', '.join(f'{ratio:.3f}' for ratio in ratios)}")  # fmt: skip
    pairs = {name: (pair[0].outcomes, pair[1].outcomes) for name, pair in records.items()}
    changed = [line for name, pair in pairs.items() for line in report.changes(name, *pair)]
    others = [report.differing(*pair) for pair in pairs.values()]
    total = {key: sum(one[key] for one in others) for key in others[0]}
    print(f"{total['verdict']} verdicts, {total['reasons']} lists of reasons and "
          f"{total['hypotheses']} lists of hypotheses changed.")  # fmt: skip
    print("\n".join(changed))
    return changed


def write_json(path: Path, records: Records, changed: list[str]) -> None:
    """Write counts and costs of both trees."""
    rows: dict[str, Any] = {}
    for name, pair in records.items():
        counts = [Counts.of(one.outcomes.values()) for one in pair]
        rows[name] = [
            {key: getattr(count, key) for key in Counts.__slots__} | one.costs()
            for count, one in zip(counts, pair, strict=True)
        ]
    told = {"sets": rows, "changed": changed, "pooled": report.pooled(records)}
    path.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def sample(given: argparse.Namespace, places: Places) -> int:
    """Write the questions of the test suite and what this tree answers to them."""
    from benchmarks.reference.sample import write_sample

    del places
    print(write_sample(given.output))
    return 0


def list_sets(given: argparse.Namespace, places: Places) -> int:
    """Print the sets and how many files each size has."""
    del places
    for one in sets_of(given.sets):
        print(f"{one.name:32} files {' / '.join(map(str, one.shards)):14} quick {one.quick}")
    return 0


COMMANDS = {"sets": list_sets, "record": record, "compare": compare, "sealed": sealed,
            "sample": sample}  # fmt: skip


def parsed() -> argparse.Namespace:
    """Read the command line."""
    text = (__doc__ or "").splitlines()
    parser = argparse.ArgumentParser(
        description="\n".join(text), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("sets", nargs="*", metavar="SET", help="names, or patterns like 'carmen-*'")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", dest="size", action="store_const", const="quick",
                      help="a fixed part of every set, in 5 minutes on two cores")  # fmt: skip
    size.add_argument("--full", dest="size", action="store_const", const="full",
                      help="20 000 scans of generated plans, not 6 000")  # fmt: skip
    parser.set_defaults(size="default")
    parser.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data",
                        help="folder of logs and maps [../shared/data]")  # fmt: skip
    parser.add_argument("--cache", type=Path, default=CACHE,
                        help="folder of checkouts and inputs [isovist-reference]")  # fmt: skip
    parser.add_argument("--inputs", type=Path, help="folder of inputs [inputs of the cache]")
    parser.add_argument("--recorded", type=Path, default=store.FOLDER,
                        help="folder of the record [recorded beside this file]")  # fmt: skip
    parser.add_argument("--before", type=Path, help="a checkout of the recorded commit [made]")
    parser.add_argument("--tree", type=Path, default=ROOT, help="the tree to compare [this one]")
    parser.add_argument(
        "--rounds", type=int, default=1, help="how often each question is asked [1]"
    )
    parser.add_argument("--jobs", type=int, default=2, help="sets at once, a core each [2]")
    parser.add_argument("--seed", type=int, default=SEALED, help=f"of `sealed` [{SEALED}]")
    parser.add_argument("--strict", action="store_true", help="exit with 1 on a changed verdict")
    parser.add_argument("--json", type=Path, help="write the rows there, too")
    parser.add_argument("--output", type=Path, default=ROOT / "tests/support/recorded_answers",
                        help="folder of `sample`")  # fmt: skip
    return parser.parse_intermixed_args()


def main() -> None:
    """Run one of the commands."""
    given = parsed()
    begin = time.perf_counter()
    try:
        code = COMMANDS[given.command](given, Places(given.data, given.inputs, given.cache))
    except TreeError as error:
        sys.exit(str(error))
    print(f"{(time.perf_counter() - begin) / 60.0:.1f} min", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
