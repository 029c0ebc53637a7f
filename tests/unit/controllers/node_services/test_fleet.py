"""The runs of a service on the nodes of a role: who shares one, how many at once, and which go."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from stackwright.api.annotations import PAUSED
from stackwright.api.ansibleee import OpenStackAnsibleEE
from stackwright.api.dataplane import OpenStackDataPlaneNode, OpenStackDataPlaneRole
from stackwright.api.node_service import NodeServiceResource
from stackwright.blueprint.dataplane.records import is_for_node
from stackwright.blueprint.dataplane.schedule import Backoff, Due
from stackwright.blueprint.secret_values import texts_of
from stackwright.controllers.dataplane import nodes
from stackwright.controllers.dataplane.gathering import Gathering
from stackwright.controllers.looks import Interests
from stackwright.controllers.node_services import deployment
from stackwright.controllers.node_services.begun import BegunRuns
from stackwright.controllers.node_services.creation import finalizer_of
from stackwright.controllers.node_services.fleet import (
    Beginning,
    Decision,
    Fleet,
    Seen,
    candidates_of,
    decide,
    find_old,
)
from stackwright.controllers.node_services.preparation import Whole, prepare
from stackwright.kube import clock
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import JsonObject, Key, R, Resource
from tests.unit.controllers.node_services.place import (
    AROUND,
    COMPUTE,
    EVERYTHING,
    compute,
    inventory,
    made,
    node,
    role,
    seeing,
)

NOW = datetime(2026, 11, 16, 12, 0, tzinfo=UTC)
SERVICE = COMPUTE.name
PLACE = Key("openstack", "compute")


def whole(resource: NodeServiceResource) -> Whole:
    name = resource.metadata.name
    found = prepare(COMPUTE, resource, seeing(node(name, cell="nova-cell1"), inventory(name)), AROUND)
    assert isinstance(found, Whole), found
    return found


def wanting(name: str, applied: str = "", **spec: Any) -> NodeServiceResource:
    """Return a compute that is due: for the first time, or again."""
    record = {"name": SERVICE, "appliedHash": applied, "inputHash": applied, "sequence": 1 if applied else 0}
    return msgspec.structs.replace(
        compute(name=name, **spec), status=msgspec.convert({"deployment": record}, type(compute().status))
    )


def settled(name: str) -> NodeServiceResource:
    return wanting(name, whole(compute(name=name)).due.inputs)


def seen(resources: Iterable[NodeServiceResource], of: OpenStackDataPlaneRole | None = None, **further: Any) -> Seen:
    every = {each.metadata.name: each for each in resources}
    wholes = {name: whole(each) for name, each in every.items()}
    due = {
        name: found
        for name, found in wholes.items()
        if every[name].status.deployment is None or found.due.inputs != every[name].status.deployment.appliedHash  # type: ignore[union-attr]  # it has one
    }
    return Seen(of or role(), NOW, every, due, **further)


def planned(found: Seen) -> Decision:
    return decide(COMPUTE, found, candidates_of(COMPUTE, found), Backoff())


def nodes_of(decision: Decision) -> list[list[str]]:
    return [[entry.name for entry in run_of(begin).spec.nodes] for begin in decision.begins]


def run_of(begin: Beginning) -> OpenStackAnsibleEE:
    (body,) = (body for kind, body in begin.bodies() if kind is OpenStackAnsibleEE)
    return msgspec.convert(body, OpenStackAnsibleEE)


def test_nodes_with_the_same_inputs_share_a_run_and_one_with_its_own_snippet_does_not() -> None:
    own = wanting("three", customServiceConfig="[DEFAULT]\ndebug = true\n")
    # Images are variables of each host.
    image = wanting("two", novaComputeContainerImage="mine:2")
    assert nodes_of(planned(seen((wanting("one"), image, own)))) == [["one", "two"], ["three"]]


def test_a_run_has_all_its_resources_as_owners_and_the_snippet_in_a_secret_of_its_own() -> None:
    text = "[x]\npassword = hunter2hunter2\n"
    (begin,) = planned(seen(wanting(name, customServiceConfig=text) for name in ("one", "two"))).begins
    run = run_of(begin)
    assert [(owner.name, owner.controller) for owner in run.metadata.ownerReferences] == [("one", True), ("two", False)]
    names = [each.secretRef.name for each in run.spec.dataSources if each.secretRef]
    assert names[-1] == f"{run.metadata.name}-own"
    secrets = {body["metadata"]["name"]: body for kind, body in begin.bodies() if kind is Secret}
    assert texts_of(msgspec.convert(secrets[names[-1]], Secret)) == {"02-nova-override.conf": text}
    assert "hunter2" not in str([body for kind, body in begin.bodies() if kind is not Secret])
    (plain,) = planned(seen((wanting("one"),))).begins
    assert "-own" not in str([body for _, body in plain.bodies()])


THREE = [wanting(name, "old") for name in ("one", "two", "three")]


@pytest.mark.parametrize(
    ("resources", "most", "wanted"),
    [
        pytest.param(THREE, 1, [["one"]], id="one-at-once"),
        pytest.param(THREE, None, [["one", "three", "two"]], id="all"),
        pytest.param([*THREE, wanting("new")], 1, [["new", "one"]], id="new-ones-do-not-count"),
    ],
)
def test_max_unavailable_bounds_what_is_changed_at_once(
    resources: list[NodeServiceResource], most: int | None, wanted: list[list[str]]
) -> None:
    limited = made(OpenStackDataPlaneRole, "compute", spec={} if most is None else {"maxUnavailable": most})
    assert nodes_of(planned(seen(resources, limited))) == wanted


def failing(name: str) -> NodeServiceResource:
    """Return a compute on which the service failed as it is wanted now."""
    record = {"name": SERVICE, "inputHash": whole(compute(name=name)).due.inputs, "state": "Failed", "failures": 1}
    record |= {"sequence": 2, "run": "r", "finishedAt": clock.seconds(NOW)}
    return msgspec.structs.replace(
        compute(name=name), status=msgspec.convert({"deployment": record}, type(compute().status))
    )


def test_a_change_that_fails_on_the_first_computes_goes_to_no_other_until_it_succeeds_on_one() -> None:
    limited = made(OpenStackDataPlaneRole, "compute", spec={"maxUnavailable": 1})
    broken = (failing("one"), failing("two"), wanting("three", "old"))
    assert nodes_of(planned(seen(broken, limited))) == []
    assert nodes_of(planned(seen(broken[1:], limited))) == [["three"]]
    good = settled("four")
    fleet = Fleet(COMPUTE, AROUND, Interests(), Gathering(), Backoff())
    around = seeing(node("four", cell="nova-cell1"), inventory("four"))
    of_good = fleet._find_settled({"four": good, "one": broken[0]}, around)
    assert of_good["four"] == whole(good).due
    assert nodes_of(planned(seen((*broken, good), limited, settled=of_good))) == [["three"]]


def test_a_node_that_another_service_changes_counts_too() -> None:
    limited = made(OpenStackDataPlaneRole, "compute", spec={"maxUnavailable": 1})
    other = made(OpenStackAnsibleEE, "x", spec={"playbook": "a.b.c", "service": "x", "nodes": [{"name": "two"}]})
    assert nodes_of(planned(seen((wanting("one", "old"), settled("two")), limited, runs=(other,)))) == []
    assert nodes_of(planned(seen((wanting("one", "old"), settled("two")), limited))) == [["one"]]


def test_the_first_that_is_due_waits_for_others_and_not_for_longer() -> None:
    gathering = Gathering(2.0)

    def at(seconds: float, *resources: NodeServiceResource) -> Decision:
        now = NOW + timedelta(seconds=seconds)
        found = msgspec_now(seen(resources), now)
        candidates = gathering.note(PLACE, candidates_of(COMPUTE, found), now)
        return decide(COMPUTE, found, candidates, Backoff(), gathering.seconds)

    first = at(0, wanting("one"))
    assert (first.begins, first.again) == ((), 2.0)
    second = at(1.5, wanting("one"), wanting("two"))
    assert (second.begins, second.again) == ((), 0.5)
    assert nodes_of(at(2, wanting("one"), wanting("two"))) == [["one", "two"]]


def msgspec_now(found: Seen, now: datetime) -> Seen:
    return Seen(found.role, now, found.resources, found.wholes, found.runs)


def test_a_run_goes_when_no_resource_speaks_of_it_any_more() -> None:
    (begin,) = planned(seen((wanting("one"), wanting("two")))).begins
    over = {"finishedAt": "2026-11-16T11:59:00Z"}
    run = msgspec.structs.replace(run_of(begin), status=msgspec.convert(over, type(run_of(begin).status)))

    def speaking(name: str, of: str, sequence: int) -> NodeServiceResource:
        record = {"name": SERVICE, "run": of, "sequence": sequence}
        return msgspec.structs.replace(
            compute(name=name), status=msgspec.convert({"deployment": record}, type(compute().status))
        )

    def old(*resources: NodeServiceResource) -> list[OpenStackAnsibleEE]:
        return [*find_old(COMPUTE, Seen(role(), NOW, {each.metadata.name: each for each in resources}, {}, (run,)))]

    name = run.metadata.name
    assert old(speaking("one", "later", 2), speaking("two", name, 1)) == []
    assert old(speaking("one", "later", 2), speaking("two", "before", 0)) == []
    assert old(speaking("one", "later", 2), speaking("two", "later", 2)) == [run]
    # One that is gone says nothing.
    assert old(speaking("one", "later", 2)) == [run]


def finished(run: OpenStackAnsibleEE) -> OpenStackAnsibleEE:
    hosts = [{"host": entry.inventory_name, "state": "Ok"} for entry in run.spec.nodes]
    over = {"finishedAt": "2026-11-16T11:59:00Z", "hosts": hosts}
    return msgspec.structs.replace(run, status=msgspec.convert(over, type(run.status)))


def again(resource: NodeServiceResource) -> NodeServiceResource:
    """Return a resource that was deleted, and created again: its status is empty, and it has another uid."""
    metadata = msgspec.structs.replace(resource.metadata, uid="again")
    return msgspec.structs.replace(resource, metadata=metadata, status=type(resource.status)())


def test_one_that_was_deleted_and_made_again_runs_again_although_its_run_is_still_there() -> None:
    (begin,) = planned(seen((wanting("one"), wanting("two")))).begins
    # Two keeps the run that they shared.
    run, two = finished(run_of(begin)), settled("two")
    one = again(wanting("one"))
    found = seen((one, two), runs=(run,))
    after = deployment.tell(COMPUTE, one, deployment.Seen(found.wholes["one"], runs=(run,)))
    assert after.deployment is not None
    assert (after.deployment.appliedHash, after.deployment.sequence) == ("", 0)
    one = msgspec.structs.replace(one, status=after)
    (second,) = planned(seen((one, two), runs=(run,))).begins
    assert [entry.name for entry in run_of(second).spec.nodes] == ["one"]
    assert run_of(second).metadata.name != run.metadata.name
    # Only its own second run counts.
    done = deployment.tell(COMPUTE, one, deployment.Seen(found.wholes["one"], runs=(run, finished(run_of(second)))))
    assert done.deployment is not None
    assert done.deployment.appliedHash == found.wholes["one"].due.inputs


def test_a_service_of_a_role_may_be_called_like_one_of_an_operator() -> None:
    """Otherwise each would take the other's run for its own, and both would run for ever."""
    owner = {"apiVersion": "v1", "kind": "OpenStackDataPlaneRole", "name": "compute", "uid": "role", "controller": True}
    entry = {"name": "one", "inputHash": "of-the-role"}
    spec = {"playbook": "a.b.c", "service": SERVICE, "sequence": 7, "nodes": [entry]}
    hosts = [{"host": "one", "state": "Ok"}]
    theirs = msgspec.convert(
        {
            "metadata": {"name": "theirs", "ownerReferences": [owner]},
            "spec": spec,
            "status": {"finishedAt": "2026-11-16T11:59:00Z", "hosts": hosts},
        },
        OpenStackAnsibleEE,
    )
    resource = settled("one")
    alone, beside = (
        deployment.tell(COMPUTE, resource, deployment.Seen(whole(resource), runs=runs)) for runs in ((), (theirs,))
    )
    assert beside == alone
    assert planned(seen((resource,), runs=(theirs,))) == Decision()
    # It is not this one's to delete either, and holds up nothing.
    assert nodes_of(planned(seen((wanting("one"),), runs=(theirs,)))) == [["one"]]
    mine = finished(run_of(planned(seen((wanting("one"),), runs=(theirs,))).begins[0]))
    prepared = replace(whole(resource).prepared, services=(Due(SERVICE, "of-the-role", ""),))
    (record,) = nodes.tell(node("one"), nodes.Seen(prepared, (theirs, mine))).services
    assert (record.run, nodes.is_applied(record)) == ("theirs", True)


