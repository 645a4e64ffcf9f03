"""From files to definitions: text, nodes with positions, checked models."""

from daybook.model.loading.build import build, load_text
from daybook.model.loading.read import Composed, compose, read_text
from daybook.model.loading.workspace import Workspace, find_workspace, load_workspace
from daybook.model.node import ListNode, MappingNode, Node, ScalarNode

__all__ = [
    "Composed",
    "ListNode",
    "MappingNode",
    "Node",
    "ScalarNode",
    "Workspace",
    "build",
    "compose",
    "find_workspace",
    "load_text",
    "load_workspace",
    "read_text",
]
