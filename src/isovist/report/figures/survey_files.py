"""Write surveys to files: values (.npz), shapes (.geojson), or a page (.html)."""

import json
from collections.abc import Sequence
from pathlib import Path

from isovist.atlas import Atlas
from isovist.errors import InputError
from isovist.report.figures.figures import new_figure, to_bytes
from isovist.report.figures.surveys import draw_surveys
from isovist.report.pages import survey_page
from isovist.report.survey_geojson import survey_geojson
from isovist.storage import replace_file
from isovist.surveying import Survey, write_survey


def check_file(path: Path | None, sensors: int) -> None:
    """Check before a survey that its file can be written; raise an error otherwise."""
    if path is None:
        return
    suffix = path.suffix.lower()
    if suffix not in (".npz", ".geojson", ".html"):
        raise InputError(
            f"{path}: a survey is written as .npz, .geojson or .html.", code="unknown_format"
        )
    if sensors > 1 and suffix != ".html":
        raise InputError(
            f"{path}: two sensors that are compared are written as .html.", code="unknown_format"
        )
    if suffix == ".html":
        new_figure(1.0, 1.0)  # says what to install


def write_surveys(atlas: Atlas, surveys: Sequence[Survey], path: Path, name: str) -> None:
    """Write one survey, or a comparison of two, in the format that the suffix names.

    Args:
        atlas: Atlas of the surveyed map.
        surveys: One survey, or two surveys to compare.
        path: The file.
        name: Name of the site.
    """
    check_file(path, len(surveys))
    if path.suffix.lower() == ".npz":
        write_survey(surveys[0], path)
    elif path.suffix.lower() == ".geojson":
        shapes = survey_geojson(surveys[0], atlas.heading)
        replace_file(path, json.dumps(shapes).encode(), parents=True)
    else:
        picture = to_bytes(draw_surveys(atlas, surveys), "png")
        replace_file(path, survey_page(name, surveys, picture).encode(), parents=True)
