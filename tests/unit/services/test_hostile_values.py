"""Values that nobody expects, in Secrets and fields that users write: each is used, or refused with a sentence.

Any other exception would be reported as a bug of ours, and tried again without end.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from stackwright.blueprint import cron, ini, my_cnf, options
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.key_rings import is_ring, was_turned
from stackwright.blueprint.places import broker_places, is_url
from stackwright.blueprint.policies import Surroundings
from stackwright.blueprint.secret_values import encode
from stackwright.controllers.service import Environment
from stackwright.controllers.service.decide import Seen, decide
from stackwright.kube.builtin import Secret
from stackwright.kube.errors import Blocked
from stackwright.kube.resource import ObjectMeta
from stackwright.services.nova import connection_limits
from tests.unit.services.novas import BY_KIND, made, nobody, nova

NOW = datetime(2026, 11, 16, tzinfo=UTC)
AROUND = Environment(
    {"nova": ComponentImage("registry.example/nova:1", sudo=False, ours=True)},
    Path("charts"),
    around=Surroundings("openstack", (443,)),
)
DATABASES = {"apiDatabaseSecret": "db", "cell0DatabaseSecret": "db", "cellDatabaseSecret": "db"}
LOGIN = {"ServicePassword": "word", "MetadataSecret": "word", "transport_url": "rabbit://u:p@host:5672/"}
DATABASE = {"hostname": "host", "port": "3306", "database": "schema", "user": "user", "password": "word"}
KINDS = ("NovaAPI", "NovaScheduler", "NovaConductor", "NovaMetadata", "NovaNoVNCProxy", "NovaCompute", "NovaCell")

BROKERS = (
    "rabbit://u:hunter2@host:abc/",
    "rabbit://u:hunter2@host:99999/",
    "rabbit://u:hunter2@[::1",
    "rabbit://u:hunter2@",
    "hunter2",
)
URLS = ("http://k:abc", "http://k:99999", "http://[::1", "http://", "k", "ftp://k", "http://k:5000\nx", "http://a b")
PORTS = ("\u00b2", "9" * 5000, "0", "70000", "-1", "x")
TEXTS = ("hunter2\r", "\0hunter2", "\\$hunter2", "$hunter2", "%(hunter2)s", "a\n\nhunter2", "[x]\nhunter2 = 1", "'\"")


def decided(of: str, login: dict[str, str], database: dict[str, str], **spec: Any) -> Any:
    """Return the intent, or the error that refuses it."""
    # What a service makes for itself in a pass before.
    generated = {entry.name(made(of, "x")): {"key": "made"} for entry in BY_KIND[of].secrets}
    contents = {"login": login, "db": database, **generated}
    secrets = {name: Secret(metadata=ObjectMeta(name=name), data=encode(said)) for name, said in contents.items()}
    service = BY_KIND[of]
    fields = service.kind.__annotations__["spec"].__struct_fields__
    known = {key: value for key, value in DATABASES.items() if key in fields}

    def look(kind: type[Any], name: str, **_: str) -> Any:
        return secrets.get(name) if kind is Secret else None

    try:
        resource = made(of, "x", **{"secret": "login", **known, **spec})
        return decide(service, resource, Seen(look, NOW), AROUND)
    except Blocked as error:
        return error


def sentences(found: Any) -> str:
    return str(found) if isinstance(found, Blocked) else str([wait.message for wait in found.waits])


@pytest.mark.parametrize("kind", KINDS)
def test_a_service_alone_uses_what_it_is_given_or_says_what_is_wrong(kind: str) -> None:
    assert decided(kind, LOGIN, DATABASE).values is not None
    for url in BROKERS:
        found = decided(kind, {**LOGIN, "transport_url": url}, DATABASE)
        assert "is no URL of a broker" in sentences(found)
        assert "hunter2" not in sentences(found)
    for url in URLS:
        assert "spec.keystoneAuthURL: is no URL" in sentences(decided(kind, LOGIN, DATABASE, keystoneAuthURL=url))
    broker = {"hostname": "host", "user": "user", "password": "word"}
    for port in PORTS:
        own = {key: value for key, value in LOGIN.items() if key != "transport_url"}
        assert "is no port" in sentences(decided(kind, {**own, **broker, "port": port}, DATABASE))
        decided(kind, LOGIN, {**DATABASE, "port": port})
    for text in TEXTS:
        for found in (
            decided(kind, {**LOGIN, "ServicePassword": text, "MetadataSecret": text}, DATABASE),
            decided(kind, LOGIN, {**DATABASE, "database": text, "user": text, "password": text}),
            decided(kind, LOGIN, {**DATABASE, "hostname": text}),
            decided(kind, LOGIN, DATABASE, region=text, serviceUser=text),
        ):
            assert "hunter2" not in sentences(found)


def test_a_value_that_no_file_can_say_is_refused_by_the_name_of_its_option() -> None:
    found = decided("NovaAPI", {**LOGIN, "ServicePassword": "a\rhunter2"}, DATABASE)
    assert isinstance(found, Blocked)
    assert (found.reason, found.condition) == ("InvalidInput", "InputReady")
    assert "password: the value has a carriage return" in str(found)


def test_a_broker_without_a_port_is_at_the_usual_one() -> None:
    urls = ("rabbit://u:p@host/", "rabbit://u:p@[fd00::1]:5671/v", "rabbit://u:p@one,u:p@two:1/")
    places = [list(broker_places(url)) for url in urls]
    assert places == [[("host", 5672)], [("fd00::1", 5671)], [("one", 5672), ("two", 1)]]
    assert decided("NovaAPI", {**LOGIN, "transport_url": urls[0]}, DATABASE).values is not None


@pytest.mark.parametrize("template", ["metadataServiceTemplate", "noVNCProxyServiceTemplate"])
def test_a_url_with_a_port_that_is_none_is_refused_wherever_it_is_said(template: str) -> None:
    said = {template: {"override": {"service": {"endpointURL": "http://x:abc"}}}}
    resource = nova(cellTemplates={"cell0": {}, "cell1": {"messagingBus": {"cluster": "one"}, **said}})
    problems = BY_KIND["Nova"].problems
    assert problems is not None
    (path,) = [path for path, sentence in problems(resource, nobody) if "is no URL" in sentence]
    assert path == f"spec.cellTemplates[cell1].{template}.override.service.endpointURL"
    assert is_url("https://[fd00::1]:8774/v2.1")


@pytest.mark.parametrize("number", ["\u00b2", "9" * 5000])
def test_what_looks_like_a_number_and_is_none_stops_nobody(number: str) -> None:
    assert my_cnf.number(f"[mysqld]\nmax_connections = {number}\n", "max_connections") == 0
    assert cron.problem(f"*/{number} * * * *")
    assert not is_ring({"0": "a", number: "b"})
    assert not was_turned({number: "b"})
    conductors = {"customServiceConfig": f"[conductor]\nworkers = {number}\n"}
    assert not isinstance(ini.parse(conductors["customServiceConfig"]), ini.Problem)
    resource = nova(cellTemplates={"cell0": {"conductorServiceTemplate": conductors}})
    assert all(share.workers < 10 for share in connection_limits.shares(resource, "openstack"))


BAD = {"customServiceConfig": "[conductor]\nworkers = many\n"}
REFUSED = "line 2: [conductor] workers must be a whole number"


@pytest.mark.parametrize("kind", ["Nova", "NovaCell", "NovaConductor"])
def test_a_bad_value_is_refused_before_any_pod_gets_it(kind: str) -> None:
    """Conductors run in StatefulSets: a new pod takes the place of a good one. Nova names the image of all of them."""
    ours = AROUND.images["nova"]
    template = {"conductorServiceTemplate": BAD}
    said: dict[str, tuple[dict[str, Any], str]] = {
        "Nova": ({"cellTemplates": {"cell0": template}}, "conductorContainerImageURL"),
        "NovaCell": (template, "conductorContainerImageURL"),
        "NovaConductor": (BAD, "containerImage"),
    }
    spec, image = said[kind]
    for reference in ("", ours.reference):
        resource = made(kind, "x", **spec, **{image: reference})
        found = [sentence for _, sentence in options.problems(BY_KIND[kind], resource, ours)]
        assert [sentence.startswith(REFUSED) for sentence in found] == [True]
    # Of another image we do not know the options: the pod checks them itself.
    another = made(kind, "x", **spec, **{image: "registry.example/theirs:1"})
    assert options.problems(BY_KIND[kind], another, ours) == ()
