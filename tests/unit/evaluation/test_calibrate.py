"""Plans of many kinds, and how often answers on them are unique and wrong."""

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc
from tests.support.errors import refused

from isovist import Cell, FileError
from isovist.evaluation import (
    CalibrationRun,
    clopper_pearson,
    read_lines,
    summarise_plans,
    table_text,
)
from isovist.simulation import HELD_OUT, KINDS, draw_plan

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_is_the_same_for_the_same_seed_and_lacks_what_is_there(kind):
    plan, again, other = (draw_plan(kind, seed) for seed in ((3, 1), (3, 1), (3, 2)))
    assert (plan.world.cells == again.world.cells).all()
    assert plan.world.cells.shape != other.world.cells.shape
    assert len(plan.reality.walls) > 8
    assert 0.002 < (plan.world.cells == Cell.OCCUPIED).mean() < 0.2
    assert plan.scale in (1.0, 1.01)


@pytest.mark.parametrize(
    ("kind", "occupied", "length"),
    [
        ("office", (4200, 5515, 4127), (239.96, 314.13, 222.6)),
        ("hall", (1832, 1821, 1840), (127.36, 152.26, 97.91)),
        ("warehouse", (4394, 4155, 5782), (225.83, 220.77, 317.18)),
        ("symmetric", (2029, 1615, 1619), (114.5, 133.79, 91.3)),
        ("hotel", (3424, 3413, 3317), (206.31, 183.41, 175.23)),
        ("mirrored", (2027, 1613, 1618), (112.74, 125.4, 92.64)),
        ("car_park", (2987, 2217, 2287), (209.28, 226.72, 149.08)),
        ("school", (4538, 4406, 4514), (262.97, 257.11, 249.57)),
        ("museum", (2684, 3252, 1676), (173.89, 183.39, 96.05)),
        ("market", (4440, 3999, 3690), (239.41, 226.33, 199.93)),
    ],
)
def test_a_seed_names_the_plan_that_results_were_published_of(kind, occupied, length):
    plans = [draw_plan(kind, (3, seed)) for seed in (1, 2, 3)]
    cells = [(plan.built.cells == Cell.OCCUPIED).sum() for plan in plans]
    assert cells == pytest.approx(occupied, abs=2)
    walls = [plan.reality.walls.reshape(-1, 2, 2) for plan in plans]
    total = [np.linalg.norm(w[:, 1] - w[:, 0], axis=1).sum() for w in walls]
    assert total == pytest.approx(length, abs=0.02)


def test_the_interval_is_that_of_clopper_and_pearson():
    assert clopper_pearson(0, 35) == pytest.approx((0.0, 1.0 - 0.025 ** (1 / 35)))
    low, high = clopper_pearson(3, 200)
    assert bdtrc(2, 200, low) == pytest.approx(0.025)
    assert bdtr(3, 200, high) == pytest.approx(0.025)
    assert clopper_pearson(5, 5)[1] == 1.0


@pytest.mark.nightly
def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path):
    path = tmp_path / "lines.jsonl"
    whole = CalibrationRun(3, 1).run()
    assert CalibrationRun(2, 1).run(path, jobs=2) == whole[:2]  # side by side, the same
    marked = path.read_bytes().replace(b'"asked"', b'"kept": 1, "asked"')  # lines stay as they are
    path.write_bytes(marked + b'{"plan": 2, "ki')  # killed while it wrote
    assert CalibrationRun(3, 1).run(path) == [
        *({**line, "kept": 1} for line in whole[:2]),
        whole[2],
    ]
    assert sorted(read_lines(path, {"seed": 0, "scans": 1})) == [0, 1, 2]
    text = path.read_bytes()
    for seed, other, code in (
        (7, text, "invalid_file"),  # of other numbers
        (0, text.replace(whole[0]["kind"].encode(), b"igloo"), "outdated_file"),
        (0, b"a song\n", "invalid_file"),
    ):
        path.write_bytes(other)
        with refused(code=code, kind=FileError):
            CalibrationRun(3, 1, seed).run(path)
        assert path.read_bytes() == other
    with refused():
        CalibrationRun(0, 2).run()


def asked(verdict, right=True, sensor="180°, 8 m"):
    return {"sensor": sensor, "verdict": verdict, "right": right, "listed": right,
            "probability": 0.95, "off": 1.0, "error_m": 0.1}  # fmt: skip


def test_rows_tell_all_scans_those_of_kinds_held_out_and_each_kind_and_sensor():
    lines = [
        {"plan": 0, "kind": "office", "asked": [asked("unique"), asked("unique", right=False)]},
        {"plan": 4, "kind": HELD_OUT[0], "asked": [asked("ambiguous", False, sensor="90°, 6 m")]},
    ]
    rows = {row["what"]: row for row in summarise_plans(lines)}
    assert list(rows) == ["all", "held out", "office", "school", "180°, 8 m", "90°, 6 m"]
    assert (rows["all"]["scans"], rows["all"]["wrong_and_unique"]) == (3, 1)
    assert rows["held out"]["wrong_and_unique"] == 0
    assert rows["office"]["unique"] == 1.0
    assert rows["all"]["probabilities"] == [[0.9, 0.99, 3.0, pytest.approx(0.95), 1 / 3]]
    assert table_text(rows.values())
