"""A chosen number is a setting; `constants.txt` lists the other constants, with the reason."""

from pathlib import Path

from tests.support.constants import constants_of
from tests.support.paths import ROOT

LISTED = [
    line.split(": ", 1)
    for line in (Path(__file__).parent / "constants.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]


def test_every_constant_outside_of_settings_is_listed():
    assert [name for name, _ in LISTED] == constants_of(ROOT / "src" / "isovist")


def test_every_listed_constant_has_a_reason():
    assert [name for name, reason in LISTED if len(reason) < 10] == []
