"""What runs committed after the last backup of the store is found again in the tables themselves."""

from pathlib import Path

import pytest

from daybook.errors import DaybookError
from daybook.store.backup import back_up
from daybook.workspace.maintenance import restore_store
from daybook.workspace.open_workspace import open_workspace
from daybook.workspace.slices import list_slices
from tests.workspaces import ORDERS, Folder, to_table


def damage(store: Path) -> None:
    store.write_bytes(b"no database any more" * 1000)
    for suffix in ("-wal", "-shm"):
        store.with_name(store.name + suffix).unlink(missing_ok=True)


@pytest.mark.parametrize(("type_", "path"), [("delta", "lake"), ("csv", "files"), ("sqlite", "data.db")])
def test_slices_and_versions_written_since_the_backup_are_known_again(folder: Folder, type_: str, path: str) -> None:
    folder.datasource("to", type_, path=path)
    folder.project(to_table("result", "to", register_as_dataset="booked"))
    folder.run("2026-01")
    store = folder.root / ".daybook/store.db"
    assert back_up(store) is not None
    folder.write_csv("data/orders.csv", [{**row, "amount": "5.00"} for row in ORDERS])
    since = {period: folder.run(period).run_id for period in ("2026-01", "2026-02")}
    damage(store)
    with pytest.raises(DaybookError) as caught:
        folder.run("2026-01")
    assert caught.value.code == "STORE_041"
    workspace = open_workspace(folder.root, session=folder.session)
    done = restore_store(workspace)
    assert {(each.period, each.run_id, each.project_id) for each in done.recovery.slices} == {
        (period, run_id, "p") for period, run_id in since.items()
    }
    assert done.recovery.unread == ()
    assert {each.period: (each.run_id, each.rows) for each in list_slices(workspace)} == {
        "2026-01": (since["2026-01"], 3),
        "2026-02": (since["2026-02"], 1),
    }
    if type_ == "delta":
        assert done.recovery.datasets == (("booked", 2), ("booked", 3))
        assert folder.dataset_versions("booked") == (1, 2, 3)
    # Another project is still refused what is not its own, and the owner goes on.
    folder.project(to_table("result", "to"), id_="other")
    with pytest.raises(DaybookError):
        folder.run("2026-02", "other")
    assert [each.code for each in folder.run("2026-02").notices if each.code == "RUN_041"] == ["RUN_041"]
