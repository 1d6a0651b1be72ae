"""The learning platforms to which marks can be pushed, by their REST interfaces.

Canvas: https://developerdocs.instructure.com/services/canvas/resources/submissions (“Grade or
comment on a submission”). Moodle: the web-service functions of `mod/assign/externallib.php`, which
a site lists under *Site administration, Server, Web services, API documentation*.
"""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from functools import cached_property

from autograder.course import CourseError
from autograder.shared.wire import printable

ATTEMPTS = 4
SECONDS = 30  # for one answer
MOST_SECONDS = 60  # that a platform may ask us to wait
LARGEST = 2**24  # bytes of an answer


class Refused(Exception):
    """The platform does not take one mark; its message says why."""


class NoRedirects(urllib.request.HTTPRedirectHandler):
    """A token goes to the host that was named, and to no other."""

    def redirect_request(self, *arguments):
        return None


OPENER = urllib.request.build_opener(NoRedirects, urllib.request.ProxyHandler())


def require_safe(url):
    """Return a platform's address without a slash at its end.

    Raises:
        CourseError: if a token would travel unencrypted, or the address is none.
    """
    parts = urllib.parse.urlsplit(url)
    here = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if parts.scheme != "https" and not (parts.scheme == "http" and here):
        raise CourseError(f"--url {url}: it begins with https://, as in https://school.example")
    return url.rstrip("/")


def answer_to(method, url, form, headers=None, wait=time.sleep):
    """Send a form, and return the JSON that comes back; what is too much at once is tried again.

    Raises:
        Refused: with a sentence.
    """
    data = urllib.parse.urlencode(form).encode()
    address = f"{url}?{data.decode()}" if method == "GET" else url
    for attempt in range(1, ATTEMPTS + 1):
        request = urllib.request.Request(
            address, None if method == "GET" else data, headers or {}, method=method
        )
        try:
            with OPENER.open(request, timeout=SECONDS) as answer:
                return json.loads(answer.read(LARGEST))
        except urllib.error.HTTPError as error:
            said = error.read(LARGEST).decode(errors="replace")
            busy = error.code == 429 or error.code >= 500 or "Rate Limit" in said
            if not busy or attempt == ATTEMPTS:
                raise Refused(meaning_of(error.code, said)) from None
            wait(seconds_in(error.headers.get("Retry-After"), attempt))
        except (OSError, ValueError) as error:
            if attempt == ATTEMPTS:
                reason = getattr(error, "reason", error)
                raise Refused(f"no answer that can be read: {reason}") from None
            wait(attempt)
    raise AssertionError("unreachable")


def seconds_in(header, attempt):
    """Return how long to wait, as a platform says or, where it does not, a little longer each
    time.
    """
    asked = int(header) if header and header.isdigit() else 2**attempt
    return min(asked, MOST_SECONDS)


def meaning_of(code, said):
    """Say what an HTTP status means for whoever pushes marks."""
    meanings = {
        401: "the token is not accepted",
        403: "the token may not do this",
        404: "there is no such course, assignment or learner",
        429: "the platform is still too busy",
    }
    meaning = meanings.get(code, "it failed there" if code >= 500 else "it was refused")
    return printable(f"{meaning} (status {code}: {' '.join(said.split())[:120]})")


class Canvas:
    """An assignment in Canvas.

    Args:
        url: of the school's Canvas.
        token: of somebody who may grade there.
        course, assignment: their numbers, as they stand in the assignment's address.
    """

    def __init__(self, url, token, course, assignment):
        self.assignment = f"{url}/api/v1/courses/{course}/assignments/{assignment}"
        self.headers = {"Authorization": f"Bearer {token}"}

    def send(self, learner, number, mark):
        """Set a mark.

        Args:
            number: Canvas's own of the learner, or "" where only their login is known.

        Raises:
            Refused: with a sentence.
        """
        who = number or f"sis_login_id:{urllib.parse.quote(learner, safe='')}"
        answer_to(
            "PUT",
            f"{self.assignment}/submissions/{who}",
            {"submission[posted_grade]": f"{mark:g}"},
            self.headers,
        )


class Moodle:
    """An assignment in Moodle.

    Args:
        url: of the site.
        token: of a service that has the four functions that are called here.
        course: its number, as in the address of the course.
        assignment: its number, as in the address of the assignment (`view.php?id=...`).
    """

    def __init__(self, url, token, course, assignment):
        self.address = f"{url}/webservice/rest/server.php"
        self.token, self.course, self.module = token, int(course), int(assignment)

    def call(self, function, **form):
        """Call a web-service function; Moodle tells an error with status 200.

        Raises:
            Refused: with a sentence.
        """
        about = {"wstoken": self.token, "wsfunction": function, "moodlewsrestformat": "json"}
        answer = answer_to("POST", self.address, {**about, **form})
        if isinstance(answer, dict) and "exception" in answer:
            said = answer.get("message") or answer.get("errorcode") or answer["exception"]
            raise Refused(printable(f"{function}: {str(said)[:200]}"))
        return answer

    @cached_property
    def instance(self):
        """The assignment's own number, which no address shows."""
        courses = self.call("mod_assign_get_assignments", **{"courseids[0]": self.course})
        for course in courses.get("courses", ()):
            for each in course["assignments"]:
                if each["cmid"] == self.module:
                    return each["id"]
        raise Refused(f"course {self.course} has no assignment with the number {self.module}")

    @cached_property
    def users(self):
        """User number by user name, and by full name where only one has it."""
        enrolled = self.call("core_enrol_get_enrolled_users", courseid=self.course)
        names = [each.get("fullname") for each in enrolled]
        by_name = {
            each["fullname"]: each["id"]
            for each in enrolled
            if names.count(each.get("fullname")) == 1
        }
        return by_name | {each["username"]: each["id"] for each in enrolled if "username" in each}

    @cached_property
    def participants(self):
        """User number by the number that stands in the assignment's zips."""
        found = self.call("mod_assign_get_user_mappings", **{"assignmentids[0]": self.instance})
        return {
            str(each["id"]): each["userid"]
            for one in found.get("assignments", ())
            for each in one["mappings"]
        }

    def send(self, learner, number, mark):
        """Set a mark; see `Canvas.send`."""
        user = self.participants.get(number) if number else None
        user = user or self.users.get(learner)
        if user is None:
            raise Refused("nobody in this course has that name or number")
        self.call(
            "mod_assign_save_grade",
            assignmentid=self.instance,
            userid=user,
            grade=f"{mark:g}",
            attemptnumber=-1,
            addattempt=0,
            workflowstate="",
            applytoall=0,
        )


PLATFORMS = {"canvas": Canvas, "moodle": Moodle}
