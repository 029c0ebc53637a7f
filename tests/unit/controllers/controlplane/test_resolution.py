"""Which resources a control plane stands for, and what they say."""

import pytest

from stackwright import services
from stackwright.api.base import JsonObject
from stackwright.controllers.controlplane.resolution import resolve
from tests.unit.controllers.controlplane.umbrellas import instances, umbrella

EVERYTHING = {"KeystoneAPI keystone", "Galera openstack", "Memcached memcached"}
ELSEWHERE = {
    "externalKeystoneAPI": True,
    "override": {"service": {end: {"endpointURL": "https://a"} for end in ("public", "internal")}},
}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, set(), id="nothing-was-asked-for"),
        pytest.param({"galera": {}}, {"Galera openstack"}, id="a-section-without-templates-has-its-default"),
        pytest.param(
            {"galera": {"templates": {"a": {}, "b": {}}}}, {"Galera a", "Galera b"}, id="a-resource-for-each-template"
        ),
        pytest.param({"galera": {"enabled": False, "templates": {"a": {}}}}, set(), id="what-is-disabled-goes"),
        pytest.param({"keystone": {}}, EVERYTHING, id="what-is-needed-comes-too"),
        pytest.param({"keystone": {"enabled": False}}, set(), id="what-is-disabled-needs-nothing"),
        pytest.param(
            {"keystone": {"template": {"databaseInstance": "mine", "memcachedInstance": "fast"}}},
            {"KeystoneAPI keystone", "Galera mine", "Memcached fast"},
            id="needs-follow-the-names-in-the-template",
        ),
        pytest.param(
            {"keystone": {}, "notificationsBus": {"cluster": "bus"}},
            EVERYTHING | {"RabbitMq bus"},
            id="a-broker-is-needed-for-notifications",
        ),
        pytest.param(
            {"keystone": {}, "notificationsBusInstance": "old"},
            EVERYTHING | {"RabbitMq old"},
            id="a-broker-said-in-the-old-way",
        ),
        pytest.param(
            {"keystone": {"template": {"rabbitMqClusterName": "own"}}, "notificationsBus": {"cluster": "bus"}},
            EVERYTHING | {"RabbitMq own"},
            id="the-old-way-wins-over-the-umbrella",
        ),
        pytest.param({"notificationsBus": {"cluster": "bus"}}, set(), id="a-broker-that-nobody-uses-is-not-made"),
        pytest.param({"keystone": {"template": ELSEWHERE}}, {"KeystoneAPI keystone"}, id="elsewhere-needs-nothing"),
    ],
)
def test_resources(spec: JsonObject, expected: set[str]) -> None:
    assert set(instances(spec)) == expected


def test_an_empty_name_in_a_template_is_one_that_the_umbrella_fills() -> None:
    found = instances({"glance": {"template": {"secret": "", "databaseInstance": "", "storage": {"storageClass": ""}}}})

    said = found["Glance glance"].spec
    assert (said["secret"], said["databaseInstance"]) == ("osp-secret", "openstack")
    # An empty class is one of its own: the cluster's default.
    assert said["storage"]["storageClass"] == ""


def test_it_is_said_what_was_not_asked_for_and_who_needs_it() -> None:
    found = instances({"keystone": {}, "memcached": {}})

    assert found["Galera openstack"].needed_by == ("KeystoneAPI keystone",)
    assert not found["Galera openstack"].asked
    assert found["Memcached memcached"].asked
    assert found["Memcached memcached"].needed_by == ()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        pytest.param(
            {"dependencyPolicy": "Refuse"},
            ("KeystoneAPI keystone needs Galera openstack", "add spec.galera.templates.openstack", "Deploy"),
            id="refused",
        ),
        pytest.param(
            {"galera": {"enabled": False}},
            ("KeystoneAPI keystone needs Galera openstack", "spec.galera.enabled is false", "set it to true"),
            id="disabled",
        ),
        pytest.param(
            {"dependencyPolicy": "Refuse", "galera": {"templates": {"other": {}}}},
            ("needs Galera openstack", "add spec.galera.templates.openstack"),
            id="another-one-was-asked-for",
        ),
    ],
)
def test_a_need_that_cannot_be_met_is_a_sentence(spec: JsonObject, words: tuple[str, ...]) -> None:
    found = instances({"keystone": {}, "memcached": {}, **spec})

    (sentence,) = found["KeystoneAPI keystone"].unmet
    assert all(word in sentence for word in words), sentence
    assert "Galera openstack" not in found


