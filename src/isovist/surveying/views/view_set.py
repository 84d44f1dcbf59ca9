"""Define the views of a sensor from nodes; `views2d` and `views3d` compute them."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from isovist.arrays import BoolArray, Float32Array, FloatArray, IntArray
from isovist.surveying.plan import SurveyPlan

Progress = Callable[[float], None]


class Channels(NamedTuple):
    """Descriptors of some places.

    Attributes:
        values: Mean log(1 + r) of each channel, shape (Q, rings, n).
        is_seen: Mask of the channels that count, shape (Q, rings, n).
        places: World coordinates of the places, in m, shape (Q, d).
    """

    values: Float32Array
    is_seen: BoolArray
    places: FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Views(ABC):
    """The views of a sensor from N nodes at H headings.

    Attributes:
        headings: Headings of the sensor in the world, in rad, shape (H,).
        viewpoints: Which of the N nodes are compared with others (`aliases`), shape (A,).
        beams: Beams that return, shape (N, H).
        witnesses: Blocks of 10° that hold such a beam, shape (N, H).
        sigma: Standard deviation along the worst axis of the position, in m, shape (N, H).
        sigma_yaw: Standard deviation of the heading, in rad, shape (N, H).
        mu: μ, how fast the descriptor changes in its weakest direction, per m, shape (N, H).
        weakest: Unit vector in the world along which the descriptor changes least, shape (N, 2).
    """

    headings: FloatArray
    viewpoints: IntArray
    beams: FloatArray
    witnesses: FloatArray
    sigma: FloatArray
    sigma_yaw: FloatArray
    mu: FloatArray
    weakest: FloatArray

    @abstractmethod
    def channels(self, plan: SurveyPlan, heading: int) -> Channels:
        """Return the channels from all viewpoints at a heading, given by its number.

        They begin at heading 0 of the world, whatever the heading of the sensor.
        """
