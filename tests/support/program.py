"""The program and the node, as those who test what they accept need them."""

from types import SimpleNamespace

import typer.main

from isovist.apps import app, parameters_of


def command():
    """The whole command line."""
    return typer.main.get_command(app)


def taken(given):
    """What a node of ROS declares, and what it makes of the parameters that ROS gives it."""
    declared = {}

    def declare(name, default):
        declared[name] = default
        return SimpleNamespace(value=given.get(name, default))

    return declared, *parameters_of(SimpleNamespace(declare_parameter=declare))
