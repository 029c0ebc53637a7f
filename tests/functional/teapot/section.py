"""Teapot in the umbrella: the API, and a kiosk, which is a cell that stands alone."""

from stackwright.api.controlplane import HandedDown, Part, Section

from .kinds import TeapotAPI, TeapotCell

SECTION = Section(
    name="teapot",
    condition="OpenStackControlPlaneTeapotReady",
    description="Teapot: tea for everybody.",
    parts=(
        Part(
            kind=TeapotAPI,
            field="teapotAPI",
            instance="teapot",
            handed_down=(HandedDown("secret"), HandedDown("databaseInstance", value="openstack")),
        ),
        Part(
            kind=TeapotCell, field="kiosk", instance="kiosk", when="secret", handed_down=(HandedDown("nodeSelector"),)
        ),
    ),
)
