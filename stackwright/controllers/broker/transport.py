"""TransportURL: a user and a virtual host at a broker, and the Secret with the URL for oslo.messaging."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from stackwright.adapters.rabbitmq import Permission, User, Vhost
from stackwright.api.rabbitmq import TransportURL, TransportURLStatus
from stackwright.blueprint.use import Reader
from stackwright.controllers.absent_servers import Absent
from stackwright.controllers.broker import secrets
from stackwright.controllers.broker.broker import URL_READY, Broker
from stackwright.controllers.broker.secrets import Url
from stackwright.controllers.broker.steps import Admit, GrantVhost, KeepPassword, PutVhost, Retire, Revoke, WriteUrl
from stackwright.controllers.ownership import ANOTHER_NAME, TAKEN
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Plan, Step, Wait

DEFAULT_VHOST = "/"
# How the tags begin that say for which RabbitMq we made a user.
MARK = "stackwright/"
ADMINISTRATOR = "administrator"
EVERYTHING = Permission()
TYPES = {"quorum": "Quorum", "classic": "Mirrored"}


@dataclass(frozen=True)
class Kept:
    """A password that is kept in a Secret; `generated` says that we made it up, and so made the user."""

    password: str = field(repr=False)
    generated: bool


@dataclass(frozen=True)
class Former:
    """A user from before a rotation, or of a deleted resource: whether we made it, and whether it is used.

    `vhosts` are the virtual hosts of the resource in which the user has rights; only those of a shared user are known.
    """

    user: str
    ours: bool
    connected: bool = False
    vhosts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Seen:
    """What there is of a TransportURL.

    `user` and `vhost` are wanted, `account`, `host` and `permission` are what the broker has of them. `shared` are the
    users that other TransportURLs of the same broker name, each with a virtual host that they need it for. `foreign` is
    a Secret of somebody else where ours would be.
    `readers` are the resources that are known to use the URL, and `behind` those of them that may use a former one.
    """

    broker: Broker | Absent
    user: str = ""
    vhost: str = DEFAULT_VHOST
    kept: Kept | Wait | None = None
    account: User | None = None
    host: Vhost | None = None
    permission: Permission | None = None
    urls: tuple[Url, ...] = ()
    former: tuple[Former, ...] = ()
    shared: frozenset[tuple[str, str]] = frozenset()
    foreign: str = ""
    readers: tuple[Reader, ...] = ()
    behind: tuple[str, ...] = ()

    @property
    def shared_users(self) -> frozenset[str]:
        """The users that other TransportURLs of the same broker name."""
        return frozenset(user for user, _ in self.shared)

    @property
    def current(self) -> Url | None:
        """The Secret with the URL of the wanted user, if it is there."""
        return next((url for url in self.urls if url.user == self.user), None)


def tag_of(broker: Broker) -> str:
    """Return the tag by which the users are known that we made for a RabbitMq.

    Several resources may stand for one broker: an external RabbitMq may lead to one of ours, or be shared by clusters.
    """
    return f"{_tag_before(broker)}/{broker.uid}" if broker.uid else _tag_before(broker)


def _tag_before(broker: Broker) -> str:
    """Return the tag that users of an external broker had when names alone told resources apart."""
    return f"{MARK}{broker.namespace}/{broker.name}"


def is_ours(account: User, broker: Broker) -> bool:
    """Return whether a user is one that we made for this RabbitMq. Pure."""
    return tag_of(broker) in account.tags or (_tag_before(broker) in account.tags and not is_anothers(account, broker))


def is_anothers(account: User, broker: Broker) -> bool:
    """Return whether a user was made for another RabbitMq that stands for the same broker. Pure."""
    own = {tag_of(broker), _tag_before(broker)}
    return tag_of(broker) not in account.tags and any(tag.startswith(MARK) for tag in account.tags - own)


def wanted_vhost(resource: TransportURL) -> str:
    """Return the virtual host that a resource names."""
    return resource.spec.vhost or DEFAULT_VHOST


def vhosts_of(resource: TransportURL) -> frozenset[str]:
    """Return the virtual hosts that a resource names, or named last."""
    return frozenset({wanted_vhost(resource), resource.status.rabbitmqVhost or wanted_vhost(resource)})


def decide(resource: TransportURL, seen: Seen) -> Plan:
    """Return what brings the broker and the Secret to what the resource says."""
    if resource.spec.userRef:
        message = "spec.userRef is not supported yet; name the user in spec.username"
        raise Blocked(message, reason="NotSupported", condition=URL_READY)
    if isinstance(seen.broker, Absent):
        return Plan(waits=(seen.broker.wait,))
    if seen.foreign:
        message = f"metadata.name: Secret {seen.foreign} exists and was not created for this resource; {ANOTHER_NAME}"
        raise Blocked(message, reason=TAKEN, condition=URL_READY)
    if not seen.broker.ready and seen.current is None:
        message = f"RabbitMq {seen.broker.name} is not ready yet"
        return Plan(waits=(Wait("RabbitMqNotReady", message, URL_READY),))
    if isinstance(seen.kept, Wait):
        return Plan(waits=(seen.kept,))
    broker, steps = seen.broker, _vhost(seen, seen.broker)
    if seen.kept is None:
        _refuse_stranger(seen, broker)
        name = secrets.password_name(broker.name, seen.user)
        keep = KeepPassword(broker, name, seen.user, reason="CreatingUser", condition=URL_READY)
        return Plan(steps=(*steps, keep))
    if steps:
        return Plan(steps=steps)
    steps = _account(seen, broker, seen.kept)
    return Plan(steps=steps or _url(resource, seen, broker, seen.kept) or _retire(seen, broker))


def _vhost(seen: Seen, broker: Broker) -> tuple[Step, ...]:
    if seen.host is None:
        return (PutVhost(broker, seen.vhost, reason="CreatingVhost", condition=URL_READY),)
    if seen.host.default_queue_type != broker.queue_type and not broker.external:
        return (PutVhost(broker, seen.vhost, reason="SettingQueueType", condition=URL_READY),)
    return ()


def _refuse_stranger(seen: Seen, broker: Broker) -> None:
    """Refuse to take over a user that somebody else made: another password would shut that somebody out."""
    if seen.account is None or is_ours(seen.account, broker):
        return
    name = secrets.password_name(broker.name, seen.user)
    raise Blocked(
        f"spec.username: user {seen.user} exists at the broker and was not created for this resource; name another "
        f"user, or create Secret {name} with the password under the key password",
        reason="UserTaken",
        condition=URL_READY,
    )


def _refuse_change(seen: Seen, broker: Broker, kept: Kept) -> None:
    """Refuse to give another password to a user of another RabbitMq's, or to an administrator: it would shut them out.

    Who knows the password shares the user.
    """
    account = seen.account
    if account is None or account.has_password(kept.password):
        return
    if not is_anothers(account, broker) and not (ADMINISTRATOR in account.tags and not is_ours(account, broker)):
        return
    whose = "administers the broker" if ADMINISTRATOR in account.tags else "was created for another RabbitMq"
    name = secrets.password_name(broker.name, seen.user)
    raise Blocked(
        f"spec.username: user {seen.user} exists at the broker and {whose}, and Secret {name} has another password; "
        "name another user, or write the user's password into the Secret",
        reason="UserTaken",
        condition=URL_READY,
    )


def _account(seen: Seen, broker: Broker, kept: Kept) -> tuple[Step, ...]:
    """Return what lets the user in. The default user is the broker's own; only its rights are ours to see to."""
    if seen.user != broker.user:
        _refuse_change(seen, broker, kept)
    tags = seen.account.tags if seen.account is not None else frozenset()
    if kept.generated:
        tags |= {tag_of(broker)}
    own = seen.user == broker.user
    right = seen.account is not None and seen.account.has_password(kept.password) and seen.account.tags == tags
    if not own and not right:
        admit = Admit(broker, seen.user, seen.vhost, kept.password, tags, reason="CreatingUser", condition=URL_READY)
        return (admit,)
    if seen.permission != EVERYTHING:
        return (GrantVhost(broker, seen.user, seen.vhost, reason="Granting", condition=URL_READY),)
    return ()


