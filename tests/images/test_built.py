"""Images that were built: who they run as, what is in them, what is not, and that they keep the start contract.

They have to be there: `stackwright image build`.
"""

import json
import re
import stat
from collections.abc import Iterator
from itertools import pairwise

import pytest

from stackwright.local.images import composing, recipes, settings
from tests.images.built import COMPILERS, Built, container, why_not_built

SERVICE_IMAGES = {
    "openstack": 42400,
    "mariadb": 42434,
    "rabbitmq": 42439,
    "memcached": 42457,
    "ovn": 42424,
    "operator": 65532,
}
CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", re.DOTALL)
ENVIRONMENT = ("HOME", "LANG", "PATH", "RABBITMQ_PLUGINS_DIR")
SERVICES = composing.services(recipes.folder(), recipes.read(recipes.folder())["openstack"])


@pytest.fixture(scope="module", params=list(SERVICE_IMAGES))
def built(request: pytest.FixtureRequest) -> Iterator[Built]:
    """A container of each of the images in turn."""
    if reason := why_not_built([request.param]):
        pytest.skip(reason)
    with container(request.param) as made:
        yield made


@pytest.fixture(scope="module")
def operator() -> Iterator[Built]:
    if reason := why_not_built(["operator"]):
        pytest.skip(reason)
    with container("operator") as made:
        yield made


def test_it_runs_as_a_number_that_is_not_root(built: Built) -> None:
    assert built.user == SERVICE_IMAGES[built.image.name]
    assert built.run("id -u").output == f"{built.user}\n"


def test_it_starts_as_the_contract_says(built: Built) -> None:
    assert built.config["Entrypoint"] == ["dumb-init", "--single-child", "--"]
    assert built.config["Cmd"] == ["kolla_start"]
    files = built.root / "var/lib/kolla/config_files"
    (files / "greeting").write_text("hello")
    owner = built.run("id -un").output.strip()
    copy = {"source": "/var/lib/kolla/config_files/greeting", "dest": "/var/log/kolla/", "owner": owner, "perm": "0600"}
    home = next(iter(sorted(path for path in (built.root / "var/log/kolla").iterdir())), None)
    copy["dest"] = f"/var/log/kolla/{home.name}/" if home and home.stat().st_uid == built.user else "/tmp/"
    command = f"cat {copy['dest']}greeting"
    (files / "config.json").write_text(json.dumps({"command": command, "config_files": [copy]}))
    for _ in range(2):
        answer = built.run(
            "dumb-init --single-child -- kolla_start", environment={"KOLLA_CONFIG_STRATEGY": "COPY_ALWAYS"}
        )
        assert answer.code == 0, answer.output
        assert answer.output.endswith(f"Running command: '{command}'\nhello")
    assert built.run("kolla_set_configs --check").code == 0
    assert "WARNING" not in answer.output


def test_it_reads_a_config_yaml_too(built: Built) -> None:
    (built.root / "var/lib/kolla/config_files/config.yaml").write_text("command: echo yaml\n")
    try:
        answer = built.run("kolla_start", environment={"KOLLA_CONFIG_STRATEGY": "COPY_ALWAYS"})
    finally:
        (built.root / "var/lib/kolla/config_files/config.yaml").unlink()
    assert (answer.code, answer.output.splitlines()[-1]) == (0, "yaml")


def test_it_has_no_compiler_and_no_way_to_root(built: Built) -> None:
    programs = {path.name: path for path in built.files("usr/bin", "usr/sbin", "usr/local/bin", "opt")}
    assert not COMPILERS & set(programs)
    assert "sudo" not in programs
    risen = [str(path) for path in built.files("usr", "opt") if path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID)]
    assert risen == []


def test_it_knows_nothing_of_the_machine_that_built_it(built: Built) -> None:
    etc = built.root / "etc"
    for name in ("hostname", "resolv.conf", "hosts", "machine-id"):
        assert not (etc / name).exists() or (etc / name).read_text() == "", name
    left = [*etc.glob("pip.conf"), *etc.glob("apt/sources.list*/*"), *etc.glob("apt/apt.conf.d/99*")]
    assert left == []
    assert [path.name for path in (built.root / "mnt").iterdir()] == []
    machine = settings.read("trixie")
    addresses = [source.uri for source in machine.sources]
    addresses += [value for name, value in machine.pip.items() if name.endswith("url")]
    found = [
        f"{path}: {address}"
        for path in built.files("etc", "root", "home", "var/lib", "var/cache", "var/log")
        for address in addresses
        if address.encode() in path.read_bytes()
    ]
    assert found == []
    assert not [address for address in addresses if address in built.history]


def test_it_trusts_whom_its_own_package_trusts(built: Built) -> None:
    bundle = (built.root / "etc/ssl/certs/ca-certificates.crt").read_bytes()
    package = b"".join(path.read_bytes() for path in built.files("usr/share/ca-certificates"))
    assert CERTIFICATE.findall(bundle)
    assert set(CERTIFICATE.findall(bundle)) == set(CERTIFICATE.findall(package))


