"""What each mode does to rows that are there already, for every format."""

from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from threading import Barrier

import pytest
from pyspark.sql import DataFrame, SparkSession

from daybook.engine.java.classic import activate_session
from daybook.engine.java.session import separate_session
from daybook.errors import DaybookError
from daybook.io.registry import writer_for
from daybook.io.target import OutputColumn, Target, WrittenSlice
from daybook.io.writer import Commit
from daybook.model.types import INTEGER, STRING, DecimalType
from tests.spark.io.cases import CASES, TABLES, Case, Place, frame, parameters, read_target, write

COLUMNS = (OutputColumn("key", STRING), OutputColumn("amount", DecimalType(10, 2)))
ONE_FILES = tuple(case for case in CASES if case.is_one_file)
# Where the writer that all databases share decides, the others take the steps of SQLite.
one_database = pytest.mark.parametrize("case", parameters(TABLES, repeated=("postgresql", "jdbc")))
# Java's side of a session belongs to a thread: the lake is committed from Python, JDBC from Java.
python_and_java = pytest.mark.parametrize(
    "case", parameters(TABLES, repeated=("parquet-folder", "postgresql", "sqlite"))
)


@pytest.fixture(params=parameters(TABLES))
def case(request: pytest.FixtureRequest) -> Case:
    found: Case = request.param
    return found


def rows(spark: SparkSession, *keys: str, columns: tuple[OutputColumn, ...] = COLUMNS) -> DataFrame:
    values = {column.name: None for column in columns}
    return frame(spark, columns, [{**values, "key": key} for key in keys], parts=1)


def keys(spark: SparkSession, target: Target, *periods: str) -> list[tuple[str, str | None]]:
    """Keys with their slice."""
    source = read_target(spark, target, COLUMNS, periods=periods, temporal_mode="period" if periods else None)
    df = source.frame.rows.identified
    slice_ = "_run_period" if "_run_period" in df.columns else "NULL"
    return sorted((row[0], row[1]) for row in df.selectExpr("key", slice_).collect())


def test_replace_takes_everything_away(spark: SparkSession, place: Place) -> None:
    write(rows(spark, "a", "b"), place.target(COLUMNS))
    write(rows(spark, "c"), place.target(COLUMNS))
    assert keys(spark, place.target(COLUMNS)) == [("c", None)]


@python_and_java
def test_a_thread_in_which_another_session_is_active_writes_as_well(spark: SparkSession, place: Place) -> None:
    df, target = rows(spark, "a"), place.target(COLUMNS)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: activate_session(separate_session(spark))).result()
        pool.submit(write, df, target).result()
    assert keys(spark, target) == [("a", None)]


def test_replace_period_leaves_other_slices_alone(spark: SparkSession, place: Place) -> None:
    for period, key in (("2026-01", "a"), ("2026-02", "b"), ("2026-01", "c")):
        write(rows(spark, key), place.target(COLUMNS, mode="replace_period", run_period=period))
    target = place.target(COLUMNS)
    assert keys(spark, target) == [("b", "2026-02"), ("c", "2026-01")]
    assert [row for row in keys(spark, target, "2026-02") if row[1] == "2026-02"] == [("b", "2026-02")]


@one_database
def test_append_adds(spark: SparkSession, place: Place) -> None:
    for key in ("a", "b"):
        write(rows(spark, key), place.target(COLUMNS, mode="append", run_period="2026-01"))
    assert keys(spark, place.target(COLUMNS)) == [("a", "2026-01"), ("b", "2026-01")]


@one_database
def test_error_refuses_what_exists(spark: SparkSession, place: Place) -> None:
    write(rows(spark, "a"), place.target(COLUMNS, mode="error"))
    with pytest.raises(DaybookError) as caught:
        write(rows(spark, "b"), place.target(COLUMNS, mode="error"))
    assert caught.value.code == "IO_020"
    assert keys(spark, place.target(COLUMNS)) == [("a", None)]


@pytest.mark.parametrize(
    "mode", ["replace_period", *(pytest.param(mode, marks=pytest.mark.slow) for mode in ("replace", "append", "error"))]
)
def test_a_run_and_operation_commit_once(spark: SparkSession, place: Place, mode: str) -> None:
    period = "2026-01" if mode in ("replace_period", "append") else None
    target = place.target(COLUMNS, mode=mode, run_period=period)
    writer = writer_for(target.format)
    assert writer.committed(target) is None
    first, second = writer.stage(rows(spark, "a"), target), writer.stage(rows(spark, "a"), target)
    assert not writer.commit(first, target).is_repeat
    writer.check(target)
    repeat = writer.commit(second, target)
    assert (repeat.rows, repeat.is_repeat) == (1, True)
    committed = writer.committed(target)
    assert committed is not None
    assert committed.rows == 1
    assert writer.committed(replace(target, operation_seq=2)) is None
    writer.discard(target)
    assert keys(spark, target) == [("a", period)]


