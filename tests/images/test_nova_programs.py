"""The programs of Nova in the image that was built: how a trial of their configuration ends, and what they wait for."""

from dataclasses import replace
from typing import Any

import pytest

from stackwright.blueprint import configuration
from stackwright.services.nova.facts import NovaFacts
from tests.images import peers
from tests.images.built import Answer, Built
from tests.unit.services.novas import BY_KIND, FACTS, made

# The user of Nova's pods.
NOVA = 42436
KINDS = ("NovaScheduler", "NovaConductor", "NovaCompute")


@pytest.fixture
def nova(openstack: Built) -> Built:
    """The container, without what an earlier start has left in it."""
    openstack.run("rm -rf /etc/nova/nova.conf.d /tmp/stackwright-started", user=0)
    return openstack


def trial(nova: Built, kind: str, **spec: Any) -> Answer:
    """Run the trial of a program."""
    (component,) = BY_KIND[kind].known_components
    return run(nova, component.trial, kind, **spec)


def run(nova: Built, command: str, kind: str, facts: NovaFacts = FACTS, **spec: Any) -> Answer:
    """Run a command in a container with the Secret of a resource, as the chart mounts it."""
    service = BY_KIND[kind]
    (component,) = service.known_components
    secret = configuration.secret_data(service, made(kind, **spec), replace(facts, name="nova-x"))
    places = {f"var/lib/openstack/config/{key}": content for key, content in secret.items()}
    places["var/lib/kolla/config_files/config.json"] = secret[f"{component.name}.json"]
    for place, content in places.items():
        path = nova.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        path.chmod(0o644)
    return nova.run(command, user=NOVA, environment={"KOLLA_CONFIG_STRATEGY": "COPY_ALWAYS"})


@pytest.mark.parametrize("kind", KINDS)
def test_a_trial_of_what_can_be_read_ends_well_and_starts_nothing(nova: Built, kind: str) -> None:
    answer = trial(nova, kind)
    assert answer.code == 0, answer.output
    assert "Running command: 'python3 /etc/nova/daemon.py'" in answer.output
    assert not (nova.root / "tmp/stackwright-started").exists()


@pytest.mark.parametrize("kind", KINDS)
def test_a_trial_of_what_cannot_be_read_says_which_option(nova: Built, kind: str) -> None:
    answer = trial(nova, kind, customServiceConfig="[DEFAULT]\nlog_rotate_interval = s3cr3t\n")
    assert answer.code != 0
    words = "[DEFAULT] log_rotate_interval is not of type Integer"
    assert f"The configuration has values that the service cannot read: {words}" in answer.output, answer.output


def test_a_trial_of_what_the_broker_refuses_says_so(nova: Built) -> None:
    kind = "NovaConductor"
    (component,) = BY_KIND[kind].known_components
    with peers.listen() as others:
        url = f"rabbit://user:right@127.0.0.1:{others.broker}/"
        facts = replace(FACTS, messaging=replace(FACTS.messaging, transport_url=url))
        said = "[DEFAULT]\ntransport_url = "
        wrong, crowded = (f"{said}{each}\n" for each in (url.replace("right", "wrong"), f"{url}crowded"))
        answer = run(nova, component.trial, kind, facts, customServiceConfig=wrong)
        assert answer.code != 0
        words = "[DEFAULT] transport_url: the broker does not accept this user with this password"
        assert f"Others refuse the service with these values: {words}" in answer.output, answer.output
        answer = run(nova, component.trial, kind, facts, customServiceConfig=crowded)
        assert answer.code == 0, answer.output


# Where a program finds its tables: with none that answers, it does not come to what its options name.
TABLES = """
[database]
connection = sqlite:////tmp/trial-cell.sqlite
[api_database]
connection = sqlite:////tmp/trial-api.sqlite
"""
UNUSABLE = [
    pytest.param(
        "NovaScheduler", "[filter_scheduler]\nenabled_filters = NoSuch\n", "SchedulerHostFilterNotFound", id="filter"
    ),
    pytest.param("NovaScheduler", "[placement]\nauth_type = passwrd\n", "NoMatchingPlugin", id="login"),
    pytest.param("NovaConductor", "[conductor]\nworkers = -3\n", "ValueError", id="workers"),
]


@pytest.fixture(scope="module")
def tables(openstack: Built) -> str:
    """The configuration of databases that are there, with their tables."""
    (openstack.root / "tmp/tables.conf").write_text(TABLES)
    sync = "nova-manage --config-file /tmp/tables.conf"
    made = openstack.run(f"{sync} api_db sync && {sync} db sync --local_cell && chmod 0666 /tmp/trial-*", user=NOVA)
    assert made.code == 0, made.output
    return TABLES


@pytest.mark.parametrize(("kind", "lines", "error"), UNUSABLE)
def test_a_trial_makes_what_its_options_name(nova: Built, tables: str, kind: str, lines: str, error: str) -> None:
    answer = trial(nova, kind, customServiceConfig=tables + lines)
    assert answer.code != 0
    assert f"The program cannot run, by {error}; the log has more" in answer.output, answer.output
    assert trial(nova, kind, customServiceConfig=tables).code == 0


def test_a_command_of_the_users_own_is_not_tried(nova: Built) -> None:
    answer = trial(nova, "NovaConductor", kollaConfig={"command": "sleep infinity"})
    assert (answer.code, answer.output) == (0, "")


def test_a_conductor_waits_until_its_tables_are_there(nova: Built) -> None:
    tables = "[database]\nconnection = sqlite:////tmp/cell.sqlite\n"
    waiting = "The tables of the cell are not made or upgraded yet"
    started = nova.root / "tmp/stackwright-started"
    # It would not end by itself.
    waits = f"timeout 30 kolla_start 2>&1 | sed '/{waiting}/q'"
    answer = run(nova, waits, "NovaConductor", customServiceConfig=tables)
    assert waiting in answer.output
    assert not started.exists()

    older = "nova-manage db sync --local_cell 8f2f1571d55b"
    answer = run(nova, f"{older} && {waits}", "NovaConductor", customServiceConfig=tables)
    assert waiting in answer.output, answer.output
    assert not started.exists()

    sync = "nova-manage db sync --local_cell"
    begins = "timeout 30 kolla_start & while [ -d /proc/$! ] && [ ! -e /tmp/stackwright-started ]; do sleep 0.1; done"
    answer = run(nova, f"{sync}; {begins}; kill $!", "NovaConductor", customServiceConfig=tables)
    assert waiting not in answer.output, answer.output
    assert started.exists(), answer.output
