"""What `stackwright up` does to a cluster: the operators by the real helm, and a cloud that is waited for."""

import base64
import gzip
import json
import re
import shutil
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from stackwright.cli import clouds
from stackwright.cli.clouds import Cloud, NotReady
from stackwright.kube.builtin import Deployment, Namespace, Role, Secret
from stackwright.kube.client import Client
from stackwright.kube.errors import ConfigError
from stackwright.local import operator_chart
from stackwright.local.apiserver.server import ApiServer
from stackwright.local.errors import OperatorsFailed
from stackwright.local.operator_chart import NAMESPACE, RELEASE, Helm
from stackwright.local.progress import Silent
from stackwright.services.memcached.kinds import Memcached
from stackwright.simulator import Script, SimulatedNode, simulated
from tests.functional.cloud import ROOT
from tests.functional.emptying import empty

CHART = ROOT / "charts" / "stackwright"
DEPLOYMENT = "stackwright-operator"
ROLE = f"{NAMESPACE}-{DEPLOYMENT}"
CLOUD = "openstack"
NAMESPACES = (NAMESPACE, CLOUD, "second", "inhabited", "opened")
VALUES = {"image": "registry.example/operator:1", "namespaces": [CLOUD]}


@pytest.fixture
async def helm(private_apiserver: ApiServer, private_client: Client, kubernetes: dict[str, Path]) -> Helm:
    """The real helm, for a server without operators and without anything of ours in it."""
    found = Helm(kubernetes["helm"], private_apiserver.kubeconfig)
    if await private_client.list(Secret, NAMESPACE, labels=f"owner=helm,name={RELEASE}"):
        found.must("uninstall", RELEASE)
    await empty(private_client, NAMESPACES)
    return found


