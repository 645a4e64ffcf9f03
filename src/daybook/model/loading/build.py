"""Nodes to checked definitions."""

from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from daybook.errors import DaybookError, Span, raise_all
from daybook.model.definition import ADAPTERS, TYPES, Definition, Kind
from daybook.model.loading.documents import kind_of_document
from daybook.model.loading.masking import mask_range
from daybook.model.loading.operations import arrange
from daybook.model.loading.read import compose
from daybook.model.loading.translate import repair, translate
from daybook.model.node import MappingNode, Node, plain
from daybook.model.secrets import secrets_in
from daybook.model.source_map import SourceMap, dotted

# For the settings of a workspace, which have no data source to write a credential_ref on.
_SECRET_HINTS = {
    "store": "remove it; the environment variable PGPASSWORD or a .pgpass file gives it to the database's driver",
    "engine": "remove it; Spark finds it in spark-defaults.conf or in the environment",
}

Model = TypeVar("Model", bound=BaseModel)


def load_text(text: str, file: str | None) -> list[Definition[Any]]:
    """Every definition of a text; documents that define nothing are left out, all errors are raised together."""
    definitions, errors = read_definitions(text, file)
    raise_all(errors)
    return definitions


def read_definitions(text: str, file: str | None) -> tuple[list[Definition[Any]], list[DaybookError]]:
    """The definitions of a text that are right, and everything that is wrong with the others."""
    composed = compose(text, file)
    errors = composed.errors
    definitions: list[Definition[Any]] = []
    for document in composed.documents:
        found = kind_of_document(document, SourceMap(file, composed.shown, document), errors)
        if found is not None:
            definition = build(*found, composed.shown, file, errors)
            if definition is not None:
                definitions.append(definition)
    return definitions, errors


def build(kind: Kind, body: Node, shown: str, file: str | None, errors: list[DaybookError]) -> Definition[Any] | None:
    """One definition from what stands below its top-level key, wherever in a composed text that is."""
    before = len(errors)
    source = _without_secrets(SourceMap(file, shown, body), errors)
    if kind == "project":
        source = SourceMap(file, source.text, arrange(body, source, errors))
    model = validate(TYPES[kind], ADAPTERS[kind], source, errors)
    return Definition(kind, model, source) if len(errors) == before else None


def read_model(type_: type[Model], text: str, file: str, errors: list[DaybookError]) -> Model | None:
    """The one model a whole text describes, or None with the findings in `errors`."""
    composed = compose(text, file)
    errors += composed.errors
    if len(composed.documents) > 1:
        span = Span(composed.shown, composed.documents[1].start, composed.documents[1].end, file)
        errors.append(DaybookError("MODEL_004", span=span, problem="There is one document in this file"))
    if composed.errors:
        return None
    body = composed.documents[0] if composed.documents else MappingNode(0, 0, {})
    source = _without_secrets(SourceMap(file, composed.shown, body), errors)
    model: Model | None = validate(type_, TypeAdapter(type_), source, errors)
    return model


def validate(type_: Any, adapter: TypeAdapter[Any], source: SourceMap, errors: list[DaybookError]) -> Any:
    """The model that a source describes, or None with the findings in `errors`."""
    value = plain(_root(source))
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error
    try:
        return adapter.validate_python(repair(value, first, source))
    except ValidationError as error:
        errors.extend(translate(error, type_, source))
        return None


def _without_secrets(source: SourceMap, errors: list[DaybookError]) -> SourceMap:
    """Reports secrets that were written out, and makes them unreadable in what is shown."""
    found = list(secrets_in(_root(source)))
    text = source.text
    for _, node in found:
        text = mask_range(text, node.start, node.end)
    masked = SourceMap(source.file, text, source.root)
    for path, _ in found:
        hint = _SECRET_HINTS.get(str(path[0])) if path else None
        errors.append(DaybookError("MODEL_051", span=masked.key(*path), hint=hint, where=dotted(path)))
    return masked


def _root(source: SourceMap) -> Node:
    if source.root is None:
        raise ValueError("a source without nodes describes nothing")
    return source.root
