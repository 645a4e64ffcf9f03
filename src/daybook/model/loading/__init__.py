"""From files to definitions: text, nodes with positions, checked models."""

from daybook.model.loading.definitions import ComposedText, build_definition, compose_documents, load_text, read_text
from daybook.model.loading.workspace import (
    LoadedWorkspace,
    WorkspaceLocation,
    find_workspace,
    load_workspace,
    locate_workspace,
)
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
