"""Choosing the member of a union; tags in angle brackets never look like a key of the user's."""

from collections.abc import Mapping
from typing import Any

from pydantic import Discriminator


def by_type() -> Discriminator:
    """By the value of `type`."""

    def tag(value: Any) -> str | None:
        type_ = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
        return f"<{type_}>" if type_ is not None else None

    return Discriminator(tag)


def by_shape(tags: Mapping[str, str]) -> Discriminator:
    """By the first of some keys that is there."""

    def tag(value: Any) -> str | None:
        if isinstance(value, dict):
            return next((tag for key, tag in tags.items() if key in value), None)
        return next((tag for key, tag in tags.items() if hasattr(value, key)), None)

    return Discriminator(tag)
