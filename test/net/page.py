#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""The exporter's page in a real browser: it shows telemetry's values, accessibly.

Runs in its own network namespace, with Chromium, and writes screenshots into BUILD/pictures.
"""

import contextlib
import http.client
import json
import math
import os
import re
import signal
import sys
import threading

import box
import browser
from box import expect, wait_until
from exporter import EXPORTER, exporter, policy, traffic

PICTURES = os.path.join(box.BUILD, "pictures")
OFTEN = ("--interval", "250")  # to wait less
WIDTHS = {"wide": (1280, 900), "phone": (360, 740)}
POLICIES = [{"name": "udp", "match": {"proto": "udp"}, "limit": "80kbit/s", "burst": "2kB"},
            {"name": "rest", "limit": "1000/s", "burst": 100, "count": "packets"}]

STUCK = re.compile(r"1 thing wrong: box1: worker \d+ \(CPU \d+\) is stuck for"
                   r"|Nothing is wrong any more$")

# Returns a list of complaints: text with too little contrast to its background.
CONTRAST = """(() => {
const parse = text => text.match(/[\\d.]+/g).map(Number);
const part = v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * part(r / 255) + 0.7152 * part(g / 255)
	+ 0.0722 * part(b / 255);
const behind = node => {
	for (; node; node = node.parentElement) {
		const color = parse(getComputedStyle(node).backgroundColor);
		if (color.length < 4 || color[3] > 0.99)
			return color;
	}
	return [255, 255, 255];
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let seen = 0;
while (walker.nextNode()) {
	const node = walker.currentNode.parentElement, style = getComputedStyle(node);
	if (!walker.currentNode.data.trim() || node.closest("noscript")
		|| !node.getClientRects().length)
		continue;
	seen++;
	const ink = parse(node.namespaceURI.endsWith("svg") ? style.fill : style.color);
	const pair = [luminance(ink), luminance(behind(node))].sort((a, b) => b - a);
	const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
	if (ratio < (parseFloat(style.fontSize) >= 24 ? 3 : 4.5))
		found.push(`${ratio.toFixed(2)}: ${walker.currentNode.data.trim()}`);
}
return seen > 30 ? found : [`only ${seen} texts`];
})()"""

FOCUS = """(() => { const at = document.activeElement;
return at.id || at.getAttribute("aria-label") || at.getAttribute("aria-labelledby")
	|| at.textContent.trim() || at.tagName; })()"""


def rate_text(value, count):
    """Returns a rate in the format of chart.js."""
    if value is None:
        return "–"
    shown = value * 8 if count == "bytes" else value
    size, prefix = next((pair for pair in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
                         if abs(shown) >= pair[0]), (1, ""))
    number = shown / size
    if number == 0:
        text = "0"
    elif number < 0.01:
        text = "<0.01"
    elif number >= 1000:
        text = f"{number:.0f}"
    else:
        digits = 2 - math.floor(math.log10(number))
        text = f"{number:.{max(0, digits)}f}"
        text = text.rstrip("0").rstrip(".") if "." in text else text
    return f"{text} {prefix}{'bit/s' if count == 'bytes' else 'pps'}"


class Stream:
    """The events that the exporter sends to a viewer, by their time."""

    def __init__(self, one, query=""):
        self.connection = http.client.HTTPConnection("127.0.0.1", one.port,
                                                     timeout=box.PATIENCE_S)
        self.connection.request("GET", "/events" + query)
        self.reply = self.connection.getresponse()
        self.events = {}
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self):
        """Reads events until the connection ends."""
        kind, group = None, None
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
            while line := self.reply.readline().decode():
                if line.startswith("event: "):
                    kind = line[7:].strip()
                elif line.startswith("data: ") and kind == "group":
                    group = json.loads(line[6:])
                elif line.startswith("data: "):
                    self.events[group["at"]] = (group, json.loads(line[6:]))

    def close(self):
        """Closes the connection."""
        self.connection.close()


@contextlib.contextmanager
def watched():
    """Runs a browser until the context ends."""
    chromium = browser.Browser()
    try:
        yield chromium
    finally:
        chromium.close()


@contextlib.contextmanager
def limited(scene):
    """Runs a limiter under traffic and an exporter; yields both and the sending function."""
    with traffic(scene, policies=POLICIES) as (weir, send), \
            exporter(*OFTEN, "-s", weir.socket) as one:
        yield weir, send, one


@contextlib.contextmanager
def flooded(send):
    """Sends packets until the context ends."""
    over = threading.Event()

    def flood():
        while not over.is_set():
            send(40)
    thread = threading.Thread(target=flood)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def base(one):
    """Returns the URL of the page."""
    return f"http://127.0.0.1:{one.port}/"


def no_complaints(page, one):
    """Asserts that the page sent requests only to the exporter, and that the browser logged no
    error."""
    asked = [event["request"]["url"] for event in page.said("Network.requestWillBeSent")]
    expect(asked and all(url.startswith(base(one)) for url in asked), f"asked elsewhere: {asked}")
    for method in ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled"):
        expect(not page.said(method), f"{method}: {page.said(method)}")


def figures(scene):
    """Each figure on the page is from one event, and the events' figures equal telemetry's."""
    with limited(scene) as (weir, send, one), watched() as chromium:
        stream = Stream(one)
        page = chromium.page(base(one))
        with flooded(send):
            page.wait("document.querySelector('#policy-name').textContent === 'udp'"
                      " && document.querySelectorAll('#chart .area').length > 0"
                      " && document.querySelector('#held button')")
            for _ in range(5):
                shown = page.run("""[+document.body.dataset.at, rate.innerText,
                    document.querySelector("#of-limit").textContent.trim(),
                    ...[...document.querySelectorAll("#shares tbody td")].map(
                        td => td.innerText), chart.querySelector(".limit-label").textContent]""")
                wait_until(lambda at=shown[0]: at in stream.events, "the event that is shown")
                said = stream.events[shown[0]][1]
                here = said["limiters"][0]
                want = [rate_text(here["passed"], "bytes"), "of 80 kbit/s",
                        *(rate_text(here[key], "bytes")
                          for key in ("passed", "may", "demand", "dropped")), "limit 80 kbit/s"]
                expect(shown[1:] == want, f"{shown[1:]}, not {want}")
                page.wait(f"+document.body.dataset.at > {shown[0]}")
        settled = weir.get("/weir/drops")
        page.wait(f"""document.querySelector("#drops tbody td:last-child").innerText
            === ({settled['limit']}).toLocaleString("en")""")
        expect(list(settled.values()).count(0) == len(settled) - 1, str(settled))
        expect(page.run("document.querySelectorAll('#drops tbody tr').length") == 1, "reasons")
        udp = weir.get("/weir/policy,udp")
        expect(udp["limit_bps"] == 80000 and udp["dropped"]["packets"] == settled["limit"],
               str(udp))
        no_complaints(page, one)
        stream.close()


def looks(scene):
    """In dark and light, wide and narrow: the page fits, is legible, and announces nothing unasked.
    Keeps screenshots."""
    os.makedirs(PICTURES, exist_ok=True)
    with limited(scene) as (_, send, one), watched() as chromium, flooded(send):
        for scheme in ("light", "dark"):
            for name, (width, height) in WIDTHS.items():
                page = chromium.page(base(one), width=width, height=height, scheme=scheme)
                page.wait("document.querySelectorAll('#chart .area').length > 0"
                          " && document.querySelector('#held button')")
                page.run("""document.querySelector("#history").open = true;
                    window.said = []; new MutationObserver(() => window.said.push(
                        document.querySelector("#announce").textContent)).observe(
                        document.querySelector("#announce"),
                        {childList: true, subtree: true, characterData: true}); 0""")
                at = page.run("+document.body.dataset.at")
                page.wait(f"+document.body.dataset.at > {at + 1500}")
                # Problems are announced unasked; ignores those of a worker without a CPU, which the
                # machine causes.
                said = [text for text in page.run("window.said") if not STUCK.match(text)]
                expect(not said, f"readers are told what they did not ask: {said}")
                room = page.run("""(({scrollWidth, clientWidth}) => [scrollWidth - clientWidth,
                    innerWidth])(document.documentElement)""")
                expect(room == [0, width], f"{name} is not wide enough: {room}")
                complaints = page.run(CONTRAST)
                expect(not complaints, f"{scheme}, {name}: {complaints}")
                page.picture(os.path.join(PICTURES, f"page-{name}-{scheme}.png"))
                no_complaints(page, one)
                page.close()


def names_and_keys(scene):
    """Without sight or a mouse: every element has a name, and the keyboard reaches all."""
    with limited(scene) as (weir, send, one), watched() as chromium, flooded(send):
        page = chromium.page(base(one))
        page.wait("document.querySelectorAll('#chart .area').length > 0"
                  " && document.querySelector('#held button')")
        check_tree(page)
        order = []
        for _ in range(11):
            page.press("Tab")
            order.append(page.run(FOCUS))
        want = ["To the chart", "policy-find", "INPUT", "chart", "Each limiter's part",
                "The chart as a table", "held-title", "udp", "drops-title", "limiters-title",
                "peers-title"]
        expect(order == want, f"Tab leads through {order}")
        page.run("document.querySelector('#chart').focus()")
        page.press("ArrowLeft")
        readout = page.run("document.querySelector('#chart-readout').textContent")
        expect("together" in readout and "box1" in readout, readout)
        expect(page.run("document.querySelector('#announce').textContent") == readout, "unheard")
        page.press("Escape")
        expect(not page.run("document.querySelector('#chart-readout').textContent"), "still there")
        choose(page, weir)
        no_complaints(page, one)


def check_tree(page):
    """Checks the accessibility tree, which screen readers use."""
    nodes = page.send("Accessibility.getFullAXTree")["nodes"]
    told = [(node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes if not node.get("ignored") and "role" in node]
    for role, name in told:
        if role in ("button", "combobox", "radio", "link", "image", "img", "region", "listbox"):
            expect(name.strip(), f"a {role} without a name: {told}")
    roles = [role for role, _ in told]
    expect(roles.count("table") >= 5 and roles.count("columnheader") >= 20, str(roles))
    expect(roles.count("rowheader") >= 4 and "main" in roles and "banner" in roles, str(roles))
    expect(any(role in ("image", "img") and "limit 80 kbit/s" in name and "udp" in name
               for role, name in told), f"the chart does not say what it is: {told}")
    headings = [name for role, name in told if role == "heading"]
    expect(headings[0].strip() == "Weir" and "Why packets are dropped" in headings, str(headings))


def choose(page, weir):
    """Chooses another policy by its name, with the keyboard only."""
    page.run("document.querySelector('#policy-find').focus()")
    page.wait("document.querySelectorAll('#policy-list li').length === 3")
    for letter in "res":
        page.press(letter, text=letter)
    page.wait("document.querySelectorAll('#policy-list li').length === 2")
    expect(page.run("document.querySelector('#policy-find').ariaExpanded") == "true", "closed")
    expect(page.run("""document.querySelector("#" + document.querySelector("#policy-find")
        .getAttribute("aria-activedescendant")).textContent""").startswith("rest"), "active")
    page.press("Enter")
    page.wait("document.querySelector('#policy-name').textContent === 'rest'")
    expect(page.run("location.hash") == "#rest", "no link to it")
    page.wait("document.querySelector('#of-limit').textContent.trim() === 'of 1 kpps'")
    expect(page.run("document.querySelector('#policy-list').hidden"), "the list stays")
    page.press("ArrowDown")
    page.wait("document.querySelectorAll('#policy-list li').length === 3")
    page.press("Escape")
    expect(page.run("document.querySelector('#policy-list').hidden"), "the list stays")
    page.run("location.hash = '#nobody'")
    page.wait("document.querySelector('#policy-name').textContent === 'nobody is not there'")
    own = box.Client(weir.socket)  # the flood uses that of the limiter
    expect(own.get("/weir/policy,rest")["count"] == "packets", "rest")


def forbidden(scene):
    """The page's policy blocks requests to other servers, even from a script in it."""
    weir = scene.box(box.wire("net_ring0", "net_ring1", policies=[policy(1)])).start()
    with exporter("-s", weir.socket) as one, exporter("-s", weir.socket) as other, \
            watched() as chromium:
        page = chromium.page(base(one))
        page.wait("document.body.dataset.at")
        expect(page.run(f"fetch('{base(one)}metrics').then(r => r.ok)"), "its own")
        for attempt in (f"fetch('{base(other)}metrics', {{mode: 'no-cors'}})"
                        ".then(() => 'asked', () => 'refused')",
                        f"new Promise(then => {{ const img = new Image();"
                        f"img.onload = () => then('asked'); img.onerror = () => then('refused');"
                        f"img.src = '{base(other)}weir.svg'; }})",
                        "(() => { try { return eval('\"asked\"'); } catch { return 'refused'; } "
                        "})()"):
            expect(page.run(attempt) == "refused", attempt)
        for path in ("/", "/weir.js", "/weir.css", "/chart.js", "/weir.svg"):
            status, headers, text = one.ask(path=path)
            policy_of_page = headers["Content-Security-Policy"]
            expect(status == 200 and "frame-ancestors 'none'" in policy_of_page, policy_of_page)
            expect(headers["X-Content-Type-Options"] == "nosniff", str(headers))
            again = one.ask(path=path, **{"If-None-Match": headers["ETag"]})
            expect(text and (again[0], again[2]) == (304, ""), f"{path}: {again[0]}")


def ends(scene):
    """A limiter stops; an exporter stops and returns. The page shows this, and continues."""
    boxes = [scene.box(box.wire(f"net_ring{2 * i}", f"net_ring{2 * i + 1}",
                                policies=[policy(1)])).start() for i in range(2)]
    words = [word for weir in boxes for word in ("-s", weir.socket)]
    with watched() as chromium, exporter(*OFTEN, "--timeout", "1500", *words) as one:
        page = chromium.page(base(one))
        page.wait("document.querySelectorAll('#limiters tbody .good').length === 2")
        boxes[1].process.send_signal(signal.SIGSTOP)
        page.wait("document.querySelector('#alarm-list').textContent === 'box2 does not answer'")
        expect(page.run("document.querySelector('#announce').textContent")
               == "1 thing wrong: box2 does not answer", "nobody is told")
        boxes[1].process.send_signal(signal.SIGCONT)
        page.wait("document.querySelector('#alarms').hidden")
        one.process.send_signal(signal.SIGSTOP)
        page.wait("document.querySelector('#live').dataset.state === 'lost'")
        one.process.send_signal(signal.SIGCONT)
        page.wait("document.querySelector('#live').dataset.state === 'live'")


def told(scene):
    """A limiter without a socket here is shown with the gossip values of the other, with a note."""
    roster = [{"name": f"box{i}", "address": f"127.0.0.{i}:7946"} for i in (1, 2)]
    boxes = [scene.box(box.wire(
        f"net_ring{2 * i}", f"net_ring{2 * i + 1}",
        gossip={"listen": roster[i]["address"], "roster": roster, "insecure": True},
        policies=[{"name": "shared", "limit": "1Mbit/s", "allocator": "fps"}]))
        for i in range(2)]
    for weir in boxes:
        weir.start()
    wait_until(lambda: "weight" in boxes[0].get("/weir/shares,shared")["limiters"][1],
               "gossip of the policy")
    with exporter("-s", boxes[0].socket) as one, watched() as chromium:
        page = chromium.page(base(one) + "#shared")
        page.wait("document.querySelectorAll('#shares tbody tr').length === 2")
        row = page.run("document.querySelectorAll('#shares tbody tr')[1].innerText")
        expect(row.startswith("box2") and "≈ 0 bit/s" in row, row)
        expect(not page.run("document.querySelector('#told-note').hidden"), "it is not said")
        expect(page.run("document.querySelector('#shares tbody .swatch.told') !== null"), "pale")
    with exporter("-s", boxes[0].socket, "-s", boxes[1].socket) as one, watched() as chromium:
        page = chromium.page(base(one) + "#shared")
        page.wait("document.querySelectorAll('#shares tbody tr').length === 2")
        expect(page.run("document.querySelector('#told-note').hidden"), "both can be asked")


if __name__ == "__main__":
    if not os.access(EXPORTER, os.X_OK):
        print(f"skipped: {EXPORTER} is not built")
        sys.exit(box.SKIP)
    if not browser.program():
        print("skipped: there is no Chromium (chromium-headless-shell of Debian)")
        sys.exit(box.SKIP)
    box.main([figures, looks, names_and_keys, forbidden, ends, told], box.enter_netns)
