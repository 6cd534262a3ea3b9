// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Weir authors
//
// The page: shows the exporter's events (app/exporter/picture.h) as a chart and tables.

import {Chart, amountText, classOf, rateText} from "./chart.js";

const COLORS = 8;
const KEEP_MS = 15 * 60 * 1000;
const ROWS_OF_HISTORY = 31;
const LOST_AFTER = 4;      // intervals without an event
const GAP = 3.5;           // intervals without an event that make a gap in the chart
const AGAIN_MS = 5000;
const FIND_AFTER_MS = 150;

// The reasons of doc/operate/telemetry.md.
const REASONS = {
	limit: "exceeds its policy's limit",
	quota: "its policy's quota is exhausted, or its rest is not here yet",
	unmarkable: "exceeds the limit, and cannot carry the mark",
	unparsed: "not understood",
	tx_full: "the port out took no more",
	ring_full: "its worker took no more",
	oversize: "longer than the port's MTU",
	truncated: "its IP header has a larger length than the frame",
	queue_full: "too many of its policy wait",
	pool_full: "too many wait",
	codel: "has waited too long in its queue",
	delay_exceeded: "has waited longer than it may",
	stopped: "its queue has ended",
	rx_missed: "no worker took it in time",
	rx_no_buffer: "no buffer was free",
	rx_errors: "reported as damaged by the device",
	tx_errors: "reported as unsent by the device",
};

const $ = id => document.getElementById(id);

const state = {
	events: null,
	wanted: decodeURIComponent(location.hash.slice(1)) || null, // null: the one that drops most
	policy: null,        // its last event
	histories: new Map(), // by policy: points of the chart
	series: new Map(),   // by policy: its limiters, in the order of their first event
	intervalMs: 1000,
	heardAt: 0,
	at: 0,
	spanMs: 60000,
	alarms: 0,
};

// --- words ---------------------------------------------------------------------------------------

function countText(value) {
	return value === null || value === undefined ? "–" : Math.round(value).toLocaleString("en");
}

function packetsText(value) {
	return value === null ? "–" : rateText(value, "packets");
}

function timeText(seconds) {
	if (seconds === null || seconds === undefined)
		return "–";
	if (seconds < 120)
		return `${Math.round(seconds)} s`;
	if (seconds < 7200)
		return `${Math.round(seconds / 60)} min`;
	const hours = Math.round(seconds / 3600);
	return hours < 48 ? `${hours} h` : `${Math.round(hours / 24)} d`;
}

function agoText(ms) {
	if (ms === null || ms === undefined)
		return "never";
	return ms < 2000 ? `${ms} ms ago` : `${timeText(ms / 1000)} ago`;
}

function shareText(value) {
	return value === null || value === undefined ? "–" : `${Math.round(value * 100)} %`;
}

function plural(n, word) {
	return `${countText(n)} ${word}${n === 1 ? "" : "s"}`;
}

// Sets a text only if it differs, so that a screen reader does not repeat it.
function setText(node, text) {
	if (node.textContent !== text)
		node.textContent = text;
}

// --- tables --------------------------------------------------------------------------------------

/**
 * Fills a table with rows of cells; a cell is a text, or {text, more, style, bar, button, swatch}.
 * Rows keep their order while the pointer or focus is on the table. Their nodes are kept, so the
 * focus stays.
 */
function fill(body, rows, empty) {
	const held = body.contains(document.activeElement) || body.matches(":hover");
	if (held && body.order) {
		const place = key => {
			const at = body.order.indexOf(key);
			return at < 0 ? body.order.length : at;
		};
		rows.sort((a, b) => place(a.key) - place(b.key));
	}
	body.order = rows.map(({key}) => key);
	if (rows.length === 0 && empty)
		rows = [{key: "", cells: [{text: empty, style: "empty", span: 9}]}];
	while (body.rows.length > rows.length)
		body.deleteRow(-1);
	rows.forEach((row, i) => fillRow(body.rows[i] || body.insertRow(), row));
}

