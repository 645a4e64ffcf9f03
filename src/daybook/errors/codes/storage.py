"""Codes of reading and writing, and of the store."""

from daybook.errors.codes.entry import Code, code_family

IO_CODES: dict[str, Code] = code_family(
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
        "An output with `mode: error` writes only where nothing exists.",
        hint="choose another place, or mode replace or append",
    ),
    Code(
        "IO_021",
        "{location} has other columns than the output: {difference}",
        "An output never changes the columns of an existing table by itself.",
        hint="`on_schema_change: add` adds columns, `keep` writes NULL in those that the output no longer has; "
        "`mode: replace` takes the new schema and replaces all rows",
    ),
    Code(
        "IO_022",
        "{location} is one file and cannot be appended to",
        "A path that ends in an extension is one file. Only folders and tables collect rows.",
        hint="use a path without an extension, or mode replace",
    ),
    Code(
        "IO_023",
        "{location} has {rows} rows{slice} that would be replaced by no rows",
        "An output without rows is usually caused by missing input.",
        hint="if it is intended, write on_empty: replace on the output, or run with --allow-empty",
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
        "The data could not be staged or committed. The data from before is unchanged.",
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
        "An output may not be equal to, inside or above the store, the state folder, `daybook.yaml` or a definition, "
        "and no YAML file below the workspace, which would be read as one.",
        hint="write to another place",
    ),
    Code(
        "IO_035",
        "The link {link} {problem}",
        "Every file below a location is read once, and only files of its data source are read. Refused are a symbolic "
        "link that leads out of the data source, nowhere, or to what is read anyway, and a file that has two names.",
        hint="remove the link or the second name, or begin its name with _ or ., so that it is not read",
    ),
    Code(
        "IO_036",
        "The folder {location} is empty",
        "The folder exists and holds no file that is read; names that begin with `_` or `.` are passed over.",
        hint="put the files there, or check the path and the period the location was resolved for",
    ),
    Code(
        "IO_037",
        "{count} of {total} locations do not exist, the first of them {locations}",
        "Several of the files, folders or tables that a resolver or catalog named could not be found.",
        hint="check the paths or table names, and the period the locations were resolved for",
    ),
    Code(
        "IO_038",
        "{location} and {other} hold the same files",
        "Two locations of one table are the same place, or one lies in the other, so its rows would be read twice.",
        hint="name each place once in the resolver, the catalog or the dataset",
    ),
    Code(
        "IO_039",
        "{rows:,} rows of {location} repeat the natural key of another row, for example {key}",
        "The columns of `natural_key_columns` together identify a row, so rows that share a key are counted twice: "
        "perhaps a file was delivered twice. With `on_duplicate_key: error` the run fails; otherwise it is a warning.",
        hint="remove the repeated rows, correct natural_key_columns, or set `on_duplicate_key: allow` on the dataset",
    ),
    Code(
        "IO_040",
        "{file} is damaged",
        "Daybook keeps beside what it writes which run wrote it. This file does not hold what Daybook wrote.",
        hint="restore it from a backup, or remove it: then the data is taken as it is",
    ),
    Code(
        "IO_041",
        "{location} was written as a Delta table and has no log any more",
        "The folder `_delta_log` says which files are the table. Without it the rows of all periods are lost to "
        "readers, and a run would begin a new table beside files that nothing refers to.",
        hint="restore the folder `_delta_log`; or move the whole folder away, and the next run begins a new table",
    ),
    Code(
        "IO_042",
        "The Delta table {location} names a file outside of its folder: {file}",
        "A log may name any file of the machine, so only files of the table's own folder are read.",
        hint="if it is a shallow clone that you trust, set `options: {{shallow_clones: true}}` on its data source or "
        "location",
    ),
    Code(
        "IO_043",
        "The output {output} would be written to {part}, and names that begin with a dot are not written to",
        "Folders and files whose names begin with a dot belong to programs: `.git` to git, `.daybook` to Daybook, "
        "others to shells and editors, which read and execute what lies there.",
        hint="write to another place",
    ),
    Code(
        "IO_050",
        "{file} cannot be read as a workbook: {problem}",
        "A file with the format xlsx is no workbook, is damaged or protected, or is made to fill memory and disk.",
        hint="open it in a spreadsheet program and save it as .xlsx",
    ),
    Code(
        "IO_051",
        "{file}: {problem}",
        "The cells that are meant cannot be found: `sheet`, `range` and `header_row` in the location's options name "
        "them. A range is written A3:F200 or Budget!A3:F200, or is a name or a table of the workbook.",
    ),
    Code(
        "IO_052",
        "{file}, {place} holds the error {error}",
        "A formula could not be computed, so the cell has no value. Cells of columns that are not read do not matter.",
        hint="correct the formula and save the workbook",
    ),
    Code(
        "IO_053",
        "{file}, {place} is a formula without a stored value",
        "A formula counts with the value that the workbook stores beside it; Daybook computes no formulas. Workbooks "
        "written by programs have none until a spreadsheet program has opened and saved them.",
        hint="open the workbook in a spreadsheet program and save it",
    ),
    Code(
        "IO_054",
        "{file}, {place} is merged",
        "A merged cell is one value over several cells of the data, so it is not known whether it counts for one row "
        "or for each of them.",
        hint="unmerge the cells and fill each of them, or leave them out with `range`",
    ),
    Code(
        "IO_055",
        "{file}, {place}: {value} in column {column} has more than 15 digits",
        "A number of a spreadsheet has 15 significant digits; the others are not what anybody entered.",
        hint="keep long numbers as text: give the cells the format Text and enter them again",
    ),
    Code(
        "IO_056",
        "{location} cannot be written as a workbook: {reason}",
        "A sheet has 1,048,576 rows and 16,384 columns, and a workbook is one file whose name ends in .xlsx.",
    ),
    Code(
        "IO_057",
        "{location} keeps the values of {column} of operation {seq}: {reason}",
        "With `live: true` the values of an aggregate are formulas where they are sums, counts, averages, minima and "
        "maxima of the detail rows and arithmetic on them. Others are written as values. This is a note, not an error.",
    ),
    Code(
        "IO_060",
        "The name of column {column} has {bytes} bytes, and {format} cuts names after {limit}",
        "Two names that a database cuts to the same bytes would become one column or table.",
        hint="give the column a shorter name, or write it under one with `columns` on the output",
    ),
)


