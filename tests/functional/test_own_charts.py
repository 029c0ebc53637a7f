"""A chart of the user's own in place of ours, in the service's resource."""

import asyncio
import base64
import contextlib
import http.client
import json
import os
import shutil
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.kube import conditions
from stackwright.kube.builtin import ConfigMap, PersistentVolumeClaim, Secret, Service, StatefulSet
from stackwright.kube.client import Client
from stackwright.kube.errors import Invalid
from stackwright.local.apiserver.server import Shared
from stackwright.services.memcached.kinds import Memcached
from stackwright.services.memcached.service import SERVICE
from tests.fakes import registry
from tests.functional.cloud import ROOT, cloud, environment
from tests.functional.commands import command
from tests.functional.definitions import defined
from tests.functional.packing import packed
from tests.functional.releases import Hand
from tests.functional.watching import eventually

MINE = {"chart": {"configMap": {"name": "mine"}}}
RBAC = "apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata: {name: %s}\n"
NOTE = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}-note"}\ndata: {says: "%s"}\n'


@dataclass(frozen=True)
class Place:
    """A namespace with an operator, and a chart of the user's own that tests change."""

    client: Client
    namespace: str
    helm: Path
    chart: Path

    async def ask(self, **spec: Any) -> None:
        metadata = {"name": "memcached", "namespace": self.namespace}
        await self.client.apply(Memcached, {"metadata": metadata, "spec": spec}, field_manager="user")

    async def keep(self, **templates: str) -> bytes:
        """Put the chart, with further templates, into the ConfigMap `mine`."""
        for name, text in templates.items():
            (self.chart / "templates" / f"{name}.yaml").write_text(text)
        package = await packed(self.helm, self.chart)
        body = {
            "metadata": {"name": "mine", "namespace": self.namespace},
            "binaryData": {"chart.tgz": base64.b64encode(package).decode()},
        }
        await self.client.apply(ConfigMap, body, field_manager="user")
        return package

    async def until(self, holds: Callable[[Memcached], object]) -> Memcached:
        return await eventually(self.client, Memcached, "memcached", self.namespace, holds)

    async def said(self, text: str) -> str:
        """Return the sentence of the resource as soon as a text is in it."""
        return message(await self.until(lambda seen: text in message(seen)))


def message(seen: Memcached) -> str:
    ready = conditions.find(seen.status.conditions, conditions.READY)
    return ready.message if ready is not None else ""


def is_ready(seen: Memcached) -> bool:
    return conditions.is_true(seen.status.conditions)


@pytest.fixture
async def place(client: Client, namespace: str, kubernetes: dict[str, Path], tmp_path: Path) -> AsyncIterator[Place]:
    await defined(client)
    chart = Path(shutil.copytree(ROOT / "charts" / "memcached", tmp_path / "memcached"))
    metadata = yaml.safe_load((chart / "Chart.yaml").read_text())
    (chart / "Chart.yaml").write_text(yaml.safe_dump({**metadata, "version": "9.8.7"}))
    found = Place(client, namespace, kubernetes["helm"], chart)
    async with cloud(client, namespace, (SERVICE,), environment(kubernetes)):
        yield found


async def test_a_chart_in_a_config_map_is_waited_for_used_and_followed(
    place: Place, apiserver: Shared, tmp_path: Path
) -> None:
    await place.ask(**MINE)
    await place.said("ConfigMap mine, which spec.chart.configMap names, does not exist")
    await place.client.apply(ConfigMap, {"metadata": {"name": "mine", "namespace": place.namespace}})
    await place.said("ConfigMap mine has no chart.tgz in its binaryData")
    await place.keep(note=NOTE % "one")
    ready = await place.until(is_ready)
    assert ready.status.chart == "ConfigMap mine"
    hand = Hand(place.helm, apiserver.kubeconfig, tmp_path, place.namespace)
    (listed,) = await hand.json("list")
    assert listed["chart"] == "memcached-9.8.7"
    shown = await command(apiserver.kubeconfig, place.namespace, "status")
    assert "chart of ConfigMap mine" in shown.stdout

    # A changed chart rolls only what differs.
    before = await place.client.get(StatefulSet, "memcached", place.namespace)
    await place.keep(note=NOTE % "two")
    await eventually(
        place.client, ConfigMap, "memcached-note", place.namespace, lambda seen: seen.data["says"] == "two"
    )
    after = await place.client.get(StatefulSet, "memcached", place.namespace)
    assert (after.metadata.uid, after.metadata.generation) == (before.metadata.uid, before.metadata.generation)

    # Back to ours: what only theirs had goes.
    await place.ask()
    await place.until(lambda seen: is_ready(seen) and not seen.status.chart)
    assert await place.client.find(ConfigMap, "memcached-note", place.namespace) is None