function fillRow(tr, {cells}) {
	const shape = cells.map(cell => (cell.button ? "b" : "t") + (cell.span || "")).join();
	if (tr.shape !== shape) {
		tr.replaceChildren(...cells.map((cell, i) => {
			const made = document.createElement(i === 0 && !cell.span ? "th" : "td");
			if (made.tagName === "TH")
				made.scope = "row";
			if (cell.span)
				made.colSpan = cell.span;
			return made;
		}));
		tr.shape = shape;
	}
	cells.forEach((cell, i) => fillCell(tr.cells[i],
		typeof cell === "object" ? cell : {text: cell}));
}

function fillCell(td, {text, more, style, bar, button, swatch}) {
	if (!td.words) {
		td.words = document.createElement(button ? "button" : "span");
		td.append(td.words);
		if (button)
			td.words.type = "button";
	}
	if (button)
		td.words.onclick = button;
	setText(td.words, text);
	td.className = `${style || ""}${bar === undefined ? "" : " bar"}`.trim();
	fillMark(td, swatch, bar);
	if (more !== undefined && !td.more) {
		td.more = document.createElement("span");
		td.more.className = "more";
		td.append(td.more);
	}
	if (td.more)
		setText(td.more, more ? ` ${more}` : "");
}

// Adds a colour or a bar to the text, which has the same information.
function fillMark(td, swatch, bar) {
	if (swatch !== undefined && !td.swatch) {
		td.swatch = document.createElement("span");
		td.swatch.ariaHidden = "true";
		td.prepend(td.swatch);
	}
	if (swatch !== undefined)
		td.swatch.className = `swatch ${swatch}`;
	if (bar !== undefined && !td.bar) {
		td.bar = document.createElement("i");
		td.bar.ariaHidden = "true";
		td.append(td.bar);
	}
	if (bar !== undefined)
		td.bar.style.width = `${Math.round(Math.min(Math.max(bar, 0), 1) * 100)}%`;
}

const number = (text, more = {}) => ({text, style: "n", ...more});

// --- one policy ----------------------------------------------------------------------------------

// Returns a policy's limiters in the order of their first event, so a limiter keeps its colour.
function seriesOf(policy) {
	const known = state.series.get(policy.name) || [];
	const told = policy.told.filter(({about}) => about !== null);
	const present = [...policy.limiters.map(({name}) => ({name, told: false})),
		...told.map(({name}) => ({name, told: true}))];
	present.sort((a, b) => a.name.localeCompare(b.name));
	for (const one of present) {
		const before = known.find(other => other.name === one.name);
		if (before)
			before.told = one.told;
		else
			known.push({...one, color: known.length % COLORS});
	}
	state.series.set(policy.name, known);
	return known;
}

function sumOf(values) {
	const known = values.filter(value => value !== null);
	return known.length ? known.reduce((a, b) => a + b, 0) : null;
}

// A sum over limiters; the value of some can be unknown.
function sumText({known, bounded, whole}, text) {
	if (!bounded)
		return "all";
	if (known === null)
		return whole ? "–" : "unknown";
	return `${whole ? "" : "≥ "}${text(known)}`;
}

function sumRate(sum, count) {
	return sumText(sum, known => rateText(known, count));
}

// The rate that may pass; "all" if packets beyond it are only marked or counted.
function mayText({may, bounded}, count) {
	return bounded ? rateText(may, count) : "all";
}

function remember(policy, at) {
	const history = state.histories.get(policy.name) || [];
	const parts = {};
	for (const {name, passed} of policy.limiters)
		parts[name] = passed;
	for (const {name, about} of policy.told)
		parts[name] = about;
	history.push({at, parts, known: policy.limiters.some(({passed}) => passed !== null),
		limit: policy.may ?? policy.limit, asked: policy.sums.demand.known,
		dropped: policy.sums.dropped.known});
	while (history.length && history[0].at < at - KEEP_MS)
		history.shift();
	state.histories.set(policy.name, history);
	return history;
}

