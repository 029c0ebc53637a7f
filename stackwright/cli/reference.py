"""The reference pages: every kind's fields as its CRD has them, every chart's values as its schema has them.

They are written from the code by `make crds`, and a test holds them to it.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from stackwright import services
from stackwright.api.base import CustomResource, JsonObject
from stackwright.kube.crd import generate

HEADER = "<!-- Written by `make crds`; do not edit. -->\n"
# What every object of Kubernetes has.
_COMMON = {"apiVersion", "kind", "metadata"}


def pages(charts: Path) -> dict[str, str]:
    """Return all pages by their file name."""
    kinds = {f"{kind.kind.name.lower()}.md": kind_page(kind) for kind in services.kinds()}
    found = sorted(path.parent for path in charts.glob("*/values.schema.json"))
    return {**kinds, **{f"chart-{chart.name}.md": chart_page(chart) for chart in found}, "README.md": _index(found)}


def kind_page(kind: type[CustomResource]) -> str:
    """Return the page of a kind."""
    crd = generate.manifest(kind)["spec"]
    version = crd["versions"][0]
    schema = version["schema"]["openAPIV3Schema"]
    lines = [f"# {kind.kind.name}", "", f"`{kind.kind.api_version}`. {schema.get('description', '')}", ""]
    words = [f"`{word}`" for word in (crd["names"]["plural"], *crd["names"].get("shortNames", ()))]
    lines += [f"`kubectl get` knows it as {', '.join(words)}.", ""]
    if kind.conditions:
        lines += ["Conditions: " + ", ".join(f"`{name}`" for name in ("Ready", *kind.conditions)) + ".", ""]
    for part in ("spec", "status"):
        if part in schema["properties"]:
            lines += [f"## {part}", "", *_table(schema["properties"][part], part), ""]
    return _page(lines)


def chart_page(chart: Path) -> str:
    """Return the page of a chart."""
    schema = json.loads((chart / "values.schema.json").read_text(encoding="utf-8"))
    lines = [f"# Values of the chart {chart.name}", "", schema.get("description", ""), ""]
    lines += [f"How to install it by hand is in [its README](../../charts/{chart.name}/README.md).", ""]
    return _page([*lines, *_table(_resolve(schema, schema), "")])


def _index(charts: Iterable[Path]) -> str:
    kinds = sorted((kind.kind for kind in services.kinds()), key=lambda kind: (kind.group, kind.name))
    lines = ["# Reference", "", "Every kind, with its fields, and every chart, with its values.", ""]
    lines += ["| kind | group |", "|---|---|"]
    lines += [f"| [{kind.name}]({kind.name.lower()}.md) | {kind.group} |" for kind in kinds]
    lines += ["", "Charts: " + ", ".join(f"[{chart.name}](chart-{chart.name}.md)" for chart in charts) + "."]
    return _page(lines)


def _page(lines: Iterable[str]) -> str:
    return HEADER + "\n".join(lines).rstrip() + "\n"


def _table(schema: JsonObject, path: str) -> Iterator[str]:
    yield "| field | type | default | means |"
    yield "|---|---|---|---|"
    yield from _rows(schema, path)


def _rows(schema: JsonObject, path: str) -> Iterator[str]:
    """Yield a row for each field, and for those below it."""
    required = set(schema.get("required", ()))
    for name, field in schema.get("properties", {}).items():
        if not path and name in _COMMON:
            continue
        place = f"{path}.{name}" if path else name
        need = " (required)" if name in required else ""
        yield f"| `{place}`{need} | {_type(field)} | {_default(field)} | {_means(field)} |"
        yield from _below(field, place)


def _below(field: JsonObject, place: str) -> Iterator[str]:
    if field.get("properties"):
        yield from _rows(field, place)
    for key, mark in (("items", "[]"), ("additionalProperties", ".*")):
        inner = field.get(key)
        if isinstance(inner, dict) and (inner.get("properties") or inner.get("items")):
            yield from _rows(inner, f"{place}{mark}")


def _type(field: JsonObject) -> str:
    if "enum" in field:
        return " or ".join(f"`{value}`" if value != "" else '`""`' for value in field["enum"] if value is not None)
    stated = field.get("type", "integer or string" if field.get("x-kubernetes-int-or-string") else "any")
    if isinstance(stated, list):
        return " or ".join(stated)
    if stated == "array":
        return f"list of {_type(field.get('items', {}))}"
    if stated == "object" and isinstance(field.get("additionalProperties"), dict):
        return f"map of {_type(field['additionalProperties'])}"
    return str(stated)


def _default(field: JsonObject) -> str:
    if "default" not in field or field["default"] in ({}, [], ""):
        return ""
    return f"`{json.dumps(field['default'])}`"


def _means(field: JsonObject) -> str:
    text: str = field.get("description", "")
    return " ".join(text.split()).replace("|", "\\|")


def _resolve(schema: JsonObject, root: JsonObject) -> JsonObject:
    """Return a JSON schema with its references put in."""
    if reference := schema.get("$ref"):
        target = root
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]
        return _resolve({**target, **{name: value for name, value in schema.items() if name != "$ref"}}, root)
    result = dict(schema)
    if "properties" in schema:
        result["properties"] = {name: _resolve(field, root) for name, field in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            result[key] = _resolve(schema[key], root)
    return result


def write(directory: Path, charts: Path) -> None:
    """Write all pages, and remove those of what is no more."""
    directory.mkdir(parents=True, exist_ok=True)
    found = pages(charts)
    for stale in set(directory.glob("*.md")) - {directory / name for name in found}:
        stale.unlink()
    for name, text in found.items():
        (directory / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
