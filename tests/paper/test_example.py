"""The published values of the paper's example, digit by digit, and exact ones to 1e-11."""

import json

import numpy as np
import pytest
from tests.support.command_line import run
from tests.support.paper_parts import Exact, paper_basis, paper_room

from isovist import Descriptor

# Independent values of F at four places: Gauss–Legendre between corners, good to 1e-14.
EXACT_F = {
    (1.5, 2.0): [
        1.5828873608681833, 1.6572030071512762, 1.6553541301819499, 1.5367312649325393,
        1.4414496437440794, 1.5367312649325413, 1.6553541301819505, 1.6572030071512769,
    ],
    (1.3, 1.7): [
        1.7450745391172497, 1.8285129611843642, 1.7796130219063593, 1.5148999833585217,
        1.3030153315203983, 1.351418810363185, 1.5039083537932527, 1.6808096168056208,
    ],
    (1.5, 1.5): [
        1.6423763849552033, 1.7830933660907557, 1.8699590988702948, 1.6676996328668092,
        1.4269847746368782, 1.368991809917896, 1.4102024372252933, 1.5669082597230688,
    ],
    (4.0, 3.2): [
        1.3548121988426969, 1.0938667043897612, 0.9580029893142603, 1.2720393467207751,
        1.647848634134067, 1.7094781767907852, 1.7147197137707053, 1.502635744989503,
    ],
}  # fmt: skip
# Singular values of J there.  These come from jumps read 1e-9 rad beside the corners, so they
# are good to about 4e-9 only.
NEAR_SIGMA = {
    (1.5, 2.0): (1.381962063618917, 0.8228316031286137),
    (1.3, 1.7): (1.3767798759706582, 0.8374280806491684),
    (1.5, 1.5): (1.415993227438636, 0.831795549088221),
    (4.0, 3.2): (1.6292742972345338, 0.7913212523262292),
}
SIGMA_WITHOUT_SHADOW = {
    (1.5, 2.0): (1.1446902380325523, 1.1096597552142429),
    (1.3, 1.7): (1.1956400197351729, 1.1494591339552134),
    (1.5, 1.5): (1.285303823816138, 1.0800070905506094),
    (4.0, 3.2): (1.6410924901911745, 0.9575542949843645),
}


@pytest.fixture(scope="module")
def rows():
    return run("paper", "tables", "--json").json


@pytest.mark.parametrize("place", EXACT_F)
def test_exact_descriptors_and_jacobians_agree_with_independent_values(place):
    descriptor = Descriptor(paper_basis(), quadrature=Exact(1e-13))
    F, J = descriptor.at(paper_room(), place, jacobian=True)
    np.testing.assert_allclose(F, EXACT_F[place], rtol=1e-12)
    sigma = np.linalg.svd(J, compute_uv=False)
    np.testing.assert_allclose(sigma, NEAR_SIGMA[place], rtol=4e-9)
    _, bare = descriptor.at(paper_room(), place, jacobian=True, shadow=False)
    sigma = np.linalg.svd(bare, compute_uv=False)
    np.testing.assert_allclose(sigma, SIGMA_WITHOUT_SHADOW[place], rtol=1e-12)


def test_the_table_of_sums_is_that_of_the_paper(rows):
    published = {
        64: (1.6367, 1.7002, 1.4426, 5.4e-02),
        256: (1.5948, 1.6669, 1.4419, 1.2e-02),
        1024: (1.5850, 1.6589, 1.4415, 2.2e-03),
        4096: (1.5826, 1.6570, 1.4414, 2.0e-04),
        16384: (1.5828, 1.6571, 1.4414, 0.0e00),
    }
    for row in rows["convergence"]:
        phi = row["phi"]
        assert len(phi) == 8
        told = (*(round(phi[i], 4) for i in (0, 1, 4)), float(f"{row['error']:.1e}"))
        assert told == published[row["S"]]


def test_the_table_of_nearest_nodes_is_that_of_the_paper(rows):
    told = [
        (*row["node"], round(row["distance"], 4), round(row["true_error"], 3))
        for row in rows["nearest"]
    ]
    assert told == [
        (1.5, 1.5, 0.2869, 0.283),
        (1.5, 2.0, 0.3839, 0.361),
        (1.0, 2.0, 0.4709, 0.424),
        (1.0, 1.5, 0.4757, 0.361),
    ]


def test_the_table_of_gauss_newton_is_that_of_the_paper(rows):
    told = [
        (*np.round(row["position"], 3), round(row["residual"], 4), round(row["error"], 4))
        for row in rows["gauss_newton"]
    ]
    assert told == [
        (1.500, 1.500, 0.2869, 0.2828),
        (1.289, 1.694, 0.0165, 0.0124),
        (1.301, 1.700, 0.0008, 0.0007),
        (1.300, 1.700, 0.0002, 0.0001),
    ]


def test_the_certificate_and_summary_are_those_of_the_paper(rows):
    assert [round(s, 3) for s in rows["singular_values"]] == [1.452, 0.845]
    assert round(rows["mu"], 3) == 0.845
    assert rows["mu_exact"] == pytest.approx(0.8317955, abs=1e-7)
    assert rows["singular_values_without_shadow"][1] == pytest.approx(1.0800071, abs=1e-7)
    summary = rows["summary"]
    assert summary["nodes"] == 35
    assert round(summary["nearest_error"], 3) == 0.283
    assert round(summary["gauss_newton_error"], 5) == 1.4e-04


def test_exact_gauss_newton_reaches_rounding_in_four_steps(rows):
    errors = [row["error"] for row in rows["gauss_newton_exact"]]
    assert errors[3] < 1e-9
    assert errors[4] < 1e-14


@pytest.mark.slow
def test_the_example_can_be_had_with_other_values(tmp_path):
    ring = [[0, 0], [5, 0], [5, 4], [2, 4], [2, 3], [0, 3], [0, 0]]
    plan, picture = tmp_path / "plan.geojson", tmp_path / "new" / "paper.png"
    plan.write_text(json.dumps({"type": "Polygon", "coordinates": [ring]}))
    words = "paper --channels 12 --temperature 0.2 --profile bump --place 1.3 1.2 --room"
    words = [*words.split(), plan]
    data = run(*words, "--json").json
    assert len(data["phi_exact"]) == 12
    told = data["summary"]
    assert (told["profile"], told["channels"], told["true_place"]) == ("Bump", 12, [1.3, 1.2])
    assert told["parameter"] == pytest.approx(np.arccos(0.6))
    assert told["gauss_newton_exact_error"] < 1e-6
    text = run(*words, "--figure", picture).out
    assert f"{data['nearest'][0]['distance']:.4f}" in text
    assert picture.read_bytes()[:4] == b"\x89PNG"


def test_the_jumps_the_ratios_and_the_table_of_both_are_told(rows):
    assert [round(jump["angle"], 3) for jump in rows["jumps"]] == [0.588, 5.695]
    first = rows["jumps"][0]
    assert (round(first["before"], 2), round(first["after"], 2)) == (1.80, 3.61)
    assert len(rows["error_ratios"]) == 3
    both = rows["static_and_dynamic"]
    assert both["dynamic_bound"] < both["static_bound"]
    assert both["lambda_min"] > 0.0
