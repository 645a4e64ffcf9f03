"""Paths that mean another place than they look like, in locations of datasets, outputs, resolvers and catalogs."""

# Refused wherever a path relative to the workspace or to a data source may stand.
REFUSED: list[str] = [
    "..",
    "../secret.csv",
    "a/../../secret.csv",
    "./a.csv",
    "a//b.csv",
    "~/secret.csv",
    "~root/secret.csv",
    "a\\..\\b.csv",
    "\\\\host\\share.csv",
    "a\0b.csv",
    "a\nb.csv",
    "a\x1b[2Jb.csv",
    "*.csv",
    "2026-0?.csv",
    "[ab].csv",
    "%2e%2e/secret.csv",
    "a%2Fb.csv",
    "a%00.csv",
    "x" * 256 + ".csv",
    "\u00e9" * 128 + ".csv",
    "a/" + "x" * 5000 + "/b.csv",
]

# Refused below a data source; an inline path may be absolute or a URI.
REFUSED_BELOW_A_SOURCE: list[str] = [
    "/etc/passwd",
    "//host/share.csv",
    "file:///etc/passwd",
    "file:/etc/passwd",
    "FILE:///etc/passwd",
    "s3a://other/x.csv",
    "http://169.254.169.254/latest/meta-data",
    "http:x.csv",
    "jar:file:/x.jar!/x.csv",
]

ORDINARY: list[str] = [
    "orders.csv",
    "a b/\u00fc.csv",
    "region=emea/x.csv",
    "50%.csv",
    "..a/b...csv",
    "x" * 251 + ".csv",
]

# What the log of a Delta table may name to make somebody read a file outside of it; {folder} is where the table lies.
FOREIGN_DATA_FILES: list[str] = [
    "../outside.parquet",
    "%2e%2e/outside.parquet",
    "x/../../outside.parquet",
    "{folder}/outside.parquet",
    "{folder}/t/../outside.parquet",
    "file://{folder}/outside.parquet",
    "file:{folder}/outside.parquet",
    "s3://somewhere/outside.parquet",
]

# Outputs to what other programs read and execute, and the part of the path that counts; {home} is outside of it.
HIDDEN_TARGETS: list[tuple[str, str]] = [
    (".git/config", ".git"),
    (".git/hooks/x.csv", ".git"),
    ("sub/.git/config", ".git"),
    (".gitattributes", ".gitattributes"),
    (".github/x.csv", ".github"),
    ("out/.hidden/x.csv", ".hidden"),
    ("link-to-git/config", ".git"),
    ("{home}/.ssh/authorized_keys", ".ssh"),
    ("file://{home}/.bashrc", ".bashrc"),
]
