"""The lists of options: which services have one, and what the built image says."""

from stackwright import services
from stackwright.local.images import composing, recipes
from tests.checkout import ROOT
from tests.images.built import Built

PROGRAM = ROOT / "images" / "openstack" / "options.py"

PACKAGES = {each.name: each.package for each in composing.services(ROOT, recipes.read(ROOT)["openstack"])}

# Services of one folder share a list.
LISTED = list({service.options: service for service in services.blueprints() if service.options is not None}.values())


def listed(openstack: Built, package: str) -> str:
    """Return what the program prints in the image."""
    (openstack.root / "tmp/options.py").write_text(PROGRAM.read_text())
    answer = openstack.run(f"python3 -W ignore /tmp/options.py {package} 2>/dev/null")
    assert answer.code == 0
    return answer.output
