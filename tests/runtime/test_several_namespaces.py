"""Several namespaces: a watch in each, one store, and a namespace that the server refuses holds up no other."""

import asyncio
from collections.abc import Callable

import pytest
from structlog.testing import capture_logs

from stackwright.kube.builtin import ConfigMap, Namespace, Node, Secret
from stackwright.kube.client import Client
from stackwright.kube.controller import Context, Controller
from stackwright.kube.errors import Denied
from stackwright.kube.resource import JsonObject, Key
from stackwright.kube.runtime import Runtime
from tests.runtime.fault_server import Answer, FaultServer, Request
from tests.runtime.runtimes import SECONDS, quick, started

NAMESPACES = ("one", "two")


def named(namespace: str, name: str = "a") -> JsonObject:
    return {"metadata": {"name": name, "namespace": namespace}}


class Keys:
    """A controller that notes on what it worked."""

    def __init__(self) -> None:
        self.all: list[Key] = []
        self._more = asyncio.Condition()

    async def __call__(self, key: Key, context: Context) -> None:
        self.all.append(key)
        # Whoever works on a key sees all of its namespace.
        assert context.store(Secret).get(Key(key.namespace, "a")) is not None
        async with self._more:
            self._more.notify_all()

    async def reach(self, *keys: Key) -> None:
        async with asyncio.timeout(SECONDS), self._more:
            await self._more.wait_for(lambda: set(keys) <= set(self.all))


@pytest.fixture
def filled(server: FaultServer) -> FaultServer:
    for namespace in (*NAMESPACES, "three"):
        server.put(ConfigMap, named(namespace))
        server.put(Secret, named(namespace))
    return server


def refuse(server: FaultServer, namespace: str, plural: str = "") -> None:
    def there(request: Request) -> bool:
        return request.namespace == namespace and plural in request.path

    server.fault(Answer(403, "you may not", "Forbidden"), times=1_000_000, when=there)


def runtime(client: Client, keys: Keys, patience: float = 10.0) -> Runtime:
    controllers = (Controller(name="test", kind=ConfigMap, reconcile=keys, reads=(Secret, Node)),)
    return Runtime(client, controllers, namespace=NAMESPACES, settings=quick(patience=patience))


async def until(server: FaultServer, holds: Callable[[], object]) -> None:
    """Wait until something is so; the informers try again without a pause meanwhile."""
    async with asyncio.timeout(SECONDS):
        while not holds():
            await server.requested(len(server.requests) + 1)


async def test_each_namespace_has_a_watch_and_all_share_a_store(client: Client, filled: FaultServer) -> None:
    keys = Keys()
    whole = runtime(client, keys)
    async with started(whole):
        await keys.reach(Key("one", "a"), Key("two", "a"))
        # Nothing is asked of the whole cluster but what is in no namespace.
        places = {(request.namespace, "nodes" in request.path) for request in filled.seen("watch")}
        assert places == {("one", False), ("two", False), ("", True)}
        assert {found.key for found in whole.informers.store(Secret).list()} == {Key("one", "a"), Key("two", "a")}
        filled.put(ConfigMap, named("two", "b"))
        filled.put(Secret, named("three", "b"))
        filled.remove(Secret, "a", "one")
        await keys.reach(Key("two", "b"))
        secrets = whole.informers.store(Secret)
        await until_gone(whole, Key("one", "a"))
        assert [found.key for found in secrets.list()] == [Key("two", "a")]


async def until_gone(whole: Runtime, key: Key) -> None:
    gone = asyncio.Event()
    for informer in whole.informers.following(Secret):
        informer.subscribe(lambda change: gone.set() if change.new is None and change.resource.key == key else None)
    if whole.informers.store(Secret).get(key) is not None:
        await asyncio.wait_for(gone.wait(), SECONDS)


async def test_a_list_that_comes_again_takes_nothing_of_another_namespace_away(
    client: Client, filled: FaultServer
) -> None:
    keys = Keys()
    whole = runtime(client, keys)
    async with started(whole):
        await keys.reach(Key("one", "a"), Key("two", "a"))
        told: list[Key] = []
        for informer in whole.informers.following(Secret):
            informer.subscribe(lambda change: told.append(change.resource.key) if change.new is None else None)
        # What happened while nobody watched is not told any more: each lists its own namespace again.
        filled.remove(Secret, "a", "one", silently=True)
        filled.compact()
        filled.cut_streams()
        filled.put(Secret, named("one", "later"))
        filled.put(Secret, named("two", "later"))
        for informer in whole.informers.following(Secret):
            assert await informer.reached(str(filled.revision - 1), SECONDS)
        assert whole.informers.store(Secret).get(Key("two", "a")) is not None
        assert told == [Key("one", "a")]


