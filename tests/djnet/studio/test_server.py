"""The studio over HTTP: what it does, what it refuses, and that nothing is lost or written elsewhere."""

import copy
import errno
import io
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
import soundfile
from starlette.testclient import TestClient

from djnet.studio import project, server
from djnet.studio.server import make_app
from tests.djnet.studio.conftest import await_songs

HOST = "http://127.0.0.1:8000"
HOSTILE = "<img src=x onerror=alert(1)><script>window.hacked = 1\n.wav"


def client_of(studio) -> TestClient:
    app = make_app(studio, "token", 8000)
    return TestClient(app, base_url=f"{HOST}/token/", headers={"origin": HOST}, raise_server_exceptions=False)


@pytest.fixture
def opened(open_studio, music):
    studio = open_studio(music)
    return studio, client_of(studio)


def made(client) -> dict:
    """The state after a medley of all songs was made."""
    answer = client.post("do/make", json={"revision": client.get("state").json()["revision"], "length": 8})
    assert answer.status_code == 200, answer.text
    return answer.json()


def files(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_medley_is_made_changed_heard_and_undone(opened):
    studio, client = opened
    state = made(client)
    plan, layout = state["plan"], state["layout"]
    assert len(plan["clips"]) == 4 and len(layout["joins"]) == 3 and layout["seconds"] > 20
    assert max(layout["energy"]) == 1.0 and all(join["why"] for join in layout["joins"])

    changed = copy.deepcopy(plan)
    changed["clips"][1] |= {"transition": "echo", "bars": 1}
    after = client.post("do/plan", json={"revision": state["revision"], "plan": changed}).json()
    assert after["layout"]["joins"][0]["kind"] == "echo" and after["undo"]
    samples, rate = soundfile.read(io.BytesIO(client.get("joins/0").content))
    assert rate == 44_100 and 5 < len(samples) / rate < 30
    assert studio.receipt()["asked"][0] == {"transition": "echo", "bars": 1}

    undone = client.post("do/undo", json={"revision": after["revision"]}).json()
    assert undone["plan"] == plan and undone["redo"]
    redone = client.post("do/redo", json={"revision": undone["revision"]}).json()
    assert redone["plan"]["clips"][1]["transition"] == "echo"
    song = client.get(f"songs/{plan['clips'][0]['song']}").json()
    start, end = song["suggestions"][0]
    heard = client.get("part", params={"song": song["id"], "start": start, "end": end}).content
    assert soundfile.info(io.BytesIO(heard)).duration == pytest.approx(end - start, abs=0.01)


def test_best_order_keeps_to_the_locks_and_says_why(opened):
    _, client = opened
    state = made(client)
    plan = state["plan"]
    clips = [plan["clips"][i] for i in (2, 0, 3, 1)]
    clips[2] = clips[2] | {"tied": True}
    worse = client.post("do/plan", json={"revision": 1, "plan": plan | {"clips": clips, "first": True}}).json()
    answer = client.post("do/order", json={"revision": worse["revision"]}).json()
    order = [clip["song"] for clip in answer["plan"]["clips"]]
    assert order[0] == clips[0]["song"]
    assert order.index(clips[2]["song"]) == order.index(clips[1]["song"]) + 1
    assert "proven" in answer["reasons"][0] and answer["layout"]["score"] >= worse["layout"]["score"] - 1e-6


def test_a_crash_or_a_second_tab_loses_nothing(open_studio, music, tmp_path):
    first = open_studio(music)
    client = client_of(first)
    state = made(client)
    renamed = state["plan"] | {"title": "mine"}
    client.post("do/plan", json={"revision": state["revision"], "plan": renamed})
    late = client.post("do/plan", json={"revision": state["revision"], "plan": state["plan"] | {"title": "late"}})
    assert late.status_code == 409 and late.json()["plan"]["title"] == "mine"
    again = client_of(open_studio(music)).get("state").json()  # as after kill -9: nothing was closed
    assert again["plan"] == renamed and again["undo"]


def test_a_damaged_project_file_is_kept_and_said(open_studio, tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "project.json").write_text('{"studio": 1, "revision": 3')
    state = client_of(open_studio(None)).get("state").json()
    assert "is damaged" in state["notice"] and "project.damaged.json" in state["notice"]
    assert (folder / "project.damaged.json").read_text() == '{"studio": 1, "revision": 3'


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        ("/wrong/state", {}),
        ("/", {}),
        ("/tokenx/", {}),
        ("/token/state", {"host": "evil.example:8000"}),
        ("/token/state", {"host": "127.0.0.1:9"}),
        ("/token/state", {"origin": "http://evil.example"}),
        ("/token/state", {"origin": "null"}),
    ],
)
def test_a_wrong_token_host_or_origin_is_refused(open_studio, path, headers):
    client = client_of(open_studio(None))
    answer = client.get(f"{HOST}{path}", headers=headers)
    assert answer.status_code == 403 and "clips" not in answer.text


