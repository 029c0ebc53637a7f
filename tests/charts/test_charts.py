"""Every chart passes the real helm: lint, template, and an install that the server tries without keeping it."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from stackwright.kube import documents
from stackwright.local.apiserver.server import Shared
from tests.charts.conftest import Helm, Render
from tests.charts.installing import ALL, INSTALLED, given

each_chart = pytest.mark.parametrize("chart", [pytest.param(chart, id=chart.name) for chart in ALL])
each_installed_chart = pytest.mark.parametrize("chart", [pytest.param(chart, id=chart.name) for chart in INSTALLED])


def test_there_are_charts() -> None:
    assert {"keystone", "library", "memcached", "stackwright"} <= {chart.name for chart in ALL}
    assert "library" not in {chart.name for chart in INSTALLED}


@each_chart
def test_lint(helm: Helm, chart: Path) -> None:
    assert "0 chart(s) failed" in helm("lint", "--strict", chart, *given(chart))


@each_installed_chart
def test_template_gives_manifests_of_known_form(helm: Helm, chart: Path) -> None:
    printed = helm("template", "test", chart, "--include-crds", *given(chart))
    manifests = documents.read(printed)
    assert manifests
    for body in manifests:
        assert {"apiVersion", "kind", "metadata"} <= body.keys()


@each_installed_chart
def test_the_server_would_install_it(helm: Helm, chart: Path, apiserver: Shared) -> None:
    options = ["--dry-run=server", "--namespace", "default", *given(chart)]
    assert "STATUS: pending-install" in helm("install", "test", chart, *options, server=apiserver)


@each_installed_chart
def test_a_packaged_chart_is_whole(helm: Helm, chart: Path, tmp_path: Path) -> None:
    helm("package", chart, "--destination", tmp_path)
    (package,) = tmp_path.glob("*.tgz")
    assert helm("template", "test", package, *given(chart)) == helm("template", "test", chart, *given(chart))


def pods(bodies: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The pods that workloads make."""
    for body in bodies:
        spec = body.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            yield spec["template"]["spec"]


def declares_host(chart: Path) -> bool:
    """Return whether a chart's blueprint has a component that takes the network of the host."""
    path = chart / "blueprint.yaml"
    components = yaml.safe_load(path.read_text()).get("components", {}) if path.is_file() else {}
    return any(component.get("host", {}).get("network") for component in components.values())


@each_installed_chart
def test_its_pods_are_restricted_and_say_what_they_need(helm: Helm, chart: Path) -> None:
    for pod in pods(documents.read(helm("template", "test", chart, *given(chart)))):
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        # What the blueprint says that they take of the host, they get.
        takes_host = bool(pod.get("hostNetwork")) and declares_host(chart)
        assert pod["securityContext"]["runAsNonRoot"] is not takes_host
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in (*pod.get("initContainers", []), *pod["containers"]):
            if not takes_host:
                assert container["securityContext"]["allowPrivilegeEscalation"] is False, container["name"]
                assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}, container["name"]
            assert {"cpu", "memory"} <= container["resources"]["requests"].keys(), container["name"]


# What gives another answer another time: the server's state, chance, and the clock. Names of files are read in a chart.
FORBIDDEN = re.compile(
    r"helm\.sh/hook|\b(lookup|rand[A-Z]\w*|gen[A-Z]\w*|buildCustomCert|derivePassword|uuidv4|shuffle|now|ago|"
    r"bcrypt|htpasswd|encryptAES|getHostByName)\b"
)
# Between the braces of a template stand its commands, beside comments and texts.
COMMANDS = re.compile(r"\{\{-?\s*(?!/\*)(.*?)-?\}\}", re.DOTALL)
TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"|`[^`]*`')


def foreign_words(template: str) -> list[str]:
    """Return what in a template asks for more than values."""
    commands = [TEXTS.sub("", command) for command in COMMANDS.findall(template)]
    hooks = ["helm.sh/hook"] if "helm.sh/hook" in template else []
    return hooks + [found.group() for command in commands for found in FORBIDDEN.finditer(command)]


@each_chart
def test_it_depends_on_its_values_alone(chart: Path) -> None:
    templates = [path for path in chart.rglob("templates/**/*") if path.is_file()]
    assert templates
    for template in templates:
        assert foreign_words(template.read_text()) == [], template.name


@pytest.mark.parametrize(
    ("template", "words"),
    [
        pytest.param('{{ (lookup "v1" "Secret" "n" "a").data }}', ["lookup"], id="the-server"),
        pytest.param("{{- $x := randAlphaNum 8 }}", ["randAlphaNum"], id="chance"),
        pytest.param("{{ $ca := genCA `x` 1 -}}", ["genCA"], id="a-new-certificate"),
        pytest.param('{{ now | date "2006" }}', ["now"], id="the-clock"),
        pytest.param("metadata: {annotations: {helm.sh/hook: pre-install}}", ["helm.sh/hook"], id="a-hook"),
        pytest.param('{{/* lookup would */}} now {{ fail "do it now" }}', [], id="words-of-people"),
    ],
)
def test_what_depends_on_more_than_values_is_found(template: str, words: list[str]) -> None:
    assert foreign_words(template) == words


def test_a_name_that_looks_like_a_number_stays_a_text(render: Render) -> None:
    objects = render("mariadb", "--set-string", "rootSecret.name=-1,rootSecret.key=0")
    volumes = [
        volume["secret"]
        for body in objects.values()
        for pod in pods([body])
        for volume in pod["volumes"]
        if volume["name"] == "root"
    ]
    assert [(secret["secretName"], secret["items"][0]["key"]) for secret in volumes] == [("-1", "0")] * len(volumes)
    assert volumes
