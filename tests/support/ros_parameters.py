"""The parameters of the node, as ROS gives them."""

from types import SimpleNamespace

from isovist.apps import parameters_of


def taken(given):
    """What a node declares, what it makes of the parameters that ROS gives it, and its map."""
    declared = {}

    def declare(name, default):
        declared[name] = default
        return SimpleNamespace(value=given.get(name, default))

    return declared, *parameters_of(SimpleNamespace(declare_parameter=declare))
