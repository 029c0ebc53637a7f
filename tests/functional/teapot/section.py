"""Teapot in the umbrella."""

from stackwright.api.controlplane import HandedDown, Section

from .kinds import TeapotAPI

SECTION = Section(
    name="teapot",
    kind=TeapotAPI,
    instance="teapot",
    condition="OpenStackControlPlaneTeapotAPIReady",
    description="Teapot: tea for everybody.",
    handed_down=(HandedDown("secret"), HandedDown("databaseInstance", value="openstack")),
)
