"""How the umbrella gets the sections of services."""

from typing import Annotated

import msgspec

from stackwright.api.base import Value, describe
from stackwright.api.controlplane import OpenStackControlPlane, Section, control_plane_type
from stackwright.kube.crd import generate


class TeapotTemplate(Value, frozen=True, kw_only=True):
    """What a teapot may be told."""

    cups: Annotated[int, describe("How many cups.")] = 4


class TeapotSection(Value, frozen=True, kw_only=True):
    """The teapot of the control plane."""

    enabled: Annotated[bool, describe("Whether it is deployed.")] = False
    template: TeapotTemplate = TeapotTemplate()


COMPOSED = control_plane_type(
    {"teapot": Section(TeapotSection, "The teapot.", conditions=("OpenStackControlPlaneTeapotReady",))}
)


def test_without_sections_it_is_the_fixed_part() -> None:
    assert control_plane_type({}) is OpenStackControlPlane


def test_a_section_is_in_the_schema_with_its_defaults() -> None:
    spec = generate.manifest(COMPOSED)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]

    assert spec["properties"]["teapot"]["description"] == "The teapot."
    assert spec["properties"]["teapot"]["default"] == {"enabled": False, "template": {"cups": 4}}
    assert spec["required"] == ["secret", "storageClass"]
    assert "dependencyPolicy" in spec["properties"]


def test_a_section_is_decoded_and_its_conditions_are_reported() -> None:
    body = {"spec": {"secret": "s", "storageClass": "c", "teapot": {"template": {"cups": 2}}}}
    umbrella = msgspec.convert(body, COMPOSED)

    assert isinstance(umbrella, OpenStackControlPlane)
    assert umbrella.spec.teapot.template.cups == 2  # type: ignore[attr-defined]  # the section was added above
    assert COMPOSED.kind == OpenStackControlPlane.kind
    assert COMPOSED.conditions == (*OpenStackControlPlane.conditions, "OpenStackControlPlaneTeapotReady")
