"""Which keys a declaration knows, found by walking its annotations."""

import types
import typing
from typing import Any, get_args, get_origin

from pydantic import BaseModel


def step_into(type_: Any, location: tuple[str | int, ...]) -> list[type[BaseModel]]:
    """The models that may stand at a pydantic location."""
    candidates = _models(type_)
    for step in location:
        candidates = _next(candidates, step)
    return candidates


def keys_of(models: list[type[BaseModel]]) -> set[str]:
    """The keys users may write."""
    return {field.alias or name for model in models for name, field in model.model_fields.items()}


def _next(candidates: list[type[BaseModel]], step: str | int) -> list[type[BaseModel]]:
    if isinstance(step, int):
        return candidates
    fields = [
        field.annotation
        for model in candidates
        for name, field in model.model_fields.items()
        if step in (name, field.alias)
    ]
    if fields:
        return [model for annotation in fields for model in _models(annotation)]
    return [model for model in candidates if _has_tag(model, step)] or candidates


def _has_tag(model: type[BaseModel], tag: str) -> bool:
    """Whether a tag of a union means this model: the value of its `type`, or its shape."""
    field = model.model_fields.get("type")
    values = get_args(field.annotation) if field else ()
    name = tag.strip("<>")
    return name in values or (not values and model.__name__.lower().startswith(name))


def _models(annotation: Any) -> list[type[BaseModel]]:
    """The models inside an annotation: of lists, optionals and unions too."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    origin = get_origin(annotation)
    if origin is typing.Annotated:
        return _models(get_args(annotation)[0])
    if origin in (tuple, list, typing.Union, types.UnionType):
        return [model for argument in get_args(annotation) for model in _models(argument)]
    return []
