"""A Glance, and the facts that it is told."""

from typing import Any

import msgspec

from stackwright.blueprint.needs.cache import CacheFacts
from stackwright.blueprint.needs.database import DatabaseFacts
from stackwright.blueprint.needs.login import IdentityFacts
from stackwright.services.glance.kinds import Glance
from stackwright.services.glance.settings import GlanceFacts


def glance(**spec: Any) -> Glance:
    said = {"databaseInstance": "openstack", "secret": "osp-secret", **spec}
    return msgspec.convert({"metadata": {"name": "glance", "namespace": "openstack"}, "spec": said}, Glance)


def facts(**further: Any) -> GlanceFacts:
    return GlanceFacts(
        name="glance",
        namespace="openstack",
        image="glance:1",
        database=DatabaseFacts("openstack.openstack.svc", 3306, "glance", "glance", "database-password"),
        cache=CacheFacts(("memcached-0:11211",)),
        notifications=None,
        identity=IdentityFacts("http://internal:5000", "http://public:5000", "regionOne", "glance", "user-password"),
        **further,
    )
