"""`stackwright operator` on the command line: wrong calls and missing parts are one sentence."""

import io
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from stackwright.cli import artifacts, log_lines
from stackwright.cli.commands import operator
from stackwright.kube.errors import ConfigError
from tests.unit.cli.program import run


def test_an_unknown_service_is_a_wrong_call() -> None:
    done = run("operator", "--services", "keystone,teapot")
    assert done.returncode == 2
    assert "there is no service teapot; there are " in done.stderr
    assert "core, " in done.stderr
    assert "keystone, mariadb" in done.stderr


def test_a_namespace_may_be_named_several_times() -> None:
    words = ["--namespace", "one", "--namespace", "two"]
    assert operator.operator.make_context("operator", words).params["namespaces"] == ("one", "two")
    assert operator.operator.make_context("operator", []).params["namespaces"] == ()


def test_no_cluster_is_used_by_surprise() -> None:
    done = run("operator")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: No cluster is named")


def test_a_cluster_that_does_not_answer_is_one_sentence(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        "apiVersion: v1\nkind: Config\ncurrent-context: here\n"
        "contexts: [{name: here, context: {cluster: here}}]\n"
        "clusters: [{name: here, cluster: {server: 'https://127.0.0.1:1'}}]\n"
    )
    images = tmp_path / "images.yaml"
    images.write_text("registry: registry.example\ntag: '1'\n")
    done = run("operator", "--kubeconfig", str(kubeconfig), "--images", str(images))
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "https://127.0.0.1:1" in done.stderr


class TestPlaces:
    def test_charts_are_found_in_the_checkout(self) -> None:
        assert (artifacts.charts() / "keystone" / "Chart.yaml").is_file()

    def test_a_folder_without_charts_is_named_in_the_sentence(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=f"no charts in {tmp_path}; name their folder with --charts"):
            artifacts.charts(tmp_path)

    def test_without_a_checkout_a_file_must_say_which_images_are_run(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match="It is not known which images to run"):
            artifacts.component_images(checkout=tmp_path)

    def test_in_the_operators_image_the_file_says_it_all(self, tmp_path: Path) -> None:
        file = tmp_path / "images.yaml"
        file.write_text("components: {keystone: {reference: 'registry.example/keystone:1', sudo: true}}")
        found = artifacts.component_images(file, checkout=tmp_path)
        assert found["keystone"].reference == "registry.example/keystone:1"
        assert found["keystone"].sudo

    def test_images_that_are_built_here_are_no_use_elsewhere(self) -> None:
        with pytest.raises(ConfigError, match="push them to a registry and name it with --images"):
            artifacts.component_images(built={})

    def test_a_registry_serves_all_components(self, tmp_path: Path) -> None:
        file = tmp_path / "images.yaml"
        file.write_text("registry: registry.example\ntag: '2'\n")
        values = artifacts.chart_values(artifacts.component_images(file, built={}))
        assert values["image"] == "registry.example/operator:2"
        assert values["images"]["components"]["keystone"] == {"reference": "registry.example/openstack:2"}
        assert "operator" not in values["images"]["components"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class TestLogLines:
    @pytest.fixture(autouse=True)
    def as_before(self) -> Iterator[None]:
        handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
        yield
        structlog.reset_defaults()
        logging.getLogger().handlers[:] = handlers
        logging.getLogger().setLevel(level)

    def test_a_program_reads_one_object_a_line(self) -> None:
        stream = io.StringIO()
        log_lines.configure(stream)
        structlog.get_logger().info("leading", lease="one")
        logging.getLogger("aiohttp").warning("slow %s", "answer")
        first, second = (json.loads(line) for line in stream.getvalue().splitlines())
        assert (first["message"], first["lease"], first["level"]) == ("leading", "one", "info")
        assert (second["message"], second["logger"]) == ("slow answer", "aiohttp")

    @pytest.mark.parametrize("stream", [io.StringIO(), Terminal()], ids=["a-file", "a-terminal"])
    def test_a_traceback_shows_no_variables(self, stream: io.StringIO) -> None:
        log_lines.configure(stream)
        password = "".join(("hunter", "-of-", "numbers"))
        try:
            int(password[:0])
        except ValueError:
            structlog.get_logger().exception("a bug")
        assert "ValueError: invalid literal" in stream.getvalue()
        assert password not in stream.getvalue()

    def test_a_person_reads_short_lines(self) -> None:
        stream = Terminal()
        log_lines.configure(stream)
        structlog.get_logger().info("leading", lease="one")
        structlog.get_logger().debug("not said")
        (line,) = stream.getvalue().splitlines()
        assert line.endswith("leading lease=one")


def test_an_operator_does_without_what_only_terminals_need() -> None:
    program = (
        "import sys; from stackwright.cli.commands.operator import load_log; load_log(); "
        "import stackwright.controllers.operator_process; "
        "print(sorted({'rich', 'pygments'} & set(sys.modules))); import rich; print(rich is sys.modules['rich'])"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.split("\n")[:2] == ["[]", "True"]
