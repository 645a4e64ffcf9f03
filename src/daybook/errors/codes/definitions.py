"""Codes of the families model (001 files, 020 shape, 040 rules, 060 references) and project (020 planning)."""

from daybook.errors.codes.entry import Code, code_family

MODEL_CODES: dict[str, Code] = code_family(
    Code("MODEL_001", "{file} cannot be read: {reason}", "The operating system does not let Daybook read the file."),
    Code(
        "MODEL_002",
        "{file} is larger than 10 MB",
        "Definitions are small. A file over 10 MB is probably data.",
        hint="move data below the folder of a data source, or below a folder that begins with _",
    ),
    Code("MODEL_003", "The file is not UTF-8", "Definitions are UTF-8 text.", hint="save the file as UTF-8"),
    Code("MODEL_004", "{problem}", "The text is not valid YAML 1.2 or JSON at this position."),
    Code(
        "MODEL_005",
        "The key {key!r} is given twice",
        "A mapping has each key once. Daybook does not guess which of two values is correct.",
    ),
    Code(
        "MODEL_006",
        "*{anchor} repeats nothing: {problem}",
        "An alias repeats what an anchor before it names: `&rates [...]`, then `*rates`. An anchor is known within its "
        "document, and what it names cannot repeat itself.",
        hint="write &{anchor} before the value that *{anchor} repeats",
    ),
    Code(
        "MODEL_007",
        "The tag {tag} is not allowed in definitions",
        "Values are plain text, numbers, booleans, lists and mappings; tags could change how they are read.",
        hint="remove the tag",
    ),
    Code("MODEL_008", "The definition is nested deeper than {limit} levels", "No definition needs that many levels."),
    Code(
        "MODEL_009",
        "YAML cannot be indented with tabs",
        "YAML is indented with spaces only.",
        hint="replace the tab with spaces",
    ),
    Code(
        "MODEL_010",
        "A key must be text, but this key is {kind}",
        "The keys of mappings in definitions are plain text.",
        hint="put the key in quotes to make it text",
    ),
    Code(
        "MODEL_011",
        "Unknown kind {key!r}",
        "A definition's single top-level key is dataset, datasource, resolver, calendar or project.",
    ),
    Code(
        "MODEL_012",
        "Several kinds in one document: {keys}",
        "A document contains one definition. A line of three hyphens separates documents.",
        hint="put --- on a separate line between them",
    ),
    Code(
        "MODEL_013",
        "The character U+{codepoint} is not allowed here",
        "Control characters are invisible and not allowed in definitions.",
    ),
    Code(
        "MODEL_020",
        "Unknown key {key!r} in {where}",
        "Unknown keys are never ignored, so that a typing error is found.",
    ),
    Code("MODEL_021", "{where} has no {key}", "A required key is missing."),
    Code(
        "MODEL_022", "{where} must be {expected}, not {actual}", "The value does not have the type that the key needs."
    ),
    Code("MODEL_023", "{value!r} is not allowed for {where}", "The key accepts only certain values."),
    Code("MODEL_024", "{where} must not be empty", "The value of the key must not be empty."),
    Code("MODEL_025", "{where} is out of range: {reason}", "The number is too small or too large."),
    Code(
        "MODEL_026",
        "{value!r} is not a valid id",
        "An id is up to 128 letters, digits, '.', '_' and '-', beginning with a letter or a digit.",
        hint="use letters, digits, '.', '_' and '-', beginning with a letter or a digit",
    ),
    Code(
        "MODEL_027",
        "A {kind} needs an id or a name",
        "A definition without an id gets the slug of its name; a definition without a name uses its id.",
    ),
    Code("MODEL_028", "{where} is invalid: {reason}", "The value breaks a rule of its key."),
    Code(
        "MODEL_029",
        "{value} is {actual}, but {where} must be text",
        "YAML reads this value as another type, so the original text is lost.",
        hint="put quotes around it",
    ),
    Code(
        "MODEL_040",
        "Unknown column type {type!r}",
        "Types are string, integer, decimal, decimal(p,s), float, boolean, date and timestamp.",
        hint="types are string, integer, decimal, decimal(p,s), float, boolean, date and timestamp",
    ),
    Code(
        "MODEL_041",
        "Invalid decimal type {type!r}",
        "The precision of a decimal is 1 to 38, and its scale is 0 to the precision.",
        hint="write decimal(p,s) with a precision p from 1 to 38 and a scale s from 0 to p",
    ),
    Code("MODEL_042", "The column {name} is declared twice", "Column names are unique within a table."),
    Code(
        "MODEL_043",
        "The columns {first} and {second} differ only in case",
        "Column names are case-sensitive, but many databases ignore case and would treat the two columns as one.",
        hint="rename one of them",
    ),
    Code(
        "MODEL_044",
        "{name} is a system column and cannot be declared",
        "Every row has the system columns; they are not declared.",
        hint="remove it; the data may still contain the column",
    ),
    Code(
        "MODEL_045",
        "Invalid column name {name!r}: {reason}",
        "Column names contain no dots, backticks or control characters and no spaces at their ends.",
    ),
    Code("MODEL_046", "The natural key names {column} twice", "A natural key names each column once."),
    Code(
        "MODEL_047",
        "The natural key names {column}, which is not a column of the table",
        "natural_key_columns are columns of the main table.",
    ),
    Code(
        "MODEL_048",
        "Invalid table name {name!r}: {reason}",
        "The name of the main table qualifies columns in expressions. It must not be `period` and must not "
        "contain dots, backticks or control characters.",
    ),
    Code(
        "MODEL_049",
        "The dataset has both a resolver_id and a location",
        "A dataset has a location or a resolver, not both.",
        hint="keep one of them",
    ),
    Code(
        "MODEL_050",
        "Invalid location: {reason}",
        "A location is {datasource_id, table} or {path, format, options}.",
        hint="write location: {{datasource_id: ..., table: ...}} or location: {{path: ...}}",
    ),
    Code(
        "MODEL_051",
        "{where} contains a secret",
        "Definitions are kept in version control, so they must not contain passwords, tokens or keys.",
        hint="remove it and write credential_ref: env://NAME or file://PATH on the data source",
    ),
    Code(
        "MODEL_052",
        "Invalid credential_ref: {reason}",
        "A credential_ref names where the secret is stored: env://NAME or file://PATH.",
        hint="write env://NAME of an environment variable, or file://PATH of a file",
    ),
    Code("MODEL_053", "Two rules have the name {name}", "The rules of a resolver have unique names."),
    Code(
        "MODEL_060",
        "The {kind} {id} is defined twice",
        "The id of a definition is unique among those of its kind.",
    ),
    Code("MODEL_061", "Unknown {kind} {id}", "A reference must name a definition that exists in the workspace."),
    Code(
        "MODEL_062",
        "The resolvers {first} and {second} are both the default",
        "At most one resolver is the default.",
        hint="remove is_default from one of them",
    ),
    Code(
        "MODEL_063",
        "No workspace here or in a folder above: there is no daybook.yaml",
        "A workspace is a folder with a daybook.yaml.",
        hint="change to the folder of a workspace, name one with --workspace, or create one with `daybook init`",
    ),
    Code("MODEL_064", "{path} does not exist", "The file or folder on the command line does not exist."),
    Code(
        "MODEL_065",
        "{file} contains no definition",
        "A definition's single top-level key is dataset, datasource, resolver, calendar or project.",
    ),
    Code(
        "MODEL_066", "{path} cannot be written: {reason}", "The operating system does not let Daybook write the file."
    ),
    Code(
        "MODEL_067",
        "Files in {folder} would be overwritten: {files}",
        "Existing files are never overwritten; nothing was written.",
        hint="name another folder",
    ),
    Code(
        "MODEL_068",
        "{folder} is not empty",
        "The demo needs an empty folder, or the folder of an earlier demo.",
        hint="name another folder: daybook demo FOLDER",
    ),
    Code(
        "MODEL_070",
        "This is not a scenario: {problem}",
        "A scenario is a YAML test with name, period, datasets (definitions plus rows, the input first), project and "
        "expect (rows, outputs or error).",
    ),
    Code(
        "MODEL_080",
        "{value} is not a window",
        "The window of a view is previous, same_last_year, all, {offset: -12}, {to_date: year}, {last: 12} or "
        "{all: {from: 2024-01}}.",
        hint="write one of: previous, same_last_year, all, {{offset: -12}}, {{to_date: year}}, {{last: 12}}, "
        "{{all: {{from: 2024-01}}}}",
    ),
    Code(
        "MODEL_081",
        "An offset of 0 is the period of the run",
        "A view reads periods other than the period of the run.",
        hint="read the dataset itself instead of a view of it",
    ),
    Code(
        "MODEL_082",
        "{value} is not an as_of rule",
        "as_of is the day on which bitemporal rows must be valid: start, end or {after_end: 5}.",
        hint="write one of: start, end, {{after_end: 5}}",
    ),
    Code(
        "MODEL_083",
        "These views only read each other: {path}",
        "A chain of views must end at a dataset that has a table.",
    ),
    Code(
        "MODEL_084",
        "{dataset} has no periods that a view can read",
        "A view reads a period table, or a bitemporal table as of another period. A snapshot table has the "
        "same rows in every period.",
        hint="read {dataset} itself, or give its main table a temporal_mode",
    ),
    Code(
        "MODEL_085",
        "A view of the bitemporal table of {dataset} can read only one period",
        "Rows that are valid on different days cannot be read together.",
        hint="use previous, same_last_year or {{offset: -1}}",
    ),
    Code(
        "MODEL_086",
        "on_duplicate_key needs natural_key_columns",
        "Rows can repeat a key only if the dataset declares which columns identify a row.",
        hint="add natural_key_columns, or remove on_duplicate_key",
    ),
    Code(
        "MODEL_087",
        "There are errors in {files}, which {project} does not use",
        "The definitions that a project uses must be correct before it runs. Errors in other definitions do "
        "not stop it.",
        hint="`daybook validate` shows them",
    ),
    Code(
        "MODEL_088",
        "This looks like {what}, but the document defines nothing",
        "A document defines something if its single top-level key is dataset, datasource, resolver, calendar "
        "or project. Operations are written in the list of a project.",
    ),
    Code(
        "MODEL_089",
        "There are errors in {files}; definitions that cannot be read are left out",
        "The close is shown and built from the definitions without errors. A project that needs one of the "
        "others is reported with its errors.",
        hint="`daybook validate` shows them",
    ),
    Code(
        "MODEL_090",
        "The {what} of this file make more than {limit}",
        "What aliases repeat and what for_each makes is bounded, so that a small file cannot fill the memory.",
        hint="divide the file",
    ),
    Code(
        "MODEL_091",
        "Merge keys are not allowed in definitions",
        "With `<<`, keys are not written where they count, and which of two values counts is easily mistaken.",
        hint="repeat whole values with an alias, or use for_each",
    ),
    Code(
        "MODEL_092",
        "{problem}",
        "`for_each` is a list of mappings with the same names, or one name with a list of values. A value is a number "
        "or a text of letters, digits, spaces, `.`, `_` and `-`, without `..`.",
    ),
    Code(
        "MODEL_093",
        "Unknown name {reference} of for_each",
        "`${name}` stands for the value that an element of `for_each` gives the name. `$${` is a literal `${`.",
    ),
    Code(
        "MODEL_095",
        "{path} already exists",
        "`daybook test --new` creates a new scenario and never replaces one.",
        hint="name another file with --out, or remove this file",
    ),
    Code(
        "MODEL_096",
        "{warning} is not a warning that a dataset can accept",
        "`accept` on a dataset takes the codes of warnings about reading it. Errors cannot be accepted.",
    ),
)


