"""A Barbican, and the facts that it is told."""

from typing import Any

import msgspec

from stackwright.api.base import ObjectMeta
from stackwright.blueprint.facts import Endpoints
from stackwright.blueprint.needs.broker import BrokerFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.services.barbican.kinds import Barbican, BarbicanSpec
from stackwright.services.barbican.settings import BarbicanFacts

KEY = "b3BlbnMtZXZlcnktZG9vci1vZi10aGUtaG91c2UtLS0="

FACTS = BarbicanFacts(
    name="barbican",
    namespace="openstack",
    image="registry.example/openstack:1",
    endpoints=Endpoints("http://public.example:9311", "http://barbican-internal.openstack.svc:9311"),
    passwords={"simplecryptokek": KEY},
    database=DatabaseFacts("openstack.openstack.svc", 3306, "barbican", "barbican", "p@ss/word"),
    messaging=BrokerFacts("rabbit://user:hop@rabbitmq.openstack.svc:5672/", quorum_queues=True),
    identity=IdentityFacts("http://keystone:5000", "http://public:5000", "regionOne", "barbican", "secret word"),
)


def barbican(**spec: Any) -> Barbican:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    return Barbican(metadata=ObjectMeta(name="barbican"), spec=msgspec.convert(said, BarbicanSpec))
