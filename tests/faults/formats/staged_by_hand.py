"""Staging tables of PostgreSQL as Spark's tasks would leave them, without the time Spark takes."""

import uuid

import psycopg
from psycopg import sql

from daybook.io.formats.postgresql.format import PostgresqlDatabase, create_staging
from daybook.io.target import TableTarget
from daybook.io.writer import StagedOutput
from tests.faults.formats.checks import COLUMNS, PERIOD
from tests.spark.io.cases import Place


def stage_by_hand(
    connection: psycopg.Connection, place: Place, generation: int, count: int
) -> tuple[StagedOutput, TableTarget]:
    """The rows of one generation, for a run of their own that replaces a period."""
    target = place.target(COLUMNS, mode="replace_period", run_period=PERIOD, run_id=str(uuid.uuid4()))
    return stage_for(connection, target, str(generation), count), target


def stage_for(connection: psycopg.Connection, target: TableTarget, key: str, count: int) -> StagedOutput:
    name = target.new_attempt_name()
    create_staging(PostgresqlDatabase(connection, "public"), name, COLUMNS)
    connection.execute(
        sql.SQL("insert into {} select {}, g, 0 from generate_series(1, {}) g").format(
            sql.Identifier(name), sql.Literal(key), sql.Literal(count)
        )
    )
    acknowledged = sql.Identifier(f"{name}.ack")
    connection.execute(sql.SQL("insert into {} values (0, {})").format(acknowledged, sql.Literal(count)))
    query = sql.SQL("select coalesce(max(id), 0) from {} where target = {}").format(
        sql.Identifier(PostgresqlDatabase.ledger.table), sql.Literal(target.location.table)
    )
    row = connection.execute(query).fetchone()
    return StagedOutput(name, count, seen=str(row[0]) if row else "0")
