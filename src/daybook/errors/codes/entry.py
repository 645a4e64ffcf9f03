"""What is known about one code."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Code:
    """A stable code: its message template, its usual way out, and its paragraph in the reference."""

    code: str
    message: str
    explanation: str
    hint: str | None = None

    @property
    def wording(self) -> str:
        """The message as people read it: words in braces stand for what it names."""
        return re.sub(r"\{(\w+)[^{}]*\}", r"{\1}", self.message).replace("{{", "{").replace("}}", "}")


def family(*codes: Code) -> dict[str, Code]:
    """The codes of one family by name; a code given twice fails at import."""
    table = {code.code: code for code in codes}
    if len(table) != len(codes):
        raise ValueError("a code is declared twice")
    return table
