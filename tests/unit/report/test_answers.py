"""What an answer says in a few lines."""

from dataclasses import replace

import numpy as np
from tests.support.sites import PLANE

import isovist as iv
from isovist.report import answer_text, contrast_text


def test_a_certificate_is_a_line_of_its_own():
    scan, room = PLANE.look(PLANE.places[0]), iv.SegmentMap.room(6.0, 4.0)
    answer = iv.locate(PLANE.atlas, scan)
    there = iv.Pose(2.0, 1.5)
    certificate = iv.certify(room, iv.Lidar().scan(room, there, np.random.default_rng(1)), there)
    certified = replace(answer, certificate=certificate)
    lines = answer_text(certified).splitlines()
    (line,) = [line for line in lines if "certificate: " in line]
    assert f"{certificate.mu:.3f}" in line
    assert (f"{certificate.bound:.3f}" in line) is certificate.holds
    assert len(lines) == len(answer_text(answer).splitlines()) + 1


def test_an_answer_with_one_place_has_nothing_to_compare():
    assert contrast_text(None).count(".") == 1
