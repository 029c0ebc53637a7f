"""What is decided for a KeystoneService, from what was seen."""

import re
from dataclasses import replace

import msgspec
import pytest

from stackwright.adapters.identity import Credentials, Project, RoleAssignment, Service, User
from stackwright.api.keystone import KeystoneService, KeystoneServiceSpec, KeystoneServiceStatus
from stackwright.controllers.absent_servers import Absent
from stackwright.controllers.identity.access import Access
from stackwright.controllers.identity.marks import Made, Notes, made_service, made_user
from stackwright.controllers.identity.passwords import PasswordState
from stackwright.controllers.identity.registration import Registration, together
from stackwright.controllers.identity.service import Seen, current, decide, tell
from stackwright.controllers.identity.service_steps import (
    DeleteService,
    GrantRole,
    MarkUser,
    SetPassword,
    UpdateService,
)
from stackwright.controllers.identity.sweeping import is_proven
from stackwright.controllers.identity.world import KeystoneStep, Note
from stackwright.controllers.ownership import TAKEN
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Plan, Wait
from stackwright.kube.resource import ObjectMeta

ACCESS = Access("cloud", "keystone", "http://k", "regionOne", Credentials("admin", "admin-secret", "admin"), "Secret s")
MARK = "KeystoneService cloud/glance"
ENTRY = Service("s1", "image", "glance", "Images", made_for=MARK)
USER = User("u1", "glance", made_for=MARK)
ROLES = {"admin": "r1", "service": "r2"}
GLANCE = KeystoneService(
    metadata=ObjectMeta(name="glance", namespace="cloud"),
    spec=KeystoneServiceSpec(
        serviceType="image",
        serviceName="glance",
        serviceDescription="Images",
        serviceUser="glance",
        secret="osp-secret",
        passwordSelector="GlancePassword",
    ),
)
REGISTERED = msgspec.structs.replace(
    GLANCE, status=KeystoneServiceStatus(serviceID="s1", userID="u1", keystoneInstance="keystone")
)
THERE = Seen(
    ACCESS,
    "glance-secret",
    services=(ENTRY,),
    user=USER,
    project=Project("p1", "service"),
    roles=ROLES,
    held=frozenset(ROLES),
    login=PasswordState.WORKS,
)
# A person's user: it works in no project of services, and has a password of its own.
STRANGE = replace(THERE, user=User("u1", "glance"), held=frozenset(), login=PasswordState.DIFFERS)
WAIT = Wait("KeystoneNotReady", "KeystoneAPI keystone is not ready yet", "KeystoneAPIReady")


@pytest.mark.parametrize(
    ("seen", "steps"),
    [
        pytest.param(THERE, [], id="all-is-there"),
        pytest.param(
            Seen(ACCESS, "glance-secret"),
            ["CreatingService", "PreparingProject", "CreatingRole", "CreatingRole", "CreatingUser"],
            id="nothing-is-there-and-all-is-made-at-once",
        ),
        pytest.param(replace(THERE, services=()), ["CreatingService"], id="the-service-is-gone"),
        pytest.param(
            replace(THERE, services=(replace(ENTRY, enabled=False),)), ["ChangingService"], id="the-service-is-another"
        ),
        pytest.param(
            replace(THERE, services=(Service("s0", "image", "other"), ENTRY)), [], id="other-services-are-left-alone"
        ),
        pytest.param(
            replace(THERE, project=Project("p1", "service", enabled=False)),
            ["PreparingProject"],
            id="a-disabled-project",
        ),
        pytest.param(replace(THERE, roles={"admin": "r1"}, held=frozenset({"admin"})), ["CreatingRole"], id="no-role"),
        pytest.param(replace(THERE, held=frozenset({"admin"})), ["Granting"], id="a-role-is-not-held"),
        pytest.param(
            replace(THERE, user=replace(USER, enabled=False), login=PasswordState.UNKNOWN),
            ["EnablingUser"],
            id="a-disabled-user",
        ),
        pytest.param(replace(THERE, login=PasswordState.DIFFERS), ["ChangingPassword"], id="another-password"),
        pytest.param(
            replace(THERE, user=None, held=frozenset(), login=PasswordState.UNKNOWN),
            ["CreatingUser"],
            id="the-user-is-gone",
        ),
    ],
)
def test_what_is_missing_is_made(seen: Seen, steps: list[str]) -> None:
    plan = decide(GLANCE, seen)
    assert [step.reason for step in plan.steps] == steps
    assert plan.waits == ()
    assert "secret" not in f"{plan.steps}".replace("osp-secret", "")


