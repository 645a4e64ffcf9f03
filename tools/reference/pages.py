"""Which pages are made from the code, and by what."""

from collections.abc import Callable, Mapping
from pathlib import Path

from daybook.expression.functions.function_reference import reference_page
from tools.reference.commands import commands_page
from tools.reference.errors import errors_page
from tools.reference.files import files_page
from tools.reference.formats import formats_page

FOLDER = Path(__file__).parents[2] / "docs" / "reference"

PAGES: Mapping[str, Callable[[], str]] = {
    "commands.md": commands_page,
    "errors.md": errors_page,
    "files.md": files_page,
    "formats.md": formats_page,
    "functions.md": reference_page,
}
