"""Describe the addresses of the server, as OpenAPI 3.1 and as a plain page."""

from dataclasses import dataclass, field
from html import escape
from typing import Any

from isovist import __version__
from isovist.apps.server.requests import BEGIN, CHECK, LOCATE, UPDATE
from isovist.localization.answer import Verdict
from isovist.localization.reasons import Reason

Schema = dict[str, Any]


def _object(properties: Schema) -> Schema:
    """Describe an object that has all of the given properties."""
    return {"type": "object", "properties": properties, "required": list(properties)}


def _array(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


TEXT, NUMBER, SWITCH = {"type": "string"}, {"type": "number"}, {"type": "boolean"}
OBJECT, FILE = {"type": "object"}, {"type": "string", "format": "binary"}
ROW = _array(NUMBER)
FIELDS: dict[str, Schema] = {
    "scan": _described(
        OBJECT,
        "The fields of a ROS LaserScan: angle_min, angle_increment, ranges, range_min, range_max; "
        "null for a missing return. In 3D: points, a list of [x, y, z].",
    ),
    "map": _described(TEXT, "Name of the map; by default the only map, or all maps."),
    "sensor": _described(ROW, "[x, y, yaw] of the sensor on the robot."),
    "near": _described(ROW, "[x, y, radius]: the robot is in this circle."),
    "heading": _described(ROW, "[yaw, tolerance]: the robot looks in this direction."),
    "tilt": _described(SWITCH, "In 3D, fit roll and pitch too."),
    "any_attitude": _described(SWITCH, "In 3D, search all attitudes: up is unknown."),
    "certificate": _described(SWITCH, "Add a certificate; false by default."),
    "hints": _described(SWITCH, "Say what else would make the answer unique; true by default."),
    "prove": _described(SWITCH, "Prove that no other pose on the map fits."),
    "budget_s": _described(NUMBER, "Time for the proof, in s."),
    "pose": _described(ROW, "[x, y, yaw] or [x, y, yaw, z] to check."),
    "spread": _described(ROW, "Standard deviations of the pose, [m, rad]."),
    "thorough": _described(SWITCH, "Search the whole map for rivals."),
    "odometry": _described(
        {**ROW, "type": ["array", "null"]},
        "[x, y, yaw], in 3D also [x, y, yaw, z, roll, pitch], in any fixed frame; null at every "
        "update if the robot has no odometry.",
    ),
    "time": _described(NUMBER, "Time of the scan, in s."),
}
VERDICT = {"enum": [verdict.value for verdict in Verdict]}
COMMON = {"reasons": _array({"enum": [reason.value for reason in Reason]}), "advice": TEXT,
          "frame": TEXT}  # fmt: skip
ESTIMATES = _array(
    _object(dict.fromkeys(("x", "y", "yaw", "probability", "inliers"), NUMBER)
            | {"covariance": {"type": "array"}, "covariance_ros": ROW, "refuted": SWITCH})
)  # fmt: skip
NULLABLE, NULLABLE_NUMBER = {"type": ["object", "null"]}, {"type": ["number", "null"]}
ANSWER = _object(
    COMMON | {"verdict": VERDICT, "estimates": ESTIMATES, "none": NUMBER,
              "hints": {"type": "array"}, "certificate": NULLABLE, "proof": NULLABLE,
              "timing_ms": OBJECT}
)  # fmt: skip
CHECKED = _object(
    COMMON | {"verdict": {"enum": ["agrees", "disagrees", "cannot tell"]}, "pose": OBJECT,
              "inliers": NUMBER, "score": NULLABLE_NUMBER, "fit": NULLABLE, "moved": NULLABLE,
              "rivals": ESTIMATES, "timing_ms": OBJECT}
)  # fmt: skip
BELIEF = _object(
    COMMON | {"verdict": VERDICT, "estimates": ESTIMATES, "lambda_min": NULLABLE_NUMBER,
              "time": NUMBER, "travelled_m": NUMBER, "update_ms": NUMBER}
)  # fmt: skip
ERROR = _object({"error": TEXT, "code": TEXT, "field": {"type": ["string", "null"]}})
ERRORS = {
    "400": "The request is invalid; the text says why.",
    "401": "The token is missing or wrong.",
    "404": "There is no such map, session or address.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "429": "Too many requests are waiting; `Retry-After` says how long to wait.",
    "503": "No answer was ready in time, or the server is still starting.",
}


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one address of the server.

    Attributes:
        name: Unique name of the operation.
        summary: What it does, in one sentence.
        fields: Names of the request fields, keys of `FIELDS`.
        answer: JSON schema of the answer; `None` if it is not JSON.
        statuses: Successful HTTP statuses with their meaning.
    """

    name: str
    summary: str
    fields: tuple[str, ...] = ()
    answer: Schema | None = None
    statuses: dict[int, str] = field(default_factory=lambda: {200: "The answer."})


OPERATIONS: dict[tuple[str, str], Operation] = {
    ("post", "/locate"): Operation(
        "locate", "Find the pose of a scan, as `isovist locate --json` does.", LOCATE, ANSWER
    ),
    ("post", "/check"): Operation(
        "check", "Check whether a pose explains a scan, as `isovist check --json` does.", CHECK,
        CHECKED,
    ),
    ("post", "/track"): Operation(
        "begin", "Begin to track a robot.", BEGIN, _object({"session": TEXT, "expires_s": NUMBER}),
        {201: "The session."},
    ),
    ("post", "/track/{session}"): Operation(
        "update", "Update a tracked robot, as `isovist track --json` does.", UPDATE, BELIEF
    ),
    ("delete", "/track/{session}"): Operation(
        "end", "Forget a tracked robot.", statuses={204: "The session has ended."}
    ),
    ("get", "/maps"): Operation(
        "list_maps", "List the maps.", answer=_object({"maps": _array(OBJECT)})
    ),
    ("post", "/maps/{name}"): Operation(
        "bring_map", "Add or replace a map or an atlas, sent as files of a form (`file`).",
        answer=_object({"name": TEXT, "new": SWITCH}),
        statuses={200: "The map was replaced.", 201: "The map is new."},
    ),
    ("delete", "/maps/{name}"): Operation(
        "remove_map", "Remove a map.", statuses={204: "The map is removed."}
    ),
    ("get", "/health"): Operation(
        "get_health", "Say that the server runs.", answer=_object({"version": TEXT})
    ),
    ("get", "/ready"): Operation(
        "get_ready", "Say whether the server can answer: its workers have started.",
        answer=_object({"maps": {"type": "integer"}}),
    ),
    ("get", "/metrics"): Operation("get_metrics", "Return counts and times for Prometheus."),
    ("get", "/openapi.json"): Operation("get_openapi", "Return this description.", answer=OBJECT),
    ("get", "/"): Operation("get_page", "Return this description as a page."),
}  # fmt: skip


def description() -> Schema:
    """Return the OpenAPI 3.1 description of the server."""
    paths: dict[str, Schema] = {}
    for (method, path), operation in OPERATIONS.items():
        paths.setdefault(path, {})[method] = _operation(path, operation)
    return {
        "openapi": "3.1.0",
        "info": {"title": "isovist serve", "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _operation(path: str, operation: Operation) -> Schema:
    responses: Schema = {
        status: {"description": text, "content": _json(ERROR)} for status, text in ERRORS.items()
    }
    for status, text in operation.statuses.items():
        content = {} if operation.answer is None else {"content": _json(operation.answer)}
        responses[str(status)] = {"description": text, **content}
    body = _body(operation)
    return {
        "operationId": operation.name,
        "summary": operation.summary,
        "parameters": _parameters(path, operation),
        "responses": responses,
        **({} if body is None else {"requestBody": {"content": body}}),
    }


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _parameters(path: str, operation: Operation) -> list[Schema]:
    """Describe the parameter in a path, and the query beside an .npz file."""
    parameters: list[Schema] = []
    if "{" in path:
        name = path.partition("{")[2].rstrip("}")
        parameters.append({"name": name, "in": "path", "required": True, "schema": TEXT})
    for name in operation.fields if "scan" in operation.fields else ():
        schema = dict(FIELDS[name])
        if name != "scan":
            parameters.append(
                {
                    "name": name,
                    "in": "query",
                    "required": False,
                    "description": f"Beside an .npz file: {schema.pop('description')}",
                    "style": "form",
                    "explode": False,
                    "schema": schema,
                }
            )
    return parameters


def _body(operation: Operation) -> Schema | None:
    if operation.name == "bring_map":
        return {"multipart/form-data": {"schema": _object({"file": _array(FILE)})}}
    if not operation.fields:
        return None
    fields = {name: FIELDS[name] for name in operation.fields}
    required = [name for name in ("scan", "pose") if name in fields]
    content = _json({"type": "object", "properties": fields, "required": required})
    if "scan" in fields:
        content["application/octet-stream"] = {"schema": FILE}
    return content


def page() -> str:
    """Return the description as an HTML page that loads nothing else."""
    sections = ""
    for (method, path), operation in OPERATIONS.items():
        items = "".join(
            f"<li><code>{name}</code> {escape(FIELDS[name]['description'])}</li>"
            for name in operation.fields
        )
        sections += f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
        sections += f"<p>{escape(operation.summary)}</p>{f'<ul>{items}</ul>' if items else ''}"
    errors = "".join(f"<li>{status}: {escape(text)}</li>" for status, text in ERRORS.items())
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>isovist serve</title>'
        "<style>body{font-family:sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}"
        "h2{font-size:1rem;margin-top:2rem}</style>"
        f"<h1>isovist serve {__version__}</h1><p>A body is JSON, or the bytes of an .npz file "
        "with the other fields in the query. Lengths are in m, angles in rad, times in s. "
        '<a href="openapi.json">openapi.json</a></p>'
        f"{sections}<h2>Errors</h2><ul>{errors}</ul></html>"
    )
