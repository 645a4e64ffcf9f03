"""The root error, spans and codes."""

from daybook.errors.codes import CODES, FAMILIES, Code
from daybook.errors.data import as_data, kept_findings, render_data, to_keep
from daybook.errors.error import DaybookError, DaybookErrors, Notice, flatten, notice, raise_all
from daybook.errors.render import render, render_all, render_notice
from daybook.errors.span import Span

__all__ = [
    "CODES",
    "FAMILIES",
    "Code",
    "DaybookError",
    "DaybookErrors",
    "Notice",
    "Span",
    "as_data",
    "flatten",
    "kept_findings",
    "notice",
    "raise_all",
    "render",
    "render_all",
    "render_data",
    "render_notice",
    "to_keep",
]