PROJECT_CODES: dict[str, Code] = code_family(
    Code(
        "PROJECT_001",
        "seq must be a positive whole number, not {value}",
        "BR-001. Operations execute in the order of seq, which begins at 1 and may have gaps.",
    ),
    Code(
        "PROJECT_002",
        "Two operations have the seq {seq}",
        "BR-001. The seq of every operation is unique within its project.",
        hint="give each operation its own seq; gaps are allowed",
    ),
    Code(
        "PROJECT_003",
        "This operation has no seq, but other operations have one",
        "Either every operation of a project has a seq, or no operation has one. Without seq, the order of "
        "the list is used.",
        hint="give every operation a seq, or remove seq from all of them",
    ),
    Code(
        "PROJECT_004",
        "{first} and {second} are two names of one key, and both are given",
        "`parameters` is another name of `arguments`, and `order` is another name of `seq`. Only one of the "
        "two may be given.",
        hint="keep one of them",
    ),
    Code(
        "PROJECT_005",
        "The selector is given twice",
        "A selector is written on the operation or in its arguments, not in both.",
        hint="keep the one on the operation",
    ),
    Code("PROJECT_006", "Two operations have the id {id}", "The id of an operation is unique within its project."),
    Code(
        "PROJECT_007",
        "Unknown operation type {type!r}",
        "An operation is an update, aggregate, append, delete, check or output.",
        hint="types are update, aggregate, append, delete, check and output",
    ),
    Code(
        "PROJECT_008",
        "The project reads {dataset_id}, which its operation with seq {seq} registers",
        "A project cannot read what it registers or writes, because the next run would read its own results.",
        hint="register under another name, or read the dataset in another project",
    ),
    Code(
        "PROJECT_009",
        "The project reads {target}, which its operation with seq {seq} writes",
        "A project cannot read what it registers or writes, because the next run would read its own results.",
        hint="write to another table or path; or read it through a view whose window ends before the run's period",
    ),
    Code("PROJECT_010", "A project needs at least one operation", "A project without operations does nothing."),
    Code(
        "PROJECT_011",
        "Invalid name {name!r} of a selector or an expression",
        "Selectors and expressions are referred to as {{NAME}}, so a name cannot contain braces or line "
        "breaks, and cannot begin or end with a space.",
    ),
    Code(
        "PROJECT_012",
        "This operation needs arguments",
        "Every operation except delete needs arguments.",
    ),
    Code(
        "PROJECT_013",
        "Column {column} is {type} here and {first} in the operation with seq {seq}",
        "A column has one type in the whole project. It is enough to declare the type once.",
        hint="declare the type once, or the same type everywhere",
    ),
    Code(
        "PROJECT_020",
        "Dataset {dataset_id} of {reader} does not exist",
        "BR-008a. The input and the joins of a project must be known datasets. The source of an append has the code "
        "APPEND_001.",
    ),
    Code(
        "PROJECT_021",
        "Dataset {dataset_id} of {reader} has no version {version}",
        "BR-008c. A pinned dataset_version must exist. The source of an append has the code APPEND_002.",
    ),
    Code(
        "PROJECT_022",
        "Dataset {dataset_id} of {reader} is disabled",
        "BR-008a. A disabled dataset cannot be read; apply its definition again to enable it.",
    ),
    Code(
        "PROJECT_023",
        "Column {column} differs from {existing} only in case",
        "Column names are case-sensitive, but people and other systems confuse two names that differ only in case.",
        hint="write {existing}, or choose another name",
    ),
    Code(
        "PROJECT_024",
        "The summary rows of the aggregate with seq {first} also contain {measure}, so it is counted twice here",
        "An aggregate adds summary rows to the working dataset. A later aggregate or output selects them "
        "together with the rows that they summarise.",
        hint="add _operation_seq = 0 to the selector to exclude summary rows",
        is_acceptable=True,
    ),
    Code(
        "PROJECT_025",
        "No output follows, so this operation has no effect",
        "Only outputs write data. The results of operations after the last output are not written.",
        hint="move an output after this operation, or remove the operation",
        is_acceptable=True,
    ),
    Code(
        "PROJECT_026",
        "The location of dataset {dataset_id} is not known",
        "The dataset has no location and no resolver, the project has no override for it, and there is no "
        "default resolver.",
        hint="give the dataset a location or a resolver_id",
    ),
    Code(
        "PROJECT_027",
        "{column} is a reserved name",
        "Spark and the engine use the column names _metadata, __place, __ordinal, __file, __partition_file, "
        "__attempt and all names that begin with __daybook_.",
        hint="choose another name",
    ),
    Code(
        "PROJECT_028",
        "Invalid selector {name}",
        "Every named selector is checked, even if no operation uses it.",
    ),
    Code(
        "PROJECT_029",
        "Column {column} is not created by this project, so its type stays {expected}",
        "A column of the input and a system column keep their type. Assigned values must fit that type.",
        hint="remove the type, or choose another name for the column",
    ),
    Code(
        "PROJECT_030",
        "Column {column} of {dataset_id} must not be NULL, but it is NULL in {place}, row {ordinal}",
        "Columns declared nullable: false are checked when data is loaded.",
        hint="correct the data, or declare the column nullable",
    ),
    Code(
        "PROJECT_031",
        "_row_id of {dataset_id} is {value} in {place}, row {ordinal}; it must be a UUID of version 7",
        "If the data contains _row_id, it is kept, so every row needs a valid value.",
        hint="correct the data, or remove the column to get new ids",
    ),
    Code(
        "PROJECT_032",
        "The data of {dataset_id} has no column {column}, which its temporal mode needs",
        "Period tables are filtered by _period, bitemporal tables by _valid_from and _valid_to.",
        hint="add the column to the data, or change temporal_mode",
    ),
    Code(
        "PROJECT_033",
        "Operation {seq} ({name}) failed on {column}: {reason}",
        "A value could not be computed during the run. Nothing of the output was committed.",
    ),
    Code(
        "PROJECT_034",
        "Spark failed: {reason}",
        "Spark failed for a reason that does not belong to one operation. Nothing of the output was committed.",
    ),
    Code(
        "PROJECT_035",
        "No row can have the _operation_seq in this selector; the possible values here are {present}",
        "_operation_seq is 0 for loaded rows, and the seq of the append or aggregate for the rows that it "
        "adds. Without seq, it is the position in the list, so it changes when an operation is inserted "
        "before it.",
        hint="give the operations a seq, and use the seq of one that adds rows before this operation",
        is_acceptable=True,
    ),
    Code(
        "PROJECT_036",
        "Column {column} is created here, but no operation reads it and no output writes it",
        "A mistyped name creates a new column instead of changing the intended one.",
        is_acceptable=True,
    ),
    Code(
        "PROJECT_043",
        "The window of the view {view} does not fit the project's calendar",
        "The levels and periods in a window must exist in the calendar of the project's periods.",
    ),
    Code(
        "PROJECT_044",
        "These projects depend on each other: {path}",
        "A cycle of projects is allowed only if a view in the cycle reads earlier periods and no view in it "
        "reads later ones.",
        hint="read one of them through a view whose window ends before the period of the run",
    ),
    Code(
        "PROJECT_045",
        "{warning} is not a warning that an operation can accept",
        "`accept` on an operation takes the codes of warnings about that operation. Errors cannot be accepted.",
    ),
    Code(
        "PROJECT_046",
        "{column} sorts all selected rows in one task",
        "A window with ORDER BY and without group columns is sorted by a single Spark task, however many "
        "rows there are.",
        hint="add group columns inside OVER, or accept the warning if there are few rows",
        is_acceptable=True,
    ),
    Code(
        "PROJECT_047",
        "{name!r} is not a valid parameter name",
        "The name of a parameter contains letters, digits and underscores and does not begin with a digit.",
        hint="write it as in parameters: {{threshold: {{type: decimal, default: 100}}}}",
    ),
    Code(
        "PROJECT_048",
        "The default {value!r} is not a valid {type}: {reason}",
        "The default must be an exact value of the parameter's type. Nothing is rounded or converted.",
    ),
    Code(
        "PROJECT_049",
        "{what} cannot be named {name}, because expressions use this name for the parameters of the project",
        "In a project that declares parameters, expressions refer to them as param.NAME.",
        hint="give it another name, or declare no parameters",
    ),
    Code(
        "PROJECT_050",
        "{name} is both a selector and an expression",
        "Selectors and expressions of a project must have different names, so that {{NAME}} is not ambiguous.",
        hint="rename one of them",
    ),
    Code(
        "PROJECT_051",
        "Invalid expression {name}",
        "Every named expression is checked, even if no operation uses it.",
    ),
    Code(
        "PROJECT_052",
        "Invalid selector expression of the {operation}",
        "The selector of an operation must be a boolean expression over the working dataset. An update has the code "
        "UPDATE_004, an output OUTPUT_001.",
    ),
    Code(
        "PROJECT_060",
        "Operation {first} appends rows of another period, so grouping by _period does not add them to the run's rows",
        "A view of one other period gives rows of that period. Grouped by _period, they are in other groups "
        "than the rows of the run's period.",
        hint="write `period: run` in the view, or remove _period from group_by",
        is_acceptable=True,
    ),
    Code(
        "PROJECT_061",
        "The view {view} reads {viewed}, which is not defined or registered",
        "A view has the columns of the dataset that it views. What a project registers is known once it has run; a "
        "project that reads its own results through a view needs a declared dataset for them.",
        hint="declare {viewed} as a dataset with its columns",
    ),
    Code(
        "PROJECT_062",
        "{project} registers {dataset}, and so does {others}",
        "A registered dataset has one owner. Its versions would change between the tables of two projects, and readers "
        "would read now one and now the other. Projects that are inactive do not count.",
        hint="register under another name; `daybook deactivate` takes a project out",
    ),
)
