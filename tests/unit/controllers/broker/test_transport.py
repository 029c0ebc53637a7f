"""What is decided for a TransportURL, from what was seen."""

from collections.abc import Collection
from dataclasses import replace

import pytest

from stackwright.adapters.rabbitmq import Permission, User, Vhost, digest_of
from stackwright.api.rabbitmq import TransportURL, TransportURLSpec
from stackwright.controllers.absent_servers import Absent
from stackwright.controllers.broker import secrets
from stackwright.controllers.broker.broker import Broker
from stackwright.controllers.broker.secrets import Url
from stackwright.controllers.broker.steps import Admit, GrantVhost, KeepPassword, PutVhost, Retire, Revoke, WriteUrl
from stackwright.controllers.broker.transport import Former, Kept, Seen, decide, remove, tell
from stackwright.kube.errors import Blocked
from stackwright.kube.plan import Step, Wait
from stackwright.kube.resource import ObjectMeta

HOSTS = ("rabbitmq-server-0.rabbitmq-nodes.cloud.svc", "rabbitmq-server-1.rabbitmq-nodes.cloud.svc")
BROKER = Broker("rabbitmq", "cloud", HOSTS, 5672, "http://rabbitmq.cloud.svc:15672", "admin", "root's")
TAG = "stackwright/cloud/rabbitmq"
PASSWORD = "p/w"
NOVA = User("nova", frozenset({TAG}), digest_of(PASSWORD))
CONTENT = secrets.content(secrets.transport_url(("nova", PASSWORD), HOSTS, 5672, "/"), "quorum")
URL = Url("rabbitmq-transport-url-nova", "nova", HOSTS, CONTENT)
OLD = Url("rabbitmq-transport-url-old", "old", HOSTS, {})
GOOD = Seen(
    BROKER,
    "nova",
    "/",
    Kept(PASSWORD, generated=True),
    NOVA,
    Vhost("/", "quorum"),
    Permission(),
    (URL,),
)
RESOURCE = TransportURL(
    metadata=ObjectMeta(name="nova", namespace="cloud", uid="1"),
    spec=TransportURLSpec(rabbitmqClusterName="rabbitmq", username="nova", deletionPolicy="Delete"),
)


@pytest.mark.parametrize(
    ("seen", "steps"),
    [
        pytest.param(GOOD, [], id="nothing-is-left-to-do"),
        pytest.param(
            Seen(BROKER, "nova"), [PutVhost, KeepPassword], id="vhost-and-password-do-not-depend-on-each-other"
        ),
        pytest.param(replace(GOOD, kept=None), [KeepPassword], id="a-lost-password-of-our-user-is-made-anew"),
        pytest.param(replace(GOOD, account=None), [Admit], id="a-missing-user-is-made"),
        pytest.param(
            replace(GOOD, account=User("nova", frozenset({TAG}), digest_of("x"))), [Admit], id="another-password"
        ),
        pytest.param(
            replace(GOOD, account=User("nova", frozenset(), digest_of(PASSWORD))), [Admit], id="a-missing-tag"
        ),
        pytest.param(replace(GOOD, host=None), [PutVhost], id="a-missing-vhost"),
        pytest.param(replace(GOOD, host=Vhost("/", "classic")), [PutVhost], id="another-queue-type"),
        pytest.param(
            replace(GOOD, host=Vhost("/", "classic"), broker=replace(BROKER, external=True)),
            [],
            id="the-queue-type-of-somebody-else-s-vhost-is-left-alone",
        ),
        pytest.param(replace(GOOD, permission=Permission(read="^$")), [GrantVhost], id="a-changed-permission"),
        pytest.param(replace(GOOD, permission=None), [GrantVhost], id="a-missing-permission"),
        pytest.param(replace(GOOD, urls=()), [WriteUrl], id="a-missing-secret"),
        pytest.param(
            replace(GOOD, broker=replace(BROKER, hosts=HOSTS[:1])), [WriteUrl], id="fewer-nodes-give-another-url"
        ),
        pytest.param(
            replace(GOOD, broker=replace(BROKER, hosts=HOSTS[:1], ready=False)),
            [],
            id="while-the-broker-changes-the-url-stays",
        ),
        pytest.param(
            replace(GOOD, urls=(URL, OLD), former=(Former("old", ours=True),)), [Retire], id="a-former-user-goes"
        ),
        pytest.param(
            replace(GOOD, urls=(URL, OLD), former=(Former("old", ours=True),), behind=("Nova nova",)),
            [],
            id="a-former-user-stays-while-a-machine-that-is-off-may-come-back-with-it",
        ),
        pytest.param(
            replace(GOOD, readers=(("Nova", "nova"),)), [WriteUrl], id="a-secret-that-does-not-name-its-reader-yet"
        ),
        pytest.param(
            replace(GOOD, urls=(URL, replace(OLD, consumed=True)), former=(Former("old", ours=True),)),
            [],
            id="a-former-user-with-a-consumer-stays",
        ),
        pytest.param(
            replace(GOOD, urls=(URL, OLD), former=(Former("old", ours=True, connected=True),)),
            [],
            id="a-former-user-who-is-connected-stays",
        ),
        pytest.param(
            replace(GOOD, urls=(OLD,), former=(Former("old", ours=True),)),
            [WriteUrl],
            id="a-former-user-stays-until-the-new-url-is-there",
        ),
    ],
)
def test_steps(seen: Seen, steps: list[type[Step]]) -> None:
    plan = decide(RESOURCE, seen)
    assert [type(step) for step in plan.steps] == steps
    assert plan.waits == ()


