"""Placement's blueprint as plain functions: its configuration, its values, and what is refused."""

import json
from dataclasses import replace
from typing import Any

import pytest

from stackwright.blueprint import configuration, ini, values
from stackwright.kube.resource import R
from stackwright.services.placement.kinds import PlacementAPI
from stackwright.services.placement.service import SERVICE
from tests.unit.services.placements import FACTS, placement


def nobody(kind: type[R], name: str, **_: str) -> R | None:
    return None


def problems(resource: PlacementAPI) -> dict[str, str]:
    assert SERVICE.problems is not None
    return dict(SERVICE.problems(resource, nobody))


def test_the_configuration_says_where_the_schema_is_and_who_asks_keystone() -> None:
    data = configuration.secret_data(SERVICE, placement(), FACTS)
    parsed = ini.parse(data["01-placement.conf"])
    assert not isinstance(parsed, ini.Problem)
    (connection,) = parsed["placement_database"]["connection"]
    assert connection.startswith("mysql+pymysql://placement:p%40ss%2Fword@openstack.openstack.svc:3306/placement")
    login = {name: said[-1] for name, said in parsed["keystone_authtoken"].items()}
    assert (login["auth_url"], login["username"], login["password"]) == (
        "http://keystone:5000",
        "placement",
        "secret word",
    )
    # It has no broker, no cache, and no section of another schema.
    assert set(parsed) == {"DEFAULT", "placement_database", "keystone_authtoken", "oslo_middleware"}


def test_each_part_starts_by_its_own_contract_and_reads_the_same_files() -> None:
    data = configuration.secret_data(SERVICE, placement(), FACTS)
    contracts = {name.removesuffix(".json"): json.loads(text) for name, text in data.items() if name.endswith(".json")}
    assert {name: contract["command"].split()[0] for name, contract in contracts.items()} == {
        "api": "uwsgi",
        "db-sync": "placement-manage",
        "online-data-migrations": "placement-manage",
    }
    assert len({json.dumps(contract["config_files"]) for contract in contracts.values()}) == 1


def test_data_is_migrated_only_when_somebody_asks() -> None:
    jobs = values.values(SERVICE, placement(), FACTS)["jobs"]
    assert set(jobs) == {"db-sync"}
    assert "migrate-data" in SERVICE.known_actions


def test_no_secret_is_among_the_values() -> None:
    text = json.dumps(values.values(SERVICE, placement(), FACTS))
    assert "p@ss/word" not in text
    assert "secret word" not in text


REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "an application credential": (
        {"auth": {"applicationCredentialSecret": "ac"}},
        "spec.auth.applicationCredentialSecret",
        "application credentials are not supported yet",
    ),
    "a URL with a slash at the end": (
        {"override": {"service": {"public": {"endpointURL": "http://placement.example/"}}}},
        "spec.override.service.public.endpointURL",
        "without / at the end",
    ),
}


@pytest.mark.parametrize(("spec", "path", "words"), [pytest.param(*case, id=name) for name, case in REFUSED.items()])
def test_what_cannot_be_is_refused_by_its_field(spec: dict[str, Any], path: str, words: str) -> None:
    found = problems(placement(**spec))
    assert list(found) == [path]
    assert words in found[path]


def test_what_can_be_is_not_refused() -> None:
    urls = {interface: {"endpointURL": "https://cloud.example/placement"} for interface in ("public", "internal")}
    assert problems(placement(override={"service": urls})) == {}


def test_an_empty_schema_in_place_of_a_lost_one_has_its_tables_made_and_the_pods_restart() -> None:
    again = replace(FACTS, database=replace(FACTS.database, identity="1f2e"))
    before, after = (values.values(SERVICE, placement(), facts) for facts in (FACTS, again))
    assert before["jobs"]["db-sync"]["hash"] != after["jobs"]["db-sync"]["hash"]
    assert before["components"]["api"]["hash"] != after["components"]["api"]["hash"]


def test_the_first_schema_is_known_as_before_there_were_marks() -> None:
    assert FACTS.database.place == {"hostname": "openstack.openstack.svc", "schema": "placement"}
