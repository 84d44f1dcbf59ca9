"""What `record.py` and the tests do alike: programs, and lists of what is public."""

import inspect
import io
import re
from contextlib import contextmanager, redirect_stdout, suppress
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import isovist as iv

FIXTURES = Path(__file__).resolve().parent / "fixtures"
FILES, PROGRAMS, STATES = (FIXTURES / name for name in ("files", "programs", "states"))
MARK = "\n# ----\n"
"""Between the blocks of a page."""
COARSE = "settings=iv.AtlasSettings(cell=0.125, spacing=0.8), height=1.0)"
SMALLER = {
    "basis_optimisation": {"steps=60": "steps=2", "0.5, 16.0, 1.0": "0.5, 16.0, 5.0",
                           "(0.02, 0.05, 0.1, 0.2, 0.5)": "(0.1, 0.2)"},
    "bin_boundary": {"steps=800": "steps=40", "(100, 2)": "(2, 2)", "range(200)": "range(20)",
                     "0.1, 201)": "0.1, 21)"},
    "drive_until_sure": {"twofold_hall()": "twofold_hall(resolution=0.1)",
                         "in Rule:": "in (Rule.RANDOM,):", "ground=g": "limit=1.0, ground=g"},
    "fit_a_wall": {"steps: int = 120, places: int = 60": "steps: int = 2, places: int = 4"},
    "gram_reconstruction": {"fine_roses(2)": "fine_roses(2)[:3]"},
    "where_am_i": {"office_floor(7)": "office_floor(7, length=15.0, rows=2)", "811": "405"},
    "where_am_i_cloud": {"length=20.0": "length=15.0", "[:60]": "[:20]", "[70]": "[25]",
                         "spinning(": "spinning(azimuths=300, rings=", "(cloud), 0.1": "(cloud), .2",
                         "height=1.2)": COARSE.replace("1.0)", "1.2)")},
    "where_am_i_mesh": {"length=20.0": "length=15.0", "height=1.0)": COARSE, "8.0, 9.0": "4.0, 3.0",
                        "spinning(": "spinning(azimuths=300, rings="},
    "several.md": {"drive.bag": "run.mcap"},
    "space.md": {"scan.pcd": "cloud.bin",
                 "height=1.0)": COARSE},
    "track.md": {"site.atlas": "solid.atlas"},
}  # fmt: skip
"""Files that go by another name here, and numbers that only make a program take longer."""
SAID = ("answer", "belief", "told", "update", "F", "J")
"""Names of what the blocks of pages find out."""


CHANGED = {
    "Answer(advice)": ("renamed", "reasons"),
    "Atlas.note": ("renamed", "ignored_intensities"),
    "Belief(advice)": ("renamed", "reasons"),
    "Check(advice)": ("renamed", "reasons"),
    "locate(certificate)": ("renamed", "iv.certify"),
    "locate_many(certificate)": ("renamed", "iv.certify"),
}
"""What no longer works, by the code of its error and the name that this says to use instead: a
program, a command line, a file, a parameter `function(name)` or a name `iv.Name`."""


@contextmanager
def works_or_says(key):
    """Run what worked; where it no longer does, expect the error that says what to do."""
    if key not in CHANGED:
        yield
        return
    code, instead = CHANGED[key]
    with pytest.raises(iv.IsovistError) as caught:
        yield
    assert caught.value.code == code
    assert instead in str(caught.value)


def program_of(name):
    """The text of a program, made smaller."""
    text = (PROGRAMS / f"{name}.txt").read_text(encoding="utf-8")
    for was, now in SMALLER.get(name, {}).items():
        assert was in text, (name, was)
        text = text.replace(was, now)
    return text


def run_example(name):
    """The decimals that an example prints; its pictures go where it is run."""
    names = {"__name__": name}
    out = io.StringIO()
    with redirect_stdout(out):
        exec(compile(program_of(name), name, "exec"), names)
        names["main"]()
    lines = (re.findall(r"-?\d+\.\d+", line) for line in out.getvalue().splitlines())
    return [[float(number) for number in line] for line in lines]


def given():
    """What the pages speak of and do not define."""

    class Anything(SimpleNamespace):
        def __getattr__(self, name):
            setattr(self, name, Anything())
            return getattr(self, name)

    fields = {"angle_min": -np.pi, "angle_increment": np.pi / 90.0, "range_min": 0.0}
    msg = SimpleNamespace(**fields, range_max=12.0, ranges=(2.0,) * 180)
    return {
        "iv": iv, "world": iv.read_map("plan.geojson"), "scan": iv.read_scan("scan.json"),
        "atlas": iv.read_atlas("office.atlas"), "odometry": iv.Pose(), "stamp": 0.0,
        "covariance": 0.01 * np.eye(3), "LaserScan": object, "msg": msg,
        "PoseWithCovarianceStamped": Anything, "publisher": SimpleNamespace(publish=repr),
    }  # fmt: skip


