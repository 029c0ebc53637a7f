"""A trial of MariaDB's configuration in the image that was built: what the server would refuse, the trial refuses."""

from collections.abc import Iterator

import pytest

from stackwright.services.mariadb.service import GENERATED, TRIAL
from tests.images.built import Built, container, why_not_built


@pytest.fixture(scope="module")
def mariadb() -> Iterator[Built]:
    if reason := why_not_built(["mariadb"]):
        pytest.skip(reason)
    with container("mariadb") as made:
        (made.root / "var/lib/openstack/config").mkdir(parents=True, exist_ok=True)
        yield made


@pytest.mark.parametrize(
    ("snippet", "said"),
    [
        pytest.param("", "", id="nothing-but-our-own"),
        pytest.param("[mysqld]\nmax_connections = 20\nskip-name-resolve\n", "", id="what-a-server-knows"),
        pytest.param("[mysqld]\nloose_not_there = 1\n", "", id="what-it-may-pass-over"),
        pytest.param("[client]\nwhatever = 1\n", "", id="what-is-for-clients"),
        pytest.param("[mysqld]\nplugin_load_add = server_audit\nserver_audit_logging = ON\n", "", id="of-a-plugin"),
        pytest.param("[mysqld]\nno_such = 1\n", "unknown variable 'no_such=1'", id="an-option-that-is-unknown"),
        pytest.param("[mysqld]\nno_such\n", "unknown option '--no_such'", id="an-unknown-option-without-value"),
        pytest.param("[mysqld]\ntls_version = TLSv9\n", "TLSv9", id="a-value-that-is-none"),
        pytest.param("[mysqld]\ninnodb_flush_method = foo\n", "InnoDB", id="a-value-of-innodb"),
        pytest.param("[mysqld]\ncharacter_set_server = blah\n", "Character set 'blah'", id="no-character-set"),
    ],
)
def test_a_trial_says_what_the_server_would_refuse(mariadb: Built, snippet: str, said: str) -> None:
    folder = mariadb.root / "var/lib/openstack/config"
    (folder / "01-mariadb.cnf").write_text(GENERATED)
    (folder / "02-mariadb-override.cnf").write_text(snippet)
    answer = mariadb.run(TRIAL)
    assert (answer.code == 0) is not bool(said), answer.output
    assert said in answer.output
    # A time would make another sentence of it with each try.
    assert "[ERROR]" not in answer.output