def test_changes_need_the_origin_of_the_page(open_studio):
    studio = open_studio(None)
    client = TestClient(make_app(studio, "token", 8000), base_url=f"{HOST}/token/")
    assert client.get("state").status_code == 200
    assert client.post("do/plan", json={"revision": 0, "plan": {}}).status_code == 403
    assert client.post("songs?name=a.wav", content=b"RIFF").status_code == 403
    assert not list((studio.folder / "songs").iterdir())


def test_answers_carry_a_policy_that_allows_only_themselves(open_studio):
    client = client_of(open_studio(None))
    for path in ("", "static/studio.js", "state", "nothing"):
        headers = client.get(path).headers
        assert headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'")
        assert headers["x-content-type-options"] == "nosniff" and headers["referrer-policy"] == "no-referrer"


@pytest.mark.parametrize(
    "path",
    [
        "static/..%2f..%2ferrors.py", "static/%2e%2e/medley.py", "files/project.json", "files/..%2fmusic%2fx.flac",
        "files/%2fetc%2fpasswd", "songs/..%2f..%2fproject.json", "static/medley.html.jinja",
    ],
)  # fmt: skip
def test_only_files_of_the_project_are_served(opened, path):
    _, client = opened
    assert client.get(path).status_code in (400, 404)


def test_a_link_out_of_the_folder_is_left_out(open_studio, music, tmp_path, write_tone):
    (music / "link.wav").symlink_to(write_tone(tmp_path / "elsewhere" / "secret.wav", seconds=6.0))
    client = client_of(open_studio(music))
    (entry,) = [one for one in client.get("state").json()["songs"] if one["file"] == "link.wav"]
    assert entry["state"] == "left out" and "leads out of the folder" in entry["reason"] and entry["id"] is None


def test_uploads_stay_in_the_folder_under_a_safe_name(open_studio, tmp_path, write_tone):
    studio = open_studio(None)
    client = client_of(studio)
    sound = write_tone(tmp_path / "a.wav", seconds=6.0).read_bytes()
    before = files(tmp_path)
    assert client.post("songs", params={"name": f"../../{HOSTILE}"}, content=sound).status_code == 200
    assert client.post("songs", params={"name": HOSTILE}, content=sound).status_code == 200
    await_songs(studio)
    (first, second) = client.get("state").json()["songs"]
    assert first["state"] == "ready" and "same audio" in second["reason"]
    new = files(tmp_path).keys() - before.keys()
    assert [Path(path).parent for path in new] == [studio.folder / "songs"]
    name = client.get(f"songs/{first['id']}").json()["name"]
    assert "<script>" in name and "\n" not in name  # escaped where it is shown, as text


@pytest.mark.parametrize("name", ["x.exe", "x", "", ".wav", "../project.json", "a/b/../../x.html"])
def test_what_is_no_music_is_refused(open_studio, name):
    studio = open_studio(None)
    answer = client_of(studio).post("songs", params={"name": name}, content=b"x")
    assert answer.status_code == 400 and "music file" in answer.json()["error"]
    assert not list((studio.folder / "songs").iterdir())


def test_an_upload_that_is_too_large_is_refused_before_and_while_it_arrives(open_studio, monkeypatch):
    studio = open_studio(None)
    client = client_of(studio)
    huge = client.post("songs?name=a.wav", content=b"x", headers={"content-length": str(3 << 30)})
    assert huge.status_code == 413 and "512 MB" in huge.json()["error"]
    monkeypatch.setattr(server, "MOST_UPLOAD_BYTES", 1 << 20)
    endless = client.post("songs?name=a.wav", content=(b"x" * (1 << 18) for _ in range(9)))
    assert endless.status_code == 413 and not list((studio.folder / "songs").iterdir())


