"""Drives headless Chromium over the DevTools protocol on a pipe; needs nothing but Python and Chromium.

Source: https://chromedevtools.github.io/devtools-protocol/ ; messages end with a zero byte.
"""

import atexit
import base64
import fcntl
import functools
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

# The elements whose own text has less than 4.5:1 to the ground below it. Source: WCAG 2.2, 1.4.3 and "contrast ratio".
CONTRAST = """(() => {
  const parse = color => color.match(/[\\d.]+/g).map(Number);
  const light = color => { const [r, g, b] = parse(color).map(v => (v /= 255) <= .03928 ? v / 12.92
    : ((v + .055) / 1.055) ** 2.4); return .2126 * r + .7152 * g + .0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor;
    if ((parse(c)[3] ?? 1) > 0) return c; } return 'rgb(255, 255, 255)'; };
  const bad = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest('svg, script, noscript, :disabled, .skip') || !e.checkVisibility()) continue;
    const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
    if ((a + .05) / (b + .05) < 4.5) bad.push(e.outerHTML.slice(0, 120));
  }
  return [...new Set(bad)]; })()"""

SECONDS = 60  # a slow machine under load; a reply takes milliseconds otherwise


AXE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "axe-core/axe.min.js")  # where `install` puts it
FINDINGS = """axe.run({exclude: %s}, {resultTypes: ['violations'], preload: false}).then(found => found.violations.flatMap(({id, nodes}) =>
  nodes.map(node => id + ': ' + node.html.slice(0, 150) + ' ' + node.failureSummary.replace(/\\s+/g, ' ').slice(0, 150))))"""


def find():
    """The path of a Chromium, or None. The headless shell has no windows to keep, and needs half the time for a page."""
    names = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


@functools.cache
def shared():
    """The one page of a test program, which is closed with it: a browser takes a second to start."""
    page = Page(find())
    atexit.register(page.close)
    return page


class Page:
    """One browser with one page. Collects what the page logs, throws and requests."""

    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix="qtx-chromium-")
        self.errors = []
        self.requests = []
        self._document = None  # where the page is, without the hash; None: unknown
        self._next = 0
        self._left = b""
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        # Chromium reads descriptor 3 and writes 4; the shell puts ours there.
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 5) for fd in (to_browser, from_browser)]
        os.close(to_browser)
        os.close(from_browser)
        flags = ["--headless", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--disable-sync",
                 "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
                 "--disable-dev-shm-usage", "--user-data-dir=" + self.profile]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")  # Chromium refuses to run as root with it
        self._browser = subprocess.Popen(
            ["sh", "-c", 'exec "$@" 3<&%d 4>&%d' % tuple(ends), "sh", program, *flags, "about:blank"],
            pass_fds=ends, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in ends:
            os.close(fd)
        self._session = None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(domain + ".enable")

    def close(self):
        try:
            os.killpg(self._browser.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._browser.wait()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self.profile, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, method, **params):
        """Sends one command and gives its result."""
        self._next += 1
        message = {"id": self._next, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            reply = self._receive()
            if reply.get("id") == self._next:
                if "error" in reply:
                    raise RuntimeError(method + ": " + reply["error"]["message"])
                return reply["result"]

    def open(self, url):
        """Loads a page; gives the seconds until its script has run."""
        document = url.partition("#")[0]
        if document == self._document:
            self._load("about:blank")  # a change of the hash alone would not load
        self.errors.clear()
        self.requests.clear()
        start = time.monotonic()
        self._load(url)
        self._document = document
        return time.monotonic() - start

    def follow(self, act):
        """Calls what makes the page leave for another, and waits until that one's script has run.

        Asking the page meanwhile would fail: a page that is left answers nothing.
        """
        self._loaded = False
        self._document = None
        act()
        while not self._loaded:
            self._receive()

    def _load(self, url):
        self.follow(lambda: self.call("Page.navigate", url=url))

    def run(self, script):
        """The value of a JavaScript expression, waiting for a promise."""
        result = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True,
                           userGesture=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"])[:2000])
        return result["result"].get("value")

    def axe(self, *without):
        """What axe-core finds on the page, but for what the selectors `without` name. AXE must be there."""
        if not self.run("'axe' in window"):
            with open(AXE, encoding="utf-8") as file:
                self.call("Runtime.evaluate", expression=file.read())
        return self.run(FINDINGS % json.dumps([[selector] for selector in without]))

    def size(self, width, height, mobile=False):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                  mobile=mobile)

    def media(self, scheme="light", media=""):
        self.call("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def key(self, key):
        codes = {"/": 191, "Enter": 13, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39,
                 "Home": 36, "Tab": 9}
        text = {"/": "/", "Enter": "\r"}.get(key)
        down = {"key": key, "code": key, "windowsVirtualKeyCode": codes[key]}
        if text:
            down["text"] = text
        self.call("Input.dispatchKeyEvent", type="keyDown", **down)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=key)

    def pointer(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def screenshot(self, path, whole=False):
        data = self.call("Page.captureScreenshot", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def _receive(self):
        deadline = time.monotonic() + SECONDS
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._in], [], [], max(0, deadline - time.monotonic()))
            chunk = os.read(self._in, 1 << 16) if ready else b""
            if not chunk:
                raise RuntimeError("the browser does not answer" if not ready else "the browser ended")
            self._left += chunk
        text, self._left = self._left.split(b"\0", 1)
        message = json.loads(text)
        self._note(message.get("method"), message.get("params", {}))
        return message

    def _note(self, method, params):
        if method == "Page.loadEventFired":
            self._loaded = True
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.errors.append(params["entry"]["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert"):
            self.errors.append(str(params["args"]))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
