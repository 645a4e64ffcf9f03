"""The second engine: plain Python over exact decimals, which shares no code with the engine that it checks.

It takes the model, the errors, the calendars and a reader of stored rows, and nothing of the parser, the plan or
Spark. `docs/concepts/recompute.md` says which function computes which rule of the specification.
"""

from daybook.recompute.compute import Computation, compute
from daybook.recompute.operations import ComputedOutput, OperationCount
from daybook.recompute.program import INPUT, TableKey
from daybook.recompute.stored_tables import RunFacts, StoredTable

__all__ = [
    "INPUT",
    "Computation",
    "ComputedOutput",
    "OperationCount",
    "RunFacts",
    "StoredTable",
    "TableKey",
    "compute",
]
