"""A broker as machines outside of the cluster reach it."""

from dataclasses import dataclass, field
from typing import Any

from stackwright.blueprint.needs.broker import BROKER, BrokerFacts
from stackwright.blueprint.needs.need import Need, Resolved
from stackwright.blueprint.outside_addresses import is_broker_inside, lead_to
from stackwright.blueprint.providers import Sight


@dataclass(frozen=True)
class OutsideFacts:
    """How machines outside of the cluster log in to a broker; where they cannot, `why` says what to do about it."""

    transport_url: str = field(default="", repr=False)
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class OutsideBroker(Need):
    """The broker of another need, for machines outside of the cluster. Nothing waits for it.

    The fact is None where there is no broker.
    """

    broker: Need

    def resolve(self, resource: Any, sight: Sight) -> Resolved:
        """Return how they log in, or why they cannot."""
        given = self.broker.resolve(resource, sight)
        # What is missing, the other need says.
        fact = _find(given.fact, sight) if given.fact is not None else None
        return Resolved(ready=given.ready, fact=fact)


def _find(fact: BrokerFacts, sight: Sight) -> OutsideFacts:
    if not is_broker_inside(fact.transport_url):
        return OutsideFacts(fact.transport_url)
    if not fact.server:
        return OutsideFacts(why=f"the broker in Secret {fact.secret} has a host name of the cluster; name another one")
    broker = sight.provider(BROKER, fact.server)
    if broker.offer is not None and broker.offer.outside:
        return OutsideFacts(lead_to(fact.transport_url, broker.offer.outside))
    return OutsideFacts(
        why=f"{broker} has no address outside of the cluster; set its spec.override.service.spec.type to NodePort or "
        "LoadBalancer"
    )
