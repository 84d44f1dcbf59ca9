"""Plans of many kinds, and how often answers on them are unique and wrong."""

import json

import numpy as np
import pytest
from scipy.special import bdtr, bdtrc
from typer.testing import CliRunner

from isovist import FileError, InputError
from isovist.apps import app
from isovist.bench import calibrate
from isovist.evaluation import clopper_pearson, kind_of, read_lines, rows_of, run, text_of, try_plan
from isovist.maps import Cell
from isovist.simulation import HELD_OUT, KINDS, draw_plan

HEAD = {"seed": 0, "scans": 2}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_plan_is_the_same_for_the_same_seed_and_lacks_what_is_there(kind):
    plan, again, other = (draw_plan(kind, seed) for seed in ((3, 1), (3, 1), (3, 2)))
    assert (plan.world.cells == again.world.cells).all()
    assert plan.world.cells.shape != other.world.cells.shape
    assert len(plan.reality.walls) > 8
    worn = (plan.world.cells == Cell.OCCUPIED).mean()
    assert 0.002 < worn < 0.2
    assert plan.scale in (1.0, 1.01)


def test_a_symmetric_plan_is_the_same_after_half_a_turn_and_a_mirrored_one_mirrored():
    random = np.random.default_rng(5)
    while True:
        sketch = KINDS["symmetric"](random)
        if len(sketch.blocks) % 2 == 0:  # without the block that gives it away
            break
    length, width = sketch.size
    walls = {tuple(np.round(sorted([wall[:2], wall[2:]]), 6).ravel()) for wall in sketch.walls}
    turned = {
        tuple(np.round(sorted([(length - x, width - y) for x, y in (w[:2], w[2:])]), 6).ravel())
        for w in map(np.array, sketch.walls)
    }
    assert walls == turned


@pytest.mark.slow
def test_a_third_of_the_maps_is_too_large_and_the_truth_is_so_too():
    scales = [draw_plan("hall", (0, k)).scale for k in range(30)]
    assert 4 <= scales.count(1.01) <= 16


@pytest.mark.slow
def test_the_interval_is_that_of_clopper_and_pearson():
    assert clopper_pearson(0, 35) == pytest.approx((0.0, 1.0 - 0.025 ** (1 / 35)))
    low, high = clopper_pearson(3, 200)
    assert bdtrc(2, 200, low) == pytest.approx(0.025)
    assert bdtr(3, 200, high) == pytest.approx(0.025)
    assert clopper_pearson(5, 5)[1] == 1.0


def test_a_run_that_is_killed_goes_on_where_it_was(tmp_path, monkeypatch):
    path, tried = tmp_path / "lines.jsonl", []

    def quick(number, scans, seed, brute=0):
        assert brute == 0
        tried.append(number)
        return {"plan": number, "kind": kind_of(number), "asked": [{"k": scans + seed}]}

    monkeypatch.setattr(calibrate, "try_plan", quick)
    first = run(3, 2, 0, path)
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"plan": 3, "ki')  # killed while it wrote
    assert run(5, 2, 0, path) == [*first, quick(3, 2, 0), quick(4, 2, 0)]
    assert tried == [0, 1, 2, 3, 4, 3, 4]
    assert sorted(read_lines(path, HEAD)) == [0, 1, 2, 3, 4]
    with pytest.raises(FileError) as error:
        run(5, 2, 7, path)
    assert str(error.value) == (
        "lines.jsonl is of a run with {'scans': 2, 'seed': 0}, and this one has "
        "{'scans': 2, 'seed': 7}. Name another file, or repeat its numbers."
    )
    other = whole.replace(b'"hall"', b'"igloo"')
    path.write_bytes(other)
    with pytest.raises(FileError) as error:
        run(5, 2, 0, path)
    assert str(error.value) == (
        "lines.jsonl is of a version that draws other kinds of plans. Name another file."
    )
    assert path.read_bytes() == other
    path.write_text("a song\n")
    with pytest.raises(
        FileError, match=r"^lines.jsonl has no lines of `isovist bench calibrate`.$"
    ):
        run(5, 2, 0, path)
    with pytest.raises(InputError) as refused:
        run(0, 2, 0, None)
    assert str(refused.value) == "`plans`, `scans` and `jobs` must be 1 or more, got 0, 2 and 1."
    with pytest.raises(InputError) as refused:
        run(1, 2, 0, None, brute=-1)
    assert str(refused.value) == "`brute` must be 0 or more, got -1."


@pytest.mark.slow
def test_plans_tried_side_by_side_give_the_same_lines(tmp_path):
    path = tmp_path / "lines.jsonl"
    assert run(2, 1, 0, path, jobs=2) == run(2, 1, 0, None)
    assert sorted(read_lines(path, {"seed": 0, "scans": 1})) == [0, 1]


@pytest.mark.slow
def test_rows_tell_all_scans_those_of_kinds_held_out_and_each_kind_and_sensor():
    def asked(right, verdict, sensor="180°, 8 m"):
        return {"sensor": sensor, "verdict": verdict, "right": right, "listed": right,
                "probability": 0.95, "off": 1.0, "error_m": 0.1}  # fmt: skip

    lines = [
        {"plan": 0, "kind": "office", "asked": [asked(True, "unique"), asked(False, "unique")]},
        {"plan": 4, "kind": HELD_OUT[0], "asked": [asked(False, "ambiguous", "90°, 6 m")]},
    ]
    rows = {row["what"]: row for row in rows_of(lines)}
    assert list(rows) == ["all", "held out", "office", "school", "180°, 8 m", "90°, 6 m"]
    assert (rows["all"]["scans"], rows["all"]["wrong_and_unique"]) == (3, 1)
    assert rows["held out"]["wrong_and_unique"] == 0
    assert rows["office"]["unique"] == 1.0
    assert rows["all"]["probabilities"] == [[0.9, 0.99, 3.0, pytest.approx(0.95), 1 / 3]]
    told = text_of(rows.values()).splitlines()
    assert told[2] == "| all | 3 | 33.3% | 66.7% | 33.3% | 1 (0.84% to 90.57%) | 0, 100, 100 |"
    assert told[-1] == "p from 0.9 to 0.99: 3 answers, mean 0.950, 33.3% right"


