"""Codes of the expression family: the text from 001, names from 012, types from 020, grouping from 040."""

from daybook.errors.codes.entry import Code, code_family

EXPRESSION_CODES: dict[str, Code] = code_family(
    Code(
        "EXPR_001",
        "Unexpected {found}; expected {expected}",
        "The text is not an expression; the caret stands under the first word or sign that does not belong there.",
    ),
    Code(
        "EXPR_002",
        "The expression ends too early; expected {expected}",
        "Something is missing at the end: a value after an operator, a closing parenthesis, an END.",
    ),
    Code(
        "EXPR_003",
        "{found} has no meaning in an expression",
        "A sign that the language does not have, often pasted from a document or carried over from another language.",
    ),
    Code(
        "EXPR_004",
        "The {what} that begins here is not closed",
        "A text or a name in backticks lacks its closing quote.",
        hint="close it with the same quote; double a quote inside",
    ),
    Code(
        "EXPR_005",
        "{text} is not a number",
        "Numbers are written with digits and at most one point: 42, 3.14.",
        hint="write digits and one point, without exponent, separators or suffix",
    ),
    Code(
        "EXPR_006",
        "{text} has {digits} digits; the most is 38",
        "A number holds at most 38 digits, before and after the point together.",
    ),
    Code(
        "EXPR_007",
        "The expression is nested more than {limit} levels deep",
        "Parentheses, calls and CASE may be nested 64 levels deep.",
        hint="compute a part into a column first",
    ),
    Code(
        "EXPR_008",
        "The expression is too large: {found}, the most is {limit}",
        "An expression may have 2,000 parts, named expressions counted where they are used, and what Spark repeats.",
        hint="compute a part into a column first",
    ),
    Code("EXPR_009", "The expression is empty", "An expression needs at least a value."),
    Code(
        "EXPR_011",
        "The text holds half a character (U+{codepoint}), which no system can store",
        "Lone surrogates are not characters.",
        hint="remove it",
    ),
    Code(
        "EXPR_012",
        "Unknown column {name}",
        "The column does not exist at this place. Names of columns are case-sensitive.",
    ),
    Code(
        "EXPR_013",
        "Unknown table or alias {name}",
        "The word before the point must be the main table, the alias of a join of the same operation, or period.",
    ),
    Code(
        "EXPR_014",
        "Unknown function {name}",
        "Only the functions of the reference exist; their names may be written in any case.",
    ),
    Code("EXPR_015", "{name} takes {expected}, not {found}", "The function was given too many or too few arguments."),
    Code(
        "EXPR_020",
        "{name} takes {expected} as its {position} argument, not {found}",
        "An argument has a type that the function does not take.",
    ),
    Code(
        "EXPR_021",
        "{operator} works on {expected}, not on {found}",
        "An operator was given a value of a type it does not work on.",
    ),
    Code(
        "EXPR_022",
        "Cannot compare {left} with {right}",
        "Numbers compare with numbers, texts with texts, dates with dates, timestamps with timestamps; "
        "booleans only for equality, with booleans.",
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
        "{name} of {left} and {right} needs {scale} digits after the point; the most is 38",
        "Decimal arithmetic never drops digits after the point on its own.",
        hint="ROUND one of the values first",
    ),
    Code(
        "EXPR_026",
        "The {position} argument of {name} must be {expected}",
        "Some arguments have to be written out, within limits: the type of the result depends on them.",
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
        "Numbers fit columns of numbers; every other kind fits only its own. Values are never converted automatically.",
    ),
    Code(
        "EXPR_040",
        "{name} is computed of several rows, and here there is only one",
        "Aggregate functions are allowed in aggregate and in the aggregation of append; with OVER also in the "
        "assignments of an update, as are the functions for windows.",
        hint="use it in an aggregate operation",
    ),
    Code(
        "EXPR_041",
        "{name} stands inside another aggregate function",
        "An aggregate of an aggregate has no meaning within one grouping.",
        hint="use two aggregate operations",
    ),
    Code(
        "EXPR_042",
        "Column {name} is neither grouped by nor inside an aggregate function",
        "A summary row has one value per group; a column outside aggregate functions must be one of group_by.",
        hint="add it to group_by, or use an aggregate function such as MAX_AGG",
    ),
    Code(
        "EXPR_043",
        "An aggregation here has the form FUNCTION(column), such as SUM(amount) or COUNT(*)",
        "The aggregation of append takes one aggregate function of one column.",
    ),
    Code(
        "EXPR_044",
        "The aggregation uses no aggregate function",
        "An aggregation needs at least one of SUM, COUNT, COUNT_ALL, AVG, MIN_AGG and MAX_AGG.",
    ),
    Code("EXPR_045", "* stands for all rows and belongs to COUNT(*) only", "No other function takes a star."),
    Code(
        "EXPR_050",
        "The project has no selector or expression named {name!r}",
        "A name in double braces must be one of the project's selectors or expressions.",
    ),
    Code(
        "EXPR_051",
        "{name} refers to itself: {path}",
        "Named selectors and expressions may use each other, but not in a circle.",
        hint="take one of these references out",
    ),
    Code(
        "EXPR_052",
        "{{{{{name}}}}} cannot be used here",
        "Named selectors and expressions belong to a project, and can be used in all of its expressions; not in the "
        "rules of a resolver.",
        hint="write it out here",
    ),
    Code(
        "EXPR_060",
        "This is not a list of columns",
        "Columns are given by name and type with commas between them.",
        hint='write it as in "amount decimal(18,2), status string"',
    ),
    Code("EXPR_061", "{reason}", "The type of a column is not known."),
    Code(
        "EXPR_070",
        "{name} needs to know its rows: {name}(…) OVER (…)",
        "The functions for windows are computed of several rows of the operation.",
        hint="in the parentheses after OVER stand the columns of the group, and ORDER BY with those of the order",
    ),
    Code(
        "EXPR_071",
        "{name} stands inside {outer} OVER",
        "A window is computed of rows as they were before the operation, so there is neither another window nor an "
        "aggregate function inside it.",
        hint="compute the inner one by an update before this one",
    ),
    Code(
        "EXPR_072",
        "{name} needs an order",
        "Which row is before or after another is a matter of the order.",
        hint="write ORDER BY in the parentheses: OVER (region ORDER BY day)",
    ),
    Code(
        "EXPR_073",
        "{name} takes no {what}",
        "OVER belongs to aggregate functions and functions for windows; some of them have no order.",
    ),
    Code(
        "EXPR_074",
        "{name} OVER stands in an aggregation",
        "Windows stand in the assignments of an update only; an aggregation already has its groups.",
        hint="compute it by an update before the aggregation",
    ),
    Code(
        "EXPR_075",
        "ALLOCATE cannot divide {amount} by weights of {weight} exactly: together they have too many digits",
        "An allocation is computed in whole numbers of at most 38 digits, so that its parts add up to the amount.",
        hint="give the column of the amount or of the weight a type with fewer digits, such as decimal(15,2)",
    ),
    Code(
        "EXPR_076",
        "{value} is the same on all rows: it neither groups nor orders them",
        "In the parentheses after OVER stand columns, or expressions of columns.",
        hint="write OVER () for all rows; the name of a column stands without quotes, or in backticks",
    ),
)
