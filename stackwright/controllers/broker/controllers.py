"""The controller of TransportURLs: how it looks, how it acts, and what wakes it."""

import secrets as randomness
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from urllib.parse import urlsplit, urlunsplit

from stackwright import services
from stackwright.adapters.errors import AdapterError
from stackwright.adapters.rabbitmq import Access, Management, digest_of
from stackwright.api.annotations import PAUSED
from stackwright.api.rabbitmq import TransportURL
from stackwright.blueprint import use
from stackwright.blueprint.places import is_url
from stackwright.blueprint.secret_values import read_value
from stackwright.controllers import needs
from stackwright.controllers.absent_servers import Absent
from stackwright.controllers.broker import secrets
from stackwright.controllers.broker.broker import URL_READY, Broker, find_broker
from stackwright.controllers.broker.steps import (
    Admit,
    BrokerStep,
    GrantVhost,
    KeepPassword,
    PutVhost,
    Retire,
    Revoke,
    WriteUrl,
)
from stackwright.controllers.broker.transport import (
    ADMINISTRATOR,
    EVERYTHING,
    Former,
    Kept,
    Seen,
    decide,
    is_anothers,
    is_ours,
    remove,
    tell,
    vhosts_of,
    wanted_vhost,
)
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.looks import Interests, Looker
from stackwright.kube.builtin import Secret
from stackwright.kube.controller import Context, Controller
from stackwright.kube.errors import AlreadyExists, Blocked, Retry
from stackwright.kube.plan import Wait
from stackwright.kube.resource import CustomResource
from stackwright.kube.shapes.belonging import MADE_FOR
from stackwright.kube.shapes.external import external
from stackwright.services.rabbitmq.kinds import RabbitMq

FINALIZER = "openstack.org/transporturl"
# Seconds after which a broker is checked again, because a broker does not report changes.
EVERY = 45.0

Generate = Callable[[str], str]


def generate(_: str) -> str:
    """Return a new password; what it is for does not matter."""
    return randomness.token_urlsafe(24)


@dataclass(frozen=True)
class World:
    """What one pass works with. `written` are Secrets that it wrote itself, which the cache may not have yet."""

    context: Context
    dialler: Dialler
    interests: Interests
    generate: Generate
    written: dict[str, Secret | None] = field(default_factory=dict)

    def looker(self, resource: TransportURL) -> Looker:
        """Return what a pass looks with; ask it for everything before the first await."""
        return self.interests.begin(resource, self.context)

    def secret(self, name: str, look: Looker) -> Secret | None:
        """Return a Secret as this pass or the cache knows it."""
        cached = look(Secret, name)
        return self.written.get(name, cached)

    def urls(self, resource: TransportURL) -> list[Secret]:
        """Return the Secrets with URLs of a resource, the plainest name first."""
        owned = {one.metadata.name: one for one in self.context.store(Secret).owned_by(resource.metadata.uid)}
        known: dict[str, Secret | None] = {**owned, **self.written}
        found = [one for one in known.values() if one is not None and _is_owned(one, resource) and not one.deleting]
        return sorted(found, key=lambda one: (len(one.metadata.name), one.metadata.name))

    @asynccontextmanager
    async def management(self, broker: Broker) -> AsyncIterator[Management]:
        """Return a way to a broker's management API; the condition says what goes wrong there."""
        access = Access(await self._dialled(broker.management), broker.user, broker.password)
        try:
            async with Management(access) as management:
                yield management
        except AdapterError as error:
            raise broker.explain(error) from error

    async def _dialled(self, url: str) -> str:
        if not is_url(url):
            raise Blocked(f"the URL of the broker's management API, {url}, is not one; correct it", condition=URL_READY)
        parts = urlsplit(url)
        try:
            address = await self.dialler.address(parts.hostname or "")
        except Retry as error:
            raise Retry(str(error), reason=error.reason, condition=URL_READY) from error
        # A certificate is for a name, so connections with TLS use the name and not an address.
        if parts.scheme != "http" or address == parts.hostname:
            return url
        return urlunsplit(parts._replace(netloc=f"{address}:{parts.port or 80}"))


