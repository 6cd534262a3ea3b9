// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 The Weir authors
//
// A chart of stacked rates, below a limit. It draws the given data.
// The only state is the position of the cursor.

const NS = "http://www.w3.org/2000/svg";
const EDGE = {top: 24, bottom: 24, left: 46, right: 12};
const NAMES_WIDTH = 124;   // next to the chart, if it is wide enough for names
const NAMES_FROM = 620;
const NAME_HEIGHT = 17;

// Possible spans of the chart, and the distance of their ticks, in seconds.
const TICKS = {15: 5, 30: 5, 60: 10, 120: 20, 300: 60, 600: 120, 900: 180};

const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

function prefixOf(value) {
	return PREFIXES.find(([size]) => Math.abs(value) >= size) || [1, ""];
}

// Three significant digits, without trailing zeros.
function digits(value) {
	if (value === 0)
		return "0";
	if (value < 0.01)
		return "<0.01";
	return value >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
}

const UNITS = {bytes: "bit/s", packets: "pps", flows: "flows/s"};
const AMOUNTS = {bytes: "B", packets: "packets", flows: "flows"};

/** The text of a rate in units per second; bytes become bits. */
export function rateText(value, count) {
	if (value === null || value === undefined || Number.isNaN(value))
		return "–";
	const shown = count === "bytes" ? value * 8 : value;
	const [size, prefix] = prefixOf(shown);
	return `${digits(shown / size)} ${prefix}${UNITS[count]}`;
}

/** The text of an amount of units. */
export function amountText(value, count) {
	if (value === null || value === undefined)
		return "–";
	const [size, prefix] = prefixOf(value);
	return `${digits(value / size)} ${prefix}${AMOUNTS[count]}`;
}

function element(name, attributes, text) {
	const made = document.createElementNS(NS, name);
	for (const [key, value] of Object.entries(attributes))
		made.setAttribute(key, value);
	if (text !== undefined)
		made.textContent = text;
	return made;
}

/** The CSS classes of a limiter: its colour, and whether only peers report it. */
export function classOf({color, told}) {
	return `k${color}${told ? " told" : ""}`;
}

// A step of 1, 2 or 5 times a power of ten, which makes about four steps.
function niceStep(most) {
	const rough = most / 4, power = 10 ** Math.floor(Math.log10(rough));
	return [1, 2, 5, 10].map(n => n * power).find(step => step >= rough);
}

// Runs of points with a value, without a gap.
function segments(points, gapMs) {
	const all = [];
	let last = null;
	for (const point of points) {
		if (!point.known) {
			last = null;
			continue;
		}
		if (!last || point.at - last.at > gapMs)
			all.push([]);
		all[all.length - 1].push(point);
		last = point;
	}
	return all;
}

export class Chart {
	/** onRead(point or null): called when the cursor moves to another point. */
	constructor(svg, onRead) {
		this.svg = svg;
		this.onRead = onRead;
		this.data = null;
		this.cursorAt = null;
		new ResizeObserver(() => this.draw()).observe(svg);
		svg.addEventListener("pointermove", event => this.point(event));
		svg.addEventListener("pointerleave", () => this.moveTo(null));
		svg.addEventListener("blur", () => this.moveTo(null));
		svg.addEventListener("keydown", event => this.key(event));
	}

	/**
	 * Draws an object with `points`, `series`, `count`, `spanMs`, `gapMs` and `now`. A point is
	 * `{at, known, parts: {name: rate}, limit, asked}`, and a series is `{name, color, told}`.
	 */
	show(data) {
		this.data = data;
		this.draw();
	}

	draw() {
		const {width, height} = this.svg.getBoundingClientRect();
		if (!this.data || width < 80)
			return;
		const named = width >= NAMES_FROM;
		this.box = {left: EDGE.left, top: EDGE.top, bottom: height - EDGE.bottom,
			right: width - EDGE.right - (named ? NAMES_WIDTH : 0)};
		this.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
		this.spanMs = this.spanOf(this.data);
		this.points = this.data.points.filter(
			point => point.at >= this.data.now - this.spanMs);
		this.scale();
		this.svg.replaceChildren(...this.grid(), ...this.areas(), ...this.lines(),
			...(named ? this.names() : []), ...this.cursor());
	}

	// Shorter than the requested span while there are not enough points.
	spanOf({points, now, spanMs}) {
		const known = points.length ? now - points[0].at : 0;
		return Math.min(spanMs, 1000 * Number(Object.keys(TICKS).find(
			s => s * 1000 >= known) || spanMs / 1000));
	}

	sum(point) {
		return this.data.series.reduce((sum, {name}) => sum + (point.parts[name] || 0), 0);
	}

	// The demand can be many times the limit, so it does not set the scale alone.
	scale() {
		let rates = 0, limit = 0, asked = 0;
		for (const point of this.points) {
			rates = Math.max(rates, this.sum(point));
			limit = Math.max(limit, point.limit || 0);
			asked = Math.max(asked, point.asked || 0);
		}
		const most = Math.max(rates * 1.08, limit * 1.2,
			limit ? Math.min(asked * 1.05, limit * 1.6) : asked * 1.05);
		this.most = most > 0 ? most : 1;
	}

