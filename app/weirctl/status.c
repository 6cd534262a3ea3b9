/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "status". Its document has what the server says under the names of its commands, and
 * "rates": what happened between two looks.
 */
#include "command.h"

#include <errno.h>
#include <string.h>

#include "ask/member.h"
#include "exits.h"
#include "field.h"
#include "health.h"

/* Between the two looks: long enough for what comes in bursts. */
#define INTERVAL_MS 1000

#define BITS 8

/* What grows. */
struct look {
	double rx, tx;             /* packets, of the workers */
	double rx_bytes, tx_bytes; /* of the ports */
	json_t *drops;             /* NULL: not known */
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

static void look_at_workers(const json_t *workers, struct look *look)
{
	const json_t *worker;
	size_t i;

	json_array_foreach (workers, i, worker) {
		look->rx += field_number(worker, "rx_packets");
		look->tx += field_number(worker, "tx_packets");
	}
}

/* A part that the server does not have is null in the document; 0 or what else went wrong. */
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

	*look = (struct look){0};
	if (ret == 0)
		ret = add_status_part(source, document, "ports", "/weir/ports", NULL);
	if (ret == 0)
		ret = add_status_part(source, document, "drops", "/weir/drops", NULL);
	if (ret)
		return ret;
	look_at_workers(json_object_get(document, "workers"), look);
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
		/* Cut short before anything could be measured. */
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

/* The name of the one of ourselves, or "-". */
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

/* ", lost: edge-fra-1 edge-ams-1"; nothing when none is. */
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

/* What the limiter says is wrong now. */
static json_t *alarms_of(const json_t *document)
{
	json_t *alarms = json_object_get(json_object_get(document, "health"), "alarms");

	if (!alarms)
		return json_string("-");
	return json_array_size(alarms) > 0 ? json_incref(alarms) : json_string("none");
}

/* "idle"; and that what is in force is not what the file says. */
static json_t *reload_of(const json_t *document)
{
	const char *state = json_string_value(member_at(document, "config.reload"));
	const char *at = json_string_value(member_at(document, "config.last_reload.at"));

	if (json_is_false(member_at(document, "config.last_reload.ok")))
		return json_sprintf("%s; REFUSED at %s: see weirctl config", state ? state : "-",
			at ? at : "-");
	return json_string(state ? state : "-");
}

/* "3 that change by time; now by schedule: 2, overrides: 1"; nothing where there are none. */
static json_t *limits_of(const json_t *document)
{
	const json_t *limits = json_object_get(document, "limits");
	double n = field_number(limits, "total");

	if (!(n > 0))
		return json_string("-");
	return json_sprintf("%.0f that change by time; now by schedule: %.0f, overrides: %.0f", n,
		field_number(limits, "by_schedule"), field_number(limits, "by_override"));
}

/* Whether what policies say is done to packets; of a limiter before there was shadow it is. */
static const char *mode_of(const json_t *document)
{
	if (json_is_true(member_at(document, "config.shadow")))
		return "SHADOW: nothing is enforced";
	return json_is_object(json_object_get(document, "config")) ? "enforces" : "-";
}

/* "servers UP 10.0 Gbit/s" of each port. */
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

static json_t *status_rate_of(const json_t *rates, const char *packets, const char *bits)
{
	const struct field pps = {"", packets, KIND_PACKETS}, bps = {"", bits, KIND_BITS};
	char first[FIELD_TEXT_MAX], second[FIELD_TEXT_MAX];

	return json_sprintf(
		"%s, %s", field_text(rates, &pps, first), field_text(rates, &bps, second));
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
		{"up for", "process.uptime_s", KIND_SECONDS},
		{"policies", "config.policies", KIND_COUNT},
		{"mode", "mode", KIND_TEXT},
		{"runs", "change.runs.words", KIND_TEXT},
		{"limits", "other_limits", KIND_TEXT},
		{"reload", "reload_state", KIND_TEXT},
		{"ledger", "ledger.state", KIND_TEXT},
		{"workers", "n_workers", KIND_COUNT},
		{"ports", "links", KIND_TEXT},
		{"received", "received", KIND_TEXT},
		{"sent", "sent", KIND_TEXT},
	};
	const json_t *rates = member_at(document, "rates");
	const json_t *workers = json_object_get(document, "workers");
	json_t *shown = json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:i, s:o, s:o, s:o}", "mode",
		mode_of(document), "limiter", self_name(member_at(document, "peers.peers")),
		"state", health_names[health_state(document)], "group", group_of(document),
		"alarms", alarms_of(document), "other_limits", limits_of(document), "reload_state",
		reload_of(document), "n_workers", (int)json_array_size(workers), "links",
		links_of(json_object_get(document, "ports")), "received",
		status_rate_of(rates, "rx_pps", "rx_bps"), "sent",
		status_rate_of(rates, "tx_pps", "tx_bps"));
	int ret = json_object_update_missing(shown, (json_t *)document)
			  ? -ENOMEM
			  : fields_detail(shown, FIELDS(fields), view);

	json_decref(shown);
	return ret;
}

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
		json_t *row = json_pack("{s:s, s:O, s:O?}", "reason", reason, "packets", packets,
			"rate", json_object_get(rates, reason));

		json_array_append_new(rows, row);
	}
	ret = rows ? fields_list(rows, FIELDS(fields), view) : -ENOMEM;
	json_decref(rows);
	return ret;
}

int status_print(const json_t *document, struct view *view)
{
	int ret = print_details(document, view);

	if (ret)
		return ret;
	return print_drops(document, view);
}

int status_verdict(const json_t *document)
{
	return health_state(document) == HEALTH_OK ? 0 : EXIT_UNHEALTHY;
}
