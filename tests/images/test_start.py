"""kolla_start and kolla_copy_cacerts: from the container's first process to the service's own."""

import pytest

from tests.images.container import CONFIG_FILES, NOVA, ROOT, STRANGER, Container, User

STATE = "/var/lib/kolla/state"
SYSTEM_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


def extend(container: Container, script: str) -> None:
    container.write("/usr/local/bin/kolla_extend_start", script, mode=0o755)


def test_the_command_is_printed_and_takes_the_place_of_the_start(container: Container) -> None:
    container.write("/etc/service.sh", "echo $$")
    container.config("sh /etc/service.sh")
    environment = {"KOLLA_CONFIG_STRATEGY": "COPY_ALWAYS"}
    result = container.run("sh", "-c", "echo $$; exec kolla_start", environment=environment)
    first, printed, last = result.output.splitlines()
    assert (result.code, printed) == (0, "Running command: 'sh /etc/service.sh'")
    assert first == last


def test_the_command_is_split_on_blanks_and_knows_no_quotes(container: Container) -> None:
    container.config("printf <%s>\\n  one   \"two three\" $HOME 'four'")
    result = container.start()
    assert result.output.splitlines()[1:] == ["<one>", '<"two>', '<three">', "<$HOME>", "<'four'>"]


def test_the_exit_code_is_the_command_s(container: Container) -> None:
    container.write("/etc/fails.sh", "exit 7")
    container.config("sh /etc/fails.sh")
    assert container.start().code == 7


@pytest.mark.parametrize("environment", [{"KOLLA_CONFIG_STRATEGY": ""}, {"KOLLA_CONFIG": "{"}])
def test_a_configuration_that_is_wrong_ends_the_start(container: Container, environment: dict[str, str]) -> None:
    container.config("echo started")
    result = container.start(environment=environment)
    assert (result.code, result.output) == (1, "")
    assert "ERROR InvalidConfig: " in result.log


def test_copy_once_starts_what_it_configured(container: Container) -> None:
    container.config("echo first")
    container.start(environment={"KOLLA_CONFIG_STRATEGY": "COPY_ONCE"})
    container.config("echo second")
    result = container.start(environment={"KOLLA_CONFIG_STRATEGY": "COPY_ONCE"})
    assert (result.code, result.output) == (0, "Running command: 'echo first'\nfirst\n")


def test_an_image_may_add_arguments(container: Container) -> None:
    extend(container, 'ARGS="--debug $KOLLA_SERVICE_NAME"')
    container.config("echo nova-api")
    result = container.start(environment={"KOLLA_SERVICE_NAME": "nova", "ARGS": "not from outside"})
    assert result.output == "Running command: 'echo nova-api --debug nova'\nnova-api --debug nova\n"


def test_an_image_may_change_the_command(container: Container) -> None:
    extend(container, 'CMD="echo instead of $CMD"')
    container.config("nova-api")
    assert container.start().output.endswith("instead of nova-api\n")


@pytest.mark.parametrize("value", ["1", ""], ids=["set", "set-to-nothing"])
def test_an_image_s_own_part_can_be_skipped(container: Container, value: str) -> None:
    extend(container, "exit 9")
    container.config("echo started")
    assert container.start().code == 9
    result = container.start(environment={"KOLLA_SKIP_EXTEND_START": value})
    assert (result.code, result.output) == (0, "Running command: 'echo started'\nstarted\n")


def test_an_image_s_own_part_may_be_written_like_kolla_s(container: Container) -> None:
    extend(
        container,
        'if [[ "${!KOLLA_BOOTSTRAP[@]}" ]]; then\n    echo db sync with ${EXTRA_ARGUMENTS}\n    exit 0\nfi\n',
    )
    container.config("echo started")
    assert container.start(environment={"KOLLA_BOOTSTRAP": ""}).output == "db sync with\n"
    assert container.start().output.endswith("\nstarted\n")


@pytest.mark.parametrize("user", [ROOT, NOVA, STRANGER], ids=["root", "the-service-s-user", "a-user-without-a-name"])
def test_whoever_starts_it_goes_on_as_himself(container: Container, user: User) -> None:
    container.volume(STATE)
    container.config("id -u")
    result = container.start(user=user)
    assert (result.code, result.output.splitlines()[1:]) == (0, [str(user.uid)]), result.log


def authority(container: Container, name: str = "ours.crt", text: str = "OUR AUTHORITY") -> str:
    return container.source(f"ca-certificates/{name}", text)


def print_environment(container: Container) -> dict[str, str]:
    container.config("env")
    result = container.start(user=NOVA)
    assert result.code == 0, result.log
    return dict(line.split("=", 1) for line in result.output.splitlines() if "=" in line)


