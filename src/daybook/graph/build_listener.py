"""What a build tells while its nodes run."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daybook.errors import Notice
    from daybook.graph.build import NodeResult
    from daybook.graph.nodes import Node


class BuildListener:
    """Hears nothing; subclasses override what they hear. Calls may come from several threads."""

    def planned(self, nodes: "tuple[Node, ...]") -> None:
        """The nodes that the build will look at."""

    def started(self, node: "Node", run_id: str) -> None:
        """The run of a node exists."""

    def stage(self, node: "Node", text: str) -> None:
        """A new stage of work began, in a few words."""

    def finished(self, result: "NodeResult") -> None:
        """A node is done, or will not run."""

    def notice(self, node: "Node", notice: "Notice") -> None:
        """A warning about a node."""
