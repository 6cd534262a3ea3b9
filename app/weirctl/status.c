/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "status". Its document holds the server's replies under the names of its commands, and
 * "rates": the change between two looks.
 */
#include "command.h"

#include <errno.h>
#include <string.h>

#include "ask/source.h"
#include "field.h"
#include "health.h"

/* Time between the two looks: long enough for bursts. */
#define INTERVAL_MS 1000

#define BITS 8

/* Counters that grow. */
struct look {
	double rx, tx;             /* packets, all workers */
	double rx_bytes, tx_bytes; /* all ports */
	json_t *drops;             /* packets by reason; NULL: unknown */
};

static void look_at_ports(struct source *source, const json_t *ports, struct look *look)
{
	const json_t *port;
	size_t i;

	json_array_foreach (ports, i, port) {
		const struct field number = {"", "port", KIND_COUNT};
		char text[FIELD_TEXT_MAX];
		json_t *stats;

		if (source_get_of(source, "/ethdev/stats", field_text(port, &number, text), &stats))
			continue;
		look->rx_bytes += field_number(stats, "ibytes");
		look->tx_bytes += field_number(stats, "obytes");
		json_decref(stats);
	}
}

/* Adds one reply to the document, or null if the server has no such command. 0 or -errno. */
static int add_status_part(struct source *source, json_t *document, const char *key,
	const char *request, const char *listing)
{
	json_t *value = NULL;
	int ret = listing ? source_list(source, request, NULL, listing, &value)
			  : source_get(source, request, &value);

	if (ret && ret != -ENOENT)
		return ret;
	json_object_set_new(document, key, value ? value : json_null());
	return 0;
}

static int look_once(struct source *source, json_t *document, struct look *look)
{
	int ret = add_status_part(source, document, "workers", "/weir/workers", NULL);
	const json_t *worker;
	size_t i;

	*look = (struct look){0};
	if (ret == 0)
		ret = add_status_part(source, document, "ports", "/weir/ports", NULL);
	if (ret == 0)
		ret = add_status_part(source, document, "drops", "/weir/drops", NULL);
	if (ret)
		return ret;
	json_array_foreach (json_object_get(document, "workers"), i, worker) {
		look->rx += field_number(worker, "rx_packets");
		look->tx += field_number(worker, "tx_packets");
	}
	look_at_ports(source, json_object_get(document, "ports"), look);
	look->drops = json_incref(json_object_get(document, "drops"));
	return 0;
}

static json_t *rates_between(const struct look *a, const struct look *b, double seconds)
{
	json_t *drops = json_object(), *value;
	const char *reason;

	json_object_foreach (b->drops, reason, value) {
		double before = field_number(a->drops, reason);

		json_object_set_new(
			drops, reason, json_real((json_number_value(value) - before) / seconds));
	}
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:o}", "seconds", seconds, "rx_pps",
		(b->rx - a->rx) / seconds, "tx_pps", (b->tx - a->tx) / seconds, "rx_bps",
		(b->rx_bytes - a->rx_bytes) * BITS / seconds, "tx_bps",
		(b->tx_bytes - a->tx_bytes) * BITS / seconds, "drops_pps", drops);
}

static int measure_rates(struct source *source, json_t *document)
{
	struct look a = {0}, b = {0};
	int ret = look_once(source, document, &a);

	if (ret == 0) {
		double seconds = source->pause(source, INTERVAL_MS);

		ret = look_once(source, document, &b);
		/* Ctrl-C can end the pause early; without a pause there is no rate. */
		json_object_set_new(document, "rates",
			ret == 0 && seconds > 0 ? rates_between(&a, &b, seconds) : json_null());
	}
	json_decref(a.drops);
	json_decref(b.drops);
	return ret;
}

int status_gather(struct source *source, const struct request *request, json_t **document)
{
	static const struct {
		const char *key, *request, *listing;
	} parts[] = {
		{"info", "/info", NULL},
		{"config", "/weir/config", NULL},
		{"health", "/weir/health", NULL},
		{"change", "/weir/change", NULL},
		{"process", "/weir/process", NULL},
		{"peers", "/weir/peers", "peers"},
		{"ledger", "/weir/ledger", NULL},
		{"limits", "/weir/limits", NULL},
	};
	int ret = 0;

	(void)request;
	*document = json_object();
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && ret == 0; i++)
		ret = add_status_part(
			source, *document, parts[i].key, parts[i].request, parts[i].listing);
	return ret ? ret : measure_rates(source, *document);
}

