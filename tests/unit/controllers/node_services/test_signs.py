"""What Nova and Neutron say of a service on a node, and by which name they know its machine."""

from pathlib import Path

import pytest
import yaml

from tests.unit.controllers.node_services.place import AGENT, COMPUTE


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
