"""Random projects with their data, by seed; nearly all of them run through."""

import datetime
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from random import Random

from daybook.model.types import BOOLEAN, DATE, INTEGER, RUN_PERIOD_COLUMN, STRING, TIMESTAMP, ColumnType, DecimalType
from daybook.recompute.aggregates import Aggregate
from daybook.recompute.arithmetic import EXACT, is_numeric
from daybook.recompute.functions import Call
from daybook.recompute.tree import Arithmetic, Between, Column, Comparison, Logic, Node, Value
from daybook.recompute.windows import Window
from tests.reference import literals
from tests.reference.generate import ExpressionGenerator, has_room
from tests.reference.generated import RUN, GeneratedProject, Named, NamedValue, Parameter, is_too_wide
from tests.reference.operations import (
    Append,
    Delete,
    Join,
    Operation,
    Output,
    Record,
    Summarise,
    Table,
    Update,
    in_time,
)
from tests.reference.retype import targets

Order = tuple[tuple[Node, bool], ...]
PERIODS = ("2025-12", "2026-01", "2026-02")
KINDS: Mapping[str, ColumnType] = {
    "code": STRING,
    "region": STRING,
    "quantity": INTEGER,
    "amount": DecimalType(12, 2),
    "net amount": DecimalType(14, 4),
    "rate": DecimalType(5, 3),
    "flag": BOOLEAN,
    "day": DATE,
    "seen_at": TIMESTAMP,
    "Größe": INTEGER,
}
CARRIED = ("_labels", "_created_at", "_updated_at", "_operation_seq")
TIME_COLUMNS: Mapping[str | None, tuple[str, ...]] = {
    "period": ("_period",),
    "bitemporal": ("_valid_from", "_valid_to"),
}
NEW_COLUMNS: Mapping[str, ColumnType] = {
    "total": DecimalType(),
    "score": DecimalType(),
    "entries": INTEGER,
    "tag": STRING,
    "is_late": BOOLEAN,
    "due": DATE,
}