STORE_CODES: dict[str, Code] = code_family(
    Code(
        "STORE_001",
        "The store address {url} is not understood: {reason}",
        "`store` in daybook.yaml is `sqlite:///PATH`, relative to the workspace or absolute with a fourth slash, "
        "or `postgresql://USER@HOST/DATABASE`.",
        hint="write sqlite:///.daybook/store.db or postgresql://user@host/database",
    ),
    Code(
        "STORE_002",
        "The store address holds a password",
        "A password in daybook.yaml would end up in git and in logs, so it is refused.",
        hint="name it by reference: postgresql://user@host/db?credential_ref=env://NAME (or file://PATH), "
        "or use PGPASSWORD or ~/.pgpass",
    ),
    Code(
        "STORE_003",
        "The store at {place} cannot be used: {reason}",
        "The database behind the store cannot be reached, opened or read.",
        hint="check that the server runs and the file is a Daybook store you may read and write",
    ),
    Code(
        "STORE_004",
        "The store at {place} has schema {found}; this Daybook needs {needed}",
        "A shared store is brought up to date by an explicit step, because everyone who uses it must "
        "have a Daybook that knows the new schema. An embedded store is brought up to date by itself.",
        hint="run `daybook apply`, which sets the store up or migrates it",
    ),
    Code(
        "STORE_005",
        "The store at {place} has schema {found}, which this Daybook does not know",
        "Somebody used the store with a newer Daybook.",
        hint="upgrade Daybook",
    ),
    Code(
        "STORE_006",
        "The store at {place} was locked by others for {seconds} seconds",
        "Other processes kept the store locked longer than a command waits; nothing was changed.",
        hint="try again",
    ),
    Code(
        "STORE_007",
        "There is no {kind} {id} in the store",
        "Nothing with that kind and id was ever applied or registered.",
        hint="`daybook apply` puts the workspace's definitions into the store",
    ),
    Code(
        "STORE_008",
        "{kind} {id} has no version {version}; it has {versions}",
        "Versions count from 1 without gaps; a version that was never made cannot be shown, pinned or run.",
    ),
    Code(
        "STORE_009",
        "Dataset {id} was registered by an output; its file is its contract now",
        "A file may declare a dataset that an output registers. From then on the output must write what is declared; "
        "`daybook validate` checks that.",
        hint="give one of them another id unless they are meant to be one dataset",
    ),
    Code(
        "STORE_010",
        "Dataset {id} is declared otherwise than the output writes it: {difference}",
        "An output may register a dataset that a file declares when it writes what is declared.",
        hint="adapt the output or the declaration, or choose another name for `register_as_dataset`; "
        "`daybook apply --prune` releases a dataset whose file is gone",
    ),
    Code(
        "STORE_011",
        "More than one resolver is the default: {ids}",
        "At most one enabled resolver may have `is_default: true`, over all workspaces that share the store.",
        hint="keep `is_default: true` on one of them",
    ),
    Code(
        "STORE_012",
        "Project {project_id} is already being run for {period}: run {run_id} on {host}, process {pid}",
        "One run per project and period at a time. A run whose process has ended does not count any more: at once on "
        "the same machine, elsewhere after its lease of 30 seconds.",
        hint="wait for it, or `daybook cancel {run_id}`",
    ),
    Code(
        "STORE_013",
        "Run {run_id} has lost its lease; nothing more is committed for it",
        "The run did not renew its lease in time, or another process took it over or ended it. What it wrote before "
        "stays recorded; what it stages from now on is discarded.",
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
        "Only a run that is queued or running can be cancelled, and only one that failed or was cancelled retried.",
    ),
    Code(
        "STORE_016",
        "The slice {period} of {destination} belongs to {owner}",
        "What a project wrote for a period is replaced by that project only. "
        "Another project that writes the same slice, or replaces the table, would remove its rows silently.",
        hint="write to another table; or `daybook deactivate` the owner, if this project replaces it",
    ),
    Code(
        "STORE_017",
        "Period {period} is {status} and cannot be {action}",
        "A period goes from open to closed to locked. Only `daybook periods reopen` takes it back, with a reason.",
        hint='`daybook periods reopen {period} --reason "..."` opens it again',
    ),
    Code(
        "STORE_018",
        "Run {run_id} cannot be retried: run {later_run_id} of {project_id} for {period} has committed since",
        "Continuing the older run would replace newer numbers by older ones.",
        hint="start a new run",
    ),
    Code(
        "STORE_019",
        "Project {project_id} is in conflict: {summary}",
        "A dataset the project reads changed in a way that breaks it. The report names column, change and operations.",
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
        "The file was changed since the project was activated, so a run would not do what was validated.",
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
        "Project {project_id} pins {dataset_id} to version {pinned}; version {asked} was asked for",
        "`activate --dataset-version` chooses the version of an input the project leaves open.",
        hint="change `dataset_version` in the project's file instead",
    ),
    Code(
        "STORE_025",
        "{operations}: column {column} of dataset {dataset_id} {change} in version {version}",
        "A column that an active project uses was removed, got another type, or holds fewer values than before.",
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
        "Two workspaces share the store and define the same id; the one applied last counts.",
        hint="use different ids unless this is the same workspace under a new name",
    ),
    Code(
        "STORE_028",
        "Project {project_id} fails validation: {count} finding(s)",
        "The definition is stored; the project stays a draft, or goes into conflict when it was active, until "
        "the findings are resolved.",
        hint="`daybook validate` shows them all",
    ),
    Code(
        "STORE_029",
        "The password of the store is not available",
        "`credential_ref` names an environment variable (env://NAME) or a file (file://PATH) that holds the password.",
    ),
    Code(
        "STORE_030",
        "{mark} is not a page mark of a list of runs",
        "`daybook runs --json` has the mark of the next page under `next`.",
        hint="begin with the first page",
    ),
    Code(
        "STORE_031",
        "Period {period} stays {status}: {because_of} is {status}",
        "A lock or a close covers all periods inside it.",
        hint="reopen {because_of} first",
    ),
    Code(
        "STORE_032",
        "{action} needs a reason",
        "A change that is taken back is recorded permanently: who did it, when and why.",
        hint='write --reason "..."',
    ),
    Code(
        "STORE_033",
        "Project {project_id} will be in conflict once {makers} has run: {summary}",
        "A project as it is written now registers a dataset without something that another active project uses.",
        hint="adapt project {project_id}, then `daybook activate {project_id}`",
    ),
    Code(
        "STORE_034",
        "Project {project_id} was activated for version {version} of dataset {dataset_id}, which is not registered yet",
        "A project may be activated before the projects it reads from have run. It runs when they have.",
        hint="run the project that registers {dataset_id} first",
    ),
    Code(
        "STORE_035",
        "No run wrote slices to a table {table}",
        "A table is meant by its destination (`warehouse.orders`), its name, its location, or the dataset that is "
        "registered from it. Only tables that collect periods have slices.",
        hint="`daybook slices` lists them",
    ),
    Code(
        "STORE_036",
        "{table} may be one of several tables: {tables}",
        "Two tables have the same name in two data sources.",
        hint="write the location of the one that is meant",
    ),
    Code(
        "STORE_037",
        "The table {table} has no slice {period}; it has {periods}",
        "A slice is what runs wrote into a table for one period.",
        hint="`daybook slices {table}` lists them",
    ),
    Code(
        "STORE_038",
        "Run {run_id} does not say how it wrote the slice of {destination}",
        "The snapshot of the run that wrote a slice names no output to that table, so the slice cannot be removed from "
        "here.",
        hint="run the project for the period again, then drop the slice",
    ),
    Code(
        "STORE_039",
        "Dropping a slice needs a confirmation",
        "The rows of a slice are removed from the table. Without a terminal nobody can be asked.",
        hint="write --yes",
    ),
    Code(
        "STORE_040",
        "The workspace was in {before} and is now in {root}",
        "The store keeps what lies in the workspace relative to it, so a workspace can be moved or copied as a whole. "
        "Runs read and write the tables in the new folder. A copy beside its original has tables, runs and slices of "
        "its own from now on; slices in tables outside of the workspace stay those of the original. "
        "This is a note, not an error.",
    ),
    Code(
        "STORE_041",
        "The store at {place} is damaged: {reason}",
        "The file does not hold what Daybook wrote: it was cut, overwritten, or changed by another program. The tables "
        "that runs wrote are not concerned.",
        hint="`daybook doctor --restore` puts the newest backup back and finds again what was committed since",
    ),
    Code(
        "STORE_042",
        "The store at {place} could not be backed up: {reason}",
        "A backup is taken before the schema of a store is changed and once a day; nothing was changed.",
        hint="check the permissions and the free space there",
    ),
    Code(
        "STORE_043",
        "The store at {place} is not damaged",
        "A backup replaces only a store that cannot be used; what the store knows since would be lost.",
    ),
    Code(
        "STORE_044",
        "There is no sound backup of the store at {place}",
        "Backups are kept in {folder}. Without one the store begins anew: move its file away. The tables that runs "
        "wrote stay. Whose their slices are is read from them, so the first run is refused with the id of the lost "
        "workspace, and `daybook slices take-over` makes its slices those of the new one.",
    ),
    Code(
        "STORE_045",
        "Daybook keeps no backups of the store at {place}",
        "A shared store is a database of its own, which is backed up and restored by those who run it.",
        hint="ask whoever runs the database",
    ),
    Code(
        "STORE_046",
        "No table that a project here writes has a slice of workspace {workspace}",
        "A workspace whose slices are taken over is named by its id, as the refusal `STORE_016` shows it; or by its "
        "name, where an earlier version of Daybook wrote the slice and kept no id.",
        hint="run the project: the refusal names the workspace",
    ),
)
