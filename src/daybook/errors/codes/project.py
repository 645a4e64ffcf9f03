"""Codes of the project family: 001-019 structure, from 020 what planning finds."""

from daybook.errors.codes.entry import Code, family

CODES: dict[str, Code] = family(
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
        "An operation is an update, aggregate, append, delete or output.",
        hint="types are update, aggregate, append, delete and output",
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
        hint="write to another table or path",
    ),
    Code("PROJECT_010", "A project needs at least one operation", "A project without operations does nothing."),
    Code(
        "PROJECT_011",
        "Invalid selector name {name!r}",
        "The name of a selector is referred to as {{NAME}}: a letter or underscore followed by letters, digits, "
        "underscores and hyphens.",
    ),
    Code(
        "PROJECT_012",
        "This operation needs arguments",
        "Every operation but delete says in its arguments what it does.",
    ),
)
