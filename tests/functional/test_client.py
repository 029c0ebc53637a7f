"""The client against the real API server: what only that can prove."""

import asyncio
from contextlib import aclosing
from typing import ClassVar

import pytest

from stackwright.kube import discovery, pods
from stackwright.kube.builtin import ConfigMap, CustomResourceDefinition, Deployment, Namespace, Pod, Secret
from stackwright.kube.client import Client, Conflicts, FieldConflict
from stackwright.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Invalid,
    KindNotInstalled,
    NotFound,
    TypedPatchRefused,
)
from stackwright.kube.resource import JsonObject, Kind, ObjectMeta, Resource


class Widget(Resource, frozen=True, kw_only=True):
    """A kind that no server has."""

    kind: ClassVar[Kind] = Kind("client.example.org", "v1", "Widget", "widgets")


class NameOnly(Resource, frozen=True, kw_only=True):
    """A Secret of which only the metadata is decoded."""

    kind: ClassVar[Kind] = Secret.kind


def config_map(namespace: str, name: str = "a", **data: str) -> JsonObject:
    return {"metadata": {"name": name, "namespace": namespace}, "data": data}


def deployment(namespace: str, replicas: int | None = 1) -> JsonObject:
    spec: JsonObject = {
        "selector": {"matchLabels": {"app": "a"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "main", "image": "example.org/a"}]},
        },
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {"metadata": {"name": "a", "namespace": namespace}, "spec": spec}


# Reading and writing.


async def test_objects_are_created_read_and_deleted(client: Client, namespace: str) -> None:
    made = await client.create(
        ConfigMap, ConfigMap(metadata=ObjectMeta(name="a", namespace=namespace), data={"b": "c"})
    )
    assert made.metadata.uid
    assert await client.get(ConfigMap, "a", namespace) == made
    with pytest.raises(AlreadyExists, match='configmaps "a" already exists'):
        await client.create(ConfigMap, config_map(namespace))
    assert await client.delete(ConfigMap, "a", namespace) is True
    assert await client.delete(ConfigMap, "a", namespace) is False
    assert await client.find(ConfigMap, "a", namespace) is None
    with pytest.raises(NotFound, match='configmaps "a" not found'):
        await client.get(ConfigMap, "a", namespace)


async def test_a_namespace_that_is_not_there_is_not_found(client: Client) -> None:
    with pytest.raises(NotFound, match='namespaces "never-made" not found'):
        await client.create(ConfigMap, config_map("never-made"))


async def test_a_name_can_be_left_to_the_server(client: Client, namespace: str) -> None:
    made = await client.create(ConfigMap, {"metadata": {"generateName": "some-", "namespace": namespace}})
    assert made.metadata.name.startswith("some-")


async def test_only_metadata_is_decoded_where_that_is_enough(client: Client, namespace: str) -> None:
    await client.create(Secret, {"metadata": {"name": "a", "namespace": namespace}, "stringData": {"b": "c"}})
    assert (await client.get(NameOnly, "a", namespace)).metadata.name == "a"


async def test_an_apply_keeps_what_others_wrote(client: Client, namespace: str) -> None:
    await client.apply(ConfigMap, config_map(namespace, a="1"), field_manager="one")
    both = await client.apply(ConfigMap, config_map(namespace, b="2"), field_manager="two")
    assert both.data == {"a": "1", "b": "2"}
    # What a manager no longer applies goes.
    assert (await client.apply(ConfigMap, config_map(namespace), field_manager="one")).data == {"b": "2"}


async def test_a_forced_apply_takes_the_field(client: Client, namespace: str) -> None:
    await client.apply(Deployment, deployment(namespace, 1), field_manager="one")
    taken = await client.apply(Deployment, deployment(namespace, 2), field_manager="two")
    assert taken.spec["replicas"] == 2


async def test_an_unforced_apply_gives_the_conflicts_as_a_value(client: Client, namespace: str) -> None:
    await client.apply(Deployment, deployment(namespace, 3), field_manager='the "other" one')
    tried = await client.try_apply(Deployment, deployment(namespace, 1))
    assert isinstance(tried, Conflicts)
    assert tried.fields == (FieldConflict(".spec.replicas", 'the "other" one'),)
    assert "conflict" in tried.message
    assert (await client.get(Deployment, "a", namespace)).spec["replicas"] == 3
    # Without the field that is theirs, the rest is ours too.
    assert isinstance(await client.try_apply(Deployment, deployment(namespace, None)), Deployment)


async def test_other_conflicts_of_an_apply_are_raised(client: Client, namespace: str) -> None:
    await client.apply(ConfigMap, config_map(namespace))
    stale = config_map(namespace, a="1")
    stale["metadata"]["resourceVersion"] = "1"
    with pytest.raises(Conflict, match="the object has been modified"):
        await client.try_apply(ConfigMap, stale)


async def test_a_dry_run_changes_nothing(client: Client, namespace: str) -> None:
    await client.apply(ConfigMap, config_map(namespace, a="1"))
    assert (await client.apply(ConfigMap, config_map(namespace, a="2"), dry_run=True)).data == {"a": "2"}
    assert (await client.get(ConfigMap, "a", namespace)).data == {"a": "1"}


