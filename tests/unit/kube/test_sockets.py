"""What connections cost for as long as they last."""

from asyncio import sslproto

from stackwright.kube.sockets import TLS_BUFFER


def test_a_silent_connection_over_tls_has_a_small_buffer() -> None:
    # So many bytes asyncio sets aside for each connection, whatever comes.
    assert TLS_BUFFER == sslproto.SSLProtocol.max_size <= 2**16
