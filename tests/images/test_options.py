"""Services' options: the lists are those of the image, and a process reads all of them before it serves."""

import json
from pathlib import Path
from typing import Any

import pytest

from stackwright.blueprint import serving
from stackwright.services.barbican.settings import PROGRAMS as BARBICAN
from stackwright.services.glance.settings import PREPARE as GLANCE
from stackwright.services.keystone.settings import PREPARE as KEYSTONE
from stackwright.services.neutron import programs as neutron
from stackwright.services.nova import programs as nova
from tests.images.built import Built
from tests.images.option_lists import LISTED, PACKAGES, listed
from tests.option_values import REFUSED, TAKEN

ROOT = Path(__file__).parents[2]
# The types of oslo.config as data, the way back from images/openstack/options.py.
JUDGE = """\
import json, sys
from oslo_config import types

def made(said):
    said = dict(said)
    name, of = said.pop("type"), said.pop("of", None)
    names = {"pattern": "regex", "longest": "max_length", "ignoreCase": "ignore_case", "least": "min", "most": "max",
             "fewest": "min_length", "separator": "key_value_separator"}
    given = {names.get(key, key): value for key, value in said.items()}
    if of is not None:
        given["item_type" if name == "list" else "value_type"] = made(of)
    kinds = {"string": types.String, "boolean": types.Boolean, "integer": types.Integer, "float": types.Float,
             "list": types.List, "map": types.Dict, "range": types.Range, "address": types.IPAddress,
             "hostname": types.Hostname, "host": types.HostAddress, "domain": types.HostDomain, "url": types.URI}
    return kinds[name](**given)

def takes(said, value):
    try:
        made(said)(value)
    except ValueError:
        return False
    return True

print(json.dumps([takes(said, value) for said, value in json.load(sys.stdin)]))
"""
# How each application is loaded, and a section that it must have to come so far.
STARTS = {
    "keystone": serving.application("keystone", "keystone.wsgi.api", KEYSTONE),
    "placement": serving.application("placement", "placement.wsgi.api"),
    "glance": serving.application("glance", "glance.wsgi.api", GLANCE),
    "barbican": BARBICAN["api"],
    "barbican-worker": BARBICAN["worker"],
    "barbican-listener": BARBICAN["keystone-listener"],
    "neutron": neutron.APPLICATION,
    **{f"neutron-{name}": file for name, file in neutron.DAEMONS.items()},
}
# Files without which a service does not start at all.
NECESSARY = {"neutron": neutron.PLUGIN_FILE}


@pytest.mark.parametrize("service", LISTED, ids=lambda service: service.name)
def test_the_list_is_that_of_the_image(openstack: Built, service: Any) -> None:
    assert service.options.read_text() == listed(openstack, PACKAGES[service.image_name]), "run `make options`"


def test_values_are_taken_and_refused_as_by_oslo_config(openstack: Built) -> None:
    taken, refused = ([list(case.values) for case in cases] for cases in (TAKEN, REFUSED))
    (openstack.root / "tmp/judge.py").write_text(JUDGE)
    (openstack.root / "tmp/cases.json").write_text(json.dumps(taken + refused))
    answer = openstack.run("python3 /tmp/judge.py </tmp/cases.json")
    found = json.loads(answer.output)
    wanted = [True] * len(taken) + [False] * len(refused)
    pairs = zip(taken + refused, found, wanted, strict=True)
    wrong = [case for case, takes, should in pairs if takes is not should]
    assert wrong == []


def put(openstack: Built, service: str, file: Any) -> None:
    """Put the file of a process where the start contract would."""
    for one in filter(None, (file, NECESSARY.get(service))):
        place = openstack.root / one.destination.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(one.content)


@pytest.mark.parametrize("name", STARTS)
def test_a_process_that_cannot_read_an_option_ends_and_says_which(openstack: Built, name: str) -> None:
    service, file = name.partition("-")[0], STARTS[name]
    sections = "[database]\nconnection = sqlite://\n[placement_database]\nconnection = sqlite://\n"
    # To read a deprecated option registers others, while all are read.
    bad = f"[DEFAULT]\nshow_multiple_locations = true\nlog_rotate_interval = s3cr3t\n{sections}"
    folder = openstack.root / f"etc/{service}/{service}.conf.d"
    folder.mkdir(exist_ok=True)
    (folder / "99-bad.conf").write_text(bad)
    put(openstack, service, file)
    try:
        answer = openstack.run(f"python3 -W ignore {file.destination} 2>&1", user=42425)
    finally:
        (folder / "99-bad.conf").unlink()
    assert answer.code != 0
    said = [line for line in answer.output.splitlines() if line.startswith("The configuration has values")]
    words = "[DEFAULT] log_rotate_interval is not of type Integer"
    assert said == [f"The configuration has values that the service cannot read: {words}"], answer.output


