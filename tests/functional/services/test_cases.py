"""What holds of every service, on a real API server with the real helm: tried with the row of each."""

import contextlib
import gzip
import json
from base64 import b64decode
from typing import Any

import pytest

from stackwright import services
from stackwright.adapters.identity import Credentials
from stackwright.api.annotations import PAUSED
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.controllers import release
from stackwright.kube.builtin import ConfigMap, DaemonSet, Deployment, Plain, Secret, Service, StatefulSet
from stackwright.kube.client import Client
from stackwright.kube.errors import Invalid
from stackwright.kube.resource import Resource
from stackwright.kube.runtime import Runtime
from stackwright.kube.shapes import exchange
from tests.functional import hands
from tests.functional.cloud import decoded
from tests.functional.counting import Counted
from tests.functional.normal import credentials
from tests.functional.running import Passes, quiet, worked_through
from tests.functional.services.case import UNNAMED, ServiceCase
from tests.functional.services.place import Place
from tests.functional.services.rows import rows
from tests.functional.watching import eventually, gone, until

ROWS = rows()
WORKLOADS: tuple[type[Plain], ...] = (Deployment, StatefulSet, DaemonSet)
# What is kept for a service and follows it when it is paused.
FOLLOWING: tuple[type[Any], ...] = (MariaDBDatabase, MariaDBAccount, TransportURL)


def each(holds: Any = lambda _: True) -> pytest.MarkDecorator:
    """Run a test for each row of which something holds."""
    return pytest.mark.parametrize("case", [pytest.param(row, id=row.name) for row in ROWS if holds(row)])


def runs(case: ServiceCase) -> bool:
    """Return whether anything of a service runs; one that is made of other resources alone has no pods of its own."""
    return bool(case.blueprint.known_components)


def test_every_service_has_its_row() -> None:
    assert {service.name for service in services.blueprints()} <= {row.blueprint.name for row in ROWS}


def test_every_row_says_which_actions_there_are() -> None:
    assert {row.name: row.blueprint.known_actions.keys() for row in ROWS} == {
        row.name: {*(("restart",) if runs(row) else ()), *row.actions} for row in ROWS
    }