/* Returns the name of this limiter, or "-". */
static const char *self_name(const json_t *peers)
{
	const json_t *peer;
	size_t i;

	json_array_foreach (peers, i, peer) {
		const char *state = json_string_value(json_object_get(peer, "state"));
		const char *name = json_string_value(json_object_get(peer, "name"));

		if (state && name && strcmp(state, "self") == 0)
			return name;
	}
	return "-";
}

/* ", lost: edge-fra-1 edge-ams-1", or "" when no peer is lost. */
static json_t *lost_of(const json_t *peers)
{
	json_t *text = json_string("");
	const json_t *peer;
	size_t i;

	json_array_foreach (peers, i, peer) {
		const char *state = json_string_value(json_object_get(peer, "state"));
		const char *name = json_string_value(json_object_get(peer, "name"));
		json_t *before = text;

		if (!state || strcmp(state, "lost") != 0)
			continue;
		text = json_sprintf("%s%s%s", json_string_value(before),
			json_string_length(before) ? " " : ", lost: ", name ? name : "?");
		json_decref(before);
	}
	return text;
}

static json_t *group_of(const json_t *document)
{
	const json_t *peers = member_at(document, "peers.peers");
	size_t n = json_array_size(peers);
	json_t *lost, *text;

	if (n < 2)
		return json_string(n ? "alone" : "-");
	lost = lost_of(peers);
	text = json_sprintf("%zu limiters, %.0f of %zu peers alive%s; %s", n,
		field_number(document, "peers.alive"), n - 1, json_string_value(lost),
		json_is_true(member_at(document, "peers.sealed")) ? "sealed" : "NOT SEALED");
	json_decref(lost);
	return text;
}

/* The active alarms, "none", or null if the server does not report them. */
static json_t *alarms_of(const json_t *document)
{
	json_t *alarms = json_object_get(json_object_get(document, "health"), "alarms");

	if (!alarms)
		return json_null();
	return json_array_size(alarms) > 0 ? json_incref(alarms) : json_string("none");
}

/* A reload that runs or failed; null when neither is so. */
static json_t *reload_of(const json_t *document)
{
	const char *state = json_string_value(member_at(document, "config.reload"));
	const char *at = json_string_value(member_at(document, "config.last_reload.at"));

	if (json_is_false(member_at(document, "config.last_reload.ok")) &&
		!json_is_true(member_at(document, "config.last_reload.superseded")))
		return json_sprintf(
			"REFUSED at %s, see: weirctl config", at ? at : "an unknown time");
	return state && strcmp(state, "idle") != 0 ? json_string(state) : json_null();
}

/* "3 (by schedule: 2, by override: 1)", or null without limits that change by time. */
static json_t *limits_of(const json_t *document)
{
	const json_t *limits = json_object_get(document, "limits");
	double n = field_number(limits, "total");

	if (!(n > 0))
		return json_null();
	return json_sprintf("%.0f (by schedule: %.0f, by override: %.0f)", n,
		field_number(limits, "by_schedule"), field_number(limits, "by_override"));
}

/* Servers without shadow mode enforce; null without a reply about the configuration. */
static json_t *mode_of(const json_t *document)
{
	if (json_is_true(member_at(document, "config.shadow")))
		return json_string("SHADOW (nothing is enforced)");
	return json_is_object(json_object_get(document, "config")) ? json_string("enforcing")
								   : json_null();
}

/* The file, and how the running configuration differs from it; null if both are unknown. */
static json_t *config_of(const json_t *document)
{
	const char *file = json_string_value(member_at(document, "config.file"));
	const char *runs = json_string_value(member_at(document, "change.runs.words"));

	if (!file)
		file = json_string_value(member_at(document, "change.file"));
	if (!runs || !file)
		return file ? json_string(file) : runs ? json_string(runs) : json_null();
	if (strcmp(runs, "the file") == 0)
		return json_sprintf("%s (unchanged)", file);
	return json_sprintf("%s; running: %s", file, runs);
}

/* The ledger's state, or null if no policy needs a ledger. */
static json_t *ledger_of(const json_t *document)
{
	const char *state = json_string_value(member_at(document, "ledger.state"));

	return state && strcmp(state, "none") != 0 ? json_string(state) : json_null();
}

/* "servers UP 10.0 Gbit/s" for each port. */
static json_t *links_of(const json_t *ports)
{
	static const struct field fields[] = {
		{"", "name", KIND_TEXT},
		{"", "link", KIND_TEXT},
		{"", "speed_mbps", KIND_MBITS},
	};
	json_t *links = json_array();
	const json_t *port;
	size_t i;

	json_array_foreach (ports, i, port) {
		char name[FIELD_TEXT_MAX], link[FIELD_TEXT_MAX], speed[FIELD_TEXT_MAX];
		bool known = strcmp(field_text(port, &fields[2], speed), "-") != 0;

		json_array_append_new(
			links, json_sprintf("%s %s%s%s", field_text(port, &fields[0], name),
				       field_text(port, &fields[1], link), known ? " " : "",
				       known ? speed : ""));
	}
	return links;
}

