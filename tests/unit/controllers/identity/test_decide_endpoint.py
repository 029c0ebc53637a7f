"""What is decided for a KeystoneEndpoint, from what was seen."""

from dataclasses import replace

import msgspec
import pytest

from stackwright.adapters.identity import Credentials, Endpoint
from stackwright.api.keystone import KeystoneEndpoint, KeystoneEndpointSpec, KeystoneEndpointStatus
from stackwright.controllers.absent_servers import Absent
from stackwright.controllers.identity.access import Access
from stackwright.controllers.identity.endpoint import DeleteEndpoint, Seen, UpdateEndpoint, decide, tell
from stackwright.controllers.identity.marks import Notes, made_endpoint
from stackwright.controllers.identity.world import KeystoneStep, Note
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Plan, Wait
from stackwright.kube.resource import ObjectMeta

ACCESS = Access("cloud", "keystone", "http://k", "regionOne", Credentials("admin", "admin-secret", "admin"), "Secret s")
PUBLIC = Endpoint("e1", "s1", "regionOne", "public", "http://public.example", made_for="KeystoneEndpoint cloud/glance")
INTERNAL = replace(PUBLIC, id="e2", interface="internal", url="http://internal.example")
GLANCE = KeystoneEndpoint(
    metadata=ObjectMeta(name="glance", namespace="cloud"),
    spec=KeystoneEndpointSpec(
        serviceName="glance", endpoints={"public": "http://public.example", "internal": "http://internal.example"}
    ),
)
REGISTERED = msgspec.structs.replace(
    GLANCE, status=KeystoneEndpointStatus(endpointIDs={"public": "e1", "internal": "e2"}, serviceID="s1")
)
THERE = Seen(ACCESS, "s1", endpoints=(PUBLIC, INTERNAL))
WAIT = Wait("KeystoneNotReady", "KeystoneAPI keystone is not ready yet", "KeystoneAPIReady")


def seen(*endpoints: Endpoint) -> Seen:
    return replace(THERE, endpoints=endpoints)


def done(plan: Plan) -> list[str]:
    """Return what is done, deletions with what they delete."""
    return [
        f"{step.reason} {step.endpoint_id}" if isinstance(step, DeleteEndpoint) else step.reason for step in plan.steps
    ]


@pytest.mark.parametrize(
    ("found", "steps"),
    [
        pytest.param(THERE, [], id="all-is-there"),
        pytest.param(seen(), ["CreatingEndpoint", "CreatingEndpoint"], id="nothing-is-there"),
        pytest.param(seen(PUBLIC, replace(INTERNAL, url="http://x")), ["ChangingEndpoint"], id="another-url"),
        pytest.param(seen(PUBLIC, replace(INTERNAL, enabled=False)), ["ChangingEndpoint"], id="a-disabled-one"),
        pytest.param(
            seen(replace(PUBLIC, id="e0"), PUBLIC, INTERNAL), ["DeletingEndpoint e0"], id="the-registered-of-two-stays"
        ),
        pytest.param(
            seen(PUBLIC, INTERNAL, replace(PUBLIC, id="e3", interface="admin")),
            ["DeletingEndpoint e3"],
            id="an-interface-that-nobody-asks-for",
        ),
        pytest.param(
            seen(PUBLIC, INTERNAL, Endpoint("e3", "s1", "regionOne", "admin", "http://x")),
            [],
            id="an-interface-that-was-there-before",
        ),
        pytest.param(
            replace(seen(PUBLIC, INTERNAL, replace(PUBLIC, id="e3", interface="admin")), claims={"admin": "other"}),
            [],
            id="an-interface-of-another-resource",
        ),
        pytest.param(seen(PUBLIC, INTERNAL, replace(PUBLIC, id="e3", region="two")), [], id="another-region"),
        pytest.param(seen(PUBLIC, INTERNAL, replace(PUBLIC, id="e3", service_id="s2")), [], id="another-service"),
        pytest.param(
            seen(replace(PUBLIC, region="old"), INTERNAL),
            ["CreatingEndpoint", "DeletingEndpoint e1"],
            id="ours-of-a-region-of-before",
        ),
    ],
)
def test_the_catalog_becomes_what_the_resource_says(found: Seen, steps: list[str]) -> None:
    assert done(decide(REGISTERED, found)) == steps


