"""Methods of a workspace that are use cases as they are: same arguments, same types, same documentation."""

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from daybook.workspace.python_api.arguments import checked

if TYPE_CHECKING:
    from daybook.workspace.open_workspace import OpenedWorkspace
    from daybook.workspace.python_api.workspace import Workspace

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def forwarded(
    name: str, use_case: "Callable[Concatenate[OpenedWorkspace, _Parameters], _Result]"
) -> "Callable[Concatenate[Workspace, _Parameters], _Result]":
    """A method that calls the use case with the opened workspace, and refuses wrong arguments."""

    @functools.wraps(use_case)
    def method(self: "Workspace", /, *args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        return use_case(self._opened, *args, **kwargs)

    signature = inspect.signature(use_case)
    workspace, *others = signature.parameters.values()
    own: Any = workspace.replace(name="self", annotation=inspect.Parameter.empty)
    method.__dict__["__signature__"] = signature.replace(parameters=[own, *others])
    method.__name__, method.__qualname__ = name, f"Workspace.{name}"
    return checked(method)
