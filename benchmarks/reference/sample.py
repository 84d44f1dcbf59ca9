"""The questions of the test suite: scans on a few generated plans, with their truth.

Seed 402 made them: 60 scans in an office, 180 in a hall, 60 in a museum.  They are stored, so that
later changes of generators do not matter.
"""

from pathlib import Path

from benchmarks.reference.adapter import Adapter
from benchmarks.reference.outcomes import Counts, Outcome, outcome_of
from benchmarks.reference.shards import read_shard
from benchmarks.reference.store import Record, read_outcomes, write_record

FILE = "questions.npz"
NAME = "answers"


def write_sample(folder: Path) -> Counts:
    """Write the answers of this tree to the questions of a folder; return their counts."""
    write_record(NAME, Record(outcomes=asked(folder)), folder)
    return Counts.of(read_outcomes(NAME, folder).values())


def asked(folder: Path) -> dict[str, Outcome]:
    """Ask the questions of a folder; outcomes by their names."""
    adapter, shard = Adapter(folder, folder), read_shard(folder / FILE)
    found = {}
    for number, query in enumerate(shard.queries):
        reply = adapter.ask({"shard": FILE, "query": number})
        found[f"{query['what']} {number}"] = outcome_of(reply["answers"][0], query, shard.near)
    return found