@pytest.mark.parametrize("login", [PasswordState.DIFFERS, PasswordState.WORKS], ids=lambda state: str(state.value))
def test_a_password_that_the_service_does_not_use_yet_is_not_set(login: PasswordState) -> None:
    plan = decide(GLANCE, replace(THERE, login=login, unused=True))
    assert plan.steps == ()
    # The Secret may have changed for the sake of another password.
    assert [wait.reason for wait in plan.waits] == (["PasswordUnused"] if login is PasswordState.DIFFERS else [])


def test_what_is_done_is_done_to_the_right_thing() -> None:
    seen = replace(
        THERE, services=(replace(ENTRY, name="renamed"),), held=frozenset({"admin"}), login=PasswordState.DIFFERS
    )
    update, password, grant = decide(REGISTERED, seen).steps
    assert isinstance(update, UpdateService)
    assert isinstance(password, SetPassword)
    assert isinstance(grant, GrantRole)
    assert update.service == ENTRY
    assert (password.user, password.password) == (USER, "glance-secret")
    assert (grant.project_id, grant.assignment) == ("p1", RoleAssignment("u1", "r2"))


def test_a_missing_password_does_not_hold_up_the_catalog() -> None:
    wait = Wait("SecretMissing", "Secret osp-secret does not exist", "KeystoneServiceOSUserReady")
    plan = decide(GLANCE, Seen(ACCESS, wait, project=Project("p1", "service"), roles=ROLES))
    assert [step.reason for step in plan.steps] == ["CreatingService"]
    assert plan.waits == (wait,)


def test_without_a_keystone_it_waits() -> None:
    assert decide(GLANCE, Seen(Absent(WAIT))).waits == (WAIT,)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        pytest.param(replace(THERE, foreign=Blocked("", reason=TAKEN)), TAKEN, id="the-user-of-another-resource"),
        pytest.param(
            replace(THERE, keystone=replace(ACCESS, credentials=Credentials("glance", "x"))),
            "UserReserved",
            id="the-administrator",
        ),
        pytest.param(
            replace(THERE, keystone=replace(ACCESS, credentials=Credentials("Glance ", "x"))),
            "UserReserved",
            id="the-administrator-in-another-spelling",
        ),
        pytest.param(replace(THERE, login=PasswordState.FUTILE), "LoginRefused", id="a-password-that-does-not-help"),
        pytest.param(STRANGE, "UserNotOurs", id="a-user-that-nobody-of-ours-made"),
        pytest.param(
            replace(STRANGE, user=User("u1", "glance", enabled=False), login=PasswordState.UNKNOWN),
            "UserNotOurs",
            id="a-disabled-user-that-nobody-of-ours-made",
        ),
    ],
)
def test_what_the_user_must_mend_is_said(seen: Seen, reason: str) -> None:
    with pytest.raises(Blocked) as blocked:
        decide(GLANCE, seen)
    assert blocked.value.reason == reason


def test_a_note_that_somebody_forged_makes_no_user_ours() -> None:
    for noted in (made_user(USER), made_user(User("", "glance"))):
        with pytest.raises(Blocked, match="was not created for a service"):
            decide(GLANCE, replace(STRANGE, made=(noted,)))


def test_a_user_that_nobody_of_ours_made_is_not_touched_before_its_password_is_known() -> None:
    seen = replace(STRANGE, password=WAIT, login=PasswordState.UNKNOWN)
    assert decide(GLANCE, seen) == Plan(waits=(WAIT,))
    assert tell(GLANCE, seen).userID == ""


