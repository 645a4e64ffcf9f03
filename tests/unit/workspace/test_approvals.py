"""Four eyes: nothing that the policy names happens without the others, whatever is tried to get around them."""

import os
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from daybook.errors import DaybookError
from daybook.runs.approvals.acts import Act, take_over_act
from daybook.runs.approvals.requests import approvals_of, released_act
from daybook.runs.attempt.execution import retry
from daybook.store.database import people
from daybook.store.process import current_process
from daybook.web.personal_tokens import looks_like_token
from daybook.workspace.approvals import (
    add_person,
    adopt_policy,
    approve_request,
    list_people,
    list_requests,
    reject_request,
    remove_person,
    renew_token,
    set_roles,
    show_policy,
    show_request,
    withdraw_request,
)
from daybook.workspace.close import close_status
from daybook.workspace.lifecycle import activate_project, apply_changes, deactivate_project, plan_changes
from daybook.workspace.maintenance import drop_slice, take_over_slices
from daybook.workspace.open_workspace import OpenedWorkspace, open_workspace
from daybook.workspace.periods import close_period, lock_period, reopen_period, show_period
from tests.office_of_four_eyes import POLICY, Office, refused
from tests.postgres import PostgresServer
from tests.unit.conftest import BACK_ENDS
from tests.workspaces import COLUMNS, Folder, assign, to_table


