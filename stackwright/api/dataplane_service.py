"""The kind of something that Ansible applies to machines outside of the cluster: a playbook, a role or a text."""

from typing import Annotated, ClassVar

from stackwright.api.base import (
    AGE,
    CATEGORIES,
    VERSION,
    Column,
    CustomResource,
    Definition,
    Kind,
    Rule,
    Value,
    atomic,
    describe,
    max_items,
    max_length,
    pattern,
    rule,
)
from stackwright.api.dataplane import GROUP
from stackwright.api.forms import ImageReference
from stackwright.api.node_sections import ONE_SOURCE, Names, ObjectReference, OptionalName

# A playbook in a collection (collection.name.playbook), or a file in the image.
PLAYBOOK = r"^([A-Za-z0-9_][-A-Za-z0-9_./]*)?$"


ONE_TO_RUN = rule(
    "[has(self.playbook) && self.playbook != '', has(self.playbookContents) && self.playbookContents != '',"
    " has(self.role) && self.role != ''].filter(x, x).size() == 1",
    message="must have exactly one of playbook, playbookContents and role",
)


class DataSource(Value, frozen=True, kw_only=True):
    """A ConfigMap or a Secret whose keys become files of the run."""

    validations: ClassVar[tuple[Rule, ...]] = (ONE_SOURCE,)

    configMapRef: Annotated[ObjectReference | None, describe("The ConfigMap.")] = None
    secretRef: Annotated[ObjectReference | None, describe("The Secret.")] = None


class OpenStackDataPlaneServiceSpec(Value, frozen=True, kw_only=True):
    """What Ansible runs, and with which files."""

    validations: ClassVar[tuple[Rule, ...]] = (ONE_TO_RUN,)

    playbook: Annotated[
        str, max_length(253), pattern(PLAYBOOK), describe("A playbook of a collection, or a file in the image.")
    ] = ""
    playbookContents: Annotated[str, max_length(262144), describe("The text of a playbook; its hosts are all.")] = ""
    role: Annotated[str, max_length(253), pattern(PLAYBOOK), describe("A role of Ansible, applied to all nodes.")] = ""
    secrets: Annotated[
        Names, max_items(64), describe("Secrets whose keys become files in /var/lib/openstack/configs/SERVICE.")
    ] = ()
    dataSources: Annotated[
        tuple[DataSource, ...],
        atomic,
        max_items(64),
        describe("ConfigMaps and Secrets whose keys become files in the same place; later ones win."),
    ] = ()
    edpmServiceType: Annotated[
        OptionalName, describe("The name of the folder with the files; if absent, the name of the resource.")
    ] = ""
    openStackAnsibleEERunnerImage: Annotated[
        ImageReference, describe("The image that runs Ansible; if absent, the one of the image manifest.")
    ] = ""


class OpenStackDataPlaneService(CustomResource, frozen=True, kw_only=True):
    """Something that Ansible applies to nodes. Roles name it in services; one can serve many.

    It has no state of its own: each node says how far it is with it.
    """

    kind: ClassVar[Kind] = Kind(GROUP, VERSION, "OpenStackDataPlaneService", "openstackdataplaneservices")
    definition: ClassVar[Definition] = Definition(
        short_names=("osdps", "osdpservice"),
        categories=CATEGORIES,
        columns=(
            Column("Playbook", ".spec.playbook", description="The playbook that is run"),
            Column("Role", ".spec.role", description="The role that is run"),
            AGE,
        ),
    )

    spec: OpenStackDataPlaneServiceSpec


KINDS: tuple[type[CustomResource], ...] = (OpenStackDataPlaneService,)