@pytest.mark.parametrize(
    "body",
    [
        *(b"", b"[]", b"{}", b'{"revision": "x"}', b'{"revision": 1e999}', b'{"revision": 0}'),
        *(b'{"revision": 0, "plan": []}', b"[" * 100_000),
    ],
)
def test_requests_that_make_no_sense_are_one_sentence(open_studio, body):
    studio = open_studio(None)
    answer = client_of(studio).post("do/plan", content=body)
    assert answer.status_code == 400 and len(answer.json()["error"]) < 300
    assert not (studio.folder / "project.json").exists()


@pytest.mark.parametrize(
    "wrong",
    [{"transition": "explode"}, {"bars": 99}, {"start": -1.0}, {"start": float("inf")}, {"end": 0.0}, {"song": 3}],
)
def test_a_plan_that_cannot_be_played_is_refused_and_the_old_one_stays(opened, wrong):
    _, client = opened
    state = made(client)
    plan = copy.deepcopy(state["plan"])
    plan["clips"][1] |= wrong
    answer = client.post("do/plan", content=json.dumps({"revision": state["revision"], "plan": plan}))
    assert answer.status_code == 400
    assert client.get("state").json()["plan"] == state["plan"]


def test_a_song_that_vanishes_is_named(opened, music):
    _, client = opened
    state = made(client)
    gone = next(path for path in music.glob("*.flac"))
    os.rename(gone, gone.with_suffix(".away"))
    answers = [client.get(f"joins/{i}") for i in range(3)]
    assert any("not there any more" in answer.json()["error"] for answer in answers if answer.status_code == 400)
    export = client.post("do/export", json={"revision": 1, "name": "x", "format": ".wav"})
    assert export.status_code == 400 and "not there any more" in export.json()["error"]
    assert client.get("state").json()["plan"] == state["plan"]


def test_a_receipt_is_opened_again_and_anything_else_is_refused(opened, tmp_path):
    studio, client = opened
    state = made(client)
    receipt = studio.receipt()
    receipt["clips"][1]["transpose"] = -1
    content = json.dumps(receipt)
    empty = client.post("do/plan", json={"revision": 1, "plan": state["plan"] | {"clips": []}}).json()
    opened_again = client.post("receipt", params={"revision": empty["revision"]}, content=content).json()
    assert [clip["song"] for clip in opened_again["plan"]["clips"]] == [c["song"] for c in state["plan"]["clips"]]
    assert opened_again["layout"]["clips"] == state["layout"]["clips"]
    assert [clip["transpose"] for clip in studio.receipt()["clips"][:2]] == [0, -1]
    other = json.loads(content)
    other["clips"][0]["content"] = "0" * 32
    for wrong, said in ((b"\xff", "not a receipt"), (b"{}", "not a receipt"), (json.dumps(other), "Add the songs")):
        answer = client.post("receipt", params={"revision": opened_again["revision"]}, content=wrong)
        assert answer.status_code == 400 and said in answer.json()["error"]


def test_a_change_that_cannot_be_saved_is_not_made(opened, monkeypatch):
    studio, client = opened
    state, saved = made(client), studio.project.path.read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "project.json")

    monkeypatch.setattr(project, "write_json", full)
    answer = client.post("do/plan", json={"revision": state["revision"], "plan": state["plan"] | {"title": "new"}})
    assert (answer.status_code, answer.json()["error"]) == (507, "project.json: No space left on device.")
    assert client.get("state").json()["plan"] == state["plan"] and studio.project.path.read_bytes() == saved


def test_an_upload_that_the_disk_has_no_room_for_is_refused(open_studio, monkeypatch):
    studio = open_studio(None)
    monkeypatch.setattr(server.shutil, "disk_usage", lambda _: SimpleNamespace(free=100))
    answer = client_of(studio).post("songs?name=a.wav", content=b"x" * 101)
    assert answer.status_code == 507 and answer.json()["error"] == "a.wav: there is no room for it on the disk."
    assert not list(studio.songs.added.iterdir())


def test_a_disk_that_fills_during_export_is_one_sentence(opened, monkeypatch, tmp_path):
    studio, client = opened
    made(client)
    program = tmp_path / "python"
    program.write_text(
        "#!/bin/sh\necho 'render: 50%|#' >&2\necho 'x.wav: No space left on device (0.0 MB are free).' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    client.post("do/export", json={"revision": 1, "name": "../../x", "format": ".wav"})
    for _ in range(200):
        if (export := client.get("state").json()["export"])["state"] == "failed":
            break
        time.sleep(0.05)
    assert export["error"] == "x.wav: No space left on device (0.0 MB are free)."
    assert sorted(path.name for path in studio.folder.iterdir()) == ["project.json", "songs"]
