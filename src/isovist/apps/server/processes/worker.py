"""A worker process, which answers requests for the server that started it.

    python -m isovist.apps.server.processes.worker

It reads the limits and then batches of requests from its standard input, and writes the replies to
its standard output.
"""

import json
import pickle
import signal
from typing import Any, BinaryIO

import isovist as iv
from isovist.apps.server.processes.messages import Batch, Call, Reply
from isovist.apps.server.requests import BEGIN, CHECK, LOCATE, Body, pose_of, region_of, spread_of
from isovist.apps.server.sessions import Robot, Sessions
from isovist.apps.web import Fields, Limits, RefusedError, unknown_map
from isovist.compute import active_backend
from isovist.localization import answer_requests, compile_kernels, run_worker
from isovist.paper import certify_answer
from isovist.report import answer_json, check_json

Json = dict[str, Any]


class Worker:
    """The state of a worker process: its maps, and the robots that it tracks.

    Args:
        limits: Limits on proofs and tracking sessions.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits, self.robots = limits, Sessions[Robot](limits)
        self.library: iv.Library | None = None

    def answer(self, batch: Batch) -> list[Reply]:
        """Answer the requests of a batch, in order."""
        if batch.library is not None:
            if self.library is not None:
                batch.library.keep(self.library)
            self.library = batch.library
        if not batch.calls:
            compile_kernels(self._maps[next(iter(self._maps))])
        if all(call.verb == "locate" for call in batch.calls):  # a card locates two at a time
            replies = active_backend().map_in_order(lambda _k, call: self._reply(call), batch.calls)
            return list(replies)
        return [self._reply(call) for call in batch.calls]

    @property
    def _maps(self) -> iv.Library:
        assert self.library is not None  # it comes with the first batch
        return self.library

    def _reply(self, call: Call) -> Reply:
        reply = Reply()
        try:
            answer = self._answer(call, reply)
        except iv.IsovistError as error:
            reply.error = error
        else:
            if "verdict" in answer:
                reply.log_fields["verdict"] = answer["verdict"]
            text = json.dumps(answer, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            reply.content = text.encode()
        return reply

    def _answer(self, call: Call, reply: Reply) -> Json:
        match call.verb:
            case "locate" | "prove":
                return self._locate(call, reply)
            case "check":
                return self._check(call.body, reply)
            case "begin":
                return self._begin(call, reply)
            case "update":
                return self.robots.get(call.session).update(call.body)
            case "end":
                self.robots.drop(call.session)
        return {}

    def _locate(self, call: Call, reply: Reply) -> Json:
        fields, maps = self._fields(call.body, LOCATE, reply)
        region = _region_of(fields, maps)
        options: Json = {"region": region, "prove": fields.switch("prove")}
        for name in ("tilt", "any_attitude"):
            options[name] = fields.switch(name)
        if options["prove"]:
            max_s = self.limits.proof_budget_s
            options["budget_s"] = fields.number("budget_s", max_s, low=0.0, high=max_s)
        has_hints, has_certificate = fields.switch("hints", True), fields.switch("certificate")
        scan = call.body.scan(fields)
        if options["prove"] and call.verb == "locate":
            reply.needs_proof = True
            return {}
        answer = iv.locate(maps, scan, **options)
        if has_certificate:
            answer = certify_answer(maps, scan, answer)
        return answer_json(answer, iv.hints(maps, scan, answer, region=region) if has_hints else ())

    def _check(self, body: Body, reply: Reply) -> Json:
        fields, maps = self._fields(body, CHECK, reply)
        if not isinstance(maps, iv.Atlas):
            raise iv.InputError(
                "There are several maps. Give the `map` of the pose.", code="missing", field="map"
            )
        scan, pose, spread = body.scan(fields), pose_of(fields), spread_of(fields)
        return check_json(iv.check(maps, scan, pose, spread, thorough=fields.switch("thorough")))

    def _begin(self, call: Call, reply: Reply) -> Json:
        fields, maps = self._fields(call.body, BEGIN, reply)
        self.robots.begin(Robot.of(fields, maps), call.session)
        return {"session": call.session, "expires_s": self.limits.session_timeout_s}

    def _fields(
        self, body: Body, names: tuple[str, ...], reply: Reply
    ) -> tuple[Fields, iv.Atlas | iv.Library]:
        """Return the fields of a request and its map, or all maps if it names none of several."""
        fields = body.fields(names)
        name = fields.text("map")
        if name:
            reply.log_fields["map"] = name
        elif len(self._maps) > 1:
            return fields, self._maps
        name = name or next(iter(self._maps))
        if name not in self._maps:
            raise unknown_map(name)
        try:
            return fields, self._maps[name]
        except iv.FileError as error:  # of the folder, not of the request
            raise RefusedError(503, str(error), self.limits.retry_after_s) from error


def _region_of(fields: Fields, maps: iv.Atlas | iv.Library) -> Any:
    """Return the search region of a request, which needs one map."""
    region = region_of(fields)
    if region is not None and not isinstance(maps, iv.Atlas):
        raise iv.InputError.about(
            ("near", "heading"), "are about one map. Give its name as `map`.", code="missing"
        )
    return region


def work(read: BinaryIO, write: BinaryIO) -> None:
    """Answer the messages of the server until its input ends."""
    answer_requests(read, write, Worker(pickle.load(read)).answer)


if __name__ == "__main__":
    for ending in (signal.SIGINT, signal.SIGTERM):
        signal.signal(ending, signal.SIG_IGN)  # the server ends it when all requests are answered
    run_worker(work)
