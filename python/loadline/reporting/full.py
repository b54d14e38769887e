"""The libraries of `loadline[full]`: imported where a chart, a page or a question needs them, and missed in words."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from loadline.errors import InputError


def needs(module: str, doing: str) -> ModuleType:
    """The module, which comes with `loadline[full]`.

    Raises:
        InputError: it isn't installed; `doing` says what needs it.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{doing} needs {error.name}, which isn't installed", "Install it: pip install 'loadline[full]'."
        ) from None
