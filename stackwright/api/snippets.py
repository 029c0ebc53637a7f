"""In which format a field's snippet of configuration is written, said on the field itself."""

from enum import Enum


class SnippetFormat(Enum):
    """A format of configuration files; on a field it is a marker that admission reads and the schema does not say."""

    OSLO = "oslo.config"
    MY_CNF = "my.cnf"
