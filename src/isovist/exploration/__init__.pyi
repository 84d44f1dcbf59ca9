from isovist.exploration.foresight import Foresight as Foresight
from isovist.exploration.foresight import predict as predict
from isovist.exploration.paths import Ground as Ground
from isovist.exploration.paths import clear_ahead as clear_ahead
from isovist.exploration.propose import Proposal as Proposal
from isovist.exploration.propose import Rule as Rule
from isovist.exploration.rivals import Rivals as Rivals