class ProjectGenerator:
    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = Random(seed)
        self.seq = 0
        self.others: list[Table] = []
        self.selectors: dict[str, Node] = {}
        self.expressions: dict[str, Node] = {}
        self.parameters: list[Parameter] = []
        self.by_origin: Node | None = None

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def project(self) -> GeneratedProject:
        self.input = self._table("orders", self._schema(), self.random.choice((0, 3, 8, 8, 15)))
        self.columns: dict[str, ColumnType] = dict(self.input.columns)
        for name, kind in (("least", DecimalType(12, 2)), ("times", INTEGER), ("word", STRING)):
            if self.chance(0.3):
                self.parameters.append(Parameter(name, kind, self.value(kind, required=True)))
        for name in ("NET", "per unit")[: self.random.choice((0, 0, 1, 2))]:
            made = self._generator(list(self.input.columns)).of(self.random.choice((DecimalType(), INTEGER, STRING)), 2)
            self.expressions[name] = made
        for name in ("active", "large")[: self.random.randint(0, 2)]:
            self.selectors[name] = self._generator(list(self.input.columns)).boolean(2)
        operations = [self._operation() for _ in range(self.random.randint(1, 11))]
        self.seq += 1
        operations.append(Output(self.seq, include_deleted=self.chance(0.5)))
        return GeneratedProject(
            self.seed,
            self.input,
            self.others,
            self.selectors,
            operations,
            expressions=self.expressions,
            parameters=self.parameters,
        )

    def _schema(self) -> dict[str, ColumnType]:
        names = self.random.sample(list(KINDS), self.random.randint(3, 7))
        return {name: KINDS[name] for name in names}

    def _table(self, name: str, columns: Mapping[str, ColumnType], count: int) -> Table:
        mode = self.random.choice(("period", "bitemporal", "snapshot", None))
        required = frozenset(column for column in columns if self.chance(0.15))
        system = ["_deleted"] if self.chance(0.15) else []
        if not name.startswith(("other", "limits")):
            system += [column for column in CARRIED if self.chance(0.15)]
        is_slice = mode == "period" and self.chance(0.2)
        rows: list[Record] = []
        for _ in range(count):
            if rows and self.chance(0.15):
                rows.append(dict(self.random.choice(rows)))
                continue
            row = {column: self.value(type_, column in required) for column, type_ in columns.items()}
            rows.append(row | self._time(mode, is_slice) | {column: self._system(column) for column in system})
        natural_key: tuple[str, ...] = ()
        if name == "orders" and self.chance(0.3):
            natural_key = tuple(self.random.sample(list(columns), self.random.randint(1, 2)))
            rows = distinct_rows(rows, natural_key)
        if name == "orders" and self.chance(0.25):
            system.append("_row_id")
            numbers = self.random.sample(range(100), len(rows))
            rows = [
                row | {"_row_id": f"019b76da-a800-7000-8000-{number:012}"}
                for number, row in zip(numbers, rows, strict=True)
            ]
        if required and rows and self.chance(0.02):
            self._violate(rows, mode, sorted(required)[0])
        time = (*TIME_COLUMNS.get(mode, ()), *((RUN_PERIOD_COLUMN,) if is_slice else ()))
        return Table(name, f"{name}_table", columns, rows, mode, required, (*time, *system), natural_key)

    def _violate(self, rows: list[Record], mode: str | None, column: str) -> None:
        """Put NULL where none may be, into a live row that the run sees."""
        seen = Table("", "", {}, rows, mode)
        visible = [row for row in rows if in_time(seen, row, RUN) and not row.get("_deleted")]
        if visible:
            visible[0][column] = None

    def _time(self, mode: str | None, is_slice: bool) -> Record:
        match mode:
            case "period":
                period = self.random.choice((*PERIODS, "2026-01", "2026-01", "2026-01"))
                if is_slice:
                    return {RUN_PERIOD_COLUMN: period, "_period": self.random.choice((None, period))}
                return {"_period": period}
            case "bitemporal":
                start = datetime.date(2025, 12, 30) + datetime.timedelta(days=self.random.randint(0, 3))
                end = start + datetime.timedelta(days=self.random.randint(1, 3))
                return {"_valid_from": start, "_valid_to": None if self.chance(0.6) else end}
            case _:
                return {}

    def _system(self, column: str) -> Value:
        match column:
            case "_labels":
                return self.random.choice((None, "", "{x}", "{region:EMEA}"))
            case "_deleted":
                return self.chance(0.3)
            case "_created_at" | "_updated_at":
                return self.random.choice((None, datetime.datetime(2026, 1, 5, 1, 2, 3, tzinfo=datetime.UTC)))
            case _:
                return self.random.choice((0, 0, 3))

    def value(self, type_: ColumnType, required: bool = False) -> Value:
        """A small value, often repeated, so that keys meet and groups have several rows."""
        if not required and self.chance(0.2):
            return None
        match type_:
            case DecimalType():
                most = 10 ** min(self.random.choice((3, 5, 9)), type_.precision) - 1
                whole = self.random.choice((0, 1, -1, min(250, most), self.random.randint(-most, most)))
                return Decimal(whole).scaleb(-type_.scale, EXACT)
        pools: Mapping[ColumnType, Sequence[Value]] = {
            STRING: ("EMEA", "APAC", "emea", "", "ä日本", "it's"),
            INTEGER: (-2, 0, 1, 2, 3, 40),
            BOOLEAN: (True, False),
            DATE: (datetime.date(2026, 1, 1), datetime.date(2026, 1, 31), datetime.date(2024, 2, 29)),
            TIMESTAMP: (datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC), RUN.timestamp),
        }
        return self.random.choice(pools[type_])

    def _generator(self, names: Sequence[str], extra: Sequence[Column] = ()) -> ExpressionGenerator:
        known = self.columns if self.chance(0.9) else {**self.columns, "_period": STRING, "_labels": STRING}
        columns = [self._column(name, known[name]) for name in (names or known)]
        return ExpressionGenerator(self.random, [*columns, *extra, *self._names()], floats=False)

    def _names(self) -> list[Node]:
        """What has a name in every expression: parameters, and expressions over columns of the input."""
        named = [NamedValue(name, expression) for name, expression in self.expressions.items()]
        return [*self.parameters, *named]

    def _column(self, name: str, type_: ColumnType) -> Column:
        return Column(name, type_, self.input.name if self.chance(0.3) else None)

    def _selector(self, probability: float = 0.7, extra: Sequence[Column] = ()) -> Node | None:
        if not self.chance(probability):
            return None
        made = self._generator([], extra).boolean(2)
        if self.selectors and self.chance(0.4):
            name = self.random.choice(list(self.selectors))
            named = Named(name, self.selectors[name])
            return named if self.chance(0.5) else Logic(self.random.choice(("AND", "OR")), named, made)
        return made

    def _selector_by_origin(self) -> Node | None:
        """Often one that tells rows of the input from rows that operations added, and often the same one again."""
        if self.by_origin and self.chance(0.5):
            return self.by_origin
        if self.chance(0.5):
            return self._selector(0.5)
        origin = Comparison(">" if self.chance(0.2) else "=", Column("_operation_seq", INTEGER), literals.integer(0))
        made = self._selector(0.2)
        self.by_origin = Logic("AND", origin, made) if made else origin
        return self.by_origin

    def _operation(self) -> Operation:
        self.seq += self.random.choice((1, 1, 1, 10))
        kinds = ["update"] * 5 + ["aggregate"] * 4 + ["append"] * 2 + ["delete"] * 2 + ["output"]
        match self.random.choice(kinds):
            case "update":
                return self._update()
            case "aggregate":
                return self._aggregate()
            case "append":
                return self._append()
            case "delete":
                return Delete(self.seq, self._selector(0.95))
            case _:
                return self._output()

    def _target(self, taken: Sequence[str] = ()) -> str:
        names = self._assignable() if self.chance(0.4) else list(NEW_COLUMNS)
        free = [name for name in names if name not in taken] or [n for n in NEW_COLUMNS if n not in taken]
        return self.random.choice(free)

    def _assignable(self) -> list[str]:
        """VR-002: a target is an identifier of ASCII letters."""
        return [name for name in self.columns if name.isascii() and name.isidentifier()]

    def _type(self, name: str) -> ColumnType:
        return NEW_COLUMNS.get(name) or self.columns[name]

    def _update(self) -> Update:
        joins = [self._join(number) for number in range(self.random.choice((0, 0, 0, 1, 1, 2)))]
        extra = [Column(c, t, j.alias, alias=True) for j in joins for c, t in j.table.columns.items()]
        selector = self._selector(extra=extra if self.chance(0.3) else ())
        assignments: dict[str, Node] = {}
        for _ in range(self.random.randint(1, 3)):
            name = self._target(list(assignments))
            readable = list(self._readable(name))
            generator = self._generator(readable, extra)
            window = self._windowed(self._type(name), self._readable(name), extra) if self.chance(0.35) else None
            assignments[name] = window or generator.of(self._type(name), 2)
        if self.chance(0.15):
            assignments["_labels"] = Call("CONCAT", (Column("_labels", STRING), literals.text("{seen}")))
        if self.chance(0.8) and any(is_in_order(value) for value in assignments.values()):
            # Rows that operations add have ids that nobody knows beforehand, and the ids decide between equal rows.
            loaded = Comparison("=", Column("_operation_seq", INTEGER), literals.integer(0))
            selector = Logic("AND", loaded, selector) if selector else loaded
        operation = Update(self.seq, list(assignments.items()), selector, joins)
        self._created(operation)
        return operation

    def _windowed(self, type_: ColumnType, columns: Mapping[str, ColumnType], extra: Sequence[Column]) -> Node | None:
        """A window, alone or in a larger expression."""
        window = self._window(type_, columns, extra)
        if window is None or self.chance(0.6):
            return window
        other = self._generator(list(columns), extra).of(window.type, 1)
        if is_numeric(window.type) and self.chance(0.6):
            return Arithmetic(self.random.choice("+-/"), other, window)
        if not has_room(window, other):
            return window
        return Call("COALESCE", (window, other)) if self.chance(0.5) else Call("NULLIF", (window, other))

    def _window(self, type_: ColumnType, columns: Mapping[str, ColumnType], extra: Sequence[Column]) -> Window | None:
        """A function over the picked rows, with groups and orders that often have equal values and NULLs."""
        known = [*(Column(name, kind) for name, kind in columns.items()), *extra]
        partition = tuple(self._key(known) for _ in range(self.random.choice((0, 1, 1, 2))))
        order = tuple((self._key(known), self.chance(0.4)) for _ in range(self.random.choice((1, 1, 2))))
        same = [column for column in known if column.type == type_]
        makers: list[Callable[[], Window | None]] = []
        if same:
            makers += [lambda: self._neighbour(self.random.choice(same), partition, order)] * 2
        if type_ != BOOLEAN:
            makers += [lambda: self._windowed_aggregate(type_, columns, partition, order)] * 3
        if is_numeric(type_):
            makers += [
                lambda: Window("RANK", partition, order),
                lambda: Window("ROW_NUMBER", partition, order if self.chance(0.8) else ()),
                lambda: self._allocation(known, partition),
                lambda: self._allocation(known, partition),
            ]
        return self.random.choice(makers)() if makers else None

    def _key(self, known: Sequence[Column]) -> Node:
        column = self.random.choice(known)
        if self.chance(0.8):
            return column
        made = ExpressionGenerator(self.random, known, floats=False).of(column.type, 1)
        return made if any(isinstance(node, Column) for node in made.walk()) else column

    def _neighbour(self, column: Column, partition: tuple[Node, ...], order: Order) -> Window:
        return Window(self.random.choice(("PREVIOUS", "NEXT")), partition, order, (column,))

    def _windowed_aggregate(
        self,
        type_: ColumnType,
        columns: Mapping[str, ColumnType],
        partition: tuple[Node, ...],
        order: Order,
    ) -> Window | None:
        made = self._aggregation(type_, columns, simple=True)
        return Window(made, partition, order if self.chance(0.6) else ()) if isinstance(made, Aggregate) else None

    def _allocation(self, known: Sequence[Column], partition: tuple[Node, ...]) -> Window | None:
        """Mostly an amount that is one in the group, and weights that are not negative."""
        exact = [column for column in known if column.type == INTEGER or isinstance(column.type, DecimalType)]
        alike = [each for each in partition if each in exact and isinstance(each, Column)]
        given: list[Node] = [each for each in self.parameters if is_numeric(each.type)]
        amounts = ("0.00", "10.00", "-0.05", "1.0", "99999.99")
        given += alike or [literals.decimal(self.random.choice(amounts)), literals.integer(7)]
        if exact and self.chance(0.05):
            given = [self.random.choice(exact)]
        amount = self.random.choice(given)
        weight: Node = self.random.choice(exact) if exact else literals.integer(1)
        if self.chance(0.93):
            weight = Call("ABS", (weight,))
        if self.chance(0.7):
            weight = Call("COALESCE", (weight, literals.integer(self.random.choice((0, 1, 2)))))
        if self.chance(0.8):
            # Some weight is above zero, so the group can be divided.
            weight = Arithmetic("+", weight, literals.integer(1))
        window = Window("ALLOCATE", partition, arguments=(amount, weight))
        return None if is_too_wide(window) else window

    def _readable(self, target: str) -> dict[str, ColumnType]:
        """What a column may be computed from; created numbers only from those named before, or they widen endlessly."""
        later = list(NEW_COLUMNS)[list(NEW_COLUMNS).index(target) :] if target in NEW_COLUMNS else []
        return {name: type_ for name, type_ in self.columns.items() if not (name in later and is_numeric(type_))}

    def _created(self, operation: Operation) -> None:
        for name, expression in targets(operation):
            if name not in self.columns and name != "_labels":
                self.columns[name] = expression.type

    def _join(self, number: int) -> Join:
        alias = ("other", "limits")[number]
        shared = self.random.choice(list(self.input.columns))
        type_ = self.input.columns[shared]
        columns = {"key": type_, "low": DecimalType(12, 2), "high": DecimalType(12, 2), "note": STRING}
        table = self._table(f"{alias}-{self.seq}", columns, self.random.choice((1, 3, 6)))
        if self.chance(0.75):
            table = replace(table, rows=distinct_rows([dict(row) for row in table.rows], ["key"]))
        self.others.append(table)
        key = Column("key", type_, alias, alias=True)
        on: Node = Comparison("=", self._column(shared, type_), key)
        low, high = (Column(name, DecimalType(12, 2), alias, alias=True) for name in ("low", "high"))
        if self.chance(0.2) and "amount" in self.input.columns:
            on = Between(self._column("amount", KINDS["amount"]), low, high, negated=False)
        elif self.chance(0.3):
            on = Logic("AND", on, Comparison(">", high, literals.integer(0)))
        return Join(alias, table, on)

    def _aggregate(self) -> Summarise:
        group_by = self._group_by(list(self.columns), {"_period", "_labels"})
        aggregations: dict[str, Node] = {}
        for _ in range(self.random.randint(1, 3)):
            name = self._target([*aggregations, *group_by])
            if expression := self._aggregation(self._type(name), self._readable(name)):
                aggregations[name] = expression
        if not aggregations:
            name = next(name for name in NEW_COLUMNS if name not in group_by and is_numeric(NEW_COLUMNS[name]))
            aggregations[name] = Aggregate("COUNT")
        operation = Summarise(self.seq, group_by, list(aggregations.items()), self._selector_by_origin())
        self._created(operation)
        return operation

    def _group_by(self, names: Sequence[str], system: set[str]) -> list[str]:
        wanted = self.random.sample(list(names), min(len(names), self.random.randint(1, 2)))
        return wanted + [name for name in sorted(system) if self.chance(0.1)]

    def _aggregation(self, type_: ColumnType, columns: Mapping[str, ColumnType], simple: bool = False) -> Node | None:
        numeric = [Column(c, t) for c, t in columns.items() if isinstance(t, DecimalType) or t == INTEGER]
        same = [Column(c, t) for c, t in columns.items() if t == type_ != BOOLEAN]
        counting: list[Node] = [Aggregate("COUNT"), Aggregate("COUNT", self._any(columns))]
        choices: list[Node] = list(counting) if type_ == INTEGER or isinstance(type_, DecimalType) else []
        choices += [Aggregate(self.random.choice(("MIN_AGG", "MAX_AGG")), column) for column in same]
        if numeric and choices and (type_ == INTEGER or isinstance(type_, DecimalType)):
            column = self.random.choice(numeric)
            choices += [Aggregate("SUM", column), Aggregate("AVG", column)] * 2
            if not simple:
                choices.append(Arithmetic("/", Aggregate("SUM", column), Aggregate("COUNT")))
                choices.append(Aggregate("SUM", Arithmetic("*", column, literals.integer(2))))
        return self.random.choice(choices) if choices else None

    def _any(self, columns: Mapping[str, ColumnType]) -> Column:
        name = self.random.choice(list(columns))
        return Column(name, columns[name])

    def _append(self) -> Append:
        names = self.random.sample(list(self.columns), self.random.randint(1, len(self.columns)))
        columns = {name: self._source_type(self.columns[name]) for name in names}
        numeric = [name for name in self._assignable() if is_numeric(self.columns[name])]
        group_by = [name for name in names if self.chance(0.3)] or names[:1]
        results = [name for name in numeric if name not in group_by]
        aggregated = bool(results) and self.chance(0.4)
        if aggregated:
            columns |= {"spare": DecimalType(8, 3), "extra": STRING}
        is_mapped = not aggregated and self.chance(0.4)
        if is_mapped:
            columns = {f"{name} there": type_ for name, type_ in columns.items()} | {"spare": DecimalType(8, 3)}
        source = self._table(f"budget-{self.seq}", columns, self.random.choice((0, 2, 5)))
        self.others.append(source)
        known = [*(Column(c, t) for c, t in columns.items()), *self.parameters]
        generator = ExpressionGenerator(self.random, known, floats=False)
        selector = generator.boolean(2) if self.chance(0.5) else None
        if is_mapped:
            mapped = [(name, generator.of(self.columns[name], 2)) for name in names]
            return Append(self.seq, source, selector, columns=mapped)
        if not aggregated:
            return Append(self.seq, source, selector)
        aggregations: dict[str, Node] = {results[0]: Aggregate("COUNT")}
        for name in self._assignable():
            made = self._aggregation(self.columns[name], columns, simple=True)
            if made and name not in group_by and self.chance(0.4):
                aggregations[name] = made
        if source.temporal_mode == "period" and self.chance(0.3):
            group_by.append("_period")
        return Append(self.seq, source, selector, group_by, list(aggregations.items()))

    def _source_type(self, type_: ColumnType) -> ColumnType:
        """What an append source has for a column: numbers may be wider, narrower or of another scale."""
        if not is_numeric(type_) or self.chance(0.5):
            return type_
        return self.random.choice((INTEGER, DecimalType(8, 3), DecimalType(12, 2)))

    def _output(self) -> Output:
        columns = None
        if self.chance(0.4):
            known = [*self.columns, "_row_id", "_deleted", "_operation_seq", "_updated_at"]
            columns = self.random.sample(known, self.random.randint(1, len(known)))
        return Output(self.seq, self._selector_by_origin(), columns, self.chance(0.3), self.chance(0.7))


def is_in_order(value: Node) -> bool:
    """Whether a window of it may have to decide between equal rows."""
    return any(isinstance(node, Window) and (node.order or node.call == "ALLOCATE") for node in value.walk())


def distinct_rows(rows: Sequence[Record], columns: Sequence[str]) -> list[Record]:
    """The first of the rows that are equal in some columns."""
    found: dict[Value, Record] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), row)
    return list(found.values())


def generate_project(seed: int) -> GeneratedProject:
    """The project of a seed; one that is not well typed gives way to the next try."""
    for attempt in range(100):
        project = ProjectGenerator(seed * 1000 + attempt).project()
        if project.is_well_typed():
            return project
    raise AssertionError("no well-typed project in 100 tries")
