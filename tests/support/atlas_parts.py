"""Atlases with a part that another program wrote, and what they say they hold."""

from tests.support.folders import read_folder, write_folder

from isovist.atlas import KIND, VERSION, atlas_info, check_atlas

__all__ = ["atlas_info", "change_part", "check_atlas"]


def change_part(path, name, change=None):
    """Write a part of an atlas anew as a function of it; without one it is left out."""
    meta, arrays = (dict(part) for part in read_folder(path, KIND, VERSION))
    part = meta if name in meta else arrays
    value = part.pop(name)
    if change is not None:
        part[name] = change(value)
    write_folder(path, KIND, VERSION, meta, arrays)
