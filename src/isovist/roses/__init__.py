"""How directions are shared out."""

from isovist.roses.profiles import Bump, CosinePower, Profile, Softmax
from isovist.roses.rose import Rose, unit_vectors

__all__ = ["Bump", "CosinePower", "Profile", "Rose", "Softmax", "unit_vectors"]
