"""Read small YAML files without tags that make objects, and without aliases."""

from pathlib import Path
from typing import Any

import yaml

from isovist.errors import FileError
from isovist.io.settings import LIMITS
from isovist.storage import PathLike, read_bytes


class _PlainLoader(yaml.SafeLoader):
    """A loader without tags that make objects and without aliases, which may grow without limit."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed in it")
        return super().compose_node(parent, index)


def read_yaml(path: PathLike, kind: str) -> Any:
    """Read the content of a YAML file.

    Args:
        path: The file.
        kind: Kind of file for error texts, e.g. "a ROS map".
    """
    name, data = Path(path).name, read_bytes(path, kind, LIMITS.yaml_bytes)
    try:
        return yaml.load(data, Loader=_PlainLoader)
    except RecursionError as error:
        raise FileError(
            f"{name} is not {kind}: it is nested too deep.", code="unknown_format"
        ) from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        problem = getattr(error, "problem", None) or str(error).splitlines()[0]
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark is not None else ""
        raise FileError(
            f"{name} is not plain YAML{where}: {problem}.", code="unknown_format"
        ) from error
