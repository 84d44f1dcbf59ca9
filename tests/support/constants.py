"""Numbers in capitals at module level, outside settings: formats, layouts and guards only."""

import ast
from pathlib import Path

LATER = {"localization"}
"""Rooms whose numbers become settings in another step."""


def constants_of(package: Path) -> list[str]:
    """List the constants of a package as `room/module.py NAME`."""
    names = []
    for path in sorted(package.rglob("*.py")):
        module = path.relative_to(package)
        if module.parts[0] in LATER or "settings" in (*module.parts, path.stem):
            continue
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            targets = node.targets if isinstance(node, ast.Assign) else [_target(node)]
            names += [
                f"{module} {target.id}"
                for target in targets
                if isinstance(target, ast.Name) and target.id.lstrip("_").isupper()
                and _is_number(getattr(node, "value", None))
            ]  # fmt: skip
    return names


def _target(node: ast.stmt) -> ast.expr | None:
    return node.target if isinstance(node, ast.AnnAssign) else None


def _is_number(node: ast.AST | None) -> bool:
    if isinstance(node, ast.Tuple):
        return bool(node.elts) and all(_is_number(part) for part in node.elts)
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)
