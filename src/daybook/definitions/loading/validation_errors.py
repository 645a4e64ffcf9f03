"""Turns errors of pydantic into errors with codes, spans and hints."""

import copy
import re
import types
import typing
from collections.abc import Iterable, Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from daybook.errors import DaybookError
from daybook.errors.error import closest_match, did_you_mean
from daybook.model.datasource import FOLDER_TAG
from daybook.model.declaration import ID_PATTERN, VIOLATIONS, Violation
from daybook.model.formats import file_formats
from daybook.model.source_map import (
    DocumentNode,
    KeyPath,
    ListNode,
    MappingNode,
    ScalarNode,
    SourceMap,
    describe_node,
    dotted_path,
)


def models_at(type_: Any, location: tuple[str | int, ...]) -> list[type[BaseModel]]:
    """The models that may stand at a pydantic location."""
    candidates = _models_of(type_)
    for step in location:
        candidates = _step_into(candidates, step)
    return candidates


def known_keys(models: list[type[BaseModel]]) -> set[str]:
    """The keys users may write."""
    return {field.alias or name for model in models for name, field in model.model_fields.items()}


def _step_into(candidates: list[type[BaseModel]], step: str | int) -> list[type[BaseModel]]:
    if isinstance(step, int):
        return candidates
    fields = [
        field.annotation
        for model in candidates
        for name, field in model.model_fields.items()
        if step in (name, field.alias)
    ]
    if fields:
        return [model for annotation in fields for model in _models_of(annotation)]
    return [model for model in candidates if _has_tag(model, step)] or candidates


def _has_tag(model: type[BaseModel], tag: str) -> bool:
    """Whether a tag of a union means this model: the value of its `type`, or its shape."""
    field = model.model_fields.get("type")
    values = get_args(field.annotation) if field else ()
    name = tag.strip("<>")
    return name in values or (not values and model.__name__.lower().startswith(name))


