"""When a service counts as working with what it read: all its pods do, and none of them is left behind."""

from typing import Any

import msgspec
import pytest

from stackwright.blueprint import use
from stackwright.blueprint.service import Export
from stackwright.controllers.service import labels
from stackwright.controllers.service.credentials import has_rolled, is_read_by_others
from stackwright.kube.builtin import Job, Pod
from stackwright.kube.resource import ObjectMeta, OwnerReference, R
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute

OWNER = OwnerReference(apiVersion="batch/v1", kind="Job", name="db-sync", uid="7")
HASHES = {"conductor": "new"}


def pod(phase: str, config: str = "") -> Pod:
    """Return a pod of a component that started with a configuration, or one of a Job, which does not say."""
    annotations = {labels.CONFIG_HASH: config} if config else {}
    owners = () if config else (OWNER,)
    return Pod(
        metadata=ObjectMeta(name="one", annotations=annotations, ownerReferences=owners), status={"phase": phase}
    )


def job(*conditions: str) -> Job:
    status: dict[str, Any] = {"conditions": [{"type": each, "status": "True"} for each in conditions]}
    return Job(metadata=ObjectMeta(name="db-sync", uid="7"), spec={}, status=status)


@pytest.mark.parametrize(
    ("pods", "jobs", "expected"),
    [
        pytest.param((), (), True, id="what-has-no-pods-has-none-left-behind"),
        pytest.param((pod("Running", "new"),), (), True, id="all-of-the-present-configuration"),
        pytest.param((pod("Running", "new"), pod("Running", "old")), (), False, id="one-of-an-earlier-one"),
        pytest.param((pod("Running"),), (job(),), False, id="a-job-is-at-work"),
        pytest.param((pod("Pending"),), (), False, id="a-job-that-is-not-known-yet"),
        pytest.param((pod("Succeeded"),), (job(),), True, id="its-pod-is-done"),
        pytest.param((pod("Running"),), (job("Complete"),), True, id="the-job-is-done-and-its-pod-is-old-news"),
        pytest.param((pod("Running"),), (job("Failed"),), False, id="a-job-that-failed-may-still-run"),
    ],
)
def test_when_all_pods_work_with_the_present_configuration(
    pods: tuple[Pod, ...], jobs: tuple[Job, ...], *, expected: bool
) -> None:
    assert has_rolled(HASHES, pods, jobs) is expected


class Machines:
    """Looks at machines outside of the cluster; no Secret carries a mark."""

    def __init__(self, *contents: str) -> None:
        records = [{"name": "nova-external-compute", "exports": {"cell1": content}} for content in contents]
        bodies = ({"spec": {"cellName": "cell1"}, "status": {"deployment": record}} for record in records)
        named = ({**body, "metadata": {"name": f"node-{number}"}} for number, body in enumerate(bodies))
        self.machines: list[Any] = [msgspec.convert(body, NovaExternalCompute) for body in named]

    def __call__(self, kind: type[R], name: str) -> R | None:  # noqa: ARG002  the form of a look
        return None

    def all(self, kind: type[R]) -> list[R]:
        return self.machines if kind is NovaExternalCompute else []


PRESENT = use.annotations_of(Export("cell1", {"password": "new"}))[use.CONTENT]


@pytest.mark.parametrize(
    ("contents", "expected"),
    [
        pytest.param((), False, id="no-machines"),
        pytest.param((PRESENT, PRESENT), False, id="all-of-the-present"),
        pytest.param((PRESENT, "old"), True, id="one-of-them-is-off"),
    ],
)
def test_machines_outside_are_readers_whom_nobody_has_to_name(contents: tuple[str, ...], *, expected: bool) -> None:
    look: Any = Machines(*contents)
    assert is_read_by_others((Export("cell1", {"password": "new"}),), look) is expected
