"""Codes of the operations: codes of the specification first, 010-019 structure, from 020 planning and execution."""

from daybook.errors.codes.entry import Code, code_family

UPDATE_CODES: dict[str, Code] = code_family(
    Code(
        "UPDATE_001",
        "Update operation requires at least one assignment",
        "VR-001. An update that assigns nothing has no effect, so its list of assignments may not be empty.",
        hint="add an entry with column and expression under assignments",
    ),
    Code(
        "UPDATE_002",
        "Invalid column name: {name!r}",
        "VR-002. The target of an assignment is a letter or underscore followed by letters, digits and underscores.",
        hint="use letters, digits and underscores, beginning with a letter or an underscore",
    ),
    Code(
        "UPDATE_003",
        "Selector {name!r} not defined in Project",
        "VR-003. A selector written as {{NAME}} refers to an entry of the project's selectors.",
    ),
    Code(
        "UPDATE_004",
        "Invalid selector expression",
        "VR-004. The selector of an update must be a boolean expression over the working dataset and the joins.",
    ),
    Code(
        "UPDATE_005",
        "Invalid assignment expression for {column!r}",
        "VR-005. The expression of an assignment must parse, and may not use aggregate functions.",
    ),
    Code(
        "UPDATE_006",
        "Unknown column {name}",
        "VR-006. Every column an update names must exist in the working dataset or in one of its joins.",
    ),
    Code(
        "UPDATE_007",
        "{column} is {expected} and cannot take a {actual}",
        "VR-007. The value of an assignment must fit the type of its column. Numbers are widened, or rounded "
        "to the scale. Text is never converted to a number automatically.",
    ),
    Code(
        "UPDATE_008",
        "The working dataset has no column {name}",
        "VR-008. The system column that records updates must be present while an update runs. Every row gets the "
        "system columns when it is loaded, and no operation can remove them, so this rule cannot be broken.",
        is_prevented=True,
    ),
    Code(
        "UPDATE_010",
        "{column} is assigned twice",
        "All assignments of one update read the row as it was before the update, so two of them cannot set "
        "the same column.",
        hint="keep one of them, or move the second to another update",
    ),
    Code(
        "UPDATE_011",
        "{column} is a system column and cannot be assigned",
        "The engine fills the system columns. An update may set only _labels.",
        hint="of the system columns only _labels can be assigned",
    ),
    Code(
        "UPDATE_012",
        "Two joins have the alias {alias}",
        "Expressions use the aliases of joins, so the aliases of one update must be unique.",
        hint="give one of the joins another alias",
    ),
    Code(
        "UPDATE_013",
        "{alias} cannot be the alias of a join: {reason}",
        "An alias is an identifier, and must differ from the name of the main table and from `period`.",
        hint="choose another alias",
    ),
    Code(
        "UPDATE_020",
        "Dataset {dataset_id} of join {alias} does not exist",
        "Replaced by PROJECT_020, which is raised for the input and for joins.",
        replaced_by=("PROJECT_020",),
    ),
    Code(
        "UPDATE_021",
        "Dataset {dataset_id} of join {alias} has no version {version}",
        "Replaced by PROJECT_021, which is raised for the input and for joins.",
        replaced_by=("PROJECT_021",),
    ),
    Code(
        "UPDATE_022",
        "Dataset {dataset_id} of join {alias} is disabled",
        "Replaced by PROJECT_022, which is raised for the input, joins and appends.",
        replaced_by=("PROJECT_022",),
    ),
    Code(
        "UPDATE_023",
        "Invalid join condition for {alias!r}",
        "The `on` of a join must be a boolean expression over the working dataset, the columns of the join "
        "and earlier joins.",
    ),
    Code(
        "UPDATE_024",
        "Operation {seq} ({name}): a selected row matches more than one row of join {alias}: {key}",
        "An update never changes the number of rows, so every selected row may match at most one row of each join.",
        hint="make the join condition more specific, or remove the duplicates from the joined data",
    ),
    Code(
        "UPDATE_025",
        "Operation {seq} cannot load dataset {dataset_id} of join {alias}",
        "The data of joined datasets is read like that of the input, before anything is written.",
    ),
    Code(
        "UPDATE_026",
        "Operation {seq} ({name}): {column} cannot be allocated for {group}: {problem}",
        "ALLOCATE divides an amount that is the same in all rows of the group. No weight may be negative. If "
        "all weights are zero, only an amount of zero can be divided.",
        hint="select such groups in a separate operation, or correct amount and weights before this one",
    ),
)