/* "472 pkt/s, 3.83 Mbit/s", or null without a second look. */
static json_t *status_rate_of(const json_t *rates, const char *packets, const char *bits)
{
	const struct field pps = {"", packets, KIND_PACKETS}, bps = {"", bits, KIND_BITS};
	char first[FIELD_TEXT_MAX], second[FIELD_TEXT_MAX];

	field_text(rates, &pps, first);
	field_text(rates, &bps, second);
	if (strcmp(first, "-") == 0)
		return json_string(second);
	return strcmp(second, "-") == 0 ? json_string(first)
					: json_sprintf("%s, %s", first, second);
}

/* True for a reason with packets, or with a rate after its counter was reset. */
static bool is_dropping(const json_t *document, const char *reason, const json_t *packets)
{
	const json_t *rate = json_object_get(member_at(document, "rates.drops_pps"), reason);

	return json_number_value(packets) != 0 || json_number_value(rate) != 0;
}

/* "none"; null if there are any, which a table shows, or if the server does not report them. */
static json_t *drops_of(const json_t *document)
{
	json_t *drops = json_object_get(document, "drops"), *packets;
	const char *reason;

	json_object_foreach (drops, reason, packets)
		if (is_dropping(document, reason, packets))
			return json_null();
	return json_is_object(drops) ? json_string("none") : json_null();
}

static int print_details(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"limiter", "limiter", KIND_TEXT},
		{"health", "state", KIND_TEXT},
		{"group", "group", KIND_TEXT},
		{"alarms", "alarms", KIND_TEXT},
		{"version", "info.version", KIND_TEXT},
		{"pid", "info.pid", KIND_COUNT},
		{"uptime", "process.uptime_s", KIND_SECONDS},
		{"policies", "config.policies", KIND_COUNT},
		{"mode", "mode", KIND_TEXT},
		{"config", "running", KIND_TEXT},
		{"timed limits", "timed", KIND_TEXT},
		{"reload", "reload_state", KIND_TEXT},
		{"ledger", "ledger_state", KIND_TEXT},
		{"workers", "n_workers", KIND_COUNT | NONZERO},
		{"ports", "links", KIND_TEXT},
		{"received", "received", KIND_TEXT},
		{"sent", "sent", KIND_TEXT},
		{"drops", "no_drops", KIND_TEXT},
	};
	const json_t *rates = member_at(document, "rates");
	const json_t *workers = json_object_get(document, "workers");
	json_t *shown = json_pack(
		"{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o}", "mode",
		mode_of(document), "limiter", self_name(member_at(document, "peers.peers")),
		"state", health_line(document), "group", group_of(document), "alarms",
		alarms_of(document), "running", config_of(document), "timed", limits_of(document),
		"reload_state", reload_of(document), "ledger_state", ledger_of(document),
		"n_workers", (int)json_array_size(workers), "links",
		links_of(json_object_get(document, "ports")), "received",
		status_rate_of(rates, "rx_pps", "rx_bps"), "sent",
		status_rate_of(rates, "tx_pps", "tx_bps"), "no_drops", drops_of(document));
	int ret = json_object_update_missing(shown, (json_t *)document)
			  ? -ENOMEM
			  : fields_detail(shown, FIELDS(fields), view);

	json_decref(shown);
	return ret;
}

/* A row for each reason with drops, and no table without any. */
static int print_drops(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"DROPPED", "reason", KIND_TEXT},
		{"PACKETS", "packets", KIND_COUNT},
		{"NOW", "rate", KIND_PACKETS},
	};
	const json_t *rates = member_at(document, "rates.drops_pps");
	json_t *rows = json_array(), *packets;
	const char *reason;
	int ret;

	json_object_foreach (json_object_get(document, "drops"), reason, packets) {
		if (!is_dropping(document, reason, packets))
			continue;
		json_array_append_new(
			rows, json_pack("{s:s, s:O, s:O?}", "reason", reason, "packets", packets,
				      "rate", json_object_get(rates, reason)));
	}
	ret = json_array_size(rows) ? fields_list(rows, FIELDS(fields), view) : rows ? 0 : -ENOMEM;
	json_decref(rows);
	return ret;
}

int status_print(const json_t *document, struct view *view)
{
	int ret = print_details(document, view);

	return ret ? ret : print_drops(document, view);
}

int status_verdict(const json_t *document)
{
	return health_state(document) == HEALTH_OK ? 0 : EXIT_UNHEALTHY;
}
