"""Teapot, which does not exist: an API with a cell, and a cell that works alone."""

from pathlib import Path

from tests.functional.services.case import ServiceCase
from tests.functional.teapot.service import API, CELL

FOLDER = Path(__file__).parents[2] / "teapot"
CONNECTIONS = {
    "hostname": "db.example.org",
    "port": "3306",
    "database": "cups",
    "user": "u",
    "password": "the-word-of-the-database",
    "transport_url": "rabbit://u:the-word-of-the-broker@bus.example.org:5672/",
    "quorumqueues": "true",
}

CASES = (
    ServiceCase(
        blueprint=API,
        name="teapot",
        further={"cells": {"cell1": {}}},
        ports={"public": 8123, "internal": 8123},
        listed="tea",
        path="/v1",
        jobs=frozenset({"db-sync", "map-cell1"}),
        stays=frozenset(
            {
                "MariaDBDatabase teapot",
                "MariaDBAccount teapot",
                "Secret teapot-db-secret",
                "MariaDBDatabase teapot-cell1",
                "MariaDBAccount teapot-cell1",
                "Secret teapot-cell1-db-secret",
                "TransportURL teapot-cell1",
                "Secret rabbitmq-transport-url-teapot-cell1",
            }
        ),
        children=(CELL,),
        folder=FOLDER,
    ),
    ServiceCase(
        blueprint=CELL,
        name="alone",
        least={"secret": "by-hand"},
        content=CONNECTIONS,
        pods=2,
        folder=FOLDER,
    ),
)
