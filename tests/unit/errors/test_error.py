import pytest

from daybook.errors import DaybookError, notice
from daybook.errors.error import closest_match, did_you_mean


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("amout", "amount"),
        ("amuont", "amount"),
        ("AMOUNT", "amount"),
        ("staus", "status"),
        ("quantty", "quantity"),
        ("regions", "region"),
        ("customer", "customer_id"),
        ("xyz", None),
        ("a", None),
        ("", None),
    ],
)
def test_the_closest_name(name: str, meant: str | None) -> None:
    assert closest_match(name, ["amount", "status", "quantity", "region", "customer_id"]) == meant


def test_equally_close_names_give_the_first_in_order() -> None:
    assert closest_match("cat", ["hat", "bat"]) == "bat"


def test_a_third_of_the_letters_may_differ() -> None:
    assert closest_match("cat", ["bat"]) == "bat"
    assert closest_match("costum", ["custom"]) == "custom"
    assert closest_match("median", ["min"]) is None
    assert closest_match("active", ["rate"]) is None


def test_the_hint_lists_what_is_known_where_nothing_is_close() -> None:
    assert did_you_mean("amout", ["region", "amount"]) == "did you mean amount?"
    assert did_you_mean("xyz", ["region", "amount"]) == "known: amount, region"
    assert did_you_mean("xyz", ()) is None


def test_a_message_does_not_print_kilobytes_of_a_value() -> None:
    value = "x" * 2_000_000
    error = DaybookError("IO_004", file="a.csv", place="line 2", column="a", value=value, declared="integer")
    finding = notice("IO_007", file=value, columns="a", hint=value)
    assert len(error.message) < 2_000
    assert "(2,000,000 characters)" in error.message
    assert error.parameters["value"] == value
    assert len(finding.message) < 2_000
    assert len(str(finding.hint)) <= 10_000


def test_lists_that_are_the_message_are_shown_as_a_whole() -> None:
    listed = "; ".join(f"rule {number}" for number in range(500))
    assert listed in DaybookError("IO_021", location="t", difference=listed).message