@one_database
def test_other_columns_are_refused_with_the_difference(spark: SparkSession, place: Place) -> None:
    write(rows(spark, "a"), place.target(COLUMNS, mode="append", run_period="2026-01"))
    others = (OutputColumn("key", STRING), OutputColumn("note", INTEGER))
    with pytest.raises(DaybookError) as caught:
        write(rows(spark, "b", columns=others), place.target(others, mode="append", run_period="2026-02"))
    assert caught.value.code == "IO_021"
    assert "new note (integer)" in str(caught.value.parameters["difference"])
    assert "missing amount" in str(caught.value.parameters["difference"])
    assert keys(spark, place.target(COLUMNS)) == [("a", "2026-01")]


def test_columns_are_added_when_asked_for(spark: SparkSession, place: Place) -> None:
    if place.case.format == "jdbc":
        pytest.skip("columns cannot be added by JDBC")
    write(rows(spark, "a"), place.target(COLUMNS, mode="replace_period", run_period="2026-01"))
    more = (*COLUMNS, OutputColumn("note", STRING))
    target = place.target(more, mode="replace_period", run_period="2026-02", on_schema_change="add")
    write(rows(spark, "b", columns=more).fillna("n", ["note"]), target)
    source = read_target(spark, target)
    assert sorted(map(tuple, source.frame.rows.identified.select("key", "note").collect())) == [("a", None), ("b", "n")]


def test_replace_takes_the_new_schema(spark: SparkSession, place: Place) -> None:
    write(rows(spark, "a"), place.target(COLUMNS))
    others = (OutputColumn("key", STRING), OutputColumn("amount", INTEGER), OutputColumn("note", STRING))
    target = place.target(others)
    if place.case.format == "jdbc":
        with pytest.raises(DaybookError) as caught:
            write(rows(spark, "b", columns=others), target)
        assert caught.value.code == "IO_021"
        assert "drop it" in str(caught.value.hint)
        assert keys(spark, place.target(COLUMNS)) == [("a", None)]
        return
    write(rows(spark, "b", columns=others), target)
    assert read_target(spark, target).frame.rows.identified.select("key").collect() == [("b",)]


@one_database
@pytest.mark.parametrize("mode", [pytest.param("replace", marks=pytest.mark.slow), "replace_period"])
def test_rows_are_not_replaced_by_none_unless_allowed(spark: SparkSession, place: Place, mode: str) -> None:
    period = "2026-01" if mode == "replace_period" else None
    write(rows(spark, "a", "b"), place.target(COLUMNS, mode=mode, run_period=period))
    with pytest.raises(DaybookError) as caught:
        write(rows(spark), place.target(COLUMNS, mode=mode, run_period=period))
    assert (caught.value.code, caught.value.parameters["rows"]) == ("IO_023", 2)
    assert len(keys(spark, place.target(COLUMNS))) == 2
    write(rows(spark), place.target(COLUMNS, mode=mode, run_period=period, allow_empty=True))
    assert keys(spark, place.target(COLUMNS)) == []


def test_two_writers_of_one_slice_do_not_overwrite_each_other(spark: SparkSession, place: Place) -> None:
    write(rows(spark, "a"), place.target(COLUMNS, mode="replace_period", run_period="2026-01"))
    writer = writer_for(place.case.format)
    slow = place.target(COLUMNS, mode="replace_period", run_period="2026-01")
    staged = writer.stage(rows(spark, "slow"), slow)
    write(rows(spark, "other"), place.target(COLUMNS, mode="replace_period", run_period="2026-02"))
    write(rows(spark, "quick"), place.target(COLUMNS, mode="replace_period", run_period="2026-01"))
    with pytest.raises(DaybookError) as caught:
        writer.commit(staged, slow)
    assert caught.value.code == "IO_024"
    assert keys(spark, place.target(COLUMNS)) == [("other", "2026-02"), ("quick", "2026-01")]


def test_columns_that_an_output_no_longer_has_are_kept_with_null(spark: SparkSession, place: Place) -> None:
    before = place.target(COLUMNS, mode="replace_period", run_period="2026-01")
    write(rows(spark, "a").selectExpr("key", "CAST(1.5 AS DECIMAL(10,2)) AS amount"), before)
    fewer = COLUMNS[:1]
    target = place.target(fewer, mode="replace_period", run_period="2026-02", on_schema_change="keep")
    write(rows(spark, "b").select(fewer[0].name), target)
    df = read_target(spark, place.target(COLUMNS)).frame.rows.identified.selectExpr("key", "CAST(amount AS STRING)")
    assert sorted(map(tuple, df.collect())) == [("a", "1.50"), ("b", None)]


