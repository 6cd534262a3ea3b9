/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The page's overview of the group as JSON: limiters, drops and peers (picture.h).
 */
#include "picture.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "ask/source.h"
#include "policy_pages.h"

/* The most that one reader can take in. */
#define ALARMS_MOST 8
#define PEERS_MOST  64

static const json_t *document_before(
	const struct boxes *now, const struct boxes *before, unsigned box)
{
	unsigned then = boxes_find(before, now->of[box].limiter, box);

	return then == BOXES_MOST ? NULL : before->of[then].document;
}

static double document_ms(const json_t *document)
{
	const json_t *at_ms = json_object_get(document, "at_ms");

	return json_is_number(at_ms) ? json_number_value(at_ms) : NAN;
}

/* Seconds between a limiter's answers now and before; NAN if there are none. */
static double seconds_between(const json_t *now, const json_t *before)
{
	double s = (document_ms(now) - document_ms(before)) / 1000;

	return s > 0 ? s : NAN;
}

/* --- limiters --------------------------------------------------------------------------------- */

static double sum_of_workers(const json_t *document, const char *counter)
{
	const json_t *worker;
	double sum = 0;
	size_t i;

	json_array_foreach (json_object_get(document, "workers"), i, worker)
		sum += json_number_value(json_object_get(worker, counter));
	return sum;
}

static json_t *worker_rate(const json_t *now, const json_t *before, const char *counter)
{
	return known_json(rate_of(sum_of_workers(now, counter), sum_of_workers(before, counter),
		seconds_between(now, before)));
}

/* The share of the busiest worker; null if none is reported. */
static json_t *busiest_worker(const json_t *document)
{
	const json_t *worker, *share;
	double most = NAN;
	size_t i;

	json_array_foreach (member_at(document, "process.workers"), i, worker) {
		share = json_object_get(worker, "busy_share");
		if (json_is_number(share))
			most = fmax(most, json_number_value(share));
	}
	return known_json(most);
}

static json_t *first_alarms(const json_t *document)
{
	json_t *first = json_array(), *alarm;
	size_t i;

	json_array_foreach (member_at(document, "health.alarms"), i, alarm)
		if (i < ALARMS_MOST)
			json_array_append(first, alarm);
	return first;
}

/* Returns the value, or null. */
static json_t *copy_of(const json_t *document, const char *path)
{
	const json_t *value = member_at(document, path);

	return value ? json_incref((json_t *)value) : json_null();
}

/* Adds the numbers of watched and of active peers. */
static void add_peer_counts(json_t *limiter, const json_t *document)
{
	json_int_t alive = 0, watched = 0;
	const json_t *peer;
	size_t i;

	json_array_foreach (json_object_get(document, "peers"), i, peer) {
		watched += json_object_get(peer, "alive") != NULL;
		alive += json_is_true(json_object_get(peer, "alive"));
	}
	json_object_set_new(limiter, "peers_alive", json_integer(alive));
	json_object_set_new(limiter, "peers_watched", json_integer(watched));
}

static json_t *limiter_json(const struct metrics_of *of, const json_t *before)
{
	const json_t *document = of->document;
	json_t *json = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
		metrics_of_name(of), "up", copy_of(document, "up"), "version",
		copy_of(document, "process.version"), "uptime_s",
		copy_of(document, "process.uptime_s"), "control_busy",
		copy_of(document, "process.control.busy_share"), "worker_busy",
		busiest_worker(document), "rx_pps", worker_rate(document, before, "rx_packets"),
		"tx_pps", worker_rate(document, before, "tx_packets"), "alarms",
		first_alarms(document), "ledger", copy_of(document, "ledger.state"), "left_out",
		copy_of(document, "left_out.policies"));

	add_peer_counts(json, document);
	json_object_set_new(json, "recovering", copy_of(document, "ledger.recovering_policies"));
	json_object_set_new(json, "ledger_error", copy_of(document, "ledger.error"));
	return json;
}

/* --- drops ------------------------------------------------------------------------------------ */

static void add_reason(json_t *reasons, const char *reason, double total, double per_s)
{
	json_t *known = json_object_get(reasons, reason);
	double sum = NAN;

	if (known) {
		const json_t *rate = json_object_get(known, "per_s");

		total += json_number_value(json_object_get(known, "total"));
		sum = json_is_number(rate) ? json_number_value(rate) : NAN;
	}
	add_known(&sum, per_s);
	json_object_set_new(reasons, reason,
		json_pack("{s:o, s:o}", "total", known_json(total), "per_s", known_json(sum)));
}

/* {reason: {total, per_s}}, for reasons that have occurred. */
static json_t *drops_json(const struct boxes *now, const struct boxes *before)
{
	json_t *reasons = json_object(), *total;
	const char *reason;

	for (unsigned i = 0; i < now->n; i++) {
		const json_t *document = now->of[i].document;
		const json_t *then = document_before(now, before, i);
		const json_t *drops = json_object_get(then, "drops");
		double seconds = seconds_between(document, then);

		json_object_foreach (json_object_get(document, "drops"), reason, total) {
			double n = json_number_value(total);

			if (n > 0)
				add_reason(reasons, reason, n,
					rate_of(n,
						json_number_value(json_object_get(drops, reason)),
						seconds));
		}
	}
	return reasons;
}

/* --- peers ------------------------------------------------------------------------------------ */

static json_t *peer_json(const json_t *peer, const char *by)
{
	return json_pack("{s:o, s:s, s:o, s:o, s:o, s:o}", "name", copy_of(peer, "name"), "by", by,
		"state", copy_of(peer, "state"), "silent_ms", copy_of(peer, "silent_ms"), "differs",
		copy_of(peer, "differs"), "ledger", copy_of(peer, "ledger"));
}

/* Adds the peers that are well, or those that are not, as seen by each limiter. */
static void add_peers(json_t *list, const struct boxes *now, bool well)
{
	for (unsigned i = 0; i < now->n; i++) {
		const json_t *peer;
		size_t k;

		json_array_foreach (json_object_get(now->of[i].document, "peers"), k, peer) {
			const bool is_well = !json_is_false(json_object_get(peer, "alive")) &&
					     json_array_size(json_object_get(peer, "differs")) == 0;

			if (is_well == well && json_array_size(list) < PEERS_MOST)
				json_array_append_new(
					list, peer_json(peer, metrics_of_name(&now->of[i])));
		}
	}
}

json_t *overview_json(const struct boxes *now, const struct boxes *before)
{
	json_t *limiters = json_array(), *peers = json_array();

	for (unsigned i = 0; now && i < now->n; i++)
		json_array_append_new(
			limiters, limiter_json(&now->of[i], document_before(now, before, i)));
	if (now) {
		add_peers(peers, now, false);
		add_peers(peers, now, true);
	}
	return json_pack("{s:o, s:o, s:o}", "limiters", limiters, "drops",
		now ? drops_json(now, before) : json_object(), "peers", peers);
}
