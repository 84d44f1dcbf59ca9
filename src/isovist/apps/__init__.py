"""What users run: command line, ROS 2 node, server and studio."""

from isovist.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