def test_a_run_that_several_computes_share_stays_theirs_when_the_first_one_goes() -> None:
    (begin,) = planned(seen((wanting("one"), wanting("two")))).begins
    shared = finished(run_of(begin))
    left = tuple(each for each in shared.metadata.ownerReferences if not each.controller)
    metadata = msgspec.structs.replace(shared.metadata, ownerReferences=left)
    assert len(left) == 1
    assert not is_for_node(msgspec.structs.replace(shared, metadata=metadata), node("two"))


RUN = msgspec.convert({"metadata": {"name": "x", "namespace": "openstack"}, "spec": {}}, OpenStackAnsibleEE)


async def test_two_roles_may_find_at_once_that_a_run_is_gone() -> None:
    begun = BegunRuns({RUN.key: frozenset({"uid"})})

    async def find(*_: Any) -> None:
        await asyncio.sleep(0)

    client: Any = SimpleNamespace(find=find)
    assert await asyncio.gather(*(begun.complete((), "openstack", client) for _ in range(2))) == [(), ()]
    assert not begun.is_awaited("uid", ())


async def test_a_run_that_is_being_created_stays_noted() -> None:
    begun, there = BegunRuns(), list[OpenStackAnsibleEE]()

    async def find(*_: Any) -> OpenStackAnsibleEE | None:
        return next(iter(there), None)

    client: Any = SimpleNamespace(find=find)
    with begun.claim(RUN.key, ("uid",)):
        assert await begun.complete((), "openstack", client) == ()
        assert begun.is_awaited("uid", ())
        assert not begun.is_awaited("other", ())
    # Nobody looks at the runs of others.
    assert await begun.complete((), "openstack", client, "other") == ()
    there.append(RUN)
    assert await begun.complete((), "openstack", client, "uid") == (RUN,)
    assert not begun.is_awaited("uid", (RUN,))
    # The cache may be asked by somebody else before it has it.
    assert begun.is_awaited("uid", ())
    assert await begun.complete((RUN,), "openstack", client) == (RUN,)
    assert not begun.is_awaited("uid", ())


