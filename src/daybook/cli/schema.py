"""`daybook schema`: JSON Schemas for editors."""

from pathlib import Path
from typing import Annotated

import typer

from daybook.cli.invocation import invocation
from daybook.cli.terminal import remark, say


def schema(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="FOLDER", help="The folder to write to.")] = Path(
        "schemas"
    ),
) -> None:
    """Write JSON Schemas for editors."""
    from daybook.errors import DaybookError
    from daybook.model.schema import write_schemas

    try:
        written = write_schemas(out)
    except OSError as error:
        raise DaybookError("MODEL_066", path=out.as_posix(), reason=error.strerror or str(error)) from error
    for path in written:
        say(path.as_posix())
    if not invocation(context).is_quiet:
        place = (out / "definition.schema.json").as_posix()
        remark(f"Begin a definition with the line\n  # yaml-language-server: $schema={place}")
