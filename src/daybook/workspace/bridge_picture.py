"""A bridge between two runs as a waterfall, for the page and the report."""

from daybook.compare.result import BridgeResult, Cause
from daybook.pictures.number_format import Negatives
from daybook.pictures.waterfall import Share, draw_waterfall


def draw_bridge(found: BridgeResult, *, negatives: Negatives = "minus", name: str = "bridge") -> str:
    """The total of A, the share of every cause in the order of swapping, and the total of B, as SVG."""
    shares = [Share(cause.label, cause.share, _rows_text(cause)) for cause in found.causes]
    if found.residual:
        shares.append(Share("not explained", found.residual))
    return draw_waterfall(
        (f"A: {found.a.period}", found.before),
        shares,
        (f"B: {found.b.period}", found.after),
        title=f"Why {found.measure} of {found.output} moved",
        name=name,
        negatives=negatives,
    )


def _rows_text(cause: Cause) -> str:
    if cause.rows is None:
        return ""
    rows = cause.rows
    counts = (("+", rows.added), ("\N{MINUS SIGN}", rows.removed), ("~", rows.changed))
    return " ".join(f"{sign}{count:,}" for sign, count in counts if count) + " rows"
