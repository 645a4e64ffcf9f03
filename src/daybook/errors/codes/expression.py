"""Codes of the expression family: the text from 001, names from 012, types from 020, grouping from 040."""

from daybook.errors.codes.entry import Code, code_family

EXPRESSION_CODES: dict[str, Code] = code_family(
    Code(
        "EXPR_001",
        "Unexpected {found}; expected {expected}",
        "The text is not a valid expression. The caret marks the first word or sign that is not allowed there.",
    ),
    Code(
        "EXPR_002",
        "The expression ends too early; expected {expected}",
        "Something is missing at the end: a value after an operator, a closing parenthesis, an END.",
    ),
    Code(
        "EXPR_003",
        "{found} is not allowed in an expression",
        "The expression language does not have this sign. Often it was copied from a document or from "
        "another language.",
    ),
    Code(
        "EXPR_004",
        "The {what} that begins here is not closed",
        "A text or a name in backticks lacks its closing quote.",
        hint="close it with the same quote; write a quote inside it twice",
    ),
    Code(
        "EXPR_005",
        "{text} is not a number",
        "Numbers are written with digits and at most one point: 42, 3.14.",
        hint="write digits and one point, without exponent, separators or suffix",
    ),
    Code(
        "EXPR_006",
        "{text} has {digits} digits; the maximum is 38",
        "A number has at most 38 digits before and after the point together.",
    ),
    Code(
        "EXPR_007",
        "The expression is nested more than {limit} levels deep",
        "Parentheses, calls and CASE may be nested 64 levels deep.",
        hint="compute a part of it in a column first",
    ),
    Code(
        "EXPR_008",
        "The expression is too large: {found}, the maximum is {limit}",
        "An expression may have 2,000 parts. Named expressions, and parts that Spark computes several times, "
        "are counted each time.",
        hint="compute a part of it in a column first",
    ),
    Code("EXPR_009", "The expression is empty", "An expression needs at least one value."),
    Code(
        "EXPR_011",
        "The text contains an incomplete character (U+{codepoint}), which cannot be stored",
        "Unpaired surrogates are not characters.",
        hint="remove it",
    ),
    Code(
        "EXPR_012",
        "Unknown column {name}",
        "The column does not exist at this point of the project. Column names are case-sensitive.",
    ),
    Code(
        "EXPR_013",
        "Unknown table or alias {name}",
        "The name before the dot must be the main table, the alias of a join of the same operation, or period.",
    ),
    Code(
        "EXPR_014",
        "Unknown function {name}",
        "Only the functions in the reference exist. Function names are not case-sensitive.",
    ),
    Code("EXPR_015", "{name} takes {expected}, not {found}", "The function has too many or too few arguments."),
    Code(
        "EXPR_020",
        "{name} takes {expected} as its {position} argument, not {found}",
        "The function does not accept an argument of this type.",
    ),
    Code(
        "EXPR_021",
        "{operator} works on {expected}, not on {found}",
        "The operator does not accept a value of this type.",
    ),
    Code(
        "EXPR_022",
        "Cannot compare {left} with {right}",
        "Numbers can be compared with numbers, texts with texts, dates with dates, and timestamps with "
        "timestamps. Booleans can only be compared with booleans, and only for equality.",
    ),
    Code(
        "EXPR_023",
        "{name} must give one kind of value, not {left} and {right}",
        "The alternatives of IF, CASE, COALESCE, MIN, MAX and NULLIF must be of one kind: all numbers, all texts, "
        "all dates, all timestamps or all booleans.",
        hint="convert one of them: TO_STRING, TO_NUMBER, TO_DATE, DATE, TIMESTAMP",
    ),
    Code(
        "EXPR_024",
        "Expected a condition that is true or false, found {found}",
        "Selectors, join conditions and the conditions of IF, CASE, AND, OR and NOT are boolean.",
    ),
    Code(
        "EXPR_025",
        "{name} of {left} and {right} needs {scale} digits after the point; the maximum is 38",
        "Decimal arithmetic never removes digits after the point automatically.",
        hint="ROUND one of the values first",
    ),
    Code(
        "EXPR_026",
        "The {position} argument of {name} must be {expected}",
        "Some arguments must be literals within limits, because the type of the result depends on them.",
    ),
    Code(
        "EXPR_027",
        "{text} is not {expected}",
        "Dates and timestamps written in an expression are checked before the run.",
    ),
    Code(
        "EXPR_028",
        "{text} is not a format: {problem}",
        "Formats are made of yyyy, yy, MM, dd, HH, mm, ss and separators.",
    ),
    Code(
        "EXPR_029",
        "A value of type {source} does not fit a column of type {target}",
        "Numbers fit numeric columns; every other value fits only a column of its own type. Values are never "
        "converted automatically.",
    ),
    Code(
        "EXPR_040",
        "{name} is computed from several rows, but here an expression has only one row",
        "Aggregate functions are allowed in an aggregate and in the aggregation of an append. With OVER, "
        "aggregate functions and window functions are also allowed in the assignments of an update.",
        hint="use it in an aggregate operation",
    ),
    Code(
        "EXPR_041",
        "{name} is inside another aggregate function",
        "One grouping cannot compute an aggregate of an aggregate.",
        hint="use two aggregate operations",
    ),
    Code(
        "EXPR_042",
        "Column {name} must be in group_by or inside an aggregate function",
        "A summary row has one value per group, so a column outside aggregate functions must be in group_by.",
        hint="add it to group_by, or use an aggregate function such as MAX_AGG",
    ),
    Code(
        "EXPR_043",
        "An aggregation of an append must have the form FUNCTION(column), such as SUM(amount), or COUNT(*)",
        "The aggregation of an append is one aggregate function of one column.",
    ),
    Code(
        "EXPR_044",
        "The aggregation uses no aggregate function",
        "An aggregation needs at least one of SUM, COUNT, COUNT_ALL, AVG, MIN_AGG and MAX_AGG.",
    ),
    Code("EXPR_045", "* is allowed only in COUNT(*)", "No other function accepts *."),
    Code(
        "EXPR_050",
        "The project has no selector or expression named {name!r}",
        "A name in double braces must be a selector or an expression of the project.",
    ),
    Code(
        "EXPR_051",
        "{name} refers to itself: {path}",
        "Named selectors and expressions may use each other, but not in a cycle.",
        hint="remove one of these references",
    ),
    Code(
        "EXPR_052",
        "{{{{{name}}}}} cannot be used here",
        "Named selectors and expressions belong to a project and can be used in its expressions, but not in "
        "the rules of a resolver.",
        hint="write the expression itself here",
    ),
    Code(
        "EXPR_060",
        "This is not a list of columns",
        "A list of columns has a name and a type for each column, separated by commas.",
        hint='write it as in "amount decimal(18,2), status string"',
    ),
    Code("EXPR_061", "{reason}", "The type of a column is not known."),
    Code(
        "EXPR_070",
        "{name} needs OVER: {name}(…) OVER (…)",
        "Window functions are computed from several rows of the operation. OVER defines these rows.",
        hint="write the group columns in the parentheses after OVER, then ORDER BY and the columns that sort the rows",
    ),
    Code(
        "EXPR_071",
        "{name} is inside {outer} OVER",
        "A window is computed from the rows before the operation, so it cannot contain another window or an "
        "aggregate function.",
        hint="compute the inner function in an update before this one",
    ),
    Code(
        "EXPR_072",
        "{name} needs ORDER BY",
        "The order defines which row comes before or after another row.",
        hint="write ORDER BY in the parentheses: OVER (region ORDER BY day)",
    ),
    Code(
        "EXPR_073",
        "{name} does not accept {what}",
        "OVER is allowed after aggregate functions and window functions. Some of them do not accept ORDER BY.",
    ),
    Code(
        "EXPR_074",
        "{name} OVER is not allowed in an aggregation",
        "Windows are allowed only in the assignments of an update. An aggregation already has groups.",
        hint="compute it in an update before the aggregation",
    ),
    Code(
        "EXPR_075",
        "ALLOCATE cannot divide {amount} by weights of {weight} exactly: together they have too many digits",
        "An allocation is computed in whole numbers of at most 38 digits, so that its parts add up to the amount.",
        hint="give the column of the amount or of the weight a type with fewer digits, such as decimal(15,2)",
    ),
    Code(
        "EXPR_076",
        "{value} is the same in all rows, so it cannot group or sort them",
        "The parentheses after OVER contain columns, or expressions that use columns.",
        hint="write OVER () for all rows; write the name of a column without quotes, or in backticks",
    ),
    Code(
        "EXPR_077",
        "The project has no parameter {name}",
        "A parameter must be declared under `parameters` of the project before expressions can use it.",
    ),
)
