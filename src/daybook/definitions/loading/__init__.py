"""From files to definitions: text, nodes with positions, checked models."""

from daybook.definitions.loading.definition_texts import build_definition, load_text
from daybook.definitions.loading.loaded_workspace import (
    LoadedWorkspace,
    WorkspaceLocation,
    find_workspace,
    load_workspace,
    locate_workspace,
)
from daybook.definitions.loading.text import ComposedText, compose_documents, read_text
from daybook.model.source_map import DocumentNode, ListNode, MappingNode, ScalarNode

__all__ = [
    "ComposedText",
    "DocumentNode",
    "ListNode",
    "LoadedWorkspace",
    "MappingNode",
    "ScalarNode",
    "WorkspaceLocation",
    "build_definition",
    "compose_documents",
    "find_workspace",
    "load_text",
    "load_workspace",
    "locate_workspace",
    "read_text",
]