@pytest.fixture(scope="module")
def light(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The chart as helm sees it without the definitions of our kinds, which we install and helm is told to skip.

    Helm packs the whole chart into each record of a release, and unpacks all records for each question: with the
    definitions in it, an upgrade takes three times the CPU.
    """
    chart = tmp_path_factory.mktemp("light") / "stackwright"
    shutil.copytree(CHART, chart)
    with (chart / ".helmignore").open("a") as ignored:
        ignored.write("\ncrds/\n")
    return chart


@pytest.fixture
async def played(private_client: Client) -> AsyncIterator[None]:
    """The operators' namespace, whose pods are played."""
    await operator_chart.ensure_namespace(private_client, NAMESPACE, Silent())
    # A node that has the label which somebody has the operators select.
    nodes = (SimulatedNode("simulated", labels={"commit": "7e4"}),)
    async with simulated(private_client, NAMESPACE, Script(), nodes=nodes):
        yield


def revision(helm: Helm) -> int:
    return int(json.loads(helm.must("get", "metadata", RELEASE, "--output=json"))["revision"])


@pytest.mark.long
@pytest.mark.usefixtures("played")
async def test_operators_are_installed_once_and_upgraded_when_something_differs(
    private_client: Client, helm: Helm, light: Path
) -> None:
    client = private_client
    assert await operator_chart.install(client, helm, light, VALUES, Silent())
    assert not await operator_chart.install(client, helm, light, VALUES, Silent())
    assert revision(helm) == 1
    assert await operator_chart.install(client, helm, light, {**VALUES, "replicas": 2}, Silent())
    assert revision(helm) == 2
    # What helm was told before stays, as it was said: this text looks like a number. What is said of images is ours.
    told = {"nodeSelector": {"commit": "7e4"}, "images": {"components": {"memcached": {"name": "mine", "sudo": True}}}}
    helm.must("upgrade", "--reuse-values", "--skip-crds", "--values=-", RELEASE, light, given=json.dumps(told))
    images = {"components": {"memcached": {"reference": "registry.example/memcached:1"}}}
    assert await operator_chart.install(client, helm, light, {**VALUES, "images": images}, Silent())
    kept = json.loads(helm.must("get", "values", RELEASE, "--output=json"))
    assert kept == {**VALUES, "images": images, "replicas": 2, "nodeSelector": {"commit": "7e4"}}
    assert not await operator_chart.install(client, helm, light, {**VALUES, "images": images}, Silent())
    # What somebody scaled by hand is no reason to fail.
    scaled = {"metadata": {"name": DEPLOYMENT, "namespace": NAMESPACE}, "spec": {"replicas": 3}}
    await client.apply(Deployment, scaled, field_manager="somebody")
    assert await operator_chart.install(client, helm, light, {**VALUES, "verbose": True, "replicas": 2}, Silent())
    # What somebody took away comes back: a Deployment, or with a namespace the rights that the operators had there.
    await client.delete(Deployment, DEPLOYMENT, NAMESPACE)
    assert await operator_chart.install(client, helm, light, {**VALUES, "replicas": 2}, Silent())
    await client.delete(Role, ROLE, CLOUD)
    assert await operator_chart.install(client, helm, light, {**VALUES, "replicas": 2}, Silent())
    assert await client.find(Role, ROLE, CLOUD) is not None
    assert (await client.get(Deployment, DEPLOYMENT, NAMESPACE)).spec["replicas"] == 2
    # Helm that was killed in the middle leaves a release that it would not touch again.
    (latest,) = await client.list(Secret, NAMESPACE, labels=f"name={RELEASE},status=deployed")
    await client.patch(Secret, latest.metadata.name, NAMESPACE, pending(latest))
    assert await operator_chart.install(client, helm, light, VALUES, Silent())
    labels = (await client.get(Namespace, NAMESPACE)).metadata.labels
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


@pytest.mark.usefixtures("played")
async def test_a_value_that_the_chart_does_not_know_any_more_is_named(private_client: Client, helm: Helm) -> None:
    await operator_chart.install(private_client, helm, CHART, VALUES, Silent())
    # As a former chart might have had it.
    helm.must("upgrade", "--reuse-values", "--skip-schema-validation", "--skip-crds", "--set=old=1", RELEASE, CHART)
    with pytest.raises(OperatorsFailed, match=r"'old' not allowed[\s\S]*`helm get values stackwright --namespace"):
        await operator_chart.install(private_client, helm, CHART, VALUES, Silent())


async def test_no_answer_of_helm_is_not_taken_for_no_release(
    private_client: Client, helm: Helm, tmp_path: Path
) -> None:
    nowhere = tmp_path / "kubeconfig"
    text = helm.kubeconfig.read_text() if helm.kubeconfig is not None else ""
    nowhere.write_text(re.sub(r"server: .*", "server: https://127.0.0.1:9", text))
    with pytest.raises(OperatorsFailed, match="Helm cannot say whether the operators are installed"):
        await operator_chart.install(private_client, Helm(helm.program, nowhere), CHART, VALUES, Silent())


@pytest.mark.usefixtures("played")
async def test_an_operator_for_each_service_is_installed_and_stays(
    private_client: Client, helm: Helm, light: Path
) -> None:
    client = private_client
    assert await operator_chart.install(client, helm, light, {**VALUES, "operatorMode": "perService"}, Silent())
    assert [one.metadata.name for one in await client.list(Deployment, NAMESPACE)] == [f"{DEPLOYMENT}-core"]
    assert not await operator_chart.install(client, helm, light, VALUES, Silent())
    assert await operator_chart.install(client, helm, light, {**VALUES, "operatorMode": "shared"}, Silent())
    assert await client.find(Deployment, DEPLOYMENT, NAMESPACE) is not None


@pytest.mark.usefixtures("played")
async def test_a_new_namespace_enforces_the_profile_that_the_cloud_needs(private_client: Client, helm: Helm) -> None:
    await operator_chart.install(private_client, helm, CHART, VALUES, Silent(), profile="privileged")
    places = {name: await private_client.get(Namespace, name) for name in (CLOUD, NAMESPACE)}
    enforced = {name: found.metadata.labels["pod-security.kubernetes.io/enforce"] for name, found in places.items()}
    assert enforced == {CLOUD: "privileged", NAMESPACE: "restricted"}


def namespaces(helm: Helm) -> list[str]:
    found: list[str] = json.loads(helm.must("get", "values", RELEASE, "--output=json"))["namespaces"]
    return found


@pytest.mark.usefixtures("played")
async def test_operators_have_rights_in_the_namespaces_of_clouds_and_further_ones_are_added(
    private_client: Client, helm: Helm, light: Path
) -> None:
    client = private_client
    await operator_chart.install(client, helm, light, VALUES, Silent())
    assert await client.find(Role, ROLE, CLOUD) is not None
    assert await operator_chart.install(client, helm, light, {**VALUES, "namespaces": ["second"]}, Silent())
    assert namespaces(helm) == [CLOUD, "second"]
    assert await client.find(Role, ROLE, "second") is not None
    # Whoever comes back to the first takes nothing from the second.
    assert not await operator_chart.install(client, helm, light, VALUES, Silent())
    # Nobody can have rights in a namespace that goes.
    await client.delete(Namespace, "second")
    assert await operator_chart.install(client, helm, light, VALUES, Silent())
    assert namespaces(helm) == [CLOUD]


@pytest.mark.usefixtures("played")
async def test_operators_of_all_namespaces_are_a_choice_that_stays(
    private_client: Client, helm: Helm, light: Path
) -> None:
    client = private_client
    await operator_chart.install(client, helm, light, {**VALUES, "clusterWide": True}, Silent())
    assert not await operator_chart.install(client, helm, light, {**VALUES, "namespaces": ["second"]}, Silent())
    assert await client.find(Role, ROLE, CLOUD) is None
    # The namespace of the cloud is made all the same.
    assert await client.find(Namespace, "second") is not None


async def test_a_namespace_is_opened_for_pods_that_need_it_unless_somebody_closed_it(private_client: Client) -> None:
    client = private_client

    async def profile() -> str:
        found = await client.find(Namespace, "opened")
        return found.metadata.labels[operator_chart.PROFILE] if found else ""

    await operator_chart.ensure_namespace(client, "opened", Silent())
    assert await profile() == "restricted"
    await operator_chart.ensure_namespace(client, "opened", Silent(), profile="privileged")
    assert await profile() == "privileged"
    # A cloud that needs less closes nothing: others may be there.
    await operator_chart.ensure_namespace(client, "opened", Silent())
    assert await profile() == "privileged"
    closed = {"metadata": {"name": "opened", "labels": {operator_chart.PROFILE: "baseline"}}}
    await client.apply(Namespace, closed, field_manager="somebody")
    await operator_chart.ensure_namespace(client, "opened", Silent(), profile="privileged")
    assert await profile() == "baseline"


@pytest.mark.usefixtures("played")
async def test_a_release_of_before_gets_the_namespaces_that_have_something_of_ours(
    private_client: Client, helm: Helm, light: Path
) -> None:
    client = private_client
    await operator_chart.install(client, helm, light, VALUES, Silent())
    await operator_chart.ensure_namespace(client, "inhabited", Silent())
    await client.apply(Memcached, {"metadata": {"name": "cache", "namespace": "inhabited"}, "spec": {}})
    # As a former chart was told: of namespaces nothing, so it worked on all of them.
    before = {"image": VALUES["image"]}
    helm.must(
        "upgrade",
        "--reset-values",
        "--skip-crds",
        "--values=-",
        "--set=clusterWide=true",
        RELEASE,
        light,
        given=json.dumps(before),
    )
    (latest,) = await client.list(Secret, NAMESPACE, labels=f"name={RELEASE},status=deployed")
    await client.patch(Secret, latest.metadata.name, NAMESPACE, {"data": {"release": repacked(latest, told(before))}})
    assert await operator_chart.install(client, helm, light, VALUES, Silent())
    assert namespaces(helm) == ["inhabited", CLOUD]


def told(values: dict[str, Any]) -> Callable[[dict[str, Any]], None]:
    """The change that makes a release one that helm was told these values of."""
    return lambda release: release.update(config=values)


def pending(record: Secret) -> dict[str, Any]:
    """The change that makes a release one whose upgrade never ended."""
    packed = repacked(record, lambda release: release["info"].update(status="pending-upgrade"))
    return {"metadata": {"labels": {"status": "pending-upgrade"}}, "data": {"release": packed}}


def repacked(record: Secret, change: Callable[[dict[str, Any]], None]) -> str:
    """Return helm's own record of a release, after a change."""
    release = json.loads(gzip.decompress(base64.b64decode(base64.b64decode(record.data["release"]))))
    change(release)
    return base64.b64encode(base64.b64encode(gzip.compress(json.dumps(release).encode()))).decode()


def cache(name: str, **spec: Any) -> dict[str, Any]:
    version = Memcached.kind.api_version
    return {"apiVersion": version, "kind": "Memcached", "metadata": {"name": name}, "spec": {"replicas": 1, **spec}}


@pytest.mark.usefixtures("kinds")
async def test_what_somebody_else_set_is_named_and_left(client: Client, namespace: str) -> None:
    cloud = Cloud((cache("one", cacheSize=64),), namespace)
    assert await clouds.apply(client, cloud, Silent()) == [("Memcached", "one")]
    theirs = {"metadata": {"name": "one", "namespace": namespace}, "spec": {"cacheSize": 128}}
    await client.apply(Memcached, theirs, field_manager="somebody")
    with pytest.raises(ConfigError, match=r"Memcached one: .*cacheSize was set by somebody"):
        await clouds.apply(client, cloud, Silent())


@pytest.mark.usefixtures("kinds")
async def test_an_example_gives_way_to_what_is_there(client: Client, namespace: str) -> None:
    await client.apply(Memcached, {"metadata": {"name": "mine", "namespace": namespace}, "spec": {}})
    example = Cloud((cache("example"),), namespace, example=True)
    assert await clouds.apply(client, example, Silent()) == [("Memcached", "mine")]
    assert [one.metadata.name for one in await client.list(Memcached, namespace)] == ["mine"]


@pytest.mark.usefixtures("kinds")
async def test_a_cloud_is_waited_for_until_it_is_ready_or_the_time_is_over(client: Client, namespace: str) -> None:
    wanted = await clouds.apply(client, Cloud((cache("one"),), namespace), Silent())
    condition = {"type": "Ready", "status": "False", "severity": "Info", "reason": "Waiting", "message": "for pods"}
    await tell(client, namespace, condition)
    with pytest.raises(NotReady, match=r"not ready after 1 s: .*for pods") as over:
        await clouds.wait(client, namespace, wanted, 1.0, Silent())
    assert over.value.exit_code == 3
    await tell(client, namespace, {"type": "Ready", "status": "True", "reason": "Ready"})
    await clouds.wait(client, namespace, wanted, 30.0, Silent())


async def tell(client: Client, namespace: str, condition: dict[str, str]) -> None:
    moment = {"lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"conditions": [{**condition, **moment}], "observedGeneration": 1}
    body = {"metadata": {"name": "one", "namespace": namespace}, "status": status}
    await client.apply(Memcached, body, subresource="status", field_manager="operator")
