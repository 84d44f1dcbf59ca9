"""How directions are shared out."""

from isovist.roses.band import Band
from isovist.roses.profiles import Bump, CosinePower, Profile, Softmax
from isovist.roses.rose import Rose

__all__ = ["Band", "Bump", "CosinePower", "Profile", "Rose", "Softmax"]
