"""A value that is computed when it is first read."""

from collections.abc import Callable
from typing import Generic, TypeVar

Value = TypeVar("Value", covariant=True)
Known = TypeVar("Known")


class Deferred(Generic[Value]):
    """Reading it always gives the same value, so it may be shared and read by several threads."""

    __slots__ = ("_compute", "_values")

    def __init__(self, compute: Callable[[], Value]) -> None:
        self._compute: Callable[[], Value] | None = compute
        self._values: tuple[Value, ...] = ()

    @staticmethod
    def of(value: Known) -> "Deferred[Known]":
        return Deferred(lambda: value)

    @property
    def value(self) -> Value:
        compute = self._compute
        if compute is not None:
            self._values = (compute(),)
            # What it was computed from is not kept alive.
            self._compute = None
        return self._values[0]
