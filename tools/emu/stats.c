/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "stats.h"

#include "command/output.h"
#include "policy/value.h"

/* Returns the time in µs within which `share` of the packets left, rounded up to a power of two. */
static uint64_t late_quantile_us(const struct lane_counters *counters, double share)
{
	double popped = (double)(counters->sent + counters->refused);
	uint64_t seen = 0;

	for (unsigned k = 0; k < LANE_LATE_BUCKETS; k++) {
		seen += counters->late[k];
		if ((double)seen >= share * popped)
			return 1ull << k;
	}
	return 1ull << LANE_LATE_BUCKETS;
}

static json_t *late_json(const struct lane_counters *c)
{
	uint64_t popped = c->sent + c->refused;
	double mean = popped ? (double)c->late_ns / (double)popped : 0;

	return json_pack("{s:f,s:I,s:I,s:f}", "mean", mean / 1e3, "p50_below",
		(json_int_t)late_quantile_us(c, 0.5), "p99_below",
		(json_int_t)late_quantile_us(c, 0.99), "max", (double)c->late_max_ns / 1e3);
}

static json_t *lane_json(const struct lane *lane)
{
	const struct lane_counters *c = &lane->counters;
	json_t *object = json_object();

	output_count(object, "received", c->received);
	output_count(object, "received_bytes", c->received_bytes);
	output_count(object, "sent", c->sent);
	output_count(object, "sent_bytes", c->sent_bytes);
	output_count(object, "lost", c->lost);
	output_count(object, "queue_full", c->queue_full);
	output_count(object, "overrun", c->overrun);
	output_count(object, "refused", c->refused);
	output_count(object, "waiting", lane_waiting(lane));
	output_count(object, "in_flight", lane_in_flight(lane));
	json_object_set_new(object, "late_us", late_json(c));
	return object;
}

static json_t *link_json(const struct link_options *link, const struct lane lane[DIRECTIONS])
{
	return json_pack("{s:s, s:s, s:o, s:o}", "a", link->port[0], "b", link->port[1],
		direction_name(DIRECTION_A_TO_B), lane_json(&lane[0]),
		direction_name(DIRECTION_B_TO_A), lane_json(&lane[1]));
}

json_t *stats_json(const struct options *options, const struct lane *lanes, uint64_t no_mbuf)
{
	json_t *links = json_array();

	for (unsigned i = 0; i < options->n_links; i++)
		json_array_append_new(links, link_json(&options->link[i], &lanes[i * DIRECTIONS]));
	return json_pack("{s:o, s:I}", "links", links, "no_mbuf", (json_int_t)no_mbuf);
}
