"""What a person sees with the real kubectl."""

from pathlib import Path

import msgspec
import pytest
import yaml

from stackwright.kube.client import Client
from tests.functional.crds.kubectl import Kubectl, eventually
from tests.functional.crds.samples import EXAMPLES, KINDS, LEAST, ROOT, UPSTREAM, resource

pytestmark = pytest.mark.usefixtures("definitions")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        pytest.param("keystoneapi", "users, projects, roles, tokens", id="what-a-kind-is"),
        pytest.param("keystoneapi.spec", "The Galera that holds Keystone's data.", id="what-a-field-means"),
        pytest.param("keystoneapi.spec", "databaseInstance\t<string> -required-", id="what-is-needed"),
        pytest.param("keystoneapi.spec.provisioning", "InProcess", id="what-may-be-chosen"),
        pytest.param("keystoneapi.spec.replicas", "From 0 to 32; default: 1.", id="bounds-and-default"),
        pytest.param("mariadbaccount.spec.userName", "Cannot be changed later.", id="what-stays"),
        pytest.param("mariadbdatabase.spec.secret", "Deprecated: an account has its own", id="what-is-going-away"),
        pytest.param("oscp.spec.tls.ingress.cert.duration", "Default: 43800h", id="deep-inside-by-short-name"),
    ],
)
def test_explain_is_worth_reading(kubectl: Kubectl, path: str, words: str) -> None:
    def explained() -> str:
        return " ".join(kubectl("explain", path).replace("\n    ", " ").split("  "))

    assert eventually(explained, words)


async def test_get_shows_state_reason_message_and_age(client: Client, namespace: str, kubectl: Kubectl) -> None:
    body = resource("KeystoneAPI", namespace, name="sample")
    await client.create(KINDS["KeystoneAPI"], body)
    conditions = [
        {"type": "DBReady", "status": "False", "reason": "Requested", "message": "The database is being created"},
        {"type": "Ready", "status": "False", "reason": "Waiting", "message": "Waits for Galera openstack"},
    ]
    status = {"conditions": conditions, "apiEndpoints": {"public": "http://keystone"}}
    metadata = {"metadata": body["metadata"], "status": status}
    await client.apply(KINDS["KeystoneAPI"], metadata, subresource="status")

    header, row = kubectl("get", "keystoneapis", "-n", namespace).splitlines()
    wide = kubectl("get", "keystoneapis", "-n", namespace, "-o", "wide")

    assert header.split() == ["NAME", "READY", "REASON", "MESSAGE", "AGE"]
    assert row.startswith("sample")
    assert "False" in row
    assert "Waits for Galera openstack" in row
    assert "http://keystone" in wide


async def test_one_word_shows_everything_of_ours(client: Client, namespace: str, kubectl: Kubectl) -> None:
    for name in LEAST:
        await client.create(KINDS[name], resource(name, namespace))

    for category in ("openstack", "osp"):
        # What the server offers to clients is published a little after it is served.
        shown = eventually(
            lambda category=category: kubectl("get", category, "-n", namespace, "-o", "name"),  # type: ignore[misc]  # a name bound early
            "transporturl",
        )
        assert {line.split("/")[0] for line in shown.split()} == {
            f"{KINDS[name].kind.name.lower()}.{KINDS[name].kind.group}" for name in LEAST
        }


@pytest.mark.parametrize("path", [*sorted(EXAMPLES.glob("*.yaml")), UPSTREAM], ids=lambda path: path.stem)
def test_examples_are_applied_without_a_complaint(namespace: str, kubectl: Kubectl, path: Path) -> None:
    kubectl("apply", "--validate=strict", "-n", namespace, "-f", str(path))
    again = kubectl("apply", "--validate=strict", "-n", namespace, "-f", str(path))

    assert "configured" not in again


def test_a_mistyped_field_is_refused_by_name(namespace: str, kubectl: Kubectl) -> None:
    body = yaml.safe_dump(resource("KeystoneAPI", namespace, {"replica": 2}))

    assert 'unknown field "spec.replica"' in kubectl.refused("apply", "-f", "-", stdin=body)


def test_the_definitions_in_the_chart_can_be_applied_by_hand(kubectl: Kubectl) -> None:
    # The umbrella's is larger than what kubectl would write into an annotation.
    applied = kubectl("apply", "--server-side", "--dry-run=server", "-f", str(ROOT / "charts" / "stackwright" / "crds"))

    assert applied.count("(server dry run)") == len(KINDS)


def test_scripts_can_wait_for_a_resource(namespace: str, kubectl: Kubectl) -> None:
    body = resource("Memcached", namespace, name="sample")
    kubectl("apply", "-f", "-", stdin=yaml.safe_dump(body))
    ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    patch = msgspec.json.encode(ready).decode()
    kubectl("patch", "memcached", "sample", "-n", namespace, "--subresource=status", "--type=merge", "-p", patch)

    kubectl("wait", "--for=condition=Ready", "memcached", "--all", "-n", namespace, "--timeout=30s")
