"""What Nova and Neutron say of a service on a node, and by which name they know its machine."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from stackwright.adapters.identity import Credentials, Keystone, Session
from stackwright.controllers.dialling import Dialler
from stackwright.controllers.node_services.signs import Address, Signs, find_address
from stackwright.services.keystone.kinds import KeystoneAPI
from tests.fakes.running import fake
from tests.unit.controllers.node_services.place import AGENT, COMPUTE, READY, made, placement, secret, seeing


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        pytest.param([], "does not know a compute", id="unknown"),
        pytest.param([("nova-compute", "two", "up")], "does not know a compute", id="another-host"),
        pytest.param([("nova-conductor", "one", "up")], "does not know a compute", id="another-binary"),
        pytest.param([("nova-compute", "one", "down")], "is down", id="down"),
        pytest.param([("nova-compute", "one", "up")], "", id="up"),
        pytest.param(
            [("nova-compute", "one.example.org", "up")],
            "but one on one.example.org: Nova's host has to be one, as the chassis of OVN is called",
            id="another-name",
        ),
    ],
)
def test_nova_says_whether_a_compute_is_up(rows: list[tuple[str, str, str]], words: str) -> None:
    answer = {"services": [{"binary": binary, "host": host, "state": state} for binary, host, state in rows]}
    said = COMPUTE.sign.judge(answer, "one")
    assert words in said
    assert bool(said) == bool(words)


def test_neutron_says_whether_an_agent_is_up() -> None:
    listed = {"agent_type": "OVN Metadata agent", "host": "one"}
    assert "does not know" in AGENT.sign.judge({"agents": []}, "one")
    assert "is down" in AGENT.sign.judge({"agents": [{**listed, "alive": False}]}, "one")
    assert AGENT.sign.judge({"agents": [{**listed, "alive": True}]}, "one") == ""


def test_a_chassis_of_another_name_is_named() -> None:
    listed = {"agent_type": "OVN Metadata agent", "host": "one.example.org", "alive": True}
    said = AGENT.sign.judge({"agents": [listed]}, "one")
    assert "but one on one.example.org: the chassis has to be called one" in said
    assert "but one on" not in AGENT.sign.judge({"agents": [{**listed, "host": "two"}]}, "one")


def test_nova_and_ovn_take_the_name_of_a_machine_from_one_variable() -> None:
    roles = Path(__file__).parents[4] / "ansible" / "roles"
    said = [yaml.safe_load(path.read_text()) for path in roles.glob("*/defaults/main.yml")]
    defaults = {name: value for each in said if each for name, value in each.items()}
    names = [name for service in (COMPUTE, AGENT) for name in service.host_variables]
    assert len(names) == 3
    assert {defaults[name] for name in names} == {"{{ canonical_hostname | default(inventory_hostname) }}"}


def found(*, bootstrapped: bool) -> Address:
    """Return where Placement is asked, in a namespace whose Keystone is bootstrapped or not yet."""
    spec = {"secret": "s", "databaseInstance": "openstack"}
    bootstrap = {"type": "BootstrapReady", "status": str(bootstrapped), "reason": "", "message": ""}
    status = {"conditions": [*READY["conditions"], bootstrap], "apiEndpoints": {"internal": "http://keystone.example"}}
    keystone = made(KeystoneAPI, "keystone", spec=spec, status=status)
    address = find_address("placement", seeing(keystone, placement(), secret("s", AdminPassword="p")))
    assert isinstance(address, Address)
    return address


def test_while_keystone_is_bootstrapped_it_is_known_why_nobody_logs_in() -> None:
    open_, shut = found(bootstrapped=True), found(bootstrapped=False)
    assert open_.shut == ""
    assert shut.shut == "KeystoneAPI keystone does not have the password of Secret s, key AdminPassword yet"
    # A session that is there goes on.
    assert shut == open_


async def test_no_login_is_tried_before_bootstrap_has_set_the_password() -> None:
    first, second = Credentials("admin", "first", "admin"), Credentials("admin", "second", "admin")
    with fake("tests.fakes.keystone", first.password) as keystone:
        signs, sign = Signs(Dialler(cast("Any", None), inside=True), remembered=0.0), replace(COMPUTE.sign, version="")
        address = Address(f"{keystone.url}/v3", keystone.url, first)
        waiting = replace(address, credentials=second, shut="not yet")
        assert "services" in await signs.ask(address, sign, "/services")
        # Whoever has logged in is let in still.
        assert "services" in await signs.ask(replace(address, shut="not yet"), sign, "/services")
        # A login that was refused a moment ago is forgotten, too.
        assert isinstance(await signs.ask(replace(waiting, shut=""), sign, "/services"), str)
        assert await signs.ask(waiting, sign, "/services") == "not yet"
        administrator = Keystone(Session(keystone.url, first))
        async with administrator.connected():
            user = await administrator.find_user("admin")
            assert user is not None
            await administrator.set_password(user.id, second.password)
        assert await signs.ask(waiting, sign, "/services") == "not yet"
        assert "services" in await signs.ask(replace(waiting, shut=""), sign, "/services")