@pytest.mark.parametrize(
    ("service", "seen"),
    [
        pytest.param(REGISTERED, STRANGE, id="the-status-knows-it"),
        pytest.param(GLANCE, replace(STRANGE, user=USER), id="it-carries-our-mark"),
        pytest.param(
            GLANCE,
            replace(STRANGE, user=User("u1", "glance", "Works as glance")),
            id="it-is-described-as-older-operators-did",
        ),
        pytest.param(GLANCE, replace(STRANGE, held=frozenset({"service"})), id="it-works-as-a-service"),
    ],
)
def test_a_user_of_ours_is_known_and_gets_its_password(service: KeystoneService, seen: Seen) -> None:
    assert "ChangingPassword" in [step.reason for step in decide(service, seen).steps]


# A cloud that uses the Keystone of another one, which has a Glance of the same name in a namespace of the same name.
SHARED = replace(ACCESS, cloud="ours", external=True)
ANOTHERS = f"{MARK} of cloud another"


@pytest.mark.parametrize("mark", [ANOTHERS, MARK, "KeystoneService elsewhere/glance", f"{ANOTHERS} (adopted)"])
@pytest.mark.parametrize("service", [GLANCE, REGISTERED], ids=["new", "registered-before"])
def test_the_user_of_another_cloud_keeps_its_password(service: KeystoneService, mark: str) -> None:
    seen = replace(THERE, keystone=SHARED, user=replace(USER, made_for=mark), login=PasswordState.DIFFERS)
    with pytest.raises(Blocked, match=f"belongs to {re.escape(mark)}, and does not accept the password") as blocked:
        decide(service, seen)
    assert blocked.value.reason == "UserNotOurs"
    assert tell(service, seen) == service.status
    # Whoever knows the password may use it.
    entry = replace(ENTRY, made_for=f"{MARK} of cloud ours")
    assert decide(service, replace(seen, services=(entry,), login=PasswordState.WORKS)) == Plan()


def test_the_entry_of_another_cloud_is_used_as_it_is() -> None:
    theirs = replace(ENTRY, made_for=ANOTHERS, description="Theirs", enabled=False)
    seen = replace(THERE, keystone=SHARED, services=(theirs,), user=replace(USER, made_for=f"{MARK} of cloud ours"))
    assert current(GLANCE, seen) == theirs
    assert decide(GLANCE, seen) == Plan()
    # Of another type it is another entry.
    other = msgspec.structs.replace(REGISTERED, spec=msgspec.structs.replace(GLANCE.spec, serviceType="imagery"))
    assert [step.reason for step in decide(other, seen).steps] == ["CreatingService"]


def test_what_was_marked_without_a_cloud_is_taken_over_by_who_noted_it() -> None:
    made = together((made_service(ENTRY), made_user(USER)))
    notes = Notes(ids=frozenset({"s1", "u1"}))
    plan = decide(GLANCE, replace(THERE, keystone=SHARED, made=made, notes=notes))
    # First the note: if the operator is killed after it, the marks are completed by what it says.
    note, update, mark = plan.steps
    assert isinstance(update, UpdateService)
    assert isinstance(mark, MarkUser)
    assert isinstance(note, Note)
    assert update.service.made_for == mark.mark == f"{MARK} of cloud ours"
    assert note.noted == made


def test_a_user_that_nobody_marked_is_marked_with_its_first_password() -> None:
    seen = replace(THERE, keystone=SHARED, user=User("u1", "glance"), login=PasswordState.DIFFERS)
    password = next(step for step in decide(GLANCE, seen).steps if isinstance(step, SetPassword))
    assert password.mark == f"{MARK} of cloud ours (adopted)"


