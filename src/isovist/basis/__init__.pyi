from isovist.roses import Band as Band
from isovist.roses import Bump as Bump
from isovist.roses import CosinePower as CosinePower
from isovist.roses import Profile as Profile
from isovist.roses import Softmax as Softmax
from isovist.roses.rose import fibonacci_sphere as fibonacci_sphere
