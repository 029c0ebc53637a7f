"""What is kept of a service whose resource is refused: what was recorded last, and nothing of the refused spec."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from stackwright.api.annotations import GENERATED_FOR
from stackwright.controllers.release.history import DIGEST
from stackwright.controllers.service import holding
from stackwright.controllers.service.decide import Seen
from stackwright.controllers.service.rings import TURNED_AT, Turn
from stackwright.kube import builtin
from stackwright.kube.builtin import Deployment, Secret
from stackwright.kube.resource import ObjectMeta, R, Resource
from stackwright.services.keystone.kinds import KeystoneAPI
from stackwright.services.keystone.service import SERVICE
from stackwright.services.placement.kinds import PlacementAPI
from tests.unit.controllers.release.histories import owned_by, revision

NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)
MANIFEST = """\
---
apiVersion: apps/v1
kind: Deployment
metadata:
  name: small
---
apiVersion: v1
kind: Service
metadata:
  name: small-public
---
apiVersion: batch/v1
kind: Job
metadata:
  name: small-db-sync-1
"""
SPEC = {"databaseInstance": "openstack", "secret": "osp-secret", "fernetRotationDays": 1}
KEYSTONE: KeystoneAPI = msgspec.convert(
    {
        "metadata": {"name": "small", "namespace": "here", "uid": "thing"},
        "spec": SPEC,
        "status": {"hash": {"release": revision(1, manifest=MANIFEST).digest}},
    },
    KeystoneAPI,
)
# One that an operator has accepted under the same name.
RIVAL: PlacementAPI = msgspec.convert(
    {
        "metadata": {"name": "small", "namespace": "here", "generation": 1},
        "spec": {"databaseInstance": "openstack", "secret": "osp-secret", "databaseAccount": "other"},
        "status": {"observedGeneration": 1},
    },
    PlacementAPI,
)
RECORD = revision(1, manifest=MANIFEST).secret
HAND = revision(2, hand=True, manifest=MANIFEST).secret


def there(kind: type[Any], name: str, *, owner: str = "thing") -> Resource:
    owners = (owned_by(owner),) if owner else ()
    found: Resource = kind(metadata=ObjectMeta(name=name, namespace="here", uid=f"of-{name}", ownerReferences=owners))
    return found


def ring(turned_at: str, mark: str = "KeystoneAPI/small") -> Secret:
    annotations = {TURNED_AT: turned_at, GENERATED_FOR: mark}
    metadata = ObjectMeta(name="small-fernet-keys", namespace="here", annotations=annotations)
    return Secret(metadata=metadata, data={"0": "c3RhZ2Vk", "1": "b2xk", "2": "cHJpbWFyeQ=="})


def held(*objects: Resource, resource: KeystoneAPI = KEYSTONE) -> holding.Held | None:
    def known(kind: type[R], namespace: str | None) -> list[R]:
        return [item for item in objects if isinstance(item, kind) and namespace in (None, item.metadata.namespace)]

    def look(kind: type[R], name: str, *, namespace: str = "") -> R | None:
        return next((item for item in known(kind, "here") if item.metadata.name == name), None)

    return holding.hold(SERVICE, resource, Seen(look, NOW, known=known))


def names(bodies: Iterable[dict[str, Any]]) -> list[str]:
    return [f"{body['kind']} {body['metadata']['namespace']}/{body['metadata']['name']}" for body in bodies]


@pytest.mark.parametrize(
    ("objects", "lost", "kept"),
    [
        pytest.param((), ["Deployment here/small", "Service here/small-public"], [], id="jobs-are-not-done-again"),
        pytest.param(
            (there(Deployment, "small"),),
            ["Service here/small-public"],
            ["Deployment here/small"],
            id="what-is-there-is-only-looked-at",
        ),
        pytest.param(
            (there(Deployment, "small", owner=""), there(builtin.Service, "small-public", owner="other")),
            [],
            [],
            id="what-is-somebody-elses-is-left-alone",
        ),
        pytest.param(
            (
                RIVAL,
                there(Deployment, "small"),
            ),
            [],
            ["Deployment here/small"],
            id="nothing-is-made-under-names-that-another-has",
        ),
    ],
)
def test_what_was_recorded_is_kept(objects: tuple[Resource, ...], lost: list[str], kept: list[str]) -> None:
    found = held(RECORD, KEYSTONE, *objects)
    assert found is not None
    assert (names(found.lost), names(found.there)) == (lost, kept)


@pytest.mark.parametrize(
    "secrets",
    [
        pytest.param((), id="nothing-was-recorded"),
        pytest.param((RECORD, HAND), id="a-hand-changed-it-since"),
        pytest.param(
            (msgspec.structs.replace(RECORD, metadata=msgspec.structs.replace(RECORD.metadata, ownerReferences=())),),
            id="it-is-not-provably-its-own",
        ),
        pytest.param((revision(1, "superseded", manifest=MANIFEST).secret,), id="it-is-not-what-is-deployed"),
    ],
)
def test_without_a_record_of_its_own_nothing_is_kept(secrets: tuple[Secret, ...]) -> None:
    assert held(KEYSTONE, *secrets) is None


def test_a_record_that_somebody_forged_creates_nothing() -> None:
    forged = revision(2, manifest=MANIFEST.replace("small-public", "trojan")).secret
    # It says all that one of ours says, and even that it is the one that was noted.
    annotations = {**forged.metadata.annotations, DIGEST: revision(1, manifest=MANIFEST).digest}
    metadata = msgspec.structs.replace(forged.metadata, annotations=annotations)
    assert held(RECORD, msgspec.structs.replace(forged, metadata=metadata), KEYSTONE) is None


def test_a_ring_turns_by_the_clock_and_loses_no_key() -> None:
    found = held(RECORD, KEYSTONE, ring("2026-11-10T00:00:00Z"))
    assert found is not None
    assert found.turns == (
        Turn(ring("2026-11-10T00:00:00Z"), "/etc/keystone/fernet-keys", 4, needed=frozenset({"0", "1", "2"})),
    )
    waiting = held(RECORD, KEYSTONE, ring("2026-11-15T00:00:00Z"))
    assert waiting is not None
    assert (waiting.turns, waiting.wake) == ((), 12 * 3600.0)
    others = held(RECORD, KEYSTONE, ring("2026-11-10T00:00:00Z", "KeystoneAPI/other"))
    assert others is not None
    assert (others.turns, others.wake) == ((), None)


def test_a_recorded_kind_that_this_version_does_not_know_is_left_alone() -> None:
    unknown = "apiVersion: example.org/v1\nkind: Widget\nmetadata: {name: small}\n"
    record = revision(1, manifest=f"{MANIFEST}\n---\n{unknown}")
    noted = msgspec.structs.replace(KEYSTONE.status, hash={"release": record.digest})
    found = held(record.secret, resource=msgspec.structs.replace(KEYSTONE, status=noted))
    assert found is not None
    assert names(found.lost) == ["Deployment here/small", "Service here/small-public"]
