"""Asks one tree the questions of a shard, by names that every version has.

    PYTHONPATH=TREE/src:. python -m benchmarks.reference.adapter --inputs FOLDER --data FOLDER

Reads lines of JSON and answers each with a line of JSON: "begin" makes a process of its own for a
set, so that its peak memory is its own; "ask" asks a question, or the next update of a drive; "end"
ends the process of the set.  CPU time is that of the process, which has one thread.
"""

import argparse
import cProfile
import inspect
import json
import os
import resource
import sys
import tempfile
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import isovist as iv
from benchmarks.reference.shards import Shard, read_shard

COORDINATES = ("x", "y", "yaw", "z", "roll", "pitch")


class Adapter:
    """Answers questions of shards; holds the maps of the last question alone."""

    def __init__(self, inputs: Path, data: Path) -> None:
        self.inputs, self.data = inputs, data
        self.path, self.shard = "", Shard()
        self.atlases: dict[int, Any] = {}
        self.tracker: Any = None
        self.built: dict[str, float] = {}

    def ask(self, message: dict[str, Any]) -> dict[str, Any]:
        """Answer a question, or an update of a drive."""
        if message["shard"] != self.path:
            self.path, self.shard = message["shard"], read_shard(self.inputs / message["shard"])
            self.atlases = {}
        query, step = self.shard.queries[message["query"]], message.get("step")
        self.built = {}
        atlas = self.atlas(query["maps"], message.get("measure", False))
        if query.get("verb") == "track":
            scans = [query["scans"][step]]
            if step == 0:
                self.tracker = iv.Tracker(atlas)
        else:
            scans = query["scans"]
        call = self.call(query, step, atlas, [self.scan(one) for one in scans])
        profile = cProfile.Profile(builtins=False) if message.get("profile") else None
        begin = process_time()
        if profile is not None:
            profile.enable()
        try:
            answer = call()
        except Exception as error:
            answer = error
        finally:
            if profile is not None:
                profile.disable()
        spent = process_time() - begin
        answers = answer if isinstance(answer, list) else [answer]
        told = [told_of(one) for one in answers]
        calls = None if profile is None else sum(row.callcount for row in profile.getstats())
        return {"answers": told, "cpu": spent, "calls": calls, "built": self.built}

    def call(self, query: dict[str, Any], step: int | None, atlas: Any, scans: list[Any]) -> Any:
        """Return what asks, so that nothing else is measured."""
        verb, options = query.get("verb", "locate"), dict(query.get("options", {}))
        if verb == "track":
            odometry = iv.Pose(*query["odometry"][step])
            return lambda: self.tracker.update(odometry, scans[0])
        if verb == "check":
            pose = iv.Pose(*query["pose"])
            return lambda: iv.check(atlas, scans[0], pose)
        if verb == "many":
            return lambda: list(iv.locate_many(atlas, scans))
        if "region" in query:
            options[region_keyword()] = region_of(query["region"])
        if len(scans) > 1:
            options["motions"] = [iv.Pose(*motion) for motion in query["motions"]]
            return lambda: iv.locate(atlas, scans, **options)
        return lambda: iv.locate(atlas, scans[0], **options)

    def atlas(self, numbers: list[int], measure: bool) -> Any:
        """Return one atlas, or several by name."""
        self.atlases = {k: self.atlases[k] for k in numbers if k in self.atlases}
        for k in numbers:
            if k not in self.atlases:
                world, how = self.world(k)
                begin = process_time()
                self.atlases[k] = iv.build(world, **how)
                self.built["cpu"] = self.built.get("cpu", 0.0) + process_time() - begin
                self.built["count"] = self.built.get("count", 0) + 1
                if measure:
                    size = bytes_of(self.atlases[k])
                    self.built["bytes"] = self.built.get("bytes", 0) + size
        if len(numbers) == 1:
            return self.atlases[numbers[0]]
        return {self.shard.maps[k]["name"]: self.atlases[k] for k in numbers}

    def world(self, number: int) -> tuple[Any, dict[str, Any]]:
        """Return a map, and options of `build`."""
        told = self.shard.maps[number]
        how = {"height": told["height"]} if "height" in told else {}
        if "file" in told:
            path = (self.data if told.get("of_data") else self.inputs) / told["file"]
            reading = {"resolution": told["resolution"]} if "resolution" in told else {}
            return iv.read_map(path, **reading), how
        origin = iv.Pose(*told["origin"])
        cells = self.shard.cells[number]
        return iv.OccupancyMap(cells=cells, resolution=told["resolution"], origin=origin), how

    def scan(self, which: int | str) -> Any:
        """Return a scan by its number or its file."""
        if isinstance(which, str):
            return iv.read_scan(self.inputs / which)
        sensor, millimetres = self.shard.scans[which]
        bearings, low, high = self.shard.sensors[sensor]
        ranges = np.where(millimetres > 0, millimetres / 1000.0, np.nan)
        return iv.Scan(bearings=bearings, ranges=ranges, range_min=low, range_max=high)