def test_what_is_adopted_is_noted_with_its_cloud_before_it_is_marked() -> None:
    adopted = f"{MARK} of cloud ours (adopted)"
    found = replace(THERE, keystone=SHARED, user=User("u1", "glance"), services=(replace(ENTRY, made_for=""),))
    # Nobody has to change anything: nothing is ours, and nothing is noted.
    assert decide(GLANCE, found) == Plan()
    changed = (
        replace(found, login=PasswordState.DIFFERS),
        replace(found, services=(replace(ENTRY, made_for="", enabled=False),)),
    )
    for seen in changed:
        note, _ = decide(GLANCE, seen).steps
        assert isinstance(note, Note)
        assert note.noted == ()
        # Once it is noted it is not noted again.
        noted = replace(seen, notes=Notes("ours", frozenset({"ours"})))
        assert not any(isinstance(step, Note) for step in decide(GLANCE, noted).steps)
    for seen in (
        replace(found, user=User("u1", "glance", made_for=adopted)),
        replace(found, services=(replace(ENTRY, made_for=adopted),)),
    ):
        (note,) = decide(GLANCE, seen).steps
        assert isinstance(note, Note)
        assert decide(GLANCE, replace(seen, notes=Notes("ours", frozenset({"ours"})))) == Plan()


def test_what_is_made_beside_something_adopted_is_noted_at_once() -> None:
    seen = replace(THERE, keystone=SHARED, services=(), user=User("u1", "glance"), login=PasswordState.DIFFERS)
    steps = [step for step in decide(GLANCE, seen).steps if isinstance(step, KeystoneStep)]
    assert [step.reason for step in steps] == ["Noting", "CreatingService", "ChangingPassword"]
    assert steps[0].noted == steps[1].noted == ABOUT_TO[:1]


@pytest.mark.parametrize(
    ("description", "noted", "mark"),
    [
        pytest.param("Works as glance", True, f"{MARK} of cloud ours", id="made-by-an-older-operator"),
        pytest.param("Works as glance", False, f"{MARK} of cloud ours (adopted)", id="not-noted"),
        pytest.param("A person", True, f"{MARK} of cloud ours (adopted)", id="a-forged-note"),
    ],
)
def test_a_user_of_an_older_operator_is_still_deleted_after_its_password_changed(
    description: str, *, noted: bool, mark: str
) -> None:
    user = User("u1", "glance", description)
    made = (made_user(user),) if noted else ()
    seen = replace(THERE, keystone=SHARED, user=user, made=made, login=PasswordState.DIFFERS)
    password = next(step for step in decide(GLANCE, seen).steps if isinstance(step, SetPassword))
    assert password.mark == mark
    note = Registration(GLANCE.kind.name, GLANCE.key, "keystone", made)
    proven = is_proven(replace(user, made_for=password.mark), note, "ours")
    assert proven is (mark == f"{MARK} of cloud ours")


def test_what_was_restored_with_a_keystone_of_ours_is_ours() -> None:
    access = replace(SHARED, external=False)
    user, entry = replace(USER, made_for=ANOTHERS), replace(ENTRY, made_for=ANOTHERS)
    seen = replace(THERE, keystone=access, user=user, services=(entry,))
    assert [step.reason for step in decide(GLANCE, seen).steps] == ["ChangingService", "MarkingUser"]
    with pytest.raises(Blocked, match="delete the user in Keystone"):
        decide(GLANCE, replace(seen, login=PasswordState.DIFFERS))


SERVICE, PERSON = made_service(ENTRY), made_user(USER)
ABOUT_TO = (made_service(replace(ENTRY, id="")), made_user(replace(USER, id="")))


@pytest.mark.parametrize(
    ("seen", "steps", "noted"),
    [
        pytest.param(
            replace(THERE, services=(), user=None, held=frozenset()),
            ["CreatingService", "CreatingUser"],
            ABOUT_TO,
            id="what-is-about-to-be-made",
        ),
        pytest.param(
            replace(THERE, services=(), made=(PERSON,)),
            ["CreatingService"],
            (ABOUT_TO[0], PERSON),
            id="beside-what-was-made-before",
        ),
        pytest.param(
            replace(THERE, services=(), made=(SERVICE,)), ["CreatingService"], ABOUT_TO[:1], id="nothing-that-is-gone"
        ),
        pytest.param(replace(THERE, made=ABOUT_TO), ["Noting"], (SERVICE, PERSON), id="what-was-made-with-its-id"),
        pytest.param(
            replace(THERE, user=User("u2", "glance"), made=(SERVICE, PERSON)),
            ["Noting"],
            (SERVICE,),
            id="no-user-that-somebody-else-made-since",
        ),
    ],
)
def test_the_ledger_gets(seen: Seen, steps: list[str], noted: tuple[Made, ...]) -> None:
    plan = decide(GLANCE, seen)
    assert [step.reason for step in plan.steps] == steps
    assert [step.noted for step in plan.steps if isinstance(step, KeystoneStep)] == [noted] * len(steps)