UNREADABLE = """
configuration = cfg.ConfigOpts()
configuration.register_opts([cfg.StrOpt("nobodys", default="$section"), cfg.StrOpt("somebodys")])
configuration.register_opts([cfg.StrOpt("theirs", default="$section")], "section")
configuration(["--config-file", "/tmp/unreadable.conf"])
print(refused())
"""


EMPTIED = """
configuration = cfg.ConfigOpts()
configuration.register_opts([cfg.IntOpt("rpc_response_timeout", default=60), cfg.IntOpt("life", default=60)])
configuration.register_opts([cfg.IntOpt("expiration", default=60), cfg.IntOpt("cache_time", default=60)], "token")
configuration.register_opts([cfg.IntOpt("max_age", default=3600)], "cors")
configuration.register_opts([cfg.IntOpt("max_request_body_size", default=1)], "oslo_middleware")
configuration.register_opts([cfg.IntOpt("max_overflow", default=50)], "database")
configuration(["--config-file", "/tmp/emptied.conf"])
print(refused())
"""


def test_a_number_that_requests_need_is_refused_if_it_is_emptied(openstack: Built) -> None:
    (openstack.root / "tmp/emptied.py").write_text(serving.daemon("keystone", EMPTIED).content)
    (openstack.root / "tmp/emptied.conf").write_text(
        "[DEFAULT]\nrpc_response_timeout =\nlife =\n[token]\nexpiration =\ncache_time =\n[cors]\nmax_age =\n"
        "[database]\nmax_overflow =\n"
    )
    answer = openstack.run("python3 -W ignore /tmp/emptied.py")
    emptied = ("[DEFAULT] rpc_response_timeout", "[token] expiration")
    found = [f"{name} is empty, and has to be a number" for name in emptied]
    assert answer.output.strip().endswith(str(found)), answer.output


def test_a_default_that_cannot_be_substituted_is_not_refused(openstack: Built) -> None:
    (openstack.root / "tmp/unreadable.py").write_text(serving.daemon("keystone", UNREADABLE).content)
    (openstack.root / "tmp/unreadable.conf").write_text(
        "[DEFAULT]\nsomebodys = $section\n[section]\ntheirs = $section\n"
    )
    answer = openstack.run("python3 -W ignore /tmp/unreadable.py")
    assert "nobodys" not in answer.output
    assert answer.output.count("is not of type String") == 2, answer.output


# The size that a file may have ends this process's words in the middle, as a kill would.
KILLED = """
import resource
TERMINATION_LOG = Path("/tmp/termination-log")
TERMINATION_LOG.write_text("")
tell("A value that is longer cannot be read")
tell("A value cannot be read")
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
tell("A value cannot be read")
"""


def test_a_process_that_is_killed_takes_no_other_process_s_words_away(openstack: Built) -> None:
    (openstack.root / "tmp/killed.py").write_text(serving.daemon("keystone", KILLED).content)
    answer = openstack.run("python3 -W ignore /tmp/killed.py")
    assert answer.code == 0, answer.output
    assert (openstack.root / "tmp/termination-log").read_text() == "A value cannot be read"


