"""Lines that a file of JSON lines must not hold."""

# (line, words of the message)
CASES: list[tuple[str, str]] = [
    ("[" * 100_000 + "]" * 100_000, "nested too deeply"),
    ('{"v": ' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    ("[" * 100_000, "nested too deeply"),
    ('{"v": "\\ud800"}', "surrogate"),
    ('{"v": "1", "v": "2"}', "twice"),
    ('{"v": {"w": 1, "w": 2}}', "twice"),
    ('{"v": "a\nb"}', "no JSON"),
    ('{"v": "\x00"}', "no JSON"),
    ('["v"]', "not an object"),
    ('{"v": 01}', "no JSON"),
    ('{"v": .5}', "no JSON"),
    ('{"v": 0x10}', "no JSON"),
    ("{'v': '1'}", "no JSON"),
    ('{"v": "1"} {"v": "2"}', "no JSON"),
]
