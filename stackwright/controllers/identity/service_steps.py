"""What is done in Keystone for a KeystoneService, one step each."""

from dataclasses import dataclass, field

from stackwright.adapters.identity import Keystone, Project, RoleAssignment, Service, User
from stackwright.controllers.identity.registration import works_as
from stackwright.controllers.identity.world import KeystoneStep, World
from stackwright.kube import clock

# The project that all services work in.
PROJECT = "service"


@dataclass(frozen=True)
class CreateService(KeystoneStep):
    """Put the service into the catalog."""

    service: Service


@dataclass(frozen=True)
class UpdateService(KeystoneStep):
    """Make the service in the catalog as it should be."""

    service: Service


@dataclass(frozen=True)
class DeleteService(KeystoneStep):
    """Take the service out of the catalog."""

    service_id: str


@dataclass(frozen=True)
class PrepareProject(KeystoneStep):
    """Make the project of the services, or enable it."""

    project: Project | None


@dataclass(frozen=True)
class CreateRole(KeystoneStep):
    """Make a role."""

    role: str


@dataclass(frozen=True)
class CreateUser(KeystoneStep):
    """Make the user."""

    user: str
    password: str = field(repr=False)
    mark: str


@dataclass(frozen=True)
class MarkUser(KeystoneStep):
    """Write on the user whose it is."""

    user: User
    mark: str


@dataclass(frozen=True)
class EnableUser(KeystoneStep):
    """Let the user log in again."""

    user: User


@dataclass(frozen=True)
class SetPassword(KeystoneStep):
    """Give the user the password of the Secret, and a mark, so that nobody else gives it another one."""

    user: User
    password: str = field(repr=False)
    mark: str


@dataclass(frozen=True)
class GrantRole(KeystoneStep):
    """Let the user hold a role in the project."""

    project_id: str
    assignment: RoleAssignment


async def take(step: KeystoneStep, keystone: Keystone, world: World) -> None:
    """Carry out one step."""
    match step:
        case CreateService():
            await keystone.create_service(step.service)
        case UpdateService():
            await keystone.update_service(step.service)
        case DeleteService():
            await keystone.delete_service(step.service_id)
        case PrepareProject(project=None):
            await keystone.create_project(PROJECT, "The users that services log in as")
        case PrepareProject(project=Project() as project):
            await keystone.enable_project(project.id)
        case CreateRole():
            await keystone.create_role(step.role)
        case GrantRole():
            await keystone.grant(step.project_id, step.assignment)
        case _:
            await _take_user(step, keystone, world)


async def _take_user(step: KeystoneStep, keystone: Keystone, world: World) -> None:
    match step:
        case CreateUser():
            about = step.about
            await keystone.create_user(
                step.user, step.password, description=works_as(about.metadata.name), made_for=step.mark
            )
        case MarkUser():
            await keystone.update_user(step.user.id, made_for=step.mark)
        case EnableUser():
            await keystone.update_user(step.user.id, enabled=True)
        case SetPassword():
            await keystone.set_password(step.user.id, step.password, made_for=step.mark)
            now = clock.seconds(clock.now())
            world.passwords.gave(step.about.key, step.user.id, step.password, now)