NETWORKS = {"NeutronAPI neutron", "OVNDBCluster ovndbcluster-nb", "OVNDBCluster ovndbcluster-sb", "OVNNorthd ovnnorthd"}


def test_servers_get_networks() -> None:
    found = instances({"nova": {}})

    assert set(found) >= NETWORKS
    assert found["NeutronAPI neutron"].needed_by == ("Nova nova",)
    assert not any(found[name].asked for name in NETWORKS)


def test_nova_does_without_what_the_user_does_not_want() -> None:
    found = instances({"nova": {}, "neutron": {"enabled": False}})

    assert found["Nova nova"].unmet == ()
    assert not set(found) & NETWORKS
    assert {"PlacementAPI placement", "Glance glance"} <= set(found)


def test_nova_uses_the_neutron_of_somebody_else() -> None:
    found = instances({"nova": {}, "neutron": {"enabled": False}}, frozenset({("NeutronAPI", "neutron")}))

    assert found["NeutronAPI neutron"].foreign


def test_it_is_said_that_nova_can_do_without() -> None:
    asked: JsonObject = {"placement": {}, "glance": {}, "keystone": {}, "galera": {"templates": {"openstack": {}}}}
    found = instances({"nova": {}, "dependencyPolicy": "Refuse", **asked})

    (sentence,) = (one for one in found["Nova nova"].unmet if "NeutronAPI" in one)
    assert "add spec.neutron, or set spec.neutron.enabled to false" in sentence


@pytest.mark.parametrize(
    "spec",
    [{"dependencyPolicy": "Refuse"}, {"galera": {"enabled": False}}, {}],
    ids=["refused", "disabled", "deployed"],
)
def test_what_somebody_else_made_is_used(spec: JsonObject) -> None:
    found = instances({"keystone": {}, "memcached": {}, **spec}, frozenset({("Galera", "openstack")}))

    assert found["KeystoneAPI keystone"].unmet == ()
    assert found["Galera openstack"].foreign


def test_the_service_of_somebody_else_needs_nothing_of_us() -> None:
    assert set(instances({"keystone": {}}, frozenset({("KeystoneAPI", "keystone")}))) == {"KeystoneAPI keystone"}


