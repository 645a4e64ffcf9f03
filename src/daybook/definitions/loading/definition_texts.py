"""From texts to checked definitions and settings."""

from dataclasses import replace
from typing import Any, TypeVar

from pydantic import BaseModel, TypeAdapter, ValidationError

from daybook.definitions.loading.for_each import Expansion, find_instances, merge_repeated
from daybook.definitions.loading.kinds import identify_document
from daybook.definitions.loading.operations import normalize_operations
from daybook.definitions.loading.text import compose_documents
from daybook.definitions.loading.validation_errors import restore_written_texts, translate_validation_error
from daybook.errors import DaybookError, Span, raise_all
from daybook.model.definition import MODEL_ADAPTERS, MODEL_TYPES, Definition, DefinitionKind
from daybook.model.secrets import find_secrets, mask_range
from daybook.model.source_map import (
    DocumentNode,
    MappingNode,
    SourceMap,
    dotted_path,
    plain_value,
)

# For the settings of a workspace, which have no data source to write a credential_ref on.
_SECRET_HINTS = {
    "store": "remove it; the environment variable PGPASSWORD or a .pgpass file passes it to the driver of the database",
    "engine": "remove it; Spark finds it in spark-defaults.conf or in the environment",
}

ModelT = TypeVar("ModelT", bound=BaseModel)


def load_text(text: str, file: str | None) -> list[Definition[Any]]:
    """Every definition of a text; documents that define nothing are left out, all errors are raised together."""
    definitions, errors = read_definitions(text, file)
    raise_all(errors)
    return definitions


def read_definitions(text: str, file: str | None) -> tuple[list[Definition[Any]], list[DaybookError]]:
    """The definitions of a text that are right, and everything that is wrong with the others."""
    composed = compose_documents(text, file)
    errors = composed.errors
    definitions: list[Definition[Any]] = []
    expansion = Expansion()
    for document in composed.documents:
        source = SourceMap(file, composed.shown, document)
        if (identity := identify_document(document, source, errors)) is None:
            continue
        kind, body = identity
        before = len(errors)
        for instance in find_instances(kind, body, source, errors, expansion):
            definition = build_definition(kind, instance.body, composed.shown, file, errors, instance.element)
            if definition is not None:
                definitions.append(definition)
        if len(errors) > before + 1:
            merge_repeated(errors, before)
    return definitions, errors


def build_definition(
    kind: DefinitionKind,
    body: DocumentNode,
    shown: str,
    file: str | None,
    errors: list[DaybookError],
    element: str | None = None,
) -> Definition[Any] | None:
    """One definition from the nodes below its top-level key, at any position of a composed text.

    `element` names the element of `for_each` that it is made for.
    """
    before = len(errors)
    source = _without_secrets(SourceMap(file, shown, body, element), errors)
    if kind == "project":
        source = replace(source, root=normalize_operations(body, source, errors))
    model = validate_model(MODEL_TYPES[kind], MODEL_ADAPTERS[kind], source, errors)
    return Definition(kind, model, source) if len(errors) == before else None


def read_model(type_: type[ModelT], text: str, file: str, errors: list[DaybookError]) -> ModelT | None:
    """The one model a whole text describes, or None with the findings in `errors`."""
    composed = compose_documents(text, file)
    errors += composed.errors
    if len(composed.documents) > 1:
        span = Span(composed.shown, composed.documents[1].start, composed.documents[1].end, file)
        errors.append(DaybookError("MODEL_004", span=span, problem="There is one document in this file"))
    if composed.errors:
        return None
    body = composed.documents[0] if composed.documents else MappingNode(0, 0, {})
    source = _without_secrets(SourceMap(file, composed.shown, body), errors)
    model: ModelT | None = validate_model(type_, TypeAdapter(type_), source, errors)
    return model


def validate_model(type_: Any, adapter: TypeAdapter[Any], source: SourceMap, errors: list[DaybookError]) -> Any:
    """The model that a source describes, or None with the findings in `errors`."""
    value = plain_value(_root_node(source))
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error
    try:
        return adapter.validate_python(restore_written_texts(value, first, source))
    except ValidationError as error:
        errors.extend(translate_validation_error(error, type_, source))
        return None


def _without_secrets(source: SourceMap, errors: list[DaybookError]) -> SourceMap:
    """Reports secrets that were written out, and makes them unreadable in what is shown."""
    secret_nodes = list(find_secrets(_root_node(source)))
    text = source.text
    for _, node in secret_nodes:
        text = mask_range(text, node.start, node.end)
    masked = replace(source, text=text)
    for path, _ in secret_nodes:
        hint = _SECRET_HINTS.get(str(path[0])) if path else None
        errors.append(DaybookError("MODEL_051", span=masked.key(*path), hint=hint, where=dotted_path(path)))
    return masked


def _root_node(source: SourceMap) -> DocumentNode:
    if source.root is None:
        raise ValueError("a source without nodes describes nothing")
    return source.root