def test_a_user_who_is_not_root_gets_a_bundle_of_his_own(container: Container) -> None:
    container.volume(STATE)
    container.write(SYSTEM_BUNDLE, "SYSTEM AUTHORITY\n")
    authority(container)
    authority(container, "second.pem", "SECOND AUTHORITY\n")
    environment = print_environment(container)
    bundle = f"{STATE}/ca-certificates.crt"
    assert container.text(bundle).split("\n") == ["SYSTEM AUTHORITY", "OUR AUTHORITY", "SECOND AUTHORITY", "", ""]
    assert [environment[name] for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")] == [bundle] * 3
    container.at(f"{CONFIG_FILES}/ca-certificates/ours.crt").unlink()
    container.at(f"{CONFIG_FILES}/ca-certificates/second.pem").unlink()
    assert "SSL_CERT_FILE" not in print_environment(container)
    assert not container.at(bundle).exists()


def test_authorities_may_come_in_a_mounted_secret(container: Container) -> None:
    container.volume(STATE)
    container.mounted(f"{CONFIG_FILES}/ca-certificates", {"ca.crt": "OUR AUTHORITY\n"})
    print_environment(container)
    assert container.text(f"{STATE}/ca-certificates.crt") == "OUR AUTHORITY\n\n"


def test_authorities_may_be_copied_as_kolla_ansible_does(container: Container) -> None:
    container.volume(STATE)
    container.directory("/var/lib/kolla/share", mode=0o1777)
    authority(container)
    shared = "/var/lib/kolla/share/ca-certificates"
    entry = {"source": f"{CONFIG_FILES}/ca-certificates", "dest": shared, "owner": "root", "perm": "0644"}
    container.config("true", config_files=[entry])
    assert container.start(user=NOVA).code == 0
    container.at(f"{CONFIG_FILES}/ca-certificates/ours.crt").unlink()
    assert container.run("kolla_copy_cacerts", user=NOVA).code == 0
    assert "OUR AUTHORITY" in container.text(f"{STATE}/ca-certificates.crt")


def test_what_the_pod_says_of_authorities_goes_first(container: Container) -> None:
    container.volume(STATE)
    authority(container)
    container.config("env")
    result = container.start(user=NOVA, environment={"REQUESTS_CA_BUNDLE": "/mine.pem"})
    assert "REQUESTS_CA_BUNDLE=/mine.pem" in result.output
    assert f"SSL_CERT_FILE={STATE}/ca-certificates.crt" in result.output


def test_authorities_without_a_place_for_them_end_the_start(container: Container) -> None:
    authority(container)
    result = container.run("kolla_copy_cacerts", user=NOVA)
    assert result.code == 1
    assert "uid 42436 cannot change the system's certificate authorities" in result.log
    assert "STACKWRIGHT_STATE_DIRECTORY" in result.log


def test_no_authorities_and_no_place_for_them_are_no_error(container: Container) -> None:
    assert container.run("kolla_copy_cacerts", user=NOVA) == container.run("true")


def system(container: Container) -> str:
    """A system of authorities, whose own program writes down what it saw; returns where."""
    container.directory("/usr/local/share/ca-certificates")
    script = "#!/bin/sh\nls /usr/local/share/ca-certificates >>/updated\necho updated >>/updated\n"
    container.write("/usr/local/bin/update-ca-certificates", script, mode=0o755)
    return "/updated"


def test_root_changes_the_system_s_authorities(container: Container) -> None:
    updated = system(container)
    authority(container)
    authority(container, "second.pem")
    container.config()
    assert container.start().code == 0
    names = ["kolla-customca-ours.crt", "kolla-customca-second.pem.crt", "updated"]
    assert container.text(updated).splitlines() == names
    container.at(f"{CONFIG_FILES}/ca-certificates/second.pem").unlink()
    assert container.start().code == 0
    assert container.text(updated).splitlines()[3:] == ["kolla-customca-ours.crt", "updated"]


def test_a_system_without_such_authorities_is_left_alone(container: Container) -> None:
    updated = system(container)
    container.config()
    assert container.start().code == 0
    assert not container.at(updated).exists()


def test_root_on_a_read_only_system_gets_a_bundle(container: Container) -> None:
    system(container)
    container.volume(STATE)
    container.read_only = True
    authority(container)
    container.config("printenv SSL_CERT_FILE")
    result = container.start()
    assert (result.code, result.output.splitlines()[1:]) == (0, [f"{STATE}/ca-certificates.crt"]), result.log
