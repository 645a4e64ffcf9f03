"""`approvals:` in daybook.yaml: which acts need the approval of other people."""

from collections.abc import Iterator
from typing import Literal

from pydantic import Field

from daybook.model.declaration import Declaration, NonEmptyText

RuleName = Literal["activate", "lock", "reopen", "drop", "seal"]


class ApprovalRule(Declaration):
    """Who approves an act, and how many of them."""

    by: tuple[NonEmptyText, ...] = Field(min_length=1, description="Roles; a person with any of them may approve.")
    count: int = Field(default=1, ge=1, le=100, description="How many people must approve, the requester aside.")


class ApprovalPolicy(Declaration):
    """The acts that need approvals; proposed by the file, and in force once it is adopted."""

    activate: ApprovalRule | None = Field(
        default=None, description="What changes the numbers that active projects compute, and deactivating them."
    )
    lock: ApprovalRule | None = Field(default=None, description="Locking a period.")
    reopen: ApprovalRule | None = Field(default=None, description="Reopening a period.")
    drop: ApprovalRule | None = Field(default=None, description="Dropping a slice.")
    seal: ApprovalRule | None = Field(default=None, description="Sealing a period.")

    def rule(self, name: RuleName) -> ApprovalRule | None:
        """What an act needs; None where it needs no approval."""
        rule: ApprovalRule | None = getattr(self, name)
        return rule

    def rules(self) -> Iterator[tuple[RuleName, ApprovalRule]]:
        names: tuple[RuleName, ...] = ("activate", "lock", "reopen", "drop", "seal")
        for name in names:
            if (rule := self.rule(name)) is not None:
                yield name, rule
