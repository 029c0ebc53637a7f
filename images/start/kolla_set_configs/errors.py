"""The errors of the start; their names and exit codes are part of Kolla's contract.

StartError                    1   what the configuration got wrong
    ImmutableConfig           0   it was copied once, as was asked for
    InvalidConfig             1   it cannot be read, or does not have its form
    MissingRequiredSource     1   a file that has to be copied is not there
    UserNotFound              1   an owner is not known in this image
    ConfigFileCommandDiffers  1   --check: another command was started
    StateMismatch             1   --check: a copied file is no longer part of the configuration
    ConfigFileBadState        1   --check: a copied file is not what it should be

An OSError, which the file system raises, and everything else end with 2.
"""


class StartError(Exception):
    """What the configuration got wrong, as a sentence for the one who wrote it."""

    exit_code = 1


class ImmutableConfig(StartError):
    """The configuration was copied once, as was asked for."""

    exit_code = 0


class InvalidConfig(StartError):
    """The configuration cannot be read, or does not have the form that it must have."""


class MissingRequiredSource(StartError):
    """A file that has to be copied is not there."""


class UserNotFound(StartError):
    """An owner is not known in this image."""


class ConfigFileCommandDiffers(StartError):
    """The command that was started is not that of the configuration."""


class StateMismatch(StartError):
    """A file that was copied is no longer part of the configuration."""


class ConfigFileBadState(StartError):
    """A file that was copied is not what the configuration says."""
