"""Bytes that are not what an option says they are: the code that answers, and a word of its message or hint."""

# (bytes of a CSV file with the column a, encoding, code, words)
CASES: list[tuple[bytes, str, str, str]] = [
    (b"a\nx\n", "punycode", "IO_011", "encoding"),
    (b"a\nx\n", "idna", "IO_011", "encoding"),
    (b"a\nx\n", "unicode_escape", "IO_011", "encoding"),
    (b"a\nx\n", "raw-unicode-escape", "IO_011", "encoding"),
    (b"a\nx\n", "undefined", "IO_011", "encoding"),
    (b"a\nx\n", "charmap", "IO_011", "encoding"),
    (b"a\nx\n", "hex", "IO_011", "encoding"),
    (b"a\nx\n", "base64", "IO_011", "encoding"),
    (b"a\nx\n", "rot13", "IO_011", "encoding"),
    (b"a\nx\n", "x" * 5000, "IO_011", "encoding"),
    (b"a\nx\n", "utf\x008", "IO_011", "encoding"),
    ("a\nx\n".encode("utf-16-le"), "utf-16", "IO_005", "utf-16-le"),
    ("a\nx\n".encode("utf-16-be"), "utf-16", "IO_005", "utf-16-le"),
    (b"a\nx\n", "utf-16", "IO_005", "utf-16-le"),
    (b"a\nx", "utf-16", "IO_005", "utf-16-le"),
    (b"a\nx\n", "utf-32", "IO_005", "utf-32-le"),
    ("a\nx\n".encode("utf-16"), "utf-8", "IO_005", "not utf-8"),
    ("a\n\u00e9\n".encode("latin-1"), "utf-8", "IO_005", "not utf-8"),
    ("a\n\u00e9\n".encode(), "ascii", "IO_005", "not ascii"),
    (b"a\n\xed\xa0\x80\n", "utf-8", "IO_005", "not utf-8"),
    (b"a\n\xc0\xaf\n", "utf-8", "IO_005", "not utf-8"),
    (b"a\n\xff\xff\xff\xff\n", "utf-8", "IO_005", "not utf-8"),
]

# (bytes, encoding) that hold the one row é, with a byte order mark or without.
READABLE: list[tuple[bytes, str]] = [
    ("a\n\u00e9\n".encode("utf-8-sig"), "utf-8"),
    ("a\n\u00e9\n".encode("utf-8-sig"), "UTF8"),
    ("a\n\u00e9\n".encode("utf-8-sig"), "utf-8-sig"),
    ('"a"\n\u00e9\n'.encode("utf-8-sig"), "utf-8"),
    ("a\n\u00e9\n".encode("utf-16"), "utf-16"),
    ("\ufeffa\n\u00e9\n".encode("utf-16-be"), "utf-16"),
    ("\ufeffa\n\u00e9\n".encode("utf-16-le"), "utf-16-le"),
    ('\ufeff"a"\n\u00e9\n'.encode("utf-16-le"), "utf-16-le"),
    ("a\n\u00e9\n".encode("utf-16-le"), "utf-16-le"),
    ("a\n\u00e9\n".encode("latin-1"), "latin-1"),
    ("a\n\u00e9\n".encode("cp1252"), "windows-1252"),
]
