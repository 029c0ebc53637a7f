"""How the umbrella gets the sections of services, and what a template is."""

import importlib
import secrets
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
import pytest

from stackwright import services
from stackwright.api import discovery, paths
from stackwright.api.base import (
    CustomResource,
    Definition,
    JsonObject,
    Kind,
    Rule,
    Value,
    describe,
    immutable,
    minimum,
    rule,
    shown,
)
from stackwright.api.controlplane import HandedDown, OpenStackControlPlane, Part, Section, control_plane_type
from stackwright.api.exposure import ApiOverride
from stackwright.blueprint.needs import Need
from stackwright.kube.crd import generate


class Handle(Value, frozen=True, kw_only=True):
    """What a teapot is held by."""

    validations: ClassVar[tuple[Rule, ...]] = (
        rule("!has(self.length) || self.length > 1", message="too short"),
        rule("self == oldSelf", message="it stays"),
    )

    length: Annotated[int, describe("How long it is.")] = 10


class TeapotSpec(Value, frozen=True, kw_only=True):
    """How a teapot is."""

    validations: ClassVar[tuple[Rule, ...]] = (rule("self.cups > 0", message="no cups"),)

    secret: Annotated[str, describe("The recipe.")]
    tea: Annotated[str, describe("Which tea.")]
    cups: Annotated[int, minimum(1), describe("How many cups.")] = 4
    clay: Annotated[str, immutable("it is fired"), describe("Which clay.")] = "red"
    handle: Handle = Handle()
    handles: Annotated[dict[str, Handle], describe("More of them.")] = {}
    override: ApiOverride = ApiOverride()


class Teapot(CustomResource, frozen=True, kw_only=True):
    """A teapot."""

    kind: ClassVar[Kind] = Kind("tea.example.org", "v1", "Teapot", "teapots")
    definition: ClassVar[Definition] = shown()
    conditions: ClassVar[tuple[str, ...]] = ("HotReady",)

    spec: TeapotSpec


TEAPOT = Section(
    name="teapot",
    kind=Teapot,
    instance="teapot",
    condition="OpenStackControlPlaneTeapotReady",
    description="The teapot.",
    handed_down=(HandedDown("secret"),),
)
KETTLES = Section(
    name="kettles",
    kind=Teapot,
    instance="kettle",
    condition="OpenStackControlPlaneKettleReady",
    description="The kettles.",
    handed_down=(HandedDown("secret"),),
    several=True,
    infrastructure=True,
)
COMPOSED = control_plane_type((TEAPOT, KETTLES))


def schema_of_spec(kind: type[CustomResource]) -> JsonObject:
    root = generate.manifest(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    spec: JsonObject = root["properties"]["spec"]["properties"]
    return spec


def decoded(spec: JsonObject) -> Any:
    return msgspec.convert({"spec": {"secret": "s", "storageClass": "c", **spec}}, COMPOSED).spec


def test_without_sections_it_is_the_fixed_part() -> None:
    assert control_plane_type(()) is OpenStackControlPlane


def test_an_absent_section_is_one_that_was_not_asked_for() -> None:
    assert "default" not in schema_of_spec(COMPOSED)["teapot"]
    assert decoded({}).teapot is None
    assert decoded({"teapot": {}}).teapot.enabled


def test_a_template_needs_what_nobody_fills_in_and_has_no_defaults() -> None:
    template = schema_of_spec(COMPOSED)["teapot"]["properties"]["template"]

    assert template["required"] == ["tea"]
    assert "'default':" not in str(template)
    assert template["properties"]["cups"]["minimum"] == 1


def test_a_template_keeps_rules_about_its_parts_but_not_about_changes_or_the_whole() -> None:
    template = schema_of_spec(COMPOSED)["teapot"]["properties"]["template"]

    assert "x-kubernetes-validations" not in template
    assert "x-kubernetes-validations" not in template["properties"]["clay"]
    for handle in (
        template["properties"]["handle"],
        template["properties"]["handles"]["additionalProperties"],
    ):
        assert [entry["message"] for entry in handle["x-kubernetes-validations"]] == ["too short"]


@pytest.mark.parametrize(
    "said",
    [
        pytest.param({"tea": "green"}, id="what-is-absent-stays-absent"),
        pytest.param({"tea": "green", "cups": 4}, id="a-default-that-was-said-was-said"),
        pytest.param({"tea": "green", "handle": {}}, id="an-empty-part"),
        pytest.param({"tea": "", "handles": {}}, id="empty-values"),
        pytest.param({"tea": "green", "handles": {"left": {"length": 10}}}, id="parts-in-a-map"),
        pytest.param({"tea": "green", "override": {"service": {"public": {"spec": {"type": "NodePort"}}}}}, id="deep"),
    ],
)
def test_a_template_holds_what_was_said_and_nothing_else(said: JsonObject) -> None:
    assert msgspec.to_builtins(decoded({"teapot": {"template": said}}).teapot.template) == said
    several = decoded({"kettles": {"templates": {"big": said}}}).kettles
    assert msgspec.to_builtins(several.templates["big"]) == said


def test_what_services_stand_on_is_reported_before_them() -> None:
    assert COMPOSED.kind == OpenStackControlPlane.kind
    assert COMPOSED.conditions == (
        "InputReady",
        "OpenStackControlPlaneKettleReady",
        "OpenStackControlPlaneInfrastructureReady",
        "OpenStackControlPlaneTeapotReady",
        "OpenStackControlPlaneExposeTeapotReady",
        "OpenStackControlPlaneSectionsReady",
    )


def test_the_umbrella_that_we_serve_has_the_sections_of_all_folders() -> None:
    served = services.control_plane()

    assert served in services.kinds()
    assert OpenStackControlPlane not in services.kinds()
    assert {"galera", "rabbitmq", "memcached", "keystone"} <= set(schema_of_spec(served))
    assert {section.name for section in services.sections()} <= set(schema_of_spec(served))


PARTS = tuple(part for section in services.sections() for part in section.parts)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.kind_name)
def test_a_section_names_fields_that_its_kind_has(part: Part) -> None:
    named = [field.path for field in part.handed_down]
    named += [field.unless for field in part.handed_down if field.unless]
    named += [path for path in (part.external, part.when, part.api, part.apis) if path]
    for path in named:
        schema: JsonObject = {"properties": schema_of_spec(part.kind)}
        for step in paths.split(path):
            assert step == paths.EVERY or step in schema["properties"], path
            schema = schema["additionalProperties"] if step == paths.EVERY else schema["properties"][step]
    umbrella = schema_of_spec(OpenStackControlPlane)
    assert {field.of or field.path for field in part.handed_down if field.value is None} <= set(umbrella)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.kind_name)
def test_what_a_service_needs_is_provided_by_one_that_the_umbrella_makes(part: Part) -> None:
    blueprint = services.blueprint_of(part.kind)
    assert blueprint is not None
    words = [need.word for need in blueprint.needs if isinstance(need, Need) and need.word]
    makes = [other.kind for other in PARTS]
    assert all(makes.count(services.providers()[word].kind) == 1 for word in words)


def test_a_folder_without_a_section_adds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = f"folders_{secrets.token_hex(4)}"
    for folder in ("with", "without"):
        (tmp_path / package / folder).mkdir(parents=True)
        (tmp_path / package / folder / "__init__.py").touch()
    (tmp_path / package / "__init__.py").touch()
    (tmp_path / package / "with" / "section.py").write_text("class SECTION:\n    name = 'teapot'\n")
    monkeypatch.syspath_prepend(tmp_path)

    found = discovery.sections_in(importlib.import_module(package))

    assert [section.name for section in found] == ["teapot"]
