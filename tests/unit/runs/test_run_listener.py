"""A listener that is spared what its user has seen before."""

from daybook.errors import Notice
from daybook.runs.run_listener import ListenerWithout, RunListener


class Hearing(RunListener):
    def __init__(self) -> None:
        self.heard: list[str] = []

    def notice(self, notice: Notice) -> None:
        self.heard.append(notice.code)

    def stage(self, text: str) -> None:
        self.heard.append(text)


def test_known_notices_are_left_out() -> None:
    known, new = Notice("PROJECT_024", "unused"), Notice("RUN_005", "no rows")
    hearing = Hearing()
    listener = ListenerWithout((known,), hearing)
    listener.stage("reading")
    for each in (known, new):
        listener.notice(each)
    assert hearing.heard == ["reading", "RUN_005"]
