"""The Spark data source whose tasks COPY Arrow batches into a staging table.

Executors need nothing of Daybook: this module imports only installed packages and is pickled by value.
"""

import os
import select
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from types import FrameType
from typing import Any

from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

FORMAT = "daybook_postgresql"
ATTEMPT = "__attempt"
# Spark hides the values of options whose names hold this word.
ADDRESS = "secret_address"
SCHEMA = "staging_schema"
TABLE = "staging_table"
ACKNOWLEDGED = "acknowledged_table"
# Long enough for Spark to fill what lies between it and a worker.
UNTAKEN_SECONDS = 2.0
# Spark notices a failure when it has filled that; a slow query may take a while.
NOTICE_SECONDS = 60.0


@dataclass
class Copied(WriterCommitMessage):
    attempt: int
    rows: int


class CopyWriter(DataSourceArrowWriter):
    def __init__(self, options: dict[str, str]) -> None:
        self.options = options

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        import adbc_driver_postgresql.dbapi as adbc
        import pyarrow
        from pyspark import TaskContext

        context = TaskContext.get()
        # Unique among all attempts of all tasks of the session; a number is cheaper to copy and to compare than text.
        attempt = context.taskAttemptId() if context else 0
        tag = pyarrow.field(ATTEMPT, pyarrow.int64())
        rows = 0

        def tagged(first: Any) -> Iterator[Any]:
            nonlocal rows
            batch = first
            while batch is not None:
                rows += batch.num_rows
                tags = pyarrow.repeat(pyarrow.scalar(attempt, tag.type), batch.num_rows)
                yield pyarrow.RecordBatch.from_arrays([*batch.columns, tags], schema=batch.schema.append(tag))
                batch = next(iterator, None)

        first = next(iterator, None)
        if first is not None:
            reader = pyarrow.RecordBatchReader.from_batches(first.schema.append(tag), tagged(first))
            try:
                with adbc.connect(self.options[ADDRESS]) as connection, connection.cursor() as cursor:
                    cursor.adbc_ingest(self.options[TABLE], reader, mode="append", db_schema_name=self.options[SCHEMA])
                    connection.commit()
            except Exception as failure:
                if context:
                    self._wait_until_noticed(failure)
                raise
        return Copied(attempt, rows)

    def _wait_until_noticed(self, failure: Exception) -> None:
        """Report the failure to Spark, and take no rows until Spark has noticed it.

        Spark looks for a failure only when its rows are not taken, and a failed worker takes them all: the rest of the
        partition would be computed for nothing.
        """
        from pyspark.util import handle_worker_exception

        frame: FrameType | None = sys._getframe()
        while frame is not None and not {"infile", "outfile"} <= set(frame.f_locals):
            frame = frame.f_back
        if frame is None or not hasattr(select, "poll"):
            time.sleep(UNTAKEN_SECONDS)
            return
        output = frame.f_locals["outfile"]
        handle_worker_exception(failure, output)
        output.flush()
        closed = select.poll()
        closed.register(output.fileno(), getattr(select, "POLLRDHUP", select.POLLHUP))
        if closed.poll(NOTICE_SECONDS * 1000):
            # Nobody is left who could be told more.
            os._exit(1)

    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        """Note which attempts Spark acknowledged; only their rows will move."""
        import adbc_driver_postgresql.dbapi as adbc
        import pyarrow

        copied = [message for message in messages if isinstance(message, Copied)]
        table = pyarrow.table(
            {
                "attempt": pyarrow.array([message.attempt for message in copied], pyarrow.int64()),
                "rows": pyarrow.array([message.rows for message in copied], pyarrow.int64()),
            }
        )
        with adbc.connect(self.options[ADDRESS]) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest(self.options[ACKNOWLEDGED], table, mode="append", db_schema_name=self.options[SCHEMA])
            connection.commit()

    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        """Nothing to undo: rows without acknowledgement never move."""


class CopySource(DataSource):
    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        raise NotImplementedError("this source is only written to")

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        return CopyWriter({name: self.options[name] for name in (ADDRESS, SCHEMA, TABLE, ACKNOWLEDGED)})
