"""Files that look like definitions: the code that answers each of them."""

_NINES = "9" * 5000
_DATASET = "dataset:\n  id: d\n  main_table: {name: t, columns: [{name: a, type: string}]}\n"
_PROJECT = "project:\n  id: p\n  input: {dataset_id: d}\n  operations:\n    - {type: delete}\n"

_ALIAS_BOMB = b"dataset:\n  a0: &a0 [x, x]\n" + b"".join(
    f"  a{number}: &a{number} [*a{number - 1}, *a{number - 1}]\n".encode() for number in range(1, 40)
)
_DEEP_ALIASES = b"dataset:\n  a: &a " + b"[" * 40 + b"]" * 40 + b"\n  b: &b " + b"[" * 40 + b"*a" + b"]" * 40 + b"\n"
_ELEMENT_BOMB = (
    f"dataset:\n  for_each: {{a: [{', '.join(map(str, range(900)))}]}}\n  id: d\n  x: [{', '.join(['y'] * 1000)}]\n"
).encode()

# (what it is, name of the file, its bytes, code)
CASES: list[tuple[str, str, bytes, str]] = [
    ("UTF-16", "x.yaml", _DATASET.encode("utf-16"), "MODEL_003"),
    ("UTF-16 without a mark", "x.yaml", _DATASET.encode("utf-16-le"), "MODEL_003"),
    ("UTF-16, the other way round", "x.yaml", _DATASET.encode("utf-16-be"), "MODEL_003"),
    ("UTF-32", "x.yaml", _DATASET.encode("utf-32"), "MODEL_003"),
    ("UTF-32 without a mark", "x.yaml", _DATASET.encode("utf-32-be"), "MODEL_003"),
    ("JSON in UTF-16", "x.json", '{"dataset": {}}'.encode("utf-16"), "MODEL_003"),
    ("JSON in UTF-16 without a mark", "x.json", '{"dataset": {}}'.encode("utf-16-le"), "MODEL_003"),
    ("Latin-1", "x.yaml", (_DATASET + "  name: Gr\u00f6\u00dfe\n").encode("latin-1"), "MODEL_003"),
    ("NUL bytes before", "x.yaml", b"\0" * 50 + _DATASET.encode(), "MODEL_013"),
    ("a NUL byte inside", "x.yaml", _DATASET.encode() + b"\0", "MODEL_013"),
    ("an escape sequence", "x.yaml", _DATASET.encode() + b"# \x1b[2J\n", "MODEL_013"),
    ("lists 100,000 deep", "x.yaml", b"dataset: " + b"[" * 100_000 + b"]" * 100_000, "MODEL_008"),
    ("mappings 100,000 deep", "x.yaml", b"dataset: " + b"{a: " * 100_000 + b"}" * 100_000, "MODEL_008"),
    ("JSON 100,000 deep", "x.json", b'{"dataset": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "MODEL_008"),
    ("a bomb of aliases", "x.yaml", _ALIAS_BOMB, "MODEL_090"),
    ("an alias of itself", "x.yaml", b"dataset: &a [*a]\n", "MODEL_006"),
    ("aliases 100 deep", "x.yaml", _DEEP_ALIASES, "MODEL_008"),
    ("a bomb of elements", "x.yaml", _ELEMENT_BOMB, "MODEL_090"),
    ("a path in an element", "x.yaml", b"dataset: {for_each: {a: ['../x']}, id: d}\n", "MODEL_092"),
    ("a tag", "x.yaml", b"dataset: !!python/object/apply:os.system [id]\n", "MODEL_007"),
    (
        "a version of 5,000 digits",
        "x.yaml",
        _PROJECT.replace("d}", f"d, dataset_version: {_NINES}}}").encode(),
        "MODEL_022",
    ),
    ("a seq of 5,000 digits", "x.yaml", _PROJECT.replace("type:", f"seq: {_NINES}, type:").encode(), "PROJECT_001"),
    ("an extreme exponent", "x.yaml", _PROJECT.replace("d}", "d, dataset_version: 1e999999999}").encode(), "MODEL_022"),
    (
        "a type of 5,000 digits",
        "x.yaml",
        _DATASET.replace("string", f"'decimal({_NINES},2)'").encode(),
        "MODEL_041",
    ),
    ("an id of 5,000 characters", "x.yaml", _DATASET.replace("id: d", f"id: {'d' * 5000}").encode(), "MODEL_026"),
]