@each()
async def test_it_names_what_is_missing_comes_up_and_is_listed(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """One service in one place: each takes seconds to come up, so that what it shows is looked at in one go."""
    # A hand that writes all fields is faster than any.
    monkeypatch.setattr(exchange, "TURNS", 1000)
    async with contextlib.AsyncExitStack() as around:
        async with place.operated() as runtime:
            await place.ask()
            await assert_each_missing_need_is_named(place)
            await around.enter_async_context(place.provided())
            ready = await place.up()
            await assert_up(place, ready)
            await quiet(runtime)
            await assert_a_hand_changes_nothing(place, runtime)
        await assert_a_new_operator_writes_nothing(place, ready)


async def assert_each_missing_need_is_named(place: Place) -> None:
    """See what is said of each thing that is missing, until all that a user gives is there."""
    case, kinds = place.case, {word: offerer.kind for word, offerer in services.providers().items()}
    secret = getattr(case.resource.spec, "secret", "")
    if secret and needs_something(case):
        await place.told(f"Secret {secret}, which spec.secret names, does not exist", "InputReady")
    for key in case.passwords:
        await place.client.delete(Secret, secret, place.namespace)
        await place.give(**{other: word for other, word in case.passwords.items() if other != key})
        await place.told(f"Secret {secret} has no value under the key {key}", "InputReady")
    await place.give(**case.passwords)
    for word, name in case.providers.items():
        what = f"{kinds[word].kind.name} {name}"
        way_out = f"create {what}" if word in UNNAMED else f"{what} does not exist; create it, or name another one"
        await place.told(way_out)


async def assert_up(place: Place, ready: Any) -> None:
    """See that a service is there with all that belongs to it, and is listed."""
    case, client, namespace = place.case, place.client, place.namespace
    assert {condition.type for condition in ready.status.conditions} == {*ready.declared_conditions(), "Ready"}
    assert ready.status.readyCount == case.pods
    assert set(ready.status.hash) == set(case.parts())
    assert set(await place.jobs()) == case.jobs
    for suffix, port in case.ports.items():
        service = await client.get(Service, "-".join(filter(None, (case.name, suffix))), namespace)
        assert service.spec["ports"][0]["port"] == port
    if urls := case.urls(namespace):
        assert (case.entry.offer(ready).urls if case.entry else ready.status.apiEndpoints) == urls
    if "database" in case.providers:
        assert ready.status.databaseHostname == f"{case.providers['database']}.{namespace}.svc"
    if case.listed:
        await assert_listed(place, urls)
    await assert_nothing_is_told(place, ready)


async def assert_listed(place: Place, urls: dict[str, str]) -> None:
    """See that the catalog has the service, and lets its user in."""
    case, keystone = place.case, place.keystone
    assert keystone is not None
    (service,) = await keystone.find_services(case.listed, case.name)
    found = [endpoint for endpoint in await keystone.endpoints() if endpoint.service_id == service.id]
    assert {endpoint.interface: endpoint.url for endpoint in found} == {
        interface: f"{url}{case.path}" for interface, url in urls.items()
    }
    spec = case.resource.spec
    password = case.passwords[spec.passwordSelectors.service]
    assert await keystone.login(Credentials(spec.serviceUser, password, "service")) is not None


async def assert_nothing_is_told(place: Place, ready: Any) -> None:
    """See that no password stands in the values of the release, in its manifest, or in any object but a Secret."""
    client, namespace = place.client, place.namespace
    words = {*place.case.passwords.values(), *(await credentials(client, namespace)).values()}
    texts = {f"{ready.kind} {place.case.name}": str(ready)}
    for kind in release.KINDS:
        if kind is not Secret:
            texts |= {f"{kind.kind} {found.metadata.name}": str(found) for found in await client.list(kind, namespace)}
    records = await client.list(Secret, namespace, labels=f"owner=helm,name={place.case.name}")
    assert bool(records) == place.case.blueprint.has_chart
    for record in records:
        assert record.metadata.name == f"sh.helm.release.v1.{place.case.name}.v1", "one rollout, one revision"
        packed = json.loads(gzip.decompress(b64decode(b64decode(record.data["release"]))))
        texts |= {"the values": json.dumps(packed["config"]), "the manifest": packed["manifest"]}
    # A name or a place is no secret, even where it stands in one.
    secret = {word for word in words if len(word) > 15 and namespace not in word}
    assert [what for what, text in texts.items() if any(word in text for word in secret)] == []


async def assert_a_hand_changes_nothing(place: Place, runtime: Runtime) -> None:
    """See that what somebody writes into a status is put right, and that nothing is rolled out because of it."""
    client, namespace = place.client, place.namespace
    before = await hands.rollouts(client, namespace)
    for kind in place.case.kinds:
        for resource in await client.list(kind, namespace):
            await hands.try_everything(client, resource)
    await quiet(runtime)
    assert await hands.rollouts(client, namespace) == before


async def assert_a_new_operator_writes_nothing(place: Place, ready: Any) -> None:
    async with Client(place.client.connection) as client:
        counted, passes = Counted(client), Passes(place.case.kind.kind.name.lower())
        async with place.operated(client) as runtime:
            await worked_through(runtime, ready)
            await passes.reach(1)
            await quiet(runtime)
    assert counted.writes == [], counted.table()


def needs_something(case: ServiceCase) -> bool:
    return bool(case.providers or case.passwords)


def has_chart_jobs(case: ServiceCase) -> bool:
    return bool(case.chart_jobs)


@each(has_chart_jobs)
async def test_with_jobs_the_chart_makes_what_operators_make_otherwise(standing: Place) -> None:
    case, client, namespace = standing.case, standing.client, standing.namespace
    await standing.ask(provisioning="Job")
    await standing.up()
    made = await standing.jobs()
    assert set(made) == case.jobs | case.chart_jobs
    for kind in (MariaDBDatabase, MariaDBAccount, KeystoneService, KeystoneEndpoint):
        assert await client.find(kind, case.name, namespace) is None
    if not case.listed:
        return
    (container,) = made["identity-create"].spec["template"]["spec"]["containers"]
    variables = {variable["name"]: variable.get("value") for variable in container["env"]}
    assert variables["PUBLIC_URL"] == f"{case.urls(namespace)['public']}{case.path}"
    assert (variables["USER_PASSWORD"], variables["ADMIN_PASSWORD"]) == (None, None)
    # Another password is another Job; the pods read it as well.
    before = await generations(standing)
    key = case.resource.spec.passwordSelectors.service
    await standing.give(**{**case.passwords, key: "another"})
    await until(lambda: generations(standing), lambda now: all(now[name] > before[name] for name in before))
    await standing.up()
    assert (await standing.jobs())["identity-create"].metadata.name != made["identity-create"].metadata.name


async def generations(place: Place) -> dict[str, int]:
    """Return in which generation each workload of the service is."""
    labels = f"app.kubernetes.io/instance={place.case.name}"
    found = [item for kind in WORKLOADS for item in await place.client.list(kind, place.namespace, labels=labels)]
    return {f"{item.kind} {item.metadata.name}": item.metadata.generation for item in found}


@each()
async def test_it_acts_once_rests_while_it_is_paused_and_leaves_what_stays(standing: Place) -> None:
    # Kubernetes makes it in each namespace, some time.
    await eventually(standing.client, ConfigMap, "kube-root-ca.crt", standing.namespace, lambda _: True)
    around = set(await everything(standing))
    await standing.ask()
    await standing.up()
    if runs(standing.case):
        await assert_each_action_is_done_once(standing)
        await assert_it_rests_while_it_is_paused(standing)
    await assert_what_goes_and_what_stays(standing, around)


async def assert_each_action_is_done_once(standing: Place) -> None:
    case = standing.case
    before = await generations(standing)
    asked = [{"name": name, "id": f"the-{name}"} for name in ("restart", *sorted(case.actions))]
    await standing.ask(actions=asked)

    def done(seen: Any) -> bool:
        return [(entry.name, entry.state) for entry in seen.status.actions] == [
            (action["name"], "Succeeded") for action in asked
        ]

    await eventually(standing.client, case.kind, case.name, standing.namespace, done)
    after = await generations(standing)
    assert {name: number + 1 for name, number in before.items()} == after


async def assert_it_rests_while_it_is_paused(standing: Place) -> None:
    """See that a service that is paused rests, with all that it keeps, and then goes on."""
    case, client, namespace = standing.case, standing.client, standing.namespace
    await standing.up()
    before = await generations(standing)
    metadata = {"name": case.name, "namespace": namespace}
    paused = {"metadata": {**metadata, "annotations": {PAUSED: "true"}}}
    await client.apply(case.kind, paused, field_manager="user-pause")
    following = [(kind, name) for kind in FOLLOWING for name in kept(case, kind)]
    # What it stands for rests with it.
    for kind in case.blueprint.owns:
        following.extend((kind, item.metadata.name) for item in await client.list(kind, namespace))
    for kind, name in following:
        await eventually(client, kind, name, namespace, lambda seen: PAUSED in seen.metadata.annotations)
    changed = await standing.ask(actions=[{"name": "restart", "id": "while-paused"}])
    await standing.worked_through(changed)
    assert await generations(standing) == before
    await client.apply(case.kind, {"metadata": metadata}, field_manager="user-pause")
    await eventually(
        client,
        case.kind,
        case.name,
        namespace,
        lambda seen: ("while-paused", "Succeeded") in [(entry.id, entry.state) for entry in seen.status.actions],
    )
    assert await generations(standing) == {name: number + 1 for name, number in before.items()}
    for kind, name in following:
        await eventually(client, kind, name, namespace, lambda seen: PAUSED not in seen.metadata.annotations)


def kept(case: ServiceCase, kind: type[Any]) -> list[str]:
    """Return the names of what stays of a kind."""
    return [name for word, _, name in (entry.partition(" ") for entry in sorted(case.stays)) if word == kind.kind.name]


async def assert_what_goes_and_what_stays(standing: Place, around: set[str]) -> None:
    """See what is left when a service is deleted, and that one which is made again finds it."""
    case, client, namespace = standing.case, standing.client, standing.namespace
    await standing.up()
    before = await everything(standing)
    await client.delete(case.kind, case.name, namespace)
    for name in before.keys() - around - case.stays:
        await gone(client, type(before[name]), before[name].metadata.name, namespace)
    assert set(await everything(standing)) - around == case.stays
    # What outlives it has no owner.
    assert [name for name in case.stays if before[name].metadata.ownerReferences] == []
    if (keystone := standing.keystone) is not None:
        await until(lambda: keystone.find_services(case.listed, case.name), lambda found: found == ())
    # All of that is found again.
    await standing.ask()
    await standing.up()
    after = await everything(standing)
    assert {name: after[name].metadata.uid for name in case.stays} == {
        name: before[name].metadata.uid for name in case.stays
    }
    secrets = [name for name in case.stays if name.endswith("-db-secret")]
    for name in secrets:
        assert after[name] == before[name]
        if name == f"Secret {case.name}-db-secret":
            (password,) = decoded(after[name]).values()
            config = decoded(await client.get(Secret, f"{case.name}-config-data", namespace))
            assert any(password in text for text in config.values())


async def everything(place: Place) -> dict[str, Any]:
    """Return what a service could leave in the namespace, by kind and name."""
    kinds: set[type[Resource]] = {*release.KINDS, *services.kinds(), *place.case.kinds}
    found = [item for kind in kinds for item in await place.client.list(kind, place.namespace)]
    return {f"{item.kind.name} {item.metadata.name}": item for item in found}


def refuses_something(case: ServiceCase) -> bool:
    return bool(case.refused)


@each(refuses_something)
async def test_what_cannot_be_is_refused_with_a_word(place: Place) -> None:
    async with place.operated():
        for refusal in place.case.refused:
            if refusal.at_once:
                with pytest.raises(Invalid) as refused:
                    await place.ask(**refusal.spec)
                assert refusal.sentence in str(refused.value)
            else:
                await place.ask(**refusal.spec)
                await place.told(refusal.sentence)
