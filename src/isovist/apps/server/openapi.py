"""Describe the addresses of the server, as OpenAPI 3.1 and as a plain page.

The summary of an operation is the docstring of its handler in `app`, and its name the handler's.
"""

from collections.abc import Sequence
from html import escape
from typing import Any

from starlette.routing import Route

import isovist as iv
from isovist.apps.server.requests import BEGIN, CHECK, LOCATE, UPDATE

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
VERDICT = {"enum": [verdict.value for verdict in iv.Verdict]}
COMMON = {"reasons": _array({"enum": [reason.value for reason in iv.Reason]}), "advice": TEXT,
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


FIELDS_OF: dict[str, tuple[str, ...]] = {
    "locate": LOCATE, "check": CHECK, "begin": BEGIN, "update": UPDATE,
}  # fmt: skip
ANSWERS = {
    "locate": ANSWER, "check": CHECKED, "update": BELIEF, "get_openapi": OBJECT,
    "begin": _object({"session": TEXT, "expires_s": NUMBER}),
    "list_maps": _object({"maps": _array(OBJECT)}),
    "bring_map": _object({"name": TEXT, "new": SWITCH}),
    "get_health": _object({"version": TEXT}),
    "get_ready": _object({"maps": {"type": "integer"}}),
}  # fmt: skip
STATUSES = {
    "begin": {201: "The session has begun."}, "end": {204: "The session has ended."},
    "bring_map": {200: "The map was replaced.", 201: "The map is new."},
    "remove_map": {204: "The map is removed."},
}  # fmt: skip


def description(routes: Sequence[Route]) -> Schema:
    """Return the OpenAPI 3.1 description of the server."""
    paths: dict[str, Schema] = {}
    for route in routes:
        for method in route.methods or ():
            if method != "HEAD":
                paths.setdefault(route.path, {})[method.lower()] = _operation(route)
    return {
        "openapi": "3.1.0",
        "info": {"title": "isovist serve", "version": iv.__version__},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def _operation(route: Route) -> Schema:
    responses: Schema = {
        status: {"description": text, "content": _json(ERROR)} for status, text in ERRORS.items()
    }
    content = {"content": _json(ANSWERS[route.name])} if route.name in ANSWERS else {}
    for status, text in STATUSES.get(route.name, {200: "The answer."}).items():
        responses[str(status)] = {"description": text, **content}
    body = _body(route.name)
    return {
        "operationId": route.name,
        "summary": route.endpoint.__doc__,
        "parameters": _parameters(route),
        "responses": responses,
        **({} if body is None else {"requestBody": {"content": body}}),
    }


def _json(schema: Schema) -> Schema:
    return {"application/json": {"schema": schema}}


def _parameters(route: Route) -> list[Schema]:
    """Describe the parameter in a path, and the query beside an .npz file."""
    parameters: list[Schema] = [
        {"name": name, "in": "path", "required": True, "schema": TEXT}
        for name in route.param_convertors
    ]
    fields = FIELDS_OF.get(route.name, ())
    for name in fields if "scan" in fields else ():
        schema = dict(FIELDS[name])
        text = f"Beside an .npz file: {schema.pop('description')}"
        if name != "scan":
            parameters.append(
                {"name": name, "in": "query", "required": False, "description": text,
                 "style": "form", "explode": False, "schema": schema}
            )  # fmt: skip
    return parameters


def _body(name: str) -> Schema | None:
    if name == "bring_map":
        return {"multipart/form-data": {"schema": _object({"file": _array(FILE)})}}
    if name not in FIELDS_OF:
        return None
    fields = {field: FIELDS[field] for field in FIELDS_OF[name]}
    required = [field for field in ("scan", "pose") if field in fields]
    content = _json({"type": "object", "properties": fields, "required": required})
    if "scan" in fields:
        content["application/octet-stream"] = {"schema": FILE}
    return content


def page(routes: Sequence[Route]) -> str:
    """Return the description as an HTML page that loads nothing else."""
    sections = ""
    for path, operations in description(routes)["paths"].items():
        for method, operation in operations.items():
            items = "".join(
                f"<li><code>{name}</code> {escape(FIELDS[name]['description'])}</li>"
                for name in FIELDS_OF.get(operation["operationId"], ())
            )
            sections += f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
            sections += f"<p>{escape(operation['summary'])}</p>"
            sections += f"<ul>{items}</ul>" if items else ""
    errors = "".join(f"<li>{status}: {escape(text)}</li>" for status, text in ERRORS.items())
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>isovist serve</title>'
        "<style>body{font-family:sans-serif;max-width:48rem;margin:2rem auto;padding:0 1rem}"
        "h2{font-size:1rem;margin-top:2rem}</style>"
        f"<h1>isovist serve {iv.__version__}</h1><p>A body is JSON, or the bytes of an .npz file "
        "with the other fields in the query. Lengths are in m, angles in rad, times in s. "
        '<a href="openapi.json">openapi.json</a></p>'
        f"{sections}<h2>Errors</h2><ul>{errors}</ul></html>"
    )
