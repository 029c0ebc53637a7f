"""What a service would become whose blueprint has children, and children of these."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from stackwright import services
from stackwright.adapters.helm import Renderer
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs.need import Outside
from stackwright.cli.commands.render import select, values_text
from stackwright.controllers.service import Environment
from stackwright.foresight import imagined_release
from stackwright.foresight.checks import imagined_cloud
from stackwright.foresight.checks.results import CheckResult, Level
from stackwright.foresight.imagined_release import Missing, Outcome
from stackwright.foresight.imagined_world import ImaginedWorld
from tests.unit.foresight.families import FORESEEN, INN, SERVICES, TAVERN, TavernCell, tavern

IMAGES = {
    "tavern": ComponentImage("registry.example/tavern:1"),
    "kitchen": ComponentImage("registry.example/kitchen:1"),
}
CHARTS = Path("charts")


def world() -> ImaginedWorld:
    return ImaginedWorld(Outside("trial"), blueprint_of=lambda kind: SERVICES.get(kind) or services.blueprint_of(kind))


def imagined(**cells: str) -> dict[str, Outcome]:
    found = imagined_release.imagine_all(TAVERN, tavern(**cells), world(), Environment(IMAGES, CHARTS))
    return {f"{outcome.resource.kind.name} {outcome.resource.metadata.name}": outcome for outcome in found}


def content(outcome: Outcome, name: str) -> Any:
    return next(body["stringData"] for body in outcome.objects if body["metadata"]["name"] == name)


def test_children_of_children_are_imagined_each_behind_its_parent() -> None:
    found = imagined(cell0="openstack", cell1="openstack-cell1")

    assert list(found) == [
        "Tavern tavern",
        "TavernCell tavern-cell0",
        "TavernCook tavern-cell0-cook",
        "TavernCell tavern-cell1",
        "TavernCook tavern-cell1-cook",
    ]


def test_a_child_reads_what_its_parent_exports() -> None:
    found = imagined(cell1="openstack-cell1")
    given = content(found["Tavern tavern"], "tavern-cell1")

    assert given["hostname"] == "openstack-cell1.trial.svc"
    assert given["shared"] == content(found["Tavern tavern"], "osp-secret")["CellSecretcell1"]
    for name in ("TavernCell tavern-cell1", "TavernCook tavern-cell1-cook"):
        config = content(found[name], f"{name.partition(' ')[2]}-config-data")
        assert config["own.conf"] == "schema = tavern_cell1"


def test_each_object_is_told_once() -> None:
    told = [body["metadata"]["name"] for outcome in imagined(cell1="openstack").values() for body in outcome.objects]

    assert len(told) == len(set(told))
    assert told.count("tavern-cell1") == 1


def test_each_release_has_values_of_its_own() -> None:
    found = imagined(cell1="openstack")

    assert {name: (set(one.values["components"]), one.values["image"]) for name, one in found.items()} == {
        "Tavern tavern": ({"door"}, "registry.example/tavern:1"),
        "TavernCell tavern-cell1": ({"table"}, "registry.example/tavern:1"),
        "TavernCook tavern-cell1-cook": ({"cook"}, "registry.example/kitchen:1"),
    }


def test_values_of_several_releases_are_documents_that_name_them() -> None:
    found = tuple(imagined(cell1="openstack").values())
    text = values_text(found)

    assert list(yaml.safe_load_all(text)) == [outcome.values for outcome in found]
    assert text.startswith("---\n# Tavern tavern: release tavern of the chart tavern\n")
    assert "---\n# TavernCook tavern-cell1-cook: release tavern-cell1-cook of the chart tavern\n" in text
    one = select(found, "tavern-cell1")
    assert yaml.safe_load(values_text(one)) == found[1].values
    with pytest.raises(Exception, match="there is no release other; there are tavern, tavern-cell1, tavern-cell1-cook"):
        select(found, "other")


def means() -> imagined_cloud.Means:
    return imagined_cloud.Means(IMAGES, CHARTS, Renderer())


def test_a_check_judges_children() -> None:
    around = world()
    parent = imagined_cloud.outcome_of(tavern(cell1="openstack"), around, means())
    assert isinstance(parent, Outcome)
    (cell,) = parent.children
    assert isinstance(cell, TavernCell)
    below = imagined_cloud.outcome_of(cell, around, means())
    assert isinstance(below, Outcome)
    assert [child.metadata.name for child in below.children] == ["tavern-cell1-cook"]


def test_a_child_whose_secret_is_not_there_is_told_by_its_own_name() -> None:
    cell = msgspec.convert({"metadata": {"name": "alone"}, "spec": {"secret": "nowhere"}}, TavernCell)
    result = imagined_cloud.outcome_of(cell, world(), means())
    assert isinstance(result, CheckResult)
    assert result.level is Level.UNKNOWN
    assert result.message.startswith("TavernCell alone: ")
    with pytest.raises(Missing, match="Secret nowhere, which "):
        imagined_release.imagine_all(SERVICES[TavernCell], cell, world(), Environment(IMAGES, CHARTS))


def test_a_parent_that_runs_nothing_has_neither_chart_nor_image() -> None:
    parent = tavern(cell0="openstack", cell1="openstack", cell2="openstack")
    found = imagined_release.imagine_all(INN, parent, world(), Environment(IMAGES, CHARTS))

    names = [outcome.resource.metadata.name for outcome in found if outcome.service.kind is TavernCell]
    assert names == ["tavern-cell0", "tavern-cell1", "tavern-cell2"], "each is ready before the next is created"
    assert not INN.has_chart
    assert found[0].values["image"] == ""
    assert "of the chart inn" not in values_text(found)
    assert yaml.safe_load(values_text(found[:2])) == found[1].values


def test_by_hand_the_schema_of_each_cell_is_made_by_a_job_of_the_parent() -> None:
    parent = imagined(cell0="openstack", cell1="openstack-cell1")["Tavern tavern"]
    made = parent.values["provision"]["databases"]
    assert {name: (one["host"], one["name"]) for name, one in made.items()} == {
        "tavern-cell0": ("openstack.trial.svc", "tavern_cell0"),
        "tavern-cell1": ("openstack-cell1.trial.svc", "tavern_cell1"),
    }


def test_a_family_is_known_by_its_specs_to_any_depth() -> None:
    found = services.family_of(tavern(cell0="openstack", cell1="openstack"), FORESEEN.get)
    assert [one.metadata.name for one in found] == [
        "tavern",
        "tavern-cell0",
        "tavern-cell0-cook",
        "tavern-cell1",
        "tavern-cell1-cook",
    ]
    assert len(list(services.family_of(tavern(cell0="openstack"), SERVICES.get))) == 1
