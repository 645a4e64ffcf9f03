"""Codes of reading and writing."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family(
    Code(
        "IO_001",
        "{location} does not exist",
        "The file, folder or table a location names could not be found.",
        hint="check the path or table name, and the period the location was resolved for",
    ),
    Code(
        "IO_002",
        "{file} has no column {column}",
        "A declared column is missing in the data. CSV binds by header name; a JSON key may be missing in single rows, "
        "not in all of them.",
        hint="remove the column from the dataset, or deliver it with the data",
    ),
    Code(
        "IO_003",
        "Column {column} of {file} is {found}, declared as {declared}",
        "The stored type does not fit the declared one. Only widening that loses nothing is accepted: smaller integers "
        "to integer, decimals with fewer digits, float32 to float.",
        hint="declare the column with the type the data has, or convert the data",
    ),
    Code(
        "IO_004",
        "{file}, {place}: {value} in column {column} is no {declared}",
        "A value cannot be read as the declared type without loss. Decimals must fit precision and scale, dates are "
        "YYYY-MM-DD, timestamps ISO 8601 (UTC when they name no offset), booleans true or false.",
        hint="correct the value, or declare the column as string",
    ),
    Code(
        "IO_005",
        "{file}, {place}: {problem}",
        "A line of a text file cannot be split into the fields of its header, or is not a JSON object.",
        hint="correct the line, or set the delimiter, quote or encoding in the location's options",
    ),
    Code(
        "IO_006",
        "{file}, {place}: column {column} is NULL",
        'A column declared `nullable: false` holds NULL. In CSV an unquoted empty field is NULL and `""` is the empty '
        "text.",
        hint="correct the data, or declare the column nullable",
    ),
    Code(
        "IO_007",
        "{file} has columns that are not declared and were ignored: {columns}",
        "Columns that a dataset does not declare are not read. This is a note, not an error.",
        hint="declare them to use them",
    ),
    Code(
        "IO_008",
        "{file} changed while it was being read",
        "The size, modification time or content of an input is not what it was when the run began to read it, so the "
        "results could mix two states. Nothing was committed.",
        hint="run again when the data is complete",
    ),
    Code(
        "IO_009",
        "The input {location} is no longer available as it was: {reason}",
        "A snapshot names data that has since been changed, removed or vacuumed.",
        hint="run the project again instead of replaying it",
    ),
    Code(
        "IO_010",
        "The Delta table {location} uses {feature}, which Daybook does not support",
        "Deletion vectors, column mapping and other table features change how data files must be read or written.",
        hint="rewrite the table without the feature, for example with REORG TABLE ... APPLY (PURGE)",
    ),
    Code(
        "IO_011",
        "{format} has no option {option}",
        "An option of a location or data source is not known for its format, or has a value that cannot be used.",
    ),
    Code(
        "IO_012",
        "{location} cannot be used: {reason}",
        "A file or database could not be opened, read or written; the reason is the system's own message.",
    ),
    Code(
        "IO_014",
        "{file} has two columns {column}",
        "Columns bind by name, so a name must be unique.",
        hint="rename one of them in the file",
    ),
    Code(
        "IO_015",
        "{file} has {value} for partition column {column} in its path, which is not of the declared type {declared}",
        "Values in folder names such as `region=EU` are read as the declared type of the column.",
    ),
    Code(
        "IO_020",
        "{location} already exists",
        "An output with `mode: error` writes only where nothing is.",
        hint="choose another place, or mode replace or append",
    ),
    Code(
        "IO_021",
        "{location} has other columns than the output: {difference}",
        "An output never changes the columns of an existing table by itself.",
        hint="`on_schema_change: add` adds columns; `mode: replace` takes the new schema and replaces all rows",
    ),
    Code(
        "IO_022",
        "{location} is one file and cannot be appended to",
        "A path that ends in an extension is one file. Only folders and tables collect rows.",
        hint="use a path without an extension, or mode replace",
    ),
    Code(
        "IO_023",
        "{location} holds {rows} rows{slice} that would be replaced by none",
        "Replacing rows by nothing is more often a mistake upstream than an intention.",
        hint="run with --allow-empty if it is intended",
    ),
    Code(
        "IO_024",
        "Another writer changed {location}{slice} at the same time",
        "Two writers of one slice never overwrite each other silently; the second one fails.",
        hint="retry the run",
    ),
    Code(
        "IO_025",
        "{location} is on an object store, where {format} cannot be written safely",
        "An object store has no atomic rename, so a folder of files could be seen half written.",
        hint="write tables of type delta there",
    ),
    Code(
        "IO_026",
        "Writing {location} failed: {reason}",
        "The data could not be staged or committed. What was there before is unchanged.",
    ),
    Code(
        "IO_027",
        "The output {output} overlaps the input {input}",
        "An output may not be equal to, inside or above a place the same run reads.",
        hint="write to another place",
    ),
    Code(
        "IO_028",
        "{location} exists and is {found}, not {expected}",
        "An output replaces only what looks like an earlier output: a file by a file, a folder by one of its format.",
        hint="choose another place, or move away what is there",
    ),
    Code(
        "IO_029",
        "{location} cannot store column {column}: {reason}",
        "A value or type has no exact counterpart in the target.",
    ),
    Code(
        "IO_030",
        "{location} was replaced in two steps because its file system cannot exchange folders",
        "For a moment between the two steps a reader finds nothing at the path. This is a note, not an error.",
        hint="use Delta, or a file system with atomic exchange",
    ),
    Code(
        "IO_031",
        "The {format} output needs {missing}",
        "A format needs a driver or package that is not installed.",
    ),
    Code(
        "IO_032",
        "{location} does not support mode {mode}: {reason}",
        "Not every kind of target can do every mode.",
    ),
    Code(
        "IO_033",
        "{location} lacks files that earlier runs wrote: {files}",
        "Someone removed files of a table, so its other periods cannot be kept as they were.",
        hint="restore the files, or run their periods again",
    ),
    Code(
        "IO_034",
        "The output {output} would overwrite {what} of the workspace: {place}",
        "An output may not be equal to, inside or above the store, the state folder, `daybook.yaml` or a definition.",
        hint="write to another place",
    ),
)
