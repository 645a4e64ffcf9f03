"""Projects that a run broke by what it applied or registered."""

from collections.abc import Iterable, Iterator

from daybook.errors import Notice, notice
from daybook.store.effects import ProjectEffect


def new_conflicts(effects: Iterable[ProjectEffect], *, but: str | None = None) -> Iterator[Notice]:
    """One notice per project that is in conflict now and was not before; `but` is told of in another way."""
    for effect in effects:
        if effect.is_broken_now and effect.project_id != but:
            summary = "; ".join(finding.message for finding in effect.findings)
            yield notice("RUN_020", project=effect.project_id, summary=summary)
