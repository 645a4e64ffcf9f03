"""Snapshots of many runs, of which only what is asked for is decoded: the same values as of the whole text."""

import json
from collections.abc import Mapping

import pytest

from daybook.errors import DaybookError
from daybook.store.database import snapshot_sections
from daybook.store.database.snapshot_sections import SnapshotReader

SNAPSHOT = {
    "run_id": "r1",
    "project": {"id": "p", "name": 'a\n "quoted": name,', "operations": [{"seq": 1}, {"seq": 2}]},
    "as_of": None,
    "datasets": [],
    "parameters": {},
    "sources": [{"key": "input", "slices": {"2026-01": "r0"}}],
}


def test_the_values_are_those_of_the_text() -> None:
    snapshot = SnapshotReader().read(json.dumps(SNAPSHOT, indent=1))
    assert dict(snapshot) == SNAPSHOT
    assert snapshot.get("missing") is None
    assert "project" in snapshot


@pytest.mark.parametrize("indent", [None, 2])
def test_a_text_that_is_written_otherwise_means_the_same(indent: int | None) -> None:
    assert dict(SnapshotReader().read(json.dumps(SNAPSHOT, indent=indent))) == SNAPSHOT


def test_equal_sections_are_decoded_once_and_others_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []

    def decode(text: str) -> object:
        decoded.append(text)
        return json.loads(text)

    monkeypatch.setattr(snapshot_sections, "stored_json", decode)
    reader = SnapshotReader()
    snapshots: list[Mapping[str, object]] = [
        reader.read(json.dumps({**SNAPSHOT, "run_id": run}, indent=1)) for run in ("r1", "r2")
    ]
    assert [snapshot["project"] for snapshot in snapshots] == [SNAPSHOT["project"]] * 2
    assert len(decoded) == 1


@pytest.mark.parametrize("body", ["", "{", '{\n "run_id": "r1",', "not JSON"])
def test_a_text_that_is_cut_off_is_an_error(body: str) -> None:
    with pytest.raises(DaybookError) as raised:
        SnapshotReader().read(body)
    assert raised.value.code == "STORE_041"


def test_a_section_that_is_damaged_is_an_error_where_it_is_read() -> None:
    snapshot = SnapshotReader().read('{\n "run_id": "r1",\n "project": {"id"\n}')
    assert snapshot["run_id"] == "r1"
    with pytest.raises(DaybookError) as raised:
        snapshot["project"]
    assert raised.value.code == "STORE_041"