async def test_runs_that_began_in_another_namespace_are_not_looked_at() -> None:
    begun = BegunRuns({Key("other", "x"): frozenset({"uid"})})
    nobody: Any = None
    assert await begun.complete((), "openstack", nobody) == ()
    assert begun.is_awaited("uid", ())


class Cluster:
    """The objects that a fleet sees, and a server that is slow: somebody acts while it creates something."""

    def __init__(self, *there: Resource, meanwhile: Callable[[], None] = lambda: None) -> None:
        self.there = {(type(each), each.key): each for each in there}
        self.meanwhile = meanwhile
        self.created: list[str] = []

    def context(self) -> Any:
        return SimpleNamespace(store=self.store, client=SimpleNamespace(apply=self.apply, find=self.find))

    def store(self, kind: type[R]) -> Any:
        def every(namespace: str | None = None) -> list[Resource]:
            return [each for (of, _), each in self.there.items() if of is kind]

        return SimpleNamespace(get=lambda key: self.there.get((kind, key)), list=every)

    def look(self, kind: type[R], name: str, *, namespace: str = "openstack") -> Any:
        return self.there.get((kind, Key(namespace, name)))

    async def apply(self, kind: type[Resource], body: JsonObject) -> Resource:
        self.meanwhile()
        self.created.append(body["metadata"]["name"])
        return msgspec.convert(body, kind)

    async def find(self, *_: Any) -> None:
        return None


