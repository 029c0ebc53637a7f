"""What a compute outside of the cluster has to know: `<cell>-compute-config`, for a machine with libvirt.

Every address in it is one that the machine can reach. Where one of them is missing, nothing is written, and the
condition says what to set.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from stackwright.blueprint import ini
from stackwright.blueprint.ini import Ini
from stackwright.blueprint.interfaces import INTERNAL, PUBLIC
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.blueprint.needs.outside_broker import OutsideFacts
from stackwright.blueprint.outside_addresses import is_url_inside
from stackwright.blueprint.service import Export
from stackwright.kube.conditions import Finding
from stackwright.kube.plan import Wait
from stackwright.services.nova import settings
from stackwright.services.nova.facts import NovaFacts
from stackwright.services.nova.kinds.cell import CELL0, NovaCell, has_novncproxy
from stackwright.services.nova.novncproxy import PAGE

CONDITION = "NovaComputeServiceConfigReady"
NOT_REACHABLE = "NotReachable"
FILE = "01-nova.conf"


@dataclass(frozen=True, kw_only=True)
class CellFacts(NovaFacts):
    """What a cell knows: what its services know, and how machines outside of the cluster reach what they need."""

    outside_messaging: OutsideFacts
    outside_notifications: OutsideFacts | None = None
    # The URLs of the noVNC proxy, once it says them.
    console: dict[str, str] = field(default_factory=dict)


def secret_name(cell: str) -> str:
    """Return the name of the Secret with the configuration; `cell` is the name of the NovaCell."""
    return f"{cell}-compute-config"


def exports(resource: NovaCell, facts: CellFacts) -> Iterator[Export]:
    """Yield the configuration, once all of its addresses are known and can be reached."""
    if resource.spec.cellName == CELL0 or any(missing(facts)) or _waits_for_console(resource, facts):
        return
    content = {
        FILE: ini.render(configuration(resource, facts)),
        "rabbitmq_user_name": _user(facts.outside_messaging),
        "notification_rabbitmq_user_name": _user(facts.outside_notifications or OutsideFacts()),
    }
    noted = f"{resource.spec.cellName}-compute-config"
    yield Export(secret_name(facts.name), content, condition=CONDITION, noted=noted)


def waits(resource: NovaCell, facts: CellFacts) -> Iterator[Wait]:
    """Yield what comes by itself: the address of the consoles."""
    if resource.spec.cellName != CELL0 and not any(missing(facts)) and _waits_for_console(resource, facts):
        yield Wait("ConsoleNotReady", "Waits for the address of the noVNC proxy", CONDITION)


def findings(resource: NovaCell, facts: CellFacts) -> Iterator[Finding]:
    """Yield why the configuration is not written, or what is missing in it.

    The condition holds all the same: a cell without computes outside lacks nothing.
    """
    if resource.spec.cellName == CELL0:
        return
    if reasons := tuple(missing(facts)):
        message = f"Secret {facts.name}-compute-config is not written: {'; '.join(reasons)}"
        yield Finding(CONDITION, "True", NOT_REACHABLE, message)
    elif has_console(resource) and facts.console and is_url_inside(facts.console[PUBLIC]):
        how = "set noVNCProxyServiceTemplate.override.service.spec.type to NodePort or LoadBalancer"
        message = f"Secret {facts.name}-compute-config has no URL for consoles, because browsers cannot reach it; {how}"
        yield Finding(CONDITION, "True", NOT_REACHABLE, message)


def missing(facts: CellFacts) -> Iterator[str]:
    """Yield what machines outside of the cluster cannot reach, each with what to do about it."""
    if _identity(facts.identity) is None:
        yield (
            f"Keystone's URL {facts.identity.public_url} is a name of the cluster; set "
            "override.service.public.spec.type of its KeystoneAPI to NodePort or LoadBalancer, or endpointURL"
        )
    for broker in (facts.outside_messaging, facts.outside_notifications):
        if broker is not None and broker.why:
            yield broker.why


def configuration(resource: NovaCell, facts: CellFacts) -> Ini:
    """Return nova.conf of a machine outside; what depends on the machine itself, it adds."""
    found = _identity(facts.identity)
    assert found is not None  # noqa: S101  else nothing is written
    identity, interface = found
    told, sent = facts.notifications, facts.outside_notifications
    reached = replace(
        facts,
        identity=identity,
        messaging=replace(facts.messaging, transport_url=facts.outside_messaging.transport_url),
        notifications=replace(told, transport_url=sent.transport_url)
        if told is not None and sent is not None
        else None,
    )
    return settings.outside_compute(reached, interface, _console(resource, facts))


def has_console(resource: NovaCell) -> bool:
    """Return whether the cell has a noVNC proxy."""
    return has_novncproxy(resource.spec.cellName, resource.spec.noVNCProxyServiceTemplate)


def _waits_for_console(resource: NovaCell, facts: CellFacts) -> bool:
    return has_console(resource) and PUBLIC not in facts.console


def _console(resource: NovaCell, facts: CellFacts) -> str | None:
    """Return the page that users open for a console; "" where they cannot reach it, None without consoles."""
    if not has_console(resource):
        return None
    url = facts.console[PUBLIC]
    return "" if is_url_inside(url) else f"{url.rstrip('/')}/{PAGE}"


def _identity(identity: IdentityFacts) -> tuple[IdentityFacts, str] | None:
    """Return Keystone as machines outside reach it, and the interface by which they find others; None if they cannot.

    Where Keystone's internal URL is a name of the cluster, so are those of the other services.
    """
    for interface, url in ((INTERNAL, identity.url), (PUBLIC, identity.public_url)):
        if not is_url_inside(url):
            return replace(identity, url=url), interface
    return None


def _user(broker: OutsideFacts) -> str:
    return unquote(urlsplit(broker.transport_url).netloc.partition(":")[0])
