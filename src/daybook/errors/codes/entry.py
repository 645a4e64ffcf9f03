"""One error code: message, explanation and hint."""

from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter


@dataclass(frozen=True, slots=True)
class Code:
    """A stable code: the templates of its message and of its usual way out, and its paragraph in the reference.

    `is_acceptable`: a warning about one operation, which the operation can accept.
    `replaced_by`: the codes that are raised instead; scripts and scenarios may still name this one.
    `is_prevented`: the code of a rule that the design makes impossible to break.
    """

    code: str
    message: str
    explanation: str
    hint: str | None = None
    is_acceptable: bool = False
    replaced_by: tuple[str, ...] = ()
    is_prevented: bool = False

    @property
    def wording(self) -> str:
        """The message as people read it: words in braces stand for what it names."""
        return _template_in_words(self.message)

    @property
    def advice(self) -> str | None:
        """The hint as people read it."""
        return _template_in_words(self.hint) if self.hint is not None else None

    @property
    def is_raised(self) -> bool:
        return not self.replaced_by and not self.is_prevented

    def format_hint(self, parameters: Mapping[str, object]) -> str | None:
        return self.hint.format(**parameters) if self.hint is not None else None


def _template_in_words(template: str) -> str:
    parts = Formatter().parse(template)
    return "".join(text if name is None else f"{text}{{{name}}}" for text, name, _, _ in parts)


def code_family(*codes: Code) -> dict[str, Code]:
    """The codes of one family by name; a code given twice fails at import."""
    table = {code.code: code for code in codes}
    if len(table) != len(codes):
        raise ValueError("a code is declared twice")
    return table
