from isovist.surveying.aliases import find_aliases as find_aliases
from isovist.surveying.outlook import standing_nodes as standing_nodes
from isovist.surveying.regions import Area as Area
from isovist.surveying.slopes import descriptor_slopes as descriptor_slopes
from isovist.surveying.space_views import look_in_space as look_in_space
from isovist.surveying.views import distinctness as distinctness
from isovist.surveying.views import headings_of as headings_of
from isovist.surveying.views import look as look
