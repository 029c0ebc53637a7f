"""What is wrong with a snippet for MariaDB."""

import pytest

from stackwright.blueprint import my_cnf


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("[mysqld]\nskip-name-resolve\nmax_connections = 100\n", id="an-option-needs-no-value"),
        pytest.param("  # x\n; y\n  [mysqld] # z\n   port=3307 # w\n", id="blanks-and-comments-anywhere"),
        pytest.param(
            "[mysqld]\nmax-connections=100\ninnodb_buffer_pool_size = '2G' # all\nlong_query_time = 0.5\n",
            id="numbers",
        ),
        pytest.param("[mysqldump]\nmax_connections = lots\n", id="what-is-not-for-the-server"),
        pytest.param("[mysqld]\nloose_max_connections = lots\nplugin_x = lots\n", id="what-is-not-known"),
        pytest.param("!include /etc/my.cnf\n!includedir /etc/my.cnf.d\n", id="other-files"),
        pytest.param("[mysqld]\ninit_connect = SET NAMES utf8 : x\n", id="a-value-with-blanks"),
    ],
)
def test_a_snippet_is_accepted(text: str) -> None:
    assert my_cnf.problem(text) is None


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        pytest.param(
            "port = 3307\n",
            'line 1: the option "port" is before any section; write [mysqld] above it',
            id="an-option-before-any-section",
        ),
        pytest.param(
            "\n[mysqld\n", 'line 2: the section "[mysqld" does not end with ]', id="a-section-without-its-end"
        ),
        pytest.param(
            "[mariadbd]\nport = 3306\nMax-Connections = lots\n",
            'line 3: the option "max_connections" is a number, with K, M or G behind it where it is a size; the server '
            "would not start",
            id="a-word-for-a-number",
        ),
        pytest.param("[ ]\n", "line 1: the section [] has no name", id="a-section-without-a-name"),
        pytest.param(
            "[mysqld] port\n",
            'line 1: "port" stands after the section [mysqld]; write it on a line of its own',
            id="an-option-beside-a-section",
        ),
        pytest.param("[a]\n= 1\n", 'line 2: there is no option name before "="', id="a-value-of-nothing"),
        pytest.param(
            "[a]\nmax connections\n",
            'line 2: "max connections" is not a valid name of an option; write option = value',
            id="two-words",
        ),
        pytest.param(
            "!embed x\n", 'line 1: "!embed x" is not a directive; there are !include and !includedir', id="a-directive"
        ),
        pytest.param("!include\n", "line 1: !include needs a path", id="a-directive-without-its-path"),
    ],
)
def test_a_broken_snippet_is_told_by_line(text: str, problem: str) -> None:
    assert str(my_cnf.problem(text)) == problem
