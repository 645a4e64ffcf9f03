"""The close in Polars, streaming: the limit of what one machine can do."""

from pathlib import Path

import polars as pl

from benchmarks.close.by_hand import LINES


def close(ledger: Path, out: Path) -> None:
    lines = _lines(ledger)
    (out / "lines").mkdir(parents=True)
    euro, unit_price = _decimal("cents", 2).alias("euro"), _decimal("unit_price", 4)
    lines.with_columns(euro, unit_price).select(*LINES).sink_parquet(out / "lines" / "part-0.parquet")
    _summary(ledger, lines).write_parquet(out / "summary.parquet")


def _lines(ledger: Path) -> pl.LazyFrame:
    """Money in whole cents: decimals of Polars round half to even, ours half away from zero."""
    rates = pl.scan_parquet(str(ledger / "rates" / "*.parquet"))
    account, cents = pl.col("account"), pl.col("cents")
    kind = pl.when(account < "5000").then(pl.lit("revenue")).when(account < "6000").then(pl.lit("cost"))
    converted = _half_away(_whole("amount", 2) * _whole("rate", 6), pl.lit(1_000_000))
    return (
        pl.scan_parquet(str(ledger / "journal" / "*" / "*.parquet"))
        .filter(pl.col("_period").str.starts_with("2026-") & (pl.col("status") != "reversed"))
        .join(rates, on="currency", how="left")
        .with_columns(account_type=kind.otherwise(pl.lit("other")), cents=converted)
        .with_columns(cents=pl.when(pl.col("account_type") == "cost").then(-cents).otherwise(cents))
        .with_columns(
            cost_centre=pl.col("cost_centre").fill_null("CC-none"),
            unit_price=pl.when(pl.col("quantity") > 0).then(_half_away(cents * 100, pl.col("quantity"))),
            is_large=cents.abs() > 1_000_000,
        )
    )


def _summary(ledger: Path, lines: pl.LazyFrame) -> pl.DataFrame:
    measures = (pl.col("cents").sum(), pl.len().cast(pl.Int64).alias("line_count"))
    approved = pl.scan_parquet(str(ledger / "budgets" / "*.parquet")).filter(pl.col("budget_type") == "approved")
    by_account, budgets, by_type = pl.collect_all(
        [
            lines.group_by("account", "cost_centre").agg(*measures),
            approved.group_by("account", "cost_centre").agg(_whole("amount", 2).sum().alias("budget_cents")),
            lines.group_by("account_type", "currency").agg(*measures),
        ]
    )
    parts = [
        by_account.with_columns(budget_cents=pl.lit(0, pl.Int64), _operation_seq=pl.lit(8)),
        budgets.with_columns(_operation_seq=pl.lit(9)),
        by_type.with_columns(_operation_seq=pl.lit(10)),
    ]
    summary = pl.concat(parts, how="diagonal")
    return summary.with_columns(_decimal("cents", 2).alias("actual"), _decimal("budget_cents", 2).alias("budget"))


def _whole(column: str, scale: int) -> pl.Expr:
    return pl.col(column).mul(10**scale).cast(pl.Int64)


def _half_away(value: pl.Expr, divisor: pl.Expr) -> pl.Expr:
    return (value.abs() * 2 + divisor).floordiv(divisor * 2) * value.sign()


def _decimal(column: str, scale: int) -> pl.Expr:
    text = pl.lit(f"0.{'0' * (scale - 1)}1").str.to_decimal(scale=scale)
    return (pl.col(column).cast(pl.Decimal(28, 0)) * text).cast(pl.Decimal(38, scale)).alias(column)