AGGREGATE_CODES: dict[str, Code] = code_family(
    Code(
        "AGGREGATE_001",
        "group_by must name at least one column",
        "An aggregate, and the aggregation of an append, groups by one column or more.",
        hint="list the columns whose values make a group under group_by",
    ),
    Code(
        "AGGREGATE_002",
        "aggregations must not be empty",
        "An aggregate, and the aggregation of an append, computes at least one value per group.",
        hint="add an entry with column and expression under aggregations",
    ),
    Code("AGGREGATE_003", "group_by names {column} twice", "group_by names each column once."),
    Code(
        "AGGREGATE_004",
        "Unknown column {name}",
        "Every column an aggregate names must exist in the working dataset.",
    ),
    Code(
        "AGGREGATE_005",
        "{column} is a system column and cannot be the result of an aggregation",
        "The engine fills the system columns of summary rows and appended rows itself.",
        hint="give the result another column name",
    ),
    Code(
        "AGGREGATE_006",
        "Invalid aggregation for {column!r}",
        "An aggregation must use SUM, COUNT, AVG, MIN_AGG or MAX_AGG. Every column in it must be inside such "
        "a function or in group_by.",
    ),
    Code(
        "AGGREGATE_007",
        "Two aggregations write the column {column}",
        "The result columns of one aggregation are unique.",
        hint="give one of them another column name",
    ),
    Code(
        "AGGREGATE_010",
        "{column} is both a group_by column and the result of an aggregation",
        "The group_by columns of a summary row contain the values of its group.",
        hint="give the result another column name",
    ),
    Code(
        "AGGREGATE_011",
        "group_by cannot use the system column {column}",
        "Of the system columns only _period and _labels can be grouped by.",
        hint="group by business columns, _period or _labels",
    ),
    Code(
        "AGGREGATE_012",
        "Invalid column name {name!r}: {reason}",
        "Replaced by MODEL_045, which is raised for every column name.",
        replaced_by=("MODEL_045",),
    ),
    Code(
        "AGGREGATE_020",
        "Invalid selector expression",
        "Replaced by PROJECT_052, which names the operation.",
        replaced_by=("PROJECT_052",),
    ),
    Code(
        "AGGREGATE_021",
        "{column} is {expected} and cannot take a {actual}",
        "The value of an aggregation must fit the type of its column. Numbers are widened, or rounded to the "
        "scale. Text is never converted to a number automatically.",
    ),
)


