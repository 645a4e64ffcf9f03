"""The names of columns in Iceberg tables, whoever writes them: by Spark or by pyiceberg."""

# Spark refuses to read a table with columns that are named like Iceberg's own metadata.
ICEBERG_NAMES = {"_row_id": "daybook_row_id", "_deleted": "daybook_deleted"}
_DAYBOOK_NAMES = {stored: name for name, stored in ICEBERG_NAMES.items()}


def stored_name(column: str) -> str:
    """What a column of Daybook is named in a table."""
    return ICEBERG_NAMES.get(column, column)


def daybook_name(stored: str) -> str:
    """What a column of a table is named in Daybook."""
    return _DAYBOOK_NAMES.get(stored, stored)
