"""The public surface: few names, all of them there, whatever was imported first."""

import subprocess
import sys

import pytest

import isovist as iv


def test_every_public_name_exists_and_none_is_there_twice():
    assert len(set(iv.__all__)) == len(iv.__all__) <= 60
    for name in iv.__all__:
        assert getattr(iv, name) is not None
    assert set(iv.__all__) <= set(dir(iv))


@pytest.mark.slow
def test_locate_is_the_verb_even_after_its_package_was_imported():
    code = (
        "import isovist.localization.answer, isovist as iv; iv.Answer; assert callable(iv.locate)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_importing_is_light():
    """Compiled kernels, figures and the larger parts of SciPy wait until they are needed."""
    code = (
        "import sys, isovist; "
        "heavy = {'numba', 'matplotlib', 'scipy.spatial', 'scipy.integrate', 'scipy.ndimage'}; "
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(iv, "teleport")
