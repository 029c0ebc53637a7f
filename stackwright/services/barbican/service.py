"""Barbican keeps secrets: those that users bring, and keys that it generates for them."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from stackwright.blueprint import apis, configuration
from stackwright.blueprint.look import Look
from stackwright.blueprint.needs import (
    CatalogEntry,
    Database,
    Each,
    Login,
    Messaging,
    Notifications,
    Password,
    Snippets,
)
from stackwright.blueprint.service import DB_SYNC, Component, Endpoint, Job, RunJob, Service, Told
from stackwright.blueprint.without_effect import says_something
from stackwright.kube.builtin import Deployment
from stackwright.kube.conditions import REQUESTED, Finding
from stackwright.kube.shapes.states import state_of
from stackwright.services.barbican.kinds import Barbican
from stackwright.services.barbican.settings import (
    KEY,
    KEYS_SECRET,
    LISTENER,
    PORT,
    PROGRAMS,
    TEMPLATES,
    BarbicanFacts,
    earlier_keys,
    files,
    list_components,
    serve,
    snippet_secrets,
    started,
    template,
)

CLEAN = "db-clean"
PKCS11 = "pkcs11"
# The condition of each component, as upstream calls it.
READY_OF = {
    "api": "BarbicanAPIReady",
    "worker": "BarbicanWorkerReady",
    LISTENER: "BarbicanKeystoneListenerReady",
}


def listens(resource: Barbican) -> bool:
    """Return whether somebody hears what Keystone notifies of."""
    return LISTENER in list_components(resource)


def components(resource: Barbican) -> tuple[Component[Barbican, BarbicanFacts], ...]:
    """Return the components that a resource asks for."""
    return tuple(COMPONENTS[name] for name in list_components(resource))


def endpoints(resource: Barbican) -> tuple[Endpoint, ...]:
    """Return the API; what users say of its Services stands in its own template."""
    return (Endpoint(port=PORT, override=resource.spec.barbicanAPI.override.service),)


def problems(resource: Barbican, look: Look) -> Iterable[tuple[str, str]]:
    """Yield the path of each field that cannot be, and what to do about it."""
    yield from apis.problems(resource, look, api="barbicanAPI")
    spec = resource.spec
    module = "hardware security modules are not supported yet; leave it out, and secrets are encrypted by simple_crypto"
    if PKCS11 in spec.enabledSecretStores:
        yield "spec.enabledSecretStores", module
    if spec.globalDefaultSecretStore == PKCS11:
        yield "spec.globalDefaultSecretStore", module
    if says_something(spec.pkcs11):
        yield "spec.pkcs11", module
    for path in TEMPLATES.values():
        said = getattr(spec, path)
        for name in said.defaultConfigOverwrite if said is not None else ():
            if sentence := configuration.file_problem(name):
                yield f"spec.{path}.defaultConfigOverwrite[{name}]", sentence


def tell(resource: Barbican, facts: BarbicanFacts | None, look: Look) -> Told[Barbican]:
    """Return where Barbican is, and whether each of its components runs."""
    told = apis.tell(resource, facts, look)
    findings = tuple(_runs(resource, name, look) for name in TEMPLATES)
    if facts is None:
        return replace(told, findings=findings)
    return Told(msgspec.structs.replace(told.status, transportURLSecret=facts.messaging.secret), findings)


def _runs(resource: Barbican, component: str, look: Look) -> Finding:
    """Return how far the pods of a component are."""
    if component not in list_components(resource):
        return Finding(READY_OF[component], "True", "NotRequested", f"{TEMPLATES[component]} was not asked for")
    suffix = "" if component == "api" else f"-{component}"
    name = f"{resource.metadata.name}{suffix}"
    deployment = look(Deployment, name)
    if deployment is None:
        return Finding(READY_OF[component], "False", REQUESTED, f"Deployment {name} is being created", "Info")
    return replace(state_of(deployment), condition=READY_OF[component])


COMPONENTS: dict[str, Component[Barbican, BarbicanFacts]] = {
    "api": replace(apis.api(PORT, "/healthcheck", serve, partial(files, "api")), template=partial(template, "api")),
    **{
        name: Component(
            name,
            command=partial(lambda name, _: f"python3 {PROGRAMS[name].destination}", name),
            files=partial(files, name),
            template=partial(template, name),
            values=partial(started, name),
            description=description,
            after=(DB_SYNC,),
        )
        for name, description in (
            ("worker", "What carries out orders: the Deployment <release>-worker."),
            (LISTENER, "What hears from Keystone which projects are gone: the Deployment <release>-keystone-listener."),
        )
    },
}

SERVICE = Service(
    name="barbican",
    kind=Barbican,
    facts=BarbicanFacts,
    user="barbican",
    needs=(
        Password(KEY, fernet=True, secret=KEYS_SECRET),
        Each((Password,), earlier_keys),
        Database(),
        Messaging(cluster="rabbitMqClusterName", usual="rabbitmq"),
        Notifications(cluster="", condition="NotificationBusInstanceReady", when=listens),
        Login(),
        CatalogEntry(type="key-manager", description="Barbican"),
        Snippets(snippet_secrets),
    ),
    endpoints=endpoints,
    components=components,
    forms=tuple(COMPONENTS.values()),
    jobs=(
        apis.db_sync("barbican-manage db upgrade", partial(files, "api")),
        # Only when somebody asks for it.
        Job(
            CLEAN,
            lambda _: "barbican-manage db clean",
            lambda _, __: None,
            condition="",
            files=partial(files, "api"),
            description="Removes rows of what was deleted long ago.",
            after=(DB_SYNC,),
        ),
    ),
    actions={"clean-database": RunJob(CLEAN)},
    problems=problems,
    tell=tell,
    options=Path(__file__).with_name("options.json"),
    unread=("serviceAccount", *(f"{path}.networkAttachments" for path in TEMPLATES.values())),
    image_fields=("containerImage", "barbicanAPI.containerImage"),
)
