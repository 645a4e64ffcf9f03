"""How much a run is going to read, as far as that can be seen without reading it."""

from daybook.io.place import list_files
from daybook.runs.preparing import Prepared


def input_bytes(prepared: Prepared) -> int | None:
    """The size of the files that the input and what is joined and appended lie in; None with a database among them."""
    locations = {
        location.uri: location for source in prepared.snapshot.sources for location in source.resolution.locations
    }
    if any(location.is_database for location in locations.values()):
        return None
    return sum(file.size for uri in locations if uri is not None for file in list_files(uri))
