"""Write what is public: names, the command line, settings, and names that changed.

    python docs/scripts/reference.py          # writes docs/reference; `make reference`

Tests compare these files with the program, so that nothing public changes unseen.
"""

import enum
import inspect
import json
import re
import typing
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import Any

import typer.main

import isovist as iv
from isovist import renamed
from isovist.apps.cli.app import app
from isovist.settings import Settings

HOME = Path(__file__).resolve().parent.parent / "reference"
KINDS = {int: "N", float: "X", str: "WORD", Path: "PATH"}
KINDS_OF_NAMES = {
    "name": ("Classes and functions", "{}"),
    "keyword": ("Keywords", "{}"),
    "attribute": ("Attributes and methods", "{}"),
    "setting": ("Settings", "{}"),
    "module": ("Modules", "{}"),
    "command": ("Commands", "isovist {}"),
    "option": ("Options", "{}"),
    "extra": ("Optional parts of `pip install`", "isovist[{}]"),
}
"""Title and form of each kind of name on the page of what changed."""
HEAD = """\
# Command line

Written by `make reference` from the program itself. Every verb has `-h`; `--json`, where it is \
listed, prints for machines. Exit code 0: unique, or done; 1: not unique; 2: bad input, told in \
one line. Numbers are in m, rad and s unless the text says otherwise.
"""


def listing() -> str:
    """Every public name with its signature, its attributes and methods, one per line."""
    return "".join(f"{line}\n" for name in sorted(iv.__all__) for line in _told(name))


def _told(name: str) -> list[str]:
    thing = getattr(iv, name)
    if not inspect.isclass(thing):
        return [f"{name}{_signature(thing)}"]
    bases = [base.__name__ for base in thing.__bases__ if base.__module__ != "builtins"]
    lines = [f"class {name}({', '.join(bases)})" if bases else f"class {name}"]
    if issubclass(thing, enum.Enum):
        return lines + [f"    {member.name} = {member.value!r}" for member in thing]
    if "__init__" in thing.__dict__ and not issubclass(thing, Exception):
        lines.append(f"    __init__{_signature(thing.__init__)}")
    return lines + [f"    {line}" for key in sorted(_public(thing)) for line in [_part(thing, key)]]


def _public(thing: type) -> set[str]:
    """What it has of its own or of a class of ours: attributes, properties and methods."""
    ours = [base for base in thing.__mro__ if base.__module__.startswith("isovist")]
    keys = {key for base in ours for key in (*base.__dict__, *inspect.get_annotations(base))}
    return {
        key
        for key in keys
        if not key.startswith("_")
        and not isinstance(inspect.getattr_static(thing, key, None), renamed.OldAttribute)
    }


def _part(thing: type, key: str) -> str:
    found = inspect.getattr_static(thing, key, None)
    if isinstance(found, property):
        return f"{key}  (property)"
    if isinstance(found, classmethod | staticmethod):
        return f"{key}{_signature(getattr(thing, key))}  ({type(found).__name__})"
    return f"{key}{_signature(found)}" if callable(found) else key


def _signature(call: Any) -> str:
    """Names, kinds and defaults; not the types, which mypy keeps."""
    signature = inspect.signature(call)
    plain = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x\w+", "", text)


def command_line() -> str:
    """The page of every verb, its arguments and options."""
    top = typer.main.get_command(app)
    return HEAD + "".join(_verbs("isovist", top))


def _verbs(path: str, command: Any) -> list[str]:
    pages = []
    for name, verb in sorted(getattr(command, "commands", {}).items()):
        words = f"{path} {name}"
        pages += _verbs(words, verb) if hasattr(verb, "commands") else [_verb(words, verb)]
    return pages