def _models_of(annotation: Any) -> list[type[BaseModel]]:
    """The models inside an annotation: of lists, optionals and unions too."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    origin = get_origin(annotation)
    if origin is typing.Annotated:
        return _models_of(get_args(annotation)[0])
    if origin in (tuple, list, typing.Union, types.UnionType):
        return [model for argument in get_args(annotation) for model in _models_of(argument)]
    if origin is dict:
        return _models_of(get_args(annotation)[1])
    return []


_EXPECTED_KINDS = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "date_type": "a date",
}
_RANGES = {
    "greater_than_equal": "at least {ge}",
    "greater_than": "more than {gt}",
    "less_than_equal": "at most {le}",
    "less_than": "less than {lt}",
}
_EMPTY_ERRORS = frozenset({"string_too_short", "too_short"})


def restore_written_texts(value: Any, error: ValidationError, source: SourceMap) -> Any:
    """The value with numbers replaced by the text that was written, where text is meant: `2026`, `1.10`, `0o17`."""
    repaired = copy.deepcopy(value)
    for finding in error.errors(include_url=False):
        path = _written_path(finding["loc"], source)
        node = source.node(*path)
        if finding["type"] == "string_type" and isinstance(node, ScalarNode) and _is_number(node):
            repaired = _replace_leaf(repaired, path, node.text)
    return repaired


def translate_validation_error(error: ValidationError, type_: Any, source: SourceMap) -> Iterator[DaybookError]:
    """Every finding of a validation."""
    found_at = [(finding, _written_path(finding["loc"], source)) for finding in error.errors(include_url=False)]
    missing = {path for finding, path in found_at if finding["type"] == "missing"}
    extra = [path for finding, path in found_at if finding["type"] == "extra_forbidden"]
    missing -= (misspelt := {path for path in missing if any(_is_misspelling(path, other) for other in extra)})
    for finding, path in found_at:
        if finding["type"] == VIOLATIONS:
            yield from _violation_errors(
                finding["ctx"][VIOLATIONS], path, source, is_key=finding["loc"][-1:] == ("[key]",)
            )
        elif path not in misspelt and not _follows_from_others(finding["type"], path, missing, source):
            yield _coded_error(finding, path, type_, source)


def _is_misspelling(missing: KeyPath, extra: KeyPath) -> bool:
    """Whether an unknown key is the missing one with a typing error."""
    return missing[:-1] == extra[:-1] and closest_match(str(extra[-1]), [str(missing[-1])]) is not None


def _violation_errors(
    findings: Iterable[Violation], path: KeyPath, source: SourceMap, *, is_key: bool
) -> Iterator[DaybookError]:
    for violation in findings:
        span = source.key(*path) if is_key else source.span(*path, *violation.path)
        yield DaybookError(violation.code, span=span, hint=violation.hint, **violation.parameters)


def _follows_from_others(kind: str, path: KeyPath, missing: set[KeyPath], source: SourceMap) -> bool:
    """A list that is too short only because its items are wrong, a name that is missing beside a missing id."""
    if kind == "too_short":
        node = source.node(*path)
        return isinstance(node, ListNode) and bool(node.items)
    if kind == "missing" and path == ("name",):
        return ("id",) in missing
    return kind == "missing" and path == ("id",) and not isinstance(source.node("name"), ScalarNode | None)


def _coded_error(finding: Any, path: KeyPath, type_: Any, source: SourceMap) -> DaybookError:
    kind, context = finding["type"], finding.get("ctx", {})
    node = source.node(*path)
    span = source.span(*path)
    if kind == "extra_forbidden":
        return _unknown_key_error(finding["loc"], path, type_, source)
    if kind == "missing":
        return _missing_key_error(path, source)
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return _wrong_type_error(context, path, source)
    if kind in _EMPTY_ERRORS:
        return DaybookError("MODEL_024", span=span, where=dotted_path(path))
    if kind in _RANGES:
        return DaybookError("MODEL_025", span=span, where=dotted_path(path), reason=_RANGES[kind].format(**context))
    if kind == "literal_error":
        return _not_allowed_error(finding, path, source)
    if kind == "string_pattern_mismatch" and context.get("pattern") == f"^{ID_PATTERN}$":
        return DaybookError("MODEL_026", span=span, value=finding["input"])
    if kind in _EXPECTED_KINDS and node is not None:
        return _wrong_kind_error(kind, node, path, source)
    reason = str(context["error"]) if "error" in context else finding["msg"]
    return DaybookError("MODEL_028", span=span, where=dotted_path(path), reason=reason)


def _unknown_key_error(location: tuple[str | int, ...], path: KeyPath, type_: Any, source: SourceMap) -> DaybookError:
    key = str(path[-1])
    allowed_keys = known_keys(models_at(type_, location[:-1]))
    parent = dotted_path(path[:-1]) or "the definition"
    return DaybookError(
        "MODEL_020", span=source.key(*path), hint=did_you_mean(key, allowed_keys), key=key, where=parent
    )


def _missing_key_error(path: KeyPath, source: SourceMap) -> DaybookError:
    key = str(path[-1])
    parent = path[:-1]
    span = source.key(*parent) if parent else source.span()
    if key == "arguments":
        return DaybookError("PROJECT_012", span=source.span(*parent))
    if key == "destination":
        return DaybookError("OUTPUT_003", span=span, reason="none is given")
    if path == ("id",):
        hint = "the name has no letter or digit for an id; write an id" if source.node("name") else None
        return DaybookError("MODEL_027", span=span, hint=hint, kind="definition")
    return DaybookError("MODEL_021", span=span, where=dotted_path(parent) or "the definition", key=key)


def _wrong_type_error(context: Any, path: KeyPath, source: SourceMap) -> DaybookError:
    is_operation = len(path) >= 2 and path[-2] == "operations"
    node = source.node(*path, "type")
    if not isinstance(node, ScalarNode) or node.value is None:
        return _missing_key_error((*path, "type"), source)
    if is_operation:
        hint = did_you_mean(node.text, _expected_tags(context))
        return DaybookError("PROJECT_007", span=source.node_span(node), hint=hint, type=node.text)
    hint = did_you_mean(node.text, _expected_tags(context))
    return DaybookError(
        "MODEL_023", span=source.node_span(node), hint=hint, value=node.text, where=dotted_path((*path, "type"))
    )


def _expected_tags(context: Any) -> list[str]:
    tags = re.findall(r"<?[a-z]+>?", str(context.get("expected_tags", "")))
    return [name for tag in tags for name in (file_formats() if tag == FOLDER_TAG else (tag.strip("<>"),))]


def _not_allowed_error(finding: Any, path: KeyPath, source: SourceMap) -> DaybookError:
    allowed = re.findall(r"'([^']*)'", finding["ctx"]["expected"])
    value = finding["input"]
    near = closest_match(value, allowed) if isinstance(value, str) else None
    hint = f"did you mean {near}?" if near else f"allowed: {', '.join(allowed)}"
    return DaybookError("MODEL_023", span=source.span(*path), hint=hint, value=value, where=dotted_path(path))


def _wrong_kind_error(kind: str, node: DocumentNode, path: KeyPath, source: SourceMap) -> DaybookError:
    span = source.node_span(node)
    if kind == "string_type" and isinstance(node, ScalarNode) and isinstance(node.value, bool):
        return DaybookError("MODEL_029", span=span, value=node.text, actual="a boolean", where=dotted_path(path))
    if isinstance(node, ScalarNode) and node.value is None and path:
        if path[-1] == "arguments":
            return DaybookError("PROJECT_012", span=source.key(*path))
        hint = f'write "{node.text}" in quotes: without quotes it is not a value in YAML' if node.text else None
        return DaybookError("MODEL_024", span=source.key(*path), hint=hint, where=dotted_path(path))
    where = dotted_path(path) or "the definition"
    hint = f"write [{node.text}]" if _EXPECTED_KINDS[kind] == "a list" and isinstance(node, ScalarNode) else None
    return DaybookError(
        "MODEL_022", span=span, hint=hint, where=where, expected=_EXPECTED_KINDS[kind], actual=describe_node(node)
    )


def _written_path(location: tuple[str | int, ...], source: SourceMap) -> KeyPath:
    """The path of a pydantic location in the file: without tags of unions and marks of mapping keys."""
    path: list[str | int] = []
    node = source.root
    for number, step in enumerate(location):
        if isinstance(step, str) and (step == "[key]" or (step.startswith("<") and step.endswith(">"))):
            continue
        has_key = isinstance(node, MappingNode) and step in node.entries
        is_last = number == len(location) - 1
        if isinstance(step, str) and not has_key and not is_last and isinstance(node, MappingNode):
            continue
        path.append(step)
        node = source.node(*path) if node is not None else None
    return tuple(path)


def _is_number(node: ScalarNode) -> bool:
    return not isinstance(node.value, bool | str) and node.value is not None


def _replace_leaf(value: Any, path: KeyPath, text: str) -> Any:
    """A copy of nested tuples and dictionaries with one leaf replaced."""
    if not path:
        return text
    step, *rest = path
    if isinstance(value, dict):
        return {**value, step: _replace_leaf(value[str(step)], tuple(rest), text)}
    index = int(step)
    return (*value[:index], _replace_leaf(value[index], tuple(rest), text), *value[index + 1 :])
