"""Checking a workspace and applying its retention, without Spark."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.runs.doctor import DoctorFinding
from daybook.workspace.maintenance import Examination, apply_retention, examine, restore_store
from daybook.workspace.open_workspace import open_workspace


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "daybook.yaml").write_text("name: close\n")
    return tmp_path


def test_findings_are_reported_as_they_come(root: Path) -> None:
    seen: list[DoctorFinding] = []
    found = examine(open_workspace(root), on_finding=seen.append)
    assert tuple(seen) == found.findings
    subjects = [finding.subject for finding in found.findings]
    assert subjects[0] == "Python"
    assert "Store" in subjects
    assert "Spark" not in subjects


def test_without_a_workspace_the_machine_is_checked() -> None:
    subjects = {finding.subject for finding in examine(None).findings}
    assert {"Python", "Java", "Memory"} <= subjects
    assert "Store" not in subjects


def test_broken_definitions_are_one_of_the_findings(root: Path) -> None:
    (root / "broken.yaml").write_text("dataset: {id: x, main_tabel: 1}\n")
    found = examine(open_workspace(root))
    assert [finding.state for finding in found.findings if finding.subject == "Definitions"] == ["problem"]
    assert "Store" in {finding.subject for finding in found.findings}
    assert not found.is_ok


@pytest.mark.parametrize(("state", "is_ok"), [("ok", True), ("warning", True), ("problem", False)])
def test_only_a_problem_is_a_failure(state: str, is_ok: bool) -> None:
    finding = DoctorFinding("Java", state, "")  # type: ignore[arg-type]
    assert Examination((finding,)).is_ok is is_ok


def test_the_retention_is_applied_beside_broken_definitions(root: Path) -> None:
    (root / "broken.yaml").write_text("dataset: {id: x, main_tabel: 1}\n")
    found = apply_retention(open_workspace(root), dry_run=True)
    assert (found.runs, found.versions, found.landings, found.files, found.bytes) == ((), (), (), (), 0)


def test_a_shared_store_is_not_restored_by_daybook(root: Path) -> None:
    (root / "daybook.yaml").write_text("name: close\nstore: postgresql://daybook@localhost/close\n")
    with pytest.raises(DaybookError) as caught:
        restore_store(open_workspace(root))
    assert caught.value.code == "STORE_045"
