"""Barbican's blueprint as plain functions: its configuration, its values, and what is refused."""

import json
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stackwright.blueprint import configuration, ini, policies, values
from stackwright.blueprint.digests import digest
from stackwright.blueprint.needs import Messaging
from stackwright.blueprint.needs.broker import BROKER, BrokerFacts
from stackwright.controllers.service import losses
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import R
from stackwright.services.barbican.kinds import Barbican
from stackwright.services.barbican.service import SERVICE
from stackwright.services.barbican.settings import BarbicanFacts
from tests.unit.services.barbicans import FACTS, KEY, barbican


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


def sections(key: str, facts: BarbicanFacts = FACTS, **spec: Any) -> ini.Sections:
    parsed = ini.parse(configuration.secret_data(SERVICE, barbican(**spec), facts)[key])
    assert not isinstance(parsed, ini.Problem)
    return parsed


OTHER = BrokerFacts("rabbit://ear:drum@other.openstack.svc:5672/", quorum_queues=False)


@pytest.mark.parametrize(
    ("facts", "url"),
    [
        pytest.param(replace(FACTS, notifications=OTHER), OTHER.transport_url, id="where-keystone-notifies"),
        pytest.param(FACTS, FACTS.messaging.transport_url, id="else-at-its-own-broker"),
    ],
)
def test_the_listener_hears_keystone_and_takes_nothing_from_others(facts: BarbicanFacts, url: str) -> None:
    said = {"barbicanKeystoneListener": {"replicas": 2}}
    listener = sections("keystone-listener-01-barbican.conf", facts, **said)
    assert listener["DEFAULT"]["transport_url"] == (url,)
    assert listener["keystone_notifications"] == {"enable": ("true",), "pool_name": ("barbican-listener",)}
    # The others go on as before.
    assert sections("01-barbican.conf", facts, **said) == sections("01-barbican.conf")
    assert values.values(SERVICE, barbican(**said), facts)["components"]["keystone-listener"]["replicas"] == 2


@pytest.mark.parametrize(
    ("spec", "brokers"),
    [
        pytest.param({}, {"rabbitmq"}, id="nobody-listens"),
        pytest.param({"barbicanKeystoneListener": {"replicas": 0}}, {"rabbitmq", "other"}, id="somebody-may"),
    ],
)
def test_a_broker_of_notifications_is_for_the_listener_alone(spec: dict[str, Any], brokers: set[str]) -> None:
    resource = barbican(notificationsBus={"cluster": "other"}, **spec)
    named = {need.provided_by(resource) for need in SERVICE.needs_of(resource) if need.word == BROKER}
    assert named - {""} == brokers
    parts = values.values(SERVICE, resource, FACTS)["components"]
    assert ("keystone-listener" in parts) == bool(spec)


@pytest.mark.parametrize(
    ("spec", "cluster"),
    [
        pytest.param({}, "rabbitmq", id="the-usual-one"),
        pytest.param({"rabbitMqClusterName": "older"}, "older", id="by-the-older-field"),
        pytest.param({"rabbitMqClusterName": ""}, "rabbitmq", id="by-the-older-field-which-is-empty"),
        pytest.param({"rabbitMqClusterName": "older", "messagingBus": {"cluster": "new"}}, "new", id="by-both"),
    ],
)
def test_the_broker_is_named_by_either_field(spec: dict[str, Any], cluster: str) -> None:
    (need,) = (need for need in SERVICE.needs if isinstance(need, Messaging))
    assert need.provided_by(barbican(**spec)) == cluster


def test_a_component_may_have_an_image_of_its_own() -> None:
    said = values.values(SERVICE, barbican(barbicanWorker={"containerImage": "mine/worker:1"}), FACTS)
    assert said["image"] == FACTS.image
    images = {name: part.get("image") for name, part in said["components"].items()}
    assert images == {"api": None, "worker": "mine/worker:1"}
    # The jobs run what the API runs.
    assert SERVICE.asked_image(barbican(barbicanAPI={"containerImage": "mine/api:1"})) == "mine/api:1"
    assert SERVICE.asked_image(barbican(containerImage="a:1", barbicanAPI={"containerImage": "b:1"})) == "a:1"
    assert not SERVICE.asked_image(barbican())


