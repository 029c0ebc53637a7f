"""What a process asks its peers before it serves, with the libraries that the services have."""

import socket
from collections.abc import Callable, Iterator

import pytest

from stackwright.blueprint import serving
from tests.images import peers
from tests.images.built import Answer, Built
from tests.images.peers import Peers

# Every question is put three times, at once.
PROGRAM = """
configuration = cfg.ConfigOpts()
configuration([], default_config_files=[], default_config_dirs=["/etc/peering/peering.conf.d"])
DOUBTS = (0.1, 0.1)
meet(peers)
print("It serves")
"""
WRONG_USER = "does not accept this user with this password"


@pytest.fixture(scope="module")
def others() -> Iterator[Peers]:
    with peers.listen() as found:
        yield found


@pytest.fixture
def silent() -> Iterator[int]:
    """The port of a server that takes connections, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


def database(port: int, user: str = "one", schema: str = "one") -> str:
    return f"[database]\nconnection = mysql+pymysql://{user}:secret@127.0.0.1:{port}/{schema}?charset=utf8\n"


def broker(port: int, word: str = "right", place: str = "") -> str:
    return f"[DEFAULT]\ntransport_url = rabbit://one:{word}@127.0.0.1:{port}/{place}\n"


def login(port: int, word: str = "right", project: str = "service") -> str:
    lines = (
        "auth_type = password",
        f"auth_url = http://127.0.0.1:{port}",
        "username = one",
        f"password = {word}",
        "user_domain_name = Default",
        f"project_name = {project}",
        "project_domain_name = Default",
    )
    return "\n".join(("[keystone_authtoken]", *lines, ""))


def start(openstack: Built, ours: str, theirs: str, given: str = "") -> Answer:
    """Start a process with what operators say, and what the user says; `given` are options that come from Secrets."""
    folder = openstack.root / "etc/peering/peering.conf.d"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "01-peering.conf").write_text(ours)
    (folder / "02-peering-override.conf").write_text(theirs)
    (openstack.root / "etc/peering/given").write_text(given)
    (openstack.root / "etc/peering/daemon.py").write_text(serving.daemon("peering", PROGRAM).content)
    return openstack.run("python3 -W ignore /etc/peering/daemon.py 2>&1", user=42425)


def of_operators(others: Peers) -> str:
    return database(others.database) + broker(others.broker) + login(others.keystone)


def test_what_operators_say_is_not_asked_at_all(openstack: Built, others: Peers) -> None:
    others.asked.clear()
    answer = start(openstack, of_operators(others), "[DEFAULT]\ndebug = true\n[database]\nmax_retries = 3\n")
    assert (answer.code, answer.output) == (0, "It serves\n")
    assert others.asked == []


@pytest.mark.parametrize(
    ("kind", "make", "changes", "said"),
    [
        pytest.param(
            "database", database, {"user": "wrong"}, f"[database] connection: the database {WRONG_USER}", id="user"
        ),
        pytest.param(
            "database", database, {"schema": "nosuch"}, "[database] connection: the database has no such", id="schema"
        ),
        pytest.param(
            "broker", broker, {"word": "wrong"}, f"[DEFAULT] transport_url: the broker {WRONG_USER}", id="broker"
        ),
        pytest.param(
            "broker", broker, {"place": "nosuch"}, "[DEFAULT] transport_url: the broker has no such", id="vhost"
        ),
        pytest.param(
            "broker",
            broker,
            {"word": "wrong@127.0.0.1:1,one:wrong"},
            f"the broker {WRONG_USER}",
            id="one-node-is-away",
        ),
        pytest.param(
            "keystone", login, {"word": "wrong"}, f"[keystone_authtoken]: Keystone {WRONG_USER}", id="keystone"
        ),
        pytest.param(
            "keystone", login, {"project": "nosuch"}, f"[keystone_authtoken]: Keystone {WRONG_USER}", id="project"
        ),
    ],
)
def test_who_is_refused_with_what_the_user_says_ends_and_names_the_section(
    openstack: Built, others: Peers, kind: str, make: Callable[..., str], changes: dict[str, str], said: str
) -> None:
    answer = start(openstack, of_operators(others), make(getattr(others, kind), **changes))
    assert answer.code != 0
    (sentence,) = [line for line in answer.output.splitlines() if line.startswith("Others refuse the service")]
    assert said in sentence
    # What was said, and what peers answered, may be secret.
    assert not [word for word in ("wrong", "nosuch", "s3cr3t", "right") if word in answer.output]


@pytest.mark.parametrize(
    ("kind", "make", "changes"),
    [
        pytest.param("database", database, {"user": "crowded"}, id="database"),
        pytest.param("broker", broker, {"place": "crowded"}, id="broker"),
        pytest.param("keystone", login, {"word": "crowded"}, id="keystone"),
        pytest.param("database", database, {"user": "another"}, id="another-user-that-the-database-knows"),
        pytest.param("broker", broker, {"place": "another"}, id="another-virtual-host"),
        pytest.param("keystone", login, {"project": "another"}, id="another-project"),
        pytest.param("database", database, {"user": "late"}, id="a-user-that-was-just-made"),
        pytest.param("broker", broker, {"word": "late"}, id="a-password-that-was-just-set"),
        pytest.param("keystone", login, {"word": "late"}, id="a-password-that-keystone-was-just-given"),
        pytest.param("broker", broker, {"word": "wrong@127.0.0.1:1,one:right"}, id="one-node-is-away"),
    ],
)
def test_who_is_let_in_or_finds_no_room_serves(
    openstack: Built, others: Peers, kind: str, make: Callable[..., str], changes: dict[str, str]
) -> None:
    others.asked.clear()
    answer = start(openstack, of_operators(others), make(getattr(others, kind), **changes))
    assert (answer.code, answer.output.splitlines()[-1]) == (0, "It serves"), answer.output
    assert others.asked


PLACES = pytest.mark.parametrize(
    ("kind", "make", "words"),
    [
        ("database", database, "[database]"),
        ("broker", broker, "[DEFAULT]"),
        ("keystone", login, "[keystone_authtoken]"),
    ],
)


@PLACES
def test_who_finds_nobody_or_no_answer_where_the_user_says_ends(
    openstack: Built, others: Peers, silent: int, kind: str, make: Callable[..., str], words: str
) -> None:
    for port in (1, silent):
        answer = start(openstack, of_operators(others), make(port))
        assert answer.code != 0
        (sentence,) = [line for line in answer.output.splitlines() if line.startswith("Others refuse the service")]
        assert words in sentence
        assert "nobody answers there" in sentence


@PLACES
def test_who_finds_nobody_at_all_serves(
    openstack: Built, others: Peers, silent: int, kind: str, make: Callable[..., str], words: str
) -> None:
    answer = start(openstack, make(1), make(silent))
    assert (answer.code, answer.output.splitlines()[-1]) == (0, "It serves"), answer.output
    assert f"Of {words} nobody says whether it is right" in answer.output


@pytest.mark.parametrize(
    ("theirs", "served"),
    [
        pytest.param("region_name = there", False, id="a-region-without-keystone"),
        pytest.param("interface = admin", False, id="an-interface-that-nobody-has"),
        pytest.param("region_name = here", True, id="the-region"),
        pytest.param("interface = public", True, id="another-interface"),
    ],
)
def test_what_is_looked_up_has_to_be_in_the_catalog(openstack: Built, others: Peers, theirs: str, served: bool) -> None:
    ours = database(others.database) + broker(others.broker) + login(others.keystone) + "interface = internal\n"
    answer = start(openstack, ours, f"[keystone_authtoken]\n{theirs}\n")
    assert (answer.code == 0) is served, answer.output
    assert ("has no service of the type identity in this region" in answer.output) is not served
    # What other services look up is in a section that is called like the entry.
    own, another = (text.replace("[keystone_authtoken]", "[pictures]") for text in (ours, theirs))
    answer = start(openstack, own, f"[pictures]\n{another}\n")
    assert (answer.code == 0) is served, answer.output
    assert ("has no service of the type image in this region" in answer.output) is not served


@pytest.mark.parametrize(
    ("kind", "make", "changes", "theirs"),
    [
        pytest.param("database", database, {"user": "wrong"}, {"schema": "nosuch"}, id="database"),
        pytest.param("broker", broker, {"word": "wrong"}, {"word": "wrong too"}, id="broker"),
        # Keystone gets a new password when pods are ready with it.
        pytest.param("keystone", login, {"word": "wrong"}, {"word": "wrong", "project": "x"}, id="keystone"),
    ],
)
def test_a_refusal_does_not_count_where_operators_are_refused_as_well(
    openstack: Built,
    others: Peers,
    kind: str,
    make: Callable[..., str],
    changes: dict[str, str],
    theirs: dict[str, str],
) -> None:
    port = getattr(others, kind)
    others.asked.clear()
    answer = start(openstack, make(port, **changes), make(port, **theirs))
    assert (answer.code, answer.output) == (0, "It serves\n")
    assert len(others.asked) == 2


GIVEN = "auth_type\nconnection\ntransport_url\n"


@pytest.mark.parametrize(
    ("kind", "make", "changes", "said"),
    [
        pytest.param("database", database, {"user": "wrong"}, "[database] connection, which", id="database"),
        pytest.param("broker", broker, {"word": "wrong"}, "[DEFAULT] transport_url, which", id="broker"),
        pytest.param("keystone", login, {"word": "wrong"}, "[keystone_authtoken], which", id="keystone"),
    ],
)
def test_who_is_refused_with_a_login_from_a_secret_ends(
    openstack: Built, others: Peers, kind: str, make: Callable[..., str], changes: dict[str, str], said: str
) -> None:
    ours = make(getattr(others, kind), **changes)
    answer = start(openstack, ours, "", GIVEN)
    assert answer.code != 0
    (sentence,) = [line for line in answer.output.splitlines() if line.startswith("Others refuse the service")]
    assert f"{said} comes from a Secret: " in sentence
    assert WRONG_USER in sentence
    assert "s3cr3t" not in answer.output
    # Of an option that is not listed, operators make it right themselves.
    assert start(openstack, ours, "", "nothing\n").code == 0


def test_a_login_from_a_secret_is_asked_about_once(openstack: Built, others: Peers) -> None:
    others.asked.clear()
    twice = login(others.keystone) + login(others.keystone).replace("[keystone_authtoken]", "[service_user]")
    answer = start(openstack, database(others.database) + broker(others.broker) + twice, "", GIVEN)
    assert (answer.code, answer.output) == (0, "It serves\n")
    assert len(others.asked) == 3


def test_a_section_of_the_users_own_is_nobodys_peer(openstack: Built, others: Peers) -> None:
    answer = start(openstack, "[DEFAULT]\ndebug = false\n", of_operators(others).replace("right", "wrong"))
    assert (answer.code, answer.output) == (0, "It serves\n")
