"""A new image of Nova: in which order everything gets it, and where an interrupted upgrade goes on."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from stackwright.blueprint import values
from stackwright.kube.plan import Wait
from stackwright.kube.resource import Condition
from stackwright.kube.shapes.child import Child
from stackwright.services.nova import mapping, upgrade
from stackwright.services.nova.kinds.cell import NovaCell, NovaCellStatus
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.nova import NOVA
from stackwright.services.nova.parent import ParentFacts, Run
from tests.unit.services.novas import CELL1, PARENT, children_of, made, nova

OLD, NEW = "registry.example/openstack:1", "registry.example/openstack:2"
EVERYTHING = dict.fromkeys(upgrade.IMAGES, OLD)
SYNCED = ("sync-cell0", "sync-cell1")
MIGRATED = ("migrate-cell0", "migrate-cell1")


def running(image: str, **other: str) -> dict[str, Any]:
    """Return what the children report, if all pods run an image but for those of some services."""
    images = dict.fromkeys(upgrade.IMAGES, image) | other
    cell = Run({name: images[name] for name in upgrade.OF_CELLS}, frozenset(upgrade.OF_CELLS))
    services = {name: Run({name: images[name]}, frozenset({name})) for name in ("api", "scheduler", "metadata")}
    return {"cells": {"cell0": cell, "cell1": cell}, "services": services}


def world(*done: str, image: str = NEW, **run: Any) -> ParentFacts:
    return replace(PARENT, image=image, done=frozenset(done), **(run or running(OLD)))


def upgraded(phase: str = "", **images: str) -> Nova:
    return nova({"images": EVERYTHING | images, "upgradePhase": phase})


CONDUCTED = {"conductor": NEW}
ALL_BUT_API = dict.fromkeys(upgrade.IMAGES, NEW) | {"api": OLD}


@pytest.mark.parametrize(
    ("resource", "facts", "phase", "new"),
    [
        pytest.param(nova(), world(), "", set(upgrade.IMAGES), id="what-is-new-has-nothing-to-upgrade"),
        pytest.param(upgraded(), world(image=OLD), "", set(), id="the-same-image-is-no-upgrade"),
        pytest.param(upgraded(), world(), "Syncing", set(), id="no-pod-starts-before-the-tables"),
        pytest.param(upgraded("Syncing"), world("sync-cell0"), "Syncing", set(), id="nor-before-those-of-every-cell"),
        pytest.param(upgraded("Syncing"), world(*SYNCED), "Conductors", {"conductor"}, id="conductors-come-first"),
        pytest.param(
            upgraded("Conductors", **CONDUCTED),
            world(),
            "Conductors",
            {"conductor"},
            id="a-job-that-is-gone-since-takes-nothing-back",
        ),
        pytest.param(
            upgraded("Conductors", **CONDUCTED),
            world(**running(OLD, **CONDUCTED)),
            "Services",
            set(upgrade.IMAGES) - {"api"},
            id="then-all-others-but-the-api",
        ),
        pytest.param(
            upgraded("Services", **ALL_BUT_API),
            world(**running(OLD)),
            "Services",
            set(upgrade.IMAGES) - {"api"},
            id="a-conductor-that-restarts-later-takes-nothing-back",
        ),
        pytest.param(
            upgraded("Services", **ALL_BUT_API),
            world(**running(NEW, api=OLD)),
            "API",
            set(upgrade.IMAGES),
            id="the-api-is-the-last",
        ),
        pytest.param(
            upgraded("API", **dict.fromkeys(upgrade.IMAGES, NEW)),
            world(**running(NEW)),
            "Migrating",
            set(upgrade.IMAGES),
            id="data-is-moved-when-all-pods-run-the-image",
        ),
        pytest.param(
            upgraded("Migrating", **dict.fromkeys(upgrade.IMAGES, NEW)),
            world("migrate-cell0", **running(NEW)),
            "Migrating",
            set(upgrade.IMAGES),
            id="that-of-every-cell",
        ),
        pytest.param(
            upgraded("Migrating", **dict.fromkeys(upgrade.IMAGES, NEW)),
            world(*MIGRATED, **running(NEW)),
            "",
            set(upgrade.IMAGES),
            id="then-it-is-done",
        ),
        pytest.param(
            upgraded("Conductors", **CONDUCTED),
            world(image="registry.example/openstack:3", **running(OLD, **CONDUCTED)),
            "Syncing",
            {"conductor"},
            id="yet-another-image-begins-with-the-tables-and-takes-nothing-back",
        ),
        pytest.param(
            upgraded("Syncing"),
            replace(world("sync-cell0"), cell_databases={"cell0": PARENT.cell_databases["cell0"]}),
            "Conductors",
            {"conductor"},
            id="a-cell-without-its-database-stops-no-other",
        ),
    ],
)
def test_each_service_gets_a_new_image_in_its_turn(
    resource: Nova, facts: ParentFacts, phase: str, new: set[str]
) -> None:
    found = upgrade.find_stage(resource, facts)
    assert found.phase == phase
    assert {name for name, image in found.images.items() if image != OLD} == new
    assert NOVA.children is not None
    told = [
        item for item in NOVA.children(resource, facts) if isinstance(item, Wait) and item.condition == "NovaUpgraded"
    ]
    assert [wait.reason for wait in told] == ([phase] if phase else [])


def jobs(resource: Nova, facts: ParentFacts) -> dict[str, Any]:
    found = values.values(NOVA, resource, facts).get("jobs", {})
    return {name: job for name, job in found.items() if name.startswith(("sync-", "migrate-"))}


def test_the_tables_of_the_api_are_upgraded_first() -> None:
    assert set(jobs(upgraded(), world())) == {"sync-cell0"}
    assert set(jobs(upgraded(), world("sync-cell0"))) == {"sync-cell0", "sync-cell1"}


def test_without_an_upgrade_there_are_no_such_jobs() -> None:
    assert not jobs(nova(), world())
    assert not jobs(upgraded(), world(image=OLD))


def test_the_jobs_run_the_image_that_fits_the_tables() -> None:
    named = nova({"images": EVERYTHING}, conductorContainerImageURL=NEW)
    facts = replace(world(image=OLD), synced=True)
    found = values.values(NOVA, named, facts)["jobs"]
    assert found["sync-cell0"]["image"] == NEW
    # Until then, the mapping of a cell is written by what runs.
    assert "image" not in found["map-cell0"]
    later = values.values(NOVA, named, replace(facts, done=frozenset(SYNCED)))["jobs"]
    assert later["map-cell0"]["image"] == NEW


# A cell that is removed, and still has servers.


def removed(image: str, *, ready: bool = True, **other: str) -> NovaCell:
    """Return the NovaCell of cell2, as it runs an image but for some services."""
    images = dict.fromkeys(upgrade.OF_CELLS, image) | other
    told = {f"{name}ContainerImageURL": url for name, url in images.items()}
    cell: NovaCell = made("NovaCell", "nova-cell2", cellName="cell2", **told)
    status = NovaCellStatus(conditions=(Condition(type="Ready", status=str(ready)),), observedGeneration=1)
    return msgspec.structs.replace(cell, status=status)


def removing(phase: str = "", **images: str) -> Nova:
    known = {f"nova-{cell}": "a" for cell in ("cell0", "cell1", "cell2")}
    return nova({"images": EVERYTHING | images, "upgradePhase": phase, "registeredCells": known})


def around(cell: NovaCell | None, *done: str, **run: Any) -> ParentFacts:
    facts = world(*done, **run)
    databases = {**facts.cell_databases, "cell2": replace(CELL1, schema="nova_cell2")}
    return replace(
        facts,
        former={"cell2": cell},
        cell_databases=databases,
        cell_brokers={**facts.cell_brokers, "cell2": facts.cell_brokers["cell1"]},
    )


def told(resource: Nova, facts: ParentFacts) -> dict[str, str] | None:
    """Return the images that a cell is told which is removed; None if it is left as it is."""
    found = [item for item in children_of(resource, facts) if isinstance(item, Child) and item.key.name == "nova-cell2"]
    return {name: found[0].body["spec"][f"{name}ContainerImageURL"] for name in upgrade.OF_CELLS} if found else None


def test_the_tables_of_a_cell_that_is_removed_are_upgraded_before_any_pod() -> None:
    facts = around(removed(OLD), *SYNCED)
    assert upgrade.find_stage(removing(), facts).phase == "Syncing"
    assert told(removing(), facts) == dict.fromkeys(upgrade.OF_CELLS, OLD)
    assert "sync-cell2" in jobs(removing(), facts)
    synced = around(removed(OLD), *SYNCED, "sync-cell2")
    assert upgrade.find_stage(removing(), synced).phase == "Conductors"


@pytest.mark.parametrize(
    ("phase", "before", "there", "run", "stays", "images"),
    [
        pytest.param(
            "Syncing",
            {},
            removed(OLD),
            running(OLD, conductor=NEW),
            "Conductors",
            {**dict.fromkeys(upgrade.OF_CELLS, OLD), "conductor": NEW},
            id="conductors-of-it-are-waited-for",
        ),
        pytest.param(
            "Conductors",
            CONDUCTED,
            removed(OLD, conductor=NEW),
            running(NEW, api=OLD),
            "Services",
            dict.fromkeys(upgrade.OF_CELLS, NEW),
            id="its-other-services-come-before-the-api",
        ),
        pytest.param(
            "Services",
            ALL_BUT_API,
            removed(NEW, ready=False),
            running(NEW, api=OLD),
            "Services",
            dict.fromkeys(upgrade.OF_CELLS, NEW),
            id="and-have-to-run",
        ),
        pytest.param(
            "Services",
            ALL_BUT_API,
            removed(NEW),
            running(NEW, api=OLD),
            "API",
            dict.fromkeys(upgrade.OF_CELLS, NEW),
            id="then-the-api",
        ),
    ],
)
def test_a_cell_that_is_removed_gets_a_new_image_with_all_others(
    phase: str,
    before: dict[str, str],
    there: NovaCell,
    run: dict[str, Any],
    stays: str,
    images: dict[str, str],
) -> None:
    resource, facts = removing(phase, **before), around(there, *SYNCED, "sync-cell2", **run)
    assert upgrade.find_stage(resource, facts).phase == stays
    assert told(resource, facts) == images


def test_the_data_of_a_cell_that_is_removed_is_moved_too() -> None:
    resource = removing("Migrating", **dict.fromkeys(upgrade.IMAGES, NEW))
    facts = around(removed(NEW), *MIGRATED, **running(NEW))
    assert upgrade.find_stage(resource, facts).phase == "Migrating"
    assert set(jobs(resource, facts)) >= {"migrate-cell2"}
    finished = replace(facts, done=facts.done | {"migrate-cell2"})
    assert upgrade.find_stage(resource, finished).phase == ""
    # Without an upgrade, it is left as it is.
    assert told(resource, finished) is None


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param(around(None, *SYNCED), id="that-is-gone"),
        pytest.param(around(removed(OLD), *SYNCED, "delete-cell2"), id="that-nova-does-not-know-any-more"),
        pytest.param(replace(around(removed(OLD), *SYNCED), cell_brokers=PARENT.cell_brokers), id="without-its-broker"),
    ],
)
def test_an_upgrade_does_not_wait_for_a_removed_cell(facts: ParentFacts) -> None:
    assert upgrade.find_stage(removing("Syncing"), facts).phase == "Conductors"
    assert told(removing("Syncing"), facts) is None


def test_a_removed_cell_that_cannot_get_an_image_says_so() -> None:
    facts = around(removed(OLD))
    for brokers, said in ((facts.cell_brokers, False), (PARENT.cell_brokers, True)):
        (wait,) = mapping.removals(removing(), replace(facts, cell_brokers=brokers))
        assert ("its broker is gone, so it keeps its images" in wait.message) == said
