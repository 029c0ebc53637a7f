"""Barbican's blueprint as plain functions: its configuration, its values, and what is refused."""

import json
from typing import Any

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.blueprint import configuration, ini, policies, values
from stackwright.blueprint.facts import BrokerFacts, DatabaseFacts, Endpoints, IdentityFacts
from stackwright.kube.resource import R
from stackwright.services.barbican.kinds import Barbican, BarbicanSpec
from stackwright.services.barbican.service import SERVICE, BarbicanFacts

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


def nobody(kind: type[R], name: str, **_: str) -> R | None:
    return None


def problems(resource: Barbican) -> dict[str, str]:
    assert SERVICE.problems is not None
    return dict(SERVICE.problems(resource, nobody))


def test_the_configuration_has_the_key_the_schema_the_broker_and_who_asks_keystone() -> None:
    parsed = ini.parse(configuration.secret_data(SERVICE, barbican(), FACTS)["01-barbican.conf"])
    assert not isinstance(parsed, ini.Problem)
    assert parsed["simple_crypto_plugin"]["kek"] == (KEY,)
    assert parsed["DEFAULT"]["transport_url"] == ("rabbit://user:hop@rabbitmq.openstack.svc:5672/",)
    assert parsed["DEFAULT"]["use_stderr"] == ("true",)
    assert parsed["queue"]["enable"] == ("true",)
    assert parsed["database"]["connection"][0].startswith("mysql+pymysql://barbican:p%40ss%2Fword@openstack.")
    assert parsed["keystone_authtoken"]["password"] == ("secret word",)


def test_each_part_starts_by_its_own_contract() -> None:
    data = configuration.secret_data(SERVICE, barbican(), FACTS)
    contracts = {name.removesuffix(".json"): json.loads(text) for name, text in data.items() if name.endswith(".json")}
    assert {name: contract["command"].split()[0] for name, contract in contracts.items()} == {
        "api": "uwsgi",
        "worker": "python3",
        "db-sync": "barbican-manage",
        "db-clean": "barbican-manage",
    }


def test_what_one_part_says_rolls_that_part_alone() -> None:
    def hashes(**spec: Any) -> dict[str, str]:
        components = values.values(SERVICE, barbican(**spec), FACTS)["components"]
        return {name: component["hash"] for name, component in components.items()}

    before = hashes()
    after = hashes(barbicanWorker={"customServiceConfig": "[queue]\nasynchronous_workers = 2"})
    assert after["api"] == before["api"]
    assert after["worker"] != before["worker"]
    both = hashes(customServiceConfig="[DEFAULT]\ndebug = true")
    assert {name for name in both if both[name] != before[name]} == {"api", "worker"}


def test_each_part_has_its_own_size_and_takes_the_nodes_of_the_whole_unless_it_says_others() -> None:
    said = {"nodeSelector": {"disk": "fast"}, "barbicanWorker": {"replicas": 3, "nodeSelector": {"disk": "slow"}}}
    components = values.values(SERVICE, barbican(**said), FACTS)["components"]
    assert {name: (part["replicas"], part["nodeSelector"]) for name, part in components.items()} == {
        "api": (1, {"disk": "fast"}),
        "worker": (3, {"disk": "slow"}),
    }


def test_its_pods_have_a_way_to_the_broker() -> None:
    assert policies.pod_labels(SERVICE, barbican()) == {
        "database.needs.openstack.org/openstack": "true",
        "broker.needs.openstack.org/rabbitmq": "true",
    }
    ways = policies.rules(SERVICE, barbican(), FACTS, policies.Surroundings())["egress"]
    assert [{"port": 5672, "protocol": "TCP"}] in [way.get("ports") for way in ways]


def test_no_secret_is_among_the_values() -> None:
    text = json.dumps(values.values(SERVICE, barbican(), FACTS))
    for secret in (KEY, "p@ss/word", "secret word", "hop@"):
        assert secret not in text


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "an application credential": (
        {"auth": {"applicationCredentialSecret": "ac"}},
        "spec.auth.applicationCredentialSecret",
        "application credentials are not supported yet",
    ),
    "a URL with a slash at the end": (
        {"barbicanAPI": {"override": {"service": {"public": {"endpointURL": "http://barbican.example/"}}}}},
        "spec.barbicanAPI.override.service.public.endpointURL",
        "without / at the end",
    ),
}


@pytest.mark.parametrize(("spec", "path", "words"), [pytest.param(*case, id=name) for name, case in REFUSED.items()])
def test_what_cannot_be_is_refused_by_its_field(spec: dict[str, Any], path: str, words: str) -> None:
    found = problems(barbican(**spec))
    assert list(found) == [path]
    assert words in found[path]


def test_what_can_be_is_not_refused() -> None:
    urls = {interface: {"endpointURL": "https://cloud.example/keys"} for interface in ("public", "internal")}
    assert problems(barbican(barbicanAPI={"override": {"service": urls}})) == {}


def test_a_worker_shows_that_it_has_read_its_configuration_unless_it_is_started_otherwise() -> None:
    def worker(**spec: Any) -> Any:
        return values.values(SERVICE, barbican(**spec), FACTS)["components"]["worker"]

    assert worker()["started"] in configuration.secret_data(SERVICE, barbican(), FACTS)["daemon.py"]
    assert "started" not in worker(barbicanWorker={"kollaConfig": {"command": "barbican-worker --mine"}})
