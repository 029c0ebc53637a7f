"""Who forms a MariaDB cluster, who joins it, and which node the clients talk to."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.unit.charts.mariadb.nodes import EMPTY, HALF, NODES, OTHER, SERVES, UUID, data, stopped


@pytest.mark.parametrize(
    ("said", "chosen"),
    [
        pytest.param(data(EMPTY, EMPTY, EMPTY), "db-galera-0", id="a-first-install-begins-at-node-0"),
        pytest.param(data(EMPTY, replicas=1), "db-galera-0", id="one-node-alone-begins"),
        pytest.param(data(stopped(5), stopped(7), stopped(6)), "db-galera-1", id="the-newest-data-wins"),
        pytest.param(data(stopped(0, members=NODES[:1]), replicas=1), "db-galera-0", id="position-0-is-one"),
        pytest.param(data(stopped(7), stopped(7), stopped(7)), "db-galera-0", id="of-equals-the-first-wins"),
        pytest.param(
            data(stopped(7), stopped(7, safe=True), stopped(7)), "db-galera-1", id="of-equals-the-last-to-leave-wins"
        ),
        pytest.param(
            data(stopped(4), HALF, stopped(3)), "db-galera-0", id="who-was-being-filled-has-nothing-of-its-own"
        ),
        pytest.param(
            data(stopped(4, members=NODES[:1]), EMPTY, EMPTY), "db-galera-0", id="who-never-was-in-it-may-be-empty"
        ),
        pytest.param(
            data(stopped(9), stopped(8), stopped(8), replicas=1),
            "db-galera-0",
            id="scaled-down-while-stopped-with-less",
        ),
        pytest.param(
            data(stopped(5), stopped(None), stopped(6), force="db-galera-0"), "db-galera-0", id="a-person-decides"
        ),
        pytest.param(
            data(stopped(5, members=NODES[:2]), stopped(6, members=NODES[:2]), None, formed=NODES[0]),
            "db-galera-1",
            id="a-node-that-never-was-there-is-not-needed",
        ),
        pytest.param(
            data(stopped(5, members=NODES[:1]), None, None, formed=NODES[0]),
            "db-galera-0",
            id="neither-are-two-of-them",
        ),
        pytest.param(
            data(stopped(None, members=NODES[:1]), replicas=1), "db-galera-0", id="who-was-alone-has-nobody-to-compare"
        ),
    ],
)
def test_who_forms_the_cluster(choice: ModuleType, said: dict[str, str], chosen: str) -> None:
    state = choice.parse(said, "db-galera")
    assert choice.choose(state) == choice.Choice(chosen, f"life-of-{chosen}")


@pytest.mark.parametrize(
    ("said", "blocked", "words"),
    [
        pytest.param(data(stopped(5), None, stopped(5)), False, "Waits for db-galera-1", id="a-node-is-missing"),
        pytest.param(
            data(stopped(5), None, stopped(5), formed=NODES[0]),
            False,
            "Waits for db-galera-1",
            id="a-node-that-was-in-the-cluster-has-no-record",
        ),
        pytest.param(
            data(stopped(5, members=NODES[:2]), stopped(5, members=NODES[:2]), None),
            False,
            "Waits for db-galera-2",
            id="there-was-no-cluster-since-there-are-records",
        ),
        pytest.param(
            data(
                stopped(5, members=NODES[:2]), stopped(5, members=NODES[:2]), {"state": "Disconnected"}, formed=NODES[0]
            ),
            False,
            "Waits for db-galera-2",
            id="one-that-was-there-may-have-come-back-to-the-cluster",
        ),
        pytest.param(
            data(stopped(5, members=NODES[:2]), {"state": "Recovering"}, None, formed=NODES[0]),
            False,
            "Waits for db-galera-1 to",
            id="only-one-of-them-never-was-there",
        ),
        pytest.param(data(EMPTY, None, None, formed=NODES[0]), True, "There was a cluster", id="the-only-volume-lost"),
        pytest.param(
            data(stopped(5), {"state": "Recovering"}, stopped(5)), False, "Waits for db-galera-1", id="one-still-looks"
        ),
        pytest.param(
            data(stopped(5), {"state": "Disconnected"}, stopped(5)),
            False,
            "db-galera-1",
            id="one-runs-without-a-majority",
        ),
        pytest.param(
            data(stopped(5), {"state": "Joining"}, stopped(5)), False, "Waits for db-galera-1", id="one-still-joins"
        ),
        pytest.param(data(stopped(5), {"state": "Synced"}, stopped(5)), False, "is there", id="one-is-in-the-cluster"),
        pytest.param(
            data(stopped(5), stopped(None), stopped(5)),
            True,
            "where the data of db-galera-1 ends",
            id="an-unknown-position",
        ),
        pytest.param(
            data(stopped(None), replicas=1),
            True,
            "where the data of db-galera-0 ends",
            id="the-only-position-is-unknown",
        ),
        pytest.param(
            data(stopped(None, members=NODES[:1]), stopped(5), replicas=1),
            True,
            "where the data of db-galera-0 ends",
            id="another-has-data-to-compare",
        ),
        pytest.param(
            data(stopped(None, members=NODES[:1], failed="mariadbd ended with 1"), replicas=1),
            False,
            "db-galera-0 looks again where its data ends, because mariadbd ended with 1",
            id="the-only-one-could-not-look",
        ),
        pytest.param(
            data(stopped(5), stopped(None, failed="mariadbd ended with 1"), stopped(5)),
            False,
            "db-galera-1 looks again",
            id="one-could-not-look",
        ),
        pytest.param(
            data(stopped(None), stopped(None, failed="mariadbd ended with 1"), stopped(5)),
            True,
            "where the data of db-galera-0 ends",
            id="one-could-not-look-and-one-has-no-position",
        ),
        pytest.param(
            data(stopped(5), stopped(5, uuid=OTHER), stopped(5)), True, "different clusters", id="two-clusters-met"
        ),
        pytest.param(
            data(stopped(5), EMPTY, stopped(5)),
            True,
            "db-galera-1 was in the cluster and has no data",
            id="a-lost-volume",
        ),
        pytest.param(
            data(stopped(5), EMPTY, stopped(5), force="db-galera-1"),
            True,
            "db-galera-1 has no data to use, unlike db-galera-0 and db-galera-2",
            id="a-person-names-the-one-without-data",
        ),
        pytest.param(
            data(HALF, stopped(9), stopped(9), replicas=1),
            True,
            "scale up again",
            id="scaled-down-to-one-that-was-being-filled",
        ),
        pytest.param(
            data(EMPTY, stopped(9), None, replicas=1), True, "scale up again", id="scaled-down-to-one-without-data"
        ),
        pytest.param(data(EMPTY, HALF, HALF), True, "There was a cluster", id="nobody-has-the-data-any-more"),
        pytest.param(data(EMPTY, replicas=1, formed="db-galera-0"), True, "There was a cluster", id="all-volumes-lost"),
        pytest.param(
            data(stopped(5), stopped(9), stopped(9), replicas=1), True, "scale up again", id="scaled-down-while-stopped"
        ),
        pytest.param(
            data(stopped(5), None, None, replicas=1), True, "scale up again", id="scaled-down-with-unknown-others"
        ),
    ],
)
def test_nobody_guesses(choice: ModuleType, said: dict[str, str], blocked: bool, words: str) -> None:
    trouble = choice.choose(choice.parse(said, "db-galera"))
    assert isinstance(trouble, choice.Trouble)
    assert words in trouble.sentence
    assert trouble.blocked is blocked
    assert not blocked or "under the key force of ConfigMap db-galera-state" in trouble.sentence


@pytest.mark.parametrize(
    "others",
    [
        pytest.param(({"state": "Synced", "members": NODES}, stopped(5)), id="one-was-in-the-cluster"),
        pytest.param(({"state": "Bootstrapping"}, stopped(5)), id="one-formed-the-cluster"),
    ],
)
def test_a_person_may_give_up_a_node_that_is_gone(choice: ModuleType, others: tuple[dict[str, Any], ...]) -> None:
    state = choice.parse(data(*others, stopped(5), force=NODES[2]), "db-galera")
    trouble = choice.choose(state)
    assert isinstance(trouble, choice.Trouble)
    assert "unless db-galera-0 still runs" in trouble.sentence
    assert not trouble.blocked
    assert choice.choose(state, unheard=True) == choice.Choice(NODES[2], f"life-of-{NODES[2]}")


def test_a_person_may_begin_with_nothing_where_nobody_has_data(choice: ModuleType) -> None:
    state = choice.parse(data(EMPTY, HALF, EMPTY, formed=NODES[0], force=NODES[0]), "db-galera")
    assert choice.choose(state) == choice.Choice(NODES[0], f"life-of-{NODES[0]}")


@pytest.mark.parametrize(
    ("said", "speaks"),
    [
        pytest.param(data(stopped(5), stopped(5)), False, id="node-0-does"),
        pytest.param(data({"state": "Synced"}, stopped(5)), True, id="node-0-may-be-gone"),
        pytest.param(data(None, stopped(5)), True, id="node-0-never-was-there"),
        pytest.param(data(None, {"state": "Recovering"}), False, id="it-does-not-wait"),
    ],
)
def test_the_first_that_waits_says_who_forms_the_cluster(
    choice: ModuleType, said: dict[str, str], speaks: bool
) -> None:
    assert choice.speaks(choice.parse(said, "db-galera"), NODES[1]) is speaks


def test_a_node_that_does_not_run_lets_the_next_one_say_who_forms_the_cluster(choice: ModuleType) -> None:
    state = choice.parse(data(stopped(5), stopped(7), stopped(7)), "db-galera")
    seen = [choice.speaks(state, name, frozenset(NODES[:1])) for name in NODES[1:]]
    assert seen == [True, False]
    assert choice.speaks(state, NODES[0], frozenset(NODES[1:]))


@pytest.mark.parametrize(
    ("records", "standing", "chosen"),
    [
        pytest.param((stopped(5), stopped(7), stopped(7)), "", NODES[1], id="it-has-older-data"),
        pytest.param((stopped(7), stopped(7), stopped(7)), "", NODES[1], id="another-is-as-new"),
        pytest.param((stopped(7), stopped(7), stopped(7)), NODES[2], NODES[2], id="another-was-chosen"),
        pytest.param((stopped(7), stopped(8), stopped(7)), NODES[2], NODES[1], id="one-that-was-chosen-is-older"),
        pytest.param((stopped(7), stopped(7), stopped(7)), NODES[0], "", id="it-was-chosen-and-may-be-about-to-start"),
        pytest.param(
            (stopped(7, uid="1"), stopped(7), stopped(7)), NODES[0], NODES[1], id="it-was-chosen-and-would-see-another"
        ),
        pytest.param((stopped(8), stopped(7), stopped(7)), "", "", id="it-has-the-newest-data"),
        pytest.param((EMPTY, EMPTY, EMPTY), "", "", id="it-is-to-begin"),
    ],
)
def test_a_node_that_does_not_run_is_not_chosen(
    choice: ModuleType, records: tuple[dict[str, Any], ...], standing: str, chosen: str
) -> None:
    said = data(*records, choice=json.dumps({"pod": standing, "life": f"life-of-{standing}"}))
    found = choice.choose(choice.parse(said, "db-galera"), away=frozenset(NODES[:1]))
    if chosen:
        assert found == choice.Choice(chosen, f"life-of-{chosen}")
    else:
        assert not found.blocked
        assert "db-galera-0, which is to form the cluster and does not run" in found.sentence
        assert "under the key force" in found.sentence


@pytest.mark.parametrize(
    ("records", "donors"),
    [
        pytest.param((SERVES, {"state": "Joining"}, SERVES), "db-galera-2,", id="not-the-clients-node"),
        pytest.param((SERVES, {"state": "Joining"}, stopped(5)), "", id="there-is-no-other"),
    ],
)
def test_the_clients_node_fills_another_only_if_it_must(
    choice: ModuleType, server: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, records: Any, donors: str
) -> None:
    asked = choice.donors(choice.parse(data(*records, active=NODES[0]), "db-galera"))
    assert asked == donors
    commands: list[list[str]] = []
    monkeypatch.setattr(server.subprocess, "Popen", commands.append)
    node = server.Server(tmp_path, NODES[1], run=tmp_path)
    for bootstrap in (False, True):
        node.start(choice.Record(NODES[1], "life"), ["peer"], "10.0.0.1", donors=asked, bootstrap=bootstrap)
    option = f"--wsrep-sst-donor={donors}"
    assert [option in command for command in commands] == [bool(donors), False]


def chosen(pod: str, life: str) -> str:
    return json.dumps({"pod": pod, "life": life})


@pytest.mark.parametrize(
    ("said", "move"),
    [
        pytest.param(data(stopped(5), stopped(5), stopped(5)), "wait", id="nobody-was-chosen"),
        pytest.param(
            data(stopped(5), stopped(5), choice=chosen("db-galera-1", "life-of-db-galera-1")),
            "bootstrap",
            id="it-is-me",
        ),
        pytest.param(
            data(stopped(5), stopped(5), choice=chosen("db-galera-1", "an-earlier-life")), "wait", id="it-was-me-once"
        ),
        pytest.param(
            data(stopped(5), stopped(5), choice=chosen("db-galera-0", "life-of-db-galera-0")),
            "wait",
            id="it-is-another",
        ),
        pytest.param(data({"state": "Synced"}, stopped(5), stopped(5)), "join", id="there-is-a-cluster"),
        pytest.param(
            data({"state": "Synced", "members": NODES}, stopped(5), stopped(5)), "wait", id="the-cluster-still-sees-me"
        ),
        pytest.param(
            data({"state": "Synced", "members": [NODES[0], NODES[2]]}, stopped(5), stopped(5)),
            "join",
            id="the-cluster-has-seen-me-go",
        ),
        pytest.param(
            data({"state": "Synced"}, stopped(5), choice=chosen("db-galera-1", "life-of-db-galera-1")),
            "join",
            id="a-cluster-that-is-there-goes-before-a-choice",
        ),
        pytest.param(data({"state": "Disconnected"}, stopped(5)), "wait", id="without-a-majority-it-is-no-cluster"),
        pytest.param(
            data({"state": "Synced"}, stopped(5), force="db-galera-1"),
            "wait",
            id="a-person-wants-my-data-and-not-theirs",
        ),
        pytest.param(
            data(
                {"state": "Synced", "members": NODES},
                stopped(5),
                force="db-galera-1",
                choice=chosen("db-galera-1", "life-of-db-galera-1"),
            ),
            "bootstrap",
            id="a-person-chose-me-over-one-that-is-gone",
        ),
        pytest.param(
            data(stopped(5), stopped(5), {"state": "Synced"}, replicas=2), "wait", id="one-that-should-be-gone"
        ),
    ],
)
def test_what_node_1_does(choice: ModuleType, said: dict[str, str], move: str) -> None:
    assert choice.move(choice.parse(said, "db-galera"), "db-galera-1") == move


@pytest.mark.parametrize(
    ("said", "gives_up"),
    [
        pytest.param(data(stopped(5), {"state": "Disconnected"}, stopped(5)), True, id="all-others-wait-for-it"),
        pytest.param(data(stopped(5), {"state": "Disconnected"}, {"state": "Synced"}), False, id="it-can-come-back"),
        pytest.param(data(stopped(5), {"state": "Disconnected"}, None), False, id="one-is-not-there-yet"),
        pytest.param(
            data(stopped(5), {"state": "Disconnected", "members": NODES[:2]}, None, formed=NODES[0]),
            True,
            id="one-never-was-there",
        ),
        pytest.param(
            data(stopped(5), {"state": "Disconnected", "members": NODES}, None, formed=NODES[0]),
            False,
            id="one-was-there-and-has-no-record",
        ),
        pytest.param(
            data(None, {"state": "Disconnected"}, stopped(5), force="db-galera-1"), True, id="a-person-wants-its-data"
        ),
    ],
)
def test_a_node_without_a_majority_gives_up(choice: ModuleType, said: dict[str, str], gives_up: bool) -> None:
    assert choice.gives_up(choice.parse(said, "db-galera"), "db-galera-1", answered=False) is gives_up


@pytest.mark.parametrize(
    ("active", "node_0", "view", "claims"),
    [
        pytest.param("", None, NODES[1:], True, id="there-was-none"),
        pytest.param("db-galera-0", "Synced", NODES[1:], True, id="it-is-gone"),
        pytest.param("db-galera-2", None, NODES[1:], False, id="it-is-there"),
        pytest.param("", "Synced", NODES, False, id="another-goes-first"),
        pytest.param("", "Joining", NODES, True, id="who-only-joins-does-not-go-first"),
        pytest.param("db-galera-0", "Joining", NODES, True, id="it-was-killed-and-joins-again"),
        pytest.param("db-galera-0", "Synced", (), False, id="who-sees-nobody-claims-nothing"),
    ],
)
def test_node_1_claims_the_clients(
    choice: ModuleType, active: str, node_0: str | None, view: tuple[str, ...], claims: bool
) -> None:
    synced = {"state": "Synced"}
    said = data({"state": node_0} if node_0 else None, synced, synced, active=active)
    assert choice.claims(choice.parse(said, "db-galera"), "db-galera-1", view) is claims


@pytest.mark.parametrize(
    ("broken", "claims"),
    [
        pytest.param((NODES[0],), True, id="the-clients-node-is-broken"),
        pytest.param((NODES[0], NODES[1]), False, id="so-am-i"),
        pytest.param(NODES, False, id="all-are-and-the-clients-stay-where-they-are"),
        pytest.param((), False, id="nobody-is"),
    ],
)
def test_node_1_claims_the_clients_of_a_broken_one(choice: ModuleType, broken: tuple[str, ...], claims: bool) -> None:
    records = ({"state": "Synced", "broken": "x" if name in broken else ""} for name in NODES)
    said = data(*records, active="db-galera-0")
    assert choice.claims(choice.parse(said, "db-galera"), "db-galera-1", NODES) is claims


@pytest.mark.parametrize(
    ("said", "first"),
    [
        pytest.param(data({"state": "Synced"}, {"state": "Leaving"}, {"state": "Synced"}), True, id="it-leaves-alone"),
        pytest.param(data({"state": "Leaving"}, {"state": "Leaving"}, {"state": "Synced"}), True, id="before-node-0"),
        pytest.param(data({"state": "Leaving"}, {"state": "Leaving"}, {"state": "Leaving"}), False, id="after-node-2"),
        pytest.param(
            data({"state": "Synced"}, {"state": "Leaving"}, {"state": "Leaving"}, replicas=1),
            False,
            id="after-one-that-should-be-gone",
        ),
        pytest.param(data({"state": "Leaving"}, {"state": "Leaving"}, stopped(5)), True, id="node-2-has-left"),
    ],
)
def test_nodes_leave_one_by_one(choice: ModuleType, said: dict[str, str], first: bool) -> None:
    assert choice.leaves_first(choice.parse(said, "db-galera"), "db-galera-1") is first


@pytest.mark.parametrize(
    ("others", "view", "heir"),
    [
        pytest.param((SERVES, SERVES), NODES, NODES[1], id="the-first-of-the-others"),
        pytest.param(({"state": "Joining"}, SERVES), NODES, NODES[2], id="one-is-being-filled"),
        pytest.param(({**SERVES, "broken": "x"}, SERVES), NODES, NODES[2], id="one-is-broken"),
        pytest.param(({"state": "Leaving"}, SERVES), NODES, NODES[2], id="one-leaves-too"),
        pytest.param((SERVES, SERVES), (NODES[0], NODES[2]), NODES[2], id="one-is-lost"),
        pytest.param(({"state": "Joining"}, None), NODES, "", id="nobody-can-serve"),
        pytest.param((SERVES, SERVES), NODES[:1], "", id="it-is-alone"),
    ],
)
def test_clients_are_handed_to_another(
    choice: ModuleType, others: tuple[dict[str, Any] | None, ...], view: tuple[str, ...], heir: str
) -> None:
    assert choice.heir(choice.parse(data(SERVES, *others), "db-galera"), NODES[0], view) == heir


def test_a_record_survives_the_config_map(choice: ModuleType) -> None:
    record = choice.Record("db-galera-0", "life", "Stopped", UUID, 0, safe=True, members=NODES)
    assert choice.parse({"db-galera-0": record.text()}, "db-galera").records == {"db-galera-0": record}


def test_what_is_not_readable_is_as_if_it_were_not_there(choice: ModuleType) -> None:
    state = choice.parse({"db-galera-0": "{", "choice": "[]", "other": "{}"}, "db-galera")
    assert state.choice is None
    assert list(state.records) == ["db-galera-0"]
    assert choice.choose(state).blocked