def _url(resource: TransportURL, seen: Seen, broker: Broker, kept: Kept) -> tuple[Step, ...]:
    """Return what makes the Secret say how to log in; hosts are taken over from a broker that is ready."""
    current = seen.current
    hosts = broker.hosts if broker.ready or current is None or not current.hosts else current.hosts
    text = secrets.transport_url((seen.user, kept.password), hosts, broker.port, seen.vhost)
    content = secrets.content(text, broker.queue_type)
    same = current is not None and (current.hosts, current.readers) == (hosts, seen.readers)
    if current is not None and same and current.content == content:
        return ()
    taken = frozenset(url.name for url in seen.urls)
    name = current.name if current is not None else secrets.url_name(resource.metadata.name, seen.user, taken)
    url = Url(name, seen.user, hosts, content, seen.readers)
    return (WriteUrl(broker, resource, url, reason="WritingURL", condition=URL_READY),)


def _retire(seen: Seen, broker: Broker) -> tuple[Step, ...]:
    """Return the steps that delete users and URLs from before a rotation, once nobody uses them.

    That nobody is connected is not enough: a machine that is switched off comes back with what it had.
    """
    if seen.behind:
        return ()
    former = {one.user: one for one in seen.former}
    steps: list[Step] = []
    for url in seen.urls:
        one = former.get(url.user)
        if url.user == seen.user or url.consumed or (one is not None and one.connected):
            continue
        steps += _revoke(one, seen, broker)
        user, password = _choose_dropped(url.user, one, seen, broker)
        steps.append(Retire(broker, user, password, url.name, reason="Retiring", condition=URL_READY))
    return tuple(steps)


