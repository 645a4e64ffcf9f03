"""Places as people read them: short where they are near."""

from pathlib import Path


def near(place: str) -> str:
    """A path relative to the current folder when it is below it; anything else as it is."""
    path = Path(place.removeprefix("file://"))
    if not path.is_absolute():
        return place
    here = Path.cwd()
    return path.relative_to(here).as_posix() if path.is_relative_to(here) else path.as_posix()