	x(at) {
		const {left, right} = this.box;
		return right - (this.data.now - at) / this.spanMs * (right - left);
	}

	y(value) {
		const {top, bottom} = this.box;
		return Math.max(bottom - value / this.most * (bottom - top), top - 8);
	}

	place(at, value) {
		return `${this.x(at).toFixed(1)},${this.y(value).toFixed(1)}`;
	}

	* grid() {
		const {left, right, top, bottom} = this.box;
		const factor = this.data.count === "bytes" ? 8 : 1;
		const [size, prefix] = prefixOf(this.most * factor);
		const step = niceStep(this.most * factor);
		for (let value = 0; value <= this.most * factor; value += step) {
			const y = Math.round(this.y(value / factor)) + 0.5;
			yield element("line", {class: "grid", x1: left, x2: right, y1: y, y2: y});
			yield element("text", {x: left - 8, y: y + 4, "text-anchor": "end"},
				digits(value / size));
		}
		yield element("text", {x: 0, y: top - 6}, prefix + UNITS[this.data.count]);
		const every = TICKS[this.spanMs / 1000] * (right - left > 420 ? 1 : 2);
		for (let s = 0; s <= this.spanMs / 1000; s += every) {
			const words = s === 0 ? "now" : s < 120 ? `−${s} s` : `−${s / 60} min`;
			yield element("text", {x: this.x(this.data.now - s * 1000), y: bottom + 17,
				"text-anchor": s === 0 ? "end" : "middle"}, words);
		}
	}

	* areas() {
		for (const segment of segments(this.points, this.data.gapMs)) {
			const below = segment.map(() => 0);
			const edge = () => segment.map(({at}, i) => this.place(at, below[i]));
			for (const one of this.data.series) {
				const lower = edge();
				segment.forEach((point, i) => {
					below[i] += point.parts[one.name] || 0;
				});
				yield element("path", {class: `area ${classOf(one)}`,
					d: `M${edge().join("L")}L${lower.reverse().join("L")}Z`});
			}
		}
	}

	path(value, style) {
		let d = "", down = false;
		for (const point of this.points) {
			const known = point[value] !== null && point[value] !== undefined;
			if (known)
				d += (down ? "L" : "M") + this.place(point.at, point[value]);
			down = known;
		}
		return element("path", {class: style, d: d || "M0,0"});
	}

	* lines() {
		yield this.path("asked", "asked");
		yield this.path("limit", "limit");
		const last = this.points.findLast(point => point.limit !== null);
		if (last)
			yield element("text", {class: "limit-label", x: this.box.left + 6,
				y: this.y(last.limit) - 7},
			`limit ${rateText(last.limit, this.data.count)}`);
		const asked = this.points.findLast(point => point.asked !== null);
		if (asked?.asked > this.most)
			yield element("text", {x: this.box.right, y: this.box.top - 12,
				"text-anchor": "end"},
			`↑ demand ${rateText(asked.asked, this.data.count)}`);
	}

	// Puts each name next to its area, as near as the other names allow.
	* names() {
		const last = this.points.findLast(point => point.known);
		if (!last)
			return;
		let below = 0;
		const labels = this.data.series.map(one => {
			const part = last.parts[one.name] || 0, middle = below + part / 2;
			below += part;
			return {name: one.name, style: classOf(one), y: this.y(middle)};
		});
		let lowest = this.box.bottom + 2;
		for (const label of labels) {
			label.y = Math.min(label.y, lowest);
			lowest = label.y - NAME_HEIGHT;
		}
		const x = this.box.right + 10;
		for (const {name, style, y} of labels) {
			yield element("rect", {class: style, x, y: y - 5, width: 10, height: 10,
				rx: 3});
			yield element("text", {class: "name", x: x + 16, y: y + 4.5},
				name.length > 14 ? `${name.slice(0, 13)}…` : name);
		}
	}

	* cursor() {
		const point = this.points.find(({at}) => at === this.cursorAt);
		if (!point)
			return;
		const x = this.x(point.at);
		yield element("line", {class: "cursor", x1: x, x2: x, y1: this.box.top,
			y2: this.box.bottom});
	}

	moveTo(at) {
		if (at === this.cursorAt)
			return;
		this.cursorAt = at;
		this.draw();
		this.onRead(this.points?.find(point => point.at === at) || null);
	}

	point(event) {
		if (!this.points?.length)
			return;
		const x = event.clientX - this.svg.getBoundingClientRect().left;
		const away = point => Math.abs(this.x(point.at) - x);
		const nearest = this.points.reduce(
			(best, point) => away(point) < away(best) ? point : best);
		this.moveTo(nearest.at);
	}

	key(event) {
		const steps = {ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9};
		if (event.key === "Escape")
			this.moveTo(null);
		if (!(event.key in steps) || !this.points?.length)
			return;
		event.preventDefault();
		const known = this.points.findIndex(({at}) => at === this.cursorAt);
		const from = known < 0 ? this.points.length : known;
		const to = Math.min(Math.max(from + steps[event.key], 0), this.points.length - 1);
		this.moveTo(this.points[to].at);
	}
}
