/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reports of local limits, for gossip_enforced(). A limiter keeps its local limits of the last
 * ticks. Its datagrams carry the largest of three windows that end with the tick of the datagram.
 * The receiver bounds the time of this tick by two times of its own. The earlier one is the start
 * of its own tick that the datagram echoes, plus the time for which the sender has held that tick.
 * The later one is the arrival. So no clocks are compared, in any network.
 *
 * The last section of a datagram has the reports. Its origin is the sender, so older limiters skip
 * it. The high half of its epoch is the time for which the echoed tick was held, in microseconds.
 * The low half has the lengths of the middle and of the short window, 16 bits each, in
 * milliseconds. Its tick is the length of the long window in microseconds. A record has the largest
 * limits of the windows in bytes per second. That of the long window is in `demand`, that of the
 * middle one in `weight`, and that of the short one in `version`, bit by bit like a float.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/math.h"
#include "base/time.h"
#include "gossip/proof.h"

#define KEPT       48   /* ticks of which local limits are kept */
#define TICKS      256  /* ticks whose beginnings are kept */
#define REPORTS    32   /* records in one datagram */
#define DRIFT_PART 1024 /* clocks of peers differ by less than this part of a time */

/* Factor that exceeds the rounding error of a conversion to float. */
#define ROUNDING_UP 1.000001

static const unsigned window_ticks[] = {5, 16, KEPT};
#define WINDOWS 3

/* Local limits of one policy here, bytes per second. */
struct own_limits {
	uint32_t tick;    /* the last one in `most` */
	float now;        /* since then */
	float most[KEPT]; /* from a tick to the next, by number */
};

/* Its writer's tick was between the two times of ours; before_ns 0: there is no report. */
struct limit_report {
	uint64_t after_ns, before_ns;
	uint64_t length_ns[WINDOWS];
	float most[WINDOWS];
};

/* A row of our own limits and of n reports. */
struct limits_row {
	struct own_limits own;
	struct limit_report reports[];
};

struct limit_reports {
	uint64_t began_ns[TICKS]; /* ticks of ours, by number */
	char *rows;               /* one for each policy */
	uint64_t *metered;        /* bits: policies with local limits of ours */
	unsigned last[];          /* n: last policy for each peer */
};

static size_t row_size(const struct gossip *g)
{
	return sizeof(struct limits_row) + g->roster->n * sizeof(struct limit_report);
}

static struct limits_row *row_of(const struct gossip *g, unsigned policy)
{
	return (void *)(g->enforced->rows + policy * row_size(g));
}

int enforced_create(struct gossip *g, uint64_t now_ns)
{
	g->enforced = calloc(1, sizeof(*g->enforced) + g->roster->n * sizeof(unsigned));
	if (!g->enforced)
		return -ENOMEM;
	g->enforced->began_ns[0] = now_ns;
	g->enforced->rows = calloc((size_t)g->policies->n + 1, row_size(g));
	g->enforced->metered = calloc(bitmap_words(g->policies->n), sizeof(uint64_t));
	return g->enforced->rows && g->enforced->metered ? 0 : -ENOMEM;
}

void enforced_destroy(struct gossip *g)
{
	if (g->enforced) {
		free(g->enforced->rows);
		free(g->enforced->metered);
	}
	free(g->enforced);
}

int enforced_update(struct gossip *g, const struct remap *map)
{
	struct limit_reports *e = g->enforced;
	char *rows = remap_rows(map, e->rows, row_size(g));
	uint64_t *metered = calloc(bitmap_words(map->n), sizeof(*metered));

	if (!rows || !metered) {
		free(rows);
		free(metered);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < map->n; i++)
		if (map->from[i] != GOSSIP_ADDED && bitmap_has(e->metered, map->from[i]))
			bitmap_set(metered, i);
	free(e->rows);
	free(e->metered);
	e->rows = rows;
	e->metered = metered;
	return 0;
}