def _is_owned(secret: Secret, resource: TransportURL) -> bool:
    return any(owner.uid == resource.metadata.uid for owner in secret.metadata.ownerReferences)


async def observe(resource: TransportURL, world: World) -> Seen:
    """Look for broker and Secrets, then ask the broker for user, virtual host and rights."""
    look = world.looker(resource)
    broker = find_broker(resource.spec.rabbitmqClusterName, look)
    urls = tuple(secrets.url_of(secret) for secret in world.urls(resource))
    if isinstance(broker, Absent):
        return Seen(broker, urls=urls)
    user = resource.spec.username or broker.user
    seen = Seen(
        broker,
        user,
        wanted_vhost(resource),
        _read_password(broker, user, world, look),
        urls=urls,
        shared=_shared(resource, world),
        foreign=_foreign(resource, world, look),
        readers=readers_of(resource),
    )
    seen = replace(seen, behind=_find_behind(seen, look))
    if not broker.ready and seen.current is None and not resource.deleting:
        return seen
    names = {url.user for url in urls} | {resource.status.rabbitmqUsername, user}
    if not resource.deleting:
        names -= {user}
    generated = {
        name: isinstance(kept := _read_password(broker, name, world, look), Kept) and kept.generated
        for name in names - {"", broker.user}
    }
    return await _ask_broker(seen, world, generated, vhosts_of(resource))


async def _ask_broker(seen: Seen, world: World, generated: Mapping[str, bool], vhosts: frozenset[str]) -> Seen:
    """Return what was seen with what the broker says; `generated` are the users besides, and whose password is ours.

    `vhosts` are those in which a user that is shared may have rights for the sake of this resource.
    """
    former, broker = [], seen.broker
    assert isinstance(broker, Broker)  # noqa: S101  else there is nobody to ask
    async with world.management(broker) as management:
        for name, made in sorted(generated.items()):
            account = await management.user(name)
            if account is not None:
                connected = await management.connections(name) > 0
                ours = is_ours(account, broker) or (made and not is_anothers(account, broker))
                asked = sorted(vhosts) if name in seen.shared_users else ()
                granted = tuple([vhost for vhost in asked if await management.permission(vhost, name) is not None])
                former.append(Former(name, ours and ADMINISTRATOR not in account.tags, connected, granted))
            elif made:
                former.append(Former(name, ours=True))
        return replace(
            seen,
            account=await management.user(seen.user),
            host=await management.vhost(seen.vhost),
            permission=await management.permission(seen.vhost, seen.user),
            former=tuple(former),
        )


def _read_password(broker: Broker, user: str, world: World, look: Looker) -> Kept | Wait | None:
    """Return the password of a user from its Secret, None where there is no such Secret yet."""
    if user == broker.user:
        return Kept(broker.password, generated=False)
    name = secrets.password_name(broker.name, user)
    secret = world.secret(name, look)
    if secret is None:
        return None
    password = read_value(secret, name, "password", URL_READY)
    generated = secret.metadata.annotations.get(secrets.GENERATED) == "true"
    return password if isinstance(password, Wait) else Kept(password, generated)


def _foreign(resource: TransportURL, world: World, look: Looker) -> str:
    """Return the name of a Secret that somebody else made under our Secret's name; "" if there is none."""
    name = secrets.url_name(resource.metadata.name, "", frozenset())
    present = world.secret(name, look)
    if present is None or _is_owned(present, resource) or _is_left(present) or _is_going(present, resource):
        return ""
    return name


def _is_left(secret: Secret) -> bool:
    """Return whether a Secret was made for a TransportURL and has lost its owner, for example by a restore."""
    return secrets.USER in secret.metadata.annotations and secret.metadata.controller is None


def _is_going(secret: Secret, resource: TransportURL) -> bool:
    """Return whether a Secret is being deleted with an earlier resource of the same name."""
    owner = secret.metadata.controller
    return owner is not None and (owner.kind, owner.name) == (resource.kind.name, resource.metadata.name)


def readers_of(resource: TransportURL) -> tuple[use.Reader, ...]:
    """Return who is known to use a URL: the service for which the resource was made."""
    kind, _, name = resource.metadata.annotations.get(MADE_FOR, "").partition("/")
    return ((kind, name),) if kind in find_reader_kinds() else ()


