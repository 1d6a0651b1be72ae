"""Marks on their way to Canvas and Moodle, which a server on this machine plays as they document
themselves.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

import pytest

from autograder.__main__ import main
from autograder.desk import platforms
from autograder.desk.platforms import Canvas, Refused, answer_to, require_safe

STEM = "ch01_embeddings"
TOKEN = "s3cret-t0ken"
# what canvasapi 3.6.0 sends for Submission(...).edit(submission={"posted_grade": "9.5"})
RECORDED = (
    "PUT",
    "/api/v1/courses/12/assignments/34/submissions/9001",
    "submission%5Bposted_grade%5D=9.5",
    f"Bearer {TOKEN}",
    "application/x-www-form-urlencoded",
)


class Platform(BaseHTTPRequestHandler):
    def do_PUT(self):
        self.take(self.canvas)

    def do_POST(self):
        self.take(self.moodle)

    def take(self, answer):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        kind = self.headers["Content-Type"]
        seen = (self.command, self.path, body, self.headers["Authorization"], kind)
        self.server.seen.append(seen)
        form = {name: values[0] for name, values in parse_qs(body).items()}
        status, told, more = answer(form)
        self.send_response(status)
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(json.dumps(told).encode())

    def canvas(self, form):
        user = self.path.rsplit("/", 1)[1]
        if self.server.busy:
            return self.server.busy.pop(), {"errors": "Rate Limit Exceeded"}, {"Retry-After": "3"}
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            return 401, {"errors": [{"message": "Invalid access token."}]}, {}
        if user.endswith("nobody"):
            return 404, {"errors": [{"message": "The specified resource does not exist."}]}, {}
        self.server.marks[user] = form["submission[posted_grade]"]
        return 200, {"user_id": 1, "grade": form["submission[posted_grade]"]}, {}

    def moodle(self, form):
        if form["wstoken"] != TOKEN:
            return (
                200,
                {"exception": "x", "errorcode": "invalidtoken", "message": "Invalid token"},
                {},
            )
        match form["wsfunction"]:
            case "mod_assign_get_assignments":
                assert form["courseids[0]"] == "12"
                told = {
                    "courses": [{"assignments": [{"id": 77, "cmid": 34}, {"id": 78, "cmid": 5}]}]
                }
            case "core_enrol_get_enrolled_users":
                told = [
                    {"id": 3, "username": "ada", "fullname": "Ada L"},
                    {"id": 4, "fullname": "bob"},
                    {"id": 5, "fullname": "twin"},
                    {"id": 6, "fullname": "twin"},
                ]
            case "mod_assign_get_user_mappings":
                told = {"assignments": [{"mappings": [{"id": 9001, "userid": 8}]}]}
            case "mod_assign_save_grade":
                needed = ("attemptnumber", "addattempt", "workflowstate", "applytoall")
                assert form["assignmentid"] == "77"
                assert [form.get(name, "") for name in needed] == ["-1", "0", "", "0"]
                self.server.marks[form["userid"]] = form["grade"]
                told = None
        return 200, told, {}

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    found = ThreadingHTTPServer(("127.0.0.1", 0), Platform)
    found.seen, found.marks, found.busy = [], {}, []
    found.url = f"http://127.0.0.1:{found.server_port}"
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found
    found.shutdown()
    found.server_close()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("CANVAS_TOKEN", TOKEN)
    monkeypatch.setenv("MOODLE_TOKEN", TOKEN)
    monkeypatch.setattr(platforms.time, "sleep", lambda seconds: None)
    for learner, score, known in (("ada", 9.5, ""), ("bob", 7, ""), ("cy", 3, "9001")):
        graded(tmp_path, learner, score, known)
    return tmp_path


def graded(folder, learner, score, known=""):
    """Write a graded notebook with one exercise."""
    cell = {"cell": "check_f", "exercise": "f", "points": 10, "score": score, "cases": []}
    record = {"cells": [cell], "graded": "2026-01-01T00:00:00"}
    if known:
        record["known_as"] = f"moodle {known}"
    path = folder / "autograded" / learner / STEM / f"{STEM}.ipynb"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"cells": [{"source": ""}], "metadata": {"autograder": record}}))


def push(folder, server, platform="canvas", *more):
    about = ["--chapter", STEM, "--course", "12", "--assignment", "34", "--url", server.url]
    return main(["push", platform, *about, "--into", str(folder), *more])


def test_the_request_is_the_one_that_canvasapi_makes(server):
    Canvas(server.url, TOKEN, "12", "34").send("ada", "9001", 9.5)
    assert server.seen == [RECORDED]


def test_a_dry_run_says_what_it_would_do_and_sends_nothing(folder, server, capsys):
    assert push(folder, server) == 0
    said = capsys.readouterr().out
    assert "ada: – -> 9.5" in said and "3 of 3 would be sent; nothing was" in said
    assert server.seen == [] and not (folder / "pushed").exists()


def test_only_what_has_changed_is_sent(folder, server, capsys):
    assert push(folder, server, "canvas", "--send") == 0
    assert server.marks == {
        "sis_login_id:ada": "9.5",
        "sis_login_id:bob": "7",
        "sis_login_id:cy": "3",
    }
    server.seen.clear()
    assert push(folder, server, "canvas", "--send") == 0
    assert server.seen == []
    graded(folder, "bob", 8)
    assert push(folder, server, "canvas", "--send") == 0
    assert [(path.rsplit("/")[-1], body) for _, path, body, *_ in server.seen] == [
        ("sis_login_id:bob", "submission%5Bposted_grade%5D=8")
    ]
    assert "1 sent, 2 were there already." in capsys.readouterr().out


def test_moodle_finds_the_assignment_and_its_learners(folder, server):
    assert push(folder, server, "moodle", "--send") == 0
    assert server.marks == {"3": "9.5", "4": "7", "8": "3"}


def test_whom_moodle_does_not_know_or_knows_twice_is_told(folder, server, capsys):
    graded(folder, "twin", 1)
    assert push(folder, server, "moodle", "--send") == 1
    said = capsys.readouterr().out
    assert "twin: not taken: nobody in this course has that name or number" in said
    assert "3 sent" in said and "1 not taken; run this again" in said


def test_a_platform_that_is_busy_is_asked_again(folder, server):
    server.busy[:] = [429, 403, 503]
    assert push(folder, server, "canvas", "--send") == 0
    assert len(server.marks) == 3 and len(server.seen) == 6


def test_what_fails_for_one_stops_nobody_else(folder, server, capsys):
    graded(folder, "nobody", 5)
    assert push(folder, server, "canvas", "--send") == 1
    said = capsys.readouterr().out
    assert "nobody: not taken: there is no such course, assignment or learner (status 404" in said
    assert len(server.marks) == 3
    assert push(folder, server, "canvas", "--send") == 1  # and is tried again, alone
    assert "3 were there already" in capsys.readouterr().out


def test_a_run_that_was_ended_goes_on(folder, server, monkeypatch):
    send = Canvas.send

    def ended(self, learner, number, mark):
        if learner == "bob":
            raise KeyboardInterrupt
        send(self, learner, number, mark)

    with monkeypatch.context() as patch:
        patch.setattr(Canvas, "send", ended)
        assert push(folder, server, "canvas", "--send") == 130
    server.seen.clear()
    assert push(folder, server, "canvas", "--send") == 0
    assert len(server.seen) == 2 and len(server.marks) == 3


@pytest.mark.parametrize("platform", ["canvas", "moodle"])
def test_a_wrong_token_is_told_and_nowhere_shown(folder, server, platform, monkeypatch, capsys):
    monkeypatch.setenv(f"{platform.upper()}_TOKEN", "wr0ng-t0ken")
    assert push(folder, server, platform, "--send") == 1
    said = "".join(capsys.readouterr())
    assert "token" in said and "wr0ng-t0ken" not in said
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert not [path for path in files if b"t0ken" in path.read_bytes()]


def test_what_is_missing_is_named(folder, server, monkeypatch, capsys):
    monkeypatch.delenv("CANVAS_TOKEN")
    assert push(folder, server, "canvas", "--send") == 2
    assert "there is no token in CANVAS_TOKEN" in capsys.readouterr().err
    with pytest.raises(Exception, match="begins with https"):
        require_safe("http://school.example")
    (folder / "pushed").mkdir()
    (folder / "pushed" / "canvas-34.json").write_text("{")
    assert push(folder, server) == 2
    assert "remove it, and all marks are sent again" in capsys.readouterr().err


def test_a_redirect_does_not_carry_the_token_away(server):
    class Elsewhere(Platform):
        def do_PUT(self):
            self.send_response(302)
            self.send_header("Location", f"{server.url}/elsewhere")
            self.end_headers()

    found = ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=found.serve_forever, daemon=True).start()
    try:
        with pytest.raises(Refused, match="status 302"):
            answer_to(
                "PUT", f"http://127.0.0.1:{found.server_port}/x", {}, {"Authorization": TOKEN}
            )
    finally:
        found.shutdown()
        found.server_close()
    assert server.seen == []
