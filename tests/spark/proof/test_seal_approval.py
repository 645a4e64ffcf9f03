"""Where the policy wants it, a period is sealed by its requester once somebody else has agreed."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from daybook.graph.build_plan import BuildRequest
from daybook.proof.certificate import read_certificate
from daybook.workspace.approvals import show_request
from daybook.workspace.certificates import PeriodSeal, make_key, seal_period
from daybook.workspace.close import build_close
from daybook.workspace.open_workspace import OpenedWorkspace
from daybook.workspace.periods import lock_period, reopen_period
from tests.office_of_four_eyes import Office, refused
from tests.workspaces import ORDERS

Seal = Callable[[OpenedWorkspace, str], PeriodSeal]


@pytest.fixture
def office(tmp_path: Path, spark: SparkSession) -> Office:
    office = Office.open(tmp_path, "sqlite:///.daybook/store.db", policy={"seal": {"by": ["cfo"]}})
    close(office, spark)
    return office


@pytest.fixture
def seal(office: Office, spark: SparkSession, tmp_path: Path) -> Seal:
    key = make_key("controlling", tmp_path / "keys").private_key

    def seal_as(workspace: OpenedWorkspace, name: str) -> PeriodSeal:
        workspace = replace(workspace, session=lambda: spark)
        return seal_period(workspace, "2026-01", key=f"file://{key}", out=tmp_path / f"{name}.json")

    return seal_as


def close(office: Office, spark: SparkSession) -> None:
    workspace = replace(office.nobody(), session=lambda: spark)
    build_close(workspace, BuildRequest("2026-01"))
    lock_period(workspace, "2026-01")


def test_a_released_seal_is_made_once_by_its_requester(office: Office, seal: Seal, tmp_path: Path) -> None:
    refused("APPROVAL_002", lambda: seal(office.nobody("anna"), "c"))
    number = office.request(lambda: seal(office.by("anna"), "c"))
    assert not (tmp_path / "c.json").exists()
    refused("APPROVAL_005", lambda: office.approve(number, "bert"))
    assert office.approve(number, "carl").status == "released"
    # What is released to Anna is not Bert's to do.
    office.request(lambda: seal(office.by("bert"), "c"))
    sealed = seal(office.by("anna"), "c")
    assert sealed.sealed_by == "anna"
    assert show_request(office.nobody(), number).status == "done"
    (approval,) = read_certificate(json.loads(sealed.text), Path("x")).close.approvals
    assert (approval["act"], approval["requested_by"]) == ("seal", "anna")
    assert [decision["name"] for decision in approval["approved_by"]] == ["carl"]
    assert office.request(lambda: seal(office.by("anna"), "again")) != number


def test_a_release_is_void_when_the_numbers_change(office: Office, seal: Seal, spark: SparkSession) -> None:
    number = office.request(lambda: seal(office.by("anna"), "c"))
    office.approve(number, "carl")
    reopen_period(office.nobody(), "2026-01", reason="late invoice")
    office.folder.write_csv("data/orders.csv", ORDERS[:2])
    close(office, spark)
    assert office.request(lambda: seal(office.by("anna"), "c")) != number
    assert show_request(office.nobody(), number).status == "void"
