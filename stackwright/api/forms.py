"""Values that have a form of their own: what the schema can say of it, and a marker by which admission asks the rest.

The schema says it first, so that nothing is lost where the webhook is off. What no schema can say (a range of a cron
field that runs backwards, a node port that is taken) stands in `blueprint`, which finds these fields by their markers.
"""

from enum import Enum
from typing import Annotated

from stackwright.api.base import max_length, min_length, pattern, rule


class Form(Enum):
    """What a value is. As a marker on a field, it is not part of the schema."""

    CRON = "a cron expression"
    IMAGE = "a reference of an image"
    LABELS = "labels"
    ANNOTATIONS = "annotations"
    NODE_PORT = "a port of nodes"
    SIZE = "a size"
    ACCOUNT = "the name of an account of a database"
    LABEL_KEY = "the key of a label"
    OPTIONAL_LABEL_KEY = "the key of a label, or nothing"
    LABEL_VALUE = "the value of a label"
    CONFIG_KEY = "a key of a Secret or ConfigMap"
    DNS_LABEL = "a DNS label, or nothing"
    SEARCH_DOMAIN = "a domain in which names are searched"
    ADDRESS = "an IP address"
    CLUSTER_ADDRESS = "an IP address, None, or nothing"
    ADDRESS_RANGE = "a range of IP addresses"
    TARGET_PORT = "a port by number or name"
    QUANTITY = "an amount that is not below 0"
    RELATIVE_PATH = "a path that does not leave its folder"
    NO_STEPS_UP = "a path without .."
    ABSOLUTE_PATH = "a path from the root"
    VARIABLE = "the name of an environment variable"


# How Kubernetes names objects.
_OBJECT = "[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
OBJECT_NAME = f"^{_OBJECT}$"
OPTIONAL_NAME = f"^({_OBJECT})?$"
LONGEST_NAME = 253

# The name of another object, which could not exist under a name of another form.
ObjectName = Annotated[str, min_length(1), max_length(LONGEST_NAME), pattern(OBJECT_NAME)]
# The same where there need not be one.
OptionalName = Annotated[str, max_length(LONGEST_NAME), pattern(OPTIONAL_NAME)]
# The name of a user in Keystone: one line of text.
UserName = Annotated[str, min_length(1), max_length(255), pattern(r"^[^\x00-\x1f\x7f]+$")]
# The name of a database account; the user on the server has the same name.
AccountName = Annotated[str, min_length(1), max_length(80), pattern(OBJECT_NAME), Form.ACCOUNT]
Labels = Annotated[dict[str, str], Form.LABELS]


def _cron_field(value: str) -> str:
    entry = rf"([*?]|{value}(-{value})?)(/0*[1-9][0-9]*)?"
    return rf"{entry}(,{entry})*"


_MONTHS = "[jJ][aA][nN]|[fF][eE][bB]|[mM][aA][rR]|[aA][pP][rR]|[mM][aA][yY]|[jJ][uU][nN]|[jJ][uU][lL]|[aA][uU][gG]"
_LATER_MONTHS = "[sS][eE][pP]|[oO][cC][tT]|[nN][oO][vV]|[dD][eE][cC]"
_WEEKDAYS = "[sS][uU][nN]|[mM][oO][nN]|[tT][uU][eE]|[wW][eE][dD]|[tT][hH][uU]|[fF][rR][iI]|[sS][aA][tT]"
# The five fields as a CronJob takes them, with their bounds; Sunday is 0, and 7 is not a day.
_FIELDS = " +".join(
    _cron_field(value)
    for value in (
        "0*[1-5]?[0-9]",
        "0*(1?[0-9]|2[0-3])",
        "0*([1-9]|[12][0-9]|3[01])",
        f"(0*([1-9]|1[0-2])|{_MONTHS}|{_LATER_MONTHS})",
        f"(0*[0-6]|{_WEEKDAYS})",
    )
)
# A time between two runs, as Go writes it.
_EVERY = "@every ([0-9]+([.][0-9]+)?(ns|us|ms|s|m|h))+"
CRON = rf"^(@(yearly|annually|monthly|weekly|daily|midnight|hourly)|{_EVERY}|{_FIELDS})$"

# A cron expression: five fields, or one of the words that begin with @.
Schedule = Annotated[
    str,
    max_length(200),
    rule(
        f"self.matches('{CRON}')",
        message="is not a cron expression: it takes minute (0-59), hour (0-23), day of the month (1-31), month "
        "(1-12) and day of the week (0-6), or a word such as @daily",
    ),
    Form.CRON,
]

# What containerd and every registry take: host and path, then a tag, a digest or both. A path has lower case letters.
_PATH = "[a-z0-9]+(([._]|__|-+)[a-z0-9]+)*"
_HOST = "([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?([.][a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*(:[0-9]+)?/)?"
REFERENCE = f"{_HOST}{_PATH}(/{_PATH})*(:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(@sha256:[0-9a-f]{{64}})?"
IMAGE = f"^({REFERENCE})?$"

ImageReference = Annotated[
    str,
    max_length(512),
    rule(
        f"self.matches('{IMAGE}')",
        message="is not an image reference; write [HOST/]PATH[:TAG][@sha256:DIGEST], the path in lower case",
    ),
    Form.IMAGE,
]
