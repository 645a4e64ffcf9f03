"""The random id of a workspace, kept in its store and backups and written with its tables.

A workspace that is moved, renamed or restored keeps the id. A copy beside its original gets one of its own; the id that
it was copied with counts in the copied folder only.
"""

import secrets
from dataclasses import dataclass

from sqlalchemy import Connection, func, insert, select, update

from daybook.store.database.tables import WORKSPACE_IDENTITY


@dataclass(frozen=True, slots=True)
class WorkspaceIds:
    """`own` is written with every commit; `taken` are other workspaces whose slices this one took over.

    `copied` are the ids of the workspaces that this one is a copy of, and what they had taken over.
    """

    own: str
    taken: frozenset[str] = frozenset()
    copied: frozenset[str] = frozenset()


class WorkspaceIdentity:
    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def ids(self) -> WorkspaceIds:
        table = WORKSPACE_IDENTITY.c
        rows = self._connection.execute(select(table.id, table.kind)).all()
        of_kind = {kind: frozenset(row.id for row in rows if row.kind == kind) for kind in ("own", "taken", "copied")}
        (own,) = of_kind["own"]
        return WorkspaceIds(own, of_kind["taken"], of_kind["copied"])

    def take_over(self, workspace: str) -> None:
        """From here on what a workspace wrote belongs to this one, too; `workspace` is its id, or name without one."""
        if workspace not in self.ids().taken:
            self._add(workspace, "taken", None)

    def is_copy_at(self, root: str) -> bool:
        """Whether the workspace got its id because it was copied to `root`."""
        table = WORKSPACE_IDENTITY.c
        made_at = self._connection.execute(select(table.root).where(table.kind == "own")).scalar_one()
        return bool(made_at == root)

    def become_copy(self, root: str) -> None:
        """The workspace at `root` is no longer the one that its ids are known for elsewhere."""
        self._connection.execute(update(WORKSPACE_IDENTITY).values(kind="copied"))
        self._add(secrets.token_hex(16), "own", root)

    def _add(self, id_: str, kind: str, root: str | None) -> None:
        number = self._connection.execute(select(func.max(WORKSPACE_IDENTITY.c.number))).scalar_one() + 1
        self._connection.execute(insert(WORKSPACE_IDENTITY).values(number=number, id=id_, kind=kind, root=root))