def test_an_adopted_interface_goes_when_the_resource_drops_it() -> None:
    admin = Endpoint("e3", "s1", "regionOne", "admin", "http://x")
    status = msgspec.structs.replace(REGISTERED.status, endpointIDs={**REGISTERED.status.endpointIDs, "admin": "e3"})
    dropped = msgspec.structs.replace(REGISTERED, status=status)
    assert done(decide(dropped, seen(PUBLIC, INTERNAL, admin))) == ["DeletingEndpoint e3"]


def test_of_two_unknown_ones_the_first_stays() -> None:
    assert done(decide(GLANCE, seen(PUBLIC, replace(PUBLIC, id="e9"), INTERNAL))) == ["DeletingEndpoint e9"]


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(Seen(Absent(WAIT)), id="no-keystone"),
        pytest.param(replace(THERE, service=WAIT), id="no-service"),
    ],
)
def test_what_is_missing_is_waited_for(found: Seen) -> None:
    assert decide(GLANCE, found) == Plan(waits=(WAIT,))
    assert tell(REGISTERED, found) == REGISTERED.status


def test_an_interface_that_another_resource_registered_is_refused() -> None:
    theirs = replace(THERE, foreign=Blocked("spec.endpoints.public: belongs to another"))
    with pytest.raises(Blocked, match=r"spec.endpoints.public: belongs to another"):
        decide(GLANCE, theirs)
    assert tell(REGISTERED, theirs) == REGISTERED.status


@pytest.mark.parametrize(
    ("found", "steps", "noted"),
    [
        pytest.param(
            seen(),
            ["CreatingEndpoint", "CreatingEndpoint"],
            [("internal", ""), ("public", "")],
            id="what-is-about-to-be-made",
        ),
        pytest.param(
            replace(seen(INTERNAL), made=(made_endpoint(INTERNAL),)),
            ["CreatingEndpoint"],
            [("internal", "e2"), ("public", "")],
            id="beside-what-was-made-before",
        ),
        pytest.param(
            replace(THERE, made=(made_endpoint(replace(PUBLIC, id="")),)),
            ["Noting"],
            [("public", "e1")],
            id="what-was-made-with-its-id",
        ),
        pytest.param(
            replace(THERE, made=(made_endpoint(replace(PUBLIC, id="e0")),)), ["Noting"], [], id="nothing-that-is-gone"
        ),
    ],
)
def test_the_ledger_gets(found: Seen, steps: list[str], noted: list[tuple[str, str]]) -> None:
    plan = decide(GLANCE, found)
    assert done(plan) == steps
    for step in plan.steps:
        assert isinstance(step, KeystoneStep)
        assert step.noted is not None
        assert [(one.name[2], one.id) for one in step.noted] == noted


@pytest.mark.parametrize(
    "found",
    [
        pytest.param(THERE, id="adopted"),
        pytest.param(replace(THERE, made=(made_endpoint(INTERNAL), made_endpoint(PUBLIC))), id="noted"),
    ],
)
def test_the_ledger_is_left_alone_when_all_is(found: Seen) -> None:
    assert decide(GLANCE, found) == Plan()


def test_endpoints_that_were_made_for_another_service_go_with_the_change_of_the_resource() -> None:
    former = replace(PUBLIC, id="e5", service_id="s0")
    found = replace(seen(PUBLIC, INTERNAL, former), made=(made_endpoint(former),))
    assert done(decide(GLANCE, found)) == ["DeletingEndpoint e5"]
    assert done(decide(GLANCE, replace(found, taken=frozenset({"e5"})))) == []


@pytest.mark.parametrize("mark", ["", "KeystoneEndpoint cloud/nova"])
def test_a_note_that_somebody_forged_deletes_no_endpoint(mark: str) -> None:
    theirs = replace(PUBLIC, id="e5", service_id="s0", made_for=mark)
    found = replace(seen(PUBLIC, INTERNAL, theirs), made=(made_endpoint(theirs),))
    assert done(decide(GLANCE, found)) == []


def test_an_endpoint_that_an_older_operator_made_gets_its_mark_and_an_adopted_one_does_not() -> None:
    old = seen(replace(PUBLIC, made_for=""), INTERNAL)
    (step,) = decide(GLANCE, replace(old, made=(made_endpoint(PUBLIC),))).steps
    assert isinstance(step, UpdateEndpoint)
    assert step.endpoint == PUBLIC
    assert decide(GLANCE, old) == Plan()


