"""Codes of reading and writing, and of the store."""

from daybook.errors.codes.entry import Code, code_family

IO_CODES: dict[str, Code] = code_family(
    Code(
        "IO_001",
        "{location} does not exist",
        "The file, folder or table of a location does not exist.",
        hint="check the path or table name, and the period the location was resolved for",
    ),
    Code(
        "IO_002",
        "{file} has no column {column}",
        "A declared column is missing in the data. CSV columns are matched by their names in the header. A "
        "JSON key may be missing in some rows, but not in all of them.",
        hint="remove the column from the dataset, or add it to the data",
    ),
    Code(
        "IO_003",
        "Column {column} of {file} is {found}, declared as {declared}",
        "The stored type does not fit the declared one. Only widening that loses nothing is accepted: smaller integers "
        "to integer, decimals with fewer digits, float32 to float.",
        hint="declare the type that the data has, or convert the data",
    ),
    Code(
        "IO_004",
        "{file}, {place}: {value} in column {column} is not a valid {declared}",
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
        'A column declared `nullable: false` contains NULL. In CSV, an unquoted empty field is NULL and `""` '
        "is the empty text.",
        hint="correct the data, or declare the column nullable",
    ),
    Code(
        "IO_007",
        "{file} has columns that are not declared and were ignored: {columns}",
        "Columns that a dataset does not declare are not read. This is a note, not an error.",
        hint="declare them to use them, or write `accept: [IO_007]` on the dataset",
    ),
    Code(
        "IO_008",
        "{file} changed while it was being read",
        "The size, modification time or content of an input changed after the run began to read it, so the "
        "results could mix two states. Nothing was committed.",
        hint="run again when the data is complete",
    ),
    Code(
        "IO_009",
        "The input {location} is no longer available in its earlier state: {reason}",
        "A snapshot names data that has since been changed, removed or vacuumed.",
        hint="run the project again instead of replaying it",
    ),
    Code(
        "IO_010",
        "The {format} table {location} uses {feature}, which Daybook does not support",
        "Deletion vectors, column mapping, equality deletes and other features change how data files must be read or "
        "written.",
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
        "A file or database could not be opened, read or written. The reason is the message of the system.",
    ),
    Code(
        "IO_014",
        "{file} has two columns {column}",
        "Columns are matched by name, so a name must be unique.",
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
        "An output with `mode: error` writes only where nothing exists.",
        hint="choose another target, or mode replace or append",
    ),
    Code(
        "IO_021",
        "{location} has other columns than the output: {difference}",
        "An output never changes the columns of an existing table automatically.",
        hint="`on_schema_change: add` adds columns, `keep` writes NULL to those that the output no longer has; "
        "`mode: replace` uses the new schema and replaces all rows",
    ),
    Code(
        "IO_022",
        "{location} is one file and cannot be appended to",
        "A path that ends in an extension is one file. Only folders and tables can be appended to.",
        hint="use a path without an extension, or mode replace",
    ),
    Code(
        "IO_023",
        "{location} has {rows} rows{slice} that would be replaced by no rows",
        "An output without rows is usually caused by missing input.",
        hint="if this is intended, write on_empty: replace on the output, or run with --allow-empty",
    ),
    Code(
        "IO_024",
        "Another writer changed {location}{slice} at the same time",
        "Two writers of one slice never overwrite each other silently: the second one fails.",
        hint="retry the run",
    ),
    Code(
        "IO_025",
        "{location} is on an object store, where {format} cannot be written safely",
        "An object store has no atomic rename, so readers could see a folder that is only partly written.",
        hint="write tables of type delta or iceberg there",
    ),
    Code(
        "IO_026",
        "Writing {location} failed: {reason}",
        "The data could not be staged or committed. The previous data is unchanged.",
    ),
    Code(
        "IO_027",
        "The output {output} overlaps the input {input}",
        "The target of an output must not be the same as, inside or above a location that the same run reads.",
        hint="write to another target",
    ),
    Code(
        "IO_028",
        "{location} exists and is {found}, not {expected}",
        "An output replaces only an earlier output: a file replaces a file, a folder replaces a folder of "
        "the same format.",
        hint="choose another target, or move the existing file or folder",
    ),
    Code(
        "IO_029",
        "{location} cannot store column {column}: {reason}",
        "The target has no exact equivalent of a value or type.",
    ),
    Code(
        "IO_030",
        "{location} was replaced in two steps because its file system cannot exchange folders",
        "Between the two steps, a reader finds nothing at the path for a moment. This is a note, not an error.",
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
        "Not every kind of target supports every mode.",
    ),
    Code(
        "IO_033",
        "{location} lacks files that earlier runs wrote: {files}",
        "Files of the table were removed, so its other periods cannot be kept unchanged.",
        hint="restore the files, or run their periods again",
    ),
    Code(
        "IO_034",
        "The output {output} would overwrite {what} of the workspace: {place}",
        "The target of an output must not be the same as, inside or above the store, the state folder, "
        "`daybook.yaml` or a definition. An output also must not write a YAML file below the workspace, "
        "because it would be read as a definition.",
        hint="write to another target",
    ),
    Code(
        "IO_035",
        "The link {link} {problem}",
        "Every file below a location is read once, and only files of its data source are read. These are "
        "refused: a symbolic link that leads out of the data source, to a missing file, or to a file that is "
        "read anyway; and a file with two names.",
        hint="remove the link or the second name, or begin the name with _ or . so that it is not read",
    ),
    Code(
        "IO_036",
        "The folder {location} is empty",
        "The folder exists but contains no file to read. Names that begin with `_` or `.` are ignored.",
        hint="add the files, or check the path and the period the location was resolved for",
    ),
    Code(
        "IO_037",
        "{count} of {total} locations do not exist, the first of them {locations}",
        "A resolver or catalog named several files, folders or tables that do not exist.",
        hint="check the paths or table names, and the period the locations were resolved for",
    ),
    Code(
        "IO_038",
        "{location} and {other} contain the same files",
        "Two locations of one table are the same, or one is inside the other, so rows would be read twice.",
        hint="name each location once in the resolver, the catalog or the dataset",
    ),
    Code(
        "IO_039",
        "{rows:,} rows of {location} repeat the natural key of another row, for example {key}",
        "The columns of `natural_key_columns` together identify a row, so rows with the same key are counted "
        "twice. Perhaps a file was delivered twice. With `on_duplicate_key: error` the run fails; otherwise "
        "this is a warning.",
        hint="remove the repeated rows, correct natural_key_columns, or set `on_duplicate_key: allow` on the dataset",
    ),
    Code(
        "IO_040",
        "{file} is damaged",
        "Beside the data, Daybook records which run wrote it. The content of this file is not what Daybook wrote.",
        hint="restore it from a backup, or remove it; without it, the data is used as it is",
    ),
    Code(
        "IO_041",
        "{location} was written as a Delta table, but its log is missing",
        "The folder `_delta_log` lists the files of the table. Without it, readers find no rows of any "
        "period, and a run would create a new table beside files that no table uses.",
        hint="restore the folder `_delta_log`; or move the whole folder, and the next run creates a new table",
    ),
    Code(
        "IO_042",
        "The {format} table {location} names a file outside of its folder: {file}",
        "A log can name any file of the machine or of another bucket, so Daybook reads only files in the table's own "
        "folder, and of an Iceberg table those in its warehouse or, on an object store, in the buckets of both.",
        hint="if it is a shallow clone that you trust, set `options: {{shallow_clones: true}}` on its data source or "
        "location",
    ),
    Code(
        "IO_043",
        "The output {output} cannot be written to {part}, because the name begins with a dot",
        "Files and folders whose names begin with a dot belong to programs: `.git` to git, `.daybook` to "
        "Daybook, others to shells and editors, which may execute them.",
        hint="write to another target",
    ),
    Code(
        "IO_050",
        "{file} cannot be read as a workbook: {problem}",
        "The file is not a workbook, is damaged or protected, or would use too much memory or disk space.",
        hint="open it in a spreadsheet program and save it as .xlsx",
    ),
    Code(
        "IO_051",
        "{file}: {problem}",
        "The cells cannot be found. `sheet`, `range` and `header_row` in the location's options name them. A "
        "range is written A3:F200 or Budget!A3:F200, or is a name or a table of the workbook.",
    ),
    Code(
        "IO_052",
        "{file}, {place} contains the error {error}",
        "A formula could not be computed, so the cell has no value. Cells of columns that are not read are "
        "not checked.",
        hint="correct the formula and save the workbook",
    ),
    Code(
        "IO_053",
        "{file}, {place} is a formula without a stored value",
        "Daybook reads the value that the workbook stores with a formula; it does not compute formulas. A "
        "workbook that a program wrote has no such values until a spreadsheet program has opened and saved "
        "it.",
        hint="open the workbook in a spreadsheet program and save it",
    ),
    Code(
        "IO_054",
        "{file}, {place} is merged",
        "A merged cell has one value for several cells, so it is not known whether the value belongs to one "
        "row or to each of them.",
        hint="unmerge the cells and fill each of them, or exclude them with `range`",
    ),
    Code(
        "IO_055",
        "{file}, {place}: {value} in column {column} has more than 15 digits",
        "A spreadsheet stores 15 significant digits of a number; the other digits are not reliable.",
        hint="store long numbers as text: give the cells the format Text and enter them again",
    ),
    Code(
        "IO_056",
        "{location} cannot be written as a workbook: {reason}",
        "A sheet has 1,048,576 rows and 16,384 columns, and a workbook is one file whose name ends in .xlsx.",
    ),
    Code(
        "IO_057",
        "{location} contains values, not formulas, for {column} of operation {seq}: {reason}",
        "With `live: true`, the results of an aggregate are formulas if they are sums, counts, averages, "
        "minima or maxima of the detail rows, or arithmetic on them. Other results are written as values. "
        "This is a note, not an error.",
    ),
    Code(
        "IO_060",
        "The name of column {column} has {bytes} bytes, and {format} cuts names after {limit}",
        "Two names that a database shortens to the same bytes would become one column or table.",
        hint="give the column a shorter name, or rename it with `columns` on the output",
    ),
    Code(
        "IO_061",
        "Data sources of type {format} need the package {package}, which the extra {extra} of Daybook installs",
        "Packages that only some data sources need are extras of Daybook.",
        hint="install it: pip install 'daybook[{extra}]'",
    ),
    Code(
        "IO_062",
        "It is not known whether {location} has the rows of this run already: snapshots since it began have expired",
        "The history of an Iceberg table says what each run committed. Maintenance removes old snapshots, and with "
        "them what they say. Appending again could double the rows.",
        hint="look at the table: if it lacks the rows, start a new run; use mode replace_period, which can always be "
        "repeated",
    ),
    Code(
        "IO_080",
        "{location} cannot be used: `state` is a schema, so Spark opens no {format} by a path",
        "Where the state of a workspace is a schema, this machine and Spark share no folder. Spark reads and writes "
        "tables by name; CSV, JSON and workbooks are read and written on this machine, and their rows are sent.",
        hint="use a data source of type spark_catalog, or CSV, JSON or a workbook on this machine",
    ),
    Code(
        "IO_081",
        "The state of the workspace needs a data source {datasource} of type spark_catalog",
        "`state: {{datasource_id, schema}}` names a data source whose catalog holds the schema.",
        hint="define the data source, or write the id of one that is defined",
    ),
    Code(
        "IO_082",
        "The sandbox of the workspace needs a data source {datasource} of type spark_catalog",
        "`sandbox: {{datasource_id, schema}}` names a data source whose catalog holds the schema.",
        hint="define the data source, or write the id of one that is defined",
    ),
    Code(
        "IO_083",
        "Rows that are replaced in {location} can be read for {duration}, until its platform vacuums them",
        "Nothing holds versions of Delta tables by name. Replays, comparisons and pages of older runs need them. "
        "`daybook seal` copies sealed slices into the schema of the state.",
        hint="set delta.deletedFileRetentionDuration of the table to as long as runs must stay readable",
    ),
    Code(
        "IO_070",
        "The bucket {bucket} is described in two ways: by {first} and by {other}",
        "The clients of a bucket have one endpoint and one credential for it. `storage` in daybook.yaml and the data "
        "sources whose folders are in the bucket must say the same.",
        hint="write it once, under `storage` in daybook.yaml, and leave it out at the data sources",
    ),
    Code(
        "IO_071",
        "The credential {reference} of {bucket} cannot be used: {problem}",
        "The credential of an S3 bucket is the id of an access key and its secret, and the token of a session where "
        "there is one, with colons between them. Profiles are those of the AWS command line.",
        hint="write ID:SECRET or ID:SECRET:TOKEN into the variable or file",
    ),
    Code(
        "IO_072",
        "The profile {reference} of {bucket} needs the package botocore",
        "Profiles of the AWS command line are resolved and renewed by botocore, which is an extra of Daybook.",
        hint="install daybook[s3]",
    ),
    Code(
        "IO_073",
        "{location} cannot be reached: {reason}",
        "The object store did not answer, or refused every attempt. A commit that may have been made is found "
        "when the run is retried: nothing is lost and nothing is written twice.",
        hint="check endpoint, network and credential, then retry the run",
    ),
    Code(
        "IO_074",
        "{location} is on a store that takes a second object of the same name without a word",
        "Commits on an object store are atomic because the store refuses an object that must be new (If-None-Match) "
        "when it exists. This store ignores that condition, so two writers could overwrite each other.",
        hint="use a store with conditional puts: Amazon S3, or a newer version of the server",
    ),
)