// The newest bounds of the limiters differ a little: the largest holds for all.
function boundText({limiters, count}) {
	const bounds = limiters.map(one => one.bound).filter(bound => bound !== null);
	return bounds.length === 0 ? ""
		: `; the group enforces at most ${rateText(Math.max(...bounds), count)}`;
}

// The limit, with the peak of colours or the part of a parent.
function limitText({limit, may, peak, parent, bounded, count}) {
	let text = limit === null ? "" : ` of ${rateText(limit, count)}`;
	if (peak !== null && peak > limit)
		text += `, peak ${rateText(peak, count)}`;
	if (parent && bounded && may < limit)
		text += `, now ${rateText(may, count)} as its part of ${parent}`;
	else if (parent)
		text += `, below ${parent}`;
	return text + (bounded ? "" : ", which is not enforced");
}

function droppedText({sums, told, count}) {
	const {dropped, dropped_packets: packets} = sums;
	if (packets.known)
		return `${sumRate(dropped, count)} (${sumText(packets, packetsText)}) dropped`;
	if (packets.known === null)
		return "drops unknown";
	return told.length ? "nothing dropped by the limiters of this page" : "nothing dropped";
}

function showPolicy(policy) {
	state.policy = policy;
	$("held-sentence").hidden = !policy;
	if (!policy) {
		setText($("policy-name"), state.wanted ? `${state.wanted} is not there` : "…");
		setText($("rate"), "–");
		setText($("of-limit"), "");
		return;
	}
	const {count, sums} = policy;
	setText($("policy-name"), policy.name);
	setText($("rate"), sumRate(sums.passed, count));
	setText($("of-limit"), limitText(policy));
	setText($("held-sentence"), `demand ${sumRate(sums.demand, count)}, ` +
		droppedText(policy) + boundText(policy));
	remember(policy, state.at);
	fillShares(policy);
	showTotal(policy);
	drawChart();
}

function swatchOf(name, series) {
	const one = series.find(other => other.name === name);
	return one ? classOf(one) : "";
}

function aboutText(value, count) {
	return value === null ? "unknown" : `≈ ${rateText(value, count)}`;
}

function fillShares(policy) {
	const series = seriesOf(policy), {count} = policy;
	const rows = policy.limiters.map(one => ({key: one.name, cells: [
		{text: one.name, swatch: swatchOf(one.name, series)},
		number(rateText(one.passed, count)), number(mayText(one, count)),
		number(rateText(one.demand, count)), number(rateText(one.dropped, count))]}));
	for (const one of policy.told)
		rows.push({key: one.name, cells: [
			{text: one.name, swatch: swatchOf(one.name, series)},
			number(aboutText(one.about, count)),
			number(one.bounded ? aboutText(one.may, count) : "all"),
			number(one.demand === null ? "unknown" : rateText(one.demand, count)),
			number("unknown")]});
	rows.sort((a, b) => a.key.localeCompare(b.key));
	fill($("shares").tBodies[0], rows);
	fill($("shares").tFoot, [{key: "sum", cells: ["Together",
		...["passed", "may", "demand", "dropped"].map(
			key => number(sumRate(policy.sums[key], count)))]}]);
	$("told-note").hidden = policy.told.length === 0;
}

function showTotal({total, left, spent, prefetched, count}) {
	$("total").hidden = total === null;
	if (total === null)
		return;
	const rest = left === null ? "an unknown amount" : amountText(left, count);
	setText($("total-text"), `${rest} left of ${amountText(total, count)}; the limiters of ` +
		`this page have spent ${amountText(spent, count)} and hold ` +
		`${amountText(prefetched, count)} ready`);
	$("total-bar").style.width = `${total > 0 ? Math.round(left / total * 100) : 0}%`;
}

// --- the chart and its table ---------------------------------------------------------------------

const chart = new Chart($("chart"), readPoint);

