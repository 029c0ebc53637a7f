"""The configuration that we write, judged by oslo's own validator and the options of the real packages."""

import re
from typing import Any

import pytest

from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.needs.need import Outside
from stackwright.controllers.service import Environment
from stackwright.foresight import imagined_release
from stackwright.foresight.imagined_release import Missing
from stackwright.foresight.imagined_world import ImaginedWorld, secret_of
from tests.checkout import ROOT
from tests.functional.services.case import SECRET, ServiceCase
from tests.functional.services.rows import rows
from tests.images.built import Built
from tests.images.option_lists import PACKAGES, PROGRAM

ROWS = [row for row in rows() if row.blueprint.image_name in PACKAGES]
BUS = "rabbit://somebody:a-word@bus.example.org:5672/"
# Which lists of options a package and those that it depends on have.
NAMESPACES = """\
import sys
from importlib import metadata

sys.path.insert(0, "/tmp")
import options

wanted = options.packages(sys.argv[1])
for entry in metadata.entry_points(group=options.GROUP):
    if options.normal(entry.dist.name) in wanted:
        try:
            entry.load()()
        except ImportError:
            continue  # A plugin whose own library is not in the image.
        print("--namespace", entry.name)
"""
# The validator as a program, for several files: called once for each, it would read the list of options each time.
VALIDATOR = """\
import json
import sys
from pathlib import Path

from oslo_config import validator

listed, *further = sys.argv[1:]
files = sys.stdin.read().split()
options = json.loads(Path(listed).read_text())
validator.load_opt_data = lambda conf: options
failed = False
for file in files:
    sys.argv = ["oslo-config-validator", "--opt-data", listed, *further, "--input-file", f"/tmp/{file}"]
    if validator.main():
        print("in", file)
        failed = True
print(len(files), "files were read")
sys.exit(failed)
"""
# What a service reads and lists nowhere: a section for each store of Glance, by its name.
STORES = ("file", "os_glance_staging_store", "os_glance_tasks_store")
UNLISTED = {"glance": " ".join(f"--exclude-group {name}" for name in STORES)}
# It does not know all options of logins; and images of earlier releases know only the old names.
NO_FAULTS = ("Ignoring missing option", "Deprecated opt cache/memcache_socket_timeout")


@pytest.fixture(scope="module")
def prepared(openstack: Built) -> Built:
    """The image of all services, with what asks it for its lists of options."""
    # Without its last line, which prints.
    (openstack.root / "tmp/options.py").write_text(PROGRAM.read_text().rpartition("\nmain()")[0])
    (openstack.root / "tmp/namespaces.py").write_text(NAMESPACES)
    (openstack.root / "tmp/validator.py").write_text(VALIDATOR)
    return openstack


def written(row: ServiceCase) -> dict[str, str]:
    """Return the files of options that a resource, and what it stands for, would get in a cloud."""
    environment = Environment({row.blueprint.image_name: ComponentImage("example.org/image:1")}, ROOT / "charts")
    secrets: dict[str, dict[str, str]] = {
        SECRET: row.passwords,
        **{name: dict(said) for name, said in row.given.items()},
    }
    secrets.setdefault(str(row.spec.get("secret", SECRET)), row.passwords)
    while True:
        world = ImaginedWorld(Outside("nowhere"))
        for name, content in secrets.items():
            world.add(secret_of(name, content, {}))
        try:
            outcomes = imagined_release.imagine_all(row.blueprint, row.resource, world, environment)
        except Missing as error:
            # How to log in to a broker is what only a cloud knows.
            (name,) = re.findall(r"put a Secret (\S+) with the key transport_url", str(error)) or pytest.fail(
                str(error)
            )
            assert name not in secrets
            secrets[name] = {"transport_url": BUS}
        else:
            break
    objects: list[Any] = [body for outcome in outcomes for body in outcome.objects]
    return {
        f"{body['metadata']['name']}-{key}": text
        for body in objects
        for key, text in (body.get("stringData") or {}).items()
        # That of the metadata is for Neutron's agents.
        if key.endswith(".conf") and not key.endswith("nova-metadata.conf")
    }


@pytest.mark.parametrize("service", sorted({row.blueprint.image_name for row in ROWS}))
def test_the_validator_finds_nothing_in_what_we_write(prepared: Built, service: str) -> None:
    texts = (text for row in ROWS if row.blueprint.image_name == service for text in written(row).items())
    # Services of one folder have much in common.
    files = {name: text for text, name in {text: name for name, text in texts}.items()}
    assert any("connection" in text for text in files.values())
    for name, text in files.items():
        (prepared.root / "tmp" / name).write_text(text)
    listed = f"$(python3 -W ignore /tmp/namespaces.py {PACKAGES[service]} 2>/dev/null)"
    options = f"oslo-config-generator --format json --output-file /tmp/{service}.json {listed} 2>/dev/null"
    validator = f"python3 /tmp/validator.py /tmp/{service}.json {UNLISTED.get(service, '')} 2>&1"
    answer = prepared.run(f"{options} || exit 1; echo {' '.join(files)} | {validator}")
    told = [line for line in answer.output.splitlines() if not any(words in line for words in NO_FAULTS)]
    assert (answer.code, told) == (0, [f"{len(files)} files were read"])