def _verb(words: str, verb: Any) -> str:
    arguments = [p for p in verb.params if p.param_type_name == "argument"]
    options = [p for p in verb.params if p.param_type_name == "option" and p.name != "help"]
    usage = " ".join(
        [words, *(_metavar(p) for p in arguments), *(["[OPTIONS]"] if options else [])]
    )
    lines = [f"\n## {words}\n", f"{_plain(verb.help)}\n", f"```text\n{usage}\n```\n"]
    if verb.epilog:
        lines.append(f"{verb.epilog.replace('Example: ', 'Example: `')}`\n")
    kinds = typing.get_type_hints(inspect.unwrap(verb.callback))
    if arguments or options:
        lines += ["| argument or option | means |", "|---|---|"]
        lines += [f"| `{_name(p, kinds[p.name])}` | {_means(p)} |" for p in (*arguments, *options)]
    return "\n".join(lines).rstrip("\n") + "\n"


def _metavar(parameter: Any) -> str:
    name = parameter.metavar or parameter.name.upper()
    many = f"{name}…" if parameter.nargs == -1 else name
    return many if parameter.required else f"[{many}]"


def _name(parameter: Any, kind: Any) -> str:
    """An option with what stands after it, by the type of the argument of its verb."""
    if parameter.param_type_name == "argument":
        return _metavar(parameter)
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    parts = [part for part in _parts(kind) if part is not type(None)]
    plain = parts[0]
    if plain is bool:
        return names
    if inspect.isclass(plain) and issubclass(plain, enum.Enum):
        return f"{names} {'/'.join(choice.value for choice in plain)}"
    return f"{names} {(parameter.metavar or KINDS[plain]).replace('|', '/')}"


def _parts(kind: Any) -> list[Any]:
    """What a type is made of: list[str] | None is of str and None."""
    inner = typing.get_args(kind)
    return [part for one in inner for part in _parts(one)] if inner else [kind]


def _means(parameter: Any) -> str:
    panel = getattr(parameter, "rich_help_panel", None)
    told = _plain(parameter.help or "").replace("|", "\\|")
    text = f"{panel}: {told}" if panel else told
    default = parameter.default
    if isinstance(parameter.show_default, str):
        return f"{text} Default: {parameter.show_default}."
    if default is None or default is False or default is ... or parameter.required:
        return text
    shown = default.value if isinstance(default, enum.Enum) else default
    return f"{text} Default: {shown}." if shown not in ("", ()) else text


def _plain(text: str | None) -> str:
    return re.sub(r"\s+", " ", text or "").strip()


def upgrading() -> str:
    """Return the page of names that changed, from the table of the program."""
    lines = [
        "# Upgrading",
        "",
        "Earlier names work until version 1.0 and say what to use instead. What was removed is",
        "refused with a reason.",
    ]
    for kind, (title, form) in KINDS_OF_NAMES.items():
        rows = [row for row in renamed.ROWS if row.kind == kind]
        lines += (
            ["", f"## {title}", "", "| earlier | today | since |", "|---|---|---|"] if rows else []
        )
        for row in rows:
            old, new = (f"`{form.format(name)}`" for name in (row.old, row.new))
            lines.append(
                f"| {old} | {new if row.new else f'removed. {row.reason}'} | {row.since} |"
            )
    return "\n".join(lines) + "\n"


def settings_page() -> str:
    """Return the page of all settings, from their fields."""
    lines = [
        "# Settings",
        "",
        "Written by `make reference` from the program itself. Settings are frozen dataclasses.",
        "Take the defaults, or change values by name:",
        "",
        "```python",
        "import isovist as iv",
        "",
        'settings = iv.ExplorationSettings().with_values({"robot.radius_m": 0.4})',
        "```",
        "",
        "A value outside its range is refused. Evidence is the command or the measurement that the",
        'default comes from. "Not varied" means that nobody has tried other values.',
        "[`settings.schema.json`](settings.schema.json) has the same settings as a JSON schema.",
        "`LocalizationSettings` and `ProofSettings` are described in [Python](python.md).",
    ]
    for kind in settings_kinds():
        lines += ["", f"## {kind.__name__}", "", f"{_head(kind)} Module: `{kind.__module__}`.", ""]
        lines += ["| setting | meaning | default | range | a higher value | evidence |"]
        lines += ["|---|---|---|---|---|---|"]
        for row in kind.rows():
            unit = "" if row.unit == "1" else f" {row.unit}"
            limits = "" if isinstance(row.default, bool) else "{:g} to {:g}".format(*row.range)
            numbers = row.default if isinstance(row.default, tuple) else (row.default,)
            default = ", ".join(f"{n}" if isinstance(n, int) else f"{n:.6g}" for n in numbers)
            cells = f"`{row.name}`", _meaning(kind, row.name), f"{default}{unit}", limits
            lines.append(f"| {' | '.join([*cells, row.raises, row.evidence])} |")
    return "\n".join(lines) + "\n"