# How each service that makes its policies with its first request is told its files; and what loads them before that.
POLICIES = {
    "barbican": ("from barbican.common.config import CONF", serving.policies("barbican.common"), BARBICAN["api"]),
    "glance": (
        "from glance.common import config\nfrom oslo_config.cfg import CONF",
        serving.policies("glance.api", "Enforcer().load_rules"),
        STARTS["glance"],
    ),
    "neutron": (
        "from neutron.common import config\nfrom oslo_config.cfg import CONF",
        serving.policies("neutron"),
        neutron.APPLICATION,
    ),
    "nova": ("from nova.conf import CONF", serving.policies("nova"), nova.API),
}
# Neutron's library has an enforcer of its own, with the rules of the file and few others.
EARLIER = {
    "neutron": (
        "from neutron_lib import context\n\nwith contextlib.suppress(ValueError):\n    context.get_admin_context()\n"
    )
}
UNUSABLE = "The policies cannot be used"
CIRCLE = "one: rule:two\ntwo: not rule:one\nmine: rule:one\n"
UNDEFINED = "mine: role:reader and rule:nosuch\n"
LOADED = [
    *((service, "mine: role:reader\n", "Yes") for service in POLICIES),
    *((service, "s3cr3t: [\n", "The policies cannot be loaded") for service in POLICIES),
    *(
        (service, CIRCLE, "The policies cannot be used: one leads to itself; two leads to itself")
        for service in POLICIES
    ),
    ("nova", UNDEFINED, f"{UNUSABLE}: mine needs what is not defined: nosuch"),
    # Readers may, as before.
    ("nova", "mine: role:reader or rule:nosuch\n", "Yes"),
    # It has a rule for all that is not defined.
    ("neutron", UNDEFINED, "Yes"),
    ("neutron", "mine: rule:admin_only\n", "Yes"),
]


@pytest.mark.parametrize(("service", "text", "said"), LOADED)
def test_policies_are_loaded_before_any_request_or_the_process_ends(
    openstack: Built, service: str, text: str, said: str
) -> None:
    begin, load, application = POLICIES[service]
    assert load in application.content
    asked = "print('Yes' if policy.get_enforcer().registered_rules else 'No')"
    told = 'CONF(["--config-file", "/tmp/policies.conf"], project="x")'
    file = serving.daemon(service, f"{begin}\n\n{told}\n{EARLIER.get(service, '')}{load}{asked}\n")
    (openstack.root / "tmp/policies.py").write_text(file.content)
    (openstack.root / "tmp/policies.conf").write_text("[oslo_policy]\npolicy_file = /tmp/policies.yaml\n")
    (openstack.root / "tmp/policies.yaml").write_text(text)
    answer = openstack.run("python3 -W ignore /tmp/policies.py 2>&1", user=42425)
    lines = [line.partition(",")[0] for line in answer.output.splitlines()]
    assert [line for line in lines if line in {"Yes", "No"} or line.startswith("The policies")] == [said], answer.output
    assert (answer.code == 0) is (said == "Yes")


PLACEMENT = """\
[placement_database]
connection = sqlite:////tmp/placement.sqlite
sync_on_startup = true
[oslo_policy]
policy_file = /tmp/circle.yaml
"""
# What a process loads only when a request needs it, by what it must say of it.
UNLOADABLE = [
    pytest.param(
        "barbican", "[crypto]\nenabled_crypto_plugins = nosuch\n", "[crypto] enabled_crypto_plugins", id="encryption"
    ),
    pytest.param(
        "barbican-worker",
        "[secretstore]\nenabled_secretstore_plugins = nosuch\n",
        "[secretstore] enabled_secretstore_plugins",
        id="where-secrets-are-kept",
    ),
    pytest.param("glance", "[DEFAULT]\nenabled_backends = file:nosuch\n", "cannot be loaded", id="a-store"),
    pytest.param("keystone", "[identity]\ndriver = nosuch\n", "cannot be loaded, by ImportError", id="a-driver"),
    pytest.param("neutron", "[DEFAULT]\ncore_plugin = nosuch\n", "cannot be loaded", id="a-plugin"),
    pytest.param("placement", PLACEMENT, "The policies cannot be used: one leads to itself", id="policies"),
]


@pytest.mark.parametrize(("name", "lines", "words"), UNLOADABLE)
def test_a_process_that_cannot_load_what_requests_need_ends(
    openstack: Built, name: str, lines: str, words: str
) -> None:
    service, file = name.partition("-")[0], STARTS[name]
    folder = openstack.root / f"etc/{service}/{service}.conf.d"
    folder.mkdir(exist_ok=True)
    sections = "[database]\nconnection = sqlite:////tmp/tables.sqlite\n"
    (openstack.root / "tmp/circle.yaml").write_text(CIRCLE)
    (folder / "99-bad.conf").write_text(sections + lines)
    put(openstack, service, file)
    try:
        answer = openstack.run(f"timeout 60 python3 -W ignore {file.destination} 2>&1", user=42425)
    finally:
        (folder / "99-bad.conf").unlink()
    assert answer.code not in (0, 124), answer.output
    assert words in answer.output
