"""What applying changes, for machines and for people."""

from collections import Counter
from typing import TYPE_CHECKING, Any

from daybook.cli.terminal import remark, say, show_error, show_notice

if TYPE_CHECKING:
    from daybook.store.apply import ApplyPlan
    from daybook.store.effects import ProjectEffect

_WORDS = {
    "added": "added",
    "new_version": "new version",
    "retitled": "renamed",
    "enabled": "enabled",
    "disabled": "disabled",
}


def as_data(plan: "ApplyPlan") -> dict[str, Any]:
    from daybook.errors import as_data as error_data

    return {
        "changes": [
            {
                "kind": change.kind,
                "id": change.id,
                "action": change.action,
                "version": change.version,
                "previous_version": change.previous_version,
            }
            for change in plan.changes
        ],
        "projects": [
            {
                "id": effect.project_id,
                "before": effect.before,
                "after": effect.after,
                "breaks": [item.as_data() for item in effect.breaks],
                "errors": [error_data(error) for error in effect.validation.errors],
                "notices": [item.message for item in effect.notices],
            }
            for effect in plan.effects
        ],
        "notices": [item.message for item in plan.notices],
    }


def show(plan: "ApplyPlan", *, is_quiet: bool) -> None:
    for change in plan.changes:
        if change.action != "unchanged":
            version = f"version {change.version}" if change.is_structural else ""
            say(f"{_WORDS[change.action]:<12} {change.kind:<11} {change.id}  {version}".rstrip())
    for effect in plan.effects:
        if effect.before != effect.after:
            before = f"{effect.before} -> " if effect.before else ""
            say(f"{'status':<12} {'project':<11} {effect.project_id}  {before}{effect.after}")
    for notice in (*plan.notices, *(item for effect in plan.effects for item in effect.notices)):
        show_notice(notice)
    for effect in plan.effects:
        _show_findings(effect)
    if not is_quiet:
        remark(_summary(plan))


def _show_findings(effect: "ProjectEffect") -> None:
    """Drafts and conflicts are stored all the same, so these are warnings."""
    from daybook.errors import notice

    if not effect.findings:
        return
    if effect.after == "conflict":
        count = f"{len(effect.findings)} finding{'s' if len(effect.findings) > 1 else ''}"
        show_notice(notice("STORE_019", project_id=effect.project_id, summary=count))
    else:
        show_notice(notice("STORE_028", project_id=effect.project_id, count=len(effect.findings)))
    for error in effect.findings:
        show_error(error)


def _summary(plan: "ApplyPlan") -> str:
    counts = Counter[str](change.action for change in plan.changes)
    parts = [
        f"{counts[action]} {word}" for action, word in (*_WORDS.items(), ("unchanged", "unchanged")) if counts[action]
    ]
    broken = sum(effect.is_broken_now for effect in plan.effects)
    if broken:
        parts.append(f"{broken} project{'s' if broken > 1 else ''} put into conflict")
    return ", ".join(parts) or "nothing is defined"
