"""YAML of a few lines, as people write it: nothing in it makes objects or swells."""

from pathlib import Path
from typing import Any

import yaml

from isovist.errors import FileError
from isovist.io.settings import LIMITS
from isovist.storage.files import PathLike, read_bytes


class _PlainLoader(yaml.SafeLoader):
    """YAML without tags that make objects, and without aliases, which can swell without end."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases are not allowed in it")
        return super().compose_node(parent, index)


def read_yaml(path: PathLike, kind: str) -> Any:
    """Read the content of a YAML file.

    `kind` says in errors what the file should be, e.g. "a ROS map".
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
