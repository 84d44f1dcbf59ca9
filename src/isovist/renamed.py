"""The table of names that changed. Earlier names work with a warning, or are refused with a reason.

To rename something public, add a row to `ROWS` and put `@accept_old_names` on the function or
class. Modules, top-level names, commands and options need only the row.
"""

import warnings
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from importlib.machinery import ModuleSpec
from operator import attrgetter
from types import ModuleType
from typing import Any, Literal, NamedTuple, NoReturn, TypeVar

from isovist.errors import InputError

T = TypeVar("T", bound=Callable[..., Any])
Kind = Literal[
    "name",  # a class or function of any room: "Rose"
    "keyword",  # a keyword of a function or class: "build(rose)"
    "attribute",  # an attribute or method of a class: "Atlas.note"
    "setting",  # both, of a settings class: "TrackingSettings.least"; a tuple became several
    "module",
    "command",  # words after `isovist`
    "option",  # of all commands: "--rose"; of one command: "bench calibrate --brute"
    "extra",  # of `pip install 'isovist[…]'`
]


class Row(NamedTuple):
    """One name of an earlier version.

    Attributes:
        kind: What it is a name of.
        old: The earlier name.
        new: Today's name, or `None` for what was removed. Of a setting that was a tuple, today's
            names of its numbers, with those of the settings that they are in; "; " stands between
            the names of inner tuples.
        reason: For what was removed: a sentence that says what to use instead.
        since: The first version with this change.
    """

    kind: Kind
    old: str
    new: str | None = None
    reason: str = ""
    since: str = "0.2"

    @property
    def owner(self) -> str:
        """Return the function or class of a keyword, attribute or setting."""
        return self._parts[0]

    @property
    def name(self) -> str:
        """Return the earlier name without its owner."""
        return self._parts[1]

    @property
    def _parts(self) -> tuple[str, str]:
        if self.kind not in ("keyword", "attribute", "setting"):
            return "", self.old
        owner, _, name = self.old.replace("(", ".").rpartition(".")
        return owner, name.rstrip(")")

    @property
    def groups(self) -> list[list[str]]:
        """Return today's names: one list for a name or a tuple, several for a tuple of tuples."""
        return [group.split(", ") for group in (self.new or "").split("; ")]

    @property
    def today(self) -> list[str]:
        """Return today's names of all numbers."""
        return [name for group in self.groups for name in group]

    def warn(self, depth: int = 3) -> str:
        """Warn the caller `depth` frames up, and return today's name.

        Raises:
            RemovedNameError: If there is none.
        """
        if self.new is None:
            self.refuse()
        text = f"`{self.name}` is now `{self.new}`. The old name will be gone in version 1.0."
        warnings.warn(text, DeprecationWarning, stacklevel=depth)
        return self.new

    def refuse(self) -> NoReturn:
        """Raise an error that names the replacement."""
        raise RemovedNameError.about(self.name, f"was removed. {self.reason}", code="renamed")


_CERTIFY = "Ask for a certificate where walls are exact: iv.certify(plan, scan, answer.best.pose)."
_REASONS = "Give `reasons`, such as (iv.Reason.ONLY_PLACE,): the words are made from them."
_GROUPS = "Run `pip install --group NAME` in a checkout; for peers, NAME is baselines."

