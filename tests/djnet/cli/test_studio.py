import socket

from djnet.cli import studio


def test_whoever_comes_before_the_server_is_ready_waits_and_is_not_refused():
    with studio.listening(0) as listener, socket.create_connection(listener.getsockname(), timeout=10) as early:
        accepted, address = listener.accept()
        assert address == early.getsockname()
        accepted.close()
