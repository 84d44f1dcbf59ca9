"""Rays through a mesh by Open3D: the same answers, or one clear line."""

import sys

import numpy as np
import pytest
from tests.support.meshes import sphere

from isovist import InputError, MeshMap, MissingExtraError


def test_open3d_meets_what_our_kernel_meets():
    pytest.importorskip("open3d", exc_type=ImportError)
    vertices, faces = sphere(30)
    own = MeshMap.from_arrays(vertices + np.array([5e4, -2e5, 10.0]), faces)
    other = own.using("open3d")
    rng = np.random.default_rng(0)
    centre = own.bounds.mean(axis=0)
    origins, directions = centre + rng.uniform(-6, 6, (4000, 3)), rng.standard_normal((4000, 3))
    expected, found = own.cast(origins, directions), other.cast(origins, directions)
    same = expected.walls == found.walls
    assert same.mean() > 0.999
    assert np.array_equal(expected.endings[same], found.endings[same])
    hit = same & (expected.walls >= 0)
    np.testing.assert_allclose(found.ranges[hit], expected.ranges[hit], rtol=1e-9)
    np.testing.assert_allclose(found.normals[same], expected.normals[same], atol=1e-15)
    assert np.array_equal(other.contains(origins), own.contains(origins))
    with pytest.raises(InputError, match="`directions` must not be zero"):
        other.cast(centre, [0.0, 0.0, 0.0])


def test_without_open3d_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "open3d", None)
    with pytest.raises(MissingExtraError) as error:
        MeshMap.box([0, 0, 0], [1, 1, 1]).using("open3d")
    expected = "Casting rays with Open3D needs an optional part: pip install 'isovist[fast-mesh]'."
    assert str(error.value) == expected


def test_an_unknown_backend_is_one_clear_line():
    with pytest.raises(InputError) as error:
        MeshMap.box([0, 0, 0], [1, 1, 1]).using("gpu")
    assert str(error.value) == "`backend` must be own or open3d, got 'gpu'."