def test_rows_tell_how_many_scans_are_unique_where_brute_force_calls_them_so():
    def asked(verdict, right=True, brute=None, fits=True, why="", p=0.995):
        told = {"sensor": "180°, 8 m", "verdict": verdict, "right": right, "listed": right,
                "probability": 0.95, "off": 1.0, "error_m": 0.1}  # fmt: skip
        rating = {"unique": brute, "right": fits, "probability": p, "ahead": 1.0,
                  "judged": "unique", "withheld": why}  # fmt: skip
        return told | {"brute": rating}

    old = asked("unique")
    del old["brute"]  # of a file that knows no brute force
    lines = [
        {"plan": 0, "kind": "office", "asked": [asked("unique", brute=True, p=0.999), old]},
        {"plan": 1, "kind": "hall", "asked": [
            asked("unique", brute=True, p=0.985), asked("ambiguous", brute=True, why="rivals"),
            asked("ambiguous", brute=True, fits=False, why="lead"), asked("ambiguous", brute=False),
            asked("unique", right=False, brute=False), asked("lost")]},
        {"plan": 2, "kind": "warehouse", "asked": [asked("ambiguous", brute=False)]},
        {"plan": 3, "kind": "symmetric", "asked": [old]},
    ]  # fmt: skip
    rows = {row["what"]: row for row in rows_of(lines)}
    assert rows["all"]["brute"] == {
        "rated": 8, "given_up": 1, "unique": 4, "too": 2, "share": 0.5,
        "interval": clopper_pearson(2, 4), "wrong": 1, "wrong_too": 1,
        "withheld": {"rivals": 1, "lead": 1},
        "levels": [
            {"probability": 0.99, "unique": 3, "too": 1, "share": 1 / 3,
             "interval": clopper_pearson(1, 3), "wrong": 1},
            {"probability": 0.998, "unique": 1, "too": 1, "share": 1.0,
             "interval": clopper_pearson(1, 1), "wrong": 0}],
    }  # fmt: skip
    assert (rows["office"]["brute"]["share"], rows["hall"]["brute"]["share"]) == (1.0, 1 / 3)
    assert rows["warehouse"]["brute"]["share"] is None
    assert rows["warehouse"]["brute"]["interval"] == (0.0, 1.0)
    assert "brute" not in rows["symmetric"]
    told = text_of(rows.values()).splitlines()
    assert "| all | 8 | 1 | 4 | 2: 50.0% (6.8% to 93.2%) | 1 (12.50%) | 1 (12.50%) |" in told
    assert "| warehouse | 1 | 0 | 0 | 0: – (0.0% to 100.0%) | 0 (0.00%) | 0 (0.00%) |" in told
    assert told[-2] == (
        "Brute force unique with p from 0.998: 1, 0 of them wrong; "
        "of these unique by locate 1: 100.0% (2.5% to 100.0%)"
    )
    assert told[-1] == "What keeps locate from calling those unique: rivals 1, lead 1."
    assert "brute" not in text_of([rows["symmetric"]])


@pytest.mark.parametrize("brute", [1, 2, 5, 10, 20, 30, 50, 100])
def test_one_scan_of_so_many_is_rated_and_every_sensor_comes(brute):
    scans, count = 10, 5 * len(calibrate.SENSORS) * brute
    rated = [i for i in range(count) if calibrate._is_rated(i, brute)]
    assert [i // brute for i in rated] == list(range(count // brute))
    sensors = [(i // scans + i % scans) % len(calibrate.SENSORS) for i in rated]
    assert len(set(sensors)) == len(calibrate.SENSORS)
    assert not any(calibrate._is_rated(i, 0) for i in range(20))


@pytest.mark.slow
def test_one_scan_of_so_many_is_rated_by_brute_force(tmp_path):
    path = tmp_path / "lines.jsonl"
    words = ["bench", "calibrate", "--plans", "1", "--scans", "2", "--resume", str(path)]
    plain = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert "brute" not in plain[0]
    (line,) = read_lines(path, HEAD).values()
    path.unlink()
    rows = json.loads(CliRunner().invoke(app, [*words, "--brute", "2", "--json"]).output)
    (rated,) = read_lines(path, HEAD).values()
    (which,) = (k for k, asked in enumerate(rated["asked"]) if "brute" in asked)
    told = rated["asked"][which].pop("brute")
    assert rated == line
    assert rows[0]["brute"]["rated"] == 1
    assert rows[0]["brute"]["unique"] == (told["unique"] is True)
    assert (told["withheld"] == "") == (rated["asked"][which]["verdict"] == "unique")
    more = json.loads(
        CliRunner().invoke(app, [*words, "--json"]).output
    )  # the rows are in the file
    assert more[0]["brute"] == rows[0]["brute"]


@pytest.mark.slow
def test_the_command_tries_plans_and_tells_rows(tmp_path):
    path = tmp_path / "lines.jsonl"
    words = ["bench", "calibrate", "--plans", "2", "--scans", "2", "--resume", str(path), "--json"]
    rows = json.loads(CliRunner().invoke(app, words).output)
    assert rows[0]["what"] == "all"
    assert rows[0]["scans"] == 4
    assert rows[0]["wrong_and_unique"] == 0
    assert try_plan(1, 2, 0) == read_lines(path, HEAD)[1]
