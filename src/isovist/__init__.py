"""Where am I on this map?  Localization from one range scan, with an honest verdict.

import isovist as iv

atlas = iv.build(iv.read_map("office.yaml"))
answer = iv.locate(atlas, iv.read_scan("scan.json"))
answer.verdict, answer.best.pose
"""

from isovist.lazy import EarlierNames, lazy_names

__version__ = "0.2.0.dev0"

__getattr__, __dir__ = lazy_names(__name__)
EarlierNames.install()