@pytest.mark.parametrize(
    ("template", "said"),
    [
        pytest.param(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: all}\n",
            "ClusterRole all of rbac.authorization.k8s.io/v1, which the operator does not apply",
            id="a-kind-that-is-not-in-a-namespace",
        ),
        pytest.param(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: kube-system}\n",
            "ConfigMap a for namespace kube-system",
            id="another-namespace",
        ),
        pytest.param(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: theirs}\n",
            "ConfigMap theirs, which is of release other; give it another name",
            id="an-object-of-another-release",
        ),
        pytest.param(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: mine}\n",
            "ConfigMap mine, which is of somebody else",
            id="an-object-of-nobody",
        ),
        pytest.param(
            RBAC % ("Role", "all") + "rules: [{apiGroups: [''], resources: [secrets], verbs: [get]}]\n",
            "Role all, which allows get of secrets; the service's own chart does not",
            id="rights-that-ours-does-not-have",
        ),
        pytest.param(
            RBAC % ("RoleBinding", "me")
            + "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: admin}\n"
            + "subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: mallory}]\n",
            "RoleBinding me of ClusterRole admin; it may bind only Roles of the chart itself; RoleBinding me for User "
            "mallory; it may bind only to ServiceAccounts of the chart itself",
            id="rights-for-a-user",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Secret\ntype: kubernetes.io/service-account-token\n"
            "metadata: {name: token, annotations: {kubernetes.io/service-account.name: default}}\n",
            "Secret token with the token of ServiceAccount default",
            id="the-token-of-another-account",
        ),
        pytest.param(
            "apiVersion: batch/v1\nkind: Job\nmetadata: {name: steal}\nspec: {template: {spec: {restartPolicy: Never, "
            "hostPID: true, serviceAccountName: operator, containers: [{name: a, image: a}]}}}\n",
            "Job steal with pods of ServiceAccount operator, which is not of the chart itself; Job steal with pods "
            "that use hostPID",
            id="pods-with-more-than-ours",
        ),
        pytest.param(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: catcher}\n"
            "spec: {selector: {matchLabels: {app.kubernetes.io/instance: keystone}}, template: {metadata: {labels: "
            "{app.kubernetes.io/instance: keystone}}, spec: {containers: [{name: a, image: a}]}}}\n",
            "Deployment catcher with the label app.kubernetes.io/instance: keystone, by which it passes for another's",
            id="pods-that-pass-for-those-of-another-service",
        ),
        pytest.param(
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: kept}\nspec: {selector: {matchLabels: {a: b}}, "
            "template: {metadata: {labels: {a: b}}}, volumeClaimTemplates: [{metadata: {name: data}}]}\n",
            "StatefulSet kept with the volume data-kept-0, which is of release other; give it another name",
            id="the-data-of-another-release",
        ),
        pytest.param(
            "{{ range untilStep 0 100000000 1 }}{{ end }}",
            "chart memcached takes more than 160 MiB of memory to render",
            id="one-that-counts-to-100-million",
        ),
        pytest.param("a: [b", "YAML parse error on memcached/templates/bad.yaml", id="no-yaml"),
        pytest.param('{{ required "image2 is needed" .Values.image2 }}', "image2 is needed", id="another-value"),
    ],
)
async def test_what_a_chart_may_not_is_refused_as_a_whole(place: Place, template: str, said: str) -> None:
    metadata = {
        "name": "theirs",
        "namespace": place.namespace,
        "annotations": {"meta.helm.sh/release-name": "other"},
    }
    await place.client.apply(ConfigMap, {"metadata": metadata}, field_manager="helm")
    volume = {
        "metadata": {
            "name": "data-kept-0",
            "namespace": place.namespace,
            "labels": {"app.kubernetes.io/instance": "other"},
        },
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    await place.client.apply(PersistentVolumeClaim, volume, field_manager="user")
    await place.keep(bad=template)
    await place.ask(**MINE)
    sentence = await place.said(said)
    assert "kube-root-ca" not in sentence
    assert await place.client.list(StatefulSet, place.namespace) == []
    # Mended, it heals by itself.
    await place.keep(bad="")
    await place.until(is_ready)


async def test_a_chart_without_end_is_given_up_with_its_resource(place: Place) -> None:
    await place.keep(bad="{{ range $a := until 30000 }}{{ range until 30000 }}{{ end }}{{ end }}")
    await place.ask(**MINE)
    while not rendering():
        await asyncio.sleep(0.02)
    await place.client.delete(Memcached, "memcached", place.namespace)
    async with asyncio.timeout(8):  # It may take 10 s of the processor's time, and looks each second.
        while rendering():
            await asyncio.sleep(0.02)


def rendering() -> list[str]:
    """Return the helms that this process has started."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and b"template" in (folder / "cmdline").read_bytes().split(b"\0"):
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                found += [folder.name] if parent == str(os.getpid()) else []
    return found


async def test_the_charts_schema_is_checked_by_helm(place: Place) -> None:
    schema = place.chart / "values.schema.json"
    schema.write_text('{"properties": {"image": {"pattern": "^elsewhere/"}}}')
    await place.keep()
    await place.ask(**MINE)
    sentence = await place.said("values don't meet the specifications of the schema")
    assert "/image" in sentence


async def test_bytes_that_are_no_chart_are_named(place: Place) -> None:
    metadata = {"name": "mine", "namespace": place.namespace}
    binary = {"chart.tgz": base64.b64encode(b"nonsense").decode()}
    await place.client.apply(ConfigMap, {"metadata": metadata, "binaryData": binary}, field_manager="user")
    await place.ask(**MINE)
    await place.said("spec.chart: ConfigMap mine: the package is not a chart")


async def test_a_chart_from_a_registry_is_pulled_by_its_digest(place: Place) -> None:
    package = await place.keep()
    with registry.running() as host:
        digest = told(host, f"charts/{registry.PRIVATE}memcached", package)
        reference = f"oci://{host}/{registry.PRIVATE}memcached@{digest}"
        told(host, "down/yes")
        chart = {"oci": reference, "plainHTTP": True, "pullSecret": "login"}
        await place.ask(chart=chart)
        await place.said("Secret login, which spec.chart.pullSecret names, does not exist")
        await put_login(place, host, "wrong")
        await place.said(f"{host} does not deliver {reference}")
        told(host, "down/no")
        await place.said("name a Secret with a login in pullSecret")
        await put_login(place, host, registry.PASSWORD)
        ready = await place.until(is_ready)
        assert ready.status.chart == reference
    # What was pulled is there although the registry is away.
    await place.ask(chart=chart, replicas=2)
    await eventually(place.client, StatefulSet, "memcached", place.namespace, lambda seen: seen.spec["replicas"] == 2)
    assert await place.client.find(Service, "memcached", place.namespace) is not None


def told(host: str, path: str, body: bytes = b"") -> str:
    connection = http.client.HTTPConnection(host)
    connection.request("PUT", f"/fake/{path}", body)
    try:
        return connection.getresponse().read().decode()
    finally:
        connection.close()


async def put_login(place: Place, host: str, password: str) -> None:
    login = base64.b64encode(f"{registry.USER}:{password}".encode()).decode()
    body = {
        "metadata": {"name": "login", "namespace": place.namespace},
        "type": "kubernetes.io/dockerconfigjson",
        "stringData": {".dockerconfigjson": json.dumps({"auths": {host: {"auth": login}}})},
    }
    await place.client.apply(Secret, body, field_manager="user")


@pytest.mark.parametrize(
    ("chart", "said"),
    [
        pytest.param({}, "one of oci and configMap", id="neither"),
        pytest.param({"oci": f"oci://a/b@sha256:{'0' * 64}", "configMap": {"name": "a"}}, "and not both", id="both"),
        pytest.param({"oci": "oci://a.example/b:1.0"}, "by its digest", id="a-tag-is-not-enough"),
        pytest.param({"oci": f"a.example/b@sha256:{'0' * 64}"}, "by its digest", id="without-oci"),
        pytest.param({"configMap": {"name": "a"}, "plainHTTP": True}, "they go with oci", id="http-of-a-config-map"),
    ],
)
async def test_a_source_that_is_none_is_refused_by_the_server(
    client: Client, namespace: str, chart: Any, said: str
) -> None:
    await defined(client, [Memcached])
    body = {"metadata": {"name": "memcached", "namespace": namespace}, "spec": {"chart": chart}}
    with pytest.raises(Invalid, match=said):
        await client.apply(Memcached, body, field_manager="user")
