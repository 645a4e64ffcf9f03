"""What is found in a resolver's file before it is used."""

from daybook.definitions.loading.definition_texts import load_text
from daybook.model.datasource import Resolver
from daybook.resolve.definition_checks import resolver_errors

TEXT = """\
resolver:
  id: files
  rules:
    - name: one
      when: period.levle = "month"
      data_level: monht
      strategy: {type: path, datasource_id: lake, path: x}
    - name: two
      when: TODAY() > period.end_date
      strategy:
        type: catalog
        endpoint: http://catalog.acme.com/x
        auth: env://TOKEN
"""


def test_findings_point_into_the_file() -> None:
    (definition,) = load_text(TEXT, "resolvers/files.yaml")
    assert isinstance(definition.model, Resolver)
    errors = resolver_errors(
        definition.model, definition.source, levels=("year", "month"), allowed_hosts=("catalog.acme.com",)
    )
    found = [(error.code, error.span.line if error.span else None, error.hint) for error in errors]
    assert [(code, line) for code, line, _ in found] == [
        ("EXPR_012", 5),
        ("RESOLVE_050", 6),
        ("RESOLVE_048", 9),
        ("RESOLVE_071", 11),
    ]
    assert found[1][2] == "did you mean month?"


def test_hosts_are_checked_where_they_are_known() -> None:
    (definition,) = load_text(TEXT.replace("http:", "https:"), "resolvers/files.yaml")
    assert isinstance(definition.model, Resolver)
    model, source = definition.model, definition.source
    assert [error.code for error in resolver_errors(model, source)] == ["EXPR_012", "RESOLVE_048"]
    assert [error.code for error in resolver_errors(model, source, allowed_hosts=())][-1] == "RESOLVE_061"