@one_database
def test_writers_of_different_slices_both_commit(spark: SparkSession, place: Place) -> None:
    writer = writer_for(place.case.format)
    targets = [place.target(COLUMNS, mode="replace_period", run_period=period) for period in ("2026-01", "2026-02")]
    staged = [writer.stage(rows(spark, target.run_period or ""), target) for target in targets]
    for each, target in zip(staged, targets, strict=True):
        writer.commit(each, target)
    assert keys(spark, place.target(COLUMNS)) == [("2026-01", "2026-01"), ("2026-02", "2026-02")]


@one_database
def test_a_refused_fence_commits_nothing(spark: SparkSession, place: Place) -> None:
    write(rows(spark, "a"), place.target(COLUMNS))
    target = place.target(COLUMNS)
    writer = writer_for(target.format)
    staged = writer.stage(rows(spark, "zombie"), target)

    def lost(slices: object) -> None:
        raise PermissionError("the lease was lost")

    with pytest.raises(PermissionError):
        writer.commit(staged, target, lost)
    assert writer.committed(target) is None
    writer.discard(target)
    assert keys(spark, target) == [("a", None)]


@pytest.mark.parametrize("case", parameters(ONE_FILES))
class TestOneFile:
    def test_append_is_refused(self, place: Place) -> None:
        target = place.target(COLUMNS, mode="append")
        with pytest.raises(DaybookError) as caught:
            writer_for(target.format).check(target)
        assert caught.value.code == "IO_022"

    def test_it_keeps_the_order_of_the_frame(self, spark: SparkSession, place: Place) -> None:
        ordered = rows(spark, *(f"{number:04}" for number in range(500, 0, -1))).repartition(5).orderBy("key")
        target = place.target(COLUMNS)
        write(ordered, target)
        df = read_target(spark, target).frame.rows.identified
        assert [row[0] for row in df.select("key").collect()] == [f"{number:04}" for number in range(1, 501)]

    def test_it_commits_once(self, spark: SparkSession, place: Place) -> None:
        target = place.target(COLUMNS, mode="error")
        writer = writer_for(target.format)
        staged = writer.stage(rows(spark, "a"), target)
        assert not writer.commit(staged, target).is_repeat
        writer.check(target)
        assert writer.commit(writer.stage(rows(spark, "a"), target), target).is_repeat
        with pytest.raises(DaybookError) as caught:
            writer.check(place.target(COLUMNS, mode="error"))
        assert caught.value.code == "IO_020"

    def test_rows_are_not_replaced_by_none(self, spark: SparkSession, place: Place) -> None:
        write(rows(spark, "a"), place.target(COLUMNS))
        with pytest.raises(DaybookError) as caught:
            write(rows(spark), place.target(COLUMNS))
        assert caught.value.code == "IO_023"
        write(rows(spark), place.target(COLUMNS, allow_empty=True))


@pytest.mark.parametrize("case", parameters(TABLES, repeated=("parquet-folder",)))
def test_two_first_slices_that_are_committed_at_once_are_both_kept(spark: SparkSession, place: Place) -> None:
    """The second commit begins while the first one has made the table and is not yet done."""
    targets = [
        place.target(COLUMNS, mode="replace_period", run_period=period, run_id=f"run-{period}")
        for period in ("2026-01", "2026-02")
    ]
    writer = writer_for(targets[0].format)
    staged = [writer.stage(rows(spark, target.run_period or ""), target) for target in targets]
    with ThreadPoolExecutor(1) as pool:
        pool.submit(activate_session, spark).result()
        second: list[Future[Commit]] = []

        def commit_beside(_: tuple[WrittenSlice, ...]) -> None:
            second.append(pool.submit(writer.commit, staged[1], targets[1]))
            wait(second, timeout=1)

        writer.commit(staged[0], targets[0], commit_beside)
        second[0].result()
    assert keys(spark, place.target(COLUMNS)) == [("2026-01", "2026-01"), ("2026-02", "2026-02")]


@pytest.mark.parametrize("case", parameters([case for case in TABLES if case.name.startswith("catalog-")]))
def test_first_slices_that_are_committed_together_are_all_kept(spark: SparkSession, place: Place) -> None:
    """A catalog learns of a table after its first version is made, and only its library knows why a creator lost."""
    periods = ("2026-01", "2026-02", "2026-03")
    targets = [
        place.target(COLUMNS, mode="replace_period", run_period=period, run_id=f"run-{period}") for period in periods
    ]
    writer = writer_for(targets[0].format)
    staged = [writer.stage(rows(spark, target.run_period or ""), target) for target in targets]
    together = Barrier(len(periods))

    def commit(number: int) -> None:
        activate_session(spark)
        together.wait()
        writer.commit(staged[number], targets[number])

    with ThreadPoolExecutor(len(periods)) as pool:
        list(pool.map(commit, range(len(periods))))
    assert keys(spark, place.target(COLUMNS)) == [(period, period) for period in periods]
