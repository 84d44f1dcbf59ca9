"""Write a survey as GeoJSON: the share of unique answers by place, and the worst areas.

Coordinates are those of the map, in m, as in plans; a GIS takes them as a local frame.
"""

from typing import Any

import numpy as np

from isovist.arrays import FloatArray
from isovist.report.settings import TEXT
from isovist.report.surveys import area_json, survey_json
from isovist.surveying import Survey


def survey_geojson(survey: Survey, heading: float) -> dict[str, Any]:
    """Return a survey as GeoJSON: a feature for each class of shares, and a point for each area.

    Args:
        survey: The survey.
        heading: Direction of the lattice of nodes in the world, in rad.
    """
    summary = survey_json(survey)
    del summary["areas"]
    areas = [
        _feature({"type": "Point", "coordinates": [area.x, area.y]}, {"kind": "area", "number": k})
        for k, area in enumerate(survey.areas, start=1)
    ]
    for feature, area in zip(areas, survey.areas, strict=True):
        feature["properties"] |= area_json(area)
    return {
        "type": "FeatureCollection",
        "features": [*_classes(survey, heading), *areas],
        "properties": summary,
    }


def _classes(survey: Survey, heading: float) -> list[dict[str, Any]]:
    """Return a feature for each class of shares: the squares around its nodes as one shape."""
    import shapely

    classes = TEXT.share_classes
    turn = np.array([[np.cos(heading), -np.sin(heading)], [np.sin(heading), np.cos(heading)]])
    origin, side = survey.places[0, :2], survey.spacing

    def to_world(corners: FloatArray) -> FloatArray:
        return origin + side * (corners @ turn.T)

    # In whole numbers squares share their sides exactly; above each other they are one.
    lattice = np.rint((survey.places[:, :2] - origin) @ turn / side).astype(np.int64)
    squares, indices = np.unique(lattice, axis=0, return_inverse=True)
    share = np.bincount(indices, survey.unique_share) / np.bincount(indices)
    number = np.minimum((share * classes).astype(np.int64), classes - 1)
    features = []
    for k in np.unique(number).tolist():
        x, y = squares[number == k].T
        shape = shapely.union_all(shapely.box(x - 0.5, y - 0.5, x + 0.5, y + 0.5))
        properties = {
            "kind": "unique_share",
            "from": k / classes,
            "to": (k + 1) / classes,
            "area_m2": float(shape.area * side**2),
        }
        world_shape = shapely.transform(shape, to_world)
        features.append(_feature(shapely.geometry.mapping(world_shape), properties))
    return features


def _feature(geometry: Any, properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "Feature", "geometry": geometry, "properties": properties}
