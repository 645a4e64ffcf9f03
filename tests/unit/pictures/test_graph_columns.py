"""Lineage of columns as SVG: every column and every line is there, the way of a chosen one stands out."""

from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from daybook.pictures.graph import ColumnLine, TableColumns, draw_columns

SVG = "{http://www.w3.org/2000/svg}"
TABLES = (
    TableColumns("ledger", "ledger", ("amount", "account"), note="dataset"),
    TableColumns("rates", "rates", ("rate",)),
    TableColumns("close", "close", ("amount_eur", "account"), note="output 120", href="/runs/1"),
)
LINES = (
    ColumnLine(("ledger", "amount"), ("close", "amount_eur"), how="transformation"),
    ColumnLine(("rates", "rate"), ("close", "amount_eur"), how="transformation"),
    ColumnLine(("ledger", "account"), ("close", "account"), how="identity"),
    ColumnLine(("ledger", "account"), ("close", "amount_eur"), is_direct=False, how="selector"),
)


def classes(text: str, name: str) -> list[ElementTree.Element]:
    return [each for each in ElementTree.fromstring(text).iter() if name in (each.get("class") or "").split()]


def test_direct_and_indirect_lines() -> None:
    text = draw_columns(TABLES, LINES, title="Lineage of close")
    assert len(classes(text, "column")) == 5
    assert [len(classes(text, kind)) for kind in ("direct", "indirect")] == [3, 1]
    (dashed,) = classes(text, "indirect")
    titles = [each.text for each in dashed.iter(f"{SVG}title")]
    assert titles == ["close.amount_eur comes from ledger.account (selector)"]
    assert classes(text, "pale") == []


def test_the_way_of_a_chosen_column() -> None:
    text = draw_columns(TABLES, LINES, title="t", chosen=("rates", "rate"))
    assert [each.get("data-to") for each in classes(text, "edge") if "pale" not in (each.get("class") or "")] == [
        "close.amount_eur"
    ]
    assert len(classes(text, "chosen")) == 1
    shown = [each for each in classes(text, "column") if "pale" not in (each.get("class") or "")]
    assert sorted(each.findall(f"{SVG}text")[0].text or "" for each in shown) == ["amount_eur", "rate"]


def test_columns_lead_where_they_are_told() -> None:
    text = draw_columns(TABLES, LINES, title="t", hrefs={("rates", "rate"): "/lineage?column=rates.rate"})
    links = [each.get("href") for each in ElementTree.fromstring(text).iter(f"{SVG}a")]
    assert sorted(map(str, links)) == ["/lineage?column=rates.rate", "/runs/1"]


NAMES = st.sampled_from(["a", "b<c", "d&e", "ü", "x" * 60])


@settings(deadline=None)
@given(
    st.lists(st.tuples(NAMES, st.lists(NAMES, unique=True, max_size=4)), unique_by=lambda each: each[0], max_size=4),
    st.lists(st.tuples(NAMES, NAMES, NAMES, NAMES, st.booleans()), max_size=12),
)
def test_every_line_between_known_columns_is_drawn(
    tables: list[tuple[str, list[str]]], ends: list[tuple[str, str, str, str, bool]]
) -> None:
    shown = [TableColumns(name, name, tuple(columns)) for name, columns in tables]
    lines = [ColumnLine((a, b), (c, d), is_direct) for a, b, c, d, is_direct in ends]
    known = {(table.id, column) for table in shown for column in table.columns}
    text = draw_columns(shown, lines, title="t")
    assert len(classes(text, "edge")) == sum(line.source in known and line.target in known for line in lines)
    assert len(classes(text, "column")) == len(known)