def region_keyword() -> str:
    """Return what `locate` calls a region."""
    known = inspect.signature(inspect.unwrap(iv.locate)).parameters
    return "region" if "region" in known else "prior"


def region_of(told: dict[str, Any]) -> Any:
    """Return a circle, with headings where it tells them."""
    region = iv.Region.circle(told["centre"], told["radius"])
    return region.towards(told["heading"], told["tolerance"]) if "heading" in told else region


def told_of(answer: Any) -> dict[str, Any]:
    """Return an answer, a belief, a check or an error as plain values."""
    if isinstance(answer, Exception):
        refused = isinstance(answer, iv.InputError)
        reason = type(answer).__name__ if refused else f"{type(answer).__name__}: {answer}"[:100]
        verdict = "refused" if refused else "error"
        return {"verdict": verdict, "reasons": [reason], "hypotheses": []}
    if hasattr(answer, "estimates"):
        estimates = answer.estimates
    else:  # a check
        estimates = [one for one in (answer.fit, *answer.rivals) if one is not None]
    found = [
        (getattr(one, "map", None), vector_of(one.pose), float(one.probability))
        for one in estimates
    ]
    reasons = [str(reason) for reason in getattr(answer, "reasons", ())]
    return {"verdict": str(answer.verdict), "reasons": reasons, "hypotheses": found}


def vector_of(pose: Any) -> list[float]:
    """Return the coordinates of a pose, three or six."""
    return [float(getattr(pose, name)) for name in COORDINATES if hasattr(pose, name)]


def bytes_of(atlas: Any) -> int:
    """Return how large an atlas is when it is written; 0 where it cannot be."""
    if not hasattr(iv, "write_atlas"):
        return 0
    with tempfile.TemporaryDirectory() as folder:
        iv.write_atlas(atlas, Path(folder) / "atlas")
        return sum(path.stat().st_size for path in Path(folder).rglob("*") if path.is_file())


def warm_up() -> None:
    """Have compiled code loaded before anything is measured."""
    room = iv.SegmentMap.room(6.0, 4.0)
    atlas, lidar = iv.build(room), iv.Lidar(beams=180)
    place = iv.Pose(2.0, 1.5, 0.3)
    scan = lidar.scan(room, place, np.random.default_rng(0))
    iv.locate(atlas, scan)
    iv.check(atlas, scan, place)
    tracker = iv.Tracker(atlas)
    for _ in range(2):
        tracker.update(place, scan)


def serve(adapter: Adapter) -> None:
    """Answer the questions of one set."""
    while line := sys.stdin.readline():
        message = json.loads(line)
        if message["op"] == "end":
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            tell({"peak_kb": peak})
            return
        tell(adapter.ask(message))


def tell(message: dict[str, Any]) -> None:
    """Write a line."""
    print(json.dumps(message), flush=True)


def main() -> None:
    """Serve sets, one after the other, each in a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--inputs", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--core", type=int)
    given = parser.parse_args()
    if given.core is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {given.core})
    warm_up()
    tell({"ready": iv.__version__})
    while line := sys.stdin.readline():
        assert json.loads(line)["op"] == "begin"
        child = os.fork()
        if child == 0:
            tell({"begun": True})
            serve(Adapter(given.inputs, given.data))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            tell({"failed": os.waitstatus_to_exitcode(status)})


if __name__ == "__main__":
    main()
