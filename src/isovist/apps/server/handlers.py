"""What is answered: the numbers and words of the command line."""

import json
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from isovist.apps.server.batches import Run
from isovist.apps.server.requests import CHECK, LOCATE, Body, Fields, pose_of, region_of, spread_of
from isovist.apps.web.errors import RefusedError, unknown
from isovist.apps.web.limits import Limits
from isovist.atlas.base import AnyScan, Atlas
from isovist.atlas.library import Library
from isovist.compute.registry import active_backend
from isovist.errors import FileError, InputError
from isovist.localization.certify import certify_answer
from isovist.localization.check import check
from isovist.localization.hints import hints
from isovist.localization.locate import locate
from isovist.localization.maps import site_of
from isovist.localization.region import Region
from isovist.report.answers import answer_json
from isovist.report.checks import check_json

Told = dict[str, Any]
Served = Atlas | Library


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Options of a localization request; scans with equal options go into one batch.

    Attributes:
        site: The map to search, or the library of all maps.
        prior: Region that the robot may be in; the whole map when `None`.
        how: The other arguments of `locate`, by name.
        hinting: Whether to say what would fit instead where nothing is unique.
        certifies: Whether to add a certificate.
    """

    site: Served
    prior: Region | None
    how: tuple[tuple[str, Any], ...]
    hinting: bool
    certifies: bool

    @classmethod
    def of(cls, site: Served, fields: Fields, proof_s: float) -> "Search":
        """Read the options from the fields of a request about one map or all maps."""
        prior = region_of(fields)
        if prior is not None and not isinstance(site, Atlas):
            raise InputError.about(
                ("near", "heading"), "are about one map; say which: `map`.", code="missing"
            )
        how: dict[str, Any] = {
            "tilt": fields.switch("tilt", False),
            "any_attitude": fields.switch("any_attitude", False),
            "prove": fields.switch("prove", False),
        }
        if how["prove"]:
            how["budget_s"] = fields.number("budget_s", proof_s, low=0.0, high=proof_s)
        switches = fields.switch("hints", True), fields.switch("certificate", False)
        return cls(site, prior, tuple(how.items()), *switches)

    @property
    def proves(self) -> bool:
        """Whether the request asks for a proof of uniqueness, which takes long."""
        return bool(dict(self.how)["prove"])

    @property
    def kind(self) -> Hashable:
        """Key of the batch that a scan may join; a scan with a prior is alone in its batch."""
        prior = None if self.prior is None else id(self.prior)
        return id(self.site), self.how, self.hinting, self.certifies, prior

    @property
    def run(self) -> Run:
        """Function that locates scans in order and yields data, or the error of a bad scan."""
        how = {"region": self.prior, **dict(self.how)}
        site = site_of(self.site)

        def answered(_number: int, scan: AnyScan) -> Told | InputError:
            try:
                answer = locate(site, scan, **how)
            except InputError as error:
                return error
            if self.certifies:
                answer = certify_answer(self.site, scan, answer)
            told = hints(self.site, scan, answer, region=self.prior) if self.hinting else ()
            return answer_json(answer, told)

        return lambda scans: active_backend().map_in_order(answered, scans)


def json_of(told: Told) -> bytes:
    """Encode an answer as compact UTF-8 JSON."""
    return json.dumps(told, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def find(library: Library, name: str) -> Served:
    """Return the map of a name; for "", the only map, or the library if there are several."""
    if name == "" and len(library) > 1:
        return library
    name = name or next(iter(library))
    if name not in library:
        raise unknown(name)
    return library[name]


def asked(
    body: Body, known: Sequence[str], library: Library, limits: Limits, noted: Told
) -> tuple[Fields, Served]:
    """Return the fields of a request and its map, and note the map name for the log."""
    fields = body.fields(known)
    name = fields.text("map")
    if name:
        noted["map"] = name
    try:
        return fields, find(library, name)
    except FileError as error:  # of the folder, not of the request
        raise RefusedError(503, str(error), limits.retry_s) from error


def locating(
    body: Body, library: Library, limits: Limits, noted: Told
) -> tuple[Search, AnyScan]:  # fmt: skip
    """Read a localization request into its search options and its scan."""
    fields, site = asked(body, LOCATE, library, limits, noted)
    return Search.of(site, fields, limits.proof_s), body.scan(fields)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """One request that is passed to a worker process.

    Attributes:
        verb: "locate" or "check"; "begin", "update" or "end" for a tracking session.
        body: Body of the request.
        key: Key of the tracking session; empty for other requests.
    """

    verb: str
    body: Body
    key: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A message to a worker process.

    Attributes:
        library: The maps; `None` to keep those that the worker has.
        questions: The requests to answer; empty to let the worker only get ready.
    """

    library: Library | None
    questions: Sequence[Question]


@dataclass(slots=True, eq=False)
class Answered:
    """Result of a request that a worker process has answered.

    Attributes:
        noted: Map and verdict, for the log.
        text: The answer as JSON.
        error: The error, if there is no answer.
    """

    noted: Told = field(default_factory=dict)
    text: bytes = b""
    error: Exception | None = None

    def tell(self, told: Told) -> None:
        """Store an answer as JSON, and note its verdict for the log."""
        if "verdict" in told:
            self.noted["verdict"] = told["verdict"]
        self.text = json_of(told)


def checked(body: Body, library: Library, limits: Limits, noted: Told) -> Told:
    """Check the pose of a request against its scan and return the verdict as plain data."""
    fields, site = asked(body, CHECK, library, limits, noted)
    if not isinstance(site, Atlas):
        raise InputError("A pose is of one map; say which: `map`.", code="missing", field="map")
    scan, pose, spread = body.scan(fields), pose_of(fields), spread_of(fields)
    thorough = fields.switch("thorough", False)
    return check_json(check(site, scan, pose, spread, thorough=thorough))
