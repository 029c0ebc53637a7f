"""Texts for a configuration Secret: how long they may be, and which field is named."""

from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.api.base import CustomResource
from stackwright.blueprint import text_lengths
from stackwright.blueprint.refusals import problems
from stackwright.blueprint.text_lengths import LONGEST, SECRET
from stackwright.controllers.admission import CHECKS
from stackwright.kube.admission.checks import Objections
from stackwright.kube.resource import R
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from stackwright.services.nova.kinds.nova import Nova
from tests.functional.crds.samples import LEAST
from tests.surroundings import nothing_known


def text(size: int) -> str:
    """Return a snippet of so many bytes, half as many of them characters."""
    return "#" + "é" * ((size - 1) // 2) + "\n" * ((size - 1) % 2)


def nobody(kind: type[R], name: str, **_: str) -> R | None:
    """Look into empty caches."""


def made(kind: type[CustomResource], spec: Any) -> CustomResource:
    body = {"metadata": {"name": "one", "namespace": "here"}, "spec": {**LEAST.get(kind.kind.name, {}), **spec}}
    return msgspec.convert(body, kind)


def refused(resource: CustomResource) -> dict[str, str]:
    """Return what admission says to the length of texts."""
    found = sum((check(None, resource, nothing_known) for check in CHECKS), Objections())
    said = {error.field: error.cause.message.removeprefix("Invalid value: ") for error in found.errors}
    return {field: message for field, message in said.items() if "bytes" in message}


def test_a_text_that_no_secret_can_hold_is_refused_at_the_door_and_in_the_reconcile() -> None:
    resource = made(KeystoneAPI, {"customServiceConfig": text(1_080_000)})
    sentence = "has 1080000 bytes; 524288 are allowed, because they are kept in Secrets: shorten it"
    assert refused(resource) == {"spec.customServiceConfig": sentence}
    assert ("spec.customServiceConfig", sentence) in problems(SERVICE, resource, nobody, None)


def test_a_text_of_the_greatest_length_is_taken() -> None:
    assert refused(made(KeystoneAPI, {"customServiceConfig": text(LONGEST)})) == {}
    assert list(refused(made(KeystoneAPI, {"customServiceConfig": text(LONGEST + 1)}))) == ["spec.customServiceConfig"]


def test_texts_count_together_and_the_longest_is_named() -> None:
    files = {"one.conf": text(200_000), "two.conf": text(300_000)}
    resource = made(KeystoneAPI, {"customServiceConfig": text(100_000), "defaultConfigOverwrite": files})
    ((field, sentence),) = refused(resource).items()
    assert field == "spec.defaultConfigOverwrite[two.conf]"
    assert sentence.startswith("has 300000 bytes and is the longest of its service's texts, which have 600000 bytes")


@pytest.mark.parametrize(
    ("kind", "spec", "field"),
    [
        pytest.param(
            Nova,
            {"cellTemplates": {"cell0": {"conductorServiceTemplate": {"customServiceConfig": text(LONGEST + 1)}}}},
            "spec.cellTemplates[cell0].conductorServiceTemplate.customServiceConfig",
            id="of-a-cell",
        ),
        pytest.param(
            NovaExternalCompute,
            {"customServiceConfig": text(LONGEST + 1)},
            "spec.customServiceConfig",
            id="of-a-service-on-a-node",
        ),
    ],
)
def test_a_text_is_found_wherever_it_is(kind: type[CustomResource], spec: Any, field: str) -> None:
    assert list(refused(made(kind, spec))) == [field]


def test_each_service_of_the_umbrella_counts_for_itself() -> None:
    long, half = {"customServiceConfig": text(LONGEST + 1)}, {"customServiceConfig": text(LONGEST // 2 + 1)}
    plane = services.control_plane()
    common = {"secret": "s", "storageClass": "local"}
    said = refused(made(plane, {**common, "keystone": {"template": half}, "placement": {"template": half}}))
    assert said == {}
    said = refused(made(plane, {**common, "keystone": {"template": long}, "placement": {"template": half}}))
    assert list(said) == ["spec.keystone.template.customServiceConfig"]


def test_of_a_secret_that_would_be_too_large_the_longest_file_is_named() -> None:
    assert text_lengths.describe_overfull("one-config-data", {"a": text(SECRET - 1), "b": "c"}) == ""
    said = text_lengths.describe_overfull("one-config-data", {"a": text(SECRET - 1), "b": "cd"})
    assert said.startswith("Secret one-config-data would have 1048577 bytes, and Kubernetes takes 1048576.")
    assert "Its longest file is a, with 1048575 bytes" in said
