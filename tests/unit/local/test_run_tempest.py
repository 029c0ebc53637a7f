"""The program of the Tempest image: which tests it runs, what it tells Tempest of a cloud, and what became of them."""

import argparse
import io
import json
from configparser import ConfigParser
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from images.tempest.run_tempest import api, configuration, facts, results, selection
from images.tempest.run_tempest.__main__ import Teller, read_login
from images.tempest.run_tempest.api import CloudError, Login
from images.tempest.run_tempest.configuration import Made, Wanted
from images.tempest.run_tempest.facts import Compute, External, Facts, Versions

LOGIN = Login("http://keystone-internal:5000/v3", "admin", "p$ss", "admin", region="regionOne")
ALL = frozenset({"identity", "compute", "image", "network", "placement"})
FAKE = (Compute("fake-0", "fake"),)
REAL = (Compute("node-0", "QEMU"), Compute("node-1", "QEMU"))
OUTSIDE = External("n-1", "outside")


def conf(found: Facts, wanted: Wanted | None = None, login: Login = LOGIN) -> ConfigParser:
    made = Made(("i-1", "i-2"), ("f-1", "f-2"))
    parser = ConfigParser(interpolation=None, default_section="")
    parser.read_string(configuration.text(configuration.sections(found, login, made, wanted or Wanted())))
    return parser


def test_services_are_those_of_the_catalog() -> None:
    read = conf(Facts(services=frozenset({"identity", "image"})))
    assert dict(read["service_available"]) == {
        "glance": "true", "neutron": "false", "cinder": "false", "swift": "false", "nova": "false", "horizon": "false",
    }  # fmt: skip


def test_a_cloud_without_a_compute_is_a_cloud_without_servers() -> None:
    found = Facts(services=ALL)
    assert conf(found)["service_available"]["nova"] == "false"
    assert "No compute is up: what needs servers is skipped." in configuration.notes(found, Wanted())


def test_computes_that_pretend_are_not_logged_in_to_and_make_no_images() -> None:
    found = Facts(services=ALL, computes=FAKE, external=OUTSIDE)
    read = conf(found)
    assert read["service_available"]["nova"] == "true"
    assert read["validation"]["run_validation"] == "false"
    features = read["compute-feature-enabled"]
    assert [features[name] for name in ("snapshot", "shelve", "vnc_console", "resize")] == ["false"] * 4
    assert any("pretend" in note for note in configuration.notes(found, Wanted()))


def test_two_real_computes_with_a_way_in_are_tried_in_full() -> None:
    found = Facts(services=ALL, computes=REAL, external=OUTSIDE)
    read = conf(found)
    assert read["validation"]["run_validation"] == "true"
    assert read["compute"]["min_compute_nodes"] == "2"
    features = read["compute-feature-enabled"]
    assert [features[name] for name in ("snapshot", "resize", "cold_migration", "live_migration")] == ["true"] * 4
    assert (features["stable_rescue"], features["shelve_migrate"]) == ("true", "true")
    assert configuration.notes(found, Wanted()) == []
    assert conf(found, Wanted(login=False))["validation"]["run_validation"] == "false"


def test_servers_are_moved_between_machines_that_run_them() -> None:
    mixed = (*FAKE, Compute("node-0.example.org", "QEMU", "node-0"), Compute("node-1", "QEMU"))
    read = conf(Facts(services=ALL, computes=mixed, external=OUTSIDE))["compute"]
    assert (read["migration_source_host"], read["migration_dest_host"]) == ("node-0", "node-1")
    assert "migration_source_host" not in conf(Facts(services=ALL, computes=mixed[:2], external=OUTSIDE))["compute"]


def test_without_an_external_network_there_are_no_floating_ips() -> None:
    found = Facts(services=ALL, computes=REAL, extensions=("router", "port-security"))
    read = conf(found)
    assert "public_network_id" not in read["network"]
    assert read["network-feature-enabled"]["floating_ips"] == "false"
    assert read["validation"]["run_validation"] == "false"
    assert any("no external network" in note for note in configuration.notes(found, Wanted()))


def test_the_extensions_of_the_network_are_named() -> None:
    found = Facts(services=ALL, computes=FAKE, extensions=("qos", "router"), external=OUTSIDE)
    read = conf(found)
    assert read["network-feature-enabled"]["api_extensions"] == "qos,router"
    assert read["network-feature-enabled"]["port_security"] == "false"
    assert read["network"]["public_network_id"] == "n-1"


@pytest.mark.parametrize(
    ("networks", "pools", "found"),
    [
        ([{"name": "outside"}], [{"name": "projects"}], ("auto-allocated-topology", "router")),
        ([{"name": "outside"}], [], ("router",)),
        ([], [{"name": "projects"}], ("router",)),
    ],
)
def test_networks_that_neutron_makes_itself_need_a_default_network_and_pool(
    networks: list[Any], pools: list[Any], found: tuple[str, ...]
) -> None:
    assert facts.usable(["router", "auto-allocated-topology"], networks, pools) == found


