"""A client that is made from the OpenAPI description alone; parameters and answers are checked against it."""

import json
from typing import Any

import httpx2 as httpx
import jsonschema


class GeneratedClient:
    """One method for each operation of a description; `called` are the operations that were asked."""

    def __init__(self, http: httpx.Client) -> None:
        self._http = http
        self.description: dict[str, Any] = http.get("/api/v1/openapi.json").json()
        self.operations = {
            operation["operationId"]: (method, path, operation)
            for path, methods in self.description["paths"].items()
            for method, operation in methods.items()
        }
        self.called: set[str] = set()

    def call(self, name: str, body: Any = None, **given: Any) -> tuple[int, Any]:
        method, path, query, operation = self._request(name, given)
        answer = self._http.request(method, path, params=query, json=body)
        described = operation["responses"].get(str(answer.status_code), operation["responses"]["default"])
        kind = answer.headers["content-type"].partition(";")[0]
        assert kind in described["content"], (name, answer.status_code, kind)
        if kind.endswith("json"):
            self.check(answer.json(), described["content"][kind]["schema"])
            return answer.status_code, answer.json()
        return answer.status_code, answer.text

    def first_event(self, name: str, **given: Any) -> tuple[str, Any]:
        """The name and the data of the first event of a stream."""
        method, path, query, operation = self._request(name, given)
        found: dict[str, str] = {}
        with self._http.stream(method, path, params=query) as answer:
            kind = answer.headers["content-type"].partition(";")[0]
            assert kind in operation["responses"][str(answer.status_code)]["content"]
            for line in answer.iter_lines():
                if not line:
                    break
                field, _, value = line.partition(": ")
                found[field] = value
        return found["event"], json.loads(found["data"])

    def schema_of(self, name: str) -> dict[str, Any]:
        """The type of the answer of an operation that succeeds."""
        (schema,) = self.operations[name][2]["responses"]["200"]["content"].values()
        found: dict[str, Any] = schema["schema"]
        return found

    def check(self, value: Any, schema: dict[str, Any]) -> None:
        jsonschema.validate(value, {**schema, "components": self.description["components"]})

    def _request(self, name: str, given: dict[str, Any]) -> tuple[str, str, dict[str, Any], dict[str, Any]]:
        self.called.add(name)
        method, path, operation = self.operations[name]
        known = {each["name"]: each for each in operation.get("parameters", ())}
        assert set(given) <= set(known), f"{name} takes no {set(given) - set(known)}"
        missing = {each["name"] for each in known.values() if each.get("required")} - set(given)
        assert not missing, f"{name} needs {missing}"
        query = {key: value for key, value in given.items() if known[key]["in"] == "query"}
        for key, value in given.items():
            if known[key]["in"] == "path":
                path = path.replace(f"{{{key}}}", str(value))
        return method, path, query, operation
