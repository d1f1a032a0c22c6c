"""Prints a row of ../README.md for each helper, as measured. Exits with 1 if one is not in the page, which is
the argument, or if a setting does not help."""

import os
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import version

import helpers
import waits
from helpers import CACHES, HELPERS, remaining

DAY = 86_400
OF_CONNECTION = {"connection", "content-length", "date", "keep-alive", "transfer-encoding"}
shown = open(sys.argv[1]).read().split("\n")
failures = 0


def record(key):
    request = urllib.request.Request(os.environ["URL"] + "/pets?limit=1", headers={"Authorization": f"Bearer {key}"})
    try:
        response = urllib.request.urlopen(request)
    except urllib.error.HTTPError as error:
        response = error
    headers = {name: value for name, value in response.headers.items() if name.lower() not in OF_CONNECTION}
    return response.status, headers, response.read()


def refused_with(status, seconds):
    _, headers, body = refusal
    named = {name: value for name, value in headers.items() if name.lower() != "retry-after"}
    return status, {**named, "Retry-After": str(seconds)}, body


def served_by(answer, act):
    """Runs `act` with the address of a server, and returns what was requested, and how long was slept before."""
    requests = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            requests.append((waits.slept, self.headers))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            answered = answer(len(requests), self.headers)
            if answered is None:
                self.close_connection = True
                return
            status, headers, body = answered
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            if status != 304:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if status != 304:
                self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.handle_error = lambda *_: None  # a helper has left
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    waits.slept = 0.0
    try:
        result = act(f"http://127.0.0.1:{server.server_port}/v1/pets")
    except Exception as error:
        result = error
    server.shutdown()
    server.server_close()
    return requests, result, waits.slept


def gap_of(helper, method, status, seconds):
    """The seconds between a first request, which fails, and the next one, if there is one; and those in all."""

    def answer(n, _):
        return page if n > 1 else None if status is None else refused_with(status, seconds)

    body = b'{"name":"Rex","categoryId":3}' if method == "POST" else None
    headers = {"Content-Type": "application/json", "Authorization": "Bearer key"}
    requests, result, total = served_by(answer, lambda url: helper(url, method, headers, body))
    if not requests:
        raise result
    return (requests[1][0] - requests[0][0] if len(requests) > 1 else None), total


def measure(helper):
    gaps = {status: gap_of(helper, "GET", status, 7)[0] for status in (409, 429, 503)}
    waiting = [status for status, gap in gaps.items() if gap is not None and gap >= 7]
    early = [status for status, gap in gaps.items() if gap is not None and gap < 7]
    posts = [status or "a lost connection" for status in (409, 429, 503, None) if gap_of(helper, "POST", status, 7)[0] is not None]
    gap, total = gap_of(helper, "GET", 429, DAY)
    waits = "; ".join([list_of(waiting)] * bool(waiting) + [f"{list_of(early)} sooner"] * bool(early)) or "none"
    longest = ""
    if 429 in waiting:
        given_up = "gives up" if total < 1 else f"gives up after {round(total)} s"
        longest = given_up if gap is None else "any" if gap >= DAY else f"{round(gap)} s, repeats"
    return waits, longest, list_of(posts) or "no"


def revalidates(make):
    get = make()
    headers = {"Authorization": "Bearer key"}
    status, sent, body = page
    tag = sent.get("etag") or sent.get("ETag")
    changed = (status, {**{n: v for n, v in sent.items() if n.lower() != "etag"}, "ETag": '"changed"'}, b'["changed"]')

    def answer(n, asked):
        if n < 3 and asked.get("If-None-Match") == tag:
            return 304, sent, b""
        return page if n < 3 else changed

    requests, result, _ = served_by(answer, lambda url: [get(url, headers) for _ in range(3)])
    if isinstance(result, Exception):
        return f"fails: {result}"
    if result[1] != result[0]:
        return "shows another body"
    if result[2] != '["changed"]':
        return "shows the old body, unasked"
    return "yes" if requests[1][1].get("If-None-Match") else "no, it asks in full"


def list_of(all):
    return ", ".join(map(str, all))


def report(row):
    print(row, flush=True)
    if row not in shown:
        fail("not in the page", row)


def fail(*texts):
    global failures
    failures += 1
    print("  not so:", *texts, flush=True)


page, refusal = record(os.environ["KEY"]), record(os.environ["FREE_KEY"])
while refusal[0] == 200:
    refusal = record(os.environ["FREE_KEY"])
for name, (helper_of, begun, setting) in HELPERS.items():
    report(f"| {name} {version(name)} | {' | '.join(measure(helper_of(begun)))} | `{setting}` |")
    right = helper_of(eval(setting, vars(helpers)))
    (short, _), (_, total) = gap_of(right, "GET", 429, 7), gap_of(right, "GET", 429, DAY)
    if (short is not None and short < 7) or total > 180:
        fail(name, setting, short, total)
for name, make in CACHES.items():
    package, *setting = name.split(", ")
    report(f"| {', '.join([f'{package} {version(package)}', *setting])} | {revalidates(make)} |")
told = {name.lower(): value for name, value in page[1].items()}
old = {name: value for name, value in told.items() if not name.startswith("ratelimit")}
expected = int(told["x-ratelimit-remaining"])
report(f"| ratelimit-headers {version('ratelimit-headers')} | {'right' if remaining(told) == expected else remaining(told)} |")
if remaining(old) != expected:
    fail("ratelimit-headers without RateLimit", remaining(old))
sys.exit(min(failures, 1))
