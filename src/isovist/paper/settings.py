"""Settings of the paper's methods: each chosen number with its unit, range, effect and evidence.

The numbers that the paper itself prints for its example are in `isovist.paper.example`.
"""

from dataclasses import dataclass

from isovist.settings import Settings, setting


@dataclass(frozen=True, slots=True)
class SilhouetteSettings(Settings):
    """Division of integrals over silhouettes (`descriptor.silhouette`).

    Attributes:
        first_panel_rad: Maximum length of the first panels of an edge, as seen from the point.
        tolerance: Maximum error of a panel, relative to the sum over all panels.
        max_halvings: Maximum number of halvings of a panel.
        max_halvings_exact: Maximum number of halvings of a panel with the exact quadrature of a
            mesh.
        min_tolerance_exact: Smallest tolerance with the exact quadrature of a mesh.
    """

    first_panel_rad: float = setting(
        0.15, unit="rad", range=(0.001, 1.0), raises="faster; short visible stretches are missed",
        evidence="tests/paper/test_silhouette.py",
    )  # fmt: skip
    tolerance: float = setting(
        3e-6, unit="share of all panels", range=(1e-15, 0.1), raises="faster, less accurate",
        evidence="tests/paper/test_silhouette.py",
    )  # fmt: skip
    max_halvings: int = setting(
        14, unit="halvings", range=(1, 60), raises="slower where silhouettes meet, more accurate",
        evidence="tests/paper/test_silhouette.py",
    )  # fmt: skip
    max_halvings_exact: int = setting(
        26, unit="halvings", range=(1, 60), raises="as above, for the exact quadrature of a mesh",
        evidence="tests/paper/test_faces.py",
    )  # fmt: skip
    min_tolerance_exact: float = setting(
        1e-9, unit="share of all panels", range=(1e-15, 0.1),
        raises="faster, less accurate, for the exact quadrature of a mesh",
        evidence="tests/paper/test_faces.py",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class GrazingSettings(Settings):
    """Selection of the faces of a mesh that are integrated by area (`descriptor.grazing`).

    Attributes:
        max_cosine: Cosine of the angle between normal and direction below which a face is
            integrated by area.
        min_width: Width of a face below which it is integrated by the sum over directions.
        triangle_width: Width of the triangles that a face is cut into.
    """

    max_cosine: float = setting(
        0.3, unit="1", range=(0.0, 1.0), raises="more faces are cut: slower, more accurate",
        evidence="tests/paper/test_silhouette.py",
    )  # fmt: skip
    min_width: float = setting(
        3.0, unit="spacings of the directions", range=(0.1, 100.0),
        raises="fewer faces are cut: faster, less accurate", evidence="not varied",
    )  # fmt: skip
    triangle_width: float = setting(
        2.0, unit="spacings of the directions", range=(0.1, 100.0),
        raises="fewer triangles: faster, less accurate", evidence="not varied",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class GramSettings(Settings):
    """Selection of the axes of a Gram matrix that are inverted (`gram.gram`).

    Attributes:
        min_singular_value: Smallest singular value that is inverted.
    """

    min_singular_value: float = setting(
        1e-8, unit="share of the largest", range=(1e-15, 1.0),
        raises="a smaller rank; errors in F count less", evidence="isovist paper verify",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class MetricSettings(Settings):
    """Selection of nodes that are aliases of each other (`metric`).

    Attributes:
        min_alias_distance: Smallest distance between a node and its alias.
        neighbours: Number of nearest nodes in d that are compared.
    """

    min_alias_distance: float = setting(
        4.0, unit="spacings of the grid", range=(1.0, 1000.0), raises="fewer aliases",
        evidence="not varied",
    )  # fmt: skip
    neighbours: int = setting(
        12, unit="nodes", range=(2, 1000), raises="more aliases are found, slower",
        evidence="not varied",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class LocalizerSettings(Settings):
    """Settings of the localizer of the paper (`localizer`, `static`).

    Attributes:
        full_view_share: Share of every channel that a scan must see to count as a full view.
        bound_radius: Radius of the ball in which a bound is valid.
        max_steps: Maximum number of accepted steps of Gauss–Newton.
        trust_radius_m: Maximum length of a step of Gauss–Newton.
        difference_m: Half-width of central differences, at least the side of a cell.
        bin_deg: Side of a bin of directions of a 3D scan.
        rays_3d: Number of rays of the sum that describes a place in 3D.
        min_common_share: Share of the observed channels that a node must know to be compared.
        truncation: Maximum difference of a channel in the truncated norm.
    """

    full_view_share: float = setting(
        0.99, unit="share of a channel", range=(0.5, 1.0),
        raises="fewer scans count as seeing all around, and get a bound", evidence="not varied",
    )  # fmt: skip
    bound_radius: float = setting(
        4.0, unit="spacings of the grid", range=(1.0, 100.0),
        raises="fewer aliases remain, but J varies more: fewer bounds hold",
        evidence="python -m benchmarks.static_bound",
    )  # fmt: skip
    max_steps: int = setting(
        20, unit="steps of Gauss–Newton", range=(1, 1000), raises="slower, more starts converge",
        evidence="not varied",
    )  # fmt: skip
    trust_radius_m: float = setting(
        0.5, unit="m", range=(0.01, 10.0), raises="longer steps, less robust",
        evidence="not varied",
    )  # fmt: skip
    difference_m: float = setting(
        0.05, unit="m", range=(1e-4, 1.0), raises="smoother, less accurate slopes",
        evidence="the paper's example",
    )  # fmt: skip
    bin_deg: float = setting(
        2.0, unit="°", range=(0.1, 30.0), raises="fewer returns of a 3D scan are used: faster",
        evidence="the step between rings of usual lidars",
    )  # fmt: skip
    rays_3d: int = setting(
        4000, unit="rays", range=(100, 1_000_000), raises="slower, more accurate grids in 3D",
        evidence="F of a room is right to 1e-3",
    )  # fmt: skip
    min_common_share: float = setting(
        0.75, unit="share of the observed channels", range=(0.0, 1.0),
        raises="nodes in unknown space are compared less often", evidence="not varied",
    )  # fmt: skip
    truncation: float = setting(
        0.5, unit="standard deviations of a channel", range=(0.01, 100.0),
        raises="outliers count more in the truncated norm",
        evidence="python -m benchmarks.baselines descriptors",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class BoundSettings(Settings):
    """Set how suprema over a ball are estimated from samples (`static`, `dynamic`).

    Attributes:
        margin: Factor on the suprema.
        place_samples: Number of samples of the ball around one place.
        trajectory_samples: Number of samples of the ball around the start of a trajectory.
    """

    margin: float = setting(
        1.25, unit="1", range=(1.0, 10.0), raises="safer bounds, and fewer that hold",
        evidence="isovist paper verify",
    )  # fmt: skip
    place_samples: int = setting(
        64, unit="samples", range=(4, 100_000), raises="safer bounds of one place, slower",
        evidence="python -m benchmarks.static_bound",
    )  # fmt: skip
    trajectory_samples: int = setting(
        32, unit="samples", range=(4, 100_000), raises="safer dynamic bounds, slower",
        evidence="python -m benchmarks.dynamic_bound",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class TrajectorySettings(Settings):
    """Selection of candidate starts of a trajectory (`dynamic.trajectory_localizer`).

    Attributes:
        arm_m: Length that is equivalent to 1 rad of heading.
        candidates: Number of places of the first scan that are compared with the whole trajectory.
        finalists: Number of candidates that are fitted to the whole trajectory.
        min_separation_m: Smallest distance between candidates.
        min_separation_deg: Smallest turn between candidates at one place.
        min_free_share: Share of the places of a trajectory that must be free.
    """

    arm_m: float = setting(
        1.0, unit="m", range=(0.01, 100.0), raises="errors of heading count more",
        evidence="a convention; every λ_min of a start with a heading depends on it",
    )  # fmt: skip
    candidates: int = setting(
        12, unit="places", range=(1, 1000), raises="slower, more ambiguous starts are solved",
        evidence="not varied",
    )  # fmt: skip
    finalists: int = setting(
        3, unit="places", range=(1, 100), raises="slower, more ambiguous starts are solved",
        evidence="not varied",
    )  # fmt: skip
    min_separation_m: float = setting(
        1.0, unit="m", range=(0.0, 100.0), raises="candidates lie farther from each other",
        evidence="not varied",
    )  # fmt: skip
    min_separation_deg: float = setting(
        30.0, unit="°", range=(0.0, 180.0), raises="candidates differ more in heading",
        evidence="not varied",
    )  # fmt: skip
    min_free_share: float = setting(
        0.9, unit="share of the places", range=(0.0, 1.0),
        raises="paths through people that were mapped are refused", evidence="not varied",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class StartFitSettings(Settings):
    """Fit of the start of a trajectory to walls (`dynamic.start_fit`).

    Attributes:
        max_rounds: Maximum number of repetitions of the last fit.
        rest_m: Motion of a start below which the fit has converged.
        rest_rad: Rotation of a start below which the fit has converged.
        guess_offset_m: Distance of the four further guesses around each guess.
    """

    max_rounds: int = setting(
        10, unit="fits", range=(1, 1000), raises="slower, more starts come to rest",
        evidence="not varied",
    )  # fmt: skip
    rest_m: float = setting(
        1e-3, unit="m", range=(0.0, 1.0), raises="faster, less accurate",
        evidence="the field of distances has kinks at this scale",
    )  # fmt: skip
    rest_rad: float = setting(
        2e-4, unit="rad", range=(0.0, 1.0), raises="faster, less accurate",
        evidence="the field of distances has kinks at this scale",
    )  # fmt: skip
    guess_offset_m: float = setting(
        0.2, unit="m", range=(0.0, 10.0), raises="guesses reach across thicker walls",
        evidence="about as thick as walls are",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class CertificateSettings(Settings):
    """Integration of a certificate over the beams of a scan (`static.certify`).

    Attributes:
        difference_share: Step of the differences, relative to the radius of the ball.
        channels: Number of directions of the basis.
        rays_per_beam: Number of rays through the map for each beam of a 2D scan.
    """

    difference_share: float = setting(
        0.5, unit="share of the ball", range=(0.01, 0.5),
        raises="smoother slopes; 0.5 is the largest step that stays in the ball twice",
        evidence="python -m benchmarks.certificate",
    )  # fmt: skip
    channels: int = setting(
        32, unit="directions; twice as many in 3D", range=(4, 1024),
        raises="finer detail, slower", evidence="python -m benchmarks.certificate",
    )  # fmt: skip
    rays_per_beam: int = setting(
        8, unit="rays", range=(1, 100), raises="a more accurate integral, slower",
        evidence="python -m benchmarks.certificate",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class SteeringSettings(Settings):
    """Rating of a leg (`dynamic.steering`).

    Attributes:
        observations: Number of observations on a leg.
        rays_3d: Number of rays of the sum that describes a place in 3D.
        wall_step_m: Distance between the points of a leg that are checked for walls.
    """

    observations: int = setting(
        4, unit="observations on a leg", range=(1, 100), raises="slower, more even",
        evidence="not varied",
    )  # fmt: skip
    rays_3d: int = setting(
        2000, unit="rays", range=(100, 1_000_000), raises="slower, more accurate in 3D",
        evidence="legs are compared, not certified",
    )  # fmt: skip
    wall_step_m: float = setting(
        0.05, unit="m", range=(0.001, 1.0), raises="faster; thin walls may be crossed",
        evidence="the side of a cell of usual maps",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class BasisFitSettings(Settings):
    """Fit of a basis to a map (`basis_fit.separation`).

    Attributes:
        sharpness: β of the smooth minimum of distances.
        difference_m: Half-width of central differences, at least the side of a cell.
        clearance_m: Minimum distance of a place from walls.
    """

    sharpness: float = setting(
        20.0, unit="1/mean distance", range=(0.1, 1000.0),
        raises="only the most similar pairs count", evidence="not varied",
    )  # fmt: skip
    difference_m: float = setting(
        0.02, unit="m", range=(1e-4, 1.0), raises="smoother, less accurate slopes",
        evidence="not varied",
    )  # fmt: skip
    clearance_m: float = setting(
        0.06, unit="m", range=(0.0, 1.0), raises="places lie farther from walls",
        evidence="three times the step of the differences",
    )  # fmt: skip