ROWS = (
    Row("name", "Rose", "DirectionalBasis"),
    Row("name", "available", "available_backends"),
    Row("name", "draw_rose_over_map", "draw_basis_over_map"),
    Row("name", "fine_roses", "fine_bases"),
    Row("name", "fit_rose", "fit_basis"),
    Row("name", "shared", "shared_wall_share"),
    Row("name", "somewhere", "random_pose"),
    Row("name", "storeys", "similar_floors"),
    Row("name", "read_clouds", "read_cloud_log"),
    Row("name", "storeys", "building_floors"),
    Row("keyword", "VoxelMap.from_points(fewest)", "min_points"),
    Row("attribute", "MeshMap.joined", "join"),
    Row("attribute", "Log.chosen", "select"),
    Row("keyword", "Answer(advice)", reason=_REASONS),
    Row("keyword", "Belief(advice)", reason=_REASONS),
    Row("keyword", "Check(advice)", reason=_REASONS),
    Row("keyword", "Descriptor(rose)", "basis"),
    Row("keyword", "Gram(rose)", "basis"),
    Row("keyword", "Gram.from_basis(rose)", "basis"),
    Row("keyword", "Gram.from_rule(rose)", "basis"),
    Row("keyword", "Gram.from_scan(rose)", "basis"),
    Row("keyword", "build(rose)", "basis"),
    Row("keyword", "Tracker(atlas)", "space"),
    Row("keyword", "Tracker(prior)", "region"),
    Row("keyword", "Tracker.reset(prior)", "region"),
    Row("keyword", "check(atlas)", "space"),
    Row("keyword", "hints(atlas)", "space"),
    Row("keyword", "hints(prior)", "region"),
    Row("keyword", "locate(atlas)", "space"),
    Row("keyword", "locate(prior)", "region"),
    Row("keyword", "locate_many(atlas)", "space"),
    Row("keyword", "locate_many(prior)", "region"),
    Row("keyword", "explore(drift)", reason="The simulated robot has the default `Drift`."),
    Row("keyword", "explore(settings)", reason="The simulated robot has the default settings."),
    Row("keyword", "locate(certificate)", reason=_CERTIFY),
    Row("keyword", "locate_many(certificate)", reason=_CERTIFY),
    Row("keyword", "Atlas(bare)", "walls"),
    Row("keyword", "Library(most)", "max_maps"),
    Row("keyword", "read_library(most)", "max_maps"),
    Row("keyword", "Survey(asked)", "samples"),
    Row("keyword", "Survey(looks)", "summary"),
    Row("keyword", "survey(most)", "max_scans"),
    Row("keyword", "write_survey(found)", "survey"),
    Row("attribute", "Survey.asked", "samples"),
    Row("attribute", "Survey.looks", "summary"),
    Row("attribute", "Atlas.bare", "walls"),
    Row("attribute", "Atlas.elsewhere", "is_on_other_map"),
    Row("attribute", "Library.most", "max_maps"),
    Row("attribute", "Atlas.note", reason="Use `ignored_intensities(scan)`."),
    Row("attribute", "Atlas.rose", "basis"),
    Row("attribute", "Descriptor.rose", "basis"),
    Row("attribute", "Gram.from_rose", "from_basis"),
    Row("attribute", "Gram.rose", "basis"),
    Row("attribute", "Belief.told", "on_own_maps"),
    Row("attribute", "Library.side_by_side", "multi_map"),
    Row("attribute", "OptimizedBasis.rose", "basis"),
    Row("setting", "BeamModel.mixture", "hit, short, short_range_m, random"),
    Row("setting", "BeamModel.unseen", "unknown_hit, unknown_fade_per_m"),
    Row("setting", "BeamModel.slack", "behind_m, behind_share"),
    Row("setting", "BeamModel.gloss", "intensity_sigma_share, intensity_weight"),
    Row("setting", "LocalizationSettings.short", "search.max_short_cost"),
    Row(
        "setting", "LocalizationSettings.seen_share",
        "search.min_seen_share_2d, search.min_seen_share_3d",
    ),
    Row(
        "setting", "LocalizationSettings.finalists",
        "search.max_nodes, search.headings_per_node",
    ),
    Row(
        "setting", "LocalizationSettings.seeds",
        "search.first_candidates, search.full_candidates",
    ),
    Row("setting", "LocalizationSettings.lead", "decision.min_cost_ratio"),
    Row("setting", "LocalizationSettings.stop", "search.stop_cost_ratio"),
    Row(
        "setting", "LocalizationSettings.apart",
        "search.separation_m, search.separation_rad; "
        "fit.separation_m, fit.separation_rad",
    ),
    Row(
        "setting", "LocalizationSettings.beams",
        "fit.coarse_max_beams, fit.coarse_beam_spacing_rad; "
        "fit.fine_max_beams, fit.fine_beam_spacing_rad",
    ),
    Row("setting", "LocalizationSettings.coarse", "fit.coarse_sigmas"),
    Row("setting", "LocalizationSettings.fine", "fit.fine_sigmas_m"),
    Row(
        "setting", "LocalizationSettings.keep",
        "fit.first_rated, fit.first_refined; "
        "fit.full_rated, fit.full_refined",
    ),
    Row("setting", "LocalizationSettings.worth", "scoring.explained_weight"),
    Row(
        "setting", "LocalizationSettings.nearby",
        "scoring.climb_step_m, scoring.climb_step_rad, scoring.climb_range_nats",
    ),
    Row(
        "setting", "LocalizationSettings.sure",
        "decision.likelihood_power, "
        "decision.no_place_score_nats, decision.min_probability",
    ),
    Row(
        "setting", "LocalizationSettings.block",
        "scoring.group_rad, scoring.group_length_m",
    ),
    Row(
        "setting", "LocalizationSettings.refuted",
        "refutation.min_agreement, refutation.min_lead_nats, "
        "refutation.softness, refutation.min_group_share",
    ),
    Row("setting", "LocalizationSettings.witnesses", "decision.min_groups"),
    Row("setting", "LocalizationSettings.loose", "decision.max_position_std_m"),
    Row(
        "setting", "LocalizationSettings.poor",
        "decision.min_score_nats, alternatives.good_score_nats",
    ),
    Row("setting", "LocalizationSettings.slip", "scoring.max_slip_cost_nats"),
    Row(
        "setting", "LocalizationSettings.same",
        "decision.same_place_m, decision.same_place_rad",
    ),
    Row("setting", "LocalizationSettings.listed", "decision.max_estimates"),
    Row("setting", "LocalizationSettings.floor", "covariance.min_std_m, covariance.min_std_rad"),
    Row(
        "setting", "LocalizationSettings.scatter",
        "covariance.residual_m, covariance.inflation, "
        "covariance.residual_cells_2d, covariance.residual_cells_3d",
    ),
    Row("setting", "ProofSettings.largest", "max_box_m, max_box_rad"),
    Row("setting", "ProofSettings.see", "max_ray_box_m"),
    Row("setting", "ProofSettings.finest", "min_box_m"),
    Row("setting", "ProofSettings.most", "max_boxes"),
    Row("setting", "ProofSettings.seconds", "max_time_s"),
    Row(
        "setting", "SurveyingSettings.views",
        "visibility.headings, "
        "visibility.step_m, visibility.max_views",
    ),
    Row(
        "setting", "SurveyingSettings.rival",
        "aliases.min_distance_m, "
        "aliases.min_turn_rad, aliases.min_similarity",
    ),
    Row(
        "setting", "SurveyingSettings.compared",
        "aliases.max_nodes, aliases.channels_per_group, "
        "aliases.shortlist, aliases.refined",
    ),
    Row(
        "setting", "SurveyingSettings.asked",
        "sampling.min_scans, sampling.batch, "
        "sampling.max_scans, sampling.max_nodes, sampling.max_error",
    ),
    Row(
        "setting", "SurveyingSettings.chance",
        "prediction.ridge, prediction.cost_offset, "
        "prediction.mu_offset_per_m, prediction.width_m, prediction.shrinkage",
    ),
    Row(
        "setting", "ExplorationSettings.body",
        "robot.radius_m, "
        "robot.driving_share, robot.standing_share",
    ),
    Row(
        "setting", "ExplorationSettings.ways",
        "paths.step_m, paths.view_spacing_m, "
        "paths.length_m, paths.max_length_m",
    ),
    Row(
        "setting", "ExplorationSettings.cost",
        "objective.ambiguity_m, objective.turn_m_per_rad, "
        "objective.min_gain_m, objective.probability_share",
    ),
    Row("setting", "ExplorationSettings.beams", "foresight.beam_spacing_rad, foresight.sigma_m"),
    Row("setting", "ExplorationSettings.slopes", "foresight.max_slope, foresight.step"),
    Row("attribute", "ExplorationSettings.radius", "robot.radius_m"),
    Row("attribute", "ExplorationSettings.tight", "robot.driving_clearance_m"),
    Row("attribute", "ExplorationSettings.least", "robot.standing_clearance_m"),
    Row("attribute", "ExplorationSettings.ahead", "distances"),
    Row("attribute", "ExplorationSettings.directions", "headings"),
    Row(
        "setting", "TrackingSettings.keep",
        "keyframes.min_distance_m, "
        "keyframes.min_turn_rad, "
        "keyframes.max_keyframes",
    ),
    Row("setting", "TrackingSettings.fresh", "keyframes.new_view_m, keyframes.new_view_rad"),
    Row(
        "setting", "TrackingSettings.found",
        "search.max_candidates, "
        "search.settled_max_candidates",
    ),
    Row("setting", "TrackingSettings.hopeless", "search.max_score_gap_nats"),
    Row("setting", "TrackingSettings.search_every", "search.distance_m, search.settled_distance_m"),
    Row(
        "setting", "TrackingSettings.agreement",
        "competitors.min_agreement, "
        "competitors.immediate_agreement",
    ),
    Row(
        "setting", "TrackingSettings.clear",
        "competitors.clear_agreement, "
        "competitors.clear_lead_nats",
    ),
    Row("setting", "TrackingSettings.lasting", "competitors.min_distance_m"),
    Row("setting", "TrackingSettings.gone", "competitors.max_gap_nats, competitors.max_hypotheses"),
    Row(
        "setting", "TrackingSettings.surprise",
        "relocalization.max_inconsistent_scans, "
        "relocalization.typical_weight",
    ),
    Row("setting", "TrackingSettings.slipped", "relocalization.slip_m, relocalization.slip_rad"),
    Row("setting", "TrackingSettings.tight", "search.position_std_m, search.angle_std_rad"),
    Row(
        "setting", "TrackingSettings.bent",
        "estimates.map_position_std_m, "
        "estimates.map_angle_std_rad",
    ),
    Row("module", "isovist.backends.base", "isovist.compute.registry"),
    Row("module", "isovist.bench.explore", "isovist.simulation.lost_robot"),
    Row("module", "isovist.bench.storeys", "isovist.simulation.worlds"),
    Row("module", "isovist.bench.worlds", "isovist.simulation.worlds"),
    Row("module", "isovist.descriptor.descriptor", "isovist.paper.descriptor.descriptor"),
    Row("module", "isovist.descriptor.moments", "isovist.paper.descriptor.moments"),
    Row("module", "isovist.descriptor.norms", "isovist.paper.descriptor.norms"),
    Row("module", "isovist.descriptor.quadrature", "isovist.paper.descriptor.quadrature"),
    Row("module", "isovist.io.logs.clouds", "isovist.io.logs.cloud_logs"),
    Row("module", "isovist.localization.certify", "isovist.paper.static.certify"),
    Row("module", "isovist.maps.segments", "isovist.maps.surfaces.segment_map"),
    Row("module", "isovist.roses", "isovist.basis"),
    Row("module", "isovist.sensing.standing", "isovist.sensing.motion.stationary"),
    Row("module", "isovist.simulation.similar_floors", "isovist.simulation.worlds"),
    Row("module", "isovist.theory.autograd", "isovist.paper.descriptor.torch_operator"),
    Row("module", "isovist.theory.completeness", "isovist.paper.completeness"),
    Row("module", "isovist.theory.differentiate", "isovist.paper.descriptor.differentiate"),
    Row("module", "isovist.theory.example", "isovist.paper.example"),
    Row("module", "isovist.theory.gram", "isovist.paper.gram.gram"),
    Row("module", "isovist.theory.hard_bins", "isovist.paper.gram.hard_bins"),
    Row("module", "isovist.theory.optimise", "isovist.paper.basis_fit.gradients"),
    Row("module", "isovist.theory.verify.scenes", "isovist.paper.statements.worlds.scenes"),
    Row("module", "isovist.tracking.link_files", "isovist.io.links"),
    Row("module", "isovist.tracking.start", "isovist.paper.dynamic.start_fit"),
    Row("module", "isovist.viz.answers", "isovist.report.figures.answers"),
    Row("module", "isovist.viz.explorations", "isovist.report.figures.explorations"),
    Row("module", "isovist.viz.figures", "isovist.report.figures.figures"),
    Row("module", "isovist.viz.theory", "isovist.paper.report.theory_figures"),
    Row("command", "convert", "map convert"),
    Row("command", "map", "map make"),
    Row("command", "metric", "paper metric"),
    Row("command", "optimise", "paper fit-basis"),
    Row("command", "paper", "paper tables"),
    Row("command", "steer", "paper steer"),
    Row("command", "verify", "paper verify"),
    Row("command", "locate --method paper", "paper locate"),
    Row("command", "locate --method isovist", "locate"),
    Row("command", "track --method paper", "paper track"),
    Row("command", "track --method isovist", "track"),
    Row(
        "command", "bench descriptors",
        reason="Use `python -m benchmarks.baselines descriptors` of a checkout.",
    ),
    Row(
        "command", "bench space",
        reason="Use `python -m benchmarks.baselines space` of a checkout.",
    ),
    Row(
        "option", "bench calibrate --brute",
        reason="Use `python -m benchmarks.exhaustive` of a checkout.",
    ),
    Row("option", "--apart", "--min-distance"),
    Row("option", "--highest", "--max-height"),
    Row("option", "--rose", "--basis"),
    Row("option", "--storeys", "--floors"),
    Row("extra", "cloud", "object-storage"),
    Row("extra", "clouds", "pointclouds"),
    Row("extra", "peers", reason=_GROUPS),
    Row("extra", "test", reason=_GROUPS),
    Row("extra", "lint", reason=_GROUPS),
    Row("extra", "docs", reason=_GROUPS),
    Row("extra", "dev", reason=_GROUPS),
)  # fmt: skip