def fleet_of(cluster: Cluster) -> tuple[Fleet, BegunRuns]:
    begun = BegunRuns()
    look: Any = lambda kind, name, **_: cluster.look(kind, name)  # noqa: E731  it has attributes
    look.all = lambda kind: cluster.store(kind).list()
    interests: Any = SimpleNamespace(begin=lambda *_: look)
    return Fleet(COMPUTE, AROUND, interests, Gathering(0.0), Backoff(), begun), begun


def held(resource: NodeServiceResource) -> NodeServiceResource:
    metadata = msgspec.structs.replace(resource.metadata, finalizers=(finalizer_of(COMPUTE),))
    return msgspec.structs.replace(resource, metadata=metadata)


def computes(*names: str) -> list[Resource]:
    """Return nodes with what their computes need, without the computes."""
    needed = [each for each in EVERYTHING if not isinstance(each, OpenStackDataPlaneNode)]
    return [*needed, *(each for name in names for each in (node(name, cell="nova-cell1"), inventory(name)))]


async def test_a_resource_that_is_deleted_while_its_run_is_created_is_known_to_have_begun() -> None:
    one = held(wanting("one"))
    awaited: list[bool] = []
    cluster = Cluster(*computes("one"), one, meanwhile=lambda: awaited.append(begun.is_awaited(one.metadata.uid, ())))
    fleet, begun = fleet_of(cluster)
    await fleet.reconcile(PLACE, cluster.context())
    assert cluster.created
    assert awaited
    assert all(awaited)