/* Moves the reports of each row behind our own limits. */
static char *regroup_reports(const struct gossip *g, const struct regroup *map)
{
	size_t size = sizeof(struct limits_row) + map->roster->n * sizeof(struct limit_report);
	char *rows = calloc((size_t)g->policies->n + 1, size);

	for (unsigned policy = 0; rows && policy < g->policies->n; policy++) {
		const struct limits_row *from = row_of(g, policy);
		struct limits_row *to = (void *)(rows + policy * size);

		to->own = from->own;
		for (unsigned i = 0; i < map->roster->n; i++)
			if (map->from[i] != GOSSIP_ADDED)
				to->reports[i] = from->reports[map->from[i]];
	}
	return rows;
}

int enforced_regroup(struct gossip *g, const struct regroup *map)
{
	struct limit_reports *e = g->enforced;
	unsigned n = map->roster->n;
	struct limit_reports *moved = calloc(1, sizeof(*moved) + n * sizeof(unsigned));
	char *rows = regroup_reports(g, map);

	if (!moved || !rows) {
		free(moved);
		free(rows);
		return -ENOMEM;
	}
	memcpy(moved->began_ns, e->began_ns, sizeof(e->began_ns));
	moved->rows = rows;
	moved->metered = e->metered;
	for (unsigned i = 0; i < n; i++)
		if (map->from[i] != GOSSIP_ADDED)
			moved->last[i] = e->last[map->from[i]];
	free(e->rows);
	free(e);
	g->enforced = moved;
	return 0;
}

void enforced_tick(struct gossip *g, uint64_t now_ns)
{
	g->enforced->began_ns[g->tick % TICKS] = now_ns;
}

void gossip_enforce(struct gossip *g, unsigned policy, double rate)
{
	struct own_limits *own;

	if (!g->enforced)
		return;
	own = &row_of(g, policy)->own;
	if (g->tick - own->tick > KEPT)
		own->tick = g->tick - KEPT;
	while (own->tick != g->tick)
		own->most[++own->tick % KEPT] = own->now;
	bitmap_set(g->enforced->metered, policy);
	own->most[g->tick % KEPT] = fmaxf(own->most[g->tick % KEPT], (float)rate);
	own->now = (float)rate;
}

/* A window does not reach beyond the start of this limiter, which was tick 0. */
static struct limit_report own_report(const struct gossip *g, unsigned policy)
{
	const struct limit_reports *e = g->enforced;
	const struct own_limits *own = &row_of(g, policy)->own;
	uint64_t now = e->began_ns[g->tick % TICKS];
	struct limit_report report = {.after_ns = now, .before_ns = now};
	float most = own->now;
	unsigned i = 0;

	for (unsigned w = 0; w < WINDOWS; w++) {
		for (; i < window_ticks[w] && i < g->tick; i++)
			if (!serial_newer(g->tick - i - 1, own->tick))
				most = fmaxf(most, own->most[(g->tick - i - 1) % KEPT]);
		report.most[w] = most;
		report.length_ns[w] = now - e->began_ns[(g->tick - i) % TICKS];
	}
	return report;
}

/* Returns the next policy with local limits of ours, in a circle, or n_policies. */
static unsigned next_metered(const struct gossip *g, unsigned policy)
{
	const uint64_t *metered = g->enforced->metered;
	unsigned n = g->n_policies, next = bitmap_next(metered, n, min_u32(policy + 1, n));

	return next < n ? next : bitmap_next(metered, n, 0);
}