def run_page(name):
    """What each block of a page finds out: verdicts, poses and descriptors."""
    names, told = given(), []
    for block in program_of(name).split(MARK):
        with redirect_stdout(io.StringIO()):
            exec(compile(block, name, "exec"), names)
        told.append({key: said(names[key]) for key in SAID if key in names})
    return told


def said(thing):
    """The verdict and the best pose, or the numbers of an array."""
    if isinstance(thing, np.ndarray):
        return thing.ravel().tolist()
    thing = getattr(thing, "belief", thing)
    best = getattr(thing, "best", None) or getattr(thing, "fit", None)
    return [str(thing.verdict), *([] if best is None else best.pose.vector.tolist())]


ATLASES = {"office": "scan.json", "rose": "scan.json", "shiny": "shiny.json",
           "site/ground": "scan.json", "solid": "cloud.npz", "blocks": "cloud.npz"}  # fmt: skip
SCANS = ("scan.json", "scan.npz", "scan.csv", "shiny.json", "cloud.npz", "cloud.bin", "view.png")
MAPS = ("office.yaml", "plan.geojson", "shiny.geojson", "site.stl")
LOGS = ("run.mcap", "log.npz", "ground.log.gz")


def digest(name):
    """Numbers that tell what was read from a file; of an atlas what is found on it, too."""
    if name in ATLASES:
        atlas = iv.read_atlas(f"{name}.atlas")
        answer = iv.locate(atlas, iv.read_scan(ATLASES[name]))
        return [atlas.area, len(atlas.nodes), *atlas.settings.to_json().values(), *said(answer)]
    if name in SCANS:
        scan = iv.read_scan(name)
        limits = [
            limit if np.isfinite(limit) else None for limit in (scan.range_min, scan.range_max)
        ]
        seen = scan.points if isinstance(scan, iv.CloudScan) else scan.endpoints
        return [len(seen), *seen.sum(axis=0).tolist(), *limits, scan.frame]
    if name in MAPS:
        world = iv.read_map(name)
        low, high = world.bounds
        places = low + (high - low) * np.random.default_rng(0).uniform(size=(50, world.dimension))
        return [*low.tolist(), *high.tolist(), int(world.contains(places).sum())]
    log = iv.read_log(name)
    poses = [[] if log.odometry is None else log.odometry_at(k).vector.tolist() for k in (0, 2)]
    seen = [float(np.sum(log.scan(k).distances)) for k in (0, 2)]
    return [len(log), *log.times[:3].tolist(), *seen, *poses, log.frame]


def options_of(command, name=""):
    """Every verb and its options: kind, how many words, whether needed, and what if not given."""
    found = {}
    for key, one in getattr(command, "commands", {}).items():
        found |= options_of(one, f"{name} {key}".strip())
    if not found:
        found[name] = {}
        for p in command.params:
            is_option = p.param_type_name == "option"
            simple = p.default if isinstance(p.default, bool | int | float | str) else None
            for word in p.opts + p.secondary_opts if is_option else [p.name]:
                found[name][word] = [p.type.name, p.nargs, p.required, simple]
    return found


def names_of(module, names=None):
    """Every public name: parameters of what can be called, and what belongs to classes."""
    found = {}
    for name in names or module.__all__:
        thing, own = getattr(module, name), {}
        if inspect.isclass(thing):
            for key in (key for key in dir(thing) if not key.startswith("_")):
                value = inspect.getattr_static(thing, key)
                value = getattr(value, "__func__", value)
                own[key] = parameters_of(value) if inspect.isfunction(value) else None
            own |= {f: None for f in getattr(thing, "__dataclass_fields__", {}) if f[0] != "_"}
        called = None
        if not (inspect.isclass(thing) and issubclass(thing, Exception | str)):
            with suppress(ValueError):
                called = parameters_of(thing)
        found[name] = {"call": called, "own": own}
    return found


def parameters_of(function):
    """Names of parameters; those that need their name have a star, optional ones a `?`."""
    rows = inspect.signature(function).parameters.values()
    return [
        f"{'*' if p.kind is p.KEYWORD_ONLY else ''}{p.name}{'' if p.default is p.empty else '?'}"
        for p in rows
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD, p.POSITIONAL_ONLY)
    ]
