"""What the umbrella makes, and what it says of the whole."""

import msgspec
import pytest

from stackwright.api.base import JsonObject
from stackwright.controllers.controlplane.controller import Facts, children, state_or_pause, tell
from stackwright.controllers.controlplane.passwords import SecretKeys
from stackwright.kube.conditions import Finding
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import Condition
from stackwright.kube.shapes.composite import Child
from tests.unit.controllers.controlplane.umbrellas import facts, resource, umbrella

INFRASTRUCTURE = "OpenStackControlPlaneInfrastructureReady"
MARIADB = "OpenStackControlPlaneMariaDBReady"
RABBITMQ = "OpenStackControlPlaneRabbitMQReady"
KEYSTONE = "OpenStackControlPlaneKeystoneAPIReady"


def made(spec: JsonObject, seen: Facts) -> set[str]:
    return {str(item) for item in children(umbrella(spec), seen) if isinstance(item, Child)}


def findings(spec: JsonObject, seen: Facts) -> dict[str, Finding]:
    return {item.condition: item for item in children(umbrella(spec), seen) if isinstance(item, Finding)}


def test_a_service_and_what_it_needs_are_made_at_once() -> None:
    assert made({"keystone": {}}, facts()) == {"KeystoneAPI keystone", "Galera openstack", "Memcached memcached"}


def test_a_section_without_resources_says_why_nothing_is_missing() -> None:
    found = findings({"rabbitmq": {"enabled": False}}, facts())

    assert (found[RABBITMQ].status, found[RABBITMQ].reason) == ("True", "Disabled")
    assert (found[KEYSTONE].status, found[KEYSTONE].message) == ("True", "KeystoneAPI was not asked for")


def test_what_cannot_have_what_it_needs_is_not_made() -> None:
    spec = {"keystone": {}, "galera": {"enabled": False}}

    assert made(spec, facts()) == {"Memcached memcached"}
    assert (findings(spec, facts())[KEYSTONE].status, findings(spec, facts())[KEYSTONE].severity) == ("False", "Error")


def test_what_runs_already_is_not_taken_away_when_what_it_needs_is() -> None:
    seen = facts(resource("KeystoneAPI", "keystone", ready=True))

    assert "KeystoneAPI keystone" in made({"keystone": {}, "galera": {"enabled": False}}, seen)


def test_what_somebody_else_made_is_left_alone_and_counts() -> None:
    seen = facts(resource("Galera", "openstack", ready=False), foreign=True)
    found = findings({"keystone": {}}, seen)

    assert made({"keystone": {}}, seen) == {"KeystoneAPI keystone", "Memcached memcached"}
    assert (found[MARIADB].status, found[MARIADB].message) == ("False", "Galera openstack: no pods yet")


