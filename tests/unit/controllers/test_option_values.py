"""What admission says of options, for a service's own kind and for its section of the umbrella."""

from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.blueprint.images import ComponentImage
from stackwright.controllers import admission, option_values
from stackwright.kube.admission.checks import Objections
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.neutron.kinds import OVNMetadataAgent
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from tests.surroundings import nothing_known

OURS = {"keystone": ComponentImage("keystone:1", ours=True), "glance": ComponentImage("glance:1", ours=True)}
SOON = "[token]\nexpiration = soon\n"
SENTENCE = "line 2: [token] expiration must be a whole number from 0 to "


def keystone(**spec: Any) -> KeystoneAPI:
    said = {"databaseInstance": "db", "secret": "s", **spec}
    return msgspec.convert({"metadata": {"name": "keystone"}, "spec": said}, KeystoneAPI)


def umbrella(**sections: Any) -> Any:
    spec = {"secret": "s", "storageClass": "c", **sections}
    return msgspec.convert({"metadata": {"name": "cloud"}, "spec": spec}, services.control_plane())


def on_node(kind: type[Any], text: str, **spec: Any) -> Any:
    said = {"customServiceConfig": text, **({"cellName": "c"} if kind is NovaExternalCompute else {}), **spec}
    return msgspec.convert({"metadata": {"name": "compute-0"}, "spec": said}, kind)


COMPUTE = {"compute": ComponentImage("ours:1", ours=True)}


@pytest.mark.parametrize(
    ("kind", "text", "sentence"),
    [
        pytest.param(NovaExternalCompute, "[DEFAULT]\ndebug = soon\n", "line 2: [DEFAULT] debug", id="nova"),
        pytest.param(NovaExternalCompute, "[libvirt]\nvirt_type = soon\n", "line 2: [libvirt] virt_type", id="libvirt"),
        pytest.param(
            OVNMetadataAgent, "[DEFAULT]\nmetadata_workers = soon\n", "line 2: [DEFAULT] metadata_workers", id="agent"
        ),
    ],
)
def test_a_service_on_a_node_is_not_replaced_for_a_bad_value(kind: type[Any], text: str, sentence: str) -> None:
    (error,) = option_values.check(on_node(kind, text), COMPUTE).errors
    assert (error.field, error.message.startswith(sentence)) == ("spec.customServiceConfig", True)
    # Who knows what another image accepts?
    image = "novaComputeContainerImage" if kind is NovaExternalCompute else "ovnMetadataAgentContainerImage"
    for resource, images in ((on_node(kind, text), {}), (on_node(kind, text, **{image: "mine:1"}), COMPUTE)):
        found = option_values.check(resource, images)
        assert found.errors == ()
        assert len(found.warnings) == 1
    assert option_values.check(on_node(kind, text, **{image: "ours:1"}), COMPUTE).errors != ()
    assert option_values.check(on_node(kind, "[DEFAULT]\ndebug = true\n"), COMPUTE) == Objections()


@pytest.mark.parametrize(
    ("resource", "path"),
    [
        pytest.param(keystone(customServiceConfig=SOON), "spec.customServiceConfig", id="its-own-kind"),
        pytest.param(
            umbrella(keystone={"template": {"customServiceConfig": SOON}}),
            "spec.keystone.template.customServiceConfig",
            id="a-section-of-the-umbrella",
        ),
        pytest.param(
            keystone(defaultConfigOverwrite={"keystone.conf": SOON}),
            "spec.defaultConfigOverwrite[keystone.conf]",
            id="a-whole-file",
        ),
    ],
)
def test_a_bad_value_is_refused_where_it_stands(resource: Any, path: str) -> None:
    (error,) = option_values.check(resource, OURS).errors
    assert error.field == path
    assert error.message.startswith(SENTENCE)
    assert "soon" not in error.cause.message


@pytest.mark.parametrize(
    ("resource", "images"),
    [
        pytest.param(keystone(customServiceConfig=SOON), {}, id="no-manifest"),
        pytest.param(
            keystone(customServiceConfig=SOON), {"keystone": ComponentImage("kolla:1")}, id="a-manifest-of-others"
        ),
        pytest.param(keystone(customServiceConfig=SOON, containerImage="mine:1"), OURS, id="an-image-of-the-users-own"),
    ],
)
def test_of_an_image_that_is_not_ours_it_is_only_a_guess(resource: Any, images: dict[str, ComponentImage]) -> None:
    found = option_values.check(resource, images)
    assert found.errors == ()
    assert "by the options of the image that Stackwright builds" in found.warnings[0]


def test_an_unknown_option_is_a_warning() -> None:
    found = option_values.check(keystone(customServiceConfig="[token]\nexpire = 1\n"), OURS)
    assert found == Objections(
        (), ("spec.customServiceConfig: line 2: [token] expire is not an option that the service knows",)
    )


def test_every_webhook_asks_it() -> None:
    (webhook,) = admission.webhooks((KeystoneAPI,), nothing_known, images=OURS)
    assert webhook.validate is not None
    assert [error.field for error in webhook.validate(None, keystone(customServiceConfig=SOON)).errors] == [
        "spec.customServiceConfig"
    ]
