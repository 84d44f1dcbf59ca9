"""Walls that are in the map and no longer there."""

from functools import lru_cache

import numpy as np
import pytest
from tests.support.fits import USUAL, fits_at
from tests.support.reference_locate import building
from tests.support.reference_space import UNIT, house_cells
from tests.support.sites import SITES

import isovist as iv
from isovist.compute import EXPLAINED, THROUGH, credit_removed_walls
from isovist.localization import (
    Fits,
    adjusted_log_likelihoods,
    allow_for_removed_walls,
    group_ratings,
    log_likelihoods,
)

BOTH = pytest.mark.parametrize("site", SITES.values(), ids=SITES)


@lru_cache
def walled(name):
    """The site's map with one more wall, which hides the far half of a room, as an atlas."""
    if name == "plane":
        world = building()
        cells = world.cells.copy()
        cells[4:70, 70:72] = iv.Cell.OCCUPIED
        return iv.build(world.with_cells(cells))
    cells = house_cells()
    cells[:, 1:43, 36] = 1
    return iv.build(iv.VoxelMap.from_array(cells, UNIT, (3.0, -2.0, 0.4)))


def rated(site, places):
    """Fits of a scan of the site as it is on the map with the wall, at given places."""
    atlas = walled(site.name)
    return atlas, fits_at(atlas, site.look(site.places[0]), places)


def slowly(atlas, fits):
    """What `allow_for_removed_walls` says, column after column around the scan."""
    never = iv.BeamModel(behind_share=1e9)
    bare, _ = atlas.rate(fits.beams, fits.poses, never)
    told, of = fits.ratings.copy(), fits.beams.column_of
    for k in range(len(fits)):
        eased = np.where(fits.kinds[k] == THROUGH, np.maximum(bare[k], told[k]), told[k])
        both = Fits(fits.fit, fits.beams, np.stack([told[k], eased]), fits.kinds[[k, k]])
        gain = np.diff(group_ratings(both.summaries), axis=0)[0]
        for run in walls_of(gain > np.sqrt(0.05)):
            for column in run:
                if column != max(run, key=lambda c: (gain[c], -c)):
                    told[k][of == column] = eased[of == column]
    return told


def walls_of(on):
    """Numbers of those that are side by side, the last and the first too, at most half of all."""
    found = []
    for k in np.flatnonzero(on).tolist():
        if found and found[-1][-1] == k - 1:
            found[-1].append(k)
        else:
            found.append([k])
    if len(found) > 1 and found[0][0] == 0 and found[-1][-1] == len(on) - 1:
        found[0] = found.pop() + found[0]
    return [run for run in found if 2 * len(run) <= len(on)]


@pytest.mark.slow
@BOTH
def test_one_column_speaks_for_a_wall_that_is_gone(site):
    truth = site.places[0]
    atlas, fits = rated(site, site.places)
    at = int(np.argmin([np.linalg.norm(pose[:2] - truth.position[:2]) for pose in fits.poses]))
    assert (fits.kinds[at] == THROUGH).sum() > 10
    sums = allow_for_removed_walls(atlas, fits, USUAL)
    eased = group_ratings(sums)[at]
    gained, against = (
        eased - group_ratings(fits.summaries)[at],
        group_ratings(fits.summaries)[at] < 0.0,
    )
    assert against.sum() >= 3
    assert (eased < 0.0).sum() == 1
    assert gained.sum() > 4.0 * (against.sum() - 1)
    slow = Fits(fits.fit, fits.beams, slowly(atlas, fits), fits.kinds)
    assert sums == pytest.approx(slow.summaries, abs=1e-5)


@BOTH
def test_what_is_not_behind_a_wall_is_not_forgiven(site):
    """From elsewhere beams go through walls too, and end where nothing is, or on the floor."""
    atlas, fits = rated(site, site.places)
    truth = site.places[0]
    far = np.array([np.linalg.norm(p[:2] - truth.position[:2]) > 1.0 for p in fits.poses])
    assert (fits.kinds[far] == THROUGH).sum() > 20
    before, after = (
        log_likelihoods(fits.summaries, USUAL),
        log_likelihoods(allow_for_removed_walls(atlas, fits, USUAL), USUAL),
    )
    assert (after >= before - 1e-9).all()
    assert ((after - before)[far] < 0.8 * (after - before)[~far].max()).all()
    assert (after[far] < after[~far].max() - 30.0).all()
    forgiven = after if site.name == "plane" else before  # where that is forgiven
    assert adjusted_log_likelihoods(atlas, fits, USUAL).tolist() == forgiven.tolist()


@pytest.mark.slow
@BOTH
def test_a_scan_without_a_wall_of_the_map_is_still_located(site):
    answer = iv.locate(walled(site.name), site.look(site.places[0]))
    near = np.linalg.norm(answer.best.pose.position - site.places[0].position)
    assert near < 0.3
    assert answer.estimates[0].probability > 0.5


@BOTH
def test_nothing_changes_where_no_beam_goes_through(site):
    fits = fits_at(site.atlas, site.look(site.places[0]), site.places[:1])
    kinds = np.where(fits.kinds == THROUGH, EXPLAINED, fits.kinds)
    plain = Fits(fits.fit, fits.beams, fits.ratings, kinds)
    assert allow_for_removed_walls(site.atlas, plain, USUAL) is plain.summaries


def test_of_columns_side_by_side_the_one_that_gains_most_is_kept():
    random = np.random.default_rng(4)
    for count in (1, 2, 3, 9, 24):
        gain = np.round(random.uniform(-1.0, 3.0, (300, count)), 1)  # some of them alike
        bare, each = gain.astype(np.float32), np.arange(count)  # a beam is a block and a column
        plain, kinds = np.zeros_like(bare), np.full(bare.shape, THROUGH, np.uint8)
        sums = np.zeros((len(bare), 3 + count))
        told = np.empty_like(sums)
        credit_removed_walls(plain, kinds, bare, each, each, each, 0.25, sums, told)
        for row, said in zip(gain, told[:, 3:], strict=True):
            slow = np.zeros(count, bool)
            for run in walls_of(row > 0.25):
                slow[run] = True
                slow[max(run, key=lambda c: (row[c], -c))] = False
            assert (said > 0.0).tolist() == slow.tolist()
