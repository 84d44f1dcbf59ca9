"""Makes the files of inputs that are not there yet.

    python -m benchmarks.reference.generate --data FOLDER --inputs FOLDER [--size quick] [SET …]

It is run by the recorded checkout, so that what later versions generate does not matter.
"""

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.reference.sets import SEED, SIZES, Set, sets_of
from benchmarks.reference.shards import write_shard


def make(one: Set, data: Path, inputs: Path, size: str, seed: int) -> None:
    """Make the files of a set."""
    module, _, name = one.maker.partition(".")
    for number, file in enumerate(one.files(size, seed)):
        if not (inputs / file).exists():
            maker = getattr(import_module(f"benchmarks.reference.{module}"), name)
            options = dict(one.options)
            if module == "space_sets":
                options["inputs"] = inputs
            write_shard(maker(data, seed, number, **options), inputs / file)
            print(file, flush=True)


def main() -> None:
    """Make the files of the sets that are named, or of all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--inputs", type=Path, required=True)
    parser.add_argument("--size", choices=SIZES, default="default")
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    given.inputs.mkdir(parents=True, exist_ok=True)
    for one in sets_of(given.sets):
        make(one, given.data, given.inputs, given.size, given.seed)


if __name__ == "__main__":
    main()