OUTSIDE = replace(BROKER, name="outside", external=True, uid="u1")
OF_OUTSIDE = "stackwright/cloud/outside"


def known(*tags: str, password: str = "another") -> User:  # noqa: S107  of a user in a test
    return User("nova", frozenset(tags), digest_of(password))


@pytest.mark.parametrize(
    ("account", "kept", "said"),
    [
        pytest.param(known(TAG), None, "was not created for this resource", id="of-our-own-broker"),
        pytest.param(known(TAG), Kept(PASSWORD, generated=False), "for another RabbitMq", id="with-a-secret-by-hand"),
        pytest.param(known(TAG), Kept(PASSWORD, generated=True), "for another RabbitMq", id="with-a-forged-secret"),
        pytest.param(
            known(f"{OF_OUTSIDE}/u2"), Kept(PASSWORD, generated=True), "for another RabbitMq", id="of-another-cluster"
        ),
        pytest.param(
            known(OF_OUTSIDE, f"{OF_OUTSIDE}/u2"), None, "not created for this", id="that-another-cluster-marked-first"
        ),
        pytest.param(
            known("administrator"), Kept(PASSWORD, generated=False), "administers the broker", id="an-administrator"
        ),
    ],
)
def test_a_user_of_somebody_else_gets_no_other_password(account: User, kept: Kept | None, said: str) -> None:
    with pytest.raises(Blocked, match=said) as refused:
        decide(RESOURCE, replace(GOOD, broker=OUTSIDE, account=account, kept=kept))
    assert refused.value.reason == "UserTaken"


@pytest.mark.parametrize(
    "account",
    [
        pytest.param(known(f"{OF_OUTSIDE}/u1"), id="ours"),
        pytest.param(known(OF_OUTSIDE), id="ours-from-before-resources-were-told-apart"),
        pytest.param(known(f"{OF_OUTSIDE}/u1", f"{OF_OUTSIDE}/u2"), id="one-that-two-share"),
        pytest.param(known(TAG, password=PASSWORD), id="one-whose-password-is-known"),
        pytest.param(known(), id="one-that-a-user-handed-over"),
    ],
)
def test_a_user_of_ours_is_let_in_and_marked(account: User) -> None:
    plan = decide(RESOURCE, replace(GOOD, broker=OUTSIDE, account=account))
    (step,) = plan.steps
    assert isinstance(step, Admit)
    assert f"{OF_OUTSIDE}/u1" in step.tags


