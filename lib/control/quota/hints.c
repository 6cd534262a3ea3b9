/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Estimates of the others' units. Safety does not depend on any of them.
 */
#include "quota/quota_private.h"

#include "base/math.h"

/* Factor of a threshold over the units spent while units are fetched. */
#define SAFETY 2

/* A limiter requests half of its part by rate of the remaining units. All is never available. */
#define PART_ASKED 2

#define NS_MILLI UINT64_C(1000000000000)

/* An eighth more or less units, or a quarter of the rate, is no news. */
#define HELD_NEWS 8
#define RATE_NEWS 4

/*
 * Multiples of `repeat_ns`. The number of limiters in the reports must stay for so long before
 * viewers get their sum: if these are all limiters; and if some are missing, perhaps dead. With an
 * earlier sum to show, the latter is longer than most restarts.
 */
#define REPEATS_ALL  1
#define REPEATS_FEW  4
#define REPEATS_HELD 20

/* Multiples of `repeat_ns` for which viewers get an earlier sum if none settles. */
#define REPEATS_SHOWN 40

/* A rate at which units last for a day is no news either; 1/1000 units a second. */
#define RATE_LEAST(units) ((units) / 86400 * 1000)

/* Units spent at a rate in a time. */
static uint64_t spent_in(uint64_t rate, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)rate * ns / NS_MILLI);
}

static uint64_t elapsed_ns(uint64_t from_ns, uint64_t now_ns)
{
	return (int64_t)(now_ns - from_ns) > 0 ? now_ns - from_ns : 0;
}

uint64_t hint_rate(const struct quota_node *q, uint64_t now_ns)
{
	return min_u64(pace_rate(&q->pace, now_ns, q->params.memory_ns), LEDGER_MOST);
}

uint64_t hint_threshold(const struct quota_node *q, uint64_t now_ns)
{
	uint64_t fetched = spent_in(hint_rate(q, now_ns), q->theta_ns);

	return min_u64(SAFETY * min_u64(fetched, LEDGER_MOST / SAFETY) + (uint64_t)q->pace.typical,
		LEDGER_MOST);
}

uint64_t hint_behind(const struct quota_edge *e, uint64_t now_ns)
{
	uint64_t spent = spent_in(e->pace, elapsed_ns(e->hint_ns, now_ns));

	return e->held > spent ? e->held - spent : 0;
}

bool hint_dry(const struct quota_node *q, const struct quota_edge *e, uint64_t now_ns)
{
	return e->known && e->held == 0 && elapsed_ns(e->hint_ns, now_ns) < q->params.repeat_ns;
}

uint64_t hint_remaining(const struct quota_node *q, uint64_t now_ns)
{
	uint64_t sum = quota_stock(q);

	for (uint32_t i = 0; i < q->params.n_edges; i++)
		if (q->edges[i].linked)
			sum = min_u64(sum + hint_behind(&q->edges[i], now_ns), LEDGER_MOST);
	return sum;
}

uint64_t hint_pace(const struct quota_node *q, uint64_t now_ns)
{
	uint64_t sum = hint_rate(q, now_ns);

	for (uint32_t i = 0; i < q->params.n_edges; i++)
		if (q->edges[i].linked && q->edges[i].has_reported)
			sum = min_u64(sum + q->edges[i].pace, LEDGER_MOST);
	return sum;
}

uint64_t hint_part(const struct quota_node *q, uint64_t now_ns)
{
	uint64_t rate = hint_rate(q, now_ns), held = quota_stock(q);
	unsigned __int128 rates = rate;

	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		const struct quota_edge *e = &q->edges[i];

		if (!e->linked || !e->has_reported)
			continue;
		rates += e->pace;
		held = min_u64(held + hint_behind(e, now_ns), LEDGER_MOST);
	}
	return rates ? (uint64_t)((unsigned __int128)held * rate / rates) : 0;
}

uint64_t hint_target(const struct quota_node *q, uint64_t now_ns)
{
	uint64_t threshold = q->low ? 0 : hint_threshold(q, now_ns);
	uint64_t ahead = min_u64(threshold, LEDGER_MOST / q->reach) * q->reach;

	return max_u64(max_u64(ahead, q->waiting), hint_part(q, now_ns) / PART_ASKED);
}

/*
 * Returns the number of limiters whose units are here and in the reports, except the report over
 * one edge (n_edges: none). In a loop the number would rise for ever: it ends at one above the
 * number of all limiters.
 */
static uint32_t count_limiters(const struct quota_node *q, uint32_t except)
{
	uint64_t n = 1, most = q->params.limiters ? q->params.limiters + UINT64_C(1) : UINT32_MAX;

	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		const struct quota_edge *e = &q->edges[i];

		if (i != except && e->linked && e->known)
			n += e->limiters;
	}
	return (uint32_t)min_u64(n, most);
}

/* Returns the sum of the reports now. */
static struct quota_group sum_reports(const struct quota_node *q, uint64_t now_ns)
{
	struct quota_group sum = {
		.known = true, .remaining = quota_stock(q), .pace = hint_rate(q, now_ns)};

	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		const struct quota_edge *e = &q->edges[i];

		if (!e->linked || !e->known)
			continue;
		sum.remaining = min_u64(sum.remaining + hint_behind(e, now_ns), LEDGER_MOST);
		sum.pace = min_u64(sum.pace + e->pace, LEDGER_MOST);
	}
	return sum;
}