def _choose_dropped(name: str, former: Former | None, seen: Seen, broker: Broker) -> tuple[str, str]:
    """Return which user and which password go: those that we made and that nobody else names."""
    if former is None or not former.ours or name in seen.shared_users or name == broker.user:
        return "", ""
    return name, secrets.password_name(broker.name, name)


def _revoke(former: Former | None, seen: Seen, broker: Broker) -> Iterator[Step]:
    """Yield the steps that take away what a user that others share has only for the sake of this resource."""
    if former is None or not former.ours or former.user not in seen.shared_users or former.user == broker.user:
        return
    for vhost in former.vhosts:
        if (former.user, vhost) not in seen.shared:
            yield Revoke(broker, former.user, vhost, reason="Revoking", condition=URL_READY)


def remove(url: TransportURL, seen: Seen) -> Plan:
    """Return what is left to do before the resource may go: the users that it made go first, the vhost stays.

    A user that another resource names stays, without its rights in a vhost that no other resource names for it.
    """
    if url.spec.deletionPolicy == "Retain":
        return Plan()
    if isinstance(seen.broker, Absent):
        return Plan() if seen.broker.gone else Plan(waits=(seen.broker.wait,))
    steps: list[Step] = []
    for former in seen.former:
        steps += _revoke(former, seen, seen.broker)
        user, password = _choose_dropped(former.user, former, seen, seen.broker)
        if user:
            steps.append(Retire(seen.broker, user, password, reason="DroppingUser", condition=URL_READY))
    return Plan(steps=tuple(steps))


def tell(resource: TransportURL, seen: Seen) -> TransportURLStatus:
    """Return the status with what was seen: the URL to use, and the previous one while somebody may use it."""
    current = seen.current
    if current is None or not isinstance(seen.broker, Broker):
        return resource.status
    previous = next((url for url in seen.urls if url.user != seen.user), None)
    return msgspec.structs.replace(
        resource.status,
        secretName=current.name,
        secretHash=secrets.digest(current.content),
        previousSecretName=previous.name if previous else "",
        previousRabbitmqUsername=previous.user if previous else "",
        rabbitmqUsername=seen.user,
        rabbitmqVhost=seen.vhost,
        queueType=TYPES[seen.broker.queue_type],
    )
