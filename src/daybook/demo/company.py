"""The company of the demonstration: accounts, cost centres and what is posted where."""

from dataclasses import dataclass

YEAR = 2026
MONTHS = range(1, 13)

SHARED_CENTRE = "CC-900"
SHARED_ACCOUNT = "6800"
UNKNOWN_CENTRE = "CC-777"
PAYABLES = "2000"


@dataclass(frozen=True, slots=True)
class Account:
    code: str
    name: str
    type: str


@dataclass(frozen=True, slots=True)
class CostCentre:
    """`headcount` is who works there; for shared services, how many people they serve."""

    code: str
    name: str
    charged_by: str | None
    headcount: int


@dataclass(frozen=True, slots=True)
class Posting:
    """A kind of journal: what it books, against which account, how often and how much (in cents)."""

    account: str
    counter_account: str
    weight: int
    lowest: int
    highest: int
    centres: tuple[str, ...]
    texts: tuple[str, ...]
    is_credit: bool = False


ACCOUNTS = (
    Account("1200", "Trade receivables", "Assets"),
    Account("2000", "Trade payables", "Liabilities"),
    Account("2100", "Payroll liabilities", "Liabilities"),
    Account("4000", "Product sales", "Revenue"),
    Account("4100", "Services", "Revenue"),
    Account("4200", "Licences", "Revenue"),
    Account("5000", "Materials", "Cost of sales"),
    Account("5100", "Freight", "Cost of sales"),
    Account("6000", "Salaries", "Personnel"),
    Account("6100", "Social security", "Personnel"),
    Account("6200", "Training", "Personnel"),
    Account("6300", "Advertising", "Marketing"),
    Account("6310", "Trade fairs", "Marketing"),
    Account("6400", "Software and cloud", "Technology"),
    Account("6410", "Hardware", "Technology"),
    Account("6500", "Rent", "Facilities"),
    Account("6510", "Energy", "Facilities"),
    Account("6600", "Travel", "Travel"),
    Account("6800", "Shared services", "Shared services"),
)

COST_CENTRES = (
    CostCentre("CC-110", "Sales Europe", SHARED_CENTRE, 64),
    CostCentre("CC-120", "Sales Americas", SHARED_CENTRE, 48),
    CostCentre("CC-130", "Marketing", SHARED_CENTRE, 22),
    CostCentre("CC-210", "Production", SHARED_CENTRE, 120),
    CostCentre("CC-220", "Logistics", SHARED_CENTRE, 46),
    CostCentre("CC-310", "Engineering", SHARED_CENTRE, 70),
    CostCentre("CC-410", "Finance", SHARED_CENTRE, 18),
    CostCentre("CC-420", "People", SHARED_CENTRE, 12),
    CostCentre(SHARED_CENTRE, "Shared services", None, 400),
)

_SALES_CENTRES = ("CC-110", "CC-120")
# Big cost centres post more often.
_CENTRES_BY_HEADCOUNT = tuple(
    centre.code for centre in COST_CENTRES if centre.charged_by for _ in range(centre.headcount // 6)
)

POSTINGS = (
    Posting(
        "4000", "1200", 230, 90_000, 640_000, _SALES_CENTRES, ("Invoice", "Invoice, web shop", "Framework order"), True
    ),
    Posting("4100", "1200", 90, 60_000, 420_000, (*_SALES_CENTRES, "CC-310"), ("Consulting", "Installation"), True),
    Posting(
        "4200", "1200", 60, 45_000, 320_000, (*_SALES_CENTRES, "CC-310"), ("Annual licence", "Monthly licence"), True
    ),
    Posting("5000", PAYABLES, 150, 50_000, 640_000, ("CC-210",), ("Steel", "Components", "Packaging")),
    Posting("5100", PAYABLES, 70, 8_000, 110_000, ("CC-220",), ("Freight", "Customs")),
    Posting("6000", "2100", 120, 70_000, 230_000, _CENTRES_BY_HEADCOUNT, ("Salaries", "Overtime", "Bonus accrual")),
    Posting("6100", "2100", 60, 20_000, 90_000, _CENTRES_BY_HEADCOUNT, ("Social security", "Pension")),
    Posting("6200", PAYABLES, 20, 10_000, 80_000, _CENTRES_BY_HEADCOUNT, ("Training", "Conference")),
    Posting("6300", PAYABLES, 45, 20_000, 240_000, (*_SALES_CENTRES, "CC-130"), ("Online campaign", "Print")),
    Posting("6310", PAYABLES, 15, 40_000, 380_000, ("CC-130",), ("Trade fair", "Booth")),
    Posting("6400", PAYABLES, 55, 5_000, 190_000, ("CC-210", "CC-310", "CC-410"), ("Cloud", "Subscriptions")),
    Posting("6410", PAYABLES, 25, 30_000, 210_000, ("CC-210", "CC-310"), ("Laptops", "Test equipment")),
    Posting("6500", PAYABLES, 15, 90_000, 460_000, ("CC-110", "CC-210", "CC-220"), ("Rent", "Warehouse")),
    Posting("6510", PAYABLES, 15, 30_000, 250_000, ("CC-210", "CC-220"), ("Electricity", "Gas")),
    Posting("6600", PAYABLES, 30, 6_000, 150_000, _CENTRES_BY_HEADCOUNT, ("Flight", "Train", "Hotel")),
)

# Of a hundred journals, so many are in this currency.
CURRENCIES = {"EUR": 58, "USD": 22, "GBP": 12, "CHF": 8}

ACCOUNT_TYPES = {account.code: account.type for account in ACCOUNTS}
