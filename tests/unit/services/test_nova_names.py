"""Names of cells become those of much else: those that meet, or are too long, are refused before anything is made."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stackwright.blueprint import name_lengths
from stackwright.blueprint.children import Later
from stackwright.blueprint.service import Service
from stackwright.controllers.ownership import Around, check, claims, taken
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import ObjectMeta
from stackwright.kube.shapes.child import Child
from stackwright.services.nova.cell import CELL
from stackwright.services.nova.kinds.cell import NovaCell
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.nova import NOVA
from tests.surroundings import listing
from tests.unit.services.novas import BROKER, BY_KIND, CELL1, CELL_FACTS, PARENT, made, nobody, nova

FAKE = {"computeDriver": "fake.FakeDriver"}
# Those that meet something else of a Nova which also has cell0, and cell1 with a compute x-y.
MEETING = (
    "api",
    "scheduler",
    "metadata",
    "notification",
    "api-database",
    "api-public",
    "cell0-database",
    "cell1-database",
    "cell1-manage",
    "cell1-x",
    "map-cell1",
    "wait",
)
# Those that look as if they did.
APART = ("database", "cell2", "1", "x", "x-y", "cell1-y", "service-rows", "compute", "conductor")


def with_cell(cell: str) -> Nova:
    cells = {"cell0": {}, "cell1": {"messagingBus": {"cluster": "one"}, "novaComputeTemplates": {"x-y": FAKE}}}
    third = {"messagingBus": {"cluster": "two"}, "novaComputeTemplates": {"y": FAKE}}
    return nova(cellTemplates={**cells, cell: third}, notificationsBus={"cluster": "rabbitmq"})


def problems(resource: Any) -> dict[str, str]:
    service = BY_KIND[type(resource).kind.name]
    assert service.problems is not None
    return dict(service.problems(resource, nobody))


def children(service: Service[Any, Any], resource: Any, facts: Any) -> Iterator[Any]:
    assert service.children is not None
    for entry in service.children(resource, facts):
        item = entry.child if isinstance(entry, Later) else entry
        if isinstance(item, Child):
            body = {**item.body, "metadata": {**item.body["metadata"], "namespace": "openstack"}}
            yield msgspec.convert(body, item.of)


def family(resource: Nova) -> list[Any]:
    """Return a Nova and all that it stands for, as its controllers would make it."""
    cells = list(resource.spec.cellTemplates)
    facts = replace(
        PARENT,
        cell_databases=dict.fromkeys(cells, CELL1),
        cell_brokers=dict.fromkeys(cells, BROKER),
        done=frozenset(f"map-{cell}" for cell in cells),
    )
    below = list(children(NOVA, resource, facts))
    leaves = [leaf for cell in below if isinstance(cell, NovaCell) for leaf in children(CELL, cell, CELL_FACTS)]
    return [resource, *below, *leaves]


def claimed_by_several(resource: Nova) -> set[str]:
    """Return what several members of the family would create, by what they claim."""
    around = Around(listing(), "openstack")
    counted = Counter(claim for member in family(resource) for claim in claims(member, around))
    return {str(claim) for claim, count in counted.items() if count > 1 and not claim.terms}


@pytest.mark.parametrize("cell", MEETING)
def test_a_cell_whose_names_meet_others_is_refused_where_it_is_named(cell: str) -> None:
    found = problems(with_cell(cell))
    assert any(path.startswith(f"spec.cellTemplates[{cell}]") for path in found), found
    assert all("would both create" in sentence and "use another name" in sentence for sentence in found.values())


@pytest.mark.parametrize("cell", APART)
def test_a_cell_whose_names_are_its_own_is_not(cell: str) -> None:
    assert problems(with_cell(cell)) == {}
    assert claimed_by_several(with_cell(cell)) == set()


def test_computes_of_two_cells_whose_names_meet_are_refused() -> None:
    (path, sentence) = next(iter(problems(with_cell("cell1-x")).items()))
    assert path == "spec.cellTemplates[cell1-x].novaComputeTemplates[y]"
    assert "nova-cell1-x-y-compute" in sentence


@pytest.mark.parametrize(
    ("cell", "compute"), [(35, 3), (18, 20)], ids=["as-long-as-upstream-allows", "with-the-longest-compute"]
)
def test_long_names_of_cells_fit(cell: int, compute: int) -> None:
    template = {"messagingBus": {"cluster": "one"}, "novaComputeTemplates": {"n" * compute: FAKE}}
    assert problems(nova(cellTemplates={"cell0": {}, "c" * cell: template})) == {}
    template["novaComputeTemplates"] = {"n" * (compute + 1): FAKE}
    assert problems(nova(cellTemplates={"cell0": {}, "c" * cell: template})) != {}


@pytest.mark.parametrize("length", range(8, 36))
def test_a_cell_is_refused_exactly_if_one_of_its_services_would_be(length: int) -> None:
    resource = with_cell("c" * length)
    refused = [
        str(member.metadata.name)
        for member in family(resource)
        if list(name_lengths.problems(BY_KIND[type(member).kind.name], member))
    ]
    assert bool(problems(resource)) == bool(refused), refused


def test_a_dot_in_the_name_of_a_cell_is_refused_at_once() -> None:
    assert "digits and dashes" in problems(with_cell("a.b"))["spec.cellTemplates[a.b]"]


def test_a_cell_by_hand_is_told_of_its_long_names() -> None:
    cell = made("NovaCell", "nova-of-a-name-that-is-very-long-indeed-too-long")
    found = problems(cell)["metadata.name"]
    assert "NovaConductor nova-of-a-name-that-is-very-long-indeed-too-long-conductor" in found


# What is created is claimed.


def test_everything_that_nova_and_its_cells_create_is_claimed() -> None:
    resource = with_cell("cell2")
    whole = family(resource)
    around = Around(listing(), "openstack")
    claimed = {(claim.sort, claim.name) for member in whole for claim in claims(member, around) if claim.owned}
    created = {(type(member).kind.name, member.metadata.name) for member in whole[1:]}
    databases = dict.fromkeys(resource.spec.cellTemplates, CELL1)
    facts = replace(PARENT, cell_databases=databases, cell_brokers=dict.fromkeys(databases, BROKER))
    assert NOVA.exports is not None
    created |= {("Secret", export.name) for export in NOVA.exports(resource, facts)}
    created |= {("Secret", "nova-cell1-compute-config")}
    created |= {("Secret", "nova-metadata-compute-config"), ("Secret", "nova-metadata-neutron-config")}
    assert created <= claimed, created - claimed


def test_a_cell_or_a_secret_that_a_user_made_is_not_taken() -> None:
    resource = with_cell("cell2")
    by_hand = made("NovaCell", "nova-cell2")
    secret = Secret(metadata=ObjectMeta(name="nova-cell2-database", namespace="openstack"))
    for present in (by_hand, secret):
        words = f"{type(present).kind.name} {present.metadata.name} exists and was not created for this resource"
        words = words.replace("exists and was not", "exists, was not")
        assert [words in str(found) for found in taken(resource, listing(resource, present))] == [True]
        assert [words in str(error.message) for error in check(None, resource, listing(present)).errors] == [True]


def test_two_novas_whose_secrets_would_meet_are_rivals() -> None:
    one = with_cell("x")
    other = msgspec.convert(
        {"metadata": {"name": "nova-x", "namespace": "openstack"}, "spec": {"secret": "osp-secret"}}, Nova
    )
    assert check(None, other, listing(one)).errors
    assert check(None, one, listing(other)).errors


def test_one_account_is_not_that_of_two_databases() -> None:
    shared = {"messagingBus": {"cluster": "one"}, "cellDatabaseAccount": "nova-api"}
    resource = nova(cellTemplates={"cell0": {}, "cell1": shared})
    words = "MariaDBAccount nova-api is what spec.apiDatabaseAccount asks for too; name another account"
    (found,) = taken(resource, listing(resource))
    assert str(found) == f"spec.cellTemplates.cell1.cellDatabaseAccount: {words}"
    (error,) = check(None, resource, listing()).errors
    assert error.message == words
