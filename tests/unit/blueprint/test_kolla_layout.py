"""A directory in Kolla's layout becomes a control plane's spec."""

from typing import Any, ClassVar

import msgspec
import pytest

from stackwright.api.base import CustomResource, Kind
from stackwright.api.controlplane import Section
from stackwright.api.service import ServiceSpec
from stackwright.blueprint import admission, kolla_layout
from stackwright.blueprint.kolla_layout import Imported


class Teapot(CustomResource, frozen=True, kw_only=True):
    """A service with several APIs."""

    kind: ClassVar[Kind] = Kind("teapot.example.org", "v1", "Teapot", "teapots")

    spec: ServiceSpec


def section(**kolla: str) -> Section:
    components = {name.replace("_", "-"): place for name, place in kolla.items()}
    return Section(
        name="teapot", kind=Teapot, instance="teapot", condition="TeapotReady", description="Tea.", kolla=components
    )


PLAIN, SEVERAL = section(teapot=""), section(teapot_api="teapotAPIs.*")


def read(files: dict[str, str], spec: dict[str, Any] | None = None, of: Section = PLAIN) -> Imported:
    return kolla_layout.read(files, spec or {}, [of])


def snippet(*parts: tuple[str, str], before: str = "") -> str:
    return before + "".join(f"# Imported: {path}\n{text}" for path, text in parts) + "# End of what was imported\n"


def test_options_stand_in_the_order_in_which_kolla_merges_them() -> None:
    files = {
        "teapot/teapot.conf": "[DEFAULT]\nheat = 3\n",
        "global.conf": "[DEFAULT]\nheat = 1\n",
        "teapot.conf": "[DEFAULT]\nheat = 2\n",
    }
    expected = snippet(
        ("global.conf", "[DEFAULT]\nheat = 1\n"),
        ("teapot.conf", "[DEFAULT]\nheat = 2\n"),
        ("teapot/teapot.conf", "[DEFAULT]\nheat = 3\n"),
    )
    assert read(files) == Imported(
        {"teapot": {"enabled": True, "template": {"customServiceConfig": expected}}}, tuple(sorted(files))
    )


def test_the_options_of_a_component_go_to_each_of_its_kind_and_leave_the_service_alone() -> None:
    files = {"teapot.conf": "[a]\nb = 1\n", "teapot/teapot-api.conf": "[a]\nb = 2\n"}
    spec = {"teapot": {"template": {"teapotAPIs": {"green": {"replicas": 2}, "black": {}}}}}
    template = read(files, spec, SEVERAL).spec["teapot"]["template"]
    own = snippet(("teapot/teapot-api.conf", "[a]\nb = 2\n"))
    assert template == {
        "customServiceConfig": snippet(("teapot.conf", "[a]\nb = 1\n")),
        "teapotAPIs": {"green": {"replicas": 2, "customServiceConfig": own}, "black": {"customServiceConfig": own}},
    }
    assert spec == {"teapot": {"template": {"teapotAPIs": {"green": {"replicas": 2}, "black": {}}}}}


def test_without_any_entry_a_component_is_the_default_one() -> None:
    template = read({"teapot/teapot-api.conf": "[a]\nb = 2\n"}, {}, SEVERAL).spec["teapot"]["template"]
    assert list(template["teapotAPIs"]) == ["default"]


def test_a_second_import_replaces_the_first_and_keeps_what_the_user_wrote() -> None:
    first = read({"global.conf": "[a]\nb = 1\n"}, {"teapot": {"template": {"customServiceConfig": "[mine]\nc = 1"}}})
    again = read({"global.conf": "[a]\nb = 1\n"}, first.spec)
    assert again.spec == first.spec
    other = read({"global.conf": "[a]\nb = 2\n"}, first.spec)
    expected = snippet(("global.conf", "[a]\nb = 2\n"), before="[mine]\nc = 1\n")
    assert other.spec["teapot"]["template"]["customServiceConfig"] == expected


@pytest.mark.parametrize(
    "option",
    [
        "password = hunter2",
        "admin_password = hunter2",
        "transport_url = hunter2",
        "connection = hunter2",
        "slave_connection = hunter2",
        "s3_store_secret_key = hunter2",
        "kek = hunter2",
        "login = hunter2",
        "user_pin = hunter2",
        "passphrase = hunter2",
        "hmac_keys = hunter2",
        "connection_string = hunter2",
        "backend_url = redis://:hunter2@192.0.2.1:6379",
        "backend_argument = url:redis://me:hunter2@192.0.2.1:6379",
        "backend_argument = password:hunter2",
        "servers = a\n    amqp://me:hunter2@192.0.2.1",
    ],
)
def test_a_secret_is_never_written_into_the_control_plane(option: str) -> None:
    found = read({"global.conf": f"[a]\nb = 1\n{option}\n"}, {"teapot": {}})
    assert "hunter2" not in str(found)
    assert [place for place, _ in found.left] == [f"global.conf: [a] {option.partition(' ')[0]}"]


@pytest.mark.parametrize(
    "option",
    [
        "max_active_keys = 3",
        "ovn_nb_connection = tcp:192.0.2.1:6641",
        "connection_trace = true",
        "backend_argument = memcached_expire_time:600",
        "auth_url = http://192.0.2.1:5000/v3",
        "vcpu_pin_set = 4-12",
        "login_timeout = 5",
    ],
)
def test_what_only_looks_like_a_secret_is_taken(option: str) -> None:
    found = read({"teapot.conf": f"[a]\n{option}\n"})
    assert found.left == ()
    assert option in found.spec["teapot"]["template"]["customServiceConfig"]


