"""The longest name of each kind, by what is really made of it; one character more is refused with a sentence."""

from collections.abc import Callable, Iterator, Mapping

import pytest

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.api.forms import LONGEST_NAME
from stackwright.api.keystone import KeystoneEndpoint, KeystoneService
from stackwright.api.mariadb import MariaDBAccount, MariaDBDatabase
from stackwright.api.rabbitmq import TransportURL
from stackwright.api.topology import Topology
from stackwright.blueprint import names, object_names
from stackwright.controllers.broker import secrets
from tests.unit.controllers.dataplane.made_names import MAKES, longest, made, refused

LABEL = 63
# A name of so many characters, and how many it may have.
Made = Iterator[tuple[str, int]]


def of_url(name: str) -> Made:
    plain = secrets.url_name(name, "user", frozenset())
    yield plain, LONGEST_NAME
    yield secrets.url_name(name, "user", frozenset({plain})), LONGEST_NAME


def of_database(name: str) -> Made:
    # Its accounts name it in a label.
    yield name, LABEL
    yield names.schema(name), names.LONGEST_SCHEMA


def of_user(name: str) -> Made:
    yield names.database_user(name), names.LONGEST_USER


def of_nothing(_: str) -> Made:
    yield from ()


OTHERS: Mapping[type[CustomResource], tuple[int, Callable[[str], Made]]] = {
    TransportURL: (221, of_url),
    MariaDBDatabase: (63, of_database),
    MariaDBAccount: (LONGEST_NAME, of_user),
    # What is noted of them has a name that is shortened.
    KeystoneService: (LONGEST_NAME, of_nothing),
    KeystoneEndpoint: (LONGEST_NAME, of_nothing),
    Topology: (LONGEST_NAME, of_nothing),
    services.control_plane(): (LONGEST_NAME, of_nothing),
}
WITH_BLUEPRINT = [kind for kind in services.kinds() if services.blueprint_of(kind) is not None]


def test_each_kind_is_looked_at_somewhere() -> None:
    assert {*OTHERS, *MAKES, *WITH_BLUEPRINT} == set(services.kinds())


@pytest.mark.parametrize("kind", OTHERS, ids=lambda kind: kind.kind.name)
def test_the_longest_name_makes_names_that_there_can_be(kind: type[CustomResource]) -> None:
    most, makes = OTHERS[kind]
    assert longest(kind) == most
    assert all(len(name) <= limit for name, limit in makes("n" * most))
    if most < LONGEST_NAME:
        assert any(len(name) > limit for name, limit in makes("n" * (most + 1)))
        sentence = refused(made(kind, "n" * (most + 1)))["metadata.name"]
        assert f"must have {most} characters or less, and has {most + 1}: " in sentence


@pytest.mark.parametrize("kind", WITH_BLUEPRINT, ids=lambda kind: kind.kind.name)
def test_the_longest_name_of_a_service_fits_its_objects(kind: type[CustomResource]) -> None:
    blueprint = services.blueprint_of(kind)
    assert blueprint is not None
    most = longest(kind)
    resource = made(kind, "n" * most)
    # Of names that are no label's, 253 characters are allowed, and Jobs are shortened.
    assert all(len(name) <= LONGEST_NAME for name in object_names.of_release(blueprint, resource))
    for endpoint in blueprint.endpoints_of(resource):
        for interface in endpoint.interfaces:
            assert len(f"{'n' * most}-{endpoint.key(interface)}") <= LABEL
    for component in blueprint.components_of(resource):
        suffix = component.name if component.suffix is None else component.suffix
        if component.workload == "StatefulSet":
            # A label of its pods: a dash and ten characters follow.
            assert len(f"{'n' * most}{f'-{suffix}' if suffix else ''}-0123456789") <= LABEL
    assert "characters or less, and has " in refused(made(kind, "n" * (most + 1)))["metadata.name"]
