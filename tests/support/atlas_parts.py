"""What an atlas is made of, to be compared, and atlases with a part that another program wrote."""

import numpy as np
from tests.support.folders import read_folder, write_folder

import isovist as iv
from isovist.atlas import BY_BLOCKS, FAR, KIND, VERSION, atlas_info, bridge_gaps, check_atlas

__all__ = [
    "FAR",
    "atlas_info",
    "bridge_gaps",
    "change_part",
    "check_atlas",
    "search_basis",
    "search_rings",
    "write_as",
]


def change_part(path, name, change=None):
    """Write a part of an atlas anew as a function of it; without one it is left out."""
    meta, arrays = (dict(part) for part in read_folder(path, KIND, VERSION, BY_BLOCKS))
    part = meta if name in meta else arrays
    value = part.pop(name)
    if change is not None:
        part[name] = change(value)
    write_folder(path, KIND, VERSION if "cells" in arrays else BY_BLOCKS, meta, arrays)


def write_as(path, kind=KIND, version=VERSION, old=None):
    """Write a folder of a kind and version, with the parts of an old atlas or with one array."""
    parts = {}, {"a": np.zeros(3)}
    if old is not None:
        parts = read_folder(old, KIND, VERSION, BY_BLOCKS)
    write_folder(path, kind, version, *parts)


def search_basis(channels):
    """The usual basis of the plane: ε = h²/2."""
    return iv.DirectionalBasis.circle(channels, 0.5 * (np.pi / channels) ** 2)


def search_rings(rings, channels):
    """The usual basis of space, as sharp as that of the plane."""
    return iv.DirectionalBasis.rings(rings, channels, 0.5 * (np.pi / channels) ** 2)
