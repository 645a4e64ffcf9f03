"""Codes of the families model (001 files, 020 shape, 040 rules, 060 references) and project (020 planning)."""

from daybook.errors.codes.entry import Code, code_family

MODEL_CODES: dict[str, Code] = code_family(
    Code("MODEL_001", "{file} cannot be read: {reason}", "The operating system does not let Daybook read the file."),
    Code(
        "MODEL_002",
        "{file} is larger than 10 MB",
        "Definitions are small; a file over 10 MB is most likely data in the wrong place.",
        hint="move data below the folder of a data source, or below a folder that begins with _",
    ),
    Code("MODEL_003", "The file is not UTF-8", "Definitions are UTF-8 text.", hint="save the file as UTF-8"),
    Code("MODEL_004", "{problem}", "The text is not valid YAML 1.2 or JSON at this place."),
    Code(
        "MODEL_005",
        "The key {key!r} is given twice",
        "A key stands once in a mapping; Daybook does not guess which of two values is meant.",
    ),
    Code(
        "MODEL_006",
        "Anchors and aliases are not used in definitions",
        "With an alias, a value is not written where it is used.",
        hint="write the value out",
    ),
    Code(
        "MODEL_007",
        "The tag {tag} is not used in definitions",
        "Values are plain text, numbers, booleans, lists and mappings; tags could change how they are read.",
        hint="leave the tag out",
    ),
    Code("MODEL_008", "Nested deeper than {limit} levels", "No definition nests that deep."),
    Code(
        "MODEL_009",
        "A tab cannot indent YAML",
        "YAML indents with spaces alone.",
        hint="replace the tab by spaces",
    ),
    Code(
        "MODEL_010",
        "Keys are texts; this one is {kind}",
        "The keys of mappings in definitions are plain texts.",
        hint="quote the key if this text is meant",
    ),
    Code(
        "MODEL_011",
        "Unknown kind {key!r}",
        "A definition's single top-level key is dataset, datasource, resolver, calendar or project.",
    ),
    Code(
        "MODEL_012",
        "Several kinds in one document: {keys}",
        "A document defines one thing; separate several with a line of three hyphens.",
        hint="put --- on a line of its own between them",
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
    Code("MODEL_021", "{where} lacks {key}", "A required key is missing."),
    Code("MODEL_022", "{where} should be {expected}, not {actual}", "The value has another type than the key takes."),
    Code("MODEL_023", "{value!r} is not allowed for {where}", "The key takes one of a few values."),
    Code("MODEL_024", "{where} must not be empty", "The key needs a value that is not empty."),
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
    Code("MODEL_028", "{where} is invalid: {reason}", "The value does not follow the rule of its key."),
    Code(
        "MODEL_029",
        "{value} is {actual}, where {where} takes a text",
        "YAML reads this value as another type, and the text as it was written is lost.",
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
        "The precision of a decimal goes from 1 to 38, its scale from 0 to the precision.",
        hint="write decimal(p,s), the precision p from 1 to 38, the scale s from 0 to p",
    ),
    Code("MODEL_042", "The column {name} is declared twice", "Column names are unique within a table."),
    Code(
        "MODEL_043",
        "The columns {first} and {second} differ only in case",
        "Column names are case-sensitive, but many stores are not, so such a pair cannot be kept apart everywhere.",
        hint="rename one of them",
    ),
    Code(
        "MODEL_044",
        "{name} is a system column and cannot be declared",
        "System columns are present on every row without being declared.",
        hint="leave it out; the data may carry it all the same",
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
        "The main table's name is the qualifier in expressions; it may not be `period` nor contain dots, backticks or "
        "control characters.",
    ),
    Code(
        "MODEL_049",
        "The dataset has both a resolver_id and a location",
        "The data of a dataset is found by its location or by a resolver, not by both.",
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
        "There is a secret in {where}",
        "Definitions are kept in version control, so they must not have passwords, tokens or keys.",
        hint="remove it and write credential_ref: env://NAME or file://PATH on the data source",
    ),
    Code(
        "MODEL_052",
        "Invalid credential_ref: {reason}",
        "A credential_ref says where the secret is found: env://NAME or file://PATH.",
        hint="write env://NAME of an environment variable, or file://PATH of a file",
    ),
    Code("MODEL_053", "Two rules are called {name}", "The names of the rules of a resolver are unique."),
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
    Code("MODEL_064", "{path} does not exist", "The file or folder named on the command line is not there."),
    Code(
        "MODEL_065",
        "{file} holds no definition",
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
        "An offset of 0 is the run's own period",
        "A view looks at other periods than the run's.",
        hint="read the dataset itself instead of a view of it",
    ),
    Code(
        "MODEL_082",
        "{value} is not an as_of rule",
        "The day at which bitemporal rows must be valid is start, end or {after_end: 5}.",
        hint="write one of: start, end, {{after_end: 5}}",
    ),
    Code(
        "MODEL_083",
        "These views only read each other: {path}",
        "A view of a view ends at a dataset with a table.",
    ),
    Code(
        "MODEL_084",
        "A view of {dataset} has no periods to look at",
        "A view reads a period table, or a bitemporal one as of another period; a snapshot table is the same for all.",
        hint="read {dataset} itself, or give its main table a temporal_mode",
    ),
    Code(
        "MODEL_085",
        "A view of the bitemporal table of {dataset} looks at one period",
        "Rows that are valid at several days cannot be read together.",
        hint="use previous, same_last_year or {{offset: -1}}",
    ),
    Code(
        "MODEL_086",
        "on_duplicate_key needs natural_key_columns",
        "Rows repeat a key only where the dataset says which columns together identify a row.",
        hint="add natural_key_columns, or remove on_duplicate_key",
    ),
    Code(
        "MODEL_087",
        "There are errors in {files}, which {project} does not use",
        "What a project refers to must be right before it runs; errors elsewhere do not keep it from running.",
        hint="`daybook validate` shows them",
    ),
    Code(
        "MODEL_088",
        "This looks like {what}, but nothing here is defined",
        "A document defines something when its single top-level key is dataset, datasource, resolver, calendar or "
        "project; operations stand in the list of a project.",
    ),
    Code(
        "MODEL_089",
        "There are errors in {files}; what cannot be read of them is left out",
        "The close is shown and built from the definitions that are right. A project that needs one of the others is "
        "reported with its errors.",
        hint="`daybook validate` shows them",
    ),
    Code(
        "MODEL_095",
        "{path} exists already",
        "`daybook test --new` writes a new scenario and never replaces one.",
        hint="name another file by --out, or remove this one",
    ),
)


PROJECT_CODES: dict[str, Code] = code_family(
    Code(
        "PROJECT_001",
        "seq must be a positive whole number, not {value}",
        "BR-001. The seq of an operation says when it executes; it begins at 1 and may have gaps.",
    ),
    Code(
        "PROJECT_002",
        "Two operations have the seq {seq}",
        "BR-001. The seq of every operation is unique within its project.",
        hint="give each operation its own seq; gaps are fine",
    ),
    Code(
        "PROJECT_003",
        "This operation has no seq, others have",
        "Either every operation of a project has a seq, or none has and the order of the list counts.",
        hint="give every operation a seq, or none",
    ),
    Code(
        "PROJECT_004",
        "{first} and {second} mean the same; both are given",
        "arguments may be written parameters, and seq may be written order, but only one of the two at a time.",
        hint="keep one of them",
    ),
    Code(
        "PROJECT_005",
        "The selector is given twice",
        "A selector stands on the operation or inside its arguments, not in both places.",
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
        "A project may not read what it registers or writes itself, or a rerun would read its own results.",
        hint="register under another name, or read the dataset in a project of its own",
    ),
    Code(
        "PROJECT_009",
        "The project reads {target}, which its operation with seq {seq} writes",
        "A project may not read what it registers or writes itself, or a rerun would read its own results.",
        hint="write to another table or path; or read it through a view whose window ends before the run's period",
    ),
    Code("PROJECT_010", "A project needs at least one operation", "A project without operations does nothing."),
    Code(
        "PROJECT_011",
        "Invalid selector name {name!r}",
        "Selectors and expressions are referred to as {{NAME}}, so a name has no braces, no line ends and no spaces at "
        "its ends.",
    ),
    Code(
        "PROJECT_012",
        "This operation needs arguments",
        "Every operation but delete says in its arguments what it does.",
    ),
    Code(
        "PROJECT_013",
        "Column {column} is {type} here and {first} in the operation with seq {seq}",
        "A column has one type in all of a project; it is enough to give it once.",
        hint="give the type once, or the same everywhere",
    ),
    Code(
        "PROJECT_020",
        "Dataset {dataset_id} does not exist",
        "The input of a project must be a known dataset.",
    ),
    Code(
        "PROJECT_021",
        "Dataset {dataset_id} has no version {version}",
        "A pinned dataset_version must exist.",
    ),
    Code(
        "PROJECT_022",
        "Dataset {dataset_id} is disabled",
        "A disabled dataset cannot be read; apply its definition again to enable it.",
    ),
    Code(
        "PROJECT_023",
        "Column {column} differs from {existing} only in case",
        "Names of columns are case-sensitive, but two that differ only in case are mistaken for each other by people "
        "and by other systems.",
        hint="write {existing}, or choose another name",
    ),
    Code(
        "PROJECT_024",
        "The rows that the aggregate with seq {first} adds are counted again here: they hold {measure} too",
        "Summary rows are rows: a later aggregate or output picks them up beside the rows they summarise.",
        hint="add _operation_seq = 0 to the selector to leave summary rows out",
        is_acceptable=True,
    ),
    Code(
        "PROJECT_025",
        "No output follows, so this operation has no effect",
        "Only outputs write data; what operations do after the last output is written nowhere.",
        hint="move an output after it, or remove the operation",
        is_acceptable=True,
    ),
    Code(
        "PROJECT_026",
        "The data of dataset {dataset_id} cannot be found",
        "There is no location, resolver override, resolver of the dataset or default resolver.",
        hint="give the dataset a location or a resolver_id",
    ),
    Code(
        "PROJECT_027",
        "{column} is a name that the engine uses itself",
        "_metadata, __place, __ordinal, __file, __partition_file, __attempt and names beginning with __daybook_ are "
        "columns that Spark or the engine carries beside the user's.",
        hint="choose another name",
    ),
    Code(
        "PROJECT_028",
        "Invalid selector {name}",
        "Named selectors are checked whether an operation uses them or not.",
    ),
    Code(
        "PROJECT_029",
        "Column {column} is not made by this project: it is {expected} and stays so",
        "A value that is assigned to a column of the input, or to a system column, is fitted to the type it has.",
        hint="leave the type out, or choose another name for the column",
    ),
    Code(
        "PROJECT_030",
        "{column} of {dataset_id} may not be NULL, but it is in {place}, row {ordinal}",
        "Columns declared nullable: false are checked when data is loaded.",
        hint="correct the data, or declare the column nullable",
    ),
    Code(
        "PROJECT_031",
        "_row_id of {dataset_id} is {value} in {place}, row {ordinal}; it must be a UUID of version 7",
        "Data that carries _row_id keeps it, so every row needs a valid one.",
        hint="correct the data, or leave the column out to get new ids",
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
        "A value could not be computed while the run was executing; nothing of the output was committed.",
    ),
    Code(
        "PROJECT_034",
        "Spark failed: {reason}",
        "Spark failed for a reason that does not belong to one operation; nothing of the output was committed.",
    ),
    Code(
        "PROJECT_035",
        "No row can have the _operation_seq that this selector asks for; here it is one of {present}",
        "_operation_seq is 0 for loaded rows, else the seq of the append or aggregate that made the row. Where seq is "
        "left out it is the position in the list, so it changes when an operation is inserted before it.",
        hint="give the operations a seq, and name one that adds rows before this one",
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
        "A window names levels and periods of the calendar that the project's periods are of.",
    ),
    Code(
        "PROJECT_044",
        "These projects wait for each other: {path}",
        "A cycle among projects is allowed only where a view on it looks at earlier periods and none at later ones.",
        hint="let one of them read the other through a view with a window that ends before the run's period",
    ),
    Code(
        "PROJECT_045",
        "{warning} is no warning that an operation can accept",
        "`accept` on an operation takes the codes of warnings about that operation. Errors cannot be accepted.",
    ),
    Code(
        "PROJECT_046",
        "{column} orders all picked rows in one sequence",
        "A window with an order and without a group is sorted by a single task, however many rows there are.",
        hint="group the rows inside OVER, or keep it for few rows",
        is_acceptable=True,
    ),
    Code(
        "PROJECT_047",
        "{name!r} cannot name a parameter",
        "The name of a parameter has letters, digits and underscores and does not begin with a digit.",
        hint="write it as in parameters: {{threshold: {{type: decimal, default: 100}}}}",
    ),
    Code(
        "PROJECT_048",
        "The default {value!r} is not a valid {type}: {reason}",
        "The default of a parameter is a value of its type, exactly; nothing is rounded or converted.",
    ),
    Code(
        "PROJECT_049",
        "{what} is called {name}, and so are the parameters of this project",
        "In a project that declares parameters, expressions find them under the name param.",
        hint="give it another name, or declare no parameters",
    ),
    Code(
        "PROJECT_050",
        "{name} is both a selector and an expression",
        "Selectors and expressions of a project share their names: {{NAME}} must mean one of them.",
        hint="rename one of them",
    ),
    Code(
        "PROJECT_051",
        "Invalid expression {name}",
        "Named expressions are checked whether an operation uses them or not.",
    ),
    Code(
        "PROJECT_060",
        "Operation {first} appends rows of another period, so grouping by _period does not add them to the run's rows",
        "A view of one other period gives rows of that period. Grouped by _period, its balances and those of the run's "
        "period become different groups.",
        hint="write `period: run` in the view, or leave _period out of group_by",
        is_acceptable=True,
    ),
    Code(
        "PROJECT_061",
        "The view {view} reads {viewed}, which nobody has defined or registered",
        "A view has the columns of the dataset that it views. What a project registers is known once it has run; a "
        "project that reads its own results through a view needs a declared dataset for them.",
        hint="declare {viewed} as a dataset with its columns; or run the project that registers it first",
    ),
)
