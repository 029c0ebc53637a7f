"""The keys by which servers move between machines of a cell: what OpenSSH itself says of them."""

import random
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stackwright.api.dataplane_service import OpenStackDataPlaneService
from stackwright.blueprint.passwords import Source
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.service.decide import Seen, decide
from stackwright.foresight.objects import Objects
from stackwright.kube.builtin import Secret
from stackwright.kube.resource import R, Resource
from stackwright.services.nova import migration
from stackwright.services.nova.cell import CELL
from stackwright.services.nova.kinds.external_compute import NovaExternalCompute
from tests.unit.controllers.environments import ENVIRONMENT, NOW
from tests.unit.services.novas import made


def keys(cell: str = "nova-cell1", seed: int = 1) -> dict[str, str]:
    source = Source(random.Random(seed).randbytes)  # noqa: S311  nobody uses these keys
    return dict(migration.KEYS.content(made("NovaCell", cell), source.password))


def keygen(*options: str | Path) -> str:
    return subprocess.run(["ssh-keygen", *options], check=True, capture_output=True, text=True).stdout


def write(folder: Path, content: dict[str, str]) -> None:
    for name, text in content.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o600)


def test_openssh_reads_the_keys_and_signs_with_them(tmp_path: Path) -> None:
    write(tmp_path, keys())
    for private, public in (("ssh-privatekey", "ssh-publickey"), ("host-authority", "host-authority.pub")):
        shown = keygen("-y", "-f", tmp_path / private).split()
        assert shown[:2] == (tmp_path / public).read_text().split()[:2]
    keygen("-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "machine")
    keygen("-q", "-s", tmp_path / "host-authority", "-h", "-I", "one", "-n", "192.0.2.1", tmp_path / "machine.pub")
    assert "192.0.2.1" in keygen("-L", "-f", tmp_path / "machine-cert.pub")


def test_login_and_authority_are_not_the_same_key_and_cell0_has_none() -> None:
    found = keys()
    assert found["ssh-publickey"].split()[1] != found["host-authority.pub"].split()[1]
    assert found["ssh-publickey"] != keys(seed=2)["ssh-publickey"]
    assert migration.KEYS.name(made("NovaCell", "nova-cell1")) == "nova-cell1-migration-ssh-key"
    assert migration.KEYS.wanted(made("NovaCell", "nova-cell1", cellName="cell1"))
    assert not migration.KEYS.wanted(made("NovaCell", "nova-cell0", cellName="cell0"))


def compute(cell: str) -> NovaExternalCompute:
    return put(NovaExternalCompute, "one", spec={"cellName": cell})


def service(**spec: Any) -> OpenStackDataPlaneService:
    return put(OpenStackDataPlaneService, "nova", spec={"playbook": "stackwright.edpm.nova", **spec})


def put(kind: type[R], name: str, **content: Any) -> R:
    return msgspec.convert({"metadata": {"name": name, "namespace": "openstack"}, **content}, kind)


KEY_SECRET = put(Secret, "nova-cell1-migration-ssh-key")


@pytest.mark.parametrize(
    ("there", "makes"),
    [
        pytest.param((), False, id="a-cell-that-no-machine-joins-has-none"),
        pytest.param((compute("nova-cell1"),), True, id="its-first-compute-outside-needs-them"),
        pytest.param((compute("nova-cell2"),), False, id="a-compute-of-another-cell"),
        pytest.param((compute(""),), False, id="a-compute-whose-node-has-not-said-its-cell"),
        pytest.param((service(secrets=["nova-cell1-migration-ssh-key"]),), True, id="a-service-of-roles-names-them"),
        pytest.param(
            (service(dataSources=[{"secretRef": {"name": "nova-cell1-migration-ssh-key"}}]),),
            True,
            id="among-its-other-files",
        ),
        pytest.param((service(secrets=["nova-cell1-compute-config"]),), False, id="a-service-that-does-without"),
        pytest.param((compute("nova-cell1"), KEY_SECRET), False, id="those-that-are-there-stay"),
    ],
)
def test_a_cell_makes_keys_when_somebody_reads_them_and_waits_for_none(
    there: tuple[Resource, ...], *, makes: bool
) -> None:
    login = {"ServicePassword": "secret", "transport_url": "rabbit://nova:hop@bus.example.org:5672/"}
    database = {"hostname": "db.example.org", "port": "3306", "database": "nova", "user": "nova", "password": "p"}
    given = (put(Secret, "login", data=encode(login)), put(Secret, "database", data=encode(database)))
    spec = {"cellName": "cell1", "secret": "login", "cellDatabaseSecret": "database"}
    cell = made("NovaCell", "nova-cell1", **spec)
    intent = decide(CELL, cell, Seen(Objects((*given, *there)), NOW), ENVIRONMENT)
    assert [(new.name, new.owned) for new in intent.secrets] == [("nova-cell1-migration-ssh-key", True)] * makes
    # A cell that is ready stays so while they are made: all else is decided in the same pass.
    assert intent.facts is not None
    assert "NovaConductor" in {child.of.kind.name for child in intent.children}
