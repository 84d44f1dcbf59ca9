from isovist.storage.array_folder import Entry as Entry
from isovist.storage.array_folder import check_folder as check_folder
from isovist.storage.array_folder import read_folder as read_folder
from isovist.storage.array_folder import read_manifest as read_manifest
from isovist.storage.array_folder import write_folder as write_folder
from isovist.storage.locations import MANIFEST as MANIFEST
from isovist.storage.locations import location_of as location_of
