"""What can go wrong with a Kubernetes on this machine, as one tree.

    LocalError                 everything that this package raises on purpose
    ├── UnsupportedMachine     an operating system or architecture that Kubernetes' programs are not made for here
    ├── PlaceFailed            one place did not have the programs; the next one is asked
    │   ├── DownloadFailed     the official release: no network, or a digest that does not match
    │   ├── ToolchainMissing   no Go compiler that is new enough, and none to be had
    │   └── BuildFailed        the Go compiler ended with an error
    ├── NoBinaries             every place was asked; the message says what each of them answered
    ├── ProgramFailed          a program that we run ended, or was not ready in time
    ├── ApiServerFailed        a process of the API server ended, or was not ready in time
    ├── PackagesMissing        a program of the distribution is not there, and could not be installed
    ├── RecipeInvalid          a recipe of an image, or something that it names, is not as it must be
    ├── ImageFailed            an image could not be built, kept or loaded
    ├── OperatorsFailed        the operators could not be installed into a cluster, or do not come up there
    └── ClusterFailed          a cluster cannot be brought up, or taken down, as things are
        └── Collision          somebody else has what the cluster would take: an address, a link, a folder

Every message is for people: it says what is missing and what to do, and needs no traceback.
"""

from collections.abc import Iterable
from dataclasses import dataclass


class LocalError(Exception):
    """Everything that this package raises on purpose."""


class UnsupportedMachine(LocalError):
    """Kubernetes' programs are not made for this operating system or architecture."""


class PlaceFailed(LocalError):
    """One place did not have the programs, for the reason in the message."""


class DownloadFailed(PlaceFailed):
    """The official release could not be fetched, or is not what its digest says."""


class ToolchainMissing(PlaceFailed):
    """There is no Go compiler that is new enough, and none to be had."""


class BuildFailed(PlaceFailed):
    """The Go compiler ended with an error."""


@dataclass(frozen=True)
class Tried:
    """One place that was asked, and why it did not help."""

    place: str
    reason: str


class NoBinaries(LocalError):
    """No place has the programs."""

    def __init__(self, missing: Iterable[str], tried: Iterable[Tried], advice: str) -> None:
        self.missing = tuple(missing)
        self.tried = tuple(tried)
        lines = [f"No place has {', '.join(self.missing)}. Tried:"]
        lines += [f"  - {one.place}: {one.reason}" for one in self.tried]
        super().__init__("\n".join([*lines, advice]))


class ProgramFailed(LocalError):
    """A program that we run ended, or was not ready in time; the message has the end of its log."""


class ApiServerFailed(LocalError):
    """A process of the API server ended, or was not ready in time; the message has the end of its log."""


class PackagesMissing(LocalError):
    """A program of the distribution is not there, and could not be installed."""


class RecipeInvalid(LocalError):
    """A recipe of an image, or something that it names, is not as it must be."""


class ImageFailed(LocalError):
    """An image could not be built, kept or loaded."""


class OperatorsFailed(LocalError):
    """The operators could not be installed into a cluster, or do not come up there."""


class ClusterFailed(LocalError):
    """A cluster cannot be brought up, or taken down, as things are; the message says what to do."""


class Collision(ClusterFailed):
    """Somebody else has what the cluster would take."""
