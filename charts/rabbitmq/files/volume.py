"""What is on a node's volume: its data, and the mark of a join that is not through."""

import errno
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

import cluster

HOME = Path(os.environ.get("HOME", "/var/lib/rabbitmq"))
DATA = HOME / "mnesia"


@dataclass(frozen=True)
class Volume:
    """The folder on the volume of a node, and the name of the node."""

    data: Path
    name: str

    @property
    def place(self) -> Path:
        """Return the folder with the node's data."""
        return self.data / self.name

    @property
    def flags(self) -> Path:
        """Return the file with the feature flags of the node's cluster."""
        return self.data / f"{self.name}-feature_flags"

    @property
    def marker(self) -> Path:
        """Return the file that is there while the node joins: it was no member before, and has served nobody since."""
        return self.data / "joining"

    @property
    def has_tables(self) -> bool:
        """Return whether there are tables of a cluster, be they only a copy that was begun."""
        return (self.place / "schema.DAT").exists()

    @property
    def has_newer_store(self) -> bool:
        """Return whether the cluster keeps its records in the newer store, which a person has chosen."""
        return self.flags.exists() and "khepri_db" in self.flags.read_text(encoding="utf-8", errors="replace")

    @property
    def has_data(self) -> bool:
        """Return whether the node looks like the member of a cluster which it did not leave."""
        # `coordination` is there before a node has joined anybody. It is data only where the newer store is in use.
        return self.has_tables or (self.has_newer_store and (self.place / "coordination").exists())

    @property
    def members(self) -> frozenset[str]:
        """Return the nodes of the cluster that this node knows, itself among them; none where it does not say."""
        try:
            text = (self.place / "cluster_nodes.config").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return frozenset()
        return frozenset(re.findall(r"\w+@[\w.-]+", text))

    @property
    def is_marked(self) -> bool:
        """Return whether the node began to join and did not get through."""
        return self.marker.exists()

    def mark(self) -> None:
        """Say that whatever is written from now on is no data of the node's own, also after a loss of power."""
        with self.marker.open("w", encoding="utf-8") as file:
            file.write("This node joins a cluster; until that is through, it has no data.\n")
            file.flush()
            os.fsync(file.fileno())
        self._settle()

    def unmark(self) -> None:
        """Say that the node is a member now."""
        self.marker.unlink()
        self._settle()

    def wipe(self) -> None:
        """Delete what a join has left that did not get through. Only the mark shows that nothing is lost with it."""
        if not self.is_marked:
            raise RuntimeError("only what a join has left may be deleted")
        if self.place.exists():
            # What cannot be deleted must not be taken for data once the mark is gone.
            shutil.rmtree(self.place)
        self.flags.unlink(missing_ok=True)
        self._settle()

    def put_aside(self) -> Path:
        """Keep the data under another name, where no node finds it; return that name."""
        said = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        aside = self.data / f"{self.name}.aside-{said}"
        self.place.rename(aside)
        if self.flags.exists():
            self.flags.rename(self.data / f"{aside.name}-feature_flags")
        self._settle()
        return aside

    def _settle(self) -> None:
        """See that the names in the folder are there, or gone, after a loss of power, too; of this volume alone."""
        opened = os.open(self.data, os.O_RDONLY)
        try:
            os.fsync(opened)
        except OSError as error:
            # Some file systems have no such thing.
            if error.errno != errno.EINVAL:
                raise
        finally:
            os.close(opened)


def own() -> Volume:
    """Return the volume of this node."""
    return Volume(DATA, cluster.node(cluster.ordinal()))
