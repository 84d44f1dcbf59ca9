"""The rooms of the house: every module can be named, and the product stands without the theory."""

import importlib
import pkgutil
import subprocess
import sys

import isovist

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(isovist.__path__, "isovist.")
    if not module.name.endswith("__main__")
)


def test_every_module_can_be_imported_by_its_full_name():
    for name in MODULES:
        module = importlib.import_module(name)
        found: dict[str, object] = {}
        exec(f"import {name} as found", found)
        assert found["found"] is module


def test_the_tracker_loads_neither_theory_nor_benchmarks_nor_what_shows_answers():
    rooms = ("descriptor", "theory", "bench", "report", "viz", "cli")
    code = (
        "import sys, isovist as iv; iv.Tracker; "
        f"print([m for m in sys.modules if m.split('.')[:1] == ['isovist'] "
        f"and m.split('.')[1:2] and m.split('.')[1] in {rooms}])"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"