/* Returns how long the present number must last; UINT64_MAX: some limiter counts twice. */
static uint64_t settling_ns(const struct quota_node *q)
{
	uint64_t repeats = q->group.known ? REPEATS_HELD : REPEATS_FEW;

	if (q->params.limiters && q->counted > q->params.limiters)
		return UINT64_MAX;
	if (q->counted == q->params.limiters)
		repeats = q->counted > 1 ? REPEATS_ALL : 0;
	return repeats * q->params.repeat_ns;
}

static bool has_settled(const struct quota_node *q, uint64_t now_ns)
{
	return count_limiters(q, q->params.n_edges) == q->counted &&
	       (q->settled || elapsed_ns(q->counted_ns, now_ns) >= settling_ns(q));
}

uint64_t hint_settle(struct quota_node *q, uint64_t now_ns)
{
	uint32_t n = count_limiters(q, q->params.n_edges);

	if (n != q->counted) {
		if (q->settled)
			q->unsettled_ns = now_ns;
		q->counted = n;
		q->counted_ns = now_ns;
		q->settled = false;
	}
	if (has_settled(q, now_ns)) {
		q->settled = true;
		q->group = sum_reports(q, now_ns);
		q->group_ns = now_ns;
		return UINT64_MAX;
	}
	return settling_ns(q) == UINT64_MAX ? UINT64_MAX : q->counted_ns + settling_ns(q);
}

/* Returns the last sum of all, less the units spent since; none if it is too old. */
static struct quota_group held_group(const struct quota_node *q, uint64_t now_ns)
{
	uint64_t most_ns = REPEATS_SHOWN * q->params.repeat_ns, spent;
	struct quota_group held = q->group;

	if (!held.known || (!q->settled && elapsed_ns(q->unsettled_ns, now_ns) > most_ns))
		return (struct quota_group){0};
	spent = spent_in(held.pace, elapsed_ns(q->group_ns, now_ns));
	held.remaining -= min_u64(held.remaining, spent);
	held.held = true;
	return held;
}

struct quota_group hint_group(const struct quota_node *q, uint64_t now_ns)
{
	return has_settled(q, now_ns) ? sum_reports(q, now_ns) : held_group(q, now_ns);
}

void hint_write(const struct quota_node *q, uint32_t edge, struct quota_message *m, uint64_t now_ns)
{
	m->held = ledger_free(q->ledger);
	m->pace = hint_rate(q, now_ns);
	m->known = true;
	m->limiters = count_limiters(q, edge);
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		const struct quota_edge *e = &q->edges[i];

		if (!e->linked || i == edge)
			continue;
		m->held = min_u64(m->held + e->held, LEDGER_MOST);
		m->pace = min_u64(m->pace + e->pace, LEDGER_MOST);
		m->known &= e->known;
	}
}

void hint_read(struct quota_node *q, uint32_t edge, const struct quota_message *m, uint64_t now_ns)
{
	struct quota_edge *e = &q->edges[edge];

	q->news |= e->linked && (e->known != m->known || e->limiters != m->limiters);
	/* Where there was nothing, there is. */
	if (e->known && e->held == 0 && m->held > 0 && q->waiting) {
		q->failures = 0;
		q->refused = false;
		q->retry_ns = now_ns;
	}
	/* The sender had perhaps not received the units on their way to it. */
	e->held = min_u64(m->held + ledger_view(q->ledger, edge).in_flight, LEDGER_MOST);
	e->pace = m->pace;
	e->known = m->known;
	e->limiters = m->limiters;
	e->has_reported = true;
	e->early = !e->linked;
	e->hint_ns = now_ns;
}

static bool differs_enough(uint64_t a, uint64_t b, uint64_t part, uint64_t little)
{
	uint64_t difference = max_u64(a, b) - min_u64(a, b);

	return difference > little && difference > max_u64(a, b) / part;
}

/* A neighbour without a report gets one, also if nothing has happened since the start. */
static bool hint_is_news(const struct quota_node *q, const struct quota_edge *e,
	const struct quota_message *m, uint64_t now_ns)
{
	uint64_t chunk = q->params.chunk,
		 spent = spent_in(e->sent_pace, elapsed_ns(e->sent_ns, now_ns));

	if (!e->has_sent || e->sent_limiters != (m->known ? m->limiters : 0))
		return true;
	if (m->pace < e->sent_pace / RATE_NEWS || (m->pace == 0 && e->sent_pace > 0))
		return true;
	if (m->pace > e->sent_pace &&
		differs_enough(m->pace, e->sent_pace, RATE_NEWS, RATE_LEAST(m->held)))
		return true;
	return differs_enough(
		m->held, e->sent_held > spent ? e->sent_held - spent : 0, HELD_NEWS, chunk);
}

bool quota_refresh(struct quota_node *q, bool asks, uint64_t now_ns)
{
	struct quota_message m;
	bool more = false, unsent = q->params.word && ledger_count(q->ledger) > q->sent_count;

	if (ledger_recovering(q->ledger) || q->params.undated)
		return false;
	q->news = false;
	for (uint32_t i = 0; i < q->params.n_edges; i++) {
		struct quota_edge *e = &q->edges[i];

		if (!e->linked)
			continue;
		hint_write(q, i, &m, now_ns);
		/* A neighbour has the newest count, in case our record is restored later. */
		e->speak |= unsent || hint_is_news(q, e, &m, now_ns);
		unsent = false;
		if (asks && !e->known) {
			e->speak = true;
			e->due |= QUOTA_CONFIRM;
		}
		more |= e->speak || m.pace > 0 || e->sent_pace > 0;
	}
	return more;
}

bool quota_is_news(const struct quota_node *q)
{
	return q->news;
}