async def test_of_namespaces_themselves_only_those_are_asked_for(client: Client, filled: FaultServer) -> None:
    for name in (*NAMESPACES, "three"):
        filled.put(Namespace, {"metadata": {"name": name}})
    keys = Keys()
    controllers = (Controller(name="test", kind=ConfigMap, reconcile=keys, reads=(Secret, Namespace)),)
    whole = Runtime(client, controllers, namespace=NAMESPACES, settings=quick(patience=10.0))
    async with started(whole):
        await keys.reach(Key("one", "a"), Key("two", "a"))
        asked = [one.query.get("fieldSelector") for one in filled.seen("watch") if one.path.endswith("/namespaces")]
        assert sorted(asked, key=str) == ["metadata.name=one", "metadata.name=two"]
        store = whole.informers.store(Namespace)
        assert {found.metadata.name for found in store.list()} == set(NAMESPACES)
        # A list of one that comes again takes nothing of the other away.
        filled.remove(Namespace, "one", silently=True)
        filled.compact()
        filled.cut_streams()
        filled.put(Namespace, {"metadata": {"name": "two", "labels": {"again": "yes"}}})
        for informer in whole.informers.following(Namespace):
            assert await informer.reached(str(filled.revision - 1), SECONDS)
        assert {found.metadata.name for found in store.list()} <= {"two"}


@pytest.mark.parametrize("plural", ["", "secrets"], ids=["nothing-of-it", "all-but-one-kind"])
async def test_a_refused_namespace_is_told_once_and_the_others_are_worked_on(
    client: Client, filled: FaultServer, plural: str
) -> None:
    refuse(filled, "two", plural)
    keys = Keys()
    whole = runtime(client, keys, patience=0.01)
    with capture_logs() as logs:
        async with started(whole):
            await keys.reach(Key("one", "a"))
            await until(filled, lambda: [entry for entry in logs if "is left out" in entry["event"]])
            assert whole.unready() == "", "it is ready for the namespaces that it has"
            filled.put(ConfigMap, named("two", "b"))
            filled.put(ConfigMap, named("one", "b"))
            await keys.reach(Key("one", "b"))
            # Who sees a part of what is there would make the rest anew.
            assert {key.namespace for key in keys.all} == {"one"}
            # Somebody gives it the rights: nothing has to be started again.
            filled.heal()
            await keys.reach(Key("two", "a"), Key("two", "b"))
            assert whole.informers.left_out() == {}
    (said,) = (entry for entry in logs if "is left out" in entry["event"])
    assert said["namespace"] == "two"
    assert "you may not" in said["error"]
    assert "Role" in said["advice"]


async def test_where_every_namespace_is_refused_it_is_not_ready(client: Client, filled: FaultServer) -> None:
    for namespace in NAMESPACES:
        refuse(filled, namespace)
    whole = runtime(client, Keys())
    async with started(whole):
        await until(filled, lambda: all(informer.refused for informer in whole.informers.following(ConfigMap)))
        assert "ConfigMap in one" in whole.unready()
        assert "you may not" in whole.unready()


async def test_a_namespace_that_cannot_be_reached_yet_is_waited_for(client: Client, filled: FaultServer) -> None:
    """Only who is refused is left out: a server that is slow to come back must not be taken for that."""

    def there(request: Request) -> bool:
        return request.namespace == "two"

    filled.fault(Answer(503, "not yet", "ServiceUnavailable"), times=1_000_000, when=there)
    keys = Keys()
    whole = runtime(client, keys)
    async with started(whole):
        await until(filled, lambda: all(informer.trouble for informer in whole.informers.following(ConfigMap)[1:]))
        assert "ConfigMap in two" in whole.unready()
        assert keys.all == []
        filled.heal()
        await keys.reach(Key("one", "a"), Key("two", "a"))


async def test_a_single_namespace_that_is_refused_is_waited_for(client: Client, filled: FaultServer) -> None:
    refuse(filled, "one")
    with pytest.raises(Denied):
        await client.get(Secret, "a", "one")
    keys = Keys()
    controllers = (Controller(name="test", kind=ConfigMap, reconcile=keys, reads=(Secret,)),)
    whole = Runtime(client, controllers, namespace=("one",), settings=quick())
    async with started(whole):
        await until(filled, lambda: whole.informers.of(ConfigMap).trouble)
        assert "you may not" in whole.unready()
        filled.heal()
        await keys.reach(Key("one", "a"))
