"""Localization along a trajectory, its error bound and its observability."""
