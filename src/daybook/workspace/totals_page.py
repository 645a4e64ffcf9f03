"""Renders the totals of a run as HTML, for its page and its report; every text is escaped."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from daybook.errors.render import printable
from daybook.pictures.shown_values import format_number
from daybook.workspace.totals import TotalsOfRun, draw_totals

_TEMPLATES = Path(__file__).parent / "templates"


def render_totals(totals: TotalsOfRun, in_workspace: Callable[[str], str]) -> Markup:
    """The HTML of the totals of a run: each measure as a picture and as tables, and the facts for auditors."""
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_shown,
    )
    environment.filters |= {"amount": _amount, "in_workspace": in_workspace}
    pictures = [
        Markup(draw_totals(totals, measure, name=f"flow-{number}")) for number, measure in enumerate(totals.measures)
    ]
    template = environment.get_template("totals.html")
    return Markup(template.render(totals=totals, pictures=pictures, information=totals.information))


def _amount(text: str) -> str:
    number = Decimal(text)
    return format_number(number) if number.is_finite() else text


def _shown(value: Any) -> Any:
    """Text of data has no characters that hide or turn other text."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
