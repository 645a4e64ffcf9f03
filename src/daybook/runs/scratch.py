"""Folders that live no longer than what they are for."""

from pyarrow import fs

from daybook.io.place import store_of


def remove_folder(uri: str) -> None:
    """With all it holds; harmless when it is not there."""
    place = store_of(uri)
    if place.system.get_file_info(place.path).type == fs.FileType.Directory:
        place.system.delete_dir(place.path)
