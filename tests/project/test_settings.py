"""Numbers that were chosen: frozen, each with its unit and origin, and they reach the answer."""

from dataclasses import FrozenInstanceError, fields, replace
from inspect import getdoc

import numpy as np
import pytest
from tests.support.errors import refused
from tests.support.sites import PLANE, SITES

import isovist as iv

KINDS = (iv.AtlasSettings, iv.BeamModel, iv.LocalizationSettings, iv.ProofSettings,
         iv.TrackingSettings, iv.Drift, iv.ExplorationSettings, iv.SurveyingSettings)  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_setting_is_documented_and_frozen(kind):
    told = getdoc(kind).split("Attributes:")[1]
    for field in fields(kind):
        assert f"\n    {field.name}: " in told, field.name
    with pytest.raises(FrozenInstanceError):
        setattr(kind(), fields(kind)[0].name, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("site", SITES.values(), ids=SITES)
def test_settings_reach_the_answer(site):
    scan, answer = site.asked()
    assert answer.verdict is iv.Verdict.UNIQUE
    strict = iv.LocalizationSettings().with_values(
        {"decision.min_score_nats": 50.0, "alternatives.good_score_nats": 50.0}
    )
    assert iv.locate(site.atlas, scan, settings=strict).verdict is iv.Verdict.LOST
    one = iv.LocalizationSettings().with_values({"decision.max_estimates": 1})
    assert len(iv.locate(site.atlas, scan, settings=one).estimates) == 1


@pytest.mark.slow
def test_settings_reach_the_atlas_and_the_tracker():
    coarse = iv.build(PLANE.world, settings=iv.AtlasSettings(spacing=0.5, channels=32))
    assert coarse.descriptors.shape[1:] == (1, 32)
    assert coarse.spacing == pytest.approx(0.5)
    assert coarse.settings == iv.AtlasSettings(spacing=0.5, channels=32)
    truth = PLANE.places[0]
    answer = iv.locate(coarse, PLANE.look(truth))
    np.testing.assert_allclose(answer.best.pose.vector, truth.vector, atol=0.05)
    never = iv.TrackingSettings().with_values({
        "competitors.min_agreement": 99.0, "competitors.immediate_agreement": 99.0,
        "competitors.clear_agreement": 99.0, "search.max_score_gap_nats": 99.0,
    })  # fmt: skip
    tracker = iv.Tracker(PLANE.atlas, settings=never)
    assert tracker.update(iv.Pose(), PLANE.look(truth)).verdict is iv.Verdict.AMBIGUOUS
    with refused("settings"):
        iv.Tracker(PLANE.atlas, settings=iv.AtlasSettings())


@pytest.mark.slow
def test_a_plan_of_walls_is_built_like_its_cells():
    plan, truth = iv.SegmentMap.room(6.0, 4.0), iv.Pose(1.3, 1.7, 0.4)
    atlas = iv.build(plan)
    assert atlas.world.resolution == iv.AtlasSettings().cell
    lidar = iv.Lidar(beams=180, field_of_view=np.pi)
    answer = iv.locate(atlas, lidar.scan(plan, truth, np.random.default_rng(0)))
    gaps = [np.abs(e.pose.position - truth.position).sum() for e in answer.estimates]
    assert min(gaps) < 0.1


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not iv.Drift])
def test_a_setting_of_another_kind_is_refused(kind):
    usual = kind()
    for field in fields(kind):
        value = getattr(usual, field.name)
        wrong = [None, [0.1], "0.3", np.nan, np.inf, -1.0, 1e300, True, [], {}, (1.0, (2.0,))]
        if isinstance(value, tuple):
            wrong += [(np.nan,) * len(value), ("x",) * len(value)]
            wrong += [] if "..." in str(field.type) else [(*value, 1.0), value[:-1]]
        if isinstance(value, int):
            wrong += [value + 0.5]
        for other in wrong:
            with pytest.raises(iv.InputError) as error:
                replace(usual, **{field.name: other})
            assert "\n" not in str(error.value)
    assert replace(usual) == usual
