"""A namespace that no operator works in is told so."""

import pytest

from stackwright.api.base import ObjectMeta
from stackwright.foresight.operators import describe_blindness
from stackwright.kube.builtin import Deployment


def operator(*namespaces: str) -> Deployment:
    labels = {"app.kubernetes.io/instance": "mine"}
    arguments = ["operator", *(f"--namespace={name}" for name in namespaces), "--webhooks=on"]
    spec = {"template": {"spec": {"containers": [{"name": "operator", "args": arguments}]}}}
    return Deployment(metadata=ObjectMeta(name="operator", namespace="system", labels=labels), spec=spec)


@pytest.mark.parametrize(
    ("there", "blind"),
    [
        pytest.param((operator("other"),), True, id="they-work-elsewhere"),
        pytest.param((operator("other"), operator("second")), True, id="all-of-them"),
        pytest.param((operator("other", "openstack"),), False, id="they-work-here"),
        pytest.param((operator("other"), operator("openstack")), False, id="one-of-them-does"),
        pytest.param((operator(),), False, id="they-work-everywhere"),
        pytest.param((), False, id="none-is-installed-and-one-may-work-from-outside"),
        pytest.param(None, False, id="who-may-not-look-is-told-nothing"),
    ],
)
def test_a_namespace_that_no_operator_works_in(there: tuple[Deployment, ...] | None, blind: bool) -> None:
    assert bool(describe_blindness(there, "openstack")) is blind


def test_it_is_said_how_to_add_a_namespace() -> None:
    said = describe_blindness((operator("other", "second"),), "openstack")
    assert "work only in namespace other, second, and would not see a cloud in openstack" in said
    command = (
        "helm upgrade mine charts/stackwright -n system --reuse-values --set 'namespaces={other,second,openstack}'"
    )
    assert command in said
