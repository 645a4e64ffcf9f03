"""What pydantic found, in our codes, with places and hints."""

import copy
import re
from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import ValidationError

from daybook.errors import DaybookError
from daybook.model.base import ID_PATTERN
from daybook.model.findings import FINDINGS, Finding
from daybook.model.loading.shape import keys_of, step_into
from daybook.model.node import ListNode, MappingNode, Node, ScalarNode, kind_of
from daybook.model.source_map import Path, SourceMap, dotted
from daybook.model.suggestion import did_you_mean, nearest

_EXPECTED = {
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
_EMPTY = frozenset({"string_too_short", "too_short"})


def repair(value: Any, error: ValidationError, source: SourceMap) -> Any:
    """The value with numbers replaced by the text that was written, where text is meant: `2026`, `1.10`, `0o17`."""
    repaired = copy.deepcopy(value)
    for found in error.errors(include_url=False):
        path = _written_path(found["loc"], source)
        node = source.node(*path)
        if found["type"] == "string_type" and isinstance(node, ScalarNode) and _is_number(node):
            repaired = _with(repaired, path, node.text)
    return repaired


def translate(error: ValidationError, type_: Any, source: SourceMap) -> Iterator[DaybookError]:
    """Every finding of a validation."""
    found_at = [(found, _written_path(found["loc"], source)) for found in error.errors(include_url=False)]
    missing = {path for found, path in found_at if found["type"] == "missing"}
    extra = [path for found, path in found_at if found["type"] == "extra_forbidden"]
    missing -= (misspelt := {path for path in missing if any(_is_meant(path, other) for other in extra)})
    for found, path in found_at:
        if found["type"] == FINDINGS:
            yield from _own(found["ctx"][FINDINGS], path, source, is_key=found["loc"][-1:] == ("[key]",))
        elif path not in misspelt and not _follows_from_others(found["type"], path, missing, source):
            yield _coded(found, path, type_, source)


def _is_meant(missing: Path, extra: Path) -> bool:
    """Whether an unknown key is the missing one with a slip of the pen."""
    return missing[:-1] == extra[:-1] and nearest(str(extra[-1]), [str(missing[-1])]) is not None


def _own(findings: Iterable[Finding], path: Path, source: SourceMap, *, is_key: bool) -> Iterator[DaybookError]:
    for one in findings:
        span = source.key(*path) if is_key else source.span(*path, *one.path)
        yield DaybookError(one.code, span=span, hint=one.hint, **one.parameters)


def _follows_from_others(kind: str, path: Path, missing: set[Path], source: SourceMap) -> bool:
    """A list that is too short only because its items are wrong, a name that is missing beside a missing id."""
    if kind == "too_short":
        node = source.node(*path)
        return isinstance(node, ListNode) and bool(node.items)
    if kind == "missing" and path == ("name",):
        return ("id",) in missing
    return kind == "missing" and path == ("id",) and not isinstance(source.node("name"), ScalarNode | None)


def _coded(found: Any, path: Path, type_: Any, source: SourceMap) -> DaybookError:
    kind, context = found["type"], found.get("ctx", {})
    node = source.node(*path)
    span = source.span(*path)
    if kind == "extra_forbidden":
        return _unknown_key(found["loc"], path, type_, source)
    if kind == "missing":
        return _missing(path, source)
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return _wrong_type(context, path, source)
    if kind in _EMPTY:
        return DaybookError("MODEL_024", span=span, where=dotted(path))
    if kind in _RANGES:
        return DaybookError("MODEL_025", span=span, where=dotted(path), reason=_RANGES[kind].format(**context))
    if kind == "literal_error":
        return _not_allowed(found, path, source)
    if kind == "string_pattern_mismatch" and context.get("pattern") == f"^{ID_PATTERN}$":
        return DaybookError("MODEL_026", span=span, value=found["input"])
    if kind in _EXPECTED and node is not None:
        return _wrong_kind(kind, node, path, source)
    reason = str(context["error"]) if "error" in context else found["msg"]
    return DaybookError("MODEL_028", span=span, where=dotted(path), reason=reason)


def _unknown_key(location: tuple[str | int, ...], path: Path, type_: Any, source: SourceMap) -> DaybookError:
    key = str(path[-1])
    known = keys_of(step_into(type_, location[:-1]))
    parent = dotted(path[:-1]) or "the definition"
    return DaybookError("MODEL_020", span=source.key(*path), hint=did_you_mean(key, known), key=key, where=parent)


def _missing(path: Path, source: SourceMap) -> DaybookError:
    key = str(path[-1])
    parent = path[:-1]
    span = source.key(*parent) if parent else source.span()
    if key == "arguments":
        return DaybookError("PROJECT_012", span=source.span(*parent))
    if path == ("id",):
        hint = "the name has no letter or digit to make an id of; write an id" if source.node("name") else None
        return DaybookError("MODEL_027", span=span, hint=hint, kind="definition")
    return DaybookError("MODEL_021", span=span, where=dotted(parent) or "the definition", key=key)


def _wrong_type(context: Any, path: Path, source: SourceMap) -> DaybookError:
    is_operation = len(path) >= 2 and path[-2] == "operations"
    node = source.node(*path, "type")
    if not isinstance(node, ScalarNode) or node.value is None:
        return _missing((*path, "type"), source)
    if is_operation:
        hint = did_you_mean(node.text, _tags(context))
        return DaybookError("PROJECT_007", span=source.place(node), hint=hint, type=node.text)
    hint = did_you_mean(node.text, _tags(context))
    return DaybookError("MODEL_023", span=source.place(node), hint=hint, value=node.text, where=dotted((*path, "type")))


def _tags(context: Any) -> list[str]:
    return re.findall(r"[a-z]+", str(context.get("expected_tags", "")))


def _not_allowed(found: Any, path: Path, source: SourceMap) -> DaybookError:
    allowed = re.findall(r"'([^']*)'", found["ctx"]["expected"])
    value = found["input"]
    near = nearest(value, allowed) if isinstance(value, str) else None
    hint = f"did you mean {near}?" if near else f"allowed: {', '.join(allowed)}"
    return DaybookError("MODEL_023", span=source.span(*path), hint=hint, value=value, where=dotted(path))


def _wrong_kind(kind: str, node: Node, path: Path, source: SourceMap) -> DaybookError:
    span = source.place(node)
    if kind == "string_type" and isinstance(node, ScalarNode) and isinstance(node.value, bool):
        return DaybookError("MODEL_029", span=span, value=node.text, actual="a boolean", where=dotted(path))
    if isinstance(node, ScalarNode) and node.value is None and path:
        if path[-1] == "arguments":
            return DaybookError("PROJECT_012", span=source.key(*path))
        return DaybookError("MODEL_024", span=source.key(*path), where=dotted(path))
    place = dotted(path) or "the definition"
    hint = f"write [{node.text}]" if _EXPECTED[kind] == "a list" and isinstance(node, ScalarNode) else None
    return DaybookError("MODEL_022", span=span, hint=hint, where=place, expected=_EXPECTED[kind], actual=kind_of(node))


def _written_path(location: tuple[str | int, ...], source: SourceMap) -> Path:
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


def _with(value: Any, path: Path, text: str) -> Any:
    """A copy of nested tuples and dictionaries with one leaf replaced."""
    if not path:
        return text
    step, *rest = path
    if isinstance(value, dict):
        return {**value, step: _with(value[str(step)], tuple(rest), text)}
    index = int(step)
    return (*value[:index], _with(value[index], tuple(rest), text), *value[index + 1 :])
