"""Checks of a control plane when it is written."""

import pytest

from stackwright import services
from stackwright.api.base import JsonObject
from stackwright.controllers import admission
from stackwright.controllers.controlplane import check
from stackwright.kube.admission.checks import Objections
from tests.surroundings import listing
from tests.unit.controllers.controlplane.umbrellas import umbrella


def checked(spec: JsonObject, *others: str, update: bool = False) -> Objections:
    kind = services.control_plane()
    present = [umbrella(name=name) for name in others]
    known = listing(*present)
    (webhook,) = admission.webhooks((kind,), known, {kind: (check,)})
    assert webhook.validate is not None
    validate = webhook.validate
    new = umbrella(spec)
    return validate(new if update else None, new)


def test_the_first_control_plane_of_a_namespace_is_accepted() -> None:
    assert checked({"keystone": {}}) == Objections()


def test_a_second_one_is_refused_and_the_first_is_named() -> None:
    (error,) = checked({"keystone": {}}, "older").errors

    assert error.field == "metadata.namespace"
    assert "namespace here has OpenStackControlPlane older already" in error.message


def test_a_change_of_one_that_is_there_is_not_a_second_one() -> None:
    assert checked({"keystone": {}}, "cloud", "older", update=True) == Objections()
    assert checked({"keystone": {}}, "cloud") == Objections()


def test_what_is_not_supported_is_refused_by_its_field() -> None:
    errors = checked({"tls": {}}).errors

    assert [error.field for error in errors] == ["spec.tls.ingress.enabled", "spec.tls.podLevel.enabled"]


def test_a_section_to_come_is_taken_and_its_author_is_warned() -> None:
    found = checked({"cinder": {"template": {"secret": "osp-secret"}}, "heat": {"enabled": False}, "manila": {}})

    assert found.errors == ()
    (warning,) = found.warnings
    assert warning == "spec.cinder is kept, but this release does not deploy it: Cinder, the block storage"


NOVA: JsonObject = {"placement": {}, "nova": {"template": {"cellTemplates": {"cell0": {}}}}}
OFF: JsonObject = {"enabled": False}


