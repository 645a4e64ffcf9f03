"""The texts that addresses and forms of the pages carry."""

from typing import Annotated

from fastapi import Form, Query

QueryText = Annotated[str | None, Query(max_length=200)]


def entered_text(text: str | None) -> str | None:
    """The text in a field of a form; None for an empty one."""
    return text.strip() or None if text else None


FormText = Annotated[str | None, Form(max_length=1000)]
