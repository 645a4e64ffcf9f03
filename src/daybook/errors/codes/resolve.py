"""Codes of the resolve family."""

from daybook.errors.codes.entry import Code, code_family

RESOLVE_CODES: dict[str, Code] = code_family(
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
        hint="list them in the calendar, or take another data_level",
    ),
    # Calendars
    Code(
        "RESOLVE_010",
        "The id {calendar} is that of the built-in calendar",
        "The Gregorian calendar is always there and cannot be declared anew.",
        hint="give the calendar another id",
    ),
    Code(
        "RESOLVE_011",
        "Calendar {calendar} has {problem}",
        "A calendar cuts time by a rule, or lists its periods.",
    ),
    Code(
        "RESOLVE_012",
        "Level {level}: {problem}",
        "With a rule every level has a name, a unit and an identifier pattern; with listed periods it has a name.",
    ),
    Code(
        "RESOLVE_013",
        "The rule of weeks cannot be used: {problem}",
        "Years of weeks end by year_ends on a weekday at or near the end of a month, or are counted by years from "
        "a first day on, with the long years named.",
    ),
    Code(
        "RESOLVE_014",
        "Level {level} cannot have the unit {unit}: {problem}",
        "Units are year, half, quarter, month, week (with a rule of weeks) and day, from coarse to fine.",
    ),
    Code(
        "RESOLVE_015",
        "The identifier {pattern} of level {level} cannot be used: {problem}",
        "A pattern has to give every period of its level another text, and no two levels the same. The tokens year, "
        "half, quarter, month and week count within the calendar's own year; YYYY, MM and DD are the civil date.",
    ),
    Code(
        "RESOLVE_016",
        "Period {period} cannot be listed: {problem}",
        "A listed period has an identifier of its own, one of the calendar's levels, a first and a last day.",
        hint="correct its entry under periods, or remove it",
    ),
    Code(
        "RESOLVE_017",
        "Periods {first} and {second} overlap on {day}",
        "Periods of one level share no day, so that no row belongs to two of them.",
        hint="let {second} start on the day after {first} ends",
    ),
    Code(
        "RESOLVE_018",
        "There is a gap from {start} to {end} between the periods {first} and {second}",
        "Periods of one level follow one another without a gap, so that no day is lost.",
    ),
    Code(
        "RESOLVE_019",
        "Period {period} does not lie in one period of the level above: {problem}",
        "Every period lies inside one period of the next coarser level.",
    ),
    Code(
        "RESOLVE_020",
        "The {level} periods of {period} cover only {start} to {end}",
        "A period's children, where they are listed, cover it from its first to its last day.",
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
        "{token} in {template} has no value for the {level} {period}: {start} to {end} is not within one {unit}",
        "YYYY, QQ, MM and DD are parts of the civil date. They can be filled in only when they are the same for "
        "every day of the period, so that a year has no month and a fiscal year may have no single year.",
    ),
    Code(
        "RESOLVE_034",
        "Table {table} exists twice: as the file {file} and as the folder {folder}",
        "A table of a CSV or JSON data source is either one file or a folder of files.",
        hint="move one of them away",
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
        hint="declare a data source for the folder that the link points to",
    ),
    Code(
        "RESOLVE_037",
        "The format of {path} is not known",
        "The format of an inline path is read off its extension when it is not written.",
    ),
    Code(
        "RESOLVE_038",
        "Table name {table} cannot be used: {problem}",
        "In a folder a table's name is the name of its subfolder. In a database any name is allowed.",
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
        "ResolverNotFound: it is not known where the data of dataset {dataset} is",
        "The data is found by the project's resolver_overrides, then by the dataset's resolver_id or its own "
        "location, then by the resolver with is_default: true. None of these is given.",
        hint="give the dataset a location or a resolver_id",
    ),
    Code("RESOLVE_041", "Unknown resolver {resolver}", "A resolver is named by its id."),
    Code(
        "RESOLVE_042",
        "Resolver {resolver} is disabled",
        "A resolver that the definitions no longer hold is disabled by apply --prune.",
        hint="define it again, or use another one",
    ),
    Code("RESOLVE_043", "Unknown data source {datasource}", "A data source is named by its id."),
    Code(
        "RESOLVE_044",
        "Data source {datasource} is disabled",
        "A data source that the definitions no longer hold is disabled by apply --prune.",
        hint="define it again, or use another one",
    ),
    Code(
        "RESOLVE_045",
        "No rule of resolver {resolver} matches table {table} and period {period}: {answers}",
        "Rules are tried in their order, and the first whose when is true is taken. A rule without when always "
        "matches; a when that is NULL does not.",
        hint="add a rule without when at the end to catch the rest",
    ),
    Code(
        "RESOLVE_046",
        "{place} is given as the location of {periods} only",
        "A location that belongs to one period cannot belong to another one, too: its rows would be read twice.",
    ),
    Code(
        "RESOLVE_048",
        "The condition of a rule cannot use {what}",
        "A rule is chosen before any data is read and must be chosen the same way in every retry. Its when knows "
        "the period and the table's name, and has all operators, whole numbers, and the functions for conditions, "
        "texts and dates that need neither the clock nor Spark.",
        hint="compare period.identifier, period.level, period.start_date, period.end_date or table.name instead",
    ),
    Code(
        "RESOLVE_049",
        "The condition of a rule leaves the range of values: {operator} of {left} and {right}",
        "Whole numbers have 64 bits and dates end in the year 9999.",
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
        "An endpoint is an http or https address with a host, without user, password and fragment.",
    ),
    Code(
        "RESOLVE_061",
        "Host {host} may not be called",
        "Catalog endpoints are called only on hosts that the workspace allows, so that a definition alone cannot "
        "make Daybook send requests into a network. A port other than that of http or https is part of the name.",
        hint="add it to catalogs.allowed_hosts in daybook.yaml",
    ),
    Code("RESOLVE_062", "Catalog {endpoint} cannot be reached: {problem}", "The connection failed or was closed."),
    Code(
        "RESOLVE_063",
        "Catalog {endpoint} took too long",
        "There are time limits for connecting, for waiting for more of the answer, and for the whole answer.",
    ),
    Code(
        "RESOLVE_064",
        "Catalog {endpoint} answered with status {status}",
        "An endpoint answers with status 200. 401 and 403 usually mean that auth is missing or wrong.",
    ),
    Code(
        "RESOLVE_065",
        "Catalog {endpoint} redirects: {problem}",
        "Redirects are followed up to three times and only within the same host. A POST is sent again only after "
        "the statuses 307 and 308.",
        hint="write the final address as the endpoint",
    ),
    Code(
        "RESOLVE_066",
        "Catalog {endpoint} answered with more than {limit} bytes",
        "The size of an answer is limited; locations are few and short.",
    ),
    Code("RESOLVE_067", "The answer of catalog {endpoint} is not JSON", "An endpoint answers with a JSON object."),
    Code(
        "RESOLVE_068",
        "The answer of catalog {endpoint} has the wrong shape: {problem}",
        "The answer is an object with the key locations: a list of objects with datasource_id and either path or "
        "table (and schema), and optionally period and delta_version. Other keys are errors.",
    ),
    Code(
        "RESOLVE_069",
        "Catalog {endpoint} knows no location for period {period}",
        "An empty list of locations does not mean an empty table.",
    ),
    Code(
        "RESOLVE_070",
        "There is a secret in the header {name}",
        "Definitions are kept in version control, so they must not have secrets.",
        hint="write auth: env://NAME, or the reference as the header's value",
    ),
    Code(
        "RESOLVE_071",
        "A credential would be sent to {endpoint} unencrypted",
        "Credentials are sent over https, or to this machine itself.",
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
        "A credential is not written as a reference",
        "Secrets are named by where they are found: env://NAME for an environment variable, file://PATH for a file, "
        "absolute or relative to the workspace.",
        hint="write env://NAME or file://PATH",
    ),
    Code(
        "RESOLVE_081",
        "The credential {reference} cannot be read: {problem}",
        "The environment variable has to be set, or the file has to be readable, and neither may be empty.",
    ),
    # Windows of views
    Code(
        "RESOLVE_090",
        "A window to date of {level} cannot be read in a run of {period}, a {period_level}",
        "The window {to_date: LEVEL} goes from the first period of that level up to the run's, so the level is coarser "
        "than the run's period, or the same.",
        hint="name a level that is coarser than {period_level}",
    ),
    Code(
        "RESOLVE_091",
        "The window begins at {first}, a {level}, but the run's period {period} is a {expected}",
        "The first period of a window has the level of the runs that read it.",
        hint="name a first period of the level {expected}",
    ),
    Code(
        "RESOLVE_092",
        "The view {view} looks at a period that the calendar {calendar} does not have, seen from {period}",
        "The window of a view counts from the run's period, and may end before the first period of a calendar.",
        hint="with `missing: empty` in the view, such a period has no rows",
    ),
    Code(
        "RESOLVE_093",
        "The view {view} reads {dataset} of {missing}, which is not there",
        "A period is there when a completed run wrote its slice, or when its location exists.",
        hint="run what makes {dataset} for {missing} first, or write `missing: empty` in the view",
    ),
    Code(
        "RESOLVE_094",
        "A view of all periods cannot know which periods {dataset} has",
        "Where each period has a location of its own, the window says where to begin.",
        hint="write {{all: {{from: PERIOD}}}} with the first period",
    ),
)
