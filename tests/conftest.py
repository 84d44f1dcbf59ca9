"""The same examples every time, threads that wait quietly, and which tests are slow."""

import gc
import logging
import os
import sys
from functools import cache

# Workers share the cores, so threads of their own only get in the way, SciPy's and ours; what a
# test says of threads it says of a number that it sets.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import pytest
import typer.main
import typer.testing
from hypothesis import HealthCheck, settings

from isovist.backends.base import NAMES, using
from isovist.errors import InputError
from slow import COLLECTED, Times, measured, name_of

settings.register_profile(
    "isovist",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("isovist")

# A process of the program makes its commands once, and a test of it by every call: 40 ms each.
typer.main.get_command = typer.testing._get_command = cache(typer.main.get_command)

# What is imported stays; looking through it for garbage again and again takes a twentieth.
gc.disable()  # until all tests are found

SLOW = (
    "test_accuracy.py",
    "test_bench.py",
    "test_bench_descriptors.py::test_refinements",
    "test_bench_descriptors.py::test_the_command",
    "test_certificate.py::test_the_bound_is_not_violated",
    "test_choice.py::test_a_scan_of_elsewhere",
    "test_cli.py::test_the_demonstration_needs_no_matplotlib",
    "test_cluster.py",
    "test_complete.py::test_a_prior_bounds",
    "test_complete.py::test_twins",
    "test_descriptor.py::test_the_exact_quadrature_agrees_with_a_long_sum",
    "test_descriptor.py::test_the_jacobian_agrees_with_differences_in_150",
    "test_explore.py",
    "test_explore_space.py",
    "test_faces.py::test_the_static_bound",
    "test_floors_page.py",
    "test_gram.py::test_d_never_exceeds_the_distance_of_the_signals_in_2000",
    "test_intensity_plane.py::test_a_proof",
    "test_io_folder_swap.py::test_a_writer_killed_at_any_line",
    "test_kernels.py::test_a_command_that_must_compile",
    "test_kernels.py::test_warming_up",
    "test_kill_files.py",
    "test_lidar.py::test_the_demonstration",
    "test_mesh.py::test_rays_through_random_soup",
    "test_optimise.py",
    "test_page_code.py",
    "test_pages.py::test_the_script",
    "test_paper_localizer.py::test_scans_in_space",
    "test_paper_way.py::test_a_way_in_space",
    "test_paper_way.py::test_the_command",
    "test_pictures.py::test_legends",
    "test_paper.py::test_the_command_prints",
    "test_paper.py::test_the_example_can_be_had",
    "test_paper.py::test_without_values",
    "test_serve_limits.py::test_a_server_that",
    "test_serve_limits.py::test_hundreds",
    "test_serve_page.py",
    "test_slices.py::test_a_prior_holds",
    "test_slices.py::test_costs_count",
    "test_slices.py::test_no_box",
    "test_slices.py::test_one_place",
    "test_slices.py::test_rivals_are",
    "test_slices.py::test_the_right_place",
    "test_studio_space.py",
    "test_several_cli.py",
    "test_several.py::test_a_robot_that_stands_still",
    "test_several.py::test_mirrored_scans",
    "test_ros_bag.py",
    "test_ros_zenoh.py::test_a_node_of_its_own",
    "test_separation.py",
    "test_silhouette.py",
    "test_space_files.py",
    "test_standing.py::test_a_tracker_sharpens",
    "test_storeys.py",
    "test_static.py::test_the_static_bound_is_not_violated",
    "test_studio_browser.py",
    "test_studio_server.py::test_a_survey",
    "test_studio_server.py::test_updates",
    "test_survey",
    "test_theory_figures.py",
    "test_threads.py::test_a_child_process",
    "test_threads.py::test_eight",
    "test_tilts.py::test_a_leaning_scan",
    "test_tilts.py::test_the_holes",
    "test_track_bound.py",
    "test_track_chain.py",
    "test_track_cli.py",
    "test_track_cli_space.py",
    "test_track_gramian.py",
    "test_track_protocol.py::test_the_benchmarks",
    "test_track_space.py",
    "test_track_trajectory.py",
    "test_tracker.py::test_the_truth_lies_in_the_ellipsoid",
    "test_verify.py",
)
"""Files, or tests by the beginning of their name, that `make quick` leaves out besides those that
`slow.txt` names: browsers, whole drives and statistics, long on any machine."""

ALWAYS = (
    "test_cli.py::test_a_lean_that_is_told",
    "test_cli.py::test_mirror_turns_a_scan_over",
    "test_judge.py::test_a_place_is_worth_what_its_beams_are[plane]",
    "test_judge.py::test_a_place_without_contenders",
    "test_judge.py::test_contenders_are_rated",
    "test_localization.py::test_a_robot_finds_itself",
    "test_localization.py::test_a_scan_from_elsewhere",
    "test_several.py::test_several_scans_find_the_robot",
    "test_space_locate.py::test_a_tilt_that_nobody_told",
    "test_tracker.py::test_a_robot_carried_away",
    "test_tracker.py::test_an_unknown_start",
    "test_tracker_sites.py::test_a_dock_is_kept_to",
    "test_tracker_sites.py::test_several_maps_in_space",
)
"""Tests by the beginning of their name that `make quick` runs however long they take: the whole way
from a scan to a verdict, in the plane and in space, by the program and by the tracker."""

QUICK = "not slow"
"""What `make quick` asks for."""


def pytest_addoption(parser):
    parser.addoption("--times", action="store_true", help="measure, and write tests/slow.txt")


def pytest_configure(config):
    if config.getoption("--times"):
        config.pluginmanager.register(Times())


def pytest_ignore_collect(collection_path, config):
    """`make quick` does not even import files of which it runs nothing."""
    whole = tuple(name for name in SLOW if "::" not in name)
    left_out = config.option.markexpr == QUICK and collection_path.name.startswith(whole)
    return True if left_out else None


def pytest_collection_finish():
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config, items):
    long = measured()
    config.stash[COLLECTED] = [name_of(item) for item in items]
    for item, name in zip(items, config.stash[COLLECTED], strict=True):
        if name.startswith(SLOW) or (name in long and not name.startswith(ALWAYS)):
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def typed(monkeypatch, capsys):
    """A command line as it is typed, in this process: its exit code, output and errors."""
    from isovist.cli.app import main

    def run(*words):
        notes = logging.getLogger("isovist")
        before = notes.handlers[:]
        monkeypatch.setattr(sys, "argv", ["isovist", *map(str, words)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        notes.handlers[:] = before
        told = capsys.readouterr()
        return end.value.code, told.out, told.err

    return run


@pytest.fixture(params=NAMES)
def backend(request):
    """Every backend in turn, computing; those that this machine lacks are skipped, and it says so.

    Tests that use it hold all backends to the same twins.
    """
    try:
        with using(request.param) as computing:
            yield computing
    except InputError as lacking:
        pytest.skip(str(lacking))
