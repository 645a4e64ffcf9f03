"""The root error, spans and codes."""

from daybook.errors.codes import CODES, FAMILIES, Code
from daybook.errors.error import DaybookError, DaybookErrors, Notice, Span, flatten, notice, raise_all
from daybook.errors.render import (
    error_to_json,
    error_to_record,
    findings_of_record,
    render,
    render_finding,
    render_notice,
)

__all__ = [
    "CODES",
    "FAMILIES",
    "Code",
    "DaybookError",
    "DaybookErrors",
    "Notice",
    "Span",
    "error_to_json",
    "error_to_record",
    "findings_of_record",
    "flatten",
    "notice",
    "raise_all",
    "render",
    "render_finding",
    "render_notice",
]
