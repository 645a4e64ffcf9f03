"""A small workspace on an object store."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from daybook.runs.environment import SessionProvider
from tests.object_store import Bucket
from tests.workspaces import COLUMNS, ORDERS, Folder, assign, dump, to_table


def csv_text(rows: list[dict[str, str]]) -> str:
    return "\n".join([",".join(rows[0]), *(",".join(row.values()) for row in rows)]) + "\n"


@dataclass
class ObjectFolder(Folder):
    """Orders of two months as CSV, a Delta lake and the state, all in one bucket."""

    bucket: Bucket

    @classmethod
    def on(cls, bucket: Bucket, root: Path, session: SessionProvider, **settings: Any) -> "ObjectFolder":
        folder = cls(root, session, bucket)
        root.mkdir(parents=True, exist_ok=True)
        folder.reach(bucket, **settings)
        bucket.put("data/orders.csv", csv_text(ORDERS))
        folder.datasource("lake", "delta", path=f"{bucket.uri}/lake")
        folder.datasource("files", "csv", path=f"{bucket.uri}/data")
        folder.dataset("orders", COLUMNS, {"datasource_id": "files", "table": "orders.csv"}, temporal_mode="period")
        folder.project(assign("amount", "amount * 2"), to_table())
        return folder

    def reach(self, bucket: Bucket, **settings: Any) -> None:
        """How the bucket is reached from now on."""
        storage = {bucket.uri: bucket.settings}
        written = {"name": "tests", "state": f"{bucket.uri}/state", "storage": storage, **settings}
        (self.root / "daybook.yaml").write_text(dump(written))

    def table(self, name: str = "result", version: int | None = None) -> list[dict[str, Any]]:
        """The rows of a Delta table in the lake, by an independent reader."""
        uri = f"{self.bucket.uri}/lake/{name}"
        found = DeltaTable(uri, version=version, storage_options=self.bucket.storage.delta_options(uri))
        rows: list[dict[str, Any]] = pa.table(found.to_pyarrow_table()).to_pylist()
        return rows
