"""Snippets of configuration, wherever they stand in a resource."""

from typing import Annotated, ClassVar

from stackwright.api.base import CustomResource, Kind, ObjectMeta, Value, describe
from stackwright.api.service import ServiceTemplate
from stackwright.api.snippets import SnippetFormat
from stackwright.blueprint import admission
from stackwright.kube.admission.checks import FieldError, Objections
from stackwright.services.keystone.kinds import KeystoneAPI, KeystoneAPISpec
from stackwright.services.mariadb.kinds import Galera, GaleraSpec


class Database(Value, frozen=True, kw_only=True):
    """A part with another format."""

    customServiceConfig: Annotated[str, describe("A snippet."), SnippetFormat.MY_CNF] = ""


class CloudSpec(Value, frozen=True, kw_only=True):
    """Has snippets at several depths."""

    cells: Annotated[dict[str, ServiceTemplate], describe("Parts by name.")] = {}
    listed: Annotated[tuple[ServiceTemplate, ...], describe("Parts in order.")] = ()
    database: Database | None = None


class Cloud(CustomResource, frozen=True, kw_only=True):
    """Stands for many services."""

    kind: ClassVar[Kind] = Kind("example.org", "v1", "Cloud", "clouds")

    spec: CloudSpec = CloudSpec()


def test_every_snippet_is_found_wherever_it_stands() -> None:
    broken = ServiceTemplate(customServiceConfig="oops")
    spec = CloudSpec(cells={"cell1": broken}, listed=(ServiceTemplate(), broken), database=Database())
    sentence = 'line 1: "oops" is neither a section nor option = value'
    assert admission.problems(Cloud(spec=spec)) == (
        ("spec.cells[cell1].customServiceConfig", sentence),
        ("spec.listed[1].customServiceConfig", sentence),
    )


def test_each_snippet_is_read_in_its_own_format() -> None:
    flag = "[mysqld]\nskip-name-resolve\n"
    assert admission.problems(Cloud(spec=CloudSpec(database=Database(customServiceConfig=flag)))) == ()
    galera = GaleraSpec(storageClass="local", storageRequest="1G", customServiceConfig=flag)
    assert admission.problems(Galera(metadata=ObjectMeta(name="openstack"), spec=galera)) == ()
    keystone = KeystoneAPISpec(secret="s", databaseInstance="openstack", customServiceConfig=flag)
    assert admission.problems(KeystoneAPI(spec=keystone)) == (
        ("spec.customServiceConfig", 'line 2: "skip-name-resolve" is neither a section nor option = value'),
    )


def test_admission_refuses_without_repeating_the_snippet() -> None:
    text = "[DEFAULT]\npassword = secret\noops\n"
    spec = KeystoneAPISpec(secret="s", databaseInstance="openstack", customServiceConfig=text)
    found = admission.check(None, KeystoneAPI(spec=spec))
    error = FieldError("spec.customServiceConfig", 'line 3: "oops" is neither a section nor option = value')
    assert found == Objections(errors=(error,))
    assert "secret" not in error.cause.message
