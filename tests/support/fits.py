"""Candidates of a scan, and what they are once fitted."""

import numpy as np

import isovist as iv
from isovist.localization import (
    NodeSearch,
    decide,
    distinct_indices,
    find_candidates,
    refit,
    search_space_of,
    select_beams,
)
from isovist.localization.scoring.coarse_to_fine import CandidateFitter
from isovist.sensing import merge
from isovist.sensing.scan_sequence import join_scans

USUAL = iv.LocalizationSettings()


def candidates(atlas, scan, settings=USUAL, region=None, *, is_full=False, only=None):
    """The first candidates of one scan on one map, or the last."""
    nodes = NodeSearch(atlas, scan, region, settings, subset=only)
    count = settings.share(atlas, settings.search.candidates(is_full=is_full))
    return nodes.full(count) if is_full else nodes.coarse(count)


def sought(maps, scan, settings=USUAL, **how):
    """What the search of one map or of several finds, for one scan or several."""
    return find_candidates(search_space_of(maps), scan, None, settings, **how)


def beams(atlas, scan, thin=USUAL.fit.fine_beams):
    """Beams of one scan or of several."""
    return select_beams(atlas, scan, thin, USUAL.scoring.group)


def fits_of(atlas, scan):
    """Unlike places of a scan, fitted and rated as in a first look, best first."""
    fits, _ = CandidateFitter(atlas, scan, USUAL).fit(candidates(atlas, scan).poses)
    return fits.select(distinct_indices(fits.poses, *USUAL.decision.same_place))


def fits_at(atlas, scan, poses):
    """Fits of a scan with many beams from some poses of its sensor."""
    rows = np.stack([pose.vector for pose in poses])
    return refit(atlas, beams(atlas, scan), rows, USUAL, tilt=False)


def together(scans, motions, **how):
    """Several scans as one."""
    return join_scans(scans, motions, **how)


def merged(scans):
    """Scans of a robot that stands, as one."""
    return merge(scans)


def reported_sigma(atlas, scan, pose):
    """Standard deviation along the worst axis that an answer at a pose would report, in m."""
    fits, _ = CandidateFitter(atlas, scan, USUAL).fit(np.asarray(pose.vector)[None])
    C = decide(atlas, scan, fits, USUAL).best.covariance
    return np.sqrt(np.linalg.eigvalsh(C[:2, :2])[-1])
