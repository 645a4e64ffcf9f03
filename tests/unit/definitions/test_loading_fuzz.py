"""Whatever a file holds, the loader gives definitions or coded errors.

The quick round mutates two thousand files; `DAYBOOK_FUZZ=10000` asks for more.
"""

import os
import random

import pytest

from daybook.definitions.loading import load_text
from daybook.definitions.loading.definition_texts import read_definitions
from daybook.definitions.loading.text import decode_utf8
from daybook.errors import CODES, DaybookError, render
from daybook.model.serialization import to_yaml
from tests.golden.loader_cases import cases

FILES = int(os.environ.get("DAYBOOK_FUZZ", "2000"))
BATCHES = 10

CORPUS = [(case.file, case.text.encode()) for case in cases()]
TOKENS = [
    *(
        b"\n",
        b"\t",
        b"  ",
        b": ",
        b"- ",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b'"',
        b"'",
        b"#",
        b"|",
        b">",
        b"? ",
        b"---\n",
        b"...\n",
    ),
    *(
        b"&a ",
        b"*a",
        b"!!int ",
        b"!x ",
        b"<<: ",
        b"%YAML 1.2\n",
        b"%TAG ! x\n",
        b"~",
        b"null",
        b"true",
        b"on",
        b"12:30:45",
    ),
    *(
        b"2026-01-01",
        b"1e400",
        b"-0",
        b"0o777",
        b"9" * 400,
        b".inf",
        b"\\",
        b"\\u0000",
        b"\\ud83d",
        b"\x00",
        b"\xff",
        b"\xfe",
    ),
    *(
        "\ufeff".encode(),
        "\u2028".encode(),
        "\x85".encode(),
        "😀".encode(),
        b"\r",
        b"\x1b[31m",
        b"seq: -1",
        b"order: 1",
    ),
    *(
        b"dataset:",
        b"project:",
        b"operations:",
        b"arguments:",
        b"parameters:",
        b"selector:",
        b"type: update",
        b"password: x",
    ),
    *(b"env://", b"{{identifier}}", b"decimal(38,10)", b"[" * 60, b"{a: " * 60, b"location: a.csv", b"://u:p@h"),
]


def mutated(source: random.Random) -> tuple[str, bytes]:
    file, raw = source.choice(CORPUS)
    data = bytearray(raw)
    for _ in range(source.randint(1, 6)):
        start = source.randint(0, len(data))
        end = min(len(data), start + source.choice((1, 1, 2, 8, 40)))
        match source.randint(0, 5):
            case 0:
                del data[start:end]
            case 1:
                data[start:start] = data[start:end]
            case 2:
                data[start:start] = source.choice(TOKENS)
            case 3:
                data[start:end] = source.choice(TOKENS)
            case 4:
                other = source.choice(CORPUS)[1]
                cut = source.randint(0, len(other))
                data[start:start] = other[cut : cut + source.randint(1, 80)]
            case _:
                if start < len(data):
                    data[start] = source.randrange(256)
    return source.choice((file, "mutated.yaml", "mutated.json")), bytes(data)


@pytest.mark.parametrize("batch", range(BATCHES))
def test_only_coded_errors(batch: int) -> None:
    source = random.Random(batch)
    for number in range(FILES // BATCHES):
        file, data = mutated(source)
        try:
            definitions, errors = read_definitions(decode_utf8(data, file), file)
        except DaybookError as error:
            definitions, errors = [], [error]
        except Exception as error:
            raise AssertionError(f"batch {batch}, file {number}, {file}: {data!r}") from error
        for found in errors:
            assert found.code in CODES
            assert render(found).startswith(f"[{found.code}]")
            assert found.span is None or found.span.line >= 1
        for definition in definitions:
            (again,) = load_text(to_yaml(definition.kind, definition.model), "again.yaml")
            assert again.model == definition.model
