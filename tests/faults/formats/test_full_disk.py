"""A disk that is full while landing, writing and committing."""

import pickle
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from daybook.errors import DaybookError
from daybook.io.landing.area import LandingArea
from daybook.io.leftovers import find_landing_leftovers
from daybook.io.registry import writer_for
from tests.faults.formats.checks import COLUMNS, found, rows, sweep
from tests.spark.io.cases import CASES, Case, Place, parameters, version_of, write

FILES = tuple(case for case in CASES if case.format in ("delta", "parquet", "csv", "json"))

_LAND = """
import pickle, resource, sys
from pathlib import Path
from daybook.errors import DaybookError
from daybook.io.read_source import read_landed
from daybook.io.landing.landing_request import LandingRequest
location, version, area = pickle.load(open(sys.argv[1], "rb"))
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    read_landed(None, LandingRequest([location], version, area, None, Path(), int(sys.argv[2])))
except DaybookError as error:
    print(error.code)
"""

_COMMIT = """
import pickle, resource, sys
from daybook.errors import DaybookError
from daybook.io.registry import writer_for
staged, target = pickle.load(open(sys.argv[1], "rb"))
writer = writer_for(target.format)
resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))
try:
    writer.commit(staged, target)
except DaybookError as error:
    print(error.code)
"""


def run(script: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-B", "-c", script, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": ":".join(sys.path), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("memory_limit", [1, 1 << 30])
def test_landing(tmp_path: Path, memory_limit: int) -> None:
    from daybook.resolve.location import Location

    source = tmp_path / "in.csv"
    source.write_text("key,number\n" + "".join(f"{n * 7919 % 99991},{n}\n" for n in range(5000)))
    area = LandingArea(str(tmp_path / "state"), "run")
    package = tmp_path / "package"
    package.write_bytes(pickle.dumps((Location("csv", uri=str(source)), version_of(COLUMNS), area)))
    assert run(_LAND, str(package), str(memory_limit)) == "IO_026"
    assert not list((tmp_path / "state").rglob("*.parquet"))
    assert find_landing_leftovers(area.uri, ()) == ()


@pytest.mark.parametrize("case", parameters(case for case in FILES if case.format != "delta"))
def test_committing(spark: SparkSession, place: Place) -> None:
    write(rows(spark, "old"), place.target(COLUMNS))
    target = place.target(COLUMNS)
    writer = writer_for(target.format)
    staged = writer.stage(rows(spark, "new"), target)
    package = place.workspace / "package"
    package.write_bytes(pickle.dumps((staged, target)))
    assert run(_COMMIT, str(package)) == "IO_026"
    assert writer.committed(target) is None
    assert found(spark, target) == {"old": 90}
    writer.commit(staged, target)
    assert found(spark, target) == {"new": 90}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Three megabytes, where the tests may mount."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("no right to mount a small disk")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=False)


@pytest.mark.parametrize("case", parameters(FILES))
def test_writing(spark: SparkSession, case: Case, small_disk: Path) -> None:
    place = Place(case, small_disk.parent)
    uri = str(small_disk / "lake" / (case.path or ""))
    write(rows(spark, "old"), place.target(COLUMNS, uri=uri))
    target = place.target(COLUMNS, uri=uri)
    writer = writer_for(target.format)
    noise = sf.sha2(sf.concat(sf.col("number").cast("string"), sf.lit("salt")), 512)
    big = rows(spark, "new", 100_000).withColumn("key", noise)
    with pytest.raises((PySparkException, DaybookError)):
        writer.stage(big, target)
    writer.discard(target)
    assert sweep(place, target) == 0
    assert found(spark, target) == {"old": 90}
    # Spark's failed tasks may keep their removed files open, so room has to come from elsewhere.
    subprocess.run(["mount", "-o", "remount,size=60m", str(small_disk)], check=True)
    writer.commit(writer.stage(rows(spark, "new"), target), target)
    assert found(spark, target) == {"new": 90}
