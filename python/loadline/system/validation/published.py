"""The figures of reports, as published.toml has them."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any


@lru_cache(maxsize=1)
def published() -> dict[str, Any]:
    """The tables by the name of their source: `eva`, `disksim`."""
    tables: dict[str, Any] = tomllib.loads((Path(__file__).parent / "published.toml").read_text())
    return tables
