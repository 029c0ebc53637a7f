"""Who looked at something is woken when it changes."""

from typing import Any

import pytest
import structlog

from stackwright.blueprint.generated import Reader
from stackwright.blueprint.service import Service
from stackwright.controllers.looks import Interests, forgetting
from stackwright.controllers.service import ServiceController
from stackwright.kube.builtin import ConfigMap, Node, Secret
from stackwright.kube.controller import Context, Controller
from stackwright.kube.errors import Blocked
from stackwright.kube.informer import Change
from stackwright.kube.informers import Informers
from stackwright.kube.resource import Key, ObjectMeta
from stackwright.services.keystone.service import SERVICE
from tests.unit.controllers.environments import ENVIRONMENT

READER = ConfigMap(metadata=ObjectMeta(name="reader", namespace="openstack"))
NOBODY: Any = None


def node(address: str, beat: str = "") -> Node:
    addresses = [{"type": "InternalIP", "address": address}]
    return Node(metadata=ObjectMeta(name="one"), status={"addresses": addresses, "beat": beat})


def context(*namespaces: str) -> Context:
    """Return a context with empty caches, that nobody fills."""
    informers = Informers(NOBODY, namespace=namespaces)
    informers.of(Node)
    informers.following(ConfigMap)
    return Context(NOBODY, informers, NOBODY, "test", structlog.get_logger())


def test_who_looked_at_all_cluster_wide_objects_is_woken_by_each() -> None:
    interests = Interests()
    assert interests.begin(READER, context()).all(Node) == []
    assert tuple(interests.watch(Node).to(node("192.0.2.1"))) == (READER.key,)


def test_who_looked_into_another_namespace_is_woken_by_what_comes_there() -> None:
    interests = Interests()
    look = interests.begin(READER, context("openstack", "ironic"))
    assert look(ConfigMap, "host", namespace="ironic") is None
    wakes = interests.watch(ConfigMap).to
    assert tuple(wakes(ConfigMap(metadata=ObjectMeta(name="host", namespace="ironic")))) == (READER.key,)
    assert tuple(wakes(ConfigMap(metadata=ObjectMeta(name="host", namespace="openstack")))) == ()
    # It is forgotten with the pass, as every look is.
    interests.begin(READER, context("openstack", "ironic"))
    assert tuple(wakes(ConfigMap(metadata=ObjectMeta(name="host", namespace="ironic")))) == ()


def test_a_reader_wakes_those_alone_who_miss_the_secret_that_it_reads() -> None:
    interests = Interests()
    wakes = interests.watch_readers(Reader(ConfigMap, lambda config: config.data.values()))
    first, further = (ConfigMap(metadata=READER.metadata, data={"of": name}) for name in ("keys", "others"))
    around = context("openstack")
    around.informers.following(Secret)
    look = interests.begin(READER, around)
    look(Secret, "keys")
    assert tuple(wakes.to(first)) == (), "it is there, and nobody was looked for"
    look.of_kind(ConfigMap)
    assert tuple(wakes.to(first)) == (READER.key,)
    assert tuple(wakes.to(further)) == ()


def test_only_what_reads_more_than_before_is_a_new_reader() -> None:
    counts = Reader(ConfigMap, lambda config: config.data.values()).counts
    none, one = (ConfigMap(metadata=READER.metadata, data=data) for data in ({}, {"of": "keys"}))
    assert counts(Change(None, one))
    assert counts(Change(none, one))
    assert not counts(Change(None, none))
    assert not counts(Change(one, one))
    assert not counts(Change(one, None))


@pytest.mark.parametrize(
    ("served", "namespace", "refused"),
    [
        pytest.param((), "anywhere", False, id="an-operator-of-all-namespaces-reads-each"),
        pytest.param(("openstack", "ironic"), "ironic", False, id="one-of-several"),
        pytest.param(("openstack", "ironic"), "other", True, id="none-of-several"),
        pytest.param(("openstack",), "other", True, id="another-than-the-only-one"),
    ],
)
def test_a_namespace_that_is_not_read_is_no_empty_one(
    served: tuple[str, ...], namespace: str, *, refused: bool
) -> None:
    look = Interests().begin(READER, context(*served))
    if not refused:
        assert look.all(ConfigMap, namespace=namespace) == []
        return
    message = "the operator does not read namespace other: add it to its namespaces, where a ConfigMap is looked for"
    with pytest.raises(Blocked, match=message):
        look(ConfigMap, "host", namespace=namespace)
    # What is in no namespace is read whatever is named.
    assert look(Node, "one", namespace=namespace) is None


def test_a_service_with_an_endpoint_is_woken_by_a_node_that_moves_and_not_by_its_heartbeat() -> None:
    service: Service[Any, Any] = SERVICE
    watches = ServiceController(service, ENVIRONMENT).controller().watches
    (when,) = (watch.when for watch in watches if watch.kind is Node)
    assert when is not None
    assert when(Change(node("192.0.2.1"), node("192.0.2.2")))
    assert not when(Change(node("192.0.2.1"), node("192.0.2.1", "later")))
    assert when(Change(None, node("192.0.2.1")))


async def test_what_is_gone_is_forgotten() -> None:
    interests, there = Interests(), context()
    there.informers.of(ConfigMap)
    interests.begin(READER, there)(ConfigMap, "x")
    wakes = interests.watch(ConfigMap).to
    one = ConfigMap(metadata=ObjectMeta(name="x", namespace="openstack"))

    async def reconcile(key: Key, context: Context) -> None:
        """Do nothing: what is forgotten does not depend on it."""

    assert tuple(wakes(one)) == (READER.key,)
    await forgetting(Controller("test", ConfigMap, reconcile), interests.forget).reconcile(READER.key, there)
    assert tuple(wakes(one)) == ()
    assert not interests._looked