@pytest.mark.parametrize("is_gone", [True, False])
async def test_no_run_begins_for_a_resource_that_went_while_another_was_created(*, is_gone: bool) -> None:
    first, second = held(wanting("one")), held(wanting("two", customServiceConfig="[DEFAULT]\ndebug = true\n"))
    going = msgspec.structs.replace(second.metadata, deletionTimestamp="2026-11-16T12:00:00Z")

    def delete() -> None:
        key = (type(second), second.key)
        cluster.there.pop(key, None)
        if not is_gone:
            cluster.there[key] = msgspec.structs.replace(second, metadata=going)

    cluster = Cluster(*computes("one", "two"), first, second, meanwhile=delete)
    fleet, begun = fleet_of(cluster)
    await fleet.reconcile(PLACE, cluster.context())
    assert begun.is_awaited(first.metadata.uid, ())
    assert not begun.is_awaited(second.metadata.uid, ())
    assert not any(name.endswith("-own") for name in cluster.created)


def paused(resource: R) -> R:
    metadata = msgspec.structs.replace(resource.metadata, annotations={**resource.metadata.annotations, PAUSED: "true"})
    return msgspec.structs.replace(resource, metadata=metadata)


def unready(of: OpenStackDataPlaneNode) -> OpenStackDataPlaneNode:
    return msgspec.structs.replace(of, status=type(of.status)())


@pytest.mark.parametrize(
    ("change", "of_node"),
    [
        pytest.param(paused, True, id="its-node-is-paused"),
        pytest.param(unready, True, id="its-node-is-not-prepared"),
        pytest.param(paused, False, id="it-is-paused"),
    ],
)
async def test_a_node_that_failed_counts_while_it_waits(change: Callable[[Any], Any], *, of_node: bool) -> None:
    """Whoever pauses the nodes that a change cut off, to look at them, must not let it go on to all others."""
    limited = msgspec.structs.replace(role(), spec=msgspec.structs.replace(role().spec, maxUnavailable=1))
    broken = [held(failing("one")), held(failing("two"))]
    serving = held(wanting("three", "old"))
    assert serving.status.deployment is not None
    record = msgspec.structs.replace(serving.status.deployment, inputHash="new")
    serving = msgspec.structs.replace(serving, status=msgspec.structs.replace(serving.status, deployment=record))
    cluster = Cluster(*computes("one", "two", "three"), limited, *broken, serving)
    for name in ("one", "two"):
        key = (OpenStackDataPlaneNode if of_node else COMPUTE.kind, Key("openstack", name))
        cluster.there[key] = change(cluster.there[key])
    fleet, _ = fleet_of(cluster)
    found = await fleet._observe(limited, cluster.context())
    assert list(found.wholes) == ["three"]
    assert planned(found) == Decision()