async def test_the_status_is_applied_apart(client: Client, namespace: str) -> None:
    await client.apply(Deployment, deployment(namespace))
    status: JsonObject = {"metadata": {"name": "a", "namespace": namespace}, "status": {"replicas": 7}}
    applied = await client.apply(Deployment, status, subresource="status", field_manager="status")
    assert applied.status["replicas"] == 7
    assert applied.spec["replicas"] == 1


async def test_objects_are_patched(client: Client, namespace: str) -> None:
    await client.create(ConfigMap, config_map(namespace, a="1", b="2"))
    assert (await client.patch(ConfigMap, "a", namespace, {"data": {"a": None}})).data == {"b": "2"}
    added: JsonObject = {"op": "add", "path": "/data/c", "value": "3"}
    assert (await client.patch(ConfigMap, "a", namespace, [added])).data == {"b": "2", "c": "3"}
    failing: JsonObject = {"op": "test", "path": "/data/c", "value": "4"}
    with pytest.raises(Invalid):
        await client.patch(ConfigMap, "a", namespace, [failing])


async def test_an_object_that_is_refused_says_which_fields(client: Client, namespace: str) -> None:
    wrong = deployment(namespace, -1)
    wrong["spec"]["template"]["metadata"]["labels"] = {"app": "b"}
    with pytest.raises(Invalid) as caught:
        await client.create(Deployment, wrong)
    assert {cause.field for cause in caught.value.causes} == {"spec.replicas", "spec.template.metadata.labels"}


async def test_an_apply_that_does_not_fit_the_schema_is_told_apart(client: Client, namespace: str) -> None:
    body: JsonObject = {**config_map(namespace), "nonsense": {"a": 1}}
    with pytest.raises(TypedPatchRefused, match="failed to create typed patch object"):
        await client.apply(ConfigMap, body)


async def test_a_deletion_can_be_bound_to_one_object(client: Client, namespace: str) -> None:
    made = await client.create(ConfigMap, config_map(namespace))
    with pytest.raises(Conflict, match="the UID in the precondition"):
        await client.delete(ConfigMap, "a", namespace, uid="another")
    with pytest.raises(Conflict, match="the ResourceVersion in the precondition"):
        await client.delete(ConfigMap, "a", namespace, resource_version="1")
    version = made.metadata.resourceVersion
    assert await client.delete(ConfigMap, "a", namespace, uid=made.metadata.uid, resource_version=version)


async def test_a_deletion_waits_for_finalizers(client: Client, namespace: str) -> None:
    body = config_map(namespace)
    body["metadata"]["finalizers"] = ["example.org/wait"]
    await client.create(ConfigMap, body)
    assert await client.delete(ConfigMap, "a", namespace)
    assert (await client.get(ConfigMap, "a", namespace)).deleting
    await client.patch(ConfigMap, "a", namespace, {"metadata": {"finalizers": None}})
    assert await client.find(ConfigMap, "a", namespace) is None


# Lists and watches.


async def test_a_list_comes_in_pages(client: Client, namespace: str) -> None:
    await asyncio.gather(*(client.create(ConfigMap, config_map(namespace, f"a{number:02}")) for number in range(25)))
    fields = "metadata.name!=kube-root-ca.crt"
    pages = [page async for page in client.pages(ConfigMap, namespace, fields=fields, page=10)]
    assert [len(page.items) for page in pages] == [10, 10, 5]
    assert len({page.resource_version for page in pages}) == 1
    assert len(await client.list(ConfigMap, namespace, fields=fields, page=7)) == 25


async def test_lists_are_selected_by_labels_and_namespace(client: Client, namespace: str) -> None:
    for name, colour in (("a", "red"), ("b", "blue")):
        body = config_map(namespace, name)
        body["metadata"]["labels"] = {"colour": colour, "test": namespace}
        await client.create(ConfigMap, body)
    assert [found.key.name for found in await client.list(ConfigMap, namespace, labels="colour in (blue,green)")] == [
        "b"
    ]
    assert len(await client.list(ConfigMap, labels=f"test={namespace}")) == 2


async def test_a_watch_begins_with_all_objects(client: Client, namespace: str) -> None:
    made = await client.create(Secret, {"metadata": {"name": "a", "namespace": namespace}})
    async with aclosing(client.watch(Secret, namespace, initial=True)) as events:
        first = await anext(events)
        assert (first.type, first.object) == ("ADDED", made)
        bookmark = await anext(events)
        assert (bookmark.type, bookmark.initial_events_end) == ("BOOKMARK", True)
        assert int(bookmark.object.metadata.resourceVersion) >= int(made.metadata.resourceVersion)
        await client.patch(Secret, "a", namespace, {"stringData": {"b": "c"}})
        await client.delete(Secret, "a", namespace)
        changed, deleted = await anext(events), await anext(events)
        assert (changed.type, changed.object.data) == ("MODIFIED", {"b": "Yw=="})
        assert deleted.type == "DELETED"
        assert int(deleted.object.metadata.resourceVersion) > int(changed.object.metadata.resourceVersion)


