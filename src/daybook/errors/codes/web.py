"""Codes of the page and its API."""

from daybook.errors.codes.entry import Code, code_family

WEB_CODES = code_family(
    Code(
        "WEB_001",
        "{host} can be reached from other machines, and the connection is not encrypted",
        "Figures and tokens must not be sent unencrypted. `daybook serve` listens only on this machine, "
        "unless it has a certificate or runs behind a proxy that has one.",
        hint="give --tls-cert and --tls-key, or --behind-proxy",
    ),
    Code(
        "WEB_002",
        "{host}:{port} cannot be used: {reason}",
        "Another program may use this port, or the address may not belong to this machine.",
        hint="choose another port with --port",
    ),
    Code(
        "WEB_003",
        "The certificate cannot be used: {reason}",
        "--tls-cert is a file with the certificate and --tls-key is a file with its private key, both in PEM "
        "format. Both are needed.",
    ),
    Code(
        "WEB_004",
        "The token {name} has fewer than {least} characters",
        "Anyone who guesses a token can read the figures. Spaces around a token do not count.",
        hint="`openssl rand -hex 24` creates a good token",
    ),
    Code(
        "WEB_005",
        "A token is required",
        "Everything except /health and the login page needs one of the server's tokens.",
        hint="log in on the page, or send `Authorization: Bearer TOKEN`",
    ),
    Code(
        "WEB_006",
        "This is not one of the server's tokens",
        "`daybook serve` prints its token when it starts. Other tokens are under `serve: {tokens: ...}` in "
        "daybook.yaml.",
        hint="enter one of these tokens, without spaces",
    ),
    Code(
        "WEB_007",
        "There were too many wrong tokens; try again in {seconds} seconds",
        "After ten wrong tokens in a minute, tokens that an address has not used before are checked one after the "
        "other, and only a limited number of them may wait.",
    ),
    Code(
        "WEB_008",
        "{host} is not a name of this server",
        "The host name in a request must be a name of the server. Otherwise a foreign web page could reach "
        "the server under its own name.",
        hint="add the name to `serve: {{hosts: [...]}}` in daybook.yaml",
    ),
    Code(
        "WEB_009",
        "The request comes from another page ({origin})",
        "Only pages of this server may change something.",
        hint="open the page of this server and try again",
    ),
    Code(
        "WEB_010",
        "The form has expired",
        "Every form contains a value that is valid for one login only.",
        hint="load the page again and repeat the action",
    ),
    Code(
        "WEB_011",
        "The request is too large: more than {limit} {unit}",
        "Addresses and forms are short, and the server accepts no uploads.",
    ),
    Code(
        "WEB_012",
        "This server does not allow actions",
        "Runs, builds and changes of periods can be started from the page only if the server allows it.",
        hint="start it with `daybook serve --allow-actions`",
    ),
    Code(
        "WEB_013",
        "{path} does not exist",
        "The address does not belong to a page of this workspace.",
        hint="start at the page `close`",
    ),
    Code(
        "WEB_014",
        "{path} does not accept {method}",
        "Pages are read with GET; actions are sent with POST.",
    ),
    Code(
        "WEB_015",
        "{argument} cannot be used: {reason}",
        "A part of the address or of the form does not have the expected format.",
    ),
    Code(
        "WEB_016",
        "The request was cancelled",
        "Rows are computed for one request at a time. This request was cancelled.",
        hint="send it again",
    ),
    Code(
        "WEB_017",
        "Daybook failed with an internal error; the server's log contains it as {reference}",
        "This is an error in Daybook, not in the workspace.",
        hint="report it with the lines of the log",
    ),
    Code(
        "WEB_018",
        "You have too many requests at once: more than {limit}",
        "The server is shared. The requests of a reader wait for each other, and only a limited number may wait.",
        hint="wait until earlier requests are answered, or cancel them",
    ),
    Code(
        "WEB_019",
        "The request has a Content-Length and a Transfer-Encoding",
        "A proxy and the server could disagree about where such a request ends, so it is refused and its connection "
        "is closed.",
        hint="send one of the two headers",
    ),
)