APPEND_CODES: dict[str, Code] = code_family(
    Code(
        "APPEND_001",
        "Dataset {dataset_id} does not exist",
        "DatasetNotFound. The source of an append must be a known dataset.",
    ),
    Code(
        "APPEND_002",
        "Dataset {dataset_id} has no version {version}",
        "DatasetVersionNotFound. A pinned dataset_version must exist.",
    ),
    Code(
        "APPEND_003",
        "Column {column} of the appended rows does not fit the working dataset: {reason}",
        "ColumnMismatch. Every column of the appended rows must exist in the working dataset with a type it fits.",
    ),
    Code(
        "APPEND_004",
        "Invalid {key} expression",
        "ExpressionParseError. A source_selector is a boolean expression over the columns of the source. The "
        "expressions under `columns` use the same columns, without aggregate functions and windows.",
    ),
    Code(
        "APPEND_005",
        "Invalid aggregation for {column!r}",
        "InvalidAggregation. An aggregation of an append is FUNCTION(column) with SUM, COUNT, AVG, MIN_AGG or "
        "MAX_AGG, or COUNT(*).",
    ),
    Code(
        "APPEND_006",
        "Unknown column {name}",
        "ColumnNotFound. Columns in group_by, aggregations, source_selector and the expressions of columns must exist "
        "in the source.",
    ),
    Code(
        "APPEND_007",
        "No resolver for dataset {dataset_id}",
        "ResolverNotFound. The dataset has no location and no resolver, the project has no override for it, "
        "and there is no default resolver.",
    ),
    Code("APPEND_008", "Loading dataset {dataset_id} failed", "DataLoadError. The data of the source cannot be read."),
    Code(
        "APPEND_010",
        "An append takes no selector",
        "A selector selects rows of the working dataset; an append reads rows of another dataset.",
        hint="write source_selector in the arguments to select rows of the source",
    ),
    Code(
        "APPEND_011",
        "group_by must name at least one column",
        "Replaced by AGGREGATE_001, which is raised for aggregates and appends.",
        replaced_by=("AGGREGATE_001",),
    ),
    Code(
        "APPEND_012",
        "aggregations must not be empty",
        "Replaced by AGGREGATE_002, which is raised for aggregates and appends.",
        replaced_by=("AGGREGATE_002",),
    ),
    Code(
        "APPEND_013",
        "group_by names {column} twice",
        "Replaced by AGGREGATE_003, which is raised for aggregates and appends.",
        replaced_by=("AGGREGATE_003",),
    ),
    Code(
        "APPEND_014",
        "Two results of the aggregation have the name {column}",
        "Replaced by AGGREGATE_007 for two results, and by AGGREGATE_010 for a result and a group_by column.",
        replaced_by=("AGGREGATE_007", "AGGREGATE_010"),
    ),
    Code(
        "APPEND_015",
        "{column} is a system column and cannot be the result of an aggregation",
        "Replaced by AGGREGATE_005, which is raised for aggregates and appends.",
        replaced_by=("AGGREGATE_005",),
    ),
    Code(
        "APPEND_016",
        "group_by cannot use the system column {column}",
        "Replaced by AGGREGATE_011, which is raised for aggregates and appends.",
        replaced_by=("AGGREGATE_011",),
    ),
    Code(
        "APPEND_020",
        "Dataset {dataset_id} is disabled",
        "Replaced by PROJECT_022, which is raised for the input, joins and appends.",
        replaced_by=("PROJECT_022",),
    ),
    Code(
        "APPEND_021",
        "columns and aggregation cannot be used together",
        "An append either copies rows with a mapping of columns, or aggregates them.",
        hint="compute the columns in an update, or name them in the aggregation",
    ),
)


DELETE_CODES: dict[str, Code] = code_family(
    Code(
        "DELETE_001",
        "A delete takes no arguments, but {key!r} was given",
        "Only the selector defines which rows a delete marks.",
        hint="write a selector on the operation and remove the arguments",
    ),
    Code(
        "DELETE_002",
        "Invalid selector expression",
        "Replaced by PROJECT_052, which names the operation.",
        replaced_by=("PROJECT_052",),
    ),
)


CHECK_CODES: dict[str, Code] = code_family(
    Code(
        "CHECK_001",
        "Invalid selector expression",
        "Replaced by PROJECT_052, which names the operation.",
        replaced_by=("PROJECT_052",),
    ),
    Code(
        "CHECK_002",
        "Invalid condition",
        "The condition of a check must be a boolean expression over the working dataset.",
    ),
    Code(
        "CHECK_020",
        "Operation {seq} ({name}) failed: {row}",
        "A selected row does not satisfy the condition, or the condition is NULL for it. Nothing after the "
        "last committed output was written.",
        hint="check the rows that fail, then change the data or the condition",
    ),
)


