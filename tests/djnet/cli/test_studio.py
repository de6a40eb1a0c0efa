import socket

import pytest

from djnet.cli import studio
from djnet.errors import UserError
from djnet.files import locked


def test_whoever_comes_before_the_server_is_ready_waits_and_is_not_refused():
    with studio.listening(0) as listener, socket.create_connection(listener.getsockname(), timeout=10) as early:
        accepted, address = listener.accept()
        assert address == early.getsockname()
        accepted.close()


def test_a_second_studio_on_one_project_is_refused_and_leaves_it_alone(tmp_path):
    (tmp_path / "project.json").write_text("of the first")
    with locked(tmp_path), pytest.raises(UserError, match=rf"Another run is writing to {tmp_path} \(process \d+ on "):
        studio.main([f"--project={tmp_path}", "--no-browser"])
    assert [path.name for path in tmp_path.iterdir()] == ["project.json"]