async def test_a_watch_goes_on_from_a_version(client: Client, namespace: str) -> None:
    made = await client.create(Secret, {"metadata": {"name": "a", "namespace": namespace}})
    await client.create(Secret, {"metadata": {"name": "b", "namespace": namespace}})
    events = client.watch(Secret, namespace, resource_version=made.metadata.resourceVersion)
    async with asyncio.timeout(120), aclosing(events):
        assert (await anext(events)).object.key.name == "b"
        await client.create(Secret, {"metadata": {"name": "c", "namespace": namespace}})
        assert (await anext(events)).object.key.name == "c"


# Kinds.


async def test_a_kind_that_is_not_installed_is_one_sentence(client: Client, namespace: str) -> None:
    sentence = (
        "The server does not know Widget of client.example.org/v1; "
        r"install the CustomResourceDefinition widgets\.client\.example\.org\."
    )
    body: JsonObject = {"metadata": {"name": "a", "namespace": namespace}}
    with pytest.raises(KindNotInstalled, match=sentence):
        await client.get(Widget, "a", namespace)
    with pytest.raises(KindNotInstalled, match=sentence):
        await client.list(Widget)
    with pytest.raises(KindNotInstalled, match=sentence):
        await anext(client.watch(Widget))
    with pytest.raises(KindNotInstalled, match=sentence):
        await client.apply(Widget, body)
    with pytest.raises(KindNotInstalled, match=sentence):
        await client.create(Widget, body)
    with pytest.raises(KindNotInstalled, match=sentence):
        await client.delete(Widget, "a", namespace)


async def test_a_kind_of_a_group_that_is_there_is_told_apart_too(client: Client, namespace: str) -> None:
    class Unknown(Resource, frozen=True, kw_only=True):
        kind: ClassVar[Kind] = Kind("apps", "v1", "Unknown", "unknowns")

    with pytest.raises(KindNotInstalled, match="does not know Unknown of apps/v1"):
        await client.get(Unknown, "a", namespace)


async def test_kinds_are_asked_of_the_server(client: Client) -> None:
    assert await discovery.kind_of(client, "apps/v1", "Deployment") == Deployment.kind
    assert await discovery.kind_of(client, "v1", "Namespace") == Namespace.kind
    with pytest.raises(KindNotInstalled, match=r"does not know Widget of client\.example.org/v1"):
        await discovery.kind_of(client, "client.example.org/v1", "Widget")
    with pytest.raises(KindNotInstalled, match="does not know Deploymnet of apps/v1"):
        await discovery.kind_of(client, "apps/v1", "Deploymnet")


async def test_everything_that_the_server_has_is_listed(client: Client) -> None:
    found = {resource.kind: resource for resource in await discovery.resources(client)}
    assert "po" in found[Pod.kind].short_names
    assert {"log", "exec", "status"} <= set(found[Pod.kind].subresources)
    assert {"get", "list", "watch"} <= set(found[Deployment.kind].verbs)
    assert not found[Namespace.kind].kind.namespaced


async def test_a_kind_that_is_installed_later_is_found(client: Client, namespace: str) -> None:
    group = f"{namespace}.example.org"
    with pytest.raises(KindNotInstalled):
        await discovery.kind_of(client, f"{group}/v1", "Late")
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"plural": "lates", "singular": "late", "kind": "Late", "listKind": "LateList"}
    name = f"lates.{group}"
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    await client.apply(CustomResourceDefinition, {"metadata": {"name": name}, "spec": spec})
    try:
        kind = await _found(client, f"{group}/v1", "Late")
        assert kind == Kind(group, "v1", "Late", "lates")
        late = discovery.type_of(kind)
        made = await client.apply(late, {"metadata": {"name": "a", "namespace": namespace}})
        assert [found.metadata.uid for found in await client.list(late, namespace)] == [made.metadata.uid]
    finally:
        await client.delete(CustomResourceDefinition, name)


async def _found(client: Client, api_version: str, kind: str) -> Kind:
    async with asyncio.timeout(120):
        while True:
            try:
                return await discovery.kind_of(client, api_version, kind)
            except KindNotInstalled:
                await asyncio.sleep(0.1)


# Pods.


async def test_pods_without_a_kubelet_have_no_logs(client: Client, namespace: str) -> None:
    """There is no kubelet here: what can be seen is that the requests are understood and refused for that."""
    with pytest.raises(NotFound, match='pods "a" not found'):
        await anext(pods.logs(client, "a", namespace))
    with pytest.raises(NotFound, match='pods "a" not found'):
        await pods.execute(client, "a", namespace, ["true"])
    spec = {"containers": [{"name": "main", "image": "example.org/a"}]}
    await client.create(Pod, {"metadata": {"name": "a", "namespace": namespace}, "spec": spec})
    assert [piece async for piece in pods.logs(client, "a", namespace)] == []
    with pytest.raises(ApiError) as caught:
        await pods.execute(client, "a", namespace, ["true"])
    assert caught.value.code >= 400
