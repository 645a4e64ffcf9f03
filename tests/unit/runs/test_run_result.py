"""What operations did, told alike wherever a run is shown."""

from daybook.runs.run_result import summarize_operations
from daybook.store.records import OperationResult

OPERATIONS = (
    OperationResult(0, "load", "load", rows_added=1000),
    OperationResult(10, "op-10", "update", rows_picked=400, rows_added=0, rows_deleted=0),
    OperationResult(20, "op-20", "delete", rows_picked=100, rows_added=0, rows_deleted=100),
    OperationResult(30, "op-30", "append", rows_picked=12, rows_added=12, rows_deleted=0),
    OperationResult(40, "op-40", "aggregate", rows_picked=912, rows_added=3, rows_deleted=0),
    OperationResult(50, "op-50", "output", rows_picked=3, rows_written=3, duration_ms=1234),
)


def test_rows_in_follow_from_what_was_added_and_deleted() -> None:
    found = [(effect.seq, effect.rows_in, effect.rows, effect.did) for effect in summarize_operations(OPERATIONS, {})]
    assert found == [
        (0, None, 1000, "read"),
        (10, 1000, 400, "changed"),
        (20, 1000, 100, "deleted"),
        (30, 900, 12, "added"),
        (40, 912, 3, "added"),
        (50, 915, 3, "written"),
    ]


def test_a_run_that_ended_while_reading_has_no_numbers() -> None:
    (read,) = summarize_operations([OperationResult(0, "load", "load", details={"pins": {}})], {})
    assert (read.rows_in, read.rows, read.did) == (None, None, "read")


def test_an_output_with_deleted_rows_finds_them_too() -> None:
    operations = (
        OperationResult(0, "load", "load", rows_added=3),
        OperationResult(1, "op-1", "delete", rows_picked=1, rows_added=0, rows_deleted=1),
        OperationResult(2, "op-2", "output", rows_picked=2, rows_written=2),
        OperationResult(3, "op-3", "output", rows_picked=3, rows_written=3, details={"include_deleted": True}),
    )
    found = [(effect.seq, effect.rows_in, effect.rows) for effect in summarize_operations(operations, {})]
    assert found == [(0, None, 3), (1, 3, 1), (2, 2, 2), (3, 3, 3)]