@pytest.mark.parametrize(
    ("seen", "status", "message"),
    [
        pytest.param(facts(), "False", "Galera openstack is being created", id="nothing-is-there"),
        pytest.param(
            facts(resource("Galera", "openstack", ready=True), resource("Memcached", "memcached")),
            "False",
            "Memcached memcached has not reported its state yet",
            id="one-is-there",
        ),
        pytest.param(
            facts(resource("Galera", "openstack", ready=True), resource("Memcached", "memcached", deleting=True)),
            "False",
            "Memcached memcached is being deleted",
            id="one-is-going",
        ),
        pytest.param(
            facts(resource("Galera", "openstack", ready=True), resource("Memcached", "memcached", ready=True)),
            "True",
            "",
            id="all-are-there",
        ),
    ],
)
def test_infrastructure_is_ready_when_all_of_it_is(seen: Facts, status: str, message: str) -> None:
    found = findings({"keystone": {}}, seen)[INFRASTRUCTURE]

    assert (found.status, found.message) == (status, message)


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param({"tls": {}}, "spec.tls.ingress.enabled: TLS is not supported yet", id="tls-of-the-whole"),
        pytest.param(
            {"keystone": {"template": {"tls": {"caBundleSecretName": "ca"}}}},
            "spec.keystone.template.tls.caBundleSecretName: TLS is not supported yet",
            id="tls-of-a-service",
        ),
        pytest.param(
            {"galera": {"templates": {"db": {"disableNonTLSListeners": True}}}},
            r"spec.galera.templates\[db\].disableNonTLSListeners: TLS is not supported yet",
            id="tls-by-another-name",
        ),
        pytest.param(
            {"keystone": {"apiOverride": {"tls": {"secretName": "cert"}}}},
            "spec.keystone.apiOverride.tls.secretName: TLS is not supported yet",
            id="tls-of-an-endpoint",
        ),
        pytest.param(
            {"barbican": {"template": {"barbicanAPI": {"tls": {"caBundleSecretName": "ca"}}}}},
            r"spec.barbican.template.barbicanAPI.tls.caBundleSecretName: TLS is not supported yet",
            id="certificates-of-an-api-that-is-a-component",
        ),
        pytest.param(
            {"glance": {"apiOverrides": {"far": {"tls": {"secretName": "cert"}}}}},
            r"spec.glance.apiOverrides\[far\].tls.secretName: TLS is not supported yet",
            id="tls-of-one-of-several-apis",
        ),
    ],
)
def test_what_is_not_supported_is_refused_with_its_path(spec: JsonObject, words: str) -> None:
    with pytest.raises(Blocked, match=words) as refusal:
        list(children(umbrella(spec), facts()))

    assert (refusal.value.reason, refusal.value.condition) == ("NotSupported", "InputReady")


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"keystone": {"template": {"tls": {}}}}, id="tls-that-says-nothing"),
        pytest.param({"keystone": {"applicationCredential": {"enabled": False}}}, id="no-application-credential"),
        pytest.param({"keystone": {"template": {"tls": {"api": {"public": {}, "internal": {}}}}}}, id="empty-forms"),
        pytest.param(
            {"keystone": {}, "tls": {"ingress": {"enabled": False}, "podLevel": {"enabled": False}}},
            id="tls-that-is-switched-off",
        ),
        pytest.param(
            {"keystone": {}, "barbican": {"enabled": False, "apiOverride": {"tls": {"secretName": "cert"}}}},
            id="tls-of-a-section-that-is-disabled",
        ),
        pytest.param(
            {
                "keystone": {
                    "apiOverride": {"route": {"spec": {"host": "a"}}},
                    "applicationCredential": {"enabled": True},
                }
            },
            id="what-changes-nothing",
        ),
    ],
)
def test_what_says_nothing_is_not_refused(spec: JsonObject) -> None:
    assert made(spec, facts())


def test_what_changes_nothing_is_named_in_a_condition_that_holds() -> None:
    found = findings({"keystone": {"apiOverride": {"route": {"spec": {"host": "a"}}}}}, facts())["InputReady"]

    assert found.status == "True"
    assert found.message.endswith("these fields have no effect in this release: spec.keystone.apiOverride.route")


@pytest.mark.parametrize(
    ("spec", "conditions", "status"),
    [
        pytest.param({}, None, "True", id="not-asked-for"),
        pytest.param({"keystone": {}}, None, "False", id="not-there-yet"),
        pytest.param({"keystone": {}}, [], "False", id="not-looked-at-yet"),
        pytest.param({"keystone": {}}, [("CreateServiceReady", "False")], "False", id="no-services-yet"),
        pytest.param({"keystone": {}}, [("Ready", "True")], "True", id="ready-with-less-to-tell"),
        # Its Services may be there long before its pods.
        pytest.param(
            {"keystone": {}}, [("CreateServiceReady", "True"), ("Ready", "False")], "True", id="with-services"
        ),
    ],
)
def test_an_api_is_exposed_when_its_own_resource_has_its_services(
    spec: JsonObject, conditions: list[tuple[str, str]] | None, status: str
) -> None:
    there = resource("KeystoneAPI", "keystone")
    said = tuple(
        Condition(type=name, status=found, reason="Pods", message="m", lastTransitionTime="2026-11-16T00:00:00Z")
        for name, found in conditions or ()
    )
    status_of = msgspec.structs.replace(there.status, conditions=said, observedGeneration=1)
    there = msgspec.structs.replace(there, status=status_of)
    seen = facts(there) if conditions is not None else facts()
    found = findings({"memcached": {}, **spec}, seen)["OpenStackControlPlaneExposeKeystoneAPIReady"]

    assert found.status == status


WHOLE = facts(
    resource("KeystoneAPI", "keystone", ready=True),
    resource("Galera", "openstack", ready=True),
    resource("Memcached", "memcached", ready=True),
)


