"""What a user made under a name that the data plane would use: it is named, left alone, and not used."""

from typing import Any

import msgspec
import pytest

from stackwright.controllers.dataplane import runs
from stackwright.controllers.dataplane.run_job import RUN_LABEL, describe_files
from stackwright.kube.builtin import ConfigMap, Job
from stackwright.kube.errors import Retry
from stackwright.kube.plan import Ends
from stackwright.kube.resource import JsonObject
from tests.unit.controllers.dataplane.run_parts import Server, owner, run, world

OURS = {"managedFields": [{"manager": "stackwright", "operation": "Apply"}], "labels": {RUN_LABEL: "a"}}


class Noting(Server):
    """Remembers what was applied."""

    def __init__(self, *objects: Any) -> None:
        super().__init__(*objects)
        self.applied: list[str] = []

    async def apply(self, _: Any, body: JsonObject) -> None:
        self.applied.append(body["metadata"]["name"])


def files(**metadata: Any) -> ConfigMap:
    body = {"metadata": {"name": "a-files", "namespace": "openstack", **metadata}, "data": {"playbook.yaml": "mine"}}
    return msgspec.convert(body, ConfigMap)


def owned_by(kind: str, name: str, uid: str) -> JsonObject:
    reference = msgspec.structs.replace(owner(kind, uid), name=name)
    return {"ownerReferences": [msgspec.to_builtins(reference)]}


USERS = [
    pytest.param(files(), id="a-users"),
    pytest.param(files(labels={RUN_LABEL: "a"}), id="a-users-with-our-label"),
    pytest.param(files(**{**OURS, "labels": {}}), id="a-users-that-we-wrote-to"),
    pytest.param(files(**owned_by("OpenStackAnsibleEE", "b", "b")), id="another-runs"),
    pytest.param(files(**owned_by("OpenStackDataPlaneNode", "a", "x")), id="of-another-kind"),
]


@pytest.mark.parametrize("there", USERS)
async def test_a_run_does_not_take_a_config_map_that_is_not_its_own(there: ConfigMap) -> None:
    mine = run("a")
    (wait,) = runs.decide(mine, await runs.observe(mine, world(Noting(mine, there)))).waits
    assert (wait.reason, wait.ends) == ("NameTaken", Ends.BY_USER)
    assert wait.message.startswith("ConfigMap a-files exists, was not created for this run, and is left alone")


@pytest.mark.parametrize("there", USERS)
async def test_a_run_does_not_take_what_a_user_made_a_moment_ago(there: ConfigMap) -> None:
    mine = run("a")
    server = Noting(mine)
    here = world(server)
    (step,) = runs.decide(mine, await runs.observe(mine, here)).steps
    server.objects.append(there)
    with pytest.raises(Retry, match="ConfigMap a-files exists"):
        await runs.runs.act(step, here)
    assert not server.applied
    # It has not begun, so its nodes are free.
    assert not here.occupancy.begun


@pytest.mark.parametrize(
    "there",
    [
        pytest.param(msgspec.convert(describe_files(run("a")), ConfigMap), id="its-own"),
        pytest.param(files(**owned_by("OpenStackAnsibleEE", "a", "before")), id="of-an-earlier-run-of-its-name"),
        pytest.param(files(**OURS), id="that-lost-its-owner"),
    ],
)
async def test_a_run_takes_up_its_own_config_map(there: ConfigMap) -> None:
    mine = run("a")
    server = Noting(mine, there)
    here = world(server)
    (step,) = runs.decide(mine, await runs.observe(mine, here)).steps
    await runs.runs.act(step, here)
    assert server.applied == ["a-files"]
    assert here.context.store(Job).get(mine.key) is not None
