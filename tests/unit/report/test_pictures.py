"""Pictures: what they promise is looked up in their artists and pixels."""

import io
from dataclasses import replace

import numpy as np
import pytest
from tests.support.sites import SITES

import isovist as iv
from isovist.localization import contrast
from isovist.maps import Cell
from isovist.report import chance_text, headline

pytest.importorskip("matplotlib")

from matplotlib.patches import Polygon
from PIL import Image

from isovist.report import (
    ASTRAY,
    FITS,
    NEUTRAL,
    coarse,
    draw_answer,
    draw_cell_isovist,
    draw_cells,
    new_figure,
    save,
    to_bytes,
)

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


def pixels(figure):
    return np.asarray(Image.open(io.BytesIO(to_bytes(figure, "png"))).convert("L"))


@pytest.mark.slow
@pytest.mark.parametrize("side", [100, 1000, 4000])
def test_a_wall_of_one_cell_is_seen_at_any_scale(side):
    cells = np.full((side, side), Cell.FREE, dtype=np.uint8)
    cells[:, 7 * side // 10] = Cell.OCCUPIED
    figure = new_figure(6.0, 6.0)
    axes = figure.subplots()
    draw_cells(axes, iv.OccupancyMap(cells, 0.05))
    picture = pixels(figure)
    box = axes.get_window_extent()
    scale = 150.0 / figure.dpi
    left, right = (round(scale * x) for x in (box.x0 + 8, box.x1 - 8))
    for share in (0.2, 0.5, 0.8):
        row = picture[round(picture.shape[0] - scale * (box.y0 + share * box.height))]
        dark = np.flatnonzero(row[left:right] < 90)
        assert 2 <= dark.size < 0.05 * (right - left)
        assert np.ptp(dark) == dark.size - 1


def test_cells_drawn_as_one_are_a_wall_if_one_of_them_is():
    cells = np.full((5, 7), Cell.UNKNOWN, dtype=np.uint8)
    cells[0, 0], cells[1, 1], cells[3, 3] = Cell.FREE, Cell.OCCUPIED, Cell.FREE
    assert coarse(cells, 3).tolist() == [[1, 2, 2], [2, 0, 2]]
    assert coarse(cells, 1) is cells


@pytest.mark.slow
def test_the_isovist_is_shaded_as_far_as_its_walls():
    cells = np.full((60, 80), Cell.OCCUPIED, dtype=np.uint8)
    cells[10:50, 10:70] = Cell.FREE
    axes = new_figure(4.0, 3.0).subplots()
    (patch,) = draw_cell_isovist(axes, iv.OccupancyMap(cells, 0.1), np.array([2.0, 3.0]), 30.0)
    low, high = patch.get_xy().min(axis=0), patch.get_xy().max(axis=0)
    np.testing.assert_allclose([low, high], [[1.0, 1.0], [7.0, 5.0]], atol=0.02)


@pytest.mark.slow
@BOTH
def test_beams_that_fit_and_those_that_do_not_have_their_colours(site):
    truth = site.places[0]
    scan, answer = site.asked()
    turned = replace(answer.best, pose=answer.best.pose @ type(truth)(yaw=2.0))
    for shown, more, less in (
        (answer, FITS, ASTRAY),
        (replace(answer, estimates=(turned,)), ASTRAY, FITS),
    ):
        figure = draw_answer(site.atlas, scan, shown, truth)
        assert figure.get_suptitle() == headline(shown)
        assert len(figure.legends[0].get_texts()) == 5
        drawn = {line.get_color(): len(line.get_xdata()) for line in figure.axes[0].lines}
        assert drawn[more] > drawn.get(less, 0)


@pytest.mark.slow
@BOTH
def test_rivals_are_numbered_robots_with_their_probability(site):
    scan, answer = site.asked_alike()
    figure = draw_answer(site.twin_atlas, scan, answer, site.lonely)
    whole = figure.axes[0]
    marks = {text.get_text() for text in whole.texts}
    for number, estimate in enumerate(answer.estimates, start=1):
        if not estimate.refuted:
            assert f"{number}: {chance_text(estimate.probability)}" in marks
    # The nose of the best robot is farthest from its centre, along the heading.
    bodies = [p.get_xy()[:-1] for p in whole.patches if type(p) is Polygon]
    body = [xy for xy in bodies if len(xy) == 5][-1] - answer.best.pose.position[:2]
    nose = body[np.argmax(np.linalg.norm(body, axis=1))]
    yaw = float(answer.best.pose.yaw)
    np.testing.assert_allclose(nose / np.linalg.norm(nose), [np.cos(yaw), np.sin(yaw)])


@pytest.mark.slow
@BOTH
def test_legends_and_titles_lie_outside_the_axes_and_inside_the_picture(site):
    scan, answer = site.asked_alike()
    told = contrast(site.twin_atlas, scan, answer)
    for figure in (
        draw_answer(site.twin_atlas, scan, answer, site.lonely),
        draw_answer(site.twin_atlas, scan, answer, site.lonely, told),
        draw_answer(site.twin_atlas, scan, replace(answer, estimates=())),
    ):
        figure.get_layout_engine().execute(figure)  # as saving does; pixels are not looked at
        figure.draw_without_rendering()
        texts = [legend.get_window_extent() for legend in figure.legends]
        texts += [axes.title.get_window_extent() for axes in figure.axes]
        heading = figure._suptitle.get_window_extent()
        words = [word.get_window_extent() for axes in figure.axes if axes.axison
                 for word in (axes.title, axes.xaxis.label)]  # fmt: skip
        for box in (heading, texts[0]):
            assert not any(box.overlaps(word) for word in words)
        texts.append(heading)
        for box in texts:
            assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
            assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1
            assert not any(box.overlaps(axes.get_window_extent()) for axes in figure.axes)


@pytest.mark.slow
@BOTH
def test_two_places_side_by_side_say_which_beams_tell_them_apart(site):
    scan, answer = site.asked_alike()
    told = contrast(site.twin_atlas, scan, answer)
    figure = draw_answer(site.twin_atlas, scan, answer, None, told)
    first, second = figure.axes[1:]
    for axes, pose in zip((first, second), told.poses, strict=True):
        drawn = {line.get_color(): line.get_xydata() for line in axes.lines}
        silent = pose.apply(told.ends)[~told.telling, :2]
        np.testing.assert_allclose(drawn[NEUTRAL], silent)
        assert sum(map(len, drawn.values())) == len(told)


def test_a_picture_is_written_whole_or_not_at_all(tmp_path):
    figure = new_figure(2.0, 2.0)
    path = tmp_path / "new" / "picture.png"
    save(figure, path)
    before = path.read_bytes()
    assert before.startswith(b"\x89PNG")
    figure.text(0.0, 0.0, "$no such formula {$")  # which is found out while it is drawn
    with pytest.raises(ValueError, match="no such formula"):
        save(figure, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == ["picture.png"]


@pytest.mark.slow
def test_the_regions_of_a_proof_are_drawn_where_they_are():
    site = SITES["plane"]
    scan = site.look(site.places[0])
    answer = iv.locate(site.atlas, scan, prove=True)
    figure = draw_answer(site.atlas, scan, answer)
    (discs,) = [c for c in figure.axes[0].collections if c.get_label().startswith("not excluded")]
    assert np.allclose(discs.get_offsets(), answer.proof.regions[:, :2])
    assert np.allclose(discs.get_widths(), 2.0 * answer.proof.regions[:, 3])
    dim = draw_answer(
        site.atlas, scan, replace(answer, proof=replace(answer.proof, complete=False))
    )
    told = (len(each.legends[0].get_texts()) for each in (figure, dim))
    assert next(told) == next(told) + 1
