"""A Placement, and the facts that it is told."""

from typing import Any

import msgspec

from stackwright.api.base import ObjectMeta
from stackwright.blueprint.facts import Endpoints
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.services.placement.kinds import PlacementAPI, PlacementAPISpec
from stackwright.services.placement.service import PlacementFacts

FACTS = PlacementFacts(
    name="placement",
    namespace="openstack",
    image="registry.example/openstack:1",
    endpoints=Endpoints("http://public.example:8778", "http://placement-internal.openstack.svc:8778"),
    database=DatabaseFacts("openstack.openstack.svc", 3306, "placement", "placement", "p@ss/word"),
    identity=IdentityFacts("http://keystone:5000", "http://public:5000", "regionOne", "placement", "secret word"),
)


def placement(**spec: Any) -> PlacementAPI:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    return PlacementAPI(metadata=ObjectMeta(name="placement"), spec=msgspec.convert(said, PlacementAPISpec))