function drawChart() {
	const {policy} = state;
	const history = state.histories.get(policy.name) || [];
	const last = history[history.length - 1];
	chart.show({points: history, series: state.series.get(policy.name) || [],
		count: policy.count, spanMs: state.spanMs, gapMs: GAP * state.intervalMs,
		now: state.at});
	if (last && Date.now() - (chart.labelled || 0) > 10000) {
		chart.labelled = Date.now(); // no label for screen readers each second
		$("chart").ariaLabel = `Rate of the group over time, policy ${policy.name}: now ` +
			`${sumRate(policy.sums.passed, policy.count)}, limit ` +
			rateText(policy.may ?? policy.limit, policy.count);
	}
	if ($("history").open)
		fillHistory();
}

function pointText(point) {
	const {policy} = state, {count} = policy;
	const parts = (state.series.get(policy.name) || []).map(({name}) =>
		`${name} ${rateText(point.parts[name] ?? null, count)}`);
	return `${clockText(point.at)}: ${parts.join(", ")}; together ` +
		rateText(sumOf(Object.values(point.parts)), count);
}

function readPoint(point) {
	setText($("chart-readout"), point ? pointText(point) : "");
	if (point && document.activeElement === $("chart"))
		announce(pointText(point));
}

function clockText(at) {
	return new Date(at).toLocaleTimeString([], {hour12: false});
}

// Fills the table with about thirty points of the chart, the newest first.
function fillHistory() {
	const {policy} = state, {count} = policy;
	const series = state.series.get(policy.name) || [];
	const points = (state.histories.get(policy.name) || []).filter(
		({at}) => at >= state.at - state.spanMs);
	const every = Math.max(1, Math.ceil(points.length / ROWS_OF_HISTORY));
	const head = ["Time", ...series.map(({name}) => name), "together", "may pass", "demand",
		"dropped"];
	const tr = $("history").querySelector("thead tr");
	if (tr.words !== head.join()) {
		tr.words = head.join();
		tr.replaceChildren(...head.map((text, i) => {
			const th = document.createElement("th");
			th.scope = "col";
			th.className = i ? "n" : "";
			th.textContent = text;
			return th;
		}));
	}
	const shown = points.reverse().filter((_, i) => i % every === 0);
	fill($("history").querySelector("tbody"), shown.map(point => {
		const rates = [...series.map(({name}) => point.parts[name] ?? null),
			sumOf(Object.values(point.parts)), point.limit, point.asked, point.dropped];
		return {key: point.at, cells: [clockText(point.at),
			...rates.map(rate => number(rateText(rate, count)))]};
	}));
}

// --- the group -----------------------------------------------------------------------------------

function showGroup(group) {
	state.at = group.at;
	state.intervalMs = group.interval_ms;
	fillHeld(group);
	fillDrops(group.drops);
	fillLimiters(group.limiters);
	fillPeers(group.peers);
	showAlarms(group.limiters);
}

function fillHeld({held, dropping, policies, limiters, unasked}) {
	const most = Math.max(...held.map(one => one.dropped_packets), 1);
	const left_out = limiters.reduce((sum, one) => sum + (one.left_out || 0), 0);
	setText($("held-count"), `${countText(dropping)} of ${plural(policies, "policy").replace(
		"policys", "policies")} drop packets now` +
		(left_out ? `; ${countText(left_out)} more are not looked at` : "") +
		(unasked ? `; ${plural(unasked, "limiter")} without a socket here` : ""));
	const least = unasked ? "≥ " : "";
	fill($("held").tBodies[0], held.map(one => ({key: one.name, cells: [
		{text: one.name, button: () => choose(one.name)},
		number(least + packetsText(one.dropped_packets), {bar: one.dropped_packets / most}),
		number(least + rateText(one.passed, one.count)),
		number(mayText(one, one.count))]})),
	unasked ? "none of the limiters of this page" : "none");
}

