"""What a landing depends on: the data, the declaration and how it is read."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from daybook.io.landing.found_files import FoundFile
from daybook.io.landing.request import LandingRequest
from daybook.resolve.location import Location

_LAYOUT = 1


def landing_key(request: LandingRequest, files: Sequence[FoundFile], databases: Sequence[Location]) -> str:
    dataset = request.version.dataset
    content: dict[str, Any] = {
        "layout": _LAYOUT,
        "columns": [[c.name, str(c.type), c.nullable] for c in dataset.main_table.columns],
        "temporal_mode": dataset.main_table.temporal_mode,
        "natural_key": list(dataset.natural_key_columns),
        "files": [
            [
                file.stat.path,
                file.stat.size,
                file.stat.modified_ns,
                file.digest,
                file.location.format,
                sorted(map(str, file.location.options.items())),
                file.location.datasource.model_dump_json() if file.location.datasource else None,
                file.location.period.identifier if file.location.period else None,
                sorted(file.given.promised),
            ]
            for file in files
        ],
        "slices": sorted(request.slices or ()) if databases else [],
        "tables": [
            [
                at.datasource.id if at.datasource else None,
                at.schema,
                at.table,
                at.period.identifier if at.period else None,
            ]
            for at in databases
        ],
    }
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=16).hexdigest()
