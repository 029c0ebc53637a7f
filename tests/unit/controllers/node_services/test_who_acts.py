"""Who has to act for an agent that lacks what others write: they are at it, or somebody told them not to."""

from typing import Any

import pytest

from stackwright.controllers.node_services.preparation import prepare
from stackwright.kube.builtin import ConfigMap
from stackwright.kube.plan import Ends, Wait
from stackwright.kube.resource import Resource
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.ovn.kinds import OVNDBCluster
from tests.unit.controllers.node_services.place import AGENT, AROUND, READY, agent, made, seeing

NETWORK, METADATA = "ovncontroller-config", "nova-metadata-compute-config"


def south(kind: str, **status: Any) -> OVNDBCluster:
    override = {"service": {"spec": {"type": kind}}} if kind else {}
    spec = {"dbType": "SB", "storageRequest": "1G", "override": override}
    return made(OVNDBCluster, "ovndbcluster-sb", spec=spec, status={**READY, **status})


def nova(**metadata: Any) -> Nova:
    return made(Nova, "nova", spec={"secret": "s", "metadataServiceTemplate": metadata})


@pytest.mark.parametrize(
    ("without", "others", "ends", "words"),
    [
        pytest.param(
            (NETWORK, "ovndbcluster-sb"), (), Ends.BY_AUTHOR, "create OVNDBCluster ovndbcluster-sb", id="no-database"
        ),
        pytest.param(
            (NETWORK,),
            (south(""),),
            Ends.BY_USER,
            "set its override.service.spec.type",
            id="nobody-outside-may-reach-it",
        ),
        pytest.param((NETWORK,), (south("NodePort"),), Ends.BY_ITSELF, "has not written", id="it-has-no-address-yet"),
        pytest.param(
            (METADATA,), (nova(enabled=False),), Ends.BY_USER, "set metadataServiceTemplate.enabled", id="no-metadata"
        ),
        pytest.param((METADATA,), (nova(),), Ends.BY_ITSELF, "NovaMetadata nova-metadata writes it", id="not-written"),
        pytest.param((METADATA,), (), Ends.BY_ITSELF, "NovaMetadata nova-metadata writes it", id="nova-is-not-seen"),
    ],
)
def test_who_ends_it(without: tuple[str, ...], others: tuple[Resource, ...], ends: Ends, words: str) -> None:
    found = prepare(AGENT, agent(), seeing(*others, without=without), AROUND)
    assert isinstance(found, Wait)
    assert found.ends is ends
    assert words in found.message


def test_a_database_that_is_reached_is_asked_about_nothing() -> None:
    config = made(ConfigMap, NETWORK, data={"ovsdb-config": "ovn-remote: tcp:192.0.2.9:6642\n"})
    there = seeing(south("", dbAddress="tcp:192.0.2.9:6642"), config)
    assert not isinstance(prepare(AGENT, agent(), there, AROUND), Wait)
