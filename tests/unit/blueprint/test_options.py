"""What is said of a user's own options, by the lists of the images that we build."""

from typing import Any

import msgspec
import pytest

from stackwright import services
from stackwright.blueprint import options
from stackwright.blueprint.images import ComponentImage
from stackwright.blueprint.option_types import OptionType
from stackwright.services.glance.kinds import Glance
from stackwright.services.glance.service import SERVICE as GLANCE
from stackwright.services.keystone.kinds import KeystoneAPI, KeystoneAPISpec
from stackwright.services.keystone.service import SERVICE

OURS, OTHERS = ComponentImage("keystone:1", ours=True), ComponentImage("keystone:1")
KNOWN = {
    "DEFAULT": {"debug": OptionType("boolean"), "servers": OptionType("integer", repeated=True)},
    "token": {"expiration": OptionType("integer", least=0), "provider": OptionType("string")},
}


def keystone(snippet: str = "", **spec: Any) -> KeystoneAPI:
    return KeystoneAPI(spec=KeystoneAPISpec(secret="s", databaseInstance="db", customServiceConfig=snippet, **spec))


@pytest.mark.parametrize(
    ("text", "refused", "unknown"),
    [
        pytest.param("[token]\nexpiration = 7200\n", [], [], id="a-good-value"),
        pytest.param(
            "# mine\n[token]\nexpiration = soon\n",
            ["line 3: [token] expiration must be a whole number, 0 or more"],
            [],
            id="a-bad-value-with-its-line",
        ),
        pytest.param("[TOKEN]\nexpiration = soon\n", ["line 2: [token] expiration must be"], [], id="any-case"),
        pytest.param("[token]\nexpiration = $life\n", [], [], id="another-options-value"),
        pytest.param("[token]\nexpiration = ${life}0\n", [], [], id="part-of-another-options-value"),
        pytest.param("[token]\nprovider = {{ a }}\n    more\n", [], [], id="several-lines-of-a-text"),
        pytest.param("[token]\nexpiration = soon\nexpiration = 1\n", [], [], id="the-last-one-counts"),
        pytest.param(
            "[DEFAULT]\nservers = x\nservers = 1\n",
            ["line 2: [DEFAULT] servers must be a whole number"],
            [],
            id="of-a-repeated-one-each-counts",
        ),
        pytest.param(
            "[token]\nexpirations = 1\n",
            [],
            ["line 2: [token] expirations is not an option that the service knows; is it expiration?"],
            id="an-unknown-option",
        ),
        pytest.param(
            "[tokens]\nexpiration = soon\n",
            [],
            ["line 1: [tokens] is not a section that the service knows; is it [token]?"],
            id="a-slip-in-a-section",
        ),
        pytest.param("[my_store]\npath = 1\n", [], [], id="a-section-of-the-users-own"),
        pytest.param("[token\n", [], [], id="what-cannot-be-read-is-told-elsewhere"),
    ],
)
def test_what_is_said_of_a_text(text: str, refused: list[str], unknown: list[str]) -> None:
    found = options.check(KNOWN, text)
    for expected, said in (
        (refused, [each for each in found if each.refused]),
        (unknown, [each for each in found if not each.refused]),
    ):
        assert len(expected) == len(said)
        assert all(each.sentence.startswith(start) for start, each in zip(expected, said, strict=True))


def test_a_value_is_never_repeated() -> None:
    found = options.check(KNOWN, "[token]\nexpiration = s3cr3t-of-mine\n[DEFAULT]\ndebug = hunter22\n")
    assert len(found) == 2
    assert not any("s3cr3t" in each.sentence or "hunter22" in each.sentence for each in found)


@pytest.mark.parametrize(
    "service", [each for each in services.blueprints() if each.options], ids=lambda each: each.name
)
def test_every_list_can_be_read_and_knows_where_the_database_is(service: Any) -> None:
    known = options.of(service)
    assert known is not None
    assert any("connection" in section for section in known.values())
    assert known["DEFAULT"]["debug"].type == "boolean"


def test_every_service_of_openstack_has_a_list() -> None:
    named = {service.image_name for service in services.blueprints() if "sync-database" in service.known_actions}
    assert named
    assert named == {service.image_name for service in services.blueprints() if service.options}


def test_a_lifetime_that_is_none_is_refused_where_the_image_is_ours() -> None:
    soon = "[token]\nexpiration = soon\n"
    (found,) = options.problems(SERVICE, keystone(soon), OURS)
    assert found[0] == "spec.customServiceConfig"
    assert found[1].startswith("line 2: [token] expiration must be a whole number from 0 to ")
    assert options.problems(SERVICE, keystone(soon), OTHERS) == ()
    assert options.problems(SERVICE, keystone(soon), None) == ()
    assert options.problems(SERVICE, keystone(soon, containerImage="mine:1"), OURS) == ()


def test_whole_files_of_the_service_are_read_as_well() -> None:
    files = {"keystone.conf": "[token]\nexpiration = soon\n", "other.conf": "[token]\nexpiration = soon\n"}
    found = options.problems(SERVICE, keystone(defaultConfigOverwrite=files), OURS)
    assert [path for path, _ in found] == ["spec.defaultConfigOverwrite[keystone.conf]"]


def test_each_of_several_snippets_is_named_by_its_path() -> None:
    snippet = "[DEFAULT]\nlimit_param_default = many\n"
    apis = {"default": {"customServiceConfig": snippet}}
    spec = {"databaseInstance": "db", "secret": "s", "storage": {"storageClass": "c"}, "glanceAPIs": apis}
    resource = msgspec.convert({"metadata": {"name": "glance"}, "spec": spec}, Glance)
    found = options.problems(GLANCE, resource, OURS)
    assert [path for path, _ in found] == ["spec.glanceAPIs[default].customServiceConfig"]


@pytest.mark.parametrize("value", ["", "1", "1023"])
def test_a_number_with_which_every_request_fails_is_refused(value: str) -> None:
    text = f"[Oslo_Middleware]\nmax_request_body_size = {value}\n"
    (fault,) = options.check({"oslo_middleware": {"max_request_body_size": OptionType("integer")}}, text)
    sentence = "must be 1024 or more; with less the service answers no request"
    assert fault.sentence == f"line 2: [oslo_middleware] max_request_body_size {sentence}"
    assert fault.refused
    known = {"DEFAULT": {"rpc_response_timeout": OptionType("integer")}}
    assert options.check(known, "[DEFAULT]\nrpc_response_timeout = 0\n")
    assert options.check(known, "[DEFAULT]\nrpc_response_timeout = 60\n") == ()


def test_a_text_in_the_place_of_such_a_number_is_left_to_its_type() -> None:
    known = {"oslo_middleware": {"max_request_body_size": OptionType("string")}}
    assert options.check(known, "[oslo_middleware]\nmax_request_body_size = 1MB\n") == ()
