"""Of two resources that share any name, one has its things for itself, and the other one is told so."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.api.mariadb import DATABASE_LABEL, SERVER_LABEL
from stackwright.blueprint import configuration
from stackwright.blueprint.needs import Cache, Snippets
from stackwright.controllers import admission
from stackwright.controllers.admission import Known
from stackwright.controllers.needs import sight
from stackwright.controllers.ownership import TAKEN, Around, check, claiming, claims, taken
from stackwright.controllers.ownership.users import FIELD_MANAGER
from stackwright.controllers.service import Environment, rings, volumes
from stackwright.controllers.service.decide import Seen, decide
from stackwright.kube.builtin import PersistentVolumeClaim, Secret
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import R
from stackwright.kube.shapes.child import mark_by
from tests.surroundings import listing
from tests.unit.controllers.ownership.making import changed, made, seen

NOW = datetime(2026, 11, 16, tzinfo=UTC)
# Some meet only by what is made of them: dots and dashes, and what stands behind a name.
NAMES = ("x", "y", "x-y", "x.y", "x-public", "x-galera", "x-notifications", "openstack")
FIELDS = (
    "databaseInstance",
    "databaseAccount",
    "serviceUser",
    "serviceName",
    "userName",
    "name",
    "secret",
    "keystoneInstance",
    "rabbitmqClusterName",
)
kinds = st.sampled_from(sorted(kind.kind.name for kind in claiming()))
blueprints = {service.kind: service for service in services.blueprints()}


@st.composite
def resources(draw: st.DrawFn, few: tuple[str, ...] = NAMES) -> Any:
    """Any resource, of any age, looked at or not; its names are some of these few."""
    names = st.sampled_from(few)
    kind, name = draw(kinds), draw(st.sampled_from(NAMES))
    spec_type = services_by_name[kind].__annotations__["spec"]
    spec: dict[str, Any] = {
        field: draw(names) for field in FIELDS if field in spec_type.__struct_fields__ and draw(st.booleans())
    }
    if "provisioning" in spec_type.__struct_fields__:
        spec["provisioning"] = draw(st.sampled_from(("InProcess", "Job")))
    if "notificationsBus" in spec_type.__struct_fields__ and draw(st.booleans()):
        spec["notificationsBus"] = {"cluster": "rabbitmq"}
    about = {
        "labels": {SERVER_LABEL: draw(names), DATABASE_LABEL: draw(names)},
        "creationTimestamp": draw(st.sampled_from(("2026-11-15T00:00:00Z", "2026-11-15T00:00:01Z"))),
        "generation": draw(st.sampled_from((1, 2))),
        # A service may find it, and take it for its own.
        "annotations": {mark_by(FIELD_MANAGER): "digest"},
    }
    resource = made(kind, name, spec, **about)
    return draw(st.sampled_from((resource, seen(resource), seen(resource, refused=True))))


services_by_name = {kind.kind.name: kind for kind in claiming()}


def different(pair: tuple[CustomResource, CustomResource]) -> bool:
    one, other = pair
    return (one.kind, one.key) != (other.kind, other.key)


# Two resources that have little choice share some name.
few = st.lists(st.sampled_from(NAMES), min_size=1, max_size=2).map(tuple)
pairs = few.flatmap(lambda names: st.tuples(resources(names), resources(names))).filter(different)


def nothing(kind: type[R], name: str, **_: str) -> R | None:
    """See nothing."""
    return None


def objects(resource: Any) -> set[tuple[str, str]]:
    """What the code that makes things would make of a resource: asked of that code, not of its claims."""
    service = blueprints.get(type(resource))
    if service is None or service.elsewhere(resource):
        return set()
    asked = [need for need in service.needs_of(resource) if not isinstance(need, Cache | Snippets)]
    found = [need.resolve(resource, sight(nothing)) for need in asked]
    children = [child for entry in found for child in entry.children]
    children += [volumes.claim(volume, resource, nothing) for volume in (service.volumes or (lambda _: ()))(resource)]
    new = [secret.name for entry in found for secret in entry.secrets]
    new += [secret.name for secret in rings.missing(service, resource, nothing)]
    new += [entry.name(resource) for entry in service.secrets if entry.wanted(resource)]
    new.append(configuration.secret_name(resource))
    made = {(child.of.kind.name, child.body["metadata"]["name"]) for child in children}
    return made | {(Secret.kind.name, name) for name in new}


def is_stopped(resource: Any, known: Known) -> bool:
    """Whether a service's own decision is to touch nothing, because it is another's."""
    service = blueprints.get(type(resource))
    if service is None:
        return False
    try:
        decide(service, resource, Seen(nothing, NOW, known=known), Environment({}, Path()))
    except Blocked as error:
        return error.reason == TAKEN
    return False


def met(one: CustomResource, other: CustomResource, around: Around) -> bool:
    """Whether two resources are rivals: they claim the same, and none is a part of the other."""
    mine, theirs = claims(one, around), claims(other, around)
    parts = any(
        claim.of is type(resource) and claim.name == resource.metadata.name
        for resource, of in ((one, theirs), (other, mine))
        for claim in of
    )
    return not parts and any(claim.meets(each) for claim in mine for each in theirs)


@settings(max_examples=150)
@given(pairs)
def test_exactly_one_of_two_rivals_is_refused_and_stays_refused(pair: tuple[Any, Any]) -> None:
    known = listing(*pair)
    one, other = pair
    refused = [each for each in pair if taken(each, known)]
    assert [each for each in pair if is_stopped(each, known)] == [each for each in refused if type(each) in blueprints]
    assert len(refused) == met(one, other, Around(known, "cloud"))
    if not refused:
        return
    (loser,) = refused
    winner = other if loser is one else one
    for found in taken(loser, known):
        assert found.owner == f"{winner.kind.name} {winner.metadata.name}"
        assert found.owner in str(found)
        assert str(found).startswith(("metadata.name: ", "spec."))
    # A pass later nothing has changed, nor when one of the two is changed elsewhere: nobody takes turns.
    for later in (
        (seen(winner), seen(loser, refused=True)),
        (changed(seen(winner)), seen(loser, refused=True)),
        (seen(winner), changed(seen(loser, refused=True))),
    ):
        assert taken(later[0], listing(*later)) == ()
        assert taken(later[1], listing(*later))


@settings(max_examples=150)
@given(pairs)
def test_a_newcomer_is_refused_at_the_door_and_who_is_there_is_not(pair: tuple[Any, Any]) -> None:
    present, newcomer = pair
    rivals = met(present, newcomer, Around(listing(present, newcomer), "cloud"))
    errors = check(None, newcomer, listing(present)).errors
    if rivals != bool(errors):
        # Alone, an account's server may not be known; together, both may be.
        assert met(present, newcomer, Around(listing(present), "cloud")) == bool(errors)
    assert check(present, present, listing(present, newcomer)).errors == ()


@settings(max_examples=150)
@given(pairs)
def test_what_two_services_would_both_make_is_noticed(pair: tuple[Any, Any]) -> None:
    if objects(pair[0]) & objects(pair[1]):
        known = listing(*pair)
        assert sum(bool(taken(each, known)) for each in pair) == 1


@settings(max_examples=150)
@given(st.lists(resources(), min_size=3, max_size=5, unique_by=lambda each: (each.kind, each.key)))
def test_of_many_rivals_somebody_goes_on(crowd: list[Any]) -> None:
    known = listing(*crowd)
    assert not all(taken(each, known) for each in crowd)


def test_the_check_is_one_of_all_kinds() -> None:
    assert check in admission.CHECKS


def claimed(kind: type[Any], resources: Iterable[Any]) -> list[str]:
    around = Around(listing(*resources), "cloud")
    return [claim.name for each in resources for claim in claims(each, around) if claim.of is kind]


def test_volumes_are_claimed_by_their_names() -> None:
    several = {"glanceAPIs": {"default": {}, "far": {}}, "keystoneEndpoint": "default"}
    assert claimed(PersistentVolumeClaim, [made("Glance", "x", several)]) == ["x-default", "x-far"]
    # Those of StatefulSets, as many as they may have pods.
    for kind, first in (("Galera", "x-galera"), ("RabbitMq", "x-server"), ("OVNDBCluster", "ovsdbserver-nb")):
        assert claimed(PersistentVolumeClaim, [made(kind, "x")]) == [f"data-{first}-{number}" for number in range(32)]