OUTPUT_CODES: dict[str, Code] = code_family(
    Code(
        "OUTPUT_001",
        "Invalid selector expression",
        "V-001, InvalidSelector. The selector of an output must be a boolean expression over the working dataset.",
    ),
    Code(
        "OUTPUT_002",
        "Unknown column {name}",
        "V-002, ColumnProjectionError. The columns an output names must exist in the working dataset.",
    ),
    Code(
        "OUTPUT_003",
        "Invalid destination: {reason}",
        "V-003, InvalidDestination. A destination is either datasource_id with table, or a location.",
        hint="write destination: {{datasource_id: ..., table: ...}} or destination: {{location: ...}}",
    ),
    Code(
        "OUTPUT_004",
        "Invalid dataset name {name!r} in register_as_dataset",
        "V-004, InvalidDatasetName. An output registers under a non-empty name. A name that is no id, such as "
        "`Monthly totals`, gets its slug as id: `monthly-totals`.",
        hint="write a name, or leave the key out",
    ),
    Code(
        "OUTPUT_005",
        "The selector did not give boolean values",
        "V-005, SelectorEvaluationError. Evaluating the selector must produce true, false or NULL for every row. "
        "The type of a selector is checked before a run starts, so OUTPUT_001 is raised instead.",
        replaced_by=("OUTPUT_001",),
    ),
    Code(
        "OUTPUT_006",
        "Writing {target} failed",
        "V-006, WriteFailed. The data could not be written. The previous data is unchanged.",
    ),
    Code(
        "OUTPUT_007",
        "{name} cannot be registered: the output has no columns of its own",
        "V-007, InvalidSchema. A registered dataset has at least one column that is not a system column.",
        hint="name a column that is not a system column, or remove register_as_dataset",
    ),
    Code(
        "OUTPUT_010",
        "columns must not be empty",
        "`columns` names at least one column. Without `columns`, all columns are written.",
        hint="name the columns, or remove the key to write all of them",
    ),
    Code("OUTPUT_011", "{key} names {column} twice", "Each column of an output is named once."),
    Code(
        "OUTPUT_012",
        "The outputs with seq {first} and {second} both write {target}",
        "Two outputs of one project with the same target would overwrite each other.",
        hint="write to different targets, or give both mode: append",
    ),
    Code(
        "OUTPUT_020",
        "Data source {datasource_id} does not exist",
        "The destination of an output must be a data source that is defined.",
        hint="define it in a file: `datasource: {{id: ..., name: ..., type: delta, options: {{path: FOLDER}}}}`",
    ),
    Code(
        "OUTPUT_021",
        "Data source {datasource_id} is disabled",
        "A disabled data source cannot be written to.",
    ),
    Code(
        "OUTPUT_022",
        "{name} cannot be registered",
        "An output can be registered only if expressions can use the name of its table.",
    ),
    Code(
        "OUTPUT_023",
        "The output does not write what dataset {dataset_id} declares: {difference}. Declared: {declared}. "
        "Written: {written}",
        "An output may register a dataset that a file declares. It must then write every declared column, "
        "with the declared type or a narrower one, to the declared location, and according to the "
        "temporal_mode.",
        hint="adapt the output or the declaration, or register under another name",
    ),
    Code(
        "OUTPUT_024",
        "Readers of {dataset} take deleted rows for live ones: the output writes them without the column _deleted",
        "With `include_deleted`, deleted rows are written too. A project that reads the registered dataset knows them "
        "by `_deleted` alone.",
        hint="add _deleted to columns, or remove include_deleted or register_as_dataset",
        is_acceptable=True,
    ),
    Code(
        "OUTPUT_025",
        "natural_key_columns needs register_as_dataset",
        "The natural key of an output becomes that of the dataset that it registers.",
        hint="add register_as_dataset, or remove natural_key_columns",
    ),
    Code(
        "OUTPUT_026",
        "The natural key names {column}, which the output does not write",
        "natural_key_columns are columns of the registered dataset: columns that the output writes, without the "
        "system columns.",
        hint="add {column} to columns, or remove it from natural_key_columns",
    ),
)