def test_endpoints_are_all_of_one_interface() -> None:
    read = conf(Facts(services=ALL, computes=FAKE))
    sections = ("compute", "image", "network", "volume", "object-storage")
    assert {read[name]["endpoint_type"] for name in sections} == {"internalURL"}
    assert read["placement"]["endpoint_type"] == "internal"
    assert read["identity"]["v3_endpoint_type"] == "internalURL"


def test_microversions_are_those_of_the_cloud() -> None:
    read = conf(Facts(services=ALL, computes=FAKE, compute=Versions("2.1", "2.102")))
    assert read["compute"]["max_microversion"] == "2.102"
    assert "max_microversion" not in read["placement"]


def test_a_password_with_a_dollar_sign_is_no_reference_to_an_option() -> None:
    assert conf(Facts())["auth"]["admin_password"] == "p$$ss"


def test_what_the_user_sets_goes_before() -> None:
    wanted = Wanted(settings=configuration.parse_settings(["image.http_image=http://x/?a=b", "compute.flavor_ref=9"]))
    read = conf(Facts(), wanted)
    assert read["image"]["http_image"] == "http://x/?a=b"
    assert read["compute"]["flavor_ref"] == "9"
    with pytest.raises(ValueError, match=r"SECTION\.OPTION=VALUE"):
        configuration.parse_settings(["flavor=9"])


TESTS = (
    "tempest.api.identity.v3.test_tokens.TokensTest.test_one[id-1,smoke]",
    "tempest.api.identity.v3.test_tokens.TokensTest.test_two_negative[id-2,negative]",
    "tempest.scenario.test_network_basic_ops.TestNetworkBasicOps.test_ping[id-3,slow]",
    "tempest.scenario.test_server_basic_ops.TestServerBasicOps.test_server[id-4,smoke]",
)


@pytest.mark.parametrize(
    ("words", "exclude", "chosen"),
    [
        pytest.param(["smoke"], "", (0, 3), id="smoke-is-a-mark-and-no-name"),
        pytest.param(["tempest.api.identity"], "", (0, 1), id="a-folder"),
        pytest.param(["tempest.api.identity", "scenario.*ping"], "", (0, 1, 2), id="several-patterns"),
        pytest.param(["tempest"], "negative|scenario", (0,), id="without-some"),
    ],
)
def test_tests_are_chosen_by_names_and_patterns(words: list[str], exclude: str, chosen: tuple[int, ...]) -> None:
    assert selection.choose(TESTS, words, exclude) == tuple(TESTS[number] for number in chosen)


def test_a_word_that_selects_nothing_is_named() -> None:
    with pytest.raises(selection.NothingSelected, match=r"called tempest\.api\.compote"):
        selection.choose(TESTS, ["smoke", "tempest.api.compote"])
    with pytest.raises(selection.NothingSelected, match="--exclude tempest leaves no test"):
        selection.choose(TESTS, ["smoke"], "tempest")


def test_scenarios_that_log_in_are_left_out_with_the_reason_where_nobody_can() -> None:
    pretending = selection.leave_out(TESTS, Facts(services=ALL, computes=FAKE, external=OUTSIDE))
    assert pretending.tests == (TESTS[0], TESTS[1], TESTS[3])
    assert pretending.left_out == {selection.PRETENDING: 1}
    unreached = selection.leave_out(TESTS, Facts(services=ALL, computes=REAL))
    assert unreached.left_out == {selection.UNREACHED: 1}
    assert selection.leave_out(TESTS, Facts(services=ALL, computes=REAL, external=OUTSIDE)).tests == TESTS
    # Without Nova, Tempest skips them itself.
    assert selection.leave_out(TESTS, Facts()).tests == TESTS


TRACE = """Traceback (most recent call last):
  File "/opt/tempest/x.py", line 1, in test
    self.get()
  File "/opt/tempest/y.py", line 2, in get
    raise exceptions.TimeoutException(message)
tempest.lib.exceptions.TimeoutException: Request timed out
Details: Server 1 failed
  to become ACTIVE
"""


def event(name: str, status: str, **details: str) -> dict[str, Any]:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    times = [begin, begin + timedelta(seconds=2.5)]
    return {"id": name, "status": status, "details": details, "timestamps": times}


