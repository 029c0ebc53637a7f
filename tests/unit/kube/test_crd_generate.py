"""How a kind becomes a definition, and the definition a text."""

from typing import Annotated, ClassVar

import pytest
import yaml

from stackwright.kube import markers
from stackwright.kube.crd import generate
from stackwright.kube.crd.schema import SchemaError
from stackwright.kube.markers import Column, Definition, Rule, describe
from stackwright.kube.resource import CustomResource, Kind, Resource, Status, Value


class WidgetSpec(Value, frozen=True, kw_only=True):
    """What a widget should be."""

    size: Annotated[int, describe("How large.")] = 3


class WidgetStatus(Status, frozen=True, kw_only=True):
    """What a widget is."""

    size: Annotated[int, describe("How large it is.")] = 0


class Widget(CustomResource, frozen=True, kw_only=True):
    """A widget."""

    kind: ClassVar[Kind] = Kind("example.org", "v1", "Widget", "widgets")
    definition: ClassVar[Definition] = Definition(
        short_names=("wd",), categories=("all",), columns=(Column("Size", ".spec.size", "integer", priority=1),)
    )
    validations: ClassVar[tuple[Rule, ...]] = (markers.rule("size(self.metadata.name) < 9", message="too long"),)

    spec: WidgetSpec = WidgetSpec()
    status: WidgetStatus = WidgetStatus()


class Plant(Resource, frozen=True, kw_only=True):
    """A plant, of which there is one for the whole cluster, and which reports nothing."""

    kind: ClassVar[Kind] = Kind("example.org", "v1", "Plant", "plants", namespaced=False)
    definition: ClassVar[Definition] = Definition(singular="aplant", deprecation="Plants are no longer watered.")

    spec: WidgetSpec


def test_a_kind_becomes_a_definition_with_its_names_and_its_owner() -> None:
    body = generate.manifest(Widget, owner="somebody")

    assert body["metadata"] == {"name": "widgets.example.org", "labels": {generate.OWNER_LABEL: "somebody"}}
    assert body["spec"]["scope"] == "Namespaced"
    assert body["spec"]["names"] == {
        "kind": "Widget",
        "listKind": "WidgetList",
        "plural": "widgets",
        "singular": "widget",
        "shortNames": ["wd"],
        "categories": ["all"],
    }


def test_a_version_has_schema_columns_and_the_status_apart() -> None:
    (version,) = generate.manifest(Widget)["spec"]["versions"]
    root = version["schema"]["openAPIV3Schema"]

    assert version["subresources"] == {"status": {}}
    assert version["additionalPrinterColumns"] == [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1}
    ]
    assert set(root["properties"]) == {"apiVersion", "kind", "metadata", "spec", "status"}
    assert root["description"] == "A widget."
    assert root["x-kubernetes-validations"] == [{"rule": "size(self.metadata.name) < 9", "message": "too long"}]


def test_a_spec_that_may_be_absent_is_defaulted_so_that_its_defaults_apply() -> None:
    root = generate.manifest(Widget)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]

    assert root["properties"]["spec"]["default"] == {}
    assert "default" not in root["properties"]["status"]
    assert "required" not in root


def test_a_kind_of_the_whole_cluster_without_a_status() -> None:
    body = generate.manifest(Plant)
    (version,) = body["spec"]["versions"]

    assert body["spec"]["scope"] == "Cluster"
    assert body["spec"]["names"]["singular"] == "aplant"
    assert "subresources" not in version
    assert version["schema"]["openAPIV3Schema"]["required"] == ["spec"]
    assert (version["deprecated"], version["deprecationWarning"]) == (True, "Plants are no longer watered.")


def test_a_kind_that_does_not_say_how_it_is_shown_is_refused() -> None:
    class Bare(CustomResource, frozen=True, kw_only=True):
        """A bare one."""

        kind: ClassVar[Kind] = Kind("example.org", "v1", "Bare", "bares")

    with pytest.raises(SchemaError, match="Bare has no `definition"):
        generate.manifest(Bare)


def test_a_column_finds_its_condition_wherever_it_stands() -> None:
    column = markers.condition_column("Ready", "Ready", "status")

    assert column.path == '.status.conditions[?(@.type=="Ready")].status'


def test_the_text_is_the_same_each_time_and_says_what_the_manifest_says() -> None:
    body = generate.manifest(Widget)
    written = generate.text([body, generate.manifest(Plant)])

    assert written == generate.text([generate.manifest(Widget), generate.manifest(Plant)])
    assert next(iter(yaml.safe_load_all(written))) == body
    assert "&id" not in written


def test_text_of_several_lines_stays_readable() -> None:
    assert generate.text([{"a": "one\ntwo\n"}]) == "---\na: |\n  one\n  two\n"


@pytest.mark.parametrize("text", ["12e4567890", "1234567890", "0x12ab", "-0o17", "1.5", ".5e3", "+1_0e1", "y", "N"])
def test_a_text_that_helm_would_take_for_a_number_or_an_answer_is_quoted(text: str) -> None:
    assert generate.text([{"hash": text}]) == f"---\nhash: '{text}'\n"
    assert generate.text([{"hash": f"{text}x"}]) == f"---\nhash: {text}x\n"
