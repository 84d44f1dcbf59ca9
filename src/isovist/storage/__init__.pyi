from isovist.io.folder import Entry as Entry
from isovist.io.folder import check_folder as check_folder
from isovist.io.folder import read_folder as read_folder
from isovist.io.folder import read_manifest as read_manifest
from isovist.io.folder import write_folder as write_folder
from isovist.io.places import MANIFEST as MANIFEST
from isovist.io.places import place_of as place_of