_HELP = ("-h", "--help")


class RemovedNameError(InputError, AttributeError):
    """A name of an earlier version that was removed; `hasattr` says that it is not there."""


@cache
def rows_of(*kinds: Kind, owner: str | None = None) -> dict[str, Row]:
    """Return rows by earlier name without owner: all of some kinds, or those of one owner."""
    rows = (row for row in ROWS if row.kind in kinds)
    return {row.name: row for row in rows if owner is None or row.owner == owner}


def accept_old_names(target: T) -> T:
    """Decorate a function or class that has rows: earlier keywords and attributes still work.

    It stands above `@dataclass`, which makes the function that takes the keywords.
    """
    owner = target.__qualname__
    keywords = rows_of("keyword", "setting", owner=owner)
    if not isinstance(target, type):
        return _with_keywords(target, keywords)
    cls: Any = target
    if keywords:
        cls.__init__ = _with_keywords(cls.__init__, keywords)
    for name, row in rows_of("attribute", "setting", owner=owner).items():
        setattr(cls, name, OldAttribute(row))
    return target


def _with_keywords(function: Any, rows: dict[str, Row]) -> Any:
    """Wrap a function so that it takes the earlier keywords of `rows`."""

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        for old in rows.keys() & kwargs.keys():
            value, row = kwargs.pop(old), rows[old]
            row.warn()
            for name, number in zip(row.today, _numbers(row, value), strict=True):
                part, _, rest = name.partition(".")
                if rest:
                    settings = kwargs.get(part) or getattr(type(args[0])(), part)
                    number = settings.with_values({rest: number})  # noqa: PLW2901
                kwargs[part] = number
        return function(*args, **kwargs)

    return wrapper


