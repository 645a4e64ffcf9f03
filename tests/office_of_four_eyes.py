"""An office with a policy of approvals: people with tokens, a project that is active, and the acts they request."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.runs.approvals.requests import ApprovalRequest
from daybook.runs.attempt.run_request import RunRequest
from daybook.store import open_store
from daybook.store.database.people import new_token
from daybook.store.records import LogLine
from daybook.workspace.approvals import adopt_policy, approve_request, show_request
from daybook.workspace.lifecycle import activate_projects, apply_changes
from daybook.workspace.log import show_log, verify_log
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from tests.prepared_runs import prepare_runs
from tests.recorded_runs import record_run
from tests.workspaces import Folder, assign, dump, no_session, to_table

POLICY: dict[str, Any] = {
    "activate": {"by": ["controlling"]},
    "lock": {"by": ["controlling", "cfo"], "count": 2},
    "reopen": {"by": ["controlling"]},
    "drop": {"by": ["controlling"]},
    "seal": {"by": ["cfo"]},
}
PEOPLE = {"anna": ["controlling"], "bert": ["controlling"], "carl": ["cfo"], "dora": ["cfo", "controlling"]}


@dataclass
class Office:
    folder: Folder
    tokens: dict[str, str] = field(default_factory=dict)

    @classmethod
    def open(cls, root: Path, store: str, policy: dict[str, Any] | None = None, **settings: Any) -> "Office":
        open_store(store, root=root, migrate=True).close()
        folder = Folder.new(root / "w", no_session, store=store, **settings)
        folder.project(assign("tax", "amount * 2"), to_table())
        office = cls(folder)
        nobody = office.nobody()
        apply_changes(nobody)
        activate_projects(nobody)
        with nobody.open_store() as opened, opened.write() as transaction:
            for name, roles in PEOPLE.items():
                token = new_token()
                transaction.people.add(name, roles, token=token, account=None, now=transaction.now())
                office.tokens[name] = token.text
        office.propose(POLICY if policy is None else policy, **settings)
        adopt_policy(office.nobody())
        return office

    def propose(self, policy: dict[str, Any] | None, **settings: Any) -> None:
        """Write the block of approvals into daybook.yaml, or leave it out."""
        text = (self.folder.root / "daybook.yaml").read_text()
        store = next(line.partition(": ")[2] for line in text.splitlines() if line.startswith("store"))
        block = {} if policy is None else {"approvals": policy}
        (self.folder.root / "daybook.yaml").write_text(dump({"name": "tests", "store": store, **settings, **block}))

    def nobody(self, user: str = "somebody") -> OpenedWorkspace:
        """Someone with a name and no proof of it."""
        return replace(open_workspace(self.folder.root), user=user, token=None, account=None)

    def by(self, name: str, user: str | None = None) -> OpenedWorkspace:
        """A person with a token; `user` is what the name of the process says."""
        return replace(self.nobody(user or name), token=self.tokens[name])

    def request(self, act: Callable[[], object]) -> int:
        """The number of the request that an act made instead of being done."""
        with pytest.raises(DaybookError) as caught:
            act()
        assert caught.value.code == "APPROVAL_001", caught.value
        return int(str(caught.value.parameters["number"]))

    def approve(self, number: int, *names: str) -> ApprovalRequest:
        for name in names:
            approve_request(self.by(name), number)
        return show_request(self.nobody(), number)

    def prepare(self, period: str = "2026-01", project: str = "p", **more: Any) -> Any:
        """What a run would be, by anybody."""
        with self.nobody().open_run_environment() as environment:
            (prepared,) = prepare_runs(self.folder.load(), environment, RunRequest(project, period, **more))
            return prepared

    def run(self, period: str = "2026-01", project: str = "p") -> str:
        with self.nobody().open_run_environment() as environment:
            (prepared,) = prepare_runs(self.folder.load(), environment, RunRequest(project, period))
            return str(record_run(environment, prepared).run_id)

    def project_status(self, project: str = "p") -> str:
        with self.nobody().open_store() as store, store.read() as transaction:
            return str(transaction.projects.get(project).status)

    def log(self) -> tuple[LogLine, ...]:
        """Newest first; the chain holds whatever was tried."""
        assert verify_log(self.nobody()).problems == ()
        return show_log(self.nobody(), limit=1000).lines


def refused(code: str, act: Callable[[], object]) -> DaybookError:
    with pytest.raises(DaybookError) as caught:
        act()
    assert caught.value.code == code, caught.value
    return caught.value
