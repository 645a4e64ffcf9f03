"""The exit codes of all commands."""

# A run failed or was cancelled, or something does not hold: a test, a check, a limit, a certificate.
FAILED = 1
# An argument, a definition or a period is wrong.
WRONG_INPUT = 2
# A bug of Daybook: neither the run nor the input is the cause.
INTERNAL_ERROR = 3
# Stopped by Ctrl-C.
INTERRUPTED = 130