def test_a_failure_has_its_reason_in_a_line_and_its_trace() -> None:
    (line,) = results.Results(TESTS).lines(event(TESTS[0], "fail", traceback=TRACE))
    assert line["test"] == "tempest.api.identity.v3.test_tokens.TokensTest.test_one"
    assert line["reason"] == (
        "tempest.lib.exceptions.TimeoutException: Request timed out Details: Server 1 failed to become ACTIVE"
    )
    assert line["trace"].startswith("Traceback")
    assert (line["status"], line["seconds"]) == ("failed", 2.5)


def test_a_class_that_is_skipped_or_fails_stands_for_its_tests() -> None:
    found = results.Results(TESTS)
    name = "setUpClass (tempest.api.identity.v3.test_tokens.TokensTest)"
    lines = list(found.lines(event(name, "skip", reason="Not available")))
    assert [line["test"].rpartition(".")[2] for line in lines] == ["test_one", "test_two_negative"]
    assert {line["reason"] for line in lines} == {"Not available"}
    server = "tempest.scenario.test_server_basic_ops.TestServerBasicOps"
    (line,) = found.lines(event(f"setUpClass ({server})", "fail", traceback=TRACE))
    assert line["status"] == "failed"
    assert list(found.missing) == ["tempest.scenario.test_network_basic_ops.TestNetworkBasicOps.test_ping"]


def test_what_fails_after_the_tests_of_a_class_is_a_failure_of_its_own() -> None:
    found = results.Results(TESTS)
    name = "tearDownClass (tempest.api.identity.v3.test_tokens.TokensTest)"
    assert [line["test"] for line in found.lines(event(name, "fail", traceback=TRACE))] == [name]
    assert not list(found.lines(event(name, "skip")))


def test_a_test_is_told_once_and_what_only_begins_is_not_told() -> None:
    found = results.Results(TESTS)
    assert not list(found.lines(event(TESTS[0], "inprogress")))
    assert len(list(found.lines(event(TESTS[0], "success")))) == 1
    assert not list(found.lines(event(TESTS[0], "success")))


def test_no_line_shows_the_password() -> None:
    stream = io.StringIO()
    teller = Teller(stream)
    teller.hide("s3cret")
    teller.tell(reason='401 with "s3cret"', notes=["s3cret"], leftOut={"s3cret": 1})
    assert "s3cret" not in stream.getvalue()
    assert json.loads(stream.getvalue())["reason"] == '401 with "(hidden)"'


def asked(**given: str) -> argparse.Namespace:
    return argparse.Namespace(**{"cloud": "default", "auth_url": "", "interface": "", "ca_file": "", **given})


def test_the_login_is_put_together_from_both_files(tmp_path: Path) -> None:
    (tmp_path / "clouds.yaml").write_text(
        "clouds: {default: {interface: public, region_name: r, auth: {auth_url: http://k/v3, username: admin, "
        "project_name: admin}}}"
    )
    with pytest.raises(CloudError, match="does not say password"):
        read_login(asked(), tmp_path)
    (tmp_path / "secure.yaml").write_text("clouds: {default: {auth: {password: hidden}}}")
    login = read_login(asked(auth_url="http://inside/v3/", interface="internal"), tmp_path)
    assert (login.password, login.auth_url, login.interface, login.region) == (
        "hidden", "http://inside/v3", "internal", "r",
    )  # fmt: skip
    assert "hidden" not in repr(login)


def test_endpoints_are_those_of_the_region_and_the_interface() -> None:
    entry = {"interface": "internal", "region_id": "regionOne", "url": "http://nova/v2.1"}
    others = [{**entry, "interface": "public", "url": "x"}, {**entry, "region_id": "two", "url": "y"}]
    catalog = [{"type": "compute", "endpoints": [*others, entry]}]
    assert api.endpoints_of(catalog, LOGIN) == {"compute": "http://nova/v2.1"}


@pytest.mark.parametrize(
    ("page", "found"),
    [
        pytest.param({"version": {"version": "2.102", "min_version": "2.1"}}, Versions("2.1", "2.102"), id="nova"),
        pytest.param(
            {"versions": [{"min_version": "1.0", "max_version": "1.39"}]}, Versions("1.0", "1.39"), id="placement"
        ),
        pytest.param({"versions": [{"version": ""}]}, Versions(), id="no-microversions"),
        pytest.param([], Versions(), id="another-page"),
    ],
)
def test_the_newest_version_stands_on_the_first_page(page: Any, found: Versions) -> None:
    assert facts.newest_of(page) == found


def test_the_external_network_is_the_one_that_is_named_or_has_addresses() -> None:
    networks = [{"id": "1", "name": "a", "subnets": []}, {"id": "2", "name": "b", "subnets": ["s"]}]
    assert facts.choose_external(networks) == External("2", "b")
    assert facts.choose_external(networks, "a") == External("1", "a")
    assert facts.choose_external([]) is None
    with pytest.raises(CloudError, match="There is no external network c; there are a, b"):
        facts.choose_external(networks, "c")
