"""The formats by name; each is imported only when it is used."""

from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

from daybook.errors import DaybookError
from daybook.model.formats import FORMATS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from daybook.io.format import Format
    from daybook.io.target import Target
    from daybook.io.writer import Commit, StagedOutput, Writer


@cache
def format_named(name: str) -> "Format":
    """A format by its name in `daybook.model.formats`: the object FORMAT of `daybook.io.formats.<name>.format`."""
    try:
        format_: Format = import_module(f"daybook.io.formats.{name}.format").FORMAT
    except ModuleNotFoundError as missing:
        extra = FORMATS[name].extra
        if extra is None or (missing.name or "").partition(".")[0] == "daybook":
            raise
        raise DaybookError("IO_061", format=name, package=missing.name, extra=extra) from missing
    return format_


def writer_for(format_name: str) -> "Writer[Any]":
    return format_named(format_name).writer


def written_fingerprint(spark: "SparkSession", target: "Target", staged: "StagedOutput", commit: "Commit") -> str:
    """The fingerprint of what an output wrote: taken in the pass, or from what the format kept of the commit."""
    if staged.fingerprint is not None:
        return staged.fingerprint
    return format_named(target.format).fingerprint(spark, target, commit)
