"""Which keys of machines are recorded, and which are checked."""

import pytest

from stackwright.blueprint.dataplane.host_keys import has_moved, lines_for, name_machine, record, write_recorded
from stackwright.blueprint.dataplane.inheritance import Machine

KEY, OTHER = f"ssh-ed25519 {'A' * 40}", f"ssh-ed25519 {'B' * 40}"


def machine(address: str = "192.0.2.10", port: int = 22) -> Machine:
    return Machine("one", "one", address, "key", port=port)


@pytest.mark.parametrize(
    ("before", "met", "recorded"),
    [
        pytest.param([], [], (), id="nobody-was-there"),
        pytest.param([], [f"192.0.2.10 {KEY}"], (f"192.0.2.10 {KEY}",), id="the-first-contact"),
        pytest.param([], [f"192.0.2.11 {KEY}"], (), id="another-machine-of-the-same-run"),
        pytest.param([f"192.0.2.10 {KEY}"], [f"192.0.2.10 {OTHER}"], (f"192.0.2.10 {KEY}",), id="the-first-stays"),
        pytest.param([f"192.0.2.9 {KEY}"], [f"192.0.2.10 {OTHER}"], (f"192.0.2.10 {OTHER}",), id="it-has-moved"),
        pytest.param([f"192.0.2.9 {KEY}"], [], (), id="it-has-moved-and-was-not-met-yet"),
        pytest.param([], ["192.0.2.10 rubbish"], (), id="no-key"),
    ],
)
def test_a_machine_s_key_is_recorded_at_the_first_contact(
    before: list[str], met: list[str], recorded: tuple[str, ...]
) -> None:
    assert record(before, met, machine()) == recorded


@pytest.mark.parametrize(
    ("before", "met", "given", "recorded"),
    [
        pytest.param([f"192.0.2.9 {KEY}"], [f"192.0.2.10 {OTHER}"], [], KEY, id="whoever-answers-at-another-address"),
        pytest.param([f"192.0.2.10 {KEY}"], [], [f"a,192.0.2.10 {OTHER} root@a"], OTHER, id="it-was-reinstalled"),
        pytest.param([], [], [f"192.0.2.10 {OTHER}"], OTHER, id="given-before-the-first-contact"),
    ],
)
def test_a_machine_that_must_stay_keeps_its_keys_unless_others_are_given(
    before: list[str], met: list[str], given: list[str], recorded: str
) -> None:
    assert record(before, met, machine(), given=given, is_kept=True) == (f"192.0.2.10 {recorded}",)


@pytest.mark.parametrize(
    ("recorded", "given", "moved"),
    [
        pytest.param([], [f"192.0.2.10 {OTHER}"], False, id="it-was-nowhere-before"),
        pytest.param([f"192.0.2.9 {KEY}"], [], False, id="its-key-will-show"),
        pytest.param([f"192.0.2.9 {KEY}"], [f"192.0.2.10 {KEY}", f"192.0.2.10 {OTHER}"], False, id="the-same-one"),
        pytest.param([f"192.0.2.10 {KEY}"], [f"192.0.2.10 {OTHER}"], False, id="it-was-reinstalled"),
        pytest.param([f"192.0.2.9 {KEY}"], [f"192.0.2.10 {OTHER}"], True, id="another-one"),
    ],
)
def test_a_machine_is_another_one_by_keys_that_are_given(recorded: list[str], given: list[str], moved: bool) -> None:
    assert has_moved(recorded, given, "192.0.2.10") is moved


def test_a_machine_at_another_port_has_another_name() -> None:
    assert name_machine(machine()) == "192.0.2.10"
    assert name_machine(machine(port=2222)) == "[192.0.2.10]:2222"


def test_ssh_knows_machines_by_names_in_lower_case() -> None:
    upper = machine("One.Example.com", port=2222)
    met = [f"[one.example.com]:2222 {KEY}"]
    assert record([], met, upper) == tuple(met)
    assert record(met, [f"[one.example.com]:2222 {OTHER}"], upper) == tuple(met)
    given = f"ONE.example.com {OTHER}"
    assert lines_for(machine("one.example.COM"), given) == [given]
    assert write_recorded([f"one.example.com {KEY}"], given) == ""
    assert record([], [f"2001:db8::1 {KEY}"], machine("2001:DB8::1")) == (f"2001:db8::1 {KEY}",)
    assert record([], [f"192.0.2.10 {KEY}"], machine("192.522")) == (f"192.0.2.10 {KEY}",)


def test_what_the_user_gives_goes_before_what_was_recorded() -> None:
    recorded = [f"192.0.2.10 {KEY}", f"192.0.2.11 {KEY}"]
    given = f"192.0.2.10,one.example.com {OTHER}\n"
    assert write_recorded(recorded, "") == f"192.0.2.10 {KEY}\n192.0.2.11 {KEY}\n"
    assert write_recorded(recorded, given) == f"192.0.2.11 {KEY}\n"
    assert lines_for(machine(), given) == [given.strip()]
    assert lines_for(machine("192.0.2.1"), given) == []
