# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""A headless Chromium, driven by its DevTools protocol over two pipes. Needs no Python package."""

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-shell")
PATIENCE_S = 60
# Root has no sandbox, and containers have little shared memory.
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
           "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking",
           "--disable-component-update", "--force-color-profile=srgb")


class Thrown(AssertionError):
    """A script has thrown an exception."""


def program():
    """Returns the path of a Chromium, or None."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None)


class Browser:
    """A browser process; page() opens tabs."""

    def __init__(self):
        self.home = tempfile.TemporaryDirectory(prefix="weir-chromium-")
        read_ours, write_theirs = os.pipe()
        read_theirs, write_ours = os.pipe()

        def take_pipes():
            # Copies first: a descriptor can already be number 3 or 4.
            ends = os.dup(read_theirs), os.dup(write_theirs)
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)
        self.process = subprocess.Popen(
            [program(), *OPTIONS, "--user-data-dir=" + self.home.name, "about:blank"],
            preexec_fn=take_pipes, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env=os.environ | {"HOME": self.home.name})
        os.close(read_theirs)
        os.close(write_theirs)
        self.read_end, self.write_end = read_ours, write_ours
        self.serial, self.received, self.replies = 0, b"", {}
        self.pages = {}

    def send(self, method, session=None, **params):
        """Sends a command; returns the browser's reply."""
        self.serial += 1
        serial = self.serial
        message = {"id": serial, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + PATIENCE_S
        while serial not in self.replies:
            self.hear(deadline - time.monotonic(), method)
        reply = self.replies.pop(serial)
        if "error" in reply:
            raise AssertionError(f"{method}: {reply['error']}")
        return reply["result"]

    def hear(self, seconds, what="an event"):
        """Reads messages for up to `seconds`; fails without any."""
        if not select.select([self.read_end], [], [], max(0, seconds))[0]:
            raise AssertionError(f"the browser does not answer: {what}")
        got = os.read(self.read_end, 1 << 20)
        if not got:
            raise AssertionError(f"the browser has ended: {what}")
        self.received += got
        while b"\0" in self.received:
            text, self.received = self.received.split(b"\0", 1)
            self.take(json.loads(text))

    def take(self, message):
        """Stores a reply, or an event of a page."""
        if "id" in message:
            self.replies[message["id"]] = message
        elif message.get("sessionId") in self.pages:
            self.pages[message["sessionId"]].events.append(message)

    def page(self, url, **more):
        """Opens a tab."""
        return Page(self, url, **more)

    def close(self):
        """Ends the browser."""
        with contextlib.suppress(OSError, AssertionError):
            self.send("Browser.close")
        self.process.kill()
        self.process.wait()
        os.close(self.read_end)
        os.close(self.write_end)
        with contextlib.suppress(OSError):
            self.home.cleanup()


class Page:
    """A tab of a given size and colour scheme, whose network and console events are recorded."""

    def __init__(self, browser, url, width=1280, height=900, scheme="light"):
        self.browser = browser
        self.events = []
        target = browser.send("Target.createTarget", url="about:blank")["targetId"]
        self.target = target
        self.session = browser.send("Target.attachToTarget", targetId=target,
                                    flatten=True)["sessionId"]
        browser.pages[self.session] = self
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility", "DOM"):
            self.send(f"{domain}.enable")
        self.size(width, height)
        self.send("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.send("Page.navigate", url=url)

    def send(self, method, **params):
        """Sends a command for this tab, like Browser.send()."""
        return self.browser.send(method, self.session, **params)

    def size(self, width, height):
        """Sets the window's size in pixels; a narrow one is a phone's."""
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)

    def run(self, expression):
        """Returns the value of a JavaScript expression; awaits promises."""
        done = self.send("Runtime.evaluate", expression=expression, returnByValue=True,
                         awaitPromise=True, allowUnsafeEvalBlockedByCSP=False)
        if "exceptionDetails" in done:
            raise Thrown(f"{expression}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def wait(self, expression, timeout=PATIENCE_S):
        """Waits until an expression is true; returns its value. Errors count as not yet true."""
        deadline = time.monotonic() + timeout
        while True:
            problem = None
            try:
                if value := self.run(f"!!({expression})"):
                    return value
            except Thrown as error:
                problem = error
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {timeout} s in vain: {problem or expression}")
            time.sleep(0.05)

    def press(self, key, code=None, text=None):
        """Presses and releases a key."""
        for kind in ("keyDown", "keyUp"):
            more = {"text": text} if text and kind == "keyDown" else {}
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=code or key,
                      windowsVirtualKeyCode={"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37,
                                             "ArrowUp": 38, "ArrowRight": 39,
                                             "ArrowDown": 40}.get(key, 0), **more)

    def said(self, method):
        """Returns the parameters of all events of that name so far."""
        self.run("0")  # reads the earlier events
        return [event["params"] for event in self.events if event["method"] == method]

    def picture(self, path, whole=True):
        """Writes a PNG of the window, or of the whole page."""
        shot = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def close(self):
        """Closes the tab."""
        self.browser.send("Target.closeTarget", targetId=self.target)
        del self.browser.pages[self.session]
