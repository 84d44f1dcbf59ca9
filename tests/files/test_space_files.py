"""Maps and scans in space as files."""

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.reference_space import house
from tests.support.sites import SPACE
from tests.support.space_writer import write_ply

import isovist as iv


def walls():
    """Centres of the walls of the house, a map as a surveyor delivers it."""
    return house().centres(np.flatnonzero(house().cells.ravel() == 1))


@pytest.mark.slow
def test_the_suffix_and_the_faces_say_what_a_map_in_space_is(tmp_path):
    write_ply(tmp_path / "cloud.ply", walls())
    box = iv.MeshMap.box((0, 0, 0), (4, 3, 2))
    write_ply(tmp_path / "mesh.ply", box.vertices, box.faces.tolist())
    np.savetxt(tmp_path / "cloud.xyz", np.concatenate([walls(), np.zeros((40, 3))]))
    names = ("cloud.ply", "mesh.ply", "cloud.xyz")
    cloud, mesh, text = (iv.read_map(tmp_path / name) for name in names)
    assert isinstance(cloud, iv.VoxelMap)
    assert cloud.resolution == 0.2
    assert set(np.unique(cloud.cells)) == {0, 1}
    assert isinstance(mesh, iv.MeshMap)
    assert mesh.free == "inside"
    np.testing.assert_array_equal(text.cells, cloud.cells)
    with refused(None, "unknown_format", iv.FileError):
        iv.write_map(cloud, tmp_path / "house.yaml")


def test_scans_in_space_come_back_from_files(tmp_path):
    seen = SPACE.look(SPACE.places[0]).points
    scan = iv.CloudScan(seen, np.arange(1.0, len(seen) + 1.0), 0.1, 20.0, roll=0.01)
    points = scan.points
    iv.write_scan(scan, tmp_path / "scan.npz")
    again = iv.read_scan(tmp_path / "scan.npz")
    np.testing.assert_array_equal(again.points, points)
    np.testing.assert_array_equal(again.intensities, scan.intensities)
    assert (again.range_min, again.range_max, again.roll, again.pitch) == (0.1, 20.0, 0.01, 0.0)
    write_ply(tmp_path / "scan.ply", points)
    np.testing.assert_allclose(iv.read_scan(tmp_path / "scan.ply").points, points, atol=1e-6)
    rows = np.column_stack([points, scan.intensities]).astype("<f4")
    missing = np.array([[0.0, 0.0, 0.0, 7.0]], dtype="<f4")  # returns at the origin are none
    (tmp_path / "scan.bin").write_bytes(missing.tobytes() + rows.tobytes())
    kitti = iv.read_scan(tmp_path / "scan.bin")
    np.testing.assert_allclose(kitti.points, points, atol=1e-5)
    np.testing.assert_allclose(kitti.intensities, scan.intensities)
    with refused(None, "unknown_format"):
        iv.write_scan(scan, tmp_path / "scan.json")


@pytest.mark.parametrize(
    "points",
    [np.zeros((0, 3)), np.full((80, 3), np.nan), np.ones((3, 3)), np.ones((80, 2)), ["a", "b"]],
    ids=["none", "not numbers", "three", "pairs", "words"],
)
def test_bad_files_of_points_are_refused(tmp_path, points):
    np.savez(tmp_path / "scan.npz", points=points)
    with pytest.raises(iv.FileError, match=r"^scan\.npz: ") as error:
        iv.read_scan(tmp_path / "scan.npz")
    assert error.value.code == "invalid_file"
