"""Codes of measures and control totals."""

from daybook.errors.codes.entry import Code, code_family

TOTALS_CODES: dict[str, Code] = code_family(
    Code(
        "TOTALS_001",
        "{column} is a measure, and no operation and no dataset of this project has such a column",
        "A measure is a column of the working dataset: of the input, or one that an operation makes.",
    ),
    Code(
        "TOTALS_002",
        "{column} is a measure, and its type is {type}",
        "Totals are sums, so a measure is an integer, a decimal or a float.",
        hint="name a numeric column",
    ),
    Code(
        "TOTALS_003",
        "{column} is a measure twice",
        "Each measure is listed once.",
    ),
    Code(
        "TOTALS_004",
        "{column} has a control total, and the dataset has no numeric column of this name",
        "A control total is compared with the sum of a declared numeric column.",
    ),
    Code(
        "TOTALS_005",
        "This is no control: {reason}",
        "A control names the file that comes with each delivery (`path`), or says how many rows there are (`rows`) "
        "and what columns add up to (`totals`).",
        hint='write {{path: "data/{{{{identifier}}}}.control.csv"}} or {{rows: 1203, totals: {{amount: 10452.17}}}}',
    ),
    Code(
        "TOTALS_006",
        "The control has fixed figures, and the rows of this dataset change with the period",
        "Figures that are written down in the dataset hold for data that is the same for all periods.",
        hint='name a control file for each period: `control: {{path: "data/{{{{identifier}}}}.control.csv"}}`',
    ),
    Code(
        "TOTALS_010",
        "{location}: {what} {actual}, and {expected} by {control}",
        "What was read is not what the sender says was sent. Compared are all rows of each location, before the time "
        "filter and deleted ones included. Nothing was committed.",
        hint="get the missing or the right delivery, or a control file that belongs to it",
    ),
    Code(
        "TOTALS_011",
        "{location} has no control file: {control} does not exist",
        "The dataset names a control file, so data without one is not read. Nothing was committed.",
        hint="get the control file of the delivery",
    ),
    Code(
        "TOTALS_012",
        "{control} is no control file: {reason}",
        "A control file is CSV with the columns `rows` and `total_<column>`, and one row. Its numbers have a point "
        "before their decimals, and nothing between thousands.",
        hint="write for example the two lines `rows,total_amount` and `1203,10452.17`",
    ),
    Code(
        "TOTALS_013",
        "The rows of {location} cannot be compared with {control}: {reason}",
        "Control totals are compared location by location, without the rows of others.",
        hint="read one location, or take the control away",
    ),
    Code(
        "TOTALS_020",
        "{column} does not add up at operation {seq}: {equation}",
        "Every run sums each measure before and after every operation, and what the operation adds, deletes and "
        "changes, in sums of their own. They must agree. Nothing was committed.",
        hint="rows changed on the way that no operation picked; please report it as a bug",
    ),
    Code(
        "TOTALS_030",
        "Run {run_id} recorded no totals",
        "A run records totals if its project, or a dataset that it reads, names measures or a control. Runs of earlier "
        "versions have none.",
        hint="write `measures: [COLUMN]` in the project, and run it",
    ),
    Code(
        "TOTALS_031",
        "{column} is no measure of run {run_id}; its measures are {measures}",
        "A run records totals for the measures that its project, or a dataset that it reads, names.",
    ),
)