def _find_behind(seen: Seen, look: Looker) -> tuple[str, ...]:
    """Return the readers that may still use the former URL; nobody is looked at where there is none."""
    current = seen.current
    if current is None or len(seen.urls) == 1:
        return ()
    there = {reader: look(find_reader_kinds()[reader[0]], reader[1]) for reader in seen.readers}
    return use.behind(replace(current, readers=seen.readers).export, None, there)


@cache
def find_reader_kinds() -> dict[str, type[CustomResource]]:
    """Return the kinds of services that log in to brokers, by name."""
    found = (each.kind for each in services.blueprints() if TransportURL in needs.kinds_kept(each))
    return {kind.kind.name: kind for kind in found}


def _shared(resource: TransportURL, world: World) -> frozenset[tuple[str, str]]:
    """Return the users that other resources of the same broker name, or named last, and in which virtual hosts."""
    others = [
        other
        for other in world.context.store(TransportURL).list(resource.metadata.namespace)
        if other.key != resource.key
        and not other.deleting
        and other.spec.rabbitmqClusterName == resource.spec.rabbitmqClusterName
    ]
    return frozenset(
        (name, vhost)
        for other in others
        for name in (other.spec.username, other.status.rabbitmqUsername, other.status.previousRabbitmqUsername)
        for vhost in vhosts_of(other)
        if name
    )


def _labels(broker: Broker) -> dict[str, str]:
    return {"app.kubernetes.io/name": "rabbitmq", "app.kubernetes.io/instance": broker.name}


def takes_along(url: TransportURL) -> bool:
    """Return whether the user goes with its resource; else the resource can go without anybody's help."""
    return url.spec.deletionPolicy == "Delete"


@external(
    of=TransportURL,
    read=observe,
    decide=decide,
    remove=remove,
    finalizer=FINALIZER,
    tell=tell,
    pause=PAUSED,
    holds=takes_along,
)
async def transport_urls(step: BrokerStep, world: World) -> None:
    """Carry out one step."""
    match step:
        case KeepPassword():
            await _keep(step, world)
        case WriteUrl():
            body = secrets.url_secret(step.owner, step.url, _labels(step.broker))
            world.written[step.url.name] = await world.context.client.apply(Secret, body)
        case Retire():
            await _retire(step, world)
        case _:
            async with world.management(step.broker) as management:
                await _change(step, management)


async def _change(step: BrokerStep, management: Management) -> None:
    match step:
        case PutVhost():
            await management.put_vhost(step.vhost, step.broker.queue_type)
        case Admit():
            await management.put_user(step.user, digest_of(step.password), step.tags)
            await management.put_permission(step.vhost, step.user, EVERYTHING)
        case GrantVhost():
            await management.put_permission(step.vhost, step.user, EVERYTHING)
        case Revoke():
            await management.delete_permission(step.vhost, step.user)


async def _keep(step: KeepPassword, world: World) -> None:
    """Create the Secret; where another resource was quicker, its password is the one."""
    client, namespace = world.context.client, step.broker.namespace
    login = (step.user, world.generate(step.secret))
    body = secrets.password_secret(namespace, step.secret, login, _labels(step.broker))
    try:
        world.written[step.secret] = await client.create(Secret, body)
    except AlreadyExists:
        world.written[step.secret] = await client.get(Secret, step.secret, namespace)


async def _retire(step: Retire, world: World) -> None:
    if step.user:
        async with world.management(step.broker) as management:
            await management.delete_user(step.user)
    for name in (step.password, step.url):
        if name:
            await world.context.client.delete(Secret, name, step.broker.namespace)
            world.written[name] = None


def controllers(dialler: Dialler, *, generate: Generate = generate, every: float = EVERY) -> tuple[Controller, ...]:
    """Return the controller of TransportURL; `generate` makes a password for the Secret of that name."""
    interests = Interests()
    return (
        replace(transport_urls, every=every).controller(
            lambda context: World(context, dialler, interests, generate),
            owns=(Secret,),
            watches=(
                *interests.watches((RabbitMq, Secret)),
                *(interests.watch(kind, use.is_noted_anew) for kind in find_reader_kinds().values()),
            ),
        ),
    )
