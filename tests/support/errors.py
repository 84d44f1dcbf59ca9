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
