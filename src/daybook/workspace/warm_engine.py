"""Starts, stops and shows the warm engine, a Spark server that the commands of one user share."""

import datetime
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from daybook.model.settings import EngineSettings
from daybook.runs.environment import state_folder
from daybook.workspace.open_workspace import OpenedWorkspace

if TYPE_CHECKING:
    from daybook.engine.java.warm.engines import EngineState, WarmEngines

DEFAULT_IDLE_TIME = "30m"


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """An engine that runs; `differences` say why the commands of this workspace do not use it."""

    pid: int
    port: int
    started: datetime.datetime
    idle: str
    is_used: bool
    differences: tuple[str, ...]

    @property
    def is_fit(self) -> bool:
        return not self.differences


def start_engine(workspace: OpenedWorkspace, idle: str | None = None) -> EngineStatus:
    """Start the engine that fits the workspace, unless it runs already; it ends after `idle` without use."""
    engines = engines_of(workspace)
    engines.start(checked_idle_time(idle) or workspace.settings.engine.warm or DEFAULT_IDLE_TIME)
    return next(_status(state) for state in engines.states() if state.is_fit)


def stop_engine(workspace: OpenedWorkspace, *, include_others: bool = False, force: bool = False) -> tuple[int, ...]:
    """End the engine that fits the workspace, or all engines of this user; RUN_914 when a command uses one."""
    return tuple(record.pid for record in engines_of(workspace).stop(include_others=include_others, force=force))


def engine_status(workspace: OpenedWorkspace) -> tuple[EngineStatus, ...]:
    """The engines of this user that run, the one that fits the workspace first."""
    return tuple(_status(state) for state in engines_of(workspace).states())


def engines_of(workspace: OpenedWorkspace) -> "WarmEngines":
    """The engines of this user as a workspace sees them."""
    from daybook.engine.java.warm.engines import WarmEngines

    return WarmEngines(workspace.settings.engine, state_folder(workspace), dict(os.environ))


def checked_idle_time(text: str | None) -> str | None:
    """An idle time as `daybook.yaml` takes it."""
    from pydantic import ValidationError

    from daybook.errors import DaybookError

    if text is None:
        return None
    try:
        return EngineSettings(warm=text).warm
    except ValidationError:
        raise DaybookError("RUN_917", text=text) from None


def _status(state: "EngineState") -> EngineStatus:
    started = datetime.datetime.fromtimestamp(state.started, datetime.UTC)
    record = state.record
    return EngineStatus(record.pid, record.port, started, record.idle, state.is_used, state.differences)