@pytest.mark.parametrize(
    "made",
    [
        pytest.param((), id="all-was-there-before"),
        pytest.param((SERVICE, PERSON), id="all-is-noted"),
        pytest.param((SERVICE, made_user(User("u0", "of-before")), PERSON), id="a-user-of-before-is-noted-too"),
    ],
)
def test_the_ledger_is_left_alone_when_all_is(made: tuple[Made, ...]) -> None:
    assert decide(GLANCE, replace(THERE, made=together(made))) == Plan()


def test_of_two_services_of_one_name_our_own_is_taken() -> None:
    earlier = replace(ENTRY, id="s0")
    assert current(GLANCE, replace(THERE, services=(earlier, ENTRY))) == earlier
    assert current(GLANCE, replace(THERE, services=(earlier, ENTRY), made=(SERVICE,))) == ENTRY


def test_a_service_that_was_made_for_a_resource_of_the_same_name_before_goes() -> None:
    former = Service("s9", "image", "former", made_for=MARK)
    seen = replace(THERE, services=(ENTRY, former), made=together((SERVICE, PERSON, made_service(former))))
    (step,) = decide(GLANCE, seen).steps
    assert isinstance(step, DeleteService)
    assert step.service_id == "s9"
    assert decide(GLANCE, replace(seen, taken=frozenset({"s9"}))) == Plan()


@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param(Service("s9", "compute", "nova", made_for="KeystoneService cloud/nova"), id="another-resources"),
        pytest.param(Service("s9", "compute", "nova"), id="a-persons"),
        pytest.param(Service("s9", "identity", "keystone"), id="keystones-own"),
    ],
)
def test_a_note_that_somebody_forged_deletes_no_service(theirs: Service) -> None:
    seen = replace(THERE, services=(ENTRY, theirs), made=together((SERVICE, PERSON, made_service(theirs))))
    assert decide(GLANCE, seen) == Plan()


def test_what_an_older_operator_made_gets_its_mark_and_what_was_adopted_does_not() -> None:
    old = replace(THERE, services=(replace(ENTRY, made_for=""),))
    (step,) = decide(GLANCE, replace(old, made=(SERVICE,))).steps
    assert isinstance(step, UpdateService)
    assert step.service == ENTRY
    assert decide(GLANCE, old) == Plan()


def test_keystones_own_entry_is_never_taken_whatever_the_status_says() -> None:
    own = Service("s1", "identity", "keystone")
    assert current(REGISTERED, replace(THERE, services=(own,))) is None
    (step,) = decide(REGISTERED, replace(THERE, services=(own,))).steps
    assert step.reason == "CreatingService"


def test_a_name_that_keystone_takes_for_anothers_is_refused_with_the_owner() -> None:
    accented = msgspec.structs.replace(GLANCE, spec=msgspec.structs.replace(GLANCE.spec, serviceUser="glancé"))
    seen = replace(THERE, user=None, alike=USER, held=frozenset(), login=PasswordState.UNKNOWN)
    with pytest.raises(Blocked) as blocked:
        decide(accented, seen)
    assert str(blocked.value) == (
        "spec.serviceUser: Keystone takes 'glancé' for the name of its user 'glance', which was created for "
        "KeystoneService cloud/glance; choose another name"
    )
    assert tell(accented, seen) == accented.status


def test_the_status_says_what_keystone_has_and_when_the_password_was_changed() -> None:
    changed = "2026-11-15T06:00:00Z"
    status = tell(GLANCE, replace(THERE, changed=changed))
    assert status == msgspec.structs.replace(REGISTERED.status, passwordChanged=changed)
    assert tell(msgspec.structs.replace(GLANCE, status=status), THERE) == status
    assert tell(REGISTERED, Seen(Absent(WAIT))) == REGISTERED.status
