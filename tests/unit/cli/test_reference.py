"""The reference pages follow from the types and the charts."""

from pathlib import Path

from stackwright.cli import reference

ROOT = Path(__file__).parents[3]


def test_the_pages_are_what_the_code_says() -> None:
    written = {path.name: path.read_text() for path in (ROOT / "docs" / "reference").glob("*.md")}
    assert written == reference.pages(ROOT / "charts"), "run `make crds`"


def test_a_reference_within_a_schema_is_followed() -> None:
    schema = {
        "$defs": {"tea": {"type": "string", "description": "Which | tea."}},
        "properties": {"tea": {"$ref": "#/$defs/tea"}, "pots": {"type": "array", "items": {"$ref": "#/$defs/tea"}}},
    }
    rows = list(reference._rows(reference._resolve(schema, schema), ""))
    assert rows == ["| `tea` | string |  | Which \\| tea. |", "| `pots` | list of string |  |  |"]