@pytest.mark.parametrize(
    ("umbrella", "section", "name", "spec"),
    [
        pytest.param(
            {},
            {"keystone": {}},
            "KeystoneAPI keystone",
            {"secret": "osp-secret", "databaseInstance": "openstack"},
            id="the-least",
        ),
        pytest.param(
            {},
            {"keystone": {"template": {"secret": "own", "databaseInstance": "db", "replicas": 1}}},
            "KeystoneAPI keystone",
            {"secret": "own", "databaseInstance": "db", "replicas": 1},
            id="the-template-wins-and-a-default-that-was-said-is-said",
        ),
        pytest.param(
            {"nodeSelector": {"a": "b"}, "topologyRef": {"name": "spread"}, "notificationsBus": {"cluster": "bus"}},
            {"keystone": {}},
            "KeystoneAPI keystone",
            {
                "secret": "osp-secret",
                "databaseInstance": "openstack",
                "nodeSelector": {"a": "b"},
                "topologyRef": {"name": "spread"},
                "notificationsBus": {"cluster": "bus"},
            },
            id="what-holds-for-all",
        ),
        pytest.param(
            {"nodeSelector": {"a": "b"}},
            {"keystone": {"template": {"nodeSelector": {}}}},
            "KeystoneAPI keystone",
            {"secret": "osp-secret", "databaseInstance": "openstack", "nodeSelector": {}},
            id="any-node-is-a-word",
        ),
        pytest.param(
            {},
            {"galera": {"templates": {"openstack": {"replicas": 3}}}},
            "Galera openstack",
            {"replicas": 3, "storageClass": "fast", "storageRequest": "10G"},
            id="storage",
        ),
        pytest.param(
            {},
            {"rabbitmq": {"templates": {"rabbitmq": {"persistence": {"storage": "20Gi"}}}}},
            "RabbitMq rabbitmq",
            {"persistence": {"storage": "20Gi", "storageClassName": "fast"}},
            id="storage-in-a-part-that-was-said",
        ),
        pytest.param(
            {},
            {
                "keystone": {
                    "apiOverride": {
                        "service": {
                            "public": {"spec": {"type": "NodePort"}},
                            "internal": {"metadata": {"labels": {"a": "b"}}},
                        }
                    },
                    "template": {"override": {"service": {"public": {"spec": {"type": "LoadBalancer"}}}}},
                }
            },
            "KeystoneAPI keystone",
            {
                "secret": "osp-secret",
                "databaseInstance": "openstack",
                "override": {
                    "service": {
                        "public": {"spec": {"type": "LoadBalancer"}},
                        "internal": {"metadata": {"labels": {"a": "b"}}},
                    }
                },
            },
            id="the-section's-override-goes-below-the-template's",
        ),
        pytest.param(
            {},
            {
                "barbican": {
                    "apiOverride": {"service": {"public": {"spec": {"type": "NodePort"}}}},
                    "template": {"barbicanAPI": {"replicas": 2}},
                }
            },
            "Barbican barbican",
            {
                "secret": "osp-secret",
                "databaseInstance": "openstack",
                "barbicanAPI": {"replicas": 2, "override": {"service": {"public": {"spec": {"type": "NodePort"}}}}},
            },
            id="the-override-of-an-api-that-is-a-component",
        ),
        pytest.param(
            {},
            {
                "glance": {
                    "apiOverrides": {"default": {"service": {"public": {"spec": {"type": "NodePort"}}}}},
                    "template": {"glanceAPIs": {"default": {"replicas": 2}}},
                }
            },
            "Glance glance",
            {
                "secret": "osp-secret",
                "databaseInstance": "openstack",
                "storage": {"storageClass": "fast"},
                "glanceAPIs": {
                    "default": {"replicas": 2, "override": {"service": {"public": {"spec": {"type": "NodePort"}}}}}
                },
            },
            id="each-api-has-an-override-by-its-name",
        ),
        pytest.param(
            {},
            {
                "nova": {
                    "cellOverride": {
                        "cell1": {"noVNCProxy": {"service": {"public": {"spec": {"type": "NodePort"}}}}},
                        "cell9": {"noVNCProxy": {"service": {"public": {"spec": {"type": "NodePort"}}}}},
                    },
                    "template": {"cellTemplates": {"cell0": {}, "cell1": {}}},
                }
            },
            "Nova nova",
            {
                "secret": "osp-secret",
                "cellTemplates": {
                    "cell0": {},
                    "cell1": {"noVNCProxyServiceTemplate": {"override": {"service": {"spec": {"type": "NodePort"}}}}},
                },
            },
            id="an-entry-has-an-override-by-its-name-and-none-is-made",
        ),
        pytest.param(
            {},
            {
                "nova": {
                    "cellOverride": {"cell1": {"noVNCProxy": {"service": {"public": {"endpointURL": "http://vnc"}}}}}
                }
            },
            "Nova nova",
            {
                "secret": "osp-secret",
                "cellTemplates": {
                    "cell0": {"cellDatabaseAccount": "nova-cell0"},
                    "cell1": {
                        "cellDatabaseAccount": "nova-cell1",
                        "cellDatabaseInstance": "openstack-cell1",
                        "messagingBus": {"cluster": "rabbitmq-cell1"},
                        "noVNCProxyServiceTemplate": {"override": {"service": {"endpointURL": "http://vnc"}}},
                    },
                },
            },
            id="an-entry-that-there-is-by-default",
        ),
    ],
)
def test_a_resource_says_what_the_user_said_and_what_is_handed_down(
    umbrella: JsonObject, section: JsonObject, name: str, spec: JsonObject
) -> None:
    assert instances({**umbrella, **section})[name].spec == spec


def test_infrastructure_stays_when_nothing_needs_it_any_more_and_goes_when_somebody_says_so() -> None:
    left = {("Galera", "openstack"), ("Memcached", "memcached")}
    sections = services.sections()
    idle = resolve(umbrella({"keystone": {"enabled": False}}).spec, sections, (), left)
    assert {(instance.resource_name, instance.asked) for instance in idle} == {(identity, False) for identity in left}
    spec = {"keystone": {"enabled": False}, "memcached": {"enabled": False}}
    said = resolve(umbrella(spec).spec, sections, (), left)
    assert [instance.resource_name for instance in said] == [("Galera", "openstack")]
