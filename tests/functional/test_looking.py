"""A look into another namespace: what is there, being woken when it changes, and namespaces that nobody reads."""

from dataclasses import replace
from typing import Annotated, ClassVar

import pytest

from stackwright.controllers.looks import Interests
from stackwright.kube import conditions
from stackwright.kube.builtin import ConfigMap, Role, RoleBinding
from stackwright.kube.client import Client
from stackwright.kube.conditions import Finding
from stackwright.kube.config import Connection
from stackwright.kube.controller import Context, Controller
from stackwright.kube.errors import Blocked
from stackwright.kube.markers import Definition, describe
from stackwright.kube.resource import CustomResource, Key, Kind, Value
from stackwright.kube.runtime import Runtime
from stackwright.kube.shapes.report import report
from tests.functional.conftest import fresh_namespace
from tests.functional.definitions import defined
from tests.functional.running import running
from tests.functional.watching import eventually

WHO = "looker"


class MirrorSpec(Value, frozen=True, kw_only=True):
    """What is mirrored."""

    namespace: Annotated[str, describe("Where it is.")] = ""
    name: Annotated[str, describe("Its name.")] = ""


class Mirror(CustomResource, frozen=True, kw_only=True):
    """Says what a ConfigMap says."""

    kind: ClassVar[Kind] = Kind("looking.example.org", "v1", "Mirror", "mirrors")
    definition: ClassVar[Definition] = Definition()
    conditions: ClassVar[tuple[str, ...]] = ("FoundReady",)

    spec: MirrorSpec = MirrorSpec()


def mirrors() -> Controller:
    """Return a controller that says in a condition what it sees; it knows no other way to be woken than its look."""
    interests = Interests()

    async def reconcile(key: Key, context: Context) -> None:
        mirror = context.store(Mirror).get(key)
        if mirror is None:
            return
        look = interests.begin(mirror, context)
        try:
            found = look(ConfigMap, mirror.spec.name, namespace=mirror.spec.namespace)
        except Blocked as error:
            await report(mirror, (conditions.finding_of(error, "FoundReady"),), mirror.status, context)
            raise
        count = len(look.all(ConfigMap, namespace=mirror.spec.namespace))
        said = f"{found.data['says']}, one of {count}" if found is not None else "nothing"
        finding = Finding("FoundReady", "True" if found is not None else "False", "Looked", said)
        await report(mirror, (finding,), mirror.status, context)

    return Controller(name="mirror", kind=Mirror, reconcile=reconcile, watches=interests.watches((ConfigMap,)))


def said(mirror: Mirror) -> str:
    found = conditions.find(mirror.status.conditions, "FoundReady")
    return found.message if found is not None else ""


async def tell(client: Client, namespace: str, name: str, says: str) -> None:
    body = {"metadata": {"name": name, "namespace": namespace}, "data": {"says": says}}
    await client.apply(ConfigMap, body, field_manager="user")


async def ask(client: Client, home: str, **spec: str) -> None:
    await client.apply(Mirror, {"metadata": {"name": "mirror", "namespace": home}, "spec": spec}, field_manager="user")


async def allow(client: Client, namespace: str) -> None:
    """Give the operator in a namespace what the chart gives it in each that it serves."""
    rules = [
        {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["looking.example.org"], "resources": ["mirrors"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["looking.example.org"], "resources": ["mirrors/status"], "verbs": ["patch"]},
    ]
    group = "rbac.authorization.k8s.io"
    await client.apply(Role, {"metadata": {"name": WHO, "namespace": namespace}, "rules": rules})
    binding = {
        "metadata": {"name": WHO, "namespace": namespace},
        "roleRef": {"apiGroup": group, "kind": "Role", "name": WHO},
        "subjects": [{"apiGroup": group, "kind": "User", "name": WHO}],
    }
    await client.apply(RoleBinding, binding)


async def test_a_look_may_name_another_namespace(
    client: Client, connection: Connection, namespace: str, request: pytest.FixtureRequest
) -> None:
    await defined(client, (Mirror,))
    other, refused, unread = [
        await fresh_namespace(client, f"{word}-{request.node.name}") for word in ("other", "refused", "unread")
    ]
    for served in (namespace, other):
        await allow(client, served)
    # The same name in its own namespace is another object.
    await tell(client, namespace, "word", "here")
    await ask(client, namespace, name="word", namespace=other)

    async def until(text: str) -> Mirror:
        return await eventually(client, Mirror, "mirror", namespace, lambda seen: said(seen).startswith(text))

    as_operator = replace(connection, impersonate=(("Impersonate-User", WHO),))
    async with Client(as_operator) as operator:
        # Rights are those of the namespaces that it serves; one of these refuses it.
        runtime = Runtime(operator, (mirrors(),), namespace=(namespace, other, refused))
        async with running(runtime):
            await until("nothing")
            await tell(client, other, "word", "there")
            await until("there, one of 2")
            await tell(client, other, "word", "elsewhere")
            await until("elsewhere, one of 2")
            await tell(client, other, "second", "more")
            await until("elsewhere, one of 3")
            await ask(client, namespace, name="word")
            await until("here, one of")
            await ask(client, namespace, name="word", namespace=unread)
            await until(f"the operator does not read namespace {unread}: add it to its namespaces")
            await ask(client, namespace, name="word", namespace=refused)
            await until(f"the operator may not read namespace {refused}: give its account a Role and a RoleBinding")
            await ask(client, namespace, name="word", namespace=other)
            await until("elsewhere")
