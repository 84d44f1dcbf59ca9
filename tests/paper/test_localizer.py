"""The paper's own localizer, on every kind of map."""

import numpy as np
import pytest
from tests.support.angles import unit_vectors
from tests.support.command_line import run
from tests.support.sites import PLANE, SPACE, gap

import isovist as iv
from isovist import Descriptor, Pose3, SpinningLidar, write_map, write_scan
from isovist.paper import (
    DescriptorGrid,
    PaperLocalizer,
    PartialFeatures,
    distances,
    paper_basis,
    paper_room,
    sensor_layer,
    view_of,
)

pytestmark = pytest.mark.slow

ROOM = paper_room()
PLACE = (1.3, 1.7)
PATH = [(1.500, 1.500), (1.289, 1.694), (1.301, 1.700), (1.300, 1.700)]
RESIDUALS = [0.2869, 0.0165, 0.0008, 0.0002]


def full_scan(heading=0.0, beams=1024):
    """What a robot in the paper's room sees, 2π/1024 apart in the axes of the map."""
    bearings = 2.0 * np.pi * np.arange(beams) / beams
    ranges = ROOM.cast(PLACE, unit_vectors(bearings)).ranges
    return iv.Scan(bearings - heading, ranges)


def test_the_table_of_the_paper_is_the_path_of_its_localizer():
    answer = PaperLocalizer(ROOM, paper_basis(), spacing=0.5).locate(full_scan(), 0.0)
    np.testing.assert_allclose(answer.path[:4], PATH, atol=6e-4)
    np.testing.assert_allclose(answer.residuals[:4], RESIDUALS, atol=6e-5)
    np.testing.assert_array_equal(answer.nodes.places[:4], [(1.5, 1.5), (1.5, 2), (1, 2), (1, 1.5)])
    np.testing.assert_allclose(answer.pose.vector, [*PLACE, 0.0], atol=1e-4)


@pytest.mark.parametrize("norm", ["euclid", "gram", "truncated"])
def test_a_given_descriptor_is_found_to_rounding_with_and_without_a_heading(norm):
    descriptor = Descriptor(iv.DirectionalBasis.circle(16))
    localizer = PaperLocalizer(ROOM, descriptor.basis, norm=norm, spacing=0.25)
    F, J = descriptor.at(ROOM, PLACE, jacobian=True)
    known = localizer.locate(F, 0.0)
    np.testing.assert_allclose(known.pose.vector, [*PLACE, 0.0], atol=1e-9)
    if norm != "gram":
        assert known.mu == pytest.approx(np.linalg.svd(J)[1][-1])
    turned = localizer.locate(np.roll(F, -3))
    np.testing.assert_allclose(turned.pose.vector, [*PLACE, 6.0 * np.pi / 16.0], atol=1e-8)


@pytest.mark.parametrize("norm", ["euclid", "truncated"])
def test_scans_of_the_plane_are_located_on_cells(norm):
    localizer = PaperLocalizer(PLANE.world, iv.DirectionalBasis.circle(32), iv.Range(20.0), norm)
    looks = [(place, None, PLANE.look(place)) for place in PLANE.places]
    first = PLANE.places[0]
    mounted = PLANE.look(first, mount=PLANE.mount)
    for truth, heading, scan in (*looks, (first, None, mounted), (first, first.yaw, mounted)):
        away, turn = gap(localizer.locate(scan, heading).pose, truth)
        assert away < 0.06
        assert turn < 0.02


def test_half_a_view_is_compared_where_it_was_seen():
    lidar, truth = iv.Lidar(field_of_view=np.pi, beams=181, noise=0.01), PLANE.places[1]
    scan = lidar.scan(PLANE.world, truth, np.random.default_rng(2))
    answer = PaperLocalizer(PLANE.world, iv.DirectionalBasis.circle(32), iv.Range(20.0)).locate(
        scan
    )
    away, turn = gap(answer.pose, truth)
    assert away < 0.1
    assert turn < 0.03
    assert not answer.bound.holds
    derivative = answer.bound.assumptions[0]  # which cells have not
    assert (derivative.name, derivative.holds) == ("derivative", False)


