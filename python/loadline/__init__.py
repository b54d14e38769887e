"""loadline finds the load line of a storage system: the load that it carries at a response time its users accept.

Never: imports a heavy library on import. The functions below come from their rooms when they are first asked for.
Start reading at ARCHITECTURE.md, then workload/profile.py, result/schema.py and measuring/run.py.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # as in typing, whose import takes long, and before the command line can tell of Ctrl-C
if TYPE_CHECKING:
    from typing import Any

    from loadline.errors import (
        InputError,
        InterruptedRun,
        LoadlineError,
        RefusedError,
        StoreError,
        TargetError,
        ToolError,
    )
    from loadline.judging.audit import audit
    from loadline.judging.compare import compare
    from loadline.judging.sources import import_results
    from loadline.measuring.emulate import emulate
    from loadline.measuring.run import resume, run
    from loadline.reporting.report import report
    from loadline.result.schema import Result
    from loadline.result.store import Run
    from loadline.system.description import System, load_system
    from loadline.system.forecast import forecast
    from loadline.system.simulate import simulate
    from loadline.system.solve import solve
    from loadline.workload.plan import Options
    from loadline.workload.profile import Profile, Workload
    from loadline.workload.suite import Suite, load_suite

__all__ = [
    "InputError",
    "InterruptedRun",
    "LoadlineError",
    "Options",
    "Profile",
    "RefusedError",
    "Result",
    "Run",
    "StoreError",
    "Suite",
    "System",
    "TargetError",
    "ToolError",
    "Workload",
    "audit",
    "compare",
    "emulate",
    "forecast",
    "import_results",
    "load_suite",
    "load_system",
    "report",
    "resume",
    "run",
    "simulate",
    "solve",
]

_HOME = {
    "InputError": "errors",
    "InterruptedRun": "errors",
    "LoadlineError": "errors",
    "Options": "workload.plan",
    "Profile": "workload.profile",
    "RefusedError": "errors",
    "Result": "result.schema",
    "Run": "result.store",
    "StoreError": "errors",
    "Suite": "workload.suite",
    "System": "system.description",
    "TargetError": "errors",
    "ToolError": "errors",
    "Workload": "workload.profile",
    "audit": "judging.audit",
    "compare": "judging.compare",
    "emulate": "measuring.emulate",
    "forecast": "system.forecast",
    "import_results": "judging.sources",
    "load_suite": "workload.suite",
    "load_system": "system.description",
    "report": "reporting.report",
    "resume": "measuring.run",
    "run": "measuring.run",
    "simulate": "system.simulate",
    "solve": "system.solve",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("loadline")
    if name in _HOME:
        return getattr(import_module(f"loadline.{_HOME[name]}"), name)
    raise AttributeError(f"module 'loadline' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