void enforced_write(struct gossip *g, struct cursor *cursor, unsigned to)
{
	const struct peer *peer = g->estimator->find(g, to);
	bool own_word = peer_echo_tick(peer, g->tick, proof_ticks(g) / 2) == peer->own_tick;
	uint64_t since = own_word ? peer->own_advanced_ns : peer->advanced_ns;
	uint64_t now = g->enforced->began_ns[g->tick % TICKS];
	struct datagram_section section = {.origin = g->roster->ids[g->self]};
	struct cursor begin = *cursor;
	unsigned *last = &g->enforced->last[to], policy = next_metered(g, *last);
	unsigned first = g->n_policies;

	if (since > now || cursor_left(cursor) < DATAGRAM_SECTION)
		return;
	datagram_write_section(cursor, &section);
	for (; policy != first && section.n_records < REPORTS &&
		cursor_left(cursor) >= DATAGRAM_RECORD;
		policy = next_metered(g, policy)) {
		struct limit_report own = own_report(g, policy);
		struct datagram_record record = {
			g->policies->ids[policy], 0, own.most[2], own.most[1]};

		if (section.n_records == 0)
			first = policy;
		*last = policy;
		memcpy(&record.version, &own.most[0], sizeof(record.version));
		section.epoch = min_u64((now - since) / US_NS, UINT32_MAX) << 32 |
				min_u64(own.length_ns[1] / MS_NS, UINT16_MAX) << 16 |
				min_u64(own.length_ns[0] / MS_NS, UINT16_MAX);
		section.tick = (uint32_t)min_u64(own.length_ns[2] / US_NS, UINT32_MAX);
		datagram_write_record(cursor, &record);
		section.n_records++;
	}
	if (section.n_records > 0)
		datagram_write_section(&begin, &section);
	else
		*cursor = begin;
}

void enforced_take(struct gossip *g, struct cursor *cursor, const struct datagram_section *section,
	const struct datagram_body *body, unsigned from, uint64_t now_ns)
{
	uint64_t held = (section->epoch >> 32) * US_NS;
	struct limit_report report = {
		.after_ns = g->enforced->began_ns[body->echo_tick % TICKS] + held -
			    held / DRIFT_PART,
		.before_ns = now_ns,
		.length_ns = {(section->epoch & UINT16_MAX) * MS_NS,
			(section->epoch >> 16 & UINT16_MAX) * MS_NS, section->tick * US_NS},
	};
	bool usable = proof_age(g, body) < TICKS && report.after_ns <= now_ns &&
		      body->tick == g->estimator->find(g, from)->own_tick;

	for (unsigned i = 0; i < section->n_records; i++) {
		struct datagram_record record;
		unsigned policy;

		datagram_read_record(cursor, &record);
		policy = id_table_find(g->policies, record.policy);
		memcpy(&report.most[0], &record.version, sizeof(record.version));
		report.most[1] = record.weight;
		report.most[2] = record.demand;
		if (usable && policy < g->n_policies && estimator_rate_valid(report.most[0]))
			row_of(g, policy)->reports[from] = report;
	}
}

static uint64_t report_begins(const struct limit_report *report, unsigned window)
{
	uint64_t length = report->length_ns[window];

	return report->before_ns - min_u64(report->before_ns, length - length / DRIFT_PART);
}

/* Returns the largest limit that can have been enforced at a moment, or a negative number. */
static double report_most(const struct limit_report *report, uint64_t at_ns)
{
	for (unsigned w = 0; w < WINDOWS && report->before_ns && at_ns <= report->after_ns; w++)
		if (report_begins(report, w) <= at_ns)
			return report->most[w] * ROUNDING_UP;
	return -1;
}

struct gossip_enforced gossip_enforced(const struct gossip *g, unsigned policy)
{
	struct gossip_enforced sum = {.unreported = g->roster->n - 1};
	const struct limit_report *row;
	struct limit_report own;
	uint64_t least;

	if (!g->enforced || !bitmap_has(g->enforced->metered, policy))
		return sum;
	row = row_of(g, policy)->reports;
	own = own_report(g, policy);
	sum.at_ns = own.after_ns;
	least = report_begins(&own, WINDOWS - 1);
	for (unsigned i = 0; i < g->roster->n; i++) {
		if (row[i].before_ns == 0 || !g->estimator->find(g, i)->alive)
			continue;
		sum.at_ns = min_u64(sum.at_ns, row[i].after_ns);
		least = max_u64(least, report_begins(&row[i], WINDOWS - 1));
	}
	sum.at_ns = max_u64(sum.at_ns, least);
	sum.most = report_most(&own, sum.at_ns);
	sum.now = own.most[0];
	for (unsigned i = 0; i < g->roster->n; i++) {
		double most = report_most(&row[i], sum.at_ns);

		if (most < 0)
			continue;
		sum.unreported--;
		sum.most += most;
		sum.now += row[i].most[0];
	}
	return sum;
}