def space_case(kind):
    lidar = SpinningLidar(16, -0.6, 0.6, 180, 20.0, 0.01)
    if kind == "voxels":
        return SPACE.world, SPACE.places[0], lidar
    plan = iv.SegmentMap.room(6.0, 4.0, pillars=[(4.0, 1.0, 4.6, 1.8)])
    return iv.MeshMap.extrude(plan, 0.0, 3.0), Pose3(1.3, 1.7, 0.4, 1.0), lidar


@pytest.mark.parametrize("kind", ["voxels", "mesh"])
def test_scans_in_space_are_located_on_voxels_and_meshes(kind):
    world, truth, lidar = space_case(kind)
    scan = lidar.scan(world, truth, np.random.default_rng(1))
    localizer = PaperLocalizer(
        world, iv.DirectionalBasis.fibonacci(48), iv.Range(20.0), spacing=0.5,
        region=sensor_layer(world), view=view_of(scan),
    )  # fmt: skip
    away, turn = gap(localizer.locate(scan).pose, truth)
    assert away < 0.15
    assert turn < 0.05
    near, _ = gap(localizer.locate(scan, truth.yaw).pose, truth)
    assert near < 0.15


def test_the_bound_holds_where_nothing_varies_much_and_is_not_exceeded():
    world = iv.SegmentMap.room(1.9, 1.2)
    descriptor = Descriptor(iv.DirectionalBasis.circle(8, 0.5))
    localizer = PaperLocalizer(world, descriptor.basis, spacing=0.02)
    rng = np.random.default_rng(5)
    held = 0
    for place in rng.uniform((0.2, 0.2), (1.7, 1.0), (12, 2)):
        noise = 1e-3
        off = rng.normal(size=8)
        F = descriptor.at(world, place)[0] + noise * off / np.linalg.norm(off)
        answer = localizer.locate(F, 0.0, noise=noise)
        for bound, at in ((answer.node_bound, answer.path[0]), (answer.bound, answer.path[-1])):
            if bound.holds:
                held += 1
                assert np.linalg.norm(at - place) <= bound.bound
                # As its equation says: what may be off, over what is left of μ.
                by_name = {a.name: a for a in bound.assumptions}
                off = np.linalg.norm(F - descriptor.at(world, at)[0])
                gap = by_name["alias"].limit if bound is answer.node_bound else off
                expected = (gap + noise) / (by_name["variation"].limit - by_name["variation"].value)
                assert bound.bound == pytest.approx(expected, rel=1e-6)
    assert held >= 4


def test_the_bound_names_every_assumption():
    answer = PaperLocalizer(ROOM, paper_basis(), spacing=0.5).locate(full_scan(), 0.0)
    names = [assumption.name for assumption in answer.bound.assumptions]
    assert names == ["derivative", "room", "variation", "node", "noise", "alias"]
    # Symmetric halves: another node explains it as well, so nothing is claimed.
    assert not answer.bound.holds
    assert answer.bound.bound == np.inf


def test_range_and_intensity_stacked_tell_what_range_alone_cannot():
    sides = np.array([[0, 0, 8, 0], [8, 0, 8, 3], [8, 3, 0, 3], [0, 3, 0, 0]], dtype=float)
    world = iv.SegmentMap.from_segments(sides, reflectance=[0.2, 0.5, 0.9, 0.5])
    truth = iv.Pose(2.6, 1.0, 0.3)
    bearings = np.radians(np.arange(-180.0, 180.0))
    hits = world.cast(truth.position, unit_vectors(bearings + truth.yaw))
    strengths = world.reflectance[hits.walls]
    scan = iv.Scan(bearings, hits.ranges, intensities=strengths)
    basis = iv.DirectionalBasis.circle(32)
    alone = PaperLocalizer(world, basis, iv.Range()).locate(scan)
    both = PaperLocalizer(world, basis, [iv.Range(), iv.Intensity()]).locate(scan)
    # The room turned by 180° looks the same to ranges alone.
    assert alone.nodes.distances[1] < 1.3 * alone.nodes.distances[0]
    away, turn = gap(both.pose, truth)
    assert away < 0.01
    assert turn < 0.01
    other = np.linalg.norm(both.nodes.places - [5.4, 2.0], axis=1) < 0.5
    assert both.nodes.distances[other].min() > 3.0 * both.nodes.distances[0]


