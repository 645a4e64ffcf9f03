"""What can be wrong with a resolver before it is asked anything."""

from collections.abc import Collection, Iterator

from daybook.errors import DaybookError, Span, flatten
from daybook.model.resolver import CatalogStrategy, Resolver
from daybook.model.source_map import SourceMap
from daybook.model.suggestion import did_you_mean
from daybook.resolve.asking import strategy_errors
from daybook.resolve.condition import compile_condition
from daybook.resolve.names import ANY_LEVEL


def resolver_errors(
    resolver: Resolver,
    source: SourceMap,
    *,
    levels: Collection[str] | None = None,
    allowed_hosts: tuple[str, ...] | None = None,
) -> Iterator[DaybookError]:
    """Conditions, levels and catalog calls of all rules; `levels` are those of every calendar that is known."""
    for index, rule in enumerate(resolver.rules):
        if rule.when is not None:
            try:
                compile_condition(rule.when, span=source.scalar("rules", index, "when"))
            except DaybookError as error:
                yield from flatten(error)
        if levels is not None:
            yield from level_errors(rule.data_level, levels, source.span("rules", index, "data_level"))
        if isinstance(rule.strategy, CatalogStrategy):
            yield from strategy_errors(rule.strategy, allowed_hosts, source.span("rules", index, "strategy"))


def level_errors(level: str | None, levels: Collection[str], span: Span | None) -> Iterator[DaybookError]:
    """A `data_level` that no calendar has."""
    if level is not None and level != ANY_LEVEL and level not in levels:
        hint = did_you_mean(level, (*levels, ANY_LEVEL))
        yield DaybookError("RESOLVE_050", span=span, hint=hint, level=level)
