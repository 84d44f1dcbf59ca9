from isovist.basis.band import Band as Band
from isovist.basis.directional_basis import DirectionalBasis as DirectionalBasis
from isovist.basis.directional_basis import fibonacci_sphere as fibonacci_sphere
from isovist.basis.profiles import Bump as Bump
from isovist.basis.profiles import CosinePower as CosinePower
from isovist.basis.profiles import Profile as Profile
from isovist.basis.profiles import Softmax as Softmax
