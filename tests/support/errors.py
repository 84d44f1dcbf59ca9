"""Errors as programs read them: by class, code and field, never by their sentence."""

from contextlib import contextmanager

import pytest

from isovist import InputError


@contextmanager
def refused(field=None, code="invalid_value", kind=InputError):
    """Expect an error about a field, with a code, that is one line."""
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert (error.code, error.field) == (code, field), str(error)
    assert "\n" not in str(error)


def known_fault(reason, raises=AssertionError):
    """Mark a test of what is wrong today: it must fail so, until somebody mends it."""
    return pytest.mark.xfail(strict=True, raises=raises, reason=reason)
