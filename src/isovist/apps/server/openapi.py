"""The doors of the server, described once: as OpenAPI 3.1 and as a plain page."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from isovist import __version__
from isovist.localization.answer import Verdict
from isovist.localization.reasons import Reason

Schema = dict[str, Any]

NUMBERS = {"type": "array", "items": {"type": "number"}}
SCAN = {
    "type": "object",
    "description": "The fields of a ROS LaserScan: angle_min, angle_increment, ranges, range_min, "
    "range_max; null for a missing return.  In space: points, a list of [x, y, z].",
}
FIELDS: dict[str, Schema] = {
    "scan": SCAN,
    "map": {"type": "string", "description": "Which; the only one, or all of them, if not given."},
    "sensor": {**NUMBERS, "description": "[x, y, yaw] of the sensor on the robot."},
    "near": {**NUMBERS, "description": "[x, y, radius] that the robot is in."},
    "heading": {**NUMBERS, "description": "[yaw, tolerance] that it looks within."},
    "tilt": {"type": "boolean", "description": "In space, fit roll and pitch too."},
    "any_attitude": {
        "type": "boolean",
        "description": "In space, nothing says which way is up; find that too.",
    },
    "certificate": {"type": "boolean", "description": "False if not given."},
    "hints": {"type": "boolean", "description": "What would fit instead; true if not given."},
    "prove": {"type": "boolean", "description": "Search the whole map, completely."},
    "budget_s": {"type": "number", "description": "Seconds for the proof."},
    "pose": {**NUMBERS, "description": "[x, y, yaw] or [x, y, yaw, z] to be judged."},
    "spread": {**NUMBERS, "description": "Standard deviations of the pose, [m, rad]."},
    "thorough": {"type": "boolean", "description": "Search the whole map for rivals."},
    "odometry": {
        "type": ["array", "null"],
        "items": {"type": "number"},
        "description": "[x, y, yaw], in space also [x, y, yaw, z, roll, pitch], in any fixed "
        "frame; null at every update where there is none.",
    },
    "time": {"type": "number", "description": "Of the scan, in s."},
}


@dataclass(frozen=True, slots=True)
class Address:
    """An endpoint of the server, as its API description lists it.

    Attributes:
        method: HTTP method in lower case.
        path: URL path, with its parameter in braces.
        name: Unique name of the operation.
        summary: What the endpoint does, in one sentence.
        done: Description of each successful HTTP status.
        fields: Names of the body fields, keys of `FIELDS`.
        answer: JSON schema of the answer; `None` if it is not JSON.
    """

    method: str
    path: str
    name: str
    summary: str
    done: Mapping[int, str]
    fields: tuple[str, ...] = ()
    answer: Schema | None = None


def _object(**properties: Schema) -> Schema:
    """Describe an object, all of whose named properties are there."""
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT, NUMBER, FLAG = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
REASONS = {"type": "array", "items": {"enum": [reason.value for reason in Reason]}}
ESTIMATE = _object(
    x=NUMBER, y=NUMBER, yaw=NUMBER, probability=NUMBER, covariance={"type": "array"},
    covariance_ros=NUMBERS, inliers=NUMBER, refuted=FLAG,
)  # fmt: skip
ESTIMATES = {"type": "array", "items": ESTIMATE}
VERDICT = {"enum": [verdict.value for verdict in Verdict]}
ANSWER = _object(
    verdict=VERDICT, reasons=REASONS, advice=TEXT, frame=TEXT, estimates=ESTIMATES, none=NUMBER,
    hints={"type": "array"}, certificate={"type": ["object", "null"]},
    proof={"type": ["object", "null"]}, timing_ms={"type": "object"},
)  # fmt: skip
CHECK = _object(
    verdict={"enum": ["agrees", "disagrees", "cannot tell"]}, reasons=REASONS, advice=TEXT,
    frame=TEXT, pose={"type": "object"}, inliers=NUMBER, score={"type": ["number", "null"]},
    fit={"type": ["object", "null"]}, moved={"type": ["object", "null"]}, rivals=ESTIMATES,
    timing_ms={"type": "object"},
)  # fmt: skip
UPDATE = _object(
    time=NUMBER, verdict=VERDICT, frame=TEXT, estimates=ESTIMATES,
    lambda_min={"type": ["number", "null"]}, travelled_m=NUMBER, reasons=REASONS, advice=TEXT,
    update_ms=NUMBER,
)  # fmt: skip
ERROR = _object(error=TEXT, code=TEXT, field={"type": ["string", "null"]})
ADDRESSES = (
    Address(
        "post", "/locate", "locate", "Where a scan was taken, as `isovist locate --json` tells it.",
        {200: "The answer."},
        ("scan", "sensor", "map", "near", "heading", "tilt", "any_attitude", "certificate",
         "hints", "prove", "budget_s"), ANSWER,
    ),
    Address(
        "post", "/check", "check", "Whether a pose explains a scan, as `isovist check --json` "
        "tells it.", {200: "The verdict."},
        ("scan", "sensor", "map", "pose", "spread", "thorough"), CHECK,
    ),
    Address(
        "post", "/track", "begin", "Begin to follow a robot.", {201: "It is followed."},
        ("map", "near", "heading", "tilt", "any_attitude"), _object(session=TEXT, expires_s=NUMBER),
    ),
    Address(
        "post", "/track/{session}", "update", "An update, as `isovist track --json` prints one.",
        {200: "The belief."}, ("scan", "sensor", "odometry", "time"), UPDATE,
    ),
    Address("delete", "/track/{session}", "end", "Forget a robot.", {204: "It is forgotten."}),
    Address(
        "get", "/maps", "list_maps", "The maps there are.", {200: "The maps."},
        answer=_object(maps={"type": "array", "items": {"type": "object"}}),
    ),
    Address(
        "post", "/maps/{name}", "bring_map", "Bring a map, or an atlas, as files of a form "
        "(`file`).", {200: "It replaces one of that name.", 201: "It is new."},
        answer=_object(name=TEXT, new=FLAG),
    ),
    Address("delete", "/maps/{name}", "remove_map", "Take a map away.", {204: "It is gone."}),
    Address(
        "get", "/health", "get_health", "Whether the server runs.", {200: "It runs."},
        answer=_object(version=TEXT),
    ),
    Address(
        "get", "/ready", "get_ready", "Whether it can answer: maps are read, loops are compiled.",
        {200: "It can."}, answer=_object(maps={"type": "integer"}),
    ),
    Address("get", "/metrics", "get_metrics", "Counts and times for Prometheus.", {200: "Text."}),
    Address(
        "get", "/openapi.json", "get_openapi", "This description.", {200: "OpenAPI 3.1."},
        answer={"type": "object"},
    ),
    Address("get", "/", "get_page", "This description as a page.", {200: "A page."}),
)  # fmt: skip
STATUSES = {
    "400": "What is asked cannot be answered; the text says why.",
    "401": "The token is missing or wrong.",
    "404": "There is no such map, session or address.",
    "408": "The body did not come in time.",
    "413": "The body is too large.",
    "429": "Too much waits already; `Retry-After` says how long to wait.",
    "503": "No answer in time, or not ready yet.",
}


def description() -> Schema:
    """Return the OpenAPI 3.1 description of the server."""
    paths: dict[str, Schema] = {}
    for address in ADDRESSES:
        paths.setdefault(address.path, {})[address.method] = _operation(address)
    return {
        "openapi": "3.1.0",
        "info": {"title": "isovist serve", "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _operation(address: Address) -> Schema:
    responses: Schema = {
        status: {"description": words, "content": {"application/json": {"schema": ERROR}}}
        for status, words in STATUSES.items()
    }
    for status, words in address.done.items():
        responses[str(status)] = {"description": words}
        if address.answer is not None:
            responses[str(status)]["content"] = {"application/json": {"schema": address.answer}}
    operation: Schema = {
        "operationId": address.name,
        "summary": address.summary,
        "parameters": _parameters(address),
        "responses": responses,
    }
    if (content := _body(address)) is not None:
        operation["requestBody"] = {"content": content}
    return operation


def _parameters(address: Address) -> list[Schema]:
    """Describe what an address says: its own part, and the fields beside an .npz file."""
    parameters: list[Schema] = []
    if "{" in address.path:
        name = address.path.partition("{")[2].rstrip("}")
        parameters.append({"name": name, "in": "path", "required": True, "schema": TEXT})
    if "scan" in address.fields:
        parameters += [
            {
                "name": name,
                "in": "query",
                "required": False,
                "description": f"Beside an .npz file: {FIELDS[name].get('description', '')}",
                "style": "form",
                "explode": False,
                "schema": {key: v for key, v in FIELDS[name].items() if key != "description"},
            }
            for name in address.fields
            if name != "scan"
        ]
    return parameters


def _body(address: Address) -> Schema | None:
    """Describe what a request brings."""
    if address.name == "bring_map":
        files = {"type": "array", "items": {"type": "string", "format": "binary"}}
        return {"multipart/form-data": {"schema": _object(file=files)}}
    if not address.fields:
        return None
    fields = {name: FIELDS[name] for name in address.fields}
    needed = [name for name in ("scan", "pose") if name in fields]
    schema = {"type": "object", "properties": fields, "required": needed}
    content: Schema = {"application/json": {"schema": schema}}
    if "scan" in fields:
        content["application/octet-stream"] = {"schema": {"type": "string", "format": "binary"}}
    return content


def page() -> str:
    """Return the API description as an HTML page that loads nothing else."""
    rows = []
    for address in ADDRESSES:
        items = "".join(
            f"<li><code>{name}</code> {escape(FIELDS[name].get('description', ''))}</li>"
            for name in address.fields
        )
        listed = f"<ul>{items}</ul>" if items else ""
        head = f"{address.method.upper()} {escape(address.path)}"
        rows.append(f"<h2><code>{head}</code></h2><p>{escape(address.summary)}</p>{listed}")
    statuses = "".join(f"<li>{s}: {escape(words)}</li>" for s, words in STATUSES.items())
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>isovist serve</title>'
        "<style>body{font-family:sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}"
        "h2{font-size:1rem;margin-top:2rem}</style>"
        f"<h1>isovist serve {__version__}</h1><p>Bodies are JSON, or the bytes of an .npz file "
        "with the other fields in the address. Numbers are in m, rad and s. "
        '<a href="openapi.json">openapi.json</a></p>'
        f"{''.join(rows)}<h2>What is refused</h2><ul>{statuses}</ul></html>"
    )
