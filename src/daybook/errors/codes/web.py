"""Codes of the page and its API."""

from daybook.errors.codes.entry import Code, code_family

WEB_CODES = code_family(
    Code(
        "WEB_001",
        "{host} can be reached from other machines, and the connection is not encrypted",
        "Figures and tokens are not sent in the clear. `daybook serve` listens on this machine only, unless it has a "
        "certificate or stands behind a proxy that has one.",
        hint="give --tls-cert and --tls-key, or --behind-proxy",
    ),
    Code(
        "WEB_002",
        "{host}:{port} cannot be used: {reason}",
        "Another program may listen there, or the address may not be one of this machine.",
        hint="choose another one with --port",
    ),
    Code(
        "WEB_003",
        "The certificate cannot be used: {reason}",
        "--tls-cert is a file with the certificate and --tls-key one with its private key, both as PEM; one is of no "
        "use without the other.",
    ),
    Code(
        "WEB_004",
        "The token {name} has fewer than {least} characters",
        "Whoever guesses a token reads the figures.",
        hint="`openssl rand -hex 24` makes a good one",
    ),
    Code(
        "WEB_005",
        "A token is needed",
        "Everything but /health and the login page needs one of the server's tokens.",
        hint="log in on the page, or send `Authorization: Bearer TOKEN`",
    ),
    Code(
        "WEB_006",
        "This is not one of the server's tokens",
        "The token is printed where `daybook serve` was started, or is one of `serve: {{tokens: ...}}` in "
        "daybook.yaml.",
        hint="look there, and enter it without blanks",
    ),
    Code(
        "WEB_007",
        "There were too many wrong tokens; try again in {seconds} seconds",
        "Guessing tokens is slowed down for every address.",
    ),
    Code(
        "WEB_008",
        "This server is not called {host}",
        "The name in a request must be one that the server has, so that no foreign page can reach it under a name of "
        "its own.",
        hint="add the name to `serve: {{hosts: [...]}}` in daybook.yaml",
    ),
    Code(
        "WEB_009",
        "The request comes from another page ({origin})",
        "Only the server's own pages may change something.",
        hint="open the page itself and try again",
    ),
    Code(
        "WEB_010",
        "The form is too old",
        "Every form carries a value that only this login knows.",
        hint="load the page again and repeat the action",
    ),
    Code(
        "WEB_011",
        "The request is too large: more than {limit} {unit}",
        "Addresses and forms are short; nothing is uploaded.",
    ),
    Code(
        "WEB_012",
        "This server allows no actions",
        "Runs, builds and changes of periods can be started from the page where the server allows it.",
        hint="start it with `daybook serve --allow-actions`",
    ),
    Code(
        "WEB_013",
        "There is nothing at {path}",
        "The address leads to no page of this workspace.",
        hint="begin at the page `close`",
    ),
    Code(
        "WEB_014",
        "{path} cannot be asked with {method}",
        "Pages are read with GET; actions are sent with POST.",
    ),
    Code(
        "WEB_015",
        "{argument} cannot be used: {reason}",
        "A part of the address or of the form has another form than is expected there.",
    ),
    Code(
        "WEB_016",
        "The question was cancelled",
        "Rows that have to be computed are computed for one question at a time; somebody stopped this one.",
        hint="ask again",
    ),
    Code(
        "WEB_017",
        "Daybook itself failed; the server's log has it as {reference}",
        "This is an error of Daybook, not of the workspace.",
        hint="report it with what the log shows",
    ),
)