@pytest.mark.parametrize(
    ("spec", "seen", "expected"),
    [
        pytest.param({"cinder": {"enabled": False}, "heat": {}}, facts(), ("True", ""), id="not-asked-for"),
        # Until the rest is there, that is what a user waits for.
        pytest.param({"cinder": {}}, facts(), ("False", "Info"), id="asked-for-while-the-rest-is-on-its-way"),
        pytest.param({"cinder": {}}, WHOLE, ("False", "Warning"), id="all-that-is-missing"),
        pytest.param({"heat": {"enabled": True}}, WHOLE, ("False", "Warning"), id="one-that-upstream-leaves-out"),
    ],
)
def test_a_section_to_come_that_is_asked_for_is_named(spec: JsonObject, seen: Facts, expected: tuple[str, str]) -> None:
    found = findings({"keystone": {}, **spec}, seen)["OpenStackControlPlaneSectionsReady"]

    assert (found.status, found.severity) == expected
    if found.status == "False":
        assert f"This release does not deploy spec.{min(spec)}; everything else is deployed" in found.message


def test_the_second_of_two_waits_for_the_first() -> None:
    with pytest.raises(Blocked, match="Namespace here has OpenStackControlPlane older already"):
        list(children(umbrella({"keystone": {}}), facts(first="older")))


@pytest.mark.parametrize(
    ("policy", "secret", "words"),
    [
        pytest.param(
            "Provide",
            None,
            (
                "Secret osp-secret does not exist",
                "AdminPassword (for KeystoneAPI keystone)",
                "kubectl -n here create secret generic osp-secret --from-literal=AdminPassword=…",
                "set spec.passwordPolicy to Generate",
            ),
            id="no-secret",
        ),
        pytest.param(
            "Generate",
            SecretKeys(frozenset({"Other"}), generated=False, version="1"),
            ("Secret osp-secret lacks the keys AdminPassword", "kubectl -n here patch secret osp-secret"),
            id="a-secret-of-a-user-that-lacks-a-key",
        ),
        pytest.param(
            "Provide",
            SecretKeys(frozenset(), generated=True, version="1"),
            ("Secret osp-secret lacks the keys AdminPassword",),
            id="a-secret-that-was-generated-before",
        ),
    ],
)
def test_a_missing_password_is_a_sentence_that_says_what_to_do(
    policy: str, secret: SecretKeys | None, words: tuple[str, ...]
) -> None:
    found = findings({"keystone": {}, "passwordPolicy": policy}, facts(secret=secret))["InputReady"]

    assert (found.status, found.severity) == ("False", "Error")
    assert all(word in found.message for word in words), found.message


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"galera": {}}, id="nobody-wants-a-password"),
        pytest.param({"keystone": {"template": {"secret": "own"}}}, id="the-service-has-a-secret-of-its-own"),
    ],
)
def test_a_secret_that_nobody_uses_is_not_missed(spec: JsonObject) -> None:
    assert "InputReady" not in findings(spec, facts(secret=None))


def test_the_status_tells_each_resource_and_what_was_deployed_for_whom() -> None:
    told = tell(umbrella({"keystone": {}, "memcached": {}}), facts(resource("Galera", "openstack", ready=True)))

    assert [(state.kind, state.name, state.ready, state.reason) for state in told.services] == [
        ("Galera", "openstack", True, ""),
        ("KeystoneAPI", "keystone", False, "Requested"),
        ("Memcached", "memcached", False, "Requested"),
    ]
    assert [(one.kind, one.name, one.neededBy) for one in told.resolved] == [
        ("Galera", "openstack", ("KeystoneAPI keystone",))
    ]


def test_the_status_tells_what_is_used_of_others() -> None:
    told = tell(umbrella({"galera": {}}), facts(resource("Galera", "openstack", ready=True), foreign=True))

    assert told.services[0].message == "it is used unchanged, because somebody else created it"
    assert told.resolved == ()


def test_a_change_of_a_paused_service_waits_for_the_pause_to_end() -> None:
    paused = resource("KeystoneAPI", "keystone", ready=True)
    metadata = msgspec.structs.replace(paused.metadata, generation=2, annotations={"openstack.org/paused": "true"})
    said = state_or_pause(msgspec.structs.replace(paused, metadata=metadata))
    assert (said.reason, said.severity) == ("Paused", "Warning")
    assert "KeystoneAPI keystone is paused" in said.message
    going_on = msgspec.structs.replace(metadata, annotations={})
    assert state_or_pause(msgspec.structs.replace(paused, metadata=going_on)).reason == "Requested"
