"""What is known about one code."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A stable code: the templates of its message and of its usual way out, and its paragraph in the reference."""

    code: str
    message: str
    explanation: str
    hint: str | None = None

    def way_out(self, parameters: Mapping[str, object]) -> str | None:
        return self.hint.format(**parameters) if self.hint is not None else None


def family(*codes: Code) -> dict[str, Code]:
    """The codes of one family by name; a code given twice fails at import."""
    table = {code.code: code for code in codes}
    if len(table) != len(codes):
        raise ValueError("a code is declared twice")
    return table