@pytest.mark.parametrize(
    ("spec", "seconds"),
    [
        pytest.param({}, 90, id="the-usual-time"),
        pytest.param({"apiTimeout": 30}, 30, id="of-the-whole"),
        pytest.param({"apiTimeout": 30, "barbicanAPI": {"apiTimeout": 0}}, 30, id="0-leaves-it-to-the-whole"),
        pytest.param({"apiTimeout": 30, "barbicanAPI": {"apiTimeout": 60}}, 60, id="of-the-api"),
    ],
)
def test_a_request_has_its_time(spec: dict[str, Any], seconds: int) -> None:
    contract = json.loads(configuration.secret_data(SERVICE, barbican(**spec), FACTS)["api.json"])
    assert f"--harakiri {seconds} " in contract["command"]


def test_a_component_has_files_and_snippets_of_its_own_beside_those_of_the_whole() -> None:
    facts = replace(FACTS, snippets={"mine": {"a.conf": "[DEFAULT]\ndebug = true\n"}})
    own = {"defaultConfigOverwrite": {"policy.yaml": "theirs"}, "customServiceConfigSecrets": ["mine"]}
    whole = {"policy.yaml": "ours", "other.yaml": "ours"}
    data = configuration.secret_data(SERVICE, barbican(defaultConfigOverwrite=whole, barbicanWorker=own), facts)

    def copied(contract: str) -> dict[str, str]:
        copies = json.loads(data[contract])["config_files"]
        return {copy["dest"]: data[copy["source"].rpartition("/")[-1]] for copy in copies}

    api, worker = copied("api.json"), copied("worker.json")
    assert (api["/etc/barbican/policy.yaml"], worker["/etc/barbican/policy.yaml"]) == ("ours", "theirs")
    assert worker["/etc/barbican/other.yaml"] == "ours"
    assert worker["/etc/barbican/barbican.conf.d/04-00-mine-a.conf"] == "[DEFAULT]\ndebug = true\n"
    assert not [place for place in api if "mine" in place]


def test_the_older_policies_can_be_kept() -> None:
    assert "oslo_policy" not in sections("01-barbican.conf")
    older = sections("01-barbican.conf", barbicanAPI={"enableSecureRBAC": False})["oslo_policy"]
    assert older == {"enforce_new_defaults": ("false",), "enforce_scope": ("false",)}


def test_earlier_keys_still_open_what_they_have_closed() -> None:
    selectors = {"passwordSelectors": {"simplecryptoadditionalkeks": ["OldKEK"]}}
    facts = replace(FACTS, passwords={"simplecryptokek": KEY, "simplecryptokek.OldKEK": "old"})
    assert sections("01-barbican.conf", facts, **selectors)["simple_crypto_plugin"]["kek"] == (KEY, "old")


def test_a_key_may_be_replaced_only_where_the_old_one_stays_beside_it() -> None:
    before = {"key-simplecryptokek": digest({"key": "old"})}
    resource = barbican(passwordSelectors={"simplecryptoadditionalkeks": ["OldKEK"]}, simpleCryptoBackendSecret="keys")
    resource = msgspec.structs.replace(resource, status=msgspec.structs.replace(resource.status, hash=before))
    kept = replace(FACTS, passwords={"simplecryptokek": KEY, "simplecryptokek.OldKEK": "old"})
    losses.refuse_other_keys(SERVICE, resource, kept, "InputReady")
    lost = replace(FACTS, passwords={"simplecryptokek": KEY, "simplecryptokek.OldKEK": "another"})
    with pytest.raises(Blocked, match="Secret keys has another BarbicanSimpleCryptoKEK than the one with which"):
        losses.refuse_other_keys(SERVICE, resource, lost, "InputReady")


def noted(hashes: dict[str, str], lost: str = "") -> Any:
    resource = barbican(passwordSelectors={"simplecryptoadditionalkeks": ["OldKEK"]})
    annotations = {"openstack.org/accept-loss": lost} if lost else {}
    return msgspec.structs.replace(
        resource,
        metadata=msgspec.structs.replace(resource.metadata, annotations=annotations),
        status=msgspec.structs.replace(resource.status, hash=hashes),
    )


