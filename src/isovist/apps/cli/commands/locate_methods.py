"""The two ways of `isovist locate`: that of the product and that of the paper."""

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from isovist.errors import InputError

if TYPE_CHECKING:
    from isovist.localization.region import Region
    from isovist.paper.localizer import PaperLocalizer
    from isovist.sensing.joined import Look

METHODS = ("isovist", "paper")


@dataclass(frozen=True, slots=True)
class PaperOptions:
    """What `--method paper` is told; `None` for what was not said."""

    channels: int | None = None
    temperature: float | None = None
    profile: str | None = None
    norm: str | None = None
    transform: str | None = None
    spacing: float | None = None
    rose: Path | None = None

    @property
    def given(self) -> list[str]:
        """Names of the options that were."""
        return [name for name in self.__slots__ if getattr(self, name) is not None]


def is_paper(method: str, told: PaperOptions) -> bool:
    """Whether the method is that of the paper; an error for an unknown one."""
    if method not in METHODS:
        raise InputError.about("method", f"must be {' or '.join(METHODS)}, got {method}.")
    if method != "paper" and told.given:
        raise InputError.about(told.given[0], "is for `--method paper`.", code="conflict")
    return method == "paper"


def check_ignored(**given: object) -> None:
    """An error for the first option that is given and that the paper's method knows nothing of."""
    for name, value in given.items():
        if value not in (None, False):
            raise InputError(
                f"`--{name.replace('_', '-')}` is not for `--method paper`.", code="conflict"
            )


def localizer_of(
    world: Path, told: PaperOptions, height: float | None, highest: float | None, view: Any = None
) -> "PaperLocalizer":
    """The paper's localizer of a map, or of the map of an atlas."""
    from isovist.atlas.data.store import read_atlas
    from isovist.io.maps.read import read_map
    from isovist.paper.basis_fit.separation import read_rose
    from isovist.paper.localizer import paper_localizer
    from isovist.storage.files import is_folder

    plan = read_atlas(world).world if is_folder(world) else read_map(world)
    options = {name: getattr(told, name) for name in told.given}
    if told.rose is not None:
        options["rose"] = read_rose(told.rose, plan)
    return paper_localizer(plan, height=height, highest=highest, view=view, **options)


def only(maps: list[Path]) -> Path:
    """The one map that the paper's method takes."""
    if len(maps) > 1:
        raise InputError(f"`--method paper` takes one map, got {len(maps)}.", code="conflict")
    return maps[0]


def locate_paper(
    maps: list[Path],
    seen: "Look",
    told: PaperOptions,
    heading: tuple[float, float] | None,
    height: float | None,
    highest: float | None,
    as_json: bool,
) -> int:
    """Print what the paper's method says of a scan; 0 when its bound holds, else 1."""
    from isovist.apps.cli.support.progress import busy
    from isovist.paper.localizer import band_of
    from isovist.paper.report.answers import paper_json, paper_text
    from isovist.sensing.cloud_scan import CloudScan
    from isovist.sensing.scan import Scan

    if not isinstance(seen, Scan | CloudScan):
        raise InputError("`--method paper` takes one scan; leave out `--scans`.", code="conflict")
    localizer = localizer_of(only(maps), told, height, highest, band_of(seen))
    yaw = None if heading is None else math.radians(heading[0])
    with busy("Describing and locating"):
        answer = localizer.locate(seen, yaw)
    typer.echo(json.dumps(paper_json(answer), indent=1) if as_json else paper_text(answer))
    return 0 if answer.bound.holds else 1


def locate_product(
    maps: list[Path],
    seen: "Look",
    prior: "Region | None",
    height: tuple[float | None, float | None],
    picture: tuple[Path | None, bool],
    as_json: bool,
    **how: Any,
) -> int:
    """Print what `isovist.locate` says of a scan; 0 when it is unique, else 1."""
    from isovist.apps.cli.support.inputs import maps_of
    from isovist.compute.infra.precompile import compile_beside
    from isovist.compute.search.topk import spread
    from isovist.localization.answer import Verdict
    from isovist.localization.contrast import contrast
    from isovist.localization.hints import hints
    from isovist.localization.locate import locate
    from isovist.localization.maps import site_of
    from isovist.report.answers import answer_json, answer_text
    from isovist.report.contrasts import contrast_json, contrast_text
    from isovist.report.figures.answers import draw_answer
    from isovist.report.figures.figures import save
    from isovist.sensing.joined import last_of

    figure, why = picture
    atlas = maps_of(maps, prior, height=height[0], highest=height[1])
    compile_beside(*site_of(atlas).kernels()[1:], spread)
    answer = locate(atlas, seen, prior=prior, **how)
    instead = hints(atlas, seen, answer, prior=prior)
    told = contrast(atlas, seen, answer) if why else None
    if figure is not None:
        save(draw_answer(atlas, last_of(seen), answer, contrast=told), figure)
    if as_json:
        more = {"why": contrast_json(told)} if why else {}
        typer.echo(json.dumps(answer_json(answer, instead) | more, indent=1))
    else:
        because = f"\n  why: {contrast_text(told)}" if why else ""
        typer.echo(answer_text(answer, instead) + because)
    return 0 if answer.verdict is Verdict.UNIQUE else 1
