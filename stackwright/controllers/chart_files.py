"""The files of the services' charts that follow from the blueprints: `blueprint.yaml` and `values.schema.json`.

`make crds` writes them from the code, and a test fails if they differ. The user id that pods run as is that of the user
in the service's image; only the image's own description says it.
"""

import json
import re
import sys
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from stackwright import services
from stackwright.blueprint import charts, value_schema
from stackwright.blueprint.service import Service
from stackwright.kube.documents import WithoutAliases

HEADER = "# Written by `make crds` from stackwright/services/{name}; do not edit.\n"


def texts(root: Path) -> dict[str, str]:
    """Return all such files of a checkout by their path below the folder of charts."""
    found: dict[str, str] = {}
    for name, deployed in _by_chart().items():
        found |= of_chart(name, deployed, uid(deployed[0], root))
    return found


def of_chart(name: str, deployed: Sequence[Service[Any, Any]], number: int) -> dict[str, str]:
    """Return those of one chart, which deploys these services, whose pods run as the user with this number."""
    text = yaml.dump(
        charts.facts(deployed, number), Dumper=WithoutAliases, sort_keys=False, default_flow_style=None, width=110
    )
    return {
        f"{name}/blueprint.yaml": HEADER.format(name=name) + text,
        f"{name}/values.schema.json": json.dumps(value_schema.schema(name, deployed), indent=2) + "\n",
    }


def uid(service: Service[Any, Any], root: Path) -> int:
    """Return the number of a service's user in its image: the service's folder says it, or the image's own recipe."""
    described = root / "stackwright" / "services" / service.chart_name / "image.toml"
    if described.is_file():
        return int(tomllib.loads(described.read_text(encoding="utf-8"))["uid"])
    recipe = root / "images" / service.image_name / "Containerfile"
    added = re.search(rf"add-user {re.escape(service.user)} (\d+)", recipe.read_text(encoding="utf-8"))
    if added is None:
        raise ValueError(f"{recipe} adds no user {service.user}; let it, or describe the image in {described}")
    return int(added.group(1))


def write(root: Path, charts_folder: Path) -> None:
    """Write them into those charts that are there."""
    for path, text in texts(root).items():
        (charts_folder / path).write_text(text, encoding="utf-8")


def _by_chart() -> Mapping[str, list[Service[Any, Any]]]:
    found: dict[str, list[Service[Any, Any]]] = defaultdict(list)
    for service in services.blueprints():
        if service.has_chart:
            found[service.chart_name].append(service)
    return found


if __name__ == "__main__":
    write(Path.cwd(), Path(sys.argv[1]))
