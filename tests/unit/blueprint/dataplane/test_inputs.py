"""What counts as an input of a service on a machine: whatever changes of it, the service runs again."""

from typing import Any

import msgspec
import pytest

from stackwright.api.base import ObjectMeta
from stackwright.api.node_sections import EnvVar, VolumeMounts
from stackwright.blueprint.dataplane.inheritance import Machine
from stackwright.blueprint.dataplane.inputs import Work, common_key, input_hash, reach_work, with_mounted
from stackwright.blueprint.dataplane.variables import Variables
from stackwright.kube.builtin import ConfigMap, Secret

WORK = Work("mine", "image", playbook="a.b.c")


def machine(env: dict[str, Any] | None = None, volume: dict[str, Any] | None = None) -> Machine:
    entries = [{"name": "X", "valueFrom": env}] if env else []
    mounts = [{"volumes": [{"name": "v", **volume}], "mounts": [{"name": "v", "mountPath": "/v"}]}] if volume else []
    return Machine(
        "one",
        "one",
        "192.0.2.10",
        "key",
        env=msgspec.convert(entries, tuple[EnvVar, ...]),
        extra_mounts=msgspec.convert(mounts, tuple[VolumeMounts, ...]),
    )


class Looking:
    """One object, with a word in it; or none."""

    def __init__(self, kind: type[Secret | ConfigMap], word: str) -> None:
        self._kind, self._word = kind, word

    def __call__(self, kind: type[Any], name: str, **_: Any) -> Any:
        if kind is not self._kind or name != "there" or not self._word:
            return None
        return kind(metadata=ObjectMeta(name=name), data={"a": self._word})


def hashes(one: Machine, kind: type[Secret | ConfigMap], word: str, work: Work = WORK) -> tuple[str, str]:
    seen = with_mounted(one, Looking(kind, word))
    return input_hash(work, seen, Variables({}, {}), "key"), common_key(work, seen)


@pytest.mark.parametrize(
    ("kind", "one"),
    [
        pytest.param(Secret, machine({"secretKeyRef": {"name": "there", "key": "a"}}), id="a-secret-variable"),
        pytest.param(ConfigMap, machine({"configMapKeyRef": {"name": "there", "key": "a"}}), id="a-variable"),
        pytest.param(Secret, machine(volume={"secret": {"secretName": "there"}}), id="a-secret-volume"),
        pytest.param(ConfigMap, machine(volume={"configMap": {"name": "there"}}), id="a-volume"),
        *(
            pytest.param(kind, machine(volume={"projected": {"sources": [{word: {"name": "there"}}]}}), id=f"in-{word}")
            for kind, word in ((Secret, "secret"), (ConfigMap, "configMap"))
        ),
    ],
)
def test_what_a_pod_takes_from_other_objects_is_an_input(kind: type[Secret | ConfigMap], one: Machine) -> None:
    found = [hashes(one, kind, word) for word in ("first", "first", "second", "")]
    assert found[0] == found[1]
    assert len({inputs for inputs, _ in found}) == 3
    # Those who share a run get the same pod.
    assert len({common for _, common in found}) == 3
    # The way to the machine does not depend on it.
    assert len({hashes(one, kind, word, reach_work("image"))[0] for word in ("first", "second")}) == 1


def test_who_takes_nothing_from_others_looks_at_nothing() -> None:
    plain = machine(volume={"emptyDir": {}})
    assert with_mounted(plain, Looking(Secret, "x")) is plain


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        pytest.param(machine(), ("b6153f934e8f0b48", "29b697edc25ff9c0"), id="nothing"),
        pytest.param(
            machine(volume={"emptyDir": {}}), ("acdcf04d905c4f7d", "b895a7d0b3a0ab42"), id="a-volume-of-its-own"
        ),
    ],
)
def test_an_upgrade_runs_nothing_again_on_who_takes_nothing_from_others(
    one: Machine, expected: tuple[str, str]
) -> None:
    # As they were before such contents counted. With other hashes, an upgrade would run all services on all machines.
    assert hashes(one, Secret, "x") == expected