@pytest.mark.parametrize(
    ("former", "shared", "dropped"),
    [
        pytest.param(Former("old", ours=True), frozenset(), "old", id="ours"),
        pytest.param(Former("old", ours=False), frozenset(), "", id="somebody-else-s"),
        pytest.param(Former("old", ours=True), frozenset({("old", "/")}), "", id="one-that-another-resource-names"),
    ],
)
def test_which_former_user_is_deleted_with_its_url(
    former: Former, shared: frozenset[tuple[str, str]], dropped: str
) -> None:
    plan = decide(RESOURCE, replace(GOOD, urls=(URL, OLD), former=(former,), shared=shared))
    (step,) = plan.steps
    assert isinstance(step, Retire)
    assert (step.user, step.url) == (dropped, OLD.name)
    assert bool(step.password) == bool(dropped)


def test_a_service_that_leaves_the_administrator_s_login_waits_for_nobody_but_its_readers() -> None:
    """As former versions did, which named no user: the administrator stays, and the URL goes once nobody reads it."""
    seen = replace(GOOD, urls=(URL, Url("rabbitmq-transport-url-nova-1", "admin", HOSTS, {})))
    assert decide(RESOURCE, replace(seen, behind=("NeutronAPI neutron",))).steps == ()
    (step,) = decide(RESOURCE, seen).steps
    assert isinstance(step, Retire)
    assert (step.user, step.password, step.url) == ("", "", "rabbitmq-transport-url-nova-1")


def test_the_default_user_s_password_is_not_ours_to_change() -> None:
    admin = User("admin", frozenset({"administrator"}), digest_of("changed by hand"))
    content = secrets.content(secrets.transport_url(("admin", "root's"), HOSTS, 5672, "/"), "quorum")
    url = Url("rabbitmq-transport-url-nova", "admin", HOSTS, content)
    kept = Kept("root's", generated=False)
    assert decide(RESOURCE, replace(GOOD, user="admin", account=admin, kept=kept, urls=(url,))).steps == ()


def test_a_user_of_somebody_else_is_refused() -> None:
    with pytest.raises(Blocked, match="exists at the broker and was not created for this resource"):
        decide(RESOURCE, replace(GOOD, kept=None, account=User("nova")))


def test_a_reference_to_a_user_is_refused() -> None:
    spec = TransportURLSpec(rabbitmqClusterName="rabbitmq", userRef="nova")
    with pytest.raises(Blocked, match=r"spec.userRef is not supported yet; name the user in spec.username"):
        decide(TransportURL(spec=spec), GOOD)


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(Seen(Absent(Wait("Missing", "…"))), id="no-broker"),
        pytest.param(Seen(replace(BROKER, ready=False), "nova"), id="a-broker-that-is-not-ready-the-first-time"),
        pytest.param(replace(GOOD, kept=Wait("SecretIncomplete", "…")), id="a-secret-without-password"),
    ],
)
def test_waits(seen: Seen) -> None:
    plan = decide(RESOURCE, seen)
    assert plan.steps == ()
    assert len(plan.waits) == 1


@pytest.mark.parametrize(
    ("seen", "dropped"),
    [
        pytest.param(Seen(Absent(Wait("Missing", "…"), gone=True)), [], id="a-broker-that-is-gone-has-no-users"),
        pytest.param(replace(GOOD, former=(Former("nova", ours=True),)), ["nova"], id="its-user-goes"),
        pytest.param(replace(GOOD, former=(Former("nova", ours=False),)), [], id="somebody-else-s-user-stays"),
        pytest.param(
            replace(GOOD, former=(Former("nova", ours=True),), shared=frozenset({("nova", "/")})),
            [],
            id="a-shared-user-stays",
        ),
        pytest.param(replace(GOOD, former=(Former("admin", ours=True),)), [], id="the-default-user-stays"),
    ],
)
def test_deletion(seen: Seen, dropped: list[str]) -> None:
    plan = remove(RESOURCE, seen)
    assert [step.user for step in plan.steps if isinstance(step, Retire)] == dropped
    assert plan.waits == ()