@pytest.mark.parametrize(
    ("before", "after", "sections"),
    [
        pytest.param(NOVA, NOVA | {"nova": OFF, "neutron": OFF, "ovn": OFF}, ["neutron", "nova", "ovn"], id="all"),
        pytest.param({"neutron": {}}, {"neutron": OFF}, ["neutron"], id="one"),
        pytest.param({"ovn": {}}, {"ovn": OFF}, ["ovn"], id="the-virtual-network"),
        pytest.param({"neutron": {}}, {}, ["neutron"], id="one-that-is-left-out"),
        pytest.param({"ovn": {}}, {}, [], id="infrastructure-that-is-left-out-stays"),
        pytest.param(NOVA | {"neutron": {}}, NOVA, [], id="one-that-another-needs-stays"),
        pytest.param({"neutron": OFF}, {"neutron": OFF}, [], id="one-that-is-off-already"),
        pytest.param({"neutron": OFF}, {"neutron": {}}, [], id="one-that-comes"),
        pytest.param({"glance": {}}, {"glance": OFF}, [], id="one-of-which-servers-need-nothing"),
    ],
)
def test_who_removes_what_servers_need_is_told_what_becomes_of_them(
    before: JsonObject, after: JsonObject, sections: list[str]
) -> None:
    warnings = check(umbrella(before), umbrella(after), listing()).warnings
    assert sorted(warning.split(" is removed")[0].removeprefix("spec.") for warning in warnings) == sections
    for section, warning in zip(sections, sorted(warnings), strict=True):
        assert "Servers " in warning
        assert warning.endswith(f", until you set spec.{section}.enabled to true again")


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param(
            {"keystone": {"apiOverride": {"route": {"metadata": {"annotations": {"timeout": "60s"}}}}}},
            "spec.keystone.apiOverride.route has no effect: there are no Routes",
            id="a-route",
        ),
        pytest.param(
            {"glance": {"apiOverrides": {"default": {"route": {"spec": {"host": "image"}}}}}},
            "spec.glance.apiOverrides[default].route has no effect",
            id="the-route-of-one-of-several-apis",
        ),
        pytest.param(
            {"nova": {"cellOverride": {"cell1": {"noVNCProxy": {"route": {"spec": {"host": "vnc"}}}}}}},
            "spec.nova.cellOverride[cell1].noVNCProxy.route has no effect",
            id="a-route-of-an-entry",
        ),
        pytest.param(
            {"nova": {"cellOverride": {"cell9": {}}, "template": {"cellTemplates": {"cell0": {}}}}},
            "spec.nova.cellOverride[cell9] has no effect: the template has no cellTemplates[cell9]",
            id="an-entry-that-is-not-there",
        ),
        pytest.param(
            {"placement": {"applicationCredential": {"enabled": True}}},
            "spec.placement.applicationCredential has no effect: there are no application credentials yet",
            id="an-application-credential",
        ),
        pytest.param(
            {"glance": {"uniquePodNames": True}}, "spec.glance.uniquePodNames has no effect", id="a-name-of-pods"
        ),
        pytest.param(
            {"glance": {"serviceName": "glance-1a2b3"}}, "spec.glance.serviceName has no effect", id="another-name"
        ),
        pytest.param(
            {"keystone": {"template": {"networkAttachments": ["internalapi"]}}},
            "spec.keystone.template.networkAttachments has no effect: pods join no further networks yet",
            id="a-field-of-a-template",
        ),
        pytest.param(
            {"rabbitmq": {"templates": {"rabbitmq": {"queueType": "Mirrored"}}}},
            "spec.rabbitmq.templates[rabbitmq].queueType: RabbitMQ 4 has no mirrored queues",
            id="a-value-that-means-something-else",
        ),
    ],
)
def test_what_changes_nothing_is_taken_and_its_author_is_warned(spec: JsonObject, words: str) -> None:
    found = checked(spec)

    assert found.errors == ()
    assert [words in warning for warning in found.warnings] == [True]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"keystone": {"apiOverride": {"route": {"metadata": {}}}}}, id="a-route-that-says-nothing"),
        pytest.param(
            {"keystone": {"enabled": False, "apiOverride": {"route": {"spec": {"host": "a"}}}}}, id="disabled"
        ),
        pytest.param({"glance": {"uniquePodNames": False, "serviceName": ""}}, id="the-defaults-of-a-section"),
        pytest.param({"galera": {"templates": {"db": {"logToDisk": False}}}}, id="a-default-of-a-template"),
        pytest.param({"redis": {"enabled": False}, "nova": {"enabled": False}, "dns": None}, id="sections-to-come"),
    ],
)
def test_nobody_is_warned_of_what_says_nothing(spec: JsonObject) -> None:
    assert checked(spec) == Objections()


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param(
            {"keystone": {"template": {"customServiceConfig": "[token]\nexpiration"}}},
            "spec.keystone.template.customServiceConfig",
            id="of-a-service",
        ),
        pytest.param(
            {"galera": {"templates": {"db": {"customServiceConfig": "[mysqld]\n[broken"}}}},
            "spec.galera.templates[db].customServiceConfig",
            id="of-one-of-several",
        ),
    ],
)
def test_a_broken_snippet_in_a_template_is_refused_with_its_line(spec: JsonObject, field: str) -> None:
    (error,) = checked(spec).errors

    assert error.field == field
    assert "line 2" in error.message.lower()


def test_a_snippet_is_read_in_the_format_of_its_service() -> None:
    flag = "[mysqld]\nskip-name-resolve"

    assert checked({"galera": {"templates": {"db": {"customServiceConfig": flag}}}}) == Objections()
    assert checked({"keystone": {"template": {"customServiceConfig": flag}}}).errors
