"""The doors of the server, described once: as OpenAPI 3.1 and as a plain page."""

from html import escape
from typing import Any

from isovist import __version__

NUMBERS = {"type": "array", "items": {"type": "number"}}
SCAN = {
    "type": "object",
    "description": "The fields of a ROS LaserScan: angle_min, angle_increment, ranges, range_min, "
    "range_max; null for a missing return.  In space: points, a list of [x, y, z].",
}
FIELDS: dict[str, dict[str, Any]] = {
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
ADDRESSES: tuple[tuple[str, str, str, tuple[str, ...]], ...] = (
    ("post", "/locate", "Where a scan was taken, as `isovist locate --json` tells it.",
     ("scan", "sensor", "map", "near", "heading", "tilt", "any_attitude", "certificate", "hints",
      "prove", "budget_s")),
    ("post", "/check", "Whether a pose explains a scan, as `isovist check --json` tells it.",
     ("scan", "sensor", "map", "pose", "spread", "thorough")),
    ("post", "/track", "Begin to follow a robot: `session` and `expires_s`.",
     ("map", "near", "heading", "tilt", "any_attitude")),
    ("post", "/track/{session}", "An update, as `isovist track --json` prints one.",
     ("scan", "sensor", "odometry", "time")),
    ("delete", "/track/{session}", "Forget a robot.", ()),
    ("get", "/maps", "The maps there are.", ()),
    ("post", "/maps/{name}", "Bring a map, or an atlas, as files of a form (`file`).", ()),
    ("delete", "/maps/{name}", "Take a map away.", ()),
    ("get", "/health", "Whether the server runs.", ()),
    ("get", "/ready", "Whether it can answer: maps are read, loops are compiled.", ()),
    ("get", "/metrics", "Counts and times for Prometheus.", ()),
    ("get", "/openapi.json", "This description.", ()),
    ("get", "/", "This description as a page.", ()),
)  # fmt: skip
"""Method, address, what it does, and the fields of its body."""
STATUSES = {
    "400": "What is asked cannot be answered; the text says why.",
    "401": "The token is missing or wrong.",
    "404": "There is no such map, session or address.",
    "408": "The body did not come in time.",
    "413": "The body is too large.",
    "429": "Too much waits already; `Retry-After` says how long to wait.",
    "503": "No answer in time, or not ready yet.",
}


def description() -> dict[str, Any]:
    """OpenAPI."""
    text, optional = {"type": "string"}, {"type": ["string", "null"]}
    error = {"type": "object", "properties": {"error": text, "code": text, "field": optional}}
    refused = {
        status: {"description": words, "content": {"application/json": {"schema": error}}}
        for status, words in STATUSES.items()
    }
    paths: dict[str, dict[str, Any]] = {}
    for method, path, words, fields in ADDRESSES:
        verb: dict[str, Any] = {"summary": words, "responses": {"200": {"description": "Done."}}}
        verb["responses"] |= refused
        if "{" in path:
            name = path.partition("{")[2].rstrip("}")
            place = {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
            verb["parameters"] = [place]
        if fields:
            told = {"type": "object", "properties": {name: FIELDS[name] for name in fields}}
            content: dict[str, Any] = {"application/json": {"schema": told}}
            if "scan" in fields:
                file = {"type": "string", "format": "binary"}
                content["application/octet-stream"] = {"schema": file}
            verb["requestBody"] = {"content": content}
        if (method, path) == ("post", "/maps/{name}"):
            files = {"type": "array", "items": {"type": "string", "format": "binary"}}
            form = {"type": "object", "properties": {"file": files}}
            verb["requestBody"] = {"content": {"multipart/form-data": {"schema": form}}}
        paths.setdefault(path, {})[method] = verb
    return {
        "openapi": "3.1.0",
        "info": {"title": "isovist serve", "version": __version__},
        "paths": paths,
        "components": {"securitySchemes": {"token": {"type": "http", "scheme": "bearer"}}},
        "security": [{}, {"token": []}],
    }


def page() -> str:
    """The same for people; it fetches nothing."""
    rows = []
    for method, path, words, fields in ADDRESSES:
        told = "".join(
            f"<li><code>{name}</code> {escape(FIELDS[name].get('description', ''))}</li>"
            for name in fields
        )
        listed = f"<ul>{told}</ul>" if told else ""
        rows.append(
            f"<h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(words)}</p>{listed}"
        )
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
