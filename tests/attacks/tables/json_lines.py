"""Lines that a file of JSON lines must not hold."""

# (line, words of the message)
CASES: list[tuple[str, str]] = [
    ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
    ('{"v": ' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    ("[" * 100_000, "nested too deeply"),
    ('{"v": "\\ud800"}', "surrogate"),
    ('{"v": "1", "v": "2"}', "twice"),
    ('{"v": {"w": 1, "w": 2}}', "twice"),
    ('{"v": "a\nb"}', "not JSON"),
    ('{"v": "\x00"}', "not JSON"),
    ('["v"]', "not an object"),
    ('{"v": 01}', "not JSON"),
    ('{"v": .5}', "not JSON"),
    ('{"v": 0x10}', "not JSON"),
    ("{'v': '1'}", "not JSON"),
    ('{"v": "1"} {"v": "2"}', "not JSON"),
]