function fillDrops(drops) {
	const rows = Object.entries(drops).map(([reason, one]) => ({reason, ...one}));
	rows.sort((a, b) => b.per_s - a.per_s || b.total - a.total);
	const most = Math.max(...rows.map(row => row.per_s || 0), 1);
	setText($("drops-count"), rows.length ? "All limiters of this page, all policies" : "");
	fill($("drops").tBodies[0], rows.map(({reason, per_s, total}) => ({key: reason, cells: [
		{text: reason, more: REASONS[reason]},
		number(packetsText(per_s), {bar: (per_s || 0) / most}),
		number(countText(total))]})),
	"no packet has been dropped");
}

function ledgerText({ledger, recovering, ledger_error}) {
	if (!ledger || ledger === "none")
		return "none";
	return ledger + (recovering ? `: ${plural(recovering, "policy")}` : "") +
		(ledger_error ? `: ${ledger_error}` : "");
}

function ledgerStyle({ledger}) {
	return ["failing", "other_ledger", "recovering"].includes(ledger) ? "bad" : "";
}

function fillLimiters(limiters) {
	fill($("limiters").tBodies[0], limiters.map(one => ({key: one.name, cells: [one.name,
		one.up ? {text: "up", style: "good"} : {text: "does not answer", style: "bad"},
		number(one.peers_watched ? `${one.peers_alive} of ${one.peers_watched}` : "–",
			{style: one.peers_alive < one.peers_watched ? "n bad" : "n"}),
		number(packetsText(one.rx_pps)),
		number(`${shareText(one.worker_busy)} / ${shareText(one.control_busy)}`),
		{text: ledgerText(one), style: ledgerStyle(one)},
		number(timeText(one.uptime_s))]})), "no limiter is there");
}

function fillPeers(peers) {
	fill($("peers").tBodies[0], peers.map(one => ({key: `${one.name} ${one.by}`, cells: [
		one.name, one.by, {text: one.state, style: one.state === "lost" ? "bad" : ""},
		number(agoText(one.silent_ms)),
		one.differs && one.differs.length ? {text: one.differs.join("; "), style: "bad"}
			: one.state === "alive" ? "yes" : "–"]})), "no peers");
}

function showAlarms(limiters) {
	const names = new Map(); // by alarm: one line for all limiters that have it
	for (const one of limiters.filter(({up}) => up))
		for (const text of one.alarms)
			names.set(text, [...names.get(text) || [], one.name]);
	const words = [...limiters.filter(({up}) => !up).map(({name}) => `${name} does not answer`),
		...[...names].map(([text, of]) => `${of.join(", ")}: ${text}`)];
	$("alarms").hidden = words.length === 0;
	const items = $("alarm-list").children;
	if (words.join("\n") === $("alarm-list").words)
		return;
	$("alarm-list").words = words.join("\n");
	$("alarm-list").replaceChildren(...words.map(text => {
		const li = document.createElement("li");
		li.textContent = text;
		return li;
	}));
	// Announces a change of the number of alarms only, because ages in alarms always change.
	if (items.length !== state.alarms)
		announce(words.length ? `${plural(words.length, "thing")} wrong: ${words[0]}`
			: "Nothing is wrong any more");
	state.alarms = items.length;
}

// --- choosing ------------------------------------------------------------------------------------

function choose(name) {
	if (state.wanted === name)
		return;
	state.wanted = name;
	history.replaceState(null, "", name ? `#${encodeURIComponent(name)}` : location.pathname);
	$("policy-find").value = name || "";
	announce(name ? `Policy ${name} is shown` : "The policy that drops most is shown");
	connect();
}

