"""Landing CSV rows through a session that shares no folder, against landing them on a disk that both see.

Needs Spark 4.0 with Delta: `build/spark-4.0/bin/python -m benchmarks.landing_through_session`, after
`tools/jars delta iceberg`. Aim: at most 2.5 times as long.
"""

import argparse
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from daybook.engine.java.session import start_session, stop_session
from daybook.io.landing.area import LandingArea
from daybook.io.landing.table_area import TableLandingArea
from daybook.io.read_source import read_source
from daybook.io.state_tables import StateTables
from daybook.io.storage import Storage
from daybook.model.dataset import ColumnDef, Dataset, MainTable
from daybook.model.datasource import SparkCatalogOptions, SparkCatalogSource
from daybook.model.definition import DatasetVersion
from daybook.model.settings import EngineSettings
from daybook.model.types import DATE, INTEGER, STRING, ColumnType, DecimalType
from daybook.resolve.location import Location, Resolution
from tests.catalogs import DELTA, MISSING, catalog_conf

_AIM = 2.5
_COLUMNS: dict[str, ColumnType] = {
    "line": INTEGER,
    "account": STRING,
    "text": STRING,
    "booked": DATE,
    "amount": DecimalType(18, 2),
}


class HeldManifests:
    def __init__(self) -> None:
        self._manifests: dict[str, str] = {}

    def find(self, folder: str) -> str | None:
        return self._manifests.get(folder)

    def publish(self, folder: str, manifest: str, *, instead_of: str | None = None) -> bool:
        self._manifests[folder] = manifest
        return True

    def folders(self) -> tuple[str, ...]:
        return tuple(self._manifests)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    conf = dict(catalog_conf())
    if not conf:
        print(MISSING)
        return 2
    with tempfile.TemporaryDirectory(prefix="daybook-landing-") as scratch:
        settings = EngineSettings(remote="local[2]", conf={**conf, "spark.driver.memory": "2g"})
        spark = start_session(settings, app_name="landing")
        try:
            spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {DELTA}.state").collect()
            file = Path(scratch) / "journal.csv"
            _write_rows(file, given.rows)
            version = _version()

            def land(area: LandingArea) -> float:
                began = time.perf_counter()
                read_source(spark, Resolution((Location("csv", uri=str(file)),), ()), version, area)
                return time.perf_counter() - began

            ways: dict[str, Callable[[], LandingArea]] = {
                "on disk": lambda: LandingArea(f"{scratch}/{uuid.uuid4().hex}", _run_id()),
                "through the session": lambda: _table_area(),
            }
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(given.rounds + 1):
                for way, new_area in ways.items():
                    seconds[way].append(land(new_area()))
        finally:
            stop_session(spark)
    # The first round warms up.
    medians = {way: statistics.median(each[1:]) for way, each in seconds.items()}
    ratio = medians["through the session"] / medians["on disk"]
    for way, median in medians.items():
        spread = ", ".join(f"{second:.1f}" for second in seconds[way][1:])
        print(f"{given.rows:,} rows {way}: {median:.1f} s ({spread})")
    print(f"{ratio:.2f} times as long; aim {_AIM}")
    return int(ratio > _AIM)


def _run_id() -> str:
    return f"20260131-094502-{uuid.uuid4().hex[:6]}"


def _table_area() -> TableLandingArea:
    source = SparkCatalogSource(
        id="db", name="db", type="spark_catalog", options=SparkCatalogOptions(catalog=DELTA, provider="delta")
    )
    tables = StateTables(lambda: source, "state", uuid.uuid4().hex, HeldManifests())
    return TableLandingArea("catalog://state/landing", _run_id(), Storage(tables=tables), tables=tables)


def _version() -> DatasetVersion:
    table = MainTable(name="journal", columns=tuple(ColumnDef(name=name, type=of) for name, of in _COLUMNS.items()))
    return DatasetVersion(Dataset(id="journal", name="journal", main_table=table), 1)


def _write_rows(file: Path, rows: int) -> None:
    with file.open("w", encoding="utf-8") as stream:
        stream.write(f"{','.join(_COLUMNS)}\n")
        for line in range(rows):
            stream.write(
                f"{line},{4000 + line % 900},invoice {line % 5000} of customer,2026-01-{1 + line % 28:02},{line}.25\n"
            )


if __name__ == "__main__":
    sys.exit(main())