def test_the_grid_covers_cells_voxels_and_meshes():
    rng, mesh = np.random.default_rng(4), iv.MeshMap.extrude(iv.SegmentMap.room(3, 2), 0, 2)
    for world in (ROOM, PLANE.world, SPACE.world, mesh):
        basis = (
            iv.DirectionalBasis.circle(8)
            if world.dimension == 2
            else iv.DirectionalBasis.fibonacci(8)
        )
        grid = DescriptorGrid.over(world, Descriptor(basis, iv.Range(20.0)), 0.8)
        places = rng.uniform(*world.bounds, (3000, world.dimension))
        places = places[world.contains(places)]
        gaps = np.linalg.norm(places[:, None] - grid.nodes, axis=2).min(axis=1)
        assert world.contains(grid.nodes).all()
        assert 0.8 / np.sqrt(2.0) <= gaps.max() <= grid.covering_radius
        assert grid.covering_radius <= 2.0


def test_distances_agree_with_their_definitions():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(5, 6)), rng.normal(size=(3, 6))
    seen, known = rng.random((5, 6)) < 0.95, rng.random((3, 6)) < 0.9
    M = rng.normal(size=(6, 6))
    G = M @ M.T
    found = {
        norm: distances(PartialFeatures(A, seen), PartialFeatures(B, known), norm, gram=G, tau=0.7)
        for norm in ("euclid", "gram", "truncated")
    }
    for k in range(5):
        for h in range(3):
            v = seen[k] & known[h]
            if v.sum() < 0.75 * known[h].sum():
                assert found["euclid"][k, h] == np.inf
                continue
            g = np.where(v, A[k] - B[h], 0.0)
            more = 6.0 / v.sum()
            assert found["euclid"][k, h] == pytest.approx(np.sqrt(more * (g @ g)))
            capped = np.minimum(np.abs(g), 0.7).sum()
            assert found["truncated"][k, h] == pytest.approx(more * capped)
            w = known[h]
            inverse = np.linalg.pinv(G[np.ix_(w, w)])
            assert found["gram"][k, h] == pytest.approx(np.sqrt(more * (g[w] @ inverse @ g[w])))


def test_the_command_gives_the_path_of_the_paper(tmp_path):
    write_map(ROOM, tmp_path / "room.geojson")
    write_scan(full_scan(), tmp_path / "scan.json")
    words = ("paper", "locate", tmp_path / "room.geojson", tmp_path / "scan.json",
             "--channels", 8, "--temperature", 0.5, "--spacing", 0.5, "--profile", "softmax",
             "--norm", "euclid", "--heading", 0, 1)  # fmt: skip
    line = run(*words, "--json")
    assert line.code == 1
    row = line.json
    path = [step["position"] for step in row["gauss_newton"]]
    np.testing.assert_allclose(path[:4], PATH, atol=6e-4)
    assert row["nearest"][0]["node"] == [1.5, 1.5]
    assert len(row["bound"]["assumptions"]) == 6
    assert f"{row['nearest'][0]['distance']:.4f}" in run(*words).out


def test_the_command_locates_in_space(tmp_path):
    import trimesh

    world, truth, lidar = space_case("mesh")
    trimesh.Trimesh(world.vertices, world.faces, process=False).export(tmp_path / "room.ply")
    write_scan(lidar.scan(world, truth, np.random.default_rng(1)), tmp_path / "scan.npz")
    told = ("--channels", 48, "--spacing", 0.5, "--height", 1, "--json")
    line = run("paper", "locate", tmp_path / "room.ply", tmp_path / "scan.npz", *told)
    assert line.code == 1, line
    row = line.json
    assert np.linalg.norm([row["x"] - 1.3, row["y"] - 1.7, row["z"] - 1.0]) < 0.15
    assert not row["bound"]["holds"]