def _numbers(row: Row, value: Any) -> Sequence[Any]:
    """Return the values of the new settings that replace an earlier one."""
    if len(row.today) == 1:
        return (value,)
    tuples = (value,) if len(row.groups) == 1 else value
    if not _is_like(tuples, row.groups) or not all(map(_is_like, tuples, row.groups)):
        raise InputError.about(row.name, f"is now `{row.new}`; got {value!r}.", code="renamed")
    return [number for numbers in tuples for number in numbers]


def _is_like(values: Any, names: Sequence[Any]) -> bool:
    return isinstance(values, list | tuple) and len(values) == len(names)


def todays_settings(owner: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings of a class, as they were stored, under the names that they have today."""
    result: dict[str, Any] = {}
    rows = rows_of("setting", owner=owner)
    for name, value in values.items():
        row = rows.get(name, Row("setting", name, name))
        result |= zip(row.today, _numbers(row, value), strict=True)
    return result


class OldAttribute:
    """An attribute or method under its earlier name."""

    def __init__(self, row: Row) -> None:
        self.row = row

    def __get__(self, instance: object, owner: type) -> Any:
        """Warn, and return the value under the new name, or a tuple for several names."""
        self.row.warn()
        thing = owner if instance is None else instance
        values = [attrgetter(*names)(thing) for names in self.row.groups]
        return values[0] if len(values) == 1 else tuple(values)


def moved(module: str, name: str) -> Any:
    """Import something for an older method, from a room that its own room does not import."""
    return getattr(import_module(module), name)


def todays_name(name: str, names: Container[str]) -> str:
    """Return today's name of a class or function, out of the names of a room; warn if it changed.

    Two rooms may have had the same name for different things.
    """
    rows = (row for row in ROWS if row.kind == "name" and row.old == name and row.new in names)
    row = next(rows, None)
    return name if row is None else row.warn(depth=4)


class RenamedModules:
    """Import modules by their earlier names, where there is no file of that name."""

    @classmethod
    def find_spec(cls, name: str, *_: Any) -> ModuleSpec | None:
        """Return how to import an earlier name, or a package that had modules of earlier names."""
        modules = rows_of("module")
        if name in modules:
            return ModuleSpec(name, cls, is_package=True)  # type: ignore[arg-type]
        if any(old.startswith(f"{name}.") for old in modules):
            return ModuleSpec(name, None, is_package=True)
        return None

    @staticmethod
    def create_module(spec: ModuleSpec) -> ModuleType:
        """Return today's module, and warn."""
        module = import_module(rows_of("module")[spec.name].warn())
        for row in ROWS:
            if row.kind == "name" and row.new is not None and row.new in vars(module):
                setattr(module, row.old, getattr(module, row.new))
        spec.loader_state = module.__spec__
        return module

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        """Leave the module as it is: importing gave it the earlier name."""
        assert module.__spec__ is not None
        module.__spec__ = module.__spec__.loader_state


def todays_words(words: list[str]) -> list[str]:
    """Return the words of a command line of an earlier version as they are typed today.

    Raises:
        RemovedNameError: If the command or option was removed.
    """
    words = list(_with_todays_options(words))
    for row in ROWS:
        if row.kind in ("command", "option") and (rest := _words_after(row.old, words)) is not None:
            if row.new is None:
                row.refuse()
            return [*row.new.split(), *rest]
    return words


def _with_todays_options(words: list[str]) -> Iterator[str]:
    """Yield words with today's options; `--method=paper` becomes two words."""
    options = rows_of("option")
    for word in words:
        option, *value = word.split("=", 1) if word.startswith("--") else [word]
        if option == "--method":
            yield from (option, *value)
        else:
            row = options.get(option)
            yield "=".join([row.new if row and row.new else option, *value])


def _words_after(old: str, words: list[str]) -> list[str] | None:
    """Return the other words of a line with an earlier command and option, or `None`."""
    command, dash, option = old.partition(" -")
    verbs, options = command.split(), f"-{option}".split() if dash else []
    rest = words[len(verbs) :]
    if words[: len(verbs)] != verbs:
        return None
    if old == "map":
        return rest if rest and rest[0] not in ("make", "convert", *_HELP) else None
    if old == "paper":
        return rest if not rest or (rest[0][0] == "-" and rest[0] not in _HELP) else None
    for k in range(len(rest) - len(options) + 1):
        if rest[k : k + len(options)] == options:
            return rest[:k] + rest[k + len(options) :]
    return None
