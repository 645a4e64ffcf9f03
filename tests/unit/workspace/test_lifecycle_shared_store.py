"""Two users with a workspace each on one PostgreSQL store: what one does holds for the other."""

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.runs.attempt.lease import LeaseKeeper
from daybook.runs.attempt.run_request import RunRequest
from daybook.runs.attempt.start import start_run
from daybook.runs.environment import RunEnvironment
from daybook.runs.permissions import require_unlocked
from daybook.store import open_store
from daybook.workspace.lifecycle import activate_projects, apply_changes
from daybook.workspace.maintenance import apply_retention
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from daybook.workspace.periods import lock_period
from tests.postgres import PostgresServer
from tests.prepared_runs import prepare_runs
from tests.recorded_runs import record_run
from tests.workspaces import Folder, assign, no_session, to_path

pytestmark = pytest.mark.postgres


@dataclass(frozen=True, slots=True)
class User:
    folder: Folder
    name: str

    @property
    def workspace(self) -> OpenedWorkspace:
        return replace(open_workspace(self.folder.root), user=self.name)

    @contextmanager
    def environment(self) -> Iterator[RunEnvironment]:
        with self.workspace.open_run_environment() as environment:
            yield environment

    def run(self, period: str) -> str:
        with self.environment() as environment:
            (prepared,) = prepare_runs(self.folder.load(), environment, RunRequest("p", period))
            return str(record_run(environment, prepared).run_id)


@pytest.fixture
def users(postgres_server: PostgresServer, tmp_path: Path) -> tuple[User, User]:
    """Both have the same files; Ann has applied and activated them."""
    url = postgres_server.create_database()
    open_store(url, root=tmp_path, migrate=True).close()
    found = []
    for name in ("ann", "bob"):
        folder = Folder.new(tmp_path / name, no_session, store=url)
        folder.project(to_path("out/{{identifier}}.csv"))
        found.append(User(folder, name))
    ann, bob = found
    apply_changes(ann.workspace)
    activate_projects(ann.workspace)
    return ann, bob


def test_runs_carry_the_name_of_their_user_and_everybody_sees_them(users: tuple[User, User]) -> None:
    ann, bob = users
    first, second = ann.run("2026-01"), bob.run("2026-02")
    with ann.environment() as environment, environment.store.read() as transaction:
        assert {run.id: run.user for run in transaction.runs.page().runs} == {first: "ann", second: "bob"}


def test_a_period_that_one_user_runs_is_refused_to_the_other(users: tuple[User, User]) -> None:
    ann, bob = users
    with ann.environment() as environment:
        (prepared,) = prepare_runs(ann.folder.load(), environment, RunRequest("p", "2026-01"))
        lease = start_run(environment.store, prepared)
        with pytest.raises(DaybookError) as caught:
            bob.run("2026-01")
        assert (caught.value.code, caught.value.parameters["run_id"]) == ("STORE_012", lease.run_id)


def test_a_lock_of_one_user_stops_the_run_of_the_other_before_it_commits(users: tuple[User, User]) -> None:
    ann, bob = users
    with ann.environment() as environment:
        (prepared,) = prepare_runs(ann.folder.load(), environment, RunRequest("p", "2026-01"))
        keeper = LeaseKeeper(environment.store, start_run(environment.store, prepared), lambda: None)
        lock_period(bob.workspace, "2026-01", reason="reported")
        with pytest.raises(DaybookError) as caught:
            keeper.fence(lambda transaction: require_unlocked(transaction, prepared.snapshot.period))
        assert (caught.value.code, caught.value.parameters["period"]) == ("RUN_002", "2026-01")


def test_a_change_that_one_user_has_not_applied_does_not_run_for_the_other(users: tuple[User, User]) -> None:
    """Nothing is applied implicitly: the file of one user is not what the others run."""
    ann, bob = users
    bob.folder.project(assign("fee", "1"), to_path("out/{{identifier}}.csv"))
    with pytest.raises(DaybookError) as caught:
        bob.run("2026-01")
    assert caught.value.code == "STORE_021"
    assert ann.run("2026-01")


def test_a_wrong_clock_of_one_user_removes_nothing(users: tuple[User, User]) -> None:
    ann, bob = users
    run = ann.run("2026-01")
    in_a_year = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=365)
    assert apply_retention(replace(bob.workspace, clock=lambda: in_a_year)).runs == ()
    with ann.environment() as environment, environment.store.read() as transaction:
        assert transaction.runs.find(run) is not None
