"""Codes of the resolve family."""

from daybook.errors.codes.entry import Code, code_family

RESOLVE_CODES: dict[str, Code] = code_family(
    # Periods
    Code(
        "RESOLVE_001",
        "Calendar {calendar} has no period {identifier}",
        "A period is named by its exact identifier. The Gregorian calendar has years (2026), quarters "
        "(2026-Q1), months (2026-01) and days (2026-01-15).",
    ),
    Code(
        "RESOLVE_002",
        "{range} is not a range of periods: {problem}",
        "A range names its first and its last period. Both have the same level, and the earlier one is first.",
    ),
    Code(
        "RESOLVE_003",
        "Unknown calendar {calendar}",
        "A calendar is `gregorian` or one that a `calendar:` definition of the workspace declares.",
    ),
    Code(
        "RESOLVE_004",
        "Calendar {calendar} has no level {level}",
        "A level has the name that the calendar of the run's period gives it: year, quarter, month and day "
        "in the Gregorian calendar.",
    ),
    Code(
        "RESOLVE_005",
        "{period} {problem} {level}",
        "A period consists of periods of a finer level and is part of a period of a coarser level.",
    ),
    Code(
        "RESOLVE_006",
        "Calendar {calendar} lists no {level} periods for {period}",
        "A calendar that lists its periods may omit the finer periods of a period, or the coarser period "
        "around it. Data of that level cannot be found then.",
        hint="list them in the calendar, or use another data_level",
    ),
    # Calendars
    Code(
        "RESOLVE_010",
        "The id {calendar} is reserved for the built-in calendar",
        "The Gregorian calendar always exists and cannot be declared again.",
        hint="give the calendar another id",
    ),
    Code(
        "RESOLVE_011",
        "Calendar {calendar} has {problem}",
        "A calendar divides time by a rule, or lists its periods.",
    ),
    Code(
        "RESOLVE_012",
        "Level {level}: {problem}",
        "With a rule every level has a name, a unit and an identifier pattern; with listed periods it has a name.",
    ),
    Code(
        "RESOLVE_013",
        "The week rule cannot be used: {problem}",
        "A year of weeks either ends (`year_ends`) on a weekday at or near the end of a month, or is counted "
        "(`years`) from a first day, with a list of the long years.",
    ),
    Code(
        "RESOLVE_014",
        "Level {level} cannot have the unit {unit}: {problem}",
        "Units are year, half, quarter, month, week (with a week rule) and day, from coarse to fine.",
    ),
    Code(
        "RESOLVE_015",
        "The identifier {pattern} of level {level} cannot be used: {problem}",
        "A pattern must give each period of its level a different text, and two levels must not give the "
        "same text. The tokens year, half, quarter, month and week count within the calendar's own year; "
        "YYYY, MM and DD are the civil date.",
    ),
    Code(
        "RESOLVE_016",
        "Period {period} cannot be listed: {problem}",
        "A listed period has a unique identifier, one of the calendar's levels, a first and a last day.",
        hint="correct its entry under periods, or remove it",
    ),
    Code(
        "RESOLVE_017",
        "Periods {first} and {second} overlap on {day}",
        "Periods of one level must not overlap, so that no row belongs to two of them.",
        hint="let {second} start on the day after {first} ends",
    ),
    Code(
        "RESOLVE_018",
        "There is a gap from {start} to {end} between the periods {first} and {second}",
        "Periods of one level must follow each other without a gap, so that every day belongs to a period.",
    ),
    Code(
        "RESOLVE_019",
        "Period {period} is not inside one period of the level above: {problem}",
        "Every period must be inside one period of the next coarser level.",
    ),
    Code(
        "RESOLVE_020",
        "The {level} periods of {period} cover only {start} to {end}",
        "If the finer periods of a period are listed, they must cover it from its first to its last day.",
    ),
    # Templates and locations
    Code(
        "RESOLVE_030",
        "Unknown token {token} in {template}",
        "Paths and table names may contain the tokens YYYY, MM, DD, QQ, identifier and table_name in double braces.",
    ),
    Code(
        "RESOLVE_031",
        "The brace {brace} in {template} is not part of a token",
        "Tokens are written in double braces. No other braces are allowed in a path or table name.",
    ),
    Code(
        "RESOLVE_032",
        "{token} in {template} has no value for the {level} {period}: {start} to {end} is not within one {unit}",
        "YYYY, QQ, MM and DD are parts of the civil date. They can be filled in only if they are the same "
        "for every day of the period. For example, a year has no single month, and a fiscal year may have "
        "days in two civil years.",
    ),
    Code(
        "RESOLVE_034",
        "Table {table} exists twice: as the file {file} and as the folder {folder}",
        "A table of a CSV or JSON data source is either one file or a folder of files.",
        hint="move one of them to another folder",
    ),
    Code(
        "RESOLVE_035",
        "Path {path} cannot be used: {problem}",
        "A path must be below the folder of its data source, or below the workspace. Anything that could "
        "lead to another folder is refused: parts named . or .., absolute paths, URIs, ~, wildcards, "
        "backslashes, escapes such as %2e, control characters. The folder of a data source may be relative, "
        "absolute or a URI.",
    ),
    Code(
        "RESOLVE_036",
        "Path {path} leads out of {root} through a symbolic link",
        "Links are followed before a path is used. The target of a link must be below the folder of the data source.",
        hint="declare a data source for the folder that the link points to",
    ),
    Code(
        "RESOLVE_037",
        "The format of {path} is not known",
        "If an inline path has no format, the format is derived from its extension.",
    ),
    Code(
        "RESOLVE_038",
        "Table name {table} cannot be used: {problem}",
        "In a folder, the name of a table is the name of its subfolder. In a database, any name is allowed.",
    ),
    Code(
        "RESOLVE_039",
        "Data source {datasource} is a {type} database and has no paths",
        "A path strategy needs a data source that is a folder.",
        hint="use a table strategy",
    ),
    # Resolvers
    Code(
        "RESOLVE_040",
        "ResolverNotFound: the location of dataset {dataset} is not known",
        "Daybook uses the project's resolver_overrides, then the dataset's resolver_id or location, then the "
        "resolver with is_default: true. None of these is given.",
        hint="give the dataset a location or a resolver_id",
    ),
    Code("RESOLVE_041", "Unknown resolver {resolver}", "A resolver is named by its id."),
    Code(
        "RESOLVE_042",
        "Resolver {resolver} is disabled",
        "`daybook apply --prune` disables a resolver that is no longer defined.",
        hint="define it again, or use another one",
    ),
    Code("RESOLVE_043", "Unknown data source {datasource}", "A data source is named by its id."),
    Code(
        "RESOLVE_044",
        "Data source {datasource} is disabled",
        "`daybook apply --prune` disables a data source that is no longer defined.",
        hint="define it again, or use another one",
    ),
    Code(
        "RESOLVE_045",
        "No rule of resolver {resolver} matches table {table} and period {period}: {answers}",
        "Rules are tried in their order, and the first rule whose `when` is true is used. A rule without "
        "`when` always matches. A `when` that is NULL does not match.",
        hint="add a rule without `when` at the end for all other cases",
    ),
    Code(
        "RESOLVE_046",
        "{place} is the location of {periods} only",
        "A location that belongs to one period cannot also belong to another period: its rows would be read twice.",
    ),
    Code(
        "RESOLVE_048",
        "The condition of a rule cannot use {what}",
        "A rule is selected before any data is read, and every retry must select the same rule. Its `when` "
        "can use the period, the name of the table, all operators, whole numbers, and the functions for "
        "conditions, texts and dates that do not use the clock or Spark.",
        hint="compare period.identifier, period.level, period.start_date, period.end_date or table.name instead",
    ),
    Code(
        "RESOLVE_049",
        "A value in the condition of a rule is out of range: {operator} of {left} and {right}",
        "Whole numbers have 64 bits, and dates end in the year 9999.",
    ),
    Code(
        "RESOLVE_050",
        "No calendar has the level {level}",
        "A data_level is any or a level of a calendar: year, quarter, month and day in the Gregorian one, or what "
        "a declared calendar calls its levels.",
    ),
    # Catalog endpoints
    Code(
        "RESOLVE_060",
        "The catalog endpoint cannot be used: {problem}",
        "An endpoint is an http or https address with a host, and without user, password and fragment.",
    ),
    Code(
        "RESOLVE_061",
        "Host {host} is not allowed",
        "Daybook calls catalog endpoints only on hosts that the workspace allows. Otherwise a definition "
        "alone could send requests into a network. A port other than that of http or https is part of the "
        "name.",
        hint="add it to catalogs.allowed_hosts in daybook.yaml",
    ),
    Code("RESOLVE_062", "Catalog {endpoint} cannot be reached: {problem}", "The connection failed or was closed."),
    Code(
        "RESOLVE_063",
        "Catalog {endpoint} did not answer in time",
        "There are time limits for the connection, for each part of the answer, and for the whole answer.",
    ),
    Code(
        "RESOLVE_064",
        "Catalog {endpoint} answered with status {status}",
        "An endpoint must answer with status 200. The statuses 401 and 403 usually mean that auth is missing or wrong.",
    ),
    Code(
        "RESOLVE_065",
        "Catalog {endpoint} redirects: {problem}",
        "Redirects are followed at most three times, and only within the same host. A POST is sent again "
        "only after the statuses 307 and 308.",
        hint="write the final address as the endpoint",
    ),
    Code(
        "RESOLVE_066",
        "Catalog {endpoint} answered with more than {limit} bytes",
        "The size of an answer is limited, because locations are few and short.",
    ),
    Code("RESOLVE_067", "The answer of catalog {endpoint} is not JSON", "An endpoint answers with a JSON object."),
    Code(
        "RESOLVE_068",
        "The answer of catalog {endpoint} does not have the expected form: {problem}",
        "The answer is an object with the key locations: a list of objects with datasource_id and either path or "
        "table (and schema), and optionally period and delta_version. Other keys are errors.",
    ),
    Code(
        "RESOLVE_069",
        "Catalog {endpoint} has no location for period {period}",
        "An empty list of locations is an error; it does not mean an empty table.",
    ),
    Code(
        "RESOLVE_070",
        "The header {name} contains a secret",
        "Definitions are kept in version control, so they must not contain secrets.",
        hint="write auth: env://NAME, or the reference as the header's value",
    ),
    Code(
        "RESOLVE_071",
        "A credential would be sent to {endpoint} unencrypted",
        "Credentials are sent only over https, or to this machine.",
        hint="use https",
    ),
    Code("RESOLVE_072", "Header {name} cannot be sent: {problem}", "Headers are plain text of one line."),
    Code(
        "RESOLVE_073",
        "Parameter {name} cannot be sent",
        "Parameters are texts, numbers and booleans; with method POST also lists and objects of these.",
    ),
    Code(
        "RESOLVE_074",
        "The catalog names a Delta version, but data source {datasource} is {type}",
        "Only Delta tables have versions.",
    ),
    # Credentials
    Code(
        "RESOLVE_080",
        "A credential must be a reference, not the secret itself",
        "A reference names where a secret is stored: env://NAME for an environment variable, file://PATH for "
        "a file, absolute or relative to the workspace.",
        hint="write env://NAME or file://PATH",
    ),
    Code(
        "RESOLVE_081",
        "The credential {reference} cannot be read: {problem}",
        "The environment variable must be set, or the file must be readable, and the secret must not be empty.",
    ),
    # Windows of views
    Code(
        "RESOLVE_090",
        "A window {{to_date: {level}}} cannot be read in a run for {period}, which is a {period_level}",
        "The window {to_date: LEVEL} starts with the first period of that level and ends with the period of "
        "the run. The level must be coarser than the period of the run, or the same.",
        hint="name a level that is coarser than {period_level}",
    ),
    Code(
        "RESOLVE_091",
        "The window begins at {first}, a {level}, but the run's period {period} is a {expected}",
        "The first period of a window has the same level as the runs that read it.",
        hint="name a first period of the level {expected}",
    ),
    Code(
        "RESOLVE_092",
        "In a run for {period}, the view {view} reads a period that the calendar {calendar} does not have",
        "The window of a view is counted from the period of the run, so it may begin before the first period "
        "of a calendar.",
        hint="write `missing: empty` in the view to read no rows for such a period",
    ),
    Code(
        "RESOLVE_093",
        "The view {view} reads {dataset} for {missing}, which does not exist",
        "A period exists if a completed run wrote its slice, or if its location exists.",
        hint="first run the project that writes {dataset} for {missing}, or write `missing: empty` in the view",
    ),
    Code(
        "RESOLVE_094",
        "It is not known which periods {dataset} has, so a view of all periods cannot be read",
        "If each period has its own location, the window must name the first period.",
        hint="write {{all: {{from: PERIOD}}}} with the first period",
    ),
)