def test_the_key_before_the_last_one_has_to_stay_too() -> None:
    first, second = digest({"key": "first"}), digest({"key": "second"})
    keys = {"simplecryptokek": "second", "simplecryptokek.OldKEK": "first"}
    both = replace(FACTS, passwords=keys)
    seen = noted({"key-simplecryptokek": first})
    hashes = losses.name_secrets(SERVICE, seen, both, nobody)
    assert hashes == {"key-simplecryptokek": second, f"key-simplecryptokek.{first}": first}
    losses.refuse_other_keys(SERVICE, noted(hashes), both, "InputReady")
    alone = replace(FACTS, passwords={"simplecryptokek": "second"})
    with pytest.raises(Blocked, match=f"beside BarbicanSimpleCryptoKEK no longer every key.*accept-loss: {first} on"):
        losses.refuse_other_keys(SERVICE, noted(hashes), alone, "InputReady")
    third = replace(FACTS, passwords={"simplecryptokek": "third", "simplecryptokek.OldKEK": "second"})
    with pytest.raises(Blocked, match=f"accept-loss: {first} on"):
        losses.refuse_other_keys(SERVICE, noted(hashes), third, "InputReady")

    # A loss that was accepted is forgotten, with the annotation or without it.
    accepted = noted(hashes, lost=first)
    losses.refuse_other_keys(SERVICE, accepted, alone, "InputReady")
    hashes |= losses.name_secrets(SERVICE, accepted, alone, nobody)
    losses.refuse_other_keys(SERVICE, noted(hashes), alone, "InputReady")


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param({}, [("BarbicanSimpleCryptoKEK", "")], id="beside-the-password"),
        pytest.param({"simpleCryptoBackendSecret": "osp-secret"}, [("BarbicanSimpleCryptoKEK", "")], id="the-same"),
        pytest.param({"simpleCryptoBackendSecret": "keys"}, [("BarbicanSimpleCryptoKEK", "keys")], id="another"),
        pytest.param(
            {"passwordSelectors": {"simplecryptoadditionalkeks": ["Old"]}, "simpleCryptoBackendSecret": "keys"},
            [("BarbicanSimpleCryptoKEK", "keys")],
            id="an-earlier-one-is-never-made-up",
        ),
    ],
)
def test_the_keys_stand_where_the_resource_says(spec: dict[str, Any], expected: list[tuple[str, str]]) -> None:
    resource = barbican(**spec)
    asked = [password for need in SERVICE.needs_of(resource) for password in need.passwords(resource)]
    assert [(password.key, password.secret) for password in asked if password.fernet] == expected


def volume(name: str, *propagation: str) -> dict[str, Any]:
    mounts = [{"name": name, "mountPath": f"/{name}"}]
    return {"propagation": list(propagation), "volumes": [{"name": name, "emptyDir": {}}], "mounts": mounts}


def test_further_volumes_are_for_the_parts_that_they_name() -> None:
    entries = [volume("all"), volume("both", "Barbican"), volume("one", "BarbicanAPI"), volume("none", "Nova")]
    components = values.values(SERVICE, barbican(extraMounts=[{"extraVol": entries}]), FACTS)["components"]
    names = {name: [entry["name"] for entry in part["extraVolumes"]] for name, part in components.items()}
    assert names == {"api": ["all", "both", "one"], "worker": ["all", "both"]}


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
    "a hardware security module": (
        {"pkcs11": {"loginSecret": "hsm", "clientDataSecret": "hsm"}},
        "spec.pkcs11",
        "hardware security modules are not supported yet",
    ),
    "its store": (
        {"enabledSecretStores": ["simple_crypto", "pkcs11"]},
        "spec.enabledSecretStores",
        "not supported yet",
    ),
    "its store by default": ({"globalDefaultSecretStore": "pkcs11"}, "spec.globalDefaultSecretStore", "not supported"),
    "a file that is no file": (
        {"barbicanWorker": {"defaultConfigOverwrite": {"a/b": "x"}}},
        "spec.barbicanWorker.defaultConfigOverwrite[a/b]",
        "is not a file name",
    ),
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
    stores = {"enabledSecretStores": ["simple_crypto"], "globalDefaultSecretStore": "simple_crypto", "pkcs11": {}}
    assert problems(barbican(**stores)) == {}


def test_a_worker_shows_that_it_has_read_its_configuration_unless_it_is_started_otherwise() -> None:
    def worker(**spec: Any) -> Any:
        return values.values(SERVICE, barbican(**spec), FACTS)["components"]["worker"]

    assert worker()["started"] in configuration.secret_data(SERVICE, barbican(), FACTS)["daemon.py"]
    assert "started" not in worker(barbicanWorker={"kollaConfig": {"command": "barbican-worker --mine"}})
