"""What a pod refers to and is not there."""

import pytest

from stackwright.kube.resource import JsonObject
from stackwright.simulator import inputs
from stackwright.simulator.inputs import Inputs
from tests.unit.simulator.play import pod_of

KNOWN = Inputs(
    config_maps=lambda name: frozenset({"app.conf"}) if name == "config" else None,
    secrets=lambda name: frozenset({"password"}) if name == "db" else None,
)
FAILED = 'MountVolume.SetUp failed for volume "v" : '


@pytest.mark.parametrize(
    ("volume", "message"),
    [
        pytest.param({"secret": {"secretName": "db"}}, "", id="a-secret-that-exists"),
        pytest.param({"secret": {"secretName": "tls"}}, FAILED + 'secret "tls" not found', id="a-secret-that-does-not"),
        pytest.param({"secret": {"secretName": "tls", "optional": True}}, "", id="an-optional-secret"),
        pytest.param(
            {"secret": {"secretName": "db", "items": [{"key": "user", "path": "u"}]}},
            FAILED + "references non-existent secret key: user",
            id="a-key-that-the-secret-has-not",
        ),
        pytest.param({"configMap": {"name": "none"}}, FAILED + 'configmap "none" not found', id="a-config-map"),
        pytest.param(
            {"configMap": {"name": "config", "items": [{"key": "x", "path": "x"}]}},
            FAILED + "configmap references non-existent config key: x",
            id="a-key-that-the-config-map-has-not",
        ),
        pytest.param(
            {"projected": {"sources": [{"configMap": {"name": "config"}}, {"secret": {"name": "tls"}}]}},
            FAILED + 'secret "tls" not found',
            id="a-part-of-a-projected-volume",
        ),
        pytest.param({"projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}, "", id="a-token"),
        pytest.param({"emptyDir": {}}, "", id="an-empty-directory"),
    ],
)
def test_a_volume_needs_what_it_shows(volume: JsonObject, message: str) -> None:
    assert inputs.missing_volume(pod_of("web", volumes=[{"name": "v", **volume}]), KNOWN) == message


@pytest.mark.parametrize(
    ("container", "message"),
    [
        pytest.param({"env": [{"name": "A", "value": "1"}]}, "", id="a-plain-value"),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}]},
            "",
            id="a-key-that-exists",
        ),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "db", "key": "user"}}}]},
            "couldn't find key user in Secret here/db",
            id="a-key-that-does-not",
        ),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y"}}}]},
            'configmap "x" not found',
            id="a-config-map-that-does-not-exist",
        ),
        pytest.param(
            {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "y", "optional": True}}}]},
            "",
            id="an-optional-key",
        ),
        pytest.param({"envFrom": [{"secretRef": {"name": "x"}}]}, 'secret "x" not found', id="a-whole-secret"),
        pytest.param({"envFrom": [{"configMapRef": {"name": "config"}}]}, "", id="a-whole-config-map"),
        pytest.param({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "x"}}}]}, "", id="a-field"),
    ],
)
def test_a_container_needs_its_variables(container: JsonObject, message: str) -> None:
    pod = pod_of(containers=[{"name": "web", **container}])
    assert inputs.missing_variable(pod, pod.spec.containers[0], KNOWN) == message


def test_what_a_pod_needs_is_known_by_kind_and_name() -> None:
    pod = pod_of(
        volumes=[{"name": "v", "configMap": {"name": "config"}}, {"name": "w", "secret": {"secretName": "tls"}}],
        containers=[{"name": "web", "envFrom": [{"secretRef": {"name": "db"}}]}],
    )
    assert inputs.needed(pod) == {("ConfigMap", "config"), ("Secret", "tls"), ("Secret", "db")}
