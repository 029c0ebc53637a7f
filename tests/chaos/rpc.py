"""Calls over oslo.messaging, as an OpenStack service makes them; runs in a pod: rpc.py server | client SECONDS."""

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

# These are in the image of the pods, and not here.
import oslo_messaging  # type: ignore[import-not-found]  # as above
from oslo_config import cfg  # type: ignore[import-not-found]  # as above

TARGET = oslo_messaging.Target(topic="echo", server="one")
# For how many seconds a call waits for its answer; nobody calls twice.
PATIENCE = 30


# What our services write into their configuration for a broker with quorum queues.
CONFIGURATION = """
[oslo_messaging_rabbit]
rabbit_quorum_queue = true
rabbit_transient_quorum_queue = true
amqp_durable_queues = true
"""


class Echo:
    """Answers with what it was asked."""

    target = oslo_messaging.Target()

    def echo(self, context: Any, number: int) -> int:  # noqa: ARG002  oslo.messaging calls it by these names
        return number


def transport() -> Any:
    file = Path("/tmp/rpc.conf")
    file.write_text(CONFIGURATION)
    conf = cfg.CONF
    conf(["--config-file", str(file)], project="rpc")
    return oslo_messaging.get_rpc_transport(conf, url=os.environ["TRANSPORT_URL"])


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def serve() -> None:
    server = oslo_messaging.get_rpc_server(transport(), TARGET, [Echo()], executor="threading")
    server.start()
    say("serving")
    server.wait()
    time.sleep(3600)


def call(seconds: float) -> None:
    client = oslo_messaging.get_rpc_client(transport(), oslo_messaging.Target(topic="echo"), timeout=PATIENCE)
    begin, number, slowest, failed = time.monotonic(), 0, 0.0, []
    say("calling")
    while time.monotonic() - begin < seconds:
        started = time.monotonic()
        try:
            assert client.call({}, "echo", number=number) == number
        except Exception as error:  # noqa: BLE001  whatever it was, the call was not answered
            failed.append(f"{type(error).__name__} after {time.monotonic() - started:.1f} s: {error}")
        slowest = max(slowest, time.monotonic() - started)
        number += 1
        time.sleep(0.02)
    say(json.dumps({"calls": number, "failures": len(failed), "first": failed[:3], "slowest": round(slowest, 2)}))


if __name__ == "__main__":
    if sys.argv[1] == "server":
        serve()
    else:
        call(float(sys.argv[2]))
