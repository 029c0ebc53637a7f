"""Children whose first wish the server does not accept."""

from typing import ClassVar

import pytest

from stackwright.kube.builtin import Deployment, Service
from stackwright.kube.client import Client
from stackwright.kube.controller import Context
from stackwright.kube.errors import Retry
from stackwright.kube.resource import CompositeStatus, CustomResource, Key, Kind
from stackwright.kube.shapes.child import Child
from stackwright.kube.shapes.children import Children
from stackwright.kube.shapes.outcome import Outcome
from tests.runtime.controlling import Runs, controller, quiet, running
from tests.runtime.fault_server import Answer, FaultServer

__all__ = ["quiet"]

PLAIN = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}]}}
ASKED = {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 1, "nodePort": 30500}]}}
TAKEN = Answer(422, "spec.ports[0].nodePort: provided port is already allocated", "Invalid")


class Parent(CustomResource, frozen=True, kw_only=True):
    """A kind that is nobody's."""

    kind: ClassVar[Kind] = Kind("children.example.org", "v1", "Parent", "parents")

    status: CompositeStatus = CompositeStatus()


@pytest.mark.parametrize(
    ("refusals", "child", "ports"),
    [
        pytest.param(0, Child(Service, ASKED, otherwise=PLAIN), [{"port": 1, "nodePort": 30500}], id="accepted"),
        pytest.param(1, Child(Service, ASKED, otherwise=PLAIN), [{"port": 1, "nodePort": 30500}], id="given-back-late"),
        pytest.param(2, Child(Service, ASKED, otherwise=PLAIN), [{"port": 1}], id="refused"),
        pytest.param(3, Child(Service, ASKED, otherwise=PLAIN), None, id="refused-in-both-ways"),
        pytest.param(1, Child(Service, ASKED), None, id="without-another-way"),
    ],
)
async def test_what_is_refused_is_applied_in_its_other_way(
    server: FaultServer, client: Client, refusals: int, child: Child, ports: object
) -> None:
    children, found = Children((Service,)), []

    async def keep(key: Key, context: Context) -> None:
        parent = context.store(Parent).get(key)
        assert parent is not None
        found.append(await children.keep(parent, (child,), context, prune=True))

    server.put(Parent, {"metadata": {"name": "p", "namespace": "one"}})
    if refusals:
        server.fault(TAKEN, on="apply", times=refusals)
    runs = Runs(keep)
    async with running(client, controller(runs, kind=Parent, owns=(Service,))):
        await runs.reach("p")
    outcome: Outcome = found[0]
    made = server.object(Service, "s", "one")
    if ports is None:
        (error,) = outcome.failed.values()
        assert isinstance(error, Retry)
        assert error.reason == "Invalid"
        return
    assert not outcome.failed
    assert made is not None
    assert made["spec"]["ports"] == ports
    assert made["metadata"]["ownerReferences"][0]["name"] == "p"


def workload(name: str, image: str = "one") -> Child:
    """A Deployment as a parent asks for it."""
    pod = {"containers": [{"name": "main", "image": image}]}
    return Child(Deployment, {"metadata": {"name": name}, "spec": {"replicas": 1, "template": {"spec": pod}}})


@pytest.mark.parametrize(
    ("image", "staying"),
    [
        pytest.param("one", [], id="an-apply-that-changes-nothing"),
        pytest.param("two", ["worker"], id="a-change"),
    ],
)
async def test_what_leaves_waits_for_what_an_apply_changes(
    server: FaultServer, client: Client, image: str, staying: list[str]
) -> None:
    """An operator that was started again applies what others wrote to as well, which mostly changes nothing."""
    asked, found = [workload("api"), workload("worker")], list[Outcome]()

    async def keep(key: Key, context: Context) -> None:
        parent = context.store(Parent).get(key)
        assert parent is not None
        # The next one knows nothing of what this one did.
        found.append(await Children((Deployment,)).keep(parent, asked, context, prune=True, hurried=lambda _: False))

    server.put(Parent, {"metadata": {"name": "p", "namespace": "one"}})
    runs = Runs(keep)
    async with running(client, controller(runs, kind=Parent, owns=(Deployment,))):
        await runs.reach("p")
        await server.requested(2, verb="apply")
        for name in ("worker", "api"):
            made = server.object(Deployment, name, "one")
            assert made is not None
            status = {"observedGeneration": made["metadata"]["generation"], "replicas": 1, "updatedReplicas": 1}
            restarted = {"manager": "kubectl", "operation": "Update", "fieldsType": "FieldsV1"}
            made = {**made, "metadata": {**made["metadata"], "managedFields": [restarted]}, "status": status}
            server.put(Deployment, made, silently=True)
    asked[:] = [workload("api", image)]
    found.clear()
    runs = Runs(keep)
    async with running(client, controller(runs, kind=Parent, owns=(Deployment,))):
        await runs.reach("p")
    assert not found[0].failed
    assert [resource.metadata.name for resource in found[0].staying] == staying


@pytest.mark.parametrize("comes_up", [True, False])
async def test_clients_are_led_to_what_is_new_when_that_has_come_up(
    server: FaultServer, client: Client, comes_up: bool
) -> None:
    def labelled(name: str) -> Child:
        body = workload(name).body
        template = {**body["spec"]["template"], "metadata": {"labels": {"app": name}}}
        return Child(Deployment, {**body, "spec": {**body["spec"], "template": template}})

    def leading(name: str) -> Child:
        return Child(Service, {"metadata": {"name": "s"}, "spec": {"ports": [{"port": 1}], "selector": {"app": name}}})

    children, asked, found = Children((Deployment, Service)), [labelled("old"), leading("old")], list[Outcome]()
    said = set[str]()

    async def keep(key: Key, context: Context) -> None:
        parent = context.store(Parent).get(key)
        assert parent is not None
        found.append(await children.keep(parent, asked, context, prune=True, hurried=lambda _: False))
        said.update(finding.reason for finding in found[-1].findings(context))

    def leads_to() -> str:
        made = server.object(Service, "s", "one")
        assert made is not None
        return str(made["spec"]["selector"]["app"])

    server.put(Parent, {"metadata": {"name": "p", "namespace": "one"}})
    runs = Runs(keep)
    async with running(client, controller(runs, kind=Parent, owns=(Deployment, Service))):
        await runs.reach("p")
        await server.requested(2, verb="apply")
    asked[:] = [labelled("new"), leading("new")]
    runs = Runs(keep)
    async with running(client, controller(runs, kind=Parent, owns=(Deployment, Service))):
        await runs.reach("p")
        await server.requested(3, verb="apply")
    assert ([item.metadata.name for item in found[-1].staying], leads_to()) == (["old"], "old")
    made = server.object(Deployment, "new", "one")
    assert made is not None
    status = {"observedGeneration": made["metadata"]["generation"], "replicas": 1, "updatedReplicas": int(comes_up)}
    server.put(Deployment, {**made, "status": status}, silently=True)
    runs = Runs(keep)
    async with running(client, controller(runs, kind=Parent, owns=(Deployment, Service))):
        await runs.reach("p")
    assert leads_to() == ("new" if comes_up else "old")
    assert (server.object(Deployment, "old", "one") is None) is comes_up
    # No hand has led anybody away.
    assert "LedAway" not in said
