"""A definition with its position in a file, and the versions of definitions."""

from dataclasses import dataclass
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar, get_args

from pydantic import Discriminator, Tag, TypeAdapter

from daybook.model.calendar import Calendar
from daybook.model.dataset import AsOfRule, Dataset, View, ViewOf
from daybook.model.datasource import DataSource, Resolver
from daybook.model.project import Project
from daybook.model.source_map import SourceMap

DefinitionKind = Literal["dataset", "datasource", "resolver", "calendar", "project"]
DEFINITION_KINDS: tuple[DefinitionKind, ...] = get_args(DefinitionKind)

# The kinds that `for_each` makes one definition of for each of its elements.
FOR_EACH_KINDS: frozenset[DefinitionKind] = frozenset({"project", "dataset", "resolver"})

DefinedModel = TypeVar(
    "DefinedModel", bound=Dataset | View | DataSource | Resolver | Calendar | Project, covariant=True
)


def _dataset_tag(value: Any) -> str:
    has_view = "view" in value if isinstance(value, dict) else isinstance(value, View)
    return "<view>" if has_view else "<dataset>"


# A dataset has a table, or is a view of another dataset.
DeclaredDataset: TypeAlias = Annotated[
    Annotated[Dataset, Tag("<dataset>")] | Annotated[View, Tag("<view>")], Discriminator(_dataset_tag)
]

# What is declared by each kind: a model, or a union of models.
MODEL_TYPES: dict[DefinitionKind, Any] = {
    "dataset": DeclaredDataset,
    "datasource": DataSource,
    "resolver": Resolver,
    "calendar": Calendar,
    "project": Project,
}
MODEL_ADAPTERS: dict[DefinitionKind, TypeAdapter[Any]] = {
    kind: TypeAdapter(type_) for kind, type_ in MODEL_TYPES.items()
}


@dataclass(frozen=True, slots=True)
class Definition(Generic[DefinedModel]):
    kind: DefinitionKind
    model: DefinedModel
    source: SourceMap

    @property
    def id(self) -> str:
        return self.model.id

    @property
    def file(self) -> str | None:
        return self.source.file


DefinitionStatus = Literal["active", "disabled"]
# The kinds that other definitions refer to.
ReferencedKind = Literal["dataset", "datasource", "resolver", "calendar"]

# What drafts register as datasets in the sandbox has ids that begin so.
SANDBOX_PREFIX = "sandbox."


@dataclass(frozen=True, slots=True)
class TableVersion:
    """A version of a table; only its format can interpret the token."""

    format: str
    token: str

    @property
    def number(self) -> int | None:
        """The token where it is a number."""
        return int(self.token) if self.token.isdecimal() else None


@dataclass(frozen=True, slots=True)
class RegisteredDataPin:
    """The data a registered dataset version stays readable as: a table at a version.

    `others` are those of other periods, where every period has a table of its own.
    """

    uri: str
    version: TableVersion
    others: "tuple[RegisteredDataPin, ...]" = ()

    def at(self, uri: str) -> TableVersion | None:
        """The version of one of the tables."""
        return next((pin.version for pin in (self, *self.others) if pin.uri == uri), None)


@dataclass(frozen=True, slots=True)
class DeclaredVersion:
    """A version of a dataset as it was declared or registered: with a table, or as a view."""

    dataset: Dataset | View
    version: int
    status: DefinitionStatus = "active"
    pin: RegisteredDataPin | None = None
    # What the file says, without what a registration filled in; None where no file declares the dataset.
    contract: Dataset | View | None = None
    # Whether runs alone say what the dataset is, and no file.
    is_registered: bool = False


@dataclass(frozen=True, slots=True)
class DatasetVersion:
    """A version of a dataset as it is read."""

    dataset: Dataset
    version: int
    status: DefinitionStatus = "active"
    pin: RegisteredDataPin | None = None
    # Set when it is a view: `dataset` then has the table of the dataset that is viewed, under the view's id.
    view: "ViewedDataset | None" = None
    # Registered from a timeless input: of a table with slices, which hold the same rows again, one is read.
    reads_one_slice: bool = False

    @property
    def as_of_rule(self) -> AsOfRule | None:
        """The rule of the view, else that of the table."""
        if self.view is None:
            return self.dataset.main_table.as_of
        return self.view.of.as_of or self.view.dataset.as_of_rule

    @property
    def reads_every_slice(self) -> bool:
        """Whether no time filter chooses among the slices of its table."""
        return self.dataset.main_table.temporal_mode in (None, "snapshot") and not self.reads_one_slice

    @property
    def viewed(self) -> "DatasetVersion":
        """The dataset whose data is read: itself, or what the view ends at."""
        return self.view.dataset.viewed if self.view is not None else self


@dataclass(frozen=True, slots=True)
class ViewedDataset:
    """A view and the dataset version it reads."""

    of: ViewOf
    dataset: DatasetVersion


def view_version(
    view: View, version: int, viewed: DatasetVersion, status: DefinitionStatus = "active"
) -> DatasetVersion:
    """A view as a dataset: the columns and the natural key are those of the dataset it reads."""
    dataset = Dataset(
        id=view.id,
        name=view.name,
        description=view.description,
        natural_key_columns=viewed.dataset.natural_key_columns,
        measures=viewed.dataset.measures,
        control=viewed.dataset.control,
        main_table=viewed.dataset.main_table,
    )
    return DatasetVersion(dataset, version, status, view=ViewedDataset(view.view, viewed))


@dataclass(frozen=True, slots=True)
class ResolverVersion:
    resolver: Resolver
    version: int
    status: DefinitionStatus = "active"