def settings_schema() -> str:
    """Return the JSON schema of all settings."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Settings of isovist",
        "type": "object",
        "properties": {kind.__name__: _schema(kind) for kind in settings_kinds()},
    }
    return json.dumps(schema, indent=1, ensure_ascii=False) + "\n"


def settings_kinds() -> list[type[Settings]]:
    """Return the classes of settings in all modules, without those that are parts of others."""
    kinds: dict[str, type[Settings]] = {}
    for module in sorted(Path(iv.__file__).parent.rglob("settings.py")):
        parts = module.relative_to(Path(iv.__file__).parent.parent).with_suffix("").parts
        for kind in vars(import_module(".".join(parts))).values():
            if inspect.isclass(kind) and issubclass(kind, Settings) and fields(kind):
                kinds[kind.__name__] = kind
    inner = {type(value) for kind in kinds.values() for value in vars_of(kind).values()}
    return [kind for kind in kinds.values() if kind not in inner or kind.__name__ in iv.__all__]


def vars_of(kind: type[Settings]) -> dict[str, Any]:
    """Return the default values of settings by name."""
    default = kind()
    return {field.name: getattr(default, field.name) for field in fields(kind)}


def _schema(kind: type[Settings]) -> dict[str, Any]:
    rows, properties = {row.name: row for row in kind.rows()}, {}
    for name, value in vars_of(kind).items():
        if isinstance(value, Settings):
            properties[name] = _schema(type(value))
            continue
        meaning = _meaning(kind, name) or f"A higher value: {rows[name].raises}"
        entry = {"description": meaning, "default": value}
        if isinstance(value, bool):
            properties[name] = {"type": "boolean", **entry}
            continue
        low, high = rows[name].range
        kind_of = "integer" if isinstance(value, int) else "number"
        limits = {"type": kind_of, "minimum": low, "maximum": high}
        if isinstance(value, tuple):
            limits = {"type": "array", "minItems": 1, "items": limits}
        properties[name] = {**entry, **limits, "unit": rows[name].unit}
    head = {"type": "object", "description": _head(kind), "additionalProperties": False}
    return {**head, "properties": properties}


def _head(kind: type[Settings]) -> str:
    """Return the first sentence of the documentation of a class."""
    return (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")


def _meaning(kind: type[Settings], name: str) -> str:
    """Return what the documentation says of a setting, given by its name in `rows`."""
    part, _, rest = name.partition(".")
    if rest:
        return _meaning(type(vars_of(kind)[part]), rest)
    text = (inspect.getdoc(kind) or "").partition("Attributes:")[2]
    found = re.search(rf"^    {part}: (.*?)(?=^    \w+: |^\S|\Z)", text, re.M | re.S)
    return _plain(found[1]).rstrip(".") if found else ""


FILES = {
    "api.txt": listing,
    "command-line.md": command_line,
    "settings.md": settings_page,
    "settings.schema.json": settings_schema,
    "upgrading.md": upgrading,
}

if __name__ == "__main__":
    HOME.mkdir(exist_ok=True)
    for file, write in FILES.items():
        (HOME / file).write_text(write(), encoding="utf-8")
