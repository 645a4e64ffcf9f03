"""Places as people read them: short where they are near."""

import re
from pathlib import Path


def current_folder() -> Path | None:
    """Where the user is; None when that folder has been removed."""
    try:
        return Path.cwd()
    except FileNotFoundError:
        return None


def near(place: str) -> str:
    """A path relative to the current folder when it is below it; anything else as it is."""
    path = Path(place.removeprefix("file://"))
    if not path.is_absolute():
        return place
    here = current_folder()
    return path.relative_to(here).as_posix() if here and path.is_relative_to(here) else path.as_posix()


def near_in(text: str) -> str:
    """A message whose paths below the current folder are written relative to it."""
    here = current_folder()
    if here is None or here == Path(here.anchor):
        return text
    return re.sub(rf"(?<![\w./-])(?:file://)?{re.escape(here.as_posix())}/(?=\S)", "", text)
