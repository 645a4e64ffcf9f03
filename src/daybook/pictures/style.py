"""The style sheet of pages, reports and pictures, light and dark."""

from pathlib import Path

STATIC_FOLDER = Path(__file__).parent / "static"


def style_sheet() -> str:
    return (STATIC_FOLDER / "daybook.css").read_text(encoding="utf-8")
