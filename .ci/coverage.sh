#!/usr/bin/env bash
# Lines and branches of the kernels and of the rooms beside them that fast tests reach, with the
# kernels as plain Python.  What Numba computes without a word (0/0) warns here, so it is ignored.
# Fails below FLOOR, which is what was measured, less a point.
set -euo pipefail
cd "$(dirname "$0")/.."
FLOOR=${FLOOR:-67}
mkdir -p out
export NUMBA_DISABLE_JIT=1 COVERAGE_FILE=out/.coverage
# Minutes without the compiler; they are run with it by `make test`.
slow=(
  unit/maps/test_voxels.py::test_the_descriptor_of_cells_comes_near_that_of_faces
  unit/maps/test_voxels.py::test_walls_faces_and_cells_of_one_building_agree
  unit/maps/test_voxels.py::test_rays_with_ties_end_where_the_rational_twin_says
  unit/sensing/test_lidar.py::test_the_demonstration_finds_the_robot
  unit/compute/test_distance.py::test_a_large_map_has_the_same_distances
  unit/compute/test_branch_and_bound.py::test_what_is_seen_through_walls_drops_boxes_but_not_the_right_one
  unit/compute/test_branch_and_bound.py::test_beams_are_followed_for_as_long_as_there_is_time
)
files=(
  unit/compute/test_endpoints.py
  unit/maps/test_segments.py
  unit/maps/test_occupancy.py
  unit/maps/test_mapping.py
  unit/compute/test_conformance.py::test_correlate_finds_the_least_local_minima
  unit/compute/test_conformance.py::test_align_takes_the_steps_of_gauss_newton
  unit/compute/test_conformance.py::test_bound_boxes_sums_deficits_or_drops_the_box
  unit/compute/test_conformance.py::test_describe_nodes_sums_the_ranges_that_count
  unit/compute/test_conformance.py::test_search_boxes_leaves_the_boxes_of_brute_force
  unit/compute/test_search2d.py
  unit/compute/test_search3d.py
  unit/maps/test_voxels.py
  unit/sensing/test_cloud_scan.py
  unit/sensing/test_scan.py
  unit/basis/test_directional_basis.py
  unit/test_poses.py
  unit/compute/test_branch_and_bound.py
  unit/compute/test_distance.py
  unit/sensing/test_sequence.py
  unit/sensing/test_lidar.py
  unit/sensing/test_level_ground.py::test_a_scan_in_space_that_looks_one_way_has_no_plane
  unit/tracking/test_drift.py
  unit/compute/test_topk.py
)
.venv/bin/python -m coverage run -m pytest -W ignore::RuntimeWarning \
  $(printf -- "--deselect tests/%s " "${slow[@]}") \
  $(printf "tests/%s " "${files[@]}")
.venv/bin/python -m coverage report --fail-under "$FLOOR" \
  --include 'src/isovist/compute/*,src/isovist/maps/*,src/isovist/sensing/*,src/isovist/basis/*' \
  --omit 'src/isovist/compute/cuda/*,src/isovist/compute/registry.py,src/isovist/compute/cpu.py'