@pytest.fixture(autouse=True)
def cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hash by scrypt takes 50 milliseconds, and is kept with what it cost."""
    monkeypatch.setattr(people, "_COST", 2)


@pytest.fixture(params=BACK_ENDS)
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Office:
    url = f"sqlite:///{tmp_path}/state/store.db"
    if request.param == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres_server")
        url = server.create_database(request.getfixturevalue("migrated_database"))
    return Office.open(tmp_path, url)


def lock(workspace: OpenedWorkspace, period: str = "2026-01") -> object:
    return lock_period(workspace, period, reason="signed off")


def status_of(office: Office, period: str = "2026-01") -> str:
    return show_period(office.nobody(), period).status.status


def wider_orders(folder: Folder) -> None:
    columns = [*COLUMNS, {"name": "channel", "type": "string"}]
    folder.dataset("orders", columns, {"path": "data/orders.csv"}, temporal_mode="period")


def test_a_lock_happens_with_the_last_approval_and_the_log_has_everybody(office: Office) -> None:
    number = office.request(lambda: lock(office.by("anna")))
    assert status_of(office) == "open"
    assert office.approve(number, "bert").status == "open"
    assert status_of(office) == "open"
    assert office.approve(number, "carl").status == "done"
    assert status_of(office) == "locked"
    lines = [(line.by, line.proof, line.act, line.subject) for line in office.log()[:4]]
    assert lines == [
        ("carl", "token", "lock", "2026-01"),
        ("carl", "token", "approve", "2026-01"),
        ("bert", "token", "approve", "2026-01"),
        ("anna", "token", "request", "2026-01"),
    ]
    with office.nobody().open_store() as store, store.read() as transaction:
        (approvals,) = approvals_of(transaction, show_period(office.nobody(), "2026-01").period, "lock")
    assert approvals["requested_by"] == "anna"
    assert [approval["name"] for approval in approvals["approved_by"]] == ["bert", "carl"]


def test_what_the_policy_does_not_name_needs_nobody(office: Office) -> None:
    close_period(office.nobody(), "2026-01")
    assert status_of(office) == "closed"


def test_the_same_act_requested_twice_is_one_request(office: Office) -> None:
    number = office.request(lambda: lock(office.by("anna")))
    assert office.request(lambda: lock(office.by("anna"))) == number
    assert len(list_requests(office.nobody())) == 1


def test_nobody_decides_about_an_own_request(office: Office) -> None:
    number = office.request(lambda: lock(office.by("dora")))
    refused("APPROVAL_003", lambda: approve_request(office.by("dora"), number))
    refused("APPROVAL_003", lambda: reject_request(office.by("dora"), number, reason="x"))
    assert office.log()[0].refused == "APPROVAL_003"
    assert show_request(office.nobody(), number).needs[0].approved_by == ()


def test_one_person_counts_once_also_with_two_roles_and_a_new_token(office: Office) -> None:
    number = office.request(lambda: lock(office.by("anna")))
    office.approve(number, "dora")
    refused("APPROVAL_004", lambda: approve_request(office.by("dora"), number))
    office.tokens["dora"] = renew_token(office.by("dora"), "dora").token or ""
    refused("APPROVAL_004", lambda: approve_request(office.by("dora"), number))
    assert status_of(office) == "open"


def test_the_name_of_a_user_proves_nothing(office: Office) -> None:
    refused("APPROVAL_002", lambda: lock(office.nobody("anna")))
    number = office.request(lambda: lock(office.by("anna", user="bert")))
    assert show_request(office.nobody(), number).requested_by == "anna"
    refused("APPROVAL_002", lambda: approve_request(office.nobody("bert"), number))
    # The token says who it is, whatever USER says.
    refused("APPROVAL_003", lambda: approve_request(office.by("anna", user="bert"), number))


@pytest.mark.parametrize("token", ["", "bert", "dbp_0123456789abcdef_" + "a" * 43])
def test_a_wrong_token_proves_nothing(office: Office, token: str) -> None:
    number = office.request(lambda: lock(office.by("anna")))
    refused("APPROVAL_020", lambda: approve_request(replace(office.nobody("bert"), token=token), number))
    other_secret = f"{office.tokens['bert'][:-1]}{'x' if office.tokens['bert'][-1] != 'x' else 'y'}"
    refused("APPROVAL_020", lambda: approve_request(replace(office.nobody("bert"), token=other_secret), number))


def test_a_token_that_was_renewed_or_removed_is_void(office: Office) -> None:
    number = office.request(lambda: lock(office.by("anna")))
    before = office.tokens["bert"]
    renewed = renew_token(office.by("bert"), "bert")
    assert looks_like_token(renewed.token or "")
    refused("APPROVAL_020", lambda: approve_request(replace(office.nobody(), token=before), number))
    removal = remove_person(office.by("anna"), "bert").request or 0
    office.approve(removal, "dora")
    office.approve(removal, "carl") if show_request(office.nobody(), removal).status == "open" else None
    refused("APPROVAL_020", lambda: approve_request(replace(office.nobody(), token=renewed.token), number))


def test_a_role_that_the_rule_does_not_name_counts_nothing(office: Office) -> None:
    number = office.request(lambda: deactivate_project(office.by("anna"), "p"))
    refused("APPROVAL_005", lambda: approve_request(office.by("carl"), number))
    assert office.project_status() == "active"
    assert office.approve(number, "bert").status == "done"
    assert office.project_status() == "inactive"


def test_the_policy_of_the_store_holds_whatever_the_file_says(office: Office) -> None:
    office.propose(None)
    refused("APPROVAL_012", lambda: adopt_policy(office.by("anna")))
    office.request(lambda: lock(office.by("anna")))
    office.propose({})
    office.request(lambda: deactivate_project(office.by("anna"), "p"))
    assert show_policy(office.nobody()).in_force == {
        name: {"by": rule["by"], "count": rule.get("count", 1)} for name, rule in POLICY.items()
    }
    # To end the policy is an act that every rule of it must approve.
    number = office.request(lambda: adopt_policy(office.by("anna")))
    assert office.approve(number, "bert").status == "open"
    assert office.approve(number, "dora").status == "done"
    lock(office.nobody())
    assert status_of(office) == "locked"


def test_a_draft_and_what_was_never_activated_do_not_run_outside_a_sandbox(office: Office) -> None:
    refused("APPROVAL_009", lambda: office.prepare(is_draft=True))
    office.folder.project(assign("tax", "amount * 3"), to_table("other"), id_="new")
    apply_changes(office.nobody())
    refused("APPROVAL_009", lambda: office.prepare(project="new"))
    office.folder.project(assign("tax", "amount * 3"), to_table())
    refused("STORE_021", lambda: office.prepare())


def test_a_draft_that_failed_before_the_policy_is_not_retried_outside_a_sandbox(store_url: str, tmp_path: Path) -> None:
    office = Office.open(tmp_path, store_url, policy={})
    with office.nobody().open_run_environment() as environment:
        from daybook.runs.attempt.start import start_run

        lease = start_run(environment.store, office.prepare(is_draft=True))
        with environment.store.write() as transaction:
            transaction.runs.finish(lease, "failed", now=transaction.now())
    office.propose(POLICY)
    adopt_policy(office.by("anna"))
    with office.nobody().open_run_environment() as environment:
        refused("APPROVAL_009", lambda: retry(environment, lease.run_id))


def fail_run(office: Office) -> str:
    """A run that began and failed, so that it may be retried at any time."""
    from daybook.runs.attempt.start import start_run

    with office.nobody().open_run_environment() as environment:
        lease = start_run(environment.store, office.prepare())
        with environment.store.write() as transaction:
            transaction.runs.finish(lease, "failed", now=transaction.now())
    return lease.run_id


def retry_run(office: Office, run_id: str) -> None:
    with office.nobody().open_run_environment() as environment:
        retry(environment, run_id)


def test_a_run_of_a_version_that_was_replaced_is_not_retried(office: Office) -> None:
    version = office.prepare().snapshot.project_version
    run_id = fail_run(office)
    office.folder.project(assign("tax", "amount * 9"), to_table())
    apply_changes(office.nobody())
    office.approve(office.request(lambda: activate_project(office.by("anna"), "p")), "bert")
    error = refused("APPROVAL_022", lambda: retry_run(office, run_id))
    assert (error.parameters["project"], error.parameters["version"]) == ("p", version)
    assert (office.log()[0].act, office.log()[0].refused) == ("retry", "APPROVAL_022")


def test_a_run_of_a_deactivated_project_is_not_retried(office: Office) -> None:
    run_id = fail_run(office)
    office.approve(office.request(lambda: deactivate_project(office.by("anna"), "p")), "bert")
    refused("APPROVAL_022", lambda: retry_run(office, run_id))


def test_a_reason_that_has_no_utf_8_is_refused_with_a_code(office: Office) -> None:
    refused("STORE_048", lambda: lock_period(office.by("anna"), "2026-01", reason="a\udcffb"))
    assert list_requests(office.nobody()) == ()


def test_a_draft_runs_into_a_sandbox_and_tries_changes_that_nobody_approved(tmp_path: Path) -> None:
    office = Office.open(tmp_path, "sqlite:///.daybook/store.db", sandbox="sandbox")
    wider_orders(office.folder)
    prepared = office.prepare(is_draft=True)
    assert prepared.snapshot.settings.sandbox == "sandbox"
    (dataset,) = prepared.snapshot.datasets
    assert "channel" in [column.name for column in dataset.dataset.main_table.columns]
    (dataset,) = office.prepare().snapshot.datasets
    assert "channel" not in [column.name for column in dataset.dataset.main_table.columns]


def test_a_sandbox_that_lies_where_live_data_is_is_no_sandbox(tmp_path: Path) -> None:
    """A draft writes to the table below the folder of the sandbox and the id of the data source."""
    office = Office.open(tmp_path, "sqlite:///.daybook/store.db", policy={})
    office.folder.datasource("lake", "delta", path="tables/lake")
    apply_changes(office.nobody())
    office.propose(POLICY, sandbox="tables")
    adopt_policy(office.by("anna"))
    refused("APPROVAL_021", lambda: office.prepare(is_draft=True))
    office.propose(POLICY, sandbox="tables/of-drafts")
    assert office.prepare(is_draft=True).snapshot.settings.sandbox == "tables/of-drafts"


def test_what_waits_for_approval_makes_nothing_stale(tmp_path: Path) -> None:
    office = Office.open(tmp_path, "sqlite:///.daybook/store.db")
    office.run()
    before = close_status(office.nobody(), period="2026-01")
    change_location(office)
    assert close_status(office.nobody(), period="2026-01").nodes == before.nodes
    number = apply_changes(office.by("anna")).request or 0
    assert close_status(office.nobody(), period="2026-01").nodes == before.nodes
    office.approve(number, "bert")
    (node,) = close_status(office.nobody(), period="2026-01").nodes
    assert (before.nodes[0].state, node.state) == ("fresh", "stale")


def change_dataset(office: Office) -> None:
    wider_orders(office.folder)


def change_location(office: Office) -> None:
    office.folder.write_csv("data/forged.csv", [{"order_id": "O", "region": "x", "amount": "1", "_period": "2026-01"}])
    office.folder.dataset("orders", COLUMNS, {"path": "data/forged.csv"}, temporal_mode="period")


def change_datasource(office: Office) -> None:
    office.folder.datasource("lake", "delta", path="elsewhere")


def add_default_resolver(office: Office) -> None:
    strategy = {"type": "path", "datasource_id": "lake", "path": "{{identifier}}"}
    rules = [{"name": "all", "data_level": "any", "strategy": strategy}]
    office.folder.define("resolver", {"id": "mine", "is_default": True, "rules": rules})


@pytest.mark.parametrize("change", [change_dataset, change_location, change_datasource, add_default_resolver])
def test_what_an_active_project_reaches_changes_only_with_approval(
    office: Office, change: Callable[[Office], None]
) -> None:
    before = _definitions(office)
    change(office)
    assert [held.id for held in plan_changes(office.nobody()).held] != []
    refused("APPROVAL_002", lambda: apply_changes(office.nobody()))
    number = apply_changes(office.by("anna")).request
    assert number is not None
    assert _definitions(office) == before
    # A run applies files by itself on an embedded store; it does not apply these.
    notices = [notice.code for notice in office.prepare().notices]
    assert _definitions(office) == before
    with office.nobody().open_store() as store:
        assert ("APPROVAL_010" in notices) is not store.is_shared
    assert office.approve(number, "bert").status == "done"
    assert _definitions(office) != before


def _definitions(office: Office) -> dict[Any, Any]:
    with office.nobody().open_store() as store, store.read() as transaction:
        heads = transaction.definitions.heads()
    return {key: (head.version, head.status, head.text_digest) for key, head in heads.items() if key[0] != "project"}


def test_a_resolver_and_a_calendar_of_an_active_project_change_only_with_approval(office: Office) -> None:
    strategy = {"type": "path", "datasource_id": "files", "path": "orders.csv"}
    rule = {"name": "all", "data_level": "any", "strategy": strategy}
    january = {"identifier": "P1", "level": "month", "start_date": "2026-01-01", "end_date": "2026-01-31"}
    february = {"identifier": "P2", "level": "month", "start_date": "2026-02-01", "end_date": "2026-02-28"}
    fiscal = {"id": "fiscal", "levels": [{"name": "month"}], "periods": [january]}
    office.folder.datasource("files", "csv", path="data")
    office.folder.define("resolver", {"id": "monthly", "rules": [rule]})
    office.folder.define(
        "dataset", {"id": "sales", "resolver_id": "monthly", "main_table": {"name": "sales", "columns": COLUMNS}}
    )
    office.folder.define("calendar", fiscal)
    office.folder.project(assign("tax", "amount"), to_table("sums"), id_="q", input_="sales", calendar_id="fiscal")
    assert apply_changes(office.nobody()).request is None
    office.approve(office.request(lambda: activate_project(office.by("anna"), "q")), "bert")
    rule["strategy"] = {**strategy, "path": "forged.csv"}
    office.folder.define("resolver", {"id": "monthly", "rules": [rule]})
    office.folder.define("calendar", {**fiscal, "periods": [january, february]})
    held = apply_changes(office.by("anna")).held
    assert {(change.kind, change.id) for change in held} == {("calendar", "fiscal"), ("resolver", "monthly")}


def test_a_data_source_that_only_a_catalog_names_changes_only_with_approval(office: Office) -> None:
    office.folder.datasource("files", "csv", path="data")
    office.folder.datasource("unused", "csv", path="unused")
    office.propose(POLICY, catalogs={"allowed_hosts": ["catalog.example"]})
    strategy = {"type": "catalog", "endpoint": "https://catalog.example/locations"}
    rules = [{"name": "all", "data_level": "any", "strategy": strategy}]
    office.folder.define("resolver", {"id": "asking", "rules": rules})
    table = {"name": "sales", "columns": COLUMNS}
    office.folder.define("dataset", {"id": "sales", "resolver_id": "asking", "main_table": table})
    office.folder.project(assign("tax", "amount"), to_table("sums"), id_="q", input_="sales")
    assert apply_changes(office.nobody()).request is None
    office.folder.datasource("files", "csv", path="other")
    assert apply_changes(office.nobody()).held == ()
    office.approve(office.request(lambda: activate_project(office.by("anna"), "q")), "bert")
    office.folder.datasource("files", "csv", path="forged")
    office.folder.datasource("unused", "csv", path="forged")
    held = apply_changes(office.by("anna")).held
    assert {(change.kind, change.id) for change in held} == {("datasource", "files"), ("datasource", "unused")}


def test_what_a_pinned_version_of_a_dataset_reads_changes_only_with_approval(office: Office) -> None:
    office.folder.datasource("files", "csv", path="data")
    _define_sales(office, "before")
    apply_changes(office.nobody())
    _define_sales(office, "after")
    pinned = {"dataset_id": "sales", "dataset_version": 1}
    office.folder.project(assign("tax", "amount"), to_table("sums"), id_="q", input=pinned)
    apply_changes(office.nobody())
    office.approve(office.request(lambda: activate_project(office.by("anna"), "q")), "bert")
    _define_resolver(office, "before", "forged.csv")
    _define_resolver(office, "after", "forged.csv")
    held = apply_changes(office.by("anna")).held
    assert ("resolver", "before") in {(change.kind, change.id) for change in held}


def _define_sales(office: Office, resolver_id: str) -> None:
    _define_resolver(office, resolver_id, "orders.csv")
    table = {"name": "sales", "columns": COLUMNS}
    office.folder.define("dataset", {"id": "sales", "resolver_id": resolver_id, "main_table": table})


def _define_resolver(office: Office, id_: str, path: str) -> None:
    strategy = {"type": "path", "datasource_id": "files", "path": path}
    office.folder.define("resolver", {"id": id_, "rules": [{"name": "all", "data_level": "any", "strategy": strategy}]})


def test_a_project_that_is_edited_and_restored_takes_no_other_dataset_along(office: Office) -> None:
    """While the file of a project differs it is a draft; what it reads is held all the same."""
    original = (office.folder.root / "definitions" / "project-p.yaml").read_text()
    office.folder.project(assign("tax", "amount * 9"), to_table())
    apply_changes(office.nobody())
    assert office.project_status() == "draft"
    wider_orders(office.folder)
    assert [change.id for change in apply_changes(office.by("anna")).held] == ["orders"]
    (office.folder.root / "definitions" / "project-p.yaml").write_text(original)
    apply_changes(office.by("anna"))
    assert office.project_status() == "active"
    (dataset,) = office.prepare().snapshot.datasets
    assert "channel" not in [column.name for column in dataset.dataset.main_table.columns]


def test_a_changed_project_runs_once_it_is_approved(office: Office) -> None:
    office.folder.project(assign("tax", "amount * 9"), to_table())
    apply_changes(office.nobody())
    number = office.request(lambda: activate_project(office.by("anna"), "p"))
    (change,) = show_request(office.nobody(), number).changes
    assert "-      - column: tax" not in change.difference
    assert "amount * 2" in change.difference
    assert "+" in change.difference
    refused("STORE_021", lambda: office.prepare())
    assert office.approve(number, "bert").status == "done"
    assert office.project_status() == "active"
    assert office.prepare().snapshot.project.operations[0].arguments.assignments[0].expression == "amount * 9"
    # Nothing is left to approve.
    assert not activate_project(office.by("anna"), "p").is_new


def test_a_request_shows_what_a_project_begins_to_read(office: Office) -> None:
    """What no active project reads may change freely, until somebody approves a project that reads it."""
    office.folder.dataset("rates", COLUMNS, {"path": "data/rates.csv"})
    office.folder.datasource("vault", "delta", path="vault")
    office.folder.project(assign("tax", "amount"), to_table("more", datasource="vault"), id_="more", input_="rates")
    apply_changes(office.nobody())
    number = office.request(lambda: activate_project(office.by("anna"), "more"))
    changes = {change.title: change.difference for change in show_request(office.nobody(), number).changes}
    assert list(changes) == [
        "activates project more for the first time",
        "begins to read dataset rates",
        "begins to read datasource vault",
    ]
    assert "data/rates.csv" in changes["begins to read dataset rates"]
    # What the active project reads was approved with it.
    office.folder.project(assign("tax", "amount * 3"), to_table())
    apply_changes(office.nobody())
    number = office.request(lambda: activate_project(office.by("anna"), "p"))
    assert len(show_request(office.nobody(), number).changes) == 1


def test_an_edit_after_the_request_makes_it_void(office: Office) -> None:
    office.folder.project(assign("tax", "amount * 9"), to_table())
    apply_changes(office.nobody())
    number = office.request(lambda: activate_project(office.by("anna"), "p"))
    office.folder.project(assign("tax", "amount * 1000"), to_table())
    apply_changes(office.nobody())
    assert not show_request(office.nobody(), number).is_current
    refused("APPROVAL_008", lambda: approve_request(office.by("bert"), number))
    assert show_request(office.nobody(), number).status == "void"
    assert office.project_status() == "draft"
    assert office.log()[0].refused == "APPROVAL_008"
    refused("APPROVAL_006", lambda: approve_request(office.by("bert"), number))


def test_an_edited_file_does_not_change_what_was_requested(office: Office) -> None:
    """The approved text is that of the request, not what the file says by then."""
    wider_orders(office.folder)
    number = apply_changes(office.by("anna")).request or 0
    change_location(office)
    assert office.approve(number, "bert").status == "done"
    (dataset,) = office.prepare().snapshot.datasets
    assert dataset.dataset.main_table.location.path == "data/orders.csv"


def test_a_run_after_the_request_makes_a_lock_void(office: Office) -> None:
    office.run()
    number = office.request(lambda: lock(office.by("anna")))
    assert any(change.title.startswith("p@2026-01") for change in show_request(office.nobody(), number).changes)
    office.approve(number, "bert")
    office.run()
    refused("APPROVAL_008", lambda: approve_request(office.by("carl"), number))
    assert status_of(office) == "open"


def test_reopening_needs_approval_and_closing_again_makes_it_void(office: Office) -> None:
    number = office.request(lambda: lock(office.by("anna")))
    office.approve(number, "bert", "carl")
    number = office.request(lambda: reopen_period(office.by("anna"), "2026-01", reason="late invoice"))
    assert status_of(office) == "locked"
    office.approve(number, "bert")
    assert status_of(office) == "open"
    assert show_period(office.nobody(), "2026-01").history[-1].reason == "late invoice"


def test_pruning_an_active_project_or_what_it_reads_needs_approval(office: Office) -> None:
    for file in (office.folder.root / "definitions").glob("*.yaml"):
        file.unlink()
    changes = apply_changes(office.by("anna"), prune=True)
    assert {(change.kind, change.id) for change in changes.held} == {
        ("project", "p"),
        ("dataset", "orders"),
        ("datasource", "lake"),
    }
    assert office.project_status() == "active"
    assert office.approve(changes.request or 0, "bert").status == "done"
    assert office.project_status() == "inactive"


def test_activating_and_deactivating_without_proof_is_refused(office: Office) -> None:
    office.folder.project(assign("tax", "amount"), to_table("more"), id_="more")
    apply_changes(office.nobody())
    refused("APPROVAL_002", lambda: activate_project(office.nobody(), "more"))
    refused("APPROVAL_002", lambda: deactivate_project(office.nobody(), "p"))
    assert office.project_status("more") == "draft"


def test_a_dataset_version_for_an_active_project_needs_approval(office: Office) -> None:
    office.request(lambda: activate_project(office.by("anna"), "p", dataset_version=1))


def test_a_project_that_cannot_be_activated_is_refused_when_it_is_requested(office: Office) -> None:
    office.folder.project(assign("tax", "nothing * 2"), to_table("more"), id_="bad")
    apply_changes(office.nobody())
    with pytest.raises(DaybookError) as caught:
        activate_project(office.by("anna"), "bad")
    assert caught.value.code != "APPROVAL_001"
    assert list_requests(office.nobody()) == ()


def test_taking_over_slices_is_released_to_its_requester(office: Office) -> None:
    """The tables of this office hold nothing of another workspace, so that only the approval is reached."""
    number = office.request(lambda: take_over_slices(office.by("anna"), "f" * 32, reason="lost"))
    assert office.approve(number, "bert").status == "released"
    refused("STORE_046", lambda: take_over_slices(office.by("anna"), "f" * 32, reason="lost"))
    # What failed may be begun again.
    refused("STORE_046", lambda: take_over_slices(office.by("anna"), "f" * 32, reason="lost"))
    # Another person needs a request of his own.
    assert office.request(lambda: take_over_slices(office.by("bert"), "f" * 32, reason="lost")) == number + 1


def test_dropping_a_slice_makes_a_request_with_its_rows(office: Office) -> None:
    run_id = office.run()
    number = office.request(lambda: drop_slice(office.by("anna"), "lake.result", "2026-01", reason="wrong"))
    (change,) = show_request(office.nobody(), number).changes
    assert run_id in change.title
    assert office.approve(number, "bert").status == "released"
    # It is bound to the run that wrote the slice.
    office.run()
    assert office.request(lambda: drop_slice(office.by("anna"), "lake.result", "2026-01", reason="wrong")) == number + 1
    assert show_request(office.nobody(), number).status == "void"


def test_what_is_released_is_done_once_by_one_process(office: Office) -> None:
    def act(transaction: Any) -> Act:
        return take_over_act(transaction, "w")

    with office.by("anna").open_store() as store:
        number = office.request(lambda: _do(store, act))
        office.approve(number, "bert")
        with released_act(store, "take-over", act) as mark_done:
            refused("APPROVAL_019", lambda: _do(store, act))
            with store.write() as transaction:
                mark_done(transaction)
        assert show_request(office.nobody(), number).status == "done"
        assert office.request(lambda: _do(store, act)) == number + 1


def test_what_a_dead_process_began_may_be_begun_again(office: Office) -> None:
    def act(transaction: Any) -> Act:
        return take_over_act(transaction, "w")

    with office.by("anna").open_store() as store:
        number = office.request(lambda: _do(store, act))
        office.approve(number, "bert")
        with store.write() as transaction:
            dead = replace(current_process(), started="long ago")
            transaction.requests.claim(number, dead, now=transaction.now())
        _do(store, act)
    assert show_request(office.nobody(), number).status == "done"


def _do(store: Any, act: Callable[[Any], Act]) -> None:
    with released_act(store, "take-over", act) as mark_done, store.write() as transaction:
        mark_done(transaction)


def test_a_rejected_and_a_withdrawn_request_end(office: Office) -> None:
    rejected = office.request(lambda: lock(office.by("anna")))
    refused("STORE_032", lambda: reject_request(office.by("carl"), rejected, reason=" "))
    assert reject_request(office.by("carl"), rejected, reason="the rates are missing").status == "rejected"
    refused("APPROVAL_006", lambda: approve_request(office.by("bert"), rejected))
    withdrawn = office.request(lambda: lock(office.by("anna")))
    refused("APPROVAL_018", lambda: withdraw_request(office.by("bert"), withdrawn))
    assert withdraw_request(office.by("anna"), withdrawn).status == "withdrawn"
    refused("APPROVAL_006", lambda: approve_request(office.by("bert"), withdrawn))
    assert list_requests(office.nobody()) == ()
    assert [request.number for request in list_requests(office.nobody(), all_requests=True)] == [withdrawn, rejected]
    refused("APPROVAL_007", lambda: show_request(office.nobody(), 99))


def at_once(*acts: Callable[[], object]) -> list[str]:
    """What each of several threads that begin together got: `done` or a code."""
    barrier = threading.Barrier(len(acts))
    results: dict[int, str] = {}

    def go(index: int, act: Callable[[], object]) -> None:
        barrier.wait()
        try:
            act()
            results[index] = "done"
        except DaybookError as error:
            results[index] = error.code

    threads = [threading.Thread(target=go, args=item) for item in enumerate(acts)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [results[index] for index in range(len(acts))]


def test_two_who_approve_at_once_lock_once(office: Office) -> None:
    number = office.request(lambda: lock(office.by("anna")))
    approvers = [partial(approve_request, office.by(name), number) for name in ("bert", "carl")]
    assert at_once(*approvers) == ["done", "done"]
    assert status_of(office) == "locked"
    acts = [line.act for line in office.log()[:4]]
    assert acts == ["lock", "approve", "approve", "request"]


def test_the_second_of_two_who_approve_at_once_comes_too_late_where_one_is_enough(office: Office) -> None:
    number = office.request(lambda: deactivate_project(office.by("anna"), "p"))
    approvers = [partial(approve_request, office.by(name), number) for name in ("bert", "dora")]
    assert sorted(at_once(*approvers)) == ["APPROVAL_006", "done"]
    assert [line.act for line in office.log()].count("deactivate") == 1


def test_an_approval_and_a_withdrawal_at_once_end_in_one_of_the_two(office: Office) -> None:
    for _ in range(3):
        _approve_and_withdraw_at_once(office)


def _approve_and_withdraw_at_once(office: Office) -> None:
    before = office.project_status()
    act = deactivate_project if before == "active" else activate_project
    number = office.request(lambda: act(office.by("anna"), "p"))
    results = at_once(
        lambda: approve_request(office.by("bert"), number), lambda: withdraw_request(office.by("anna"), number)
    )
    assert sorted(results) == ["APPROVAL_006", "done"]
    is_done = results[0] == "done"
    assert show_request(office.nobody(), number).status == ("done" if is_done else "withdrawn")
    assert (office.project_status() != before) is is_done


def test_an_approval_while_the_definitions_are_applied_sees_all_or_nothing(office: Office) -> None:
    wider_orders(office.folder)
    number = apply_changes(office.by("anna")).request or 0
    office.folder.project(assign("tax", "amount"), to_table("more"), id_="more")
    results = at_once(lambda: approve_request(office.by("bert"), number), lambda: apply_changes(office.nobody("x")))
    assert results[0] == "done"
    # Whoever came first: without proof a held change is refused, and after the approval nothing is held.
    assert results[1] in ("done", "APPROVAL_002")


def test_who_lost_the_role_or_was_removed_after_approving_does_not_count(office: Office) -> None:
    """A lock needs two; those who changed bert and carl approve those changes, not the lock."""
    number = office.request(lambda: lock(office.by("anna")))
    office.approve(number, "bert")
    change = set_roles(office.by("carl"), "bert", roles=["clerk"])
    office.approve(change.request or 0, "anna", "dora")
    assert office.approve(number, "carl").status == "open"
    assert show_request(office.nobody(), number).needs[0].approved_by == ("carl",)
    change = set_roles(office.by("carl"), "bert", roles=["controlling"])
    office.approve(change.request or 0, "anna", "dora")
    assert show_request(office.nobody(), number).needs[0].approved_by == ("bert", "carl")
    assert status_of(office) == "open"
    change = remove_person(office.by("anna"), "bert")
    office.approve(change.request or 0, "dora", "carl")
    assert show_request(office.nobody(), number).needs[0].approved_by == ("carl",)


def test_somebody_new_has_not_approved_what_somebody_of_the_same_name_did(office: Office) -> None:
    number = office.request(lambda: lock(office.by("anna")))
    office.approve(number, "bert")
    removal = remove_person(office.by("anna"), "bert")
    office.approve(removal.request or 0, "dora", "carl")
    addition = add_person(office.by("anna"), "bert", roles=["controlling"])
    office.approve(addition.request or 0, "dora", "carl")
    assert show_request(office.nobody(), number).needs[0].approved_by == ()
    assert office.approve(number, "carl").status == "open"


def test_who_was_removed_does_what_was_released_to_him_no_more(office: Office) -> None:
    number = office.request(lambda: take_over_slices(office.by("carl"), "f" * 32, reason="lost"))
    assert office.approve(number, "bert").status == "released"
    change = remove_person(office.by("anna"), "carl")
    office.approve(change.request or 0, "bert", "dora")
    refused("APPROVAL_020", lambda: take_over_slices(office.by("carl"), "f" * 32, reason="lost"))
    refused("APPROVAL_002", lambda: take_over_slices(office.nobody("carl"), "f" * 32, reason="lost"))


@pytest.mark.parametrize(
    "policy",
    [
        {"lock": {"by": ["controlling"], "count": 0}},
        {"lock": {"by": ["controlling"], "count": -1}},
        {"lock": {"by": []}},
        {"lock": {"by": [""]}},
        {"lock": {"count": 1}},
        {"run": {"by": ["controlling"]}},
    ],
)
def test_a_policy_that_asks_for_nobody_is_none(office: Office, policy: dict[str, Any]) -> None:
    office.propose(policy)
    with pytest.raises(DaybookError):
        adopt_policy(office.by("anna"))
    office.propose(POLICY)
    office.request(lambda: lock(office.by("anna")))


def test_adding_a_person_needs_every_rule_and_the_token_waits_for_it(office: Office) -> None:
    refused("APPROVAL_002", lambda: add_person(office.nobody(), "eve", roles=["controlling", "cfo"]))
    change = add_person(office.by("anna"), "eve", roles=["controlling", "cfo"])
    number = office.request(lambda: lock(office.by("bert")))
    eve = replace(office.nobody(), token=change.token)
    refused("APPROVAL_020", lambda: approve_request(eve, number))
    assert office.approve(change.request or 0, "bert").status == "open"
    assert office.approve(change.request or 0, "dora").status == "done"
    assert approve_request(eve, number).needs[0].approved_by == ("eve",)


def test_other_roles_need_approval_and_do_not_count_before(office: Office) -> None:
    number = office.request(lambda: deactivate_project(office.by("anna"), "p"))
    change = set_roles(office.by("carl"), "carl", roles=["controlling", "cfo"])
    refused("APPROVAL_005", lambda: approve_request(office.by("carl"), number))
    office.approve(change.request or 0, "bert", "dora")
    assert office.approve(number, "carl").status == "done"


def test_a_policy_that_nobody_could_satisfy_is_refused(office: Office) -> None:
    office.propose({"lock": {"by": ["auditor"]}})
    refused("APPROVAL_011", lambda: adopt_policy(office.by("anna")))
    office.propose({"lock": {"by": ["cfo"], "count": 2}})
    office.request(lambda: adopt_policy(office.by("anna")))
    office.propose({"lock": {"by": ["cfo"], "count": 3}})
    refused("APPROVAL_011", lambda: adopt_policy(office.by("anna")))


def test_removing_people_stops_where_a_rule_could_not_be_satisfied(office: Office) -> None:
    change = remove_person(office.by("anna"), "carl")
    office.approve(change.request or 0, "bert", "dora")
    # Dora alone is a cfo now: others can still request and have her approve a seal.
    refused("APPROVAL_011", lambda: remove_person(office.by("anna"), "dora"))


def test_people_have_one_name_and_a_sound_one(office: Office) -> None:
    refused("APPROVAL_013", lambda: add_person(office.by("anna"), "bert"))
    refused("APPROVAL_014", lambda: remove_person(office.by("anna"), "nobody"))
    for name in ("", " anna", "a\nb", "<b>", "x" * 129):
        refused("APPROVAL_016", partial(add_person, office.by("anna"), name))


def test_the_store_holds_no_token(office: Office) -> None:
    with office.nobody().open_store() as store, store.read() as transaction:
        rows = transaction._connection.exec_driver_sql("SELECT * FROM person").all()
        lines = list(transaction.log.lines())
    stored = repr((rows, lines))
    # A secret may contain underscores, too.
    assert [secret for token in office.tokens.values() if (secret := token.split("_", 2)[2]) in stored] == []
    assert repr(office.by("anna")).count(office.tokens["anna"]) == 0


def test_the_account_of_this_process_can_prove_a_person_on_an_embedded_store(tmp_path: Path) -> None:
    office = Office.open(tmp_path, "sqlite:///.daybook/store.db", policy={})
    add_person(office.nobody(), "otto", roles=["controlling"], account=os.getuid())
    refused("APPROVAL_015", lambda: add_person(office.nobody(), "paul", account=os.getuid()))
    assert [person.name for person in list_people(office.nobody()) if person.account is not None] == ["otto"]
    office.propose(POLICY)
    adopt_policy(office.nobody())
    number = office.request(lambda: deactivate_project(office.by("anna"), "p"))
    # What USER says does not count, and neither does a visitor of the page that this account serves.
    of_account = replace(open_workspace(office.folder.root), user="anna", token=None)
    refused("APPROVAL_002", lambda: approve_request(of_account.acted_by("otto", None), number))
    assert approve_request(of_account, number).status == "done"
    assert office.log()[0].by == "otto"
    assert office.log()[0].proof == "account"


@pytest.mark.postgres
def test_an_account_proves_nobody_on_a_shared_store(postgres_server: Any, tmp_path: Path) -> None:
    office = Office.open(tmp_path, str(postgres_server.create_database()), policy={})
    refused("APPROVAL_017", lambda: add_person(office.nobody(), "otto", account=os.getuid()))


def test_without_a_policy_nothing_needs_anybody(store_url: str, tmp_path: Path) -> None:
    office = Office.open(tmp_path, store_url, policy={})
    wider_orders(office.folder)
    assert apply_changes(office.nobody()).request is None
    lock(office.nobody())
    office.prepare("2026-02", is_draft=True)
    assert deactivate_project(office.nobody(), "p").is_changed
    assert list_requests(office.nobody(), all_requests=True) == ()