SHARED = replace(ACCESS, cloud="ours", external=True)
THEIRS = replace(PUBLIC, made_for=f"{PUBLIC.made_for} of cloud another")


def test_an_endpoint_of_another_cloud_is_neither_changed_nor_deleted() -> None:
    own = replace(INTERNAL, made_for=f"{PUBLIC.made_for} of cloud ours")
    shared = replace(seen(THEIRS, own), keystone=SHARED)
    # One that is as it should be may be used.
    assert decide(REGISTERED, shared) == Plan()
    with pytest.raises(Blocked, match=r"is http://theirs and belongs to .* of cloud another; use another region"):
        decide(REGISTERED, replace(shared, endpoints=(replace(THEIRS, url="http://theirs"), own)))
    for other in (replace(THEIRS, id="e8"), replace(THEIRS, id="e9", interface="admin"), replace(THEIRS, region="two")):
        there = (replace(PUBLIC, id="e5", made_for=own.made_for), own, other)
        assert decide(REGISTERED, replace(shared, endpoints=there)) == Plan()


@pytest.mark.parametrize("backwards", [False, True])
def test_our_own_endpoint_stays_though_the_status_names_that_of_another_cloud(*, backwards: bool) -> None:
    mark = f"{PUBLIC.made_for} of cloud ours"
    internal, own = replace(INTERNAL, made_for=mark), replace(PUBLIC, id="e5", made_for=mark)
    theirs = replace(THEIRS, url="http://theirs")
    there = (own, theirs, internal) if not backwards else (theirs, own, internal)
    found = replace(seen(*there), keystone=SHARED)
    assert REGISTERED.status.endpointIDs["public"] == theirs.id
    assert decide(REGISTERED, found) == Plan()
    assert tell(REGISTERED, found).endpointIDs == {"public": "e5", "internal": "e2"}


def test_an_endpoint_that_nobody_marked_is_marked_with_the_first_change() -> None:
    adopted = replace(
        seen(replace(PUBLIC, made_for="", url="http://x"), INTERNAL), keystone=replace(ACCESS, cloud="ours")
    )
    (step,) = (step for step in decide(GLANCE, adopted).steps if isinstance(step, UpdateEndpoint) and step.told)
    assert step.endpoint == replace(PUBLIC, made_for=f"{PUBLIC.made_for} of cloud ours (adopted)")


def test_an_adopted_endpoint_is_noted_with_its_cloud_before_it_is_marked() -> None:
    internal, shared = replace(INTERNAL, made_for=""), replace(THERE, keystone=SHARED)
    assert decide(GLANCE, replace(shared, endpoints=(replace(PUBLIC, made_for=""), internal))) == Plan()
    adopts = replace(shared, endpoints=(replace(PUBLIC, made_for="", url="http://x"), internal))
    note, update = decide(GLANCE, adopts).steps
    assert isinstance(note, Note)
    assert isinstance(update, UpdateEndpoint)
    assert note.noted == ()
    # The mark is there, and the note is not, or was lost.
    adopted = replace(shared, endpoints=(update.endpoint, internal))
    assert [step.reason for step in decide(GLANCE, adopted).steps] == ["Noting"]
    assert decide(GLANCE, replace(adopted, notes=Notes("ours", frozenset({"ours"})))) == Plan()
    # A KeystoneAPI that was made again has another uid: what the note says is ours still, and changes.
    again = replace(adopted, keystone=replace(SHARED, cloud="new"), notes=Notes("ours", frozenset({"ours"})))
    moved = msgspec.structs.replace(
        GLANCE, spec=msgspec.structs.replace(GLANCE.spec, endpoints={**GLANCE.spec.endpoints, "public": "http://new"})
    )
    (change,) = decide(moved, again).steps
    assert isinstance(change, UpdateEndpoint)
    assert change.endpoint == replace(update.endpoint, url="http://new")


def test_the_status_says_what_the_catalog_has() -> None:
    status = tell(GLANCE, THERE)
    assert (status.serviceID, status.keystoneInstance) == ("s1", "keystone")
    assert status.endpointIDs == {"internal": "e2", "public": "e1"}
    assert [(entry.interface, entry.url, entry.id) for entry in status.endpoints] == [
        ("internal", "http://internal.example", "e2"),
        ("public", "http://public.example", "e1"),
    ]