def test_its_environment_says_nothing_of_the_machine_either(built: Built) -> None:
    assert {name for name in built.environment if name not in ENVIRONMENT} == set()


@pytest.mark.parametrize("service", SERVICES, ids=[service.name for service in SERVICES])
def test_each_service_has_its_user_and_its_places(openstack: Built, service: composing.ServicePackage) -> None:
    answer = openstack.run(
        "id -un; touch /etc/$0/x /var/lib/$0/x /var/log/kolla/$0/x".replace("$0", service.name), user=service.uid
    )
    assert (answer.code, answer.output) == (0, f"{service.name}\n")


@pytest.mark.parametrize("service", list(SERVICES), ids=[f"{service.name}-{service.version}" for service in SERVICES])
def test_each_service_has_its_pinned_version(openstack: Built, service: composing.ServicePackage) -> None:
    code = f"import importlib.metadata as m, {service.name}; print(m.version('{service.package}'))"
    answer = openstack.run(f'python -W ignore -c "{code}"', user=service.uid)
    assert (answer.code, answer.output) == (0, f"{service.version}\n")


def shared(command: str) -> list[str]:
    """Return the modules that the processes of uwsgi share."""
    return [module for option, module in pairwise(command.split()) if option == "--shared-import"]


COMMANDS = {
    f"{path.parts[-4]}-{path.stem}": json.loads(path.read_text(encoding="utf-8"))["command"]
    for path in sorted((recipes.folder() / "charts").glob("*/example/config/*.json"))
}
APIS = {name: command for name, command in COMMANDS.items() if command.startswith("uwsgi ")}


@pytest.mark.parametrize("command", APIS.values(), ids=APIS)
def test_what_processes_share_can_be_loaded_before_a_fork(openstack: Built, command: str) -> None:
    sockets = "len([entry for entry in os.scandir('/proc/self/fd') if 'socket' in os.readlink(entry.path)])"
    code = f"import os, threading, {', '.join(shared(command))}; print(threading.active_count(), {sockets})"
    answer = openstack.run(f'python -W ignore -c "{code}"')
    assert (answer.code, answer.output) == (0, "1 0\n")


def test_the_services_come_without_their_tests_and_compiled(openstack: Built) -> None:
    packages = openstack.root / "opt/openstack/lib/python3.13/site-packages"
    assert list(packages.glob("*/tests")) == []
    assert list(packages.glob("nova/conductor/__pycache__/manager*.pyc"))


PROGRAMS = {
    "openstack": [
        "keystone-manage --version",
        "nova-conductor --version",
        "openstack --version",
        "uwsgi --version",
        "ovsdb-client --version",
        "neutron-rpc-server --version",
        "glance-manage --version",
    ],
    "mariadb": [
        "mariadbd --version",
        "mariadb-backup --version",
        "mariadb --version",
        "test -e /usr/lib/galera/libgalera_smm.so",
    ],
    "rabbitmq": ["rabbitmqctl version", "rabbitmq-plugins list -E -m | grep -x rabbitmq_management"],
    "memcached": ["memcached -V"],
    "ovn": [
        "ovsdb-server --version",
        "ovs-vswitchd --version",
        "ovsdb-tool --version",
        "ovn-northd --version",
        "ovn-controller --version",
        "ovn-nbctl --version",
        "python3 --version",
    ],
    "operator": ["stackwright --version", "helm version --short", "kubectl version --client"],
}


def test_the_operator_s_image_renders_the_charts_of_this_repository(operator: Built) -> None:
    for chart in sorted((recipes.folder() / "charts").glob("*/Chart.yaml")):
        inside = operator.root / "opt/stackwright/charts" / chart.parent.name
        assert (inside / "Chart.yaml").read_bytes() == chart.read_bytes()
    # The library is linked into each chart here, and is a part of each there.
    values = "--set image=registry.example/memcached:1"
    rendered = operator.run(f"helm template test /opt/stackwright/charts/memcached {values}")
    assert "kind: StatefulSet" in rendered.output


def test_the_operator_s_image_has_this_code(operator: Built) -> None:
    installed = operator.root / "opt/stackwright/lib/python3.13/site-packages/stackwright"
    source = recipes.folder() / "stackwright"
    ours = {path.relative_to(source): path.read_bytes() for path in source.rglob("*.py")}
    theirs = {path.relative_to(installed): path.read_bytes() for path in installed.rglob("*.py")}
    assert {str(path) for path in ours if theirs.get(path) != ours[path]} == set()


def test_its_programs_run(built: Built) -> None:
    for command in PROGRAMS[built.image.name]:
        answer = built.run(command)
        assert answer.code == 0, f"{command}: {answer.output}"
