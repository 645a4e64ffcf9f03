"""What cannot be used where Spark and this machine share no folder."""

from collections.abc import Iterable, Iterator

from daybook.errors import DaybookError
from daybook.resolve.location import Location

# Formats whose files Spark opens itself.
_OPENED_BY_SPARK = frozenset({"delta", "parquet"})
# Outputs of them are staged by Spark in files beside the target.
_STAGED_BY_SPARK = frozenset({"delta", "sqlite"})


def refuse_paths_of_spark(location: Location, *, is_output: bool) -> None:
    """IO_080 for what Spark would open by a path of this machine, or this machine by a path of Spark's."""
    if location.format in (_STAGED_BY_SPARK if is_output else _OPENED_BY_SPARK) or location.format == "jdbc":
        raise DaybookError("IO_080", location=location.label, format=location.format)


def unreachable_errors(locations: Iterable[Location]) -> Iterator[DaybookError]:
    """What Spark would have to open, of all that a dataset is read from."""
    for location in locations:
        try:
            refuse_paths_of_spark(location, is_output=False)
        except DaybookError as error:
            yield error
