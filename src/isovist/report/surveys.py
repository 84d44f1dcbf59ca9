"""A survey, whether in the plane or in space, as a picture, as JSON and as words."""

from typing import Any

from isovist.atlas.plane import Atlas
from isovist.atlas.space import VoxelAtlas
from isovist.surveying.space import SpaceSurvey
from isovist.surveying.survey import Survey
from isovist.viz.space_surveys import draw_space_survey, space_json, space_text
from isovist.viz.surveys import draw_survey, survey_json, survey_text


def text_of(found: Survey | SpaceSurvey) -> str:
    """In a few lines."""
    return space_text(found) if isinstance(found, SpaceSurvey) else survey_text(found)


def json_of(found: Survey | SpaceSurvey) -> dict[str, Any]:
    """As plain data."""
    return space_json(found) if isinstance(found, SpaceSurvey) else survey_json(found)


def draw_any(atlas: Atlas | VoxelAtlas, found: Survey | SpaceSurvey) -> Any:
    """As a picture."""
    if isinstance(found, SpaceSurvey):
        return draw_space_survey(found)
    assert isinstance(atlas, Atlas)
    return draw_survey(atlas.world, found)
