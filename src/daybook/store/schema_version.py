"""Which schema a store has and bringing it to the one this Daybook needs.

Alembic takes a while to import, so a store that is up to date never touches it.
"""

from pathlib import Path

from sqlalchemy import Connection, inspect, text

from daybook.errors import DaybookError

HEAD = "0001"
KNOWN = ("0001",)
MIGRATIONS = Path(__file__).parent / "migrations"


def found_version(connection: Connection) -> str | None:
    """The schema a store has; None for an empty one."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    version: str | None = connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()
    return version


def refuse_unknown(found: str | None, place: str) -> None:
    if found is not None and found not in KNOWN:
        raise DaybookError("STORE_005", place=place, found=found)


def upgrade(connection: Connection) -> None:
    """Migrate inside the caller's transaction."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)
