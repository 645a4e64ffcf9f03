"""Opens the workspace of a command, with a session and with proof of the user where they are needed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

import typer

from daybook.cli.root_options import root_options

if TYPE_CHECKING:
    from daybook.workspace.open_workspace import OpenedWorkspace
    from daybook.workspace.spark_session import BackgroundSession


_Result = TypeVar("_Result")


def open_workspace(context: typer.Context) -> "OpenedWorkspace":
    """The workspace of this call: the one named, or the nearest one from here upwards."""
    from daybook.workspace.open_workspace import open_workspace

    return open_workspace(root_options(context).workspace)


def proven(context: typer.Context, use_case: "Callable[[OpenedWorkspace], _Result]") -> "_Result":
    """A use case that may need proof of who the user is; at a terminal the personal token is asked for."""
    return with_proof(open_workspace(context), use_case)


def with_proof(workspace: "OpenedWorkspace", use_case: "Callable[[OpenedWorkspace], _Result]") -> "_Result":
    from dataclasses import replace

    from daybook.cli.terminal import ask_secret, is_attended
    from daybook.errors import DaybookError

    try:
        return use_case(workspace)
    except DaybookError as error:
        if error.code != "APPROVAL_002" or not is_attended():
            raise
        token = ask_secret("Your personal token")
    return use_case(replace(workspace, token=token.strip()))


@contextmanager
def open_workspace_with_spark(context: typer.Context, *, starts_ahead: bool = False) -> "Iterator[OpenedWorkspace]":
    """The workspace of this call with a Spark session that starts when it is needed, and ends with the command.

    `starts_ahead`: it will be needed, so Java starts while the command imports what it executes.
    """
    from dataclasses import replace

    workspace = open_workspace(context)
    with workspace_session(context, workspace) as session:
        if starts_ahead:
            session.begin_java(workspace.root)
        yield replace(workspace, session=session)


@contextmanager
def workspace_session(context: typer.Context, workspace: "OpenedWorkspace") -> "Iterator[BackgroundSession]":
    """The Spark session of this call: on the warm engine where one fits, else started when it is needed."""
    from daybook.cli.terminal import echo_note, is_attended
    from daybook.workspace.spark_session import background_session, engines_of

    is_verbose = root_options(context).is_verbose
    with background_session(
        workspace.settings.engine,
        show_log=is_verbose,
        engines=lambda: engines_of(workspace),
        on_note=echo_note if is_verbose else lambda text: None,
        may_start_engine=is_attended(),
    ) as session:
        yield session
