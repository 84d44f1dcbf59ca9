#!/usr/bin/env bash
# Lines and branches of the kernels and of the rooms beside them that fast tests reach, with the
# kernels as plain Python.  What Numba computes without a word (0/0) warns here, so it is ignored.
# Fails below FLOOR, which is what was measured, less a point.
set -euo pipefail
cd "$(dirname "$0")/.."
FLOOR=${FLOOR:-67}
make --no-print-directory .venv/.coverage
mkdir -p out
export NUMBA_DISABLE_JIT=1 COVERAGE_FILE=out/.coverage
# Minutes without the compiler; they are run with it by `make test`.
slow=(
  voxels.py::test_the_descriptor_of_cells_comes_near_that_of_faces
  voxels.py::test_walls_faces_and_cells_of_one_building_agree
  voxels.py::test_rays_with_ties_end_where_the_rational_twin_says
  lidar.py::test_the_demonstration
  select.py::test_a_glance_looks_at_the_cheapest_in_full
  locate_kernels.py::test_ratings_are_those_of_the_twin
  complete_kernels.py::test_what_is_seen_through_walls_drops_boxes_but_not_the_right_one
  complete_kernels.py::test_beams_are_followed_for_as_long_as_there_is_time
)
files=(ends segments occupancy occupancy_mapping locate_kernels space_kernels voxels cloud_scan scan roses poses complete_kernels distance joined lidar select)
.venv/bin/python -m coverage run -m pytest -W ignore::RuntimeWarning \
  $(printf -- "--deselect tests/test_%s " "${slow[@]}") \
  $(printf "tests/test_%s.py " "${files[@]}")
.venv/bin/python -m coverage report --fail-under "$FLOOR" \
  --include 'src/isovist/kernels/*,src/isovist/maps/*,src/isovist/sensing/*,src/isovist/roses/*'
