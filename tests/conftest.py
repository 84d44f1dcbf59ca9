"""Hypothesis runs the same examples every time."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "isovist",
    derandomize=True,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("isovist")
