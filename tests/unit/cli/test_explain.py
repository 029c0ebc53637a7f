"""What `stackwright explain` says of a name that several resources have."""

import pytest

from stackwright.cli.commands.explain import namesakes
from stackwright.foresight.objects import Objects
from stackwright.kube.resource import ResourceName
from tests.unit.foresight.clouds import control_plane, galera, keystone, kind, made

PLANE = control_plane()
SERVICE = keystone()
OWN = made(kind("MariaDBDatabase"), "keystone", owner=SERVICE, spec={"name": "keystone"})
STRANGE = made(kind("TransportURL"), "keystone", spec={"rabbitmqClusterName": "rabbitmq"})
NAMED_ALIKE = made(kind("Memcached"), "keystone", spec={})


@pytest.mark.parametrize(
    ("there", "word", "target", "names"),
    [
        pytest.param((SERVICE, OWN), "keystone", ("KeystoneAPI", "keystone"), [], id="what-it-keeps-is-its-own"),
        pytest.param(
            (SERVICE, STRANGE), "keystone", ("KeystoneAPI", "keystone"), ["transporturl/keystone"], id="a-stranger"
        ),
        pytest.param(
            (SERVICE, NAMED_ALIKE), "keystone", ("KeystoneAPI", "keystone"), ["memcached/keystone"], id="two-services"
        ),
        pytest.param(
            (PLANE, galera(PLANE)),
            "openstack",
            ("OpenStackControlPlane", "openstack"),
            ["galera/openstack"],
            id="a-service-below-the-control-plane",
        ),
        pytest.param(
            (PLANE, galera(PLANE)), "galera/openstack", ("Galera", "openstack"), [], id="who-says-the-kind-means-it"
        ),
        pytest.param((SERVICE, NAMED_ALIKE), "keystoneapi", ("KeystoneAPI", "keystone"), [], id="the-name-of-a-kind"),
    ],
)
def test_other_resources_of_the_name_are_told(
    there: tuple[object, ...], word: str, target: ResourceName, names: list[str]
) -> None:
    assert namesakes(Objects(there), word, target) == names  # type: ignore[arg-type]  # resources of a test
