"""Codes of the resolve family."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family(
    # Periods
    Code(
        "RESOLVE_001",
        "Calendar {calendar} has no period {identifier}",
        "A period is named by its exact identifier. The Gregorian calendar knows years (2026), quarters (2026-Q1), "
        "months (2026-01) and days (2026-01-15).",
    ),
    Code(
        "RESOLVE_002",
        "{range} is not a range of periods: {problem}",
        "A range names its first and its last period, both of one level, the earlier one first.",
    ),
    Code(
        "RESOLVE_003",
        "Unknown calendar {calendar}",
        "A calendar is `gregorian` or one that a `calendar:` definition of the workspace declares.",
    ),
    Code(
        "RESOLVE_004",
        "Calendar {calendar} has no level {level}",
        "A level is named as the calendar of the run's period names it: year, quarter, month and day in the "
        "Gregorian calendar.",
    ),
    Code(
        "RESOLVE_005",
        "{period} {problem} {level}",
        "Periods are made up of periods of a finer level and lie in periods of a coarser one, never the other way.",
    ),
    Code(
        "RESOLVE_006",
        "Calendar {calendar} lists no {level} periods for {period}",
        "A calendar that lists its periods may leave out the finer ones of a period, or the coarser one around it. "
        "Data of that level can then not be found for it.",
        hint="List them in the calendar, or take another data_level.",
    ),
    # Templates and places
    Code(
        "RESOLVE_030",
        "Unknown token {token} in {template}",
        "Paths and table names may hold the tokens YYYY, MM, DD, QQ, identifier and table_name in double braces.",
    ),
    Code(
        "RESOLVE_031",
        "A brace {brace} in {template} belongs to no token",
        "Tokens stand in double braces on both sides; no other braces are allowed in a path or table name.",
    ),
    Code(
        "RESOLVE_032",
        "{token} in {template} makes no sense for the {level} {period}: {start} to {end} is not within one {unit}",
        "YYYY, QQ, MM and DD are parts of the civil date. They can be filled in only when they are the same for "
        "every day of the period, so that a year has no month and a fiscal year may have no single year.",
    ),
    Code(
        "RESOLVE_034",
        "Table {table} is there twice: as the file {file} and as the folder {folder}",
        "A table of a CSV or JSON data source is either one file or a folder of files.",
        hint="Move one of them away.",
    ),
    Code(
        "RESOLVE_035",
        "Path {path} cannot be used: {problem}",
        "A path lies below the folder of its data source, or below the workspace. Anything that could be read as "
        "another place is refused: parts named . or .., absolute paths, URIs, ~, wildcards, backslashes, escapes "
        "such as %2e, control characters. The folder of a data source may be relative, absolute or a URI.",
    ),
    Code(
        "RESOLVE_036",
        "Path {path} leads out of {root} by a symbolic link",
        "Links are followed before a path is used; where they end has to lie below the folder of the data source.",
        hint="Declare a data source for the folder that the link points to.",
    ),
    Code(
        "RESOLVE_037",
        "The format of {path} is not known",
        "The format of an inline path is read off its extension when it is not written.",
    ),
    Code(
        "RESOLVE_038",
        "Table name {table} cannot be used: {problem}",
        "In a folder a table's name is the name of its subfolder. In a database any name goes.",
    ),
    Code(
        "RESOLVE_039",
        "Data source {datasource} is a {type} database and has no paths",
        "A path strategy needs a data source that is a folder.",
        hint="Use a table strategy.",
    ),
    # Resolvers
    Code(
        "RESOLVE_040",
        "ResolverNotFound: nothing says where the data of dataset {dataset} lies",
        "The data is found by the project's resolver_overrides, then by the dataset's resolver_id or its own "
        "location, then by the resolver with is_default: true. There was none of these.",
        hint="Give the dataset a location or a resolver_id.",
    ),
    Code("RESOLVE_041", "Unknown resolver {resolver}", "A resolver is named by its id."),
    Code(
        "RESOLVE_042",
        "Resolver {resolver} is disabled",
        "A resolver that the definitions no longer hold is disabled by apply --prune.",
        hint="Define it again, or use another one.",
    ),
    Code("RESOLVE_043", "Unknown data source {datasource}", "A data source is named by its id."),
    Code(
        "RESOLVE_044",
        "Data source {datasource} is disabled",
        "A data source that the definitions no longer hold is disabled by apply --prune.",
        hint="Define it again, or use another one.",
    ),
    Code(
        "RESOLVE_045",
        "No rule of resolver {resolver} matches table {table} and period {period}: {answers}",
        "Rules are tried in their order, and the first whose when is true is taken. A rule without when always "
        "matches; a when that is NULL does not.",
        hint="Add a rule without when at the end to catch the rest.",
    ),
    Code(
        "RESOLVE_047",
        "Dataset {dataset} has both a location and the resolver {resolver}",
        "A dataset names its data's place itself or leaves it to a resolver.",
        hint="Remove one of them.",
    ),
)
