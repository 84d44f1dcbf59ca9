"""The questions of the test suite: scans on a few generated plans, with their truth."""

from pathlib import Path

from benchmarks.reference.adapter import Adapter
from benchmarks.reference.outcomes import Counts, Outcome, outcome_of
from benchmarks.reference.shards import Shard, read_shard, write_shard
from benchmarks.reference.store import Record, read_outcomes, write_record

FILE = "questions.npz"
NAME = "answers"
SEED = 402
PLANS = {0: 60, 1: 180, 8: 60}
"""Scans on an office, a hall and a museum, by their numbers among the plans."""


def write_sample(folder: Path) -> Counts:
    """Write questions and answers; return the latter's counts."""
    from benchmarks.reference.plane_sets import add_plan

    shard = Shard()
    for number, scans in PLANS.items():
        add_plan(shard, number, SEED, scans)
    write_shard(shard, folder / FILE)
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
