"""A new image of Nova: in which order everything gets it, and where an interrupted upgrade goes on."""

from dataclasses import replace
from typing import Any

import pytest

from stackwright.blueprint import values
from stackwright.kube.plan import Wait
from stackwright.services.nova import upgrade
from stackwright.services.nova.kinds.nova import Nova
from stackwright.services.nova.nova import NOVA
from stackwright.services.nova.parent import ParentFacts, Run
from tests.unit.services.novas import PARENT, nova

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
