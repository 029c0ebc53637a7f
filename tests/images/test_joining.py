"""Nodes of the image that was built form one cluster, whoever is killed while one of them joins."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from stackwright.kube.resource import ObjectMeta
from stackwright.services.rabbitmq import configuration
from stackwright.services.rabbitmq.kinds import RabbitMq
from tests.images import broker_pods
from tests.images.built import Built, container, why_not_built

BROKER = RabbitMq(metadata=ObjectMeta(name="mq", namespace="openstack"))
PROGRAMS = Path(__file__).parents[2] / "charts" / "rabbitmq" / "files"
# Each scene takes a minute, so most are a part of `make everything`.
EVERY_SCENE = bool(os.environ.get("STACKWRIGHT_EVERYTHING"))
# Who is killed, and how far the join is then. More of them are tried in the ring of chaos, on a cluster.
CUT = [("joining", "copied"), ("member", "known"), ("joining", "through"), ("both", "copies")]
CUT = CUT if EVERY_SCENE else CUT[:1]


@pytest.fixture
def image() -> Iterator[Built]:
    if reason := why_not_built(["rabbitmq"]):
        pytest.skip(reason)
    with container("rabbitmq") as made:
        base = made.root / str(broker_pods.BASE)[1:]
        base.mkdir()
        shutil.copytree(PROGRAMS, base / "programs")
        shutil.copy(broker_pods.__file__, base / "broker_pods.py")
        files = {file.key: file.content for file in configuration.files(BROKER)}
        for key in ("rabbitmq.conf", "enabled_plugins"):
            (base / key).write_text(files[key])
        (base / "secrets").mkdir()
        (base / "secrets" / ".erlang.cookie").write_text("cookie")
        user = configuration.default_user(BROKER, "password")
        (base / "secrets" / "default_user.conf").write_text(user["default_user.conf"])
        for path in (base, *base.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o644)
        names = "".join(f"{broker_pods.address(number)} {broker_pods.host(number)}\n" for number in range(3))
        (made.root / "etc/hosts").write_text(f"127.0.0.1 localhost\n{names}")
        yield made


def played(image: Built, scene: str, *words: str) -> list[str]:
    """What a scene prints on its way; it ends the test if it does not end well."""
    program = broker_pods.BASE / "broker_pods.py"
    answer = image.run(f"python3 {program} {scene} {' '.join(words)}", timeout=600, alone=True)
    assert answer.code == 0, answer.output
    return answer.output.splitlines()


def test_three_nodes_that_start_at_once_are_one_cluster(image: Built) -> None:
    assert "one cluster of 0,1,2, begun by [0]" in played(image, "first")


@pytest.mark.parametrize(("killed", "point"), CUT)
def test_a_join_that_is_cut_short_ends_in_one_cluster(image: Built, killed: str, point: str) -> None:
    assert "one cluster of 0,1, begun by [0]" in played(image, killed, point)


if EVERY_SCENE:

    def test_what_others_wrote_meanwhile_outlives_a_join_that_was_cut_short(image: Built) -> None:
        """All had lost power, and the node with the old copy is the one that Mnesia prefers."""
        lines = played(image, "power")
        assert "mark: True" in lines
        assert "hosts: / later" in lines


def test_a_node_that_was_forced_out_joins_again_and_keeps_its_data_aside(image: Built) -> None:
    lines = played(image, "disowned")
    assert lines.count("one cluster of 0,1,2, begun by [0]") == 2
    assert "kept aside: 1" in lines


def test_feature_flags_of_a_new_version_are_enabled(image: Built) -> None:
    before, after = (line.split(":")[1].split() for line in played(image, "flags") if line.startswith("disabled"))
    assert len(before) > 2
    assert after == ["khepri_db"]
