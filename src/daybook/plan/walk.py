"""One walk over the operations of a project: the known columns, and the errors with the codes of the operation."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from daybook.definitions.value import Definitions
from daybook.errors import DaybookError, Notice, Span, flatten
from daybook.errors.error import did_you_mean
from daybook.expression import (
    ColumnUse,
    CompiledExpression,
    Grouping,
    NamedExpressions,
    Scope,
    common_type,
    compile_expression,
    fits,
)
from daybook.model.declaration import ENGINE_COLUMN_NAMES, split_reference
from daybook.model.project import Project
from daybook.model.source_map import SourceMap
from daybook.model.types import COLUMN_SYNONYMS, NULL, SYSTEM_COLUMNS, ColumnType, DecimalType, NullType
from daybook.plan.loads import LoadReference, find_load, load_references
from daybook.plan.steps import ColumnUsageLog, LoadStep, Schema, Step

UNKNOWN_NAME_CODES = frozenset({"EXPR_012", "EXPR_013"})
UNKNOWN_SELECTOR_CODE = "EXPR_050"

# The code and parameters an expression's finding gets; None when it only repeats another finding.
ErrorTranslator = Callable[[DaybookError], tuple[str, Mapping[str, Any]] | None]


def error_translator(
    code: str,
    *,
    unknown: str | None = None,
    selector: str | None = None,
    ignore: Collection[str] = (),
    **parameters: Any,
) -> ErrorTranslator:
    """Chooses an operation's code: one for unknown names, one for unknown selectors, `code` for everything else.

    `ignore` are aliases whose dataset was not found, which has been reported already.
    """

    def translate(error: DaybookError) -> tuple[str, Mapping[str, Any]] | None:
        name = error.parameters.get("name")
        if error.code in UNKNOWN_NAME_CODES and str(name).partition(".")[0] in ignore:
            return None
        if unknown and error.code in UNKNOWN_NAME_CODES:
            return unknown, {"name": error.parameters.get("column", name)}
        if selector and error.code == UNKNOWN_SELECTOR_CODE:
            return selector, {"name": name}
        return code, parameters

    return translate


def translate_errors(
    error: DaybookError, translate: ErrorTranslator, *, seq: int, span: Span | None
) -> list[DaybookError]:
    """One finding of the operation per finding of the expression, which becomes its cause."""
    findings = []
    for finding in flatten(error):
        if chosen := translate(finding):
            code, parameters = chosen
            where = finding.span or span
            findings.append(
                DaybookError(
                    code, span=where, operation_seq=seq, causes=(finding,), used_as=finding.used_as, **parameters
                )
            )
    return findings


SourcePath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class _Compiled:
    """An expression with what it was compiled for: its grouping and the types of the columns it reads."""

    expression: CompiledExpression
    grouping: Grouping | None
    types: Mapping[ColumnUse, ColumnType | None]

    def is_for(self, scope: Scope, grouping: Grouping | None) -> bool:
        return self.grouping == grouping and all(scope.type_of(use) == type_ for use, type_ in self.types.items())


class CompiledExpressions:
    """The expressions of a project by where they stand; compiled again only when a column they read changed type."""

    def __init__(self) -> None:
        self._known: dict[SourcePath, _Compiled] = {}

    def compile(
        self, text: str, scope: Scope, path: SourcePath, grouping: Grouping | None, **options: Any
    ) -> CompiledExpression:
        """The expression as it was compiled before, or compiled now; raises all its errors."""
        stored = self._known.get(path)
        if stored is None or not stored.is_for(scope, grouping):
            compiled = compile_expression(text, scope, grouping=grouping, **options)
            stored = _Compiled(compiled, grouping, {use: scope.type_of(use) for use in compiled.uses})
            self._known[path] = stored
        return stored.expression


@dataclass
class Walk:
    """`columns` are the business columns at this point; `fixed` are types that never change: given or the input's.

    `assumed` are the types that an earlier walk found for the columns the project makes. The columns in
    `growing` have no such type, since each walk widens them further; they have the type of what was assigned so far.
    `made` are the types found so far, `exact` the same if integers that are written out have only their digits.
    """

    project: Project
    source: SourceMap
    definitions: Definitions
    names: NamedExpressions
    input: LoadStep
    assumed: Mapping[str, ColumnType]
    growing: frozenset[str]
    columns: dict[str, ColumnType]
    fixed: Mapping[str, ColumnType]
    compiled: CompiledExpressions = field(default_factory=CompiledExpressions)
    made: dict[str, ColumnType] = field(default_factory=dict)
    exact: dict[str, ColumnType] = field(default_factory=dict)
    loads: list[LoadStep] = field(default_factory=list)
    errors: list[DaybookError] = field(default_factory=list)
    notices: list[Notice] = field(default_factory=list)
    usage: ColumnUsageLog = field(default_factory=ColumnUsageLog)
    steps: list[Step] = field(default_factory=list)

    @property
    def visible(self) -> dict[str, ColumnType]:
        """Business and system columns."""
        return {**self.columns, **SYSTEM_COLUMNS}

    def scope(self, aliases: Mapping[str, Mapping[str, ColumnType]] | None = None) -> Scope:
        """What expressions over the working dataset can see, with the joins of one operation."""
        visible = self.visible
        joined = aliases or {}
        return Scope(visible, {**joined, self.input.table: visible}, frozenset(joined), parameters=self.parameter_types)

    def source_scope(self, load: LoadStep) -> Scope:
        """What expressions over the source of an append can see."""
        visible = {**load.types, **SYSTEM_COLUMNS}
        return Scope(visible, {load.table: visible}, parameters=self.parameter_types)

    @cached_property
    def parameter_types(self) -> Mapping[str, ColumnType]:
        return {name: parameter.type for name, parameter in self.project.parameters.items()}

    def schema(self) -> Schema:
        return dict(self.columns)

    @cached_property
    def references(self) -> tuple[LoadReference, ...]:
        """The datasets that the project names to read them."""
        return tuple(load_references(self.project))

    def load(self, key: str) -> LoadStep | None:
        """What an operation reads under a key; None with its finding reported."""
        reference = next(candidate for candidate in self.references if candidate.key == key)
        try:
            self.loads.append(find_load(reference, self.definitions, self.source, self.project.id))
        except DaybookError as error:
            self.errors.append(error)
            return None
        return self.loads[-1]

    def span_of(self, load: LoadStep) -> Span | None:
        """The position of the reference that a load comes from."""
        return self.source.span(*next(reference.path for reference in self.references if reference.key == load.key))

    def report(
        self,
        code: str,
        *path: str | int,
        seq: int,
        hint: str | None = None,
        at_key: bool = False,
        **parameters: Any,
    ) -> None:
        span = self.source.key(*path) if at_key else self.source.span(*path)
        self.errors.append(DaybookError(code, span=span, operation_seq=seq, hint=hint, **parameters))

    def compile(
        self,
        text: str,
        scope: Scope,
        path: SourcePath,
        translate: ErrorTranslator,
        *,
        seq: int,
        expect: Literal["boolean"] | None = None,
        grouping: Grouping | None = None,
        allow_windows: bool = False,
    ) -> CompiledExpression | None:
        """The compiled expression, or None with its findings reported."""
        span = self.source.scalar(*path)
        try:
            return self.compiled.compile(
                text,
                scope,
                path,
                grouping,
                names=self.names,
                span=span,
                expect=expect,
                allow_windows=allow_windows,
            )
        except DaybookError as error:
            self.errors += translate_errors(error, translate, seq=seq, span=self._whole(span, path))
            return None

    def condition(
        self, text: str | None, path: SourcePath, translate: ErrorTranslator, *, seq: int, scope: Scope | None = None
    ) -> CompiledExpression | None:
        """A boolean expression; None where none is written, or with its findings reported."""
        if text is None:
            return None
        return self.compile(text, scope or self.scope(), path, translate, seq=seq, expect="boolean")

    def _whole(self, span: Span | None, path: SourcePath) -> Span | None:
        return span or self.source.span(*path)

    def column_name(self, written: str, table: str) -> str:
        """A column reference without its qualifier, synonyms resolved."""
        qualifier, name = split_reference(written)
        bare = name if qualifier in ("", table) else written
        return COLUMN_SYNONYMS.get(bare, bare)

    def known_columns(
        self, references: Sequence[str], scope: Scope, table: str, path: SourcePath, *, code: str, seq: int
    ) -> tuple[str, ...]:
        """The columns of group_by, columns or order_by by their bare names; unknown ones are reported and left out."""
        names: list[str] = []
        for number, written in enumerate(references):
            name = self.column_name(written, table)
            if name in scope.columns:
                names.append(name)
            else:
                hint = did_you_mean(name, [column for column in scope.columns if column not in SYSTEM_COLUMNS])
                self.report(code, *path, number, seq=seq, hint=hint, name=written)
        return tuple(names)

    def target(self, column: str, value: ColumnType | CompiledExpression) -> tuple[ColumnType | None, ColumnType]:
        """The type a value is fitted to in a column, None when it does not fit, and the type the column had."""
        type_ = value.type if isinstance(value, CompiledExpression) else value
        if fixed_type := SYSTEM_COLUMNS.get(column) or self.fixed.get(column):
            return (fixed_type if fits(type_, fixed_type) else None), fixed_type
        own = value.column_type if isinstance(value, CompiledExpression) else value
        beside_decimals = value.type_beside_decimals if isinstance(value, CompiledExpression) else value
        present = self.made.get(column, NULL)
        merged = common_type((present, own))
        if merged is None:
            return None, present
        exact = common_type((self.exact.get(column, NULL), beside_decimals))
        if exact is not None:
            self.exact[column] = exact
            merged = exact if isinstance(merged, DecimalType) else merged
        self.made[column] = merged
        if column in self.growing and not isinstance(merged, NullType):
            return merged, present
        return self.assumed.get(column, merged), present

    def refuses(self, column: str, *path: str | int, seq: int) -> bool:
        """Whether an operation may not make a column of this name; reported, if so."""
        if ENGINE_COLUMN_NAMES.fullmatch(column):
            self.report("PROJECT_027", *path, seq=seq, column=column)
            return True
        if existing := self.lookalike(column):
            self.report("PROJECT_023", *path, seq=seq, column=column, existing=existing)
            return True
        return False

    def lookalike(self, column: str) -> str | None:
        """A column whose name differs from this one only in case."""
        folded = column.casefold()
        return next((name for name in self.visible if name != column and name.casefold() == folded), None)
