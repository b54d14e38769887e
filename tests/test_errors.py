"""The one tree of errors."""

from __future__ import annotations

import pickle

import pytest

from loadline.errors import InputError
from loadline.units import parse_bytes


def test_python_is_told_the_remedy_too() -> None:
    with pytest.raises(InputError) as told:
        parse_bytes("4x")
    assert str(told.value) == "'4x' has no unit of size\nSizes are written like '4k', '64KiB' or '960GB'."
    assert str(InputError("no remedy")) == "no remedy"
    assert str(pickle.loads(pickle.dumps(told.value))) == str(told.value)