@pytest.mark.parametrize(
    ("former", "needed", "revoked"),
    [
        pytest.param(
            Former("old", ours=True, vhosts=("/", "one")), {"two"}, ["/", "one"], id="rights-that-nobody-needs"
        ),
        pytest.param(
            Former("old", ours=True, vhosts=("/", "one")), {"two", "one"}, ["/"], id="rights-that-another-needs"
        ),
        pytest.param(Former("old", ours=True), {"two"}, [], id="no-rights-any-more"),
        pytest.param(Former("old", ours=True, vhosts=("one",)), (), [], id="a-user-that-goes-itself"),
        pytest.param(Former("old", ours=False, vhosts=("one",)), {"two"}, [], id="a-user-of-somebody-else"),
        pytest.param(Former("admin", ours=True, vhosts=("one",)), {"two"}, [], id="the-default-user"),
    ],
)
def test_a_shared_user_keeps_only_the_rights_that_others_need(
    former: Former, needed: Collection[str], revoked: list[str]
) -> None:
    shared = frozenset((former.user, vhost) for vhost in needed)
    seen = replace(GOOD, former=(former,), shared=shared, urls=(URL, replace(OLD, user=former.user)))
    for plan in (remove(RESOURCE, seen), decide(RESOURCE, seen)):
        steps = [step for step in plan.steps if isinstance(step, Revoke)]
        assert [(step.user, step.vhost) for step in steps] == [(former.user, vhost) for vhost in revoked]


def test_deletion_waits_for_a_broker_that_may_come_back() -> None:
    assert remove(RESOURCE, Seen(Absent(Wait("SecretMissing", "…")))).waits != ()


def test_the_status_names_both_urls_while_both_are_there() -> None:
    status = tell(RESOURCE, replace(GOOD, urls=(URL, OLD)))
    assert (status.secretName, status.previousSecretName) == (URL.name, OLD.name)
    assert (status.rabbitmqUsername, status.previousRabbitmqUsername) == ("nova", "old")
    assert PASSWORD not in repr(status)


@pytest.mark.parametrize(
    ("login", "hosts", "vhost", "url"),
    [
        pytest.param(("nova", "pw"), ("a",), "/", "rabbit://nova:pw@a:5672/?ssl=0", id="the-default-vhost"),
        pytest.param(("nova", "pw"), ("a",), "cell1", "rabbit://nova:pw@a:5672/cell1?ssl=0", id="another-vhost"),
        pytest.param(
            ("nova", "pw"), ("a", "b"), "/", "rabbit://nova:pw@a:5672,nova:pw@b:5672/?ssl=0", id="several-hosts"
        ),
        pytest.param(
            ("no:va", "p@/?#w"), ("a",), "/x", "rabbit://no%3Ava:p%40%2F%3F%23w@a:5672/%2Fx?ssl=0", id="odd-characters"
        ),
        pytest.param(("nova", "pw"), ("fd00::1",), "/", "rabbit://nova:pw@[fd00::1]:5672/?ssl=0", id="an-ipv6-address"),
    ],
)
def test_the_url(login: tuple[str, str], hosts: tuple[str, ...], vhost: str, url: str) -> None:
    assert secrets.transport_url(login, hosts, 5672, vhost) == url


def test_nothing_that_is_logged_has_a_password() -> None:
    plans = (decide(RESOURCE, seen) for seen in (GOOD, replace(GOOD, account=None), replace(GOOD, urls=())))
    for plan in plans:
        assert PASSWORD not in repr(plan)
        assert "root's" not in repr(plan)
    assert PASSWORD not in repr(GOOD)
