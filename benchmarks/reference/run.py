"""Asks one tree or two, in turn, on one core per pair of processes."""

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks.reference.outcomes import UNIQUE, outcome_of
from benchmarks.reference.sets import SEED, Set
from benchmarks.reference.shards import Shard, read_shard
from benchmarks.reference.store import Record
from benchmarks.reference.trees import Places, Worker

COUNTED = 5
"""Unique answers of a set whose Python calls are counted."""
PROFILED = 20
"""Updates of a drive whose Python calls are counted."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How sets are asked.

    Attributes:
        size: How many questions.
        seed: Of the generators.
        rounds: How often each question is asked.
    """

    size: str
    seed: int = SEED
    rounds: int = 1


def run(
    trees: Sequence[Path], sets: Sequence[Set], places: Places, plan: Plan, jobs: int
) -> dict[str, list[Record]]:
    """Ask trees the questions of sets; a record of each tree by the name of the set.

    Each job has a core, and one process of each tree on it, of which one works at a time.
    """
    cores: Any = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [None]
    jobs = min(jobs, len(cores), len(sets))
    with ExitStack() as stack:
        crews: SimpleQueue[list[Worker]] = SimpleQueue()
        for core in cores[:jobs]:
            crews.put([stack.enter_context(closing(Worker(tree, places, core))) for tree in trees])

        def ask(one: Set) -> list[Record]:
            crew = crews.get()
            try:
                return ask_set(crew, one, places, plan)
            finally:
                crews.put(crew)
                print(f"{one.name} is done", file=sys.stderr, flush=True)

        with ThreadPoolExecutor(jobs) as pool:
            ordered = sorted(sets, key=lambda one: -one.load)
            asked = {one.name: pool.submit(ask, one) for one in ordered}
            return {one.name: asked[one.name].result() for one in sets}


def ask_set(crew: Sequence[Worker], one: Set, places: Places, plan: Plan) -> list[Record]:
    """Ask every tree the questions of a set."""
    records = [Record() for _ in crew]
    for worker in crew:
        worker.ask(op="begin")
    turn = 0
    for number, file in enumerate(one.files(plan.size, plan.seed)):
        shard = read_shard(places.inputs / file)
        for query in one.chosen(len(shard.queries), plan.size):
            known = shard.queries[query]
            steps = steps_of(known, one, plan.size)
            for again in range(plan.rounds):
                for step in steps:
                    message = {"op": "ask", "shard": file, "query": query, "step": step}
                    if number == 0:
                        message["measure"] = True
                    ask_once(crew, records, shard, message, turn + again)
                    turn += 1
            count_calls(crew, records, shard, {"op": "ask", "shard": file, "query": query}, steps)
    for worker, record in zip(crew, records, strict=True):
        record.peak_mb = worker.ask(op="end")["peak_kb"] / 1024.0
    return records


def steps_of(query: dict[str, Any], one: Set, size: str) -> Sequence[int | None]:
    """Updates of a drive that a size asks; one question of anything else."""
    if query.get("verb") != "track":
        return [None]
    count = len(query["scans"])
    return range(min(count, one.steps) if size == "quick" else count)


def ask_once(
    crew: Sequence[Worker], records: Sequence[Record], shard: Shard, message: dict[str, Any],
    turn: int,
) -> None:  # fmt: skip
    """Ask every tree one question; which is asked first alternates."""
    order = list(range(len(crew)))
    for k in order[::-1] if turn % 2 else order:
        reply, record = crew[k].ask(**message), records[k]
        built = reply["built"]
        record.build_cpu += built.get("cpu", 0.0)
        record.maps += built.get("count", 0)
        record.atlas_bytes += built.get("bytes", 0)
        for name, query, answer in answers_of(reply, shard, message):
            record.outcomes[name] = outcome_of(answer, query, shard.near)
            share = reply["cpu"] / len(reply["answers"])
            record.cpu.setdefault(name, []).append(share)


def answers_of(
    reply: dict[str, Any], shard: Shard, message: dict[str, Any]
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Name, question with its truth, and answer, of each answer of a reply."""
    query, step = shard.queries[message["query"]], message.get("step")
    number = message["shard"].removesuffix(".npz").rpartition("-")[2]
    name = " ".join([f"{number}/{message['query']}", *filter(None, [query.get("what")])])
    if step is not None:
        yield f"{name}/{step}", query | {"truth": query["truth"][step]}, reply["answers"][0]
    elif query.get("verb") == "many":
        for k, answer in enumerate(reply["answers"]):
            truth = query["truth"][k % len(query["truth"])]
            yield f"{name}/{k}", query | {"truth": truth}, answer
    else:
        yield name, query, reply["answers"][0]


def count_calls(
    crew: Sequence[Worker], records: Sequence[Record], shard: Shard, message: dict[str, Any],
    steps: Sequence[int | None],
) -> None:  # fmt: skip
    """Ask once more, counting Python calls, where all trees say unique."""
    steps = list(steps)[:PROFILED]
    told = [name for step in steps for name, *_ in
            answers_of({"answers": [None]}, shard, message | {"step": step})]  # fmt: skip
    names = [name for name in told if all(
        name in record.outcomes and record.outcomes[name].verdict in UNIQUE for record in records
    )]  # fmt: skip
    many = shard.queries[message["query"]].get("verb") == "many"
    if many or not names or records[0].counted >= COUNTED:
        return
    for worker, record in zip(crew, records, strict=True):
        for step in steps:
            reply = worker.ask(**message, step=step, profile=True)
            record.calls += reply["calls"]
        record.counted += len(names)
