"""Teapot in the umbrella."""

from stackwright.api.controlplane import HandedDown, Need, Password, Section

from .kinds import TeapotAPI

SECTION = Section(
    name="teapot",
    kind=TeapotAPI,
    instance="teapot",
    condition="OpenStackControlPlaneTeapotAPIReady",
    description="Teapot: tea for everybody.",
    needs=(
        Need("database", "databaseInstance", default="openstack"),
        Need("identity", "keystoneInstance", default="keystone"),
    ),
    handed_down=(HandedDown("secret"), HandedDown("databaseInstance", value="openstack")),
    passwords=(Password("passwordSelectors.service", "TeapotPassword"),),
)