const finder = {
	input: $("policy-find"), list: $("policy-list"), names: [], active: -1, timer: 0,

	open(found) {
		this.names = [null, ...found.map(({name}) => name)];
		this.list.replaceChildren(this.option("the policy that drops most", "", 0),
			...found.map((one, i) => this.option(one.name, this.figure(one), i + 1)));
		this.list.hidden = false;
		this.input.ariaExpanded = "true";
		this.activate(this.input.value && found.length ? 1 : 0);
	},

	figure({dropped_packets, passed, count}) {
		return dropped_packets ? `drops ${packetsText(dropped_packets)}`
			: rateText(passed, count);
	},

	option(text, more, i) {
		const li = document.createElement("li");
		li.id = `option-${i}`;
		li.role = "option";
		for (const words of [text, more]) {
			const span = document.createElement("span");
			span.textContent = words;
			li.append(span);
		}
		li.onpointerdown = event => {
			event.preventDefault(); // the focus stays where it is
			this.take(i);
		};
		return li;
	},

	activate(i) {
		this.active = Math.max(0, Math.min(i, this.names.length - 1));
		for (const [k, li] of [...this.list.children].entries())
			li.ariaSelected = String(k === this.active);
		this.list.children[this.active].scrollIntoView({block: "nearest"});
		this.input.setAttribute("aria-activedescendant", `option-${this.active}`);
	},

	close() {
		clearTimeout(this.timer);
		this.list.hidden = true;
		this.input.ariaExpanded = "false";
		this.input.removeAttribute("aria-activedescendant");
		this.input.value = state.wanted || "";
	},

	take(i) {
		const name = this.names[i];
		choose(name);
		this.close();
	},

	async find(words) {
		const url = `policies?find=${encodeURIComponent(words)}`;
		const reply = await fetch(url).catch(() => null);
		if (reply?.ok && document.activeElement === this.input)
			this.open(await reply.json());
	},

	findSoon(words) {
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.find(words), FIND_AFTER_MS);
	},

	key(event) {
		const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: 10, PageUp: -10};
		if (event.key in steps) {
			event.preventDefault();
			if (this.list.hidden)
				this.find("");
			else
				this.activate(this.active + steps[event.key]);
		} else if (event.key === "Enter" && !this.list.hidden) {
			this.take(this.active);
		} else if (event.key === "Escape") {
			this.close();
		}
	},
};

finder.input.addEventListener("focus", () => { finder.input.select(); finder.find(""); });
finder.input.addEventListener("click", () => { if (finder.list.hidden) finder.find(""); });
finder.input.addEventListener("input", () => finder.findSoon(finder.input.value));
finder.input.addEventListener("keydown", event => finder.key(event));
finder.input.addEventListener("blur", () => finder.close());
finder.input.value = state.wanted || "";

for (const input of document.querySelectorAll("[name=span]"))
	input.addEventListener("change", () => {
		state.spanMs = input.value * 1000;
		if (state.policy)
			drawChart();
	});
$("history").addEventListener("toggle", () => { if (state.policy) drawChart(); });
addEventListener("hashchange", () => choose(decodeURIComponent(location.hash.slice(1)) || null));

// --- the connection ------------------------------------------------------------------------------

function announce(text) {
	setText($("announce"), text);
}

function showLive(kind, text) {
	if ($("live").dataset.state !== kind && kind === "lost")
		announce(text);
	$("live").dataset.state = kind;
	document.body.classList.toggle("stale", kind === "lost");
	setText($("live-text"), text);
}

function heard() {
	state.heardAt = Date.now();
	showLive("live", state.intervalMs === 1000 ? "live, each second"
		: `live, each ${state.intervalMs / 1000} s`);
}

function connect() {
	state.events?.close();
	const events = new EventSource(
		state.wanted ? `events?policy=${encodeURIComponent(state.wanted)}` : "events");
	state.events = events;
	events.addEventListener("group", ({data}) => {
		showGroup(JSON.parse(data));
		heard();
	});
	events.addEventListener("policy", ({data}) => {
		showPolicy(JSON.parse(data));
		document.body.dataset.at = state.at; // the event is shown completely
	});
	events.onerror = () => {
		showLive("lost", "no connection to the exporter, trying again");
		if (events.readyState === EventSource.CLOSED) // refused: too many viewers
			setTimeout(() => { if (state.events === events) connect(); }, AGAIN_MS);
	};
}

// Detects a connection that is open but silent.
setInterval(() => {
	const silent = Date.now() - state.heardAt;
	if (state.heardAt && silent > LOST_AFTER * state.intervalMs + 4000)
		showLive("lost", `nothing heard for ${timeText(silent / 1000)}`);
}, 1000);

connect();
