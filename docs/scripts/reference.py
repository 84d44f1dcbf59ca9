"""The lists of what is public: `docs/reference/api.txt` and `docs/reference/command-line.md`.

    python docs/scripts/reference.py          # writes both; `make reference`

Tests compare them with the program, so that nothing public changes unseen.
"""

import enum
import inspect
import re
import typing
from pathlib import Path
from typing import Any

import typer.main

import isovist as iv
from isovist import renamed
from isovist.apps.cli.app import app

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


FILES = {"api.txt": listing, "command-line.md": command_line, "upgrading.md": upgrading}

if __name__ == "__main__":
    HOME.mkdir(exist_ok=True)
    for file, write in FILES.items():
        (HOME / file).write_text(write(), encoding="utf-8")