COPIES = '{"command": "brew", "config_files": [{"source": "/var/lib/kolla/config_files/%s", "dest": "/etc/a"}]}'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param("ceph.client.teapot.keyring", "[client.teapot]\nkey = hunter2\n", id="a-keyring"),
        pytest.param("tls.key", "hunter2", id="a-key"),
        pytest.param("tls.pem", "-----BEGIN RSA PRIVATE KEY-----\nhunter2\n", id="a-private-key-in-a-pem"),
        pytest.param("hosts.yaml", "cache: redis://:hunter2@192.0.2.1\n", id="an-address-with-a-password"),
    ],
)
def test_a_file_with_a_secret_is_left_out(name: str, text: str) -> None:
    files = {f"teapot/{name}": text, "teapot-api/config.json": COPIES % name, f"teapot-api/{name}": text}
    found = read(files, {}, SEVERAL)
    assert "hunter2" not in str(found)
    assert [place for place, _ in found.left] == [f"teapot-api/{name}", f"teapot/{name}"]
    assert found.spec["teapot"]["template"]["teapotAPIs"]["default"] == {"kollaConfig": {"command": "brew"}}


def test_a_config_json_with_a_password_is_left_out() -> None:
    found = read({"teapot/config.json": '{"command": "brew redis://:hunter2@192.0.2.1"}'})
    assert ("hunter2" in str(found), [place for place, _ in found.left]) == (False, ["teapot/config.json"])


def test_a_certificate_is_no_secret() -> None:
    text = "-----BEGIN CERTIFICATE-----\nabc\n"
    assert read({"teapot/ca.pem": text}).spec["teapot"]["template"]["defaultConfigOverwrite"] == {"ca.pem": text}


def test_whole_files_are_taken_over_as_they_are() -> None:
    found = read({"teapot/policy.yaml": "brew: role:admin\n"})
    assert found.spec["teapot"]["template"] == {"defaultConfigOverwrite": {"policy.yaml": "brew: role:admin\n"}}


CONFIG = """{"command": "brew --green",
 "config_files": [
  {"source": "/var/lib/kolla/config_files/teapot.conf", "dest": "/etc/teapot/", "owner": "teapot", "perm": "0600"},
  {"source": "/var/lib/kolla/config_files/leaves.yaml", "dest": "/etc/teapot/", "owner": "teapot", "perm": "0640"},
  {"source": "/var/lib/kolla/config_files/lost.yaml", "dest": "/etc/teapot/", "owner": "teapot", "perm": "0640"},
  {"source": "/mnt/*", "dest": "/etc/more/", "owner": "teapot", "perm": "0640"}],
 "permissions": [{"path": "/var/log/kolla/teapot", "owner": "teapot:kolla", "recurse": true}],
 "colour": "green"}"""


def test_how_a_component_starts_is_taken_over_with_the_files_beside_it() -> None:
    files = {
        "teapot-api/config.json": CONFIG,
        "teapot-api/teapot.conf": "[a]\nb = 1\n",
        "teapot-api/leaves.yaml": "green: 1\n",
    }
    found = read(files, {}, SEVERAL)
    assert found.taken == tuple(sorted(files))
    assert [place for place, _ in found.left] == [
        "teapot-api/config.json: colour",
        "teapot-api/config.json: config_files[2]",
    ]
    template = found.spec["teapot"]["template"]
    mode = {"owner": "teapot", "perm": "0640"}
    assert template["defaultConfigOverwrite"] == {"leaves.yaml": "green: 1\n"}
    assert template["teapotAPIs"]["default"] == {
        "customServiceConfig": snippet(("teapot-api/teapot.conf", "[a]\nb = 1\n")),
        "kollaConfig": {
            "command": "brew --green",
            "config_files": [
                {"source": "leaves.yaml", "dest": "/etc/teapot/", **mode},
                {"source": "/mnt/*", "dest": "/etc/more/", **mode},
            ],
            "permissions": [{"path": "/var/log/kolla/teapot", "owner": "teapot:kolla", "recurse": True}],
        },
    }


def test_what_was_imported_passes_admission() -> None:
    files = {"teapot/config.json": CONFIG, "teapot/leaves.yaml": "green: 1\n", "teapot/teapot.conf": "[a]\nb = 1\n"}
    template = read(files).spec["teapot"]["template"]
    resource = {"metadata": {"name": "teapot"}, "spec": {"secret": "s", **template}}
    assert admission.problems(msgspec.convert(resource, Teapot)) == ()


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        pytest.param("teapot/host1/teapot.conf", "[a]\n", "a single host", id="what-is-for-one-host"),
        pytest.param("kettle/kettle.conf", "[a]\n", "no service that is known here (teapot)", id="another-service"),
        pytest.param("teapot/kettle.conf", "[a]\n", "there is teapot.conf", id="another-component"),
        pytest.param("teapot/teapot.conf", "[a]\noops\n", "line 2", id="a-broken-line"),
        pytest.param("teapot/config.json", "{\n,}", "it is not JSON (line 2)", id="a-broken-config.json"),
        pytest.param("teapot/config.json", "[]", "not an object", id="a-list-for-a-config.json"),
        pytest.param("teapot/config.json", "[" * 100000, "nested too deep", id="an-endless-config.json"),
        pytest.param("teapot/config.json", "9" * 5000, "too long", id="an-endless-number"),
        pytest.param("teapot/config.json", '{"config_files": [{"dest": 1}]}', "dest", id="an-entry-of-another-type"),
        pytest.param("global.conf", "[a]\nb = 1\n", "no service that reads it", id="options-that-nobody-reads"),
    ],
)
def test_what_is_not_understood_is_named_and_changes_nothing(path: str, text: str, why: str) -> None:
    found = read({path: text})
    assert [place for place, _ in found.left] == [path]
    assert why in found.left[0][1]
    assert found.spec.get("teapot", {}).get("template") is None
