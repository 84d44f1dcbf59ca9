"""A room is used through the names that it lists, so that its modules can change."""

import ast

from tests.support.paths import ROOT

SOURCE = ROOT / "src" / "isovist"
ROOMS = {path.parent.relative_to(SOURCE).parts for path in SOURCE.glob("*/__init__.py")}
ROOMS |= {path.parent.relative_to(SOURCE).parts for path in SOURCE.glob("apps/*/__init__.py")}


def room_of(parts):
    """Return the room of a module: the application, or the package."""
    return next((parts[:size] for size in (2, 1) if parts[:size] in ROOMS), None)


def imports_of(path):
    """Yield the module and the names of each import of a file, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("isovist."):
            yield tuple(node.module.split(".")[1:]), {name.name for name in node.names}


def test_other_rooms_are_used_by_the_names_that_they_list():
    """A function with the name of its module is imported from there: the room has the module."""
    deep = []
    for path in sorted(SOURCE.rglob("*.py")):
        own = room_of(path.relative_to(SOURCE).parts)
        for module, names in imports_of(path):
            room = room_of(module)
            is_inner = room not in (None, own) and module != room
            if is_inner and not all((SOURCE.joinpath(*room) / f"{n}.py").exists() for n in names):
                deep.append(f"{path.relative_to(SOURCE)}: {'.'.join(module)} {sorted(names)}")
    assert deep == []