STORE_CODES: dict[str, Code] = code_family(
    Code(
        "STORE_001",
        "The store address {url} is not valid: {reason}",
        "`store` in daybook.yaml is `sqlite:///PATH`, relative to the workspace or absolute with a fourth slash, "
        "or `postgresql://USER@HOST/DATABASE`.",
        hint="write sqlite:///.daybook/store.db or postgresql://user@host/database",
    ),
    Code(
        "STORE_002",
        "The store address contains a password",
        "A password in daybook.yaml would get into version control and logs.",
        hint="use a reference: postgresql://user@host/db?credential_ref=env://NAME (or file://PATH), or use "
        "PGPASSWORD or ~/.pgpass",
    ),
    Code(
        "STORE_003",
        "The store at {place} cannot be used: {reason}",
        "The database of the store cannot be reached, opened or read.",
        hint="check that the server runs, or that the file is a Daybook store that you may read and write",
    ),
    Code(
        "STORE_004",
        "The store at {place} has schema {found}; this version of Daybook needs {needed}",
        "A shared store is migrated only by an explicit command, because all its users then need a version "
        "of Daybook with the new schema. An embedded store is migrated automatically.",
        hint="run `daybook apply`, which creates or migrates the schema",
    ),
    Code(
        "STORE_005",
        "The store at {place} has schema {found}, which this version of Daybook does not know",
        "The store was used with a newer version of Daybook, perhaps while this command was running. Nothing is "
        "written to it.",
        hint="upgrade Daybook",
    ),
    Code(
        "STORE_006",
        "The store at {place} was locked by others for {seconds} seconds",
        "Other processes kept the store locked longer than a command waits. Nothing was changed.",
        hint="try again",
    ),
    Code(
        "STORE_007",
        "There is no {kind} {id} in the store",
        "No definition with this kind and id was applied or registered.",
        hint="`daybook apply` puts the workspace's definitions into the store",
    ),
    Code(
        "STORE_008",
        "{kind} {id} has no version {version}; it has {versions}",
        "Versions are numbered from 1 without gaps. A version that does not exist cannot be shown, pinned or run.",
    ),
    Code(
        "STORE_009",
        "Dataset {id} was registered by an output; from now on the output must write what the file declares",
        "A file may declare a dataset that an output registers. `daybook validate` checks that the output "
        "writes what is declared.",
        hint="if these are two different datasets, give one of them another id",
    ),
    Code(
        "STORE_010",
        "The output does not write dataset {id} as it is declared: {difference}",
        "An output may register a dataset that a file declares when it writes what is declared.",
        hint="adapt the output or the declaration, or choose another name for `register_as_dataset`; "
        "`daybook apply --prune` releases a dataset whose file is gone",
    ),
    Code(
        "STORE_011",
        "More than one resolver is the default: {ids}",
        "At most one enabled resolver may have `is_default: true` in all workspaces that share the store.",
        hint="keep `is_default: true` on one of them",
    ),
    Code(
        "STORE_012",
        "Project {project_id} is already running for {period}: run {run_id} on {host}, process {pid}",
        "A project has one run per period at a time. A run whose process has ended is ignored: on the same "
        "machine immediately, on other machines when its lease of 30 seconds expires.",
        hint="wait for it, or `daybook cancel {run_id}`",
    ),
    Code(
        "STORE_013",
        "Run {run_id} has lost its lease; it can commit nothing more",
        "The run did not renew its lease in time, or another process took over or ended the run. What it "
        "committed before stays recorded. What it stages from now on is discarded.",
        hint="`daybook retry {run_id}` continues the run",
    ),
    Code(
        "STORE_014",
        "There is no run {run_id}",
        "No run with that id is in the store; `daybook gc` removes runs older than the retention.",
        hint="`daybook runs` lists them",
    ),
    Code(
        "STORE_015",
        "Run {run_id} is {status} and cannot be {action}",
        "Only a queued or running run can be cancelled. Only a failed or cancelled run can be retried.",
    ),
    Code(
        "STORE_016",
        "The slice {period} of {destination} belongs to {owner}",
        "Only the project that wrote a slice may replace it. Another project that writes the same slice, or "
        "replaces the table, would remove its rows silently.",
        hint="write to another table; or `daybook deactivate` the owner, if this project replaces it",
    ),
    Code(
        "STORE_017",
        "Period {period} is {status} and cannot be {action}",
        "A period goes from open to closed to locked. Only `daybook periods reopen` opens it again, and it "
        "needs a reason.",
        hint='`daybook periods reopen {period} --reason "..."` opens it again',
    ),
    Code(
        "STORE_018",
        "Run {run_id} cannot be retried: run {later_run_id} of {project_id} for {period} has committed in the meantime",
        "Continuing the older run would replace newer figures with older ones.",
        hint="start a new run",
    ),
    Code(
        "STORE_019",
        "Project {project_id} is in conflict: {summary}",
        "A dataset that the project reads has changed, and the project cannot use the new version. The "
        "report names column, change and operations.",
        hint="adapt the project, or pin the version it was validated against with `dataset_version`, "
        "then `daybook activate {project_id}`",
    ),
    Code(
        "STORE_020",
        "Project {project_id} is inactive",
        "A deactivated project does not run.",
        hint="`daybook activate {project_id}`",
    ),
    Code(
        "STORE_021",
        "Project {project_id} differs from its active version {version}",
        "The file was changed after the project was activated, so a run would not execute what was validated.",
        hint="`daybook activate {project_id}`, or `daybook run {project_id} --period PERIOD --draft`",
    ),
    Code(
        "STORE_022",
        "Project {project_id} was never activated",
        "Only an active project runs without `--draft`, and only one that was active can be deactivated.",
        hint="`daybook activate {project_id}` first",
    ),
    Code(
        "STORE_024",
        "Project {project_id} pins {dataset_id} to version {pinned}, so version {asked} cannot be used",
        "`activate --dataset-version` sets the version of an input that the project does not pin.",
        hint="change `dataset_version` in the project's file instead",
    ),
    Code(
        "STORE_025",
        "{operations}: column {column} of dataset {dataset_id} {change} in version {version}",
        "A column that an active project uses was removed, got another type, or got a type with fewer values.",
        hint="adapt the project, or pin the version it was validated against with `dataset_version`",
    ),
    Code(
        "STORE_026",
        "Dataset {dataset_id} version {version} adds {columns}; project {project_id} does not read them",
        "An active project keeps reading the columns it was activated with. New columns are not read until it is "
        "activated again.",
        hint="`daybook activate {project_id}` reads them",
    ),
    Code(
        "STORE_027",
        "{kind} {id} belonged to workspace {previous}; it is now defined by {workspace}",
        "Two workspaces share the store and define the same id. The definition that was applied last is used.",
        hint="use different ids, unless this is the same workspace under a new name",
    ),
    Code(
        "STORE_028",
        "Project {project_id} fails validation: {count} finding(s)",
        "The definition is stored. Until the findings are resolved, the project stays a draft; if it was "
        "active, it is in conflict.",
        hint="`daybook validate` shows them all",
    ),
    Code(
        "STORE_029",
        "The password of the store is not available",
        "`credential_ref` names an environment variable (env://NAME) or a file (file://PATH) that holds the password.",
    ),
    Code(
        "STORE_030",
        "{mark} is not a valid page mark",
        "`daybook runs --json` returns the mark of the next page under `next`.",
        hint="start with the first page",
    ),
    Code(
        "STORE_031",
        "Period {period} stays {status}: {because_of} is {status}",
        "Closing or locking a period applies to all periods inside it.",
        hint="reopen {because_of} first",
    ),
    Code(
        "STORE_032",
        "{action} needs a reason",
        "Such a change is recorded permanently, with user, time and reason.",
        hint='write --reason "..."',
    ),
    Code(
        "STORE_033",
        "Project {project_id} will be in conflict once {makers} has run: {summary}",
        "A project, as it is defined now, registers a dataset that lacks something that another active project uses.",
        hint="adapt project {project_id}, then `daybook activate {project_id}`",
    ),
    Code(
        "STORE_034",
        "Project {project_id} was activated for version {version} of dataset {dataset_id}, which is not registered yet",
        "A project can be activated before the projects that it reads from have run. It can run after them.",
        hint="run the project that registers {dataset_id} first",
    ),
    Code(
        "STORE_035",
        "There is no table {table} with slices",
        "A table is named by its destination (`warehouse.orders`), its name, its location, or the dataset "
        "that is registered from it. Only tables that collect periods have slices.",
        hint="`daybook slices` lists them",
    ),
    Code(
        "STORE_036",
        "{table} is ambiguous: {tables}",
        "Two data sources have a table with this name.",
        hint="write the location of the table",
    ),
    Code(
        "STORE_037",
        "The table {table} has no slice {period}; it has {periods}",
        "A slice contains the rows that runs wrote to a table for one period.",
        hint="`daybook slices {table}` lists them",
    ),
    Code(
        "STORE_038",
        "Run {run_id} did not record how it wrote the slice of {destination}",
        "Neither the snapshot of the run nor the file of its project has an output to that table, so Daybook cannot "
        "remove the slice.",
        hint="run the project for the period again, then drop the slice",
    ),
    Code(
        "STORE_039",
        "Dropping a slice needs a confirmation",
        "The rows of a slice are removed from the table. Without a terminal, Daybook cannot ask.",
        hint="write --yes",
    ),
    Code(
        "STORE_040",
        "The workspace was in {before} and is now in {root}",
        "The store keeps paths inside the workspace relative to it, so a workspace can be moved or copied as "
        "a whole. Runs read and write the tables in the new folder. A copy has its own tables, runs and "
        "slices; slices in tables outside the workspace still belong to the original. This is a note, not an "
        "error.",
    ),
    Code(
        "STORE_041",
        "The store at {place} is damaged: {reason}",
        "The content of the file is not what Daybook wrote: it was truncated, overwritten, or changed by "
        "another program. The tables that runs wrote are not affected.",
        hint="`daybook doctor --restore` restores the newest backup and finds what was committed after it",
    ),
    Code(
        "STORE_042",
        "The store at {place} could not be backed up: {reason}",
        "A backup is made before the schema of a store changes, and once a day. Nothing was changed.",
        hint="check the permissions and the free disk space",
    ),
    Code(
        "STORE_043",
        "The store at {place} is not damaged",
        "A backup replaces only a store that cannot be used. Otherwise, what the store recorded after the "
        "backup would be lost.",
    ),
    Code(
        "STORE_044",
        "There is no usable backup of the store at {place} in {folder}",
        "Without a backup, start a new store: move the file of the store to another folder. The tables that "
        "runs wrote are kept. They record which workspace owns their slices, so the first run is refused "
        "with the id of the lost workspace. `daybook slices take-over` then assigns these slices to the new "
        "workspace.",
    ),
    Code(
        "STORE_045",
        "Daybook makes no backups of the store at {place}",
        "A shared store is a database that its administrators back up and restore.",
        hint="ask the administrator of the database",
    ),
    Code(
        "STORE_046",
        "No table of a project in this workspace has a slice of workspace {workspace}",
        "The workspace is named by its id, as the error `STORE_016` shows it. If an earlier version of "
        "Daybook, which recorded no id, wrote the slice, it is named by its name.",
        hint="run the project: the error STORE_016 names the workspace",
    ),
    Code(
        "STORE_047",
        "The disk of the store at {place} is full: {reason}",
        "The store cannot grow. Nothing was changed; even reading an embedded store needs a little room beside it.",
        hint="free disk space: `daybook gc --dry-run` shows what Daybook itself no longer needs",
    ),
    Code(
        "STORE_048",
        "A text cannot be stored, since it is not Unicode: {text}",
        "A terminal with another encoding, or half of a surrogate pair in JSON, gives texts that have no UTF-8. "
        "Nothing was done.",
        hint="write it in UTF-8",
    ),
)
