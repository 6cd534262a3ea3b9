/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packets that wait for a policy below others.
 */
#include "shape_steps.h"

#include <rte_mbuf.h>

#include "policer.h"
#include "police/lineage.h"
#include "police/shaped.h"
#include "shape_mbuf.h"
#include "worker_data.h"

/* The levels above a policy whose packets wait. */
struct levels_above {
	struct lineage lineage;
	uint32_t slots[POLICY_LEVELS_MOST];
};

static void find_levels(struct levels_above *above, struct worker *w,
	const struct policy_shape *shape, const struct shape_packet *packet)
{
	struct lineage *lineage = &above->lineage;
	unsigned n = lineage_of(w, shape->slot, above->slots);

	*lineage = (struct lineage){.n = n - 1, .total = n - 1, .cost = packet->cost};
	for (unsigned k = 0; k < lineage->n; k++)
		lineage->levels[k] = &w->policies[above->slots[k + 1]];
}

static void lend_levels(struct levels_above *above, struct worker *w, uint64_t now)
{
	struct lineage *lineage = &above->lineage;

	for (unsigned k = 0; w->shared_buckets && k < lineage->n; k++)
		if (police_is_simple(lineage->levels[k]) || police_borrows(lineage->levels[k]))
			policer_lend(
				w, lineage->levels[k], above->slots[k + 1], lineage->cost, now);
}

/* Marks a packet for the level that marks. Returns true if it was marked. */
static bool mark_waiting(struct rte_mbuf *m, const struct lineage *lineage)
{
	const struct policy_state *level = lineage->levels[police_lineage_marker(lineage)];
	struct packet packet;

	packet_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, &packet);
	return policer_mark(m, &packet, police_mark(level));
}

/*
 * Returns true if all levels let the packet leave. Otherwise above->lineage has the one that
 * refuses.
 */
static bool ask_levels(struct levels_above *above, struct worker *w,
	const struct policy_shape *shape, struct shape_packet *packet, uint64_t now)
{
	enum verdict verdict;

	find_levels(above, w, shape, packet);
	lend_levels(above, w, now);
	verdict = police_lineage_ask(&above->lineage, now);
	if (verdict == VERDICT_MARK && !mark_waiting(shape_mbuf_of(packet), &above->lineage)) {
		police_lineage_refuse(&above->lineage, police_lineage_marker(&above->lineage));
		return false;
	}
	return verdict != VERDICT_DROP;
}

/* Stores the levels that caused the verdict in the packet, because it might be counted later. */
static bool take_above(
	void *context, struct shape_queue *queue, struct shape_packet *packet, uint64_t now)
{
	struct levels_above above;

	if (!ask_levels(&above, context, (struct policy_shape *)queue, packet, now))
		return false;
	police_lineage_take(&above.lineage);
	packet->spare = (uint8_t)above.lineage.over;
	return true;
}

unsigned shape_above_refuser(struct worker *w, const struct policy_shape *shape,
	struct shape_packet *packet, uint64_t now)
{
	struct levels_above above;

	if (ask_levels(&above, w, shape, packet, now))
		return 0;
	return police_lineage_refuser(&above.lineage) + 1;
}

void shape_above_give(
	struct worker *w, const struct policy_shape *shape, const struct shape_packet *packet)
{
	struct levels_above above;

	find_levels(&above, w, shape, packet);
	above.lineage.over = packet->spare;
	police_lineage_give(&above.lineage);
}

static void give_above(void *context, struct shape_queue *queue, struct shape_packet *packet)
{
	shape_above_give(context, (struct policy_shape *)queue, packet);
}

void shape_above_begin(struct worker *w)
{
	const struct shape_above above = {.take = take_above, .give = give_above, .context = w};

	shaper_ask(w->shaper, &above);
}

/* Takes the cost of a packet that the levels have not decided on, as far as they have it. */
static void take_what_is_there(const struct lineage *lineage)
{
	for (unsigned k = 0; k < lineage->n; k++) {
		struct token_bucket *bucket = lineage_bucket(lineage->levels[k]);
		uint64_t tokens = lineage_tokens(lineage->levels[k], lineage->cost);

		bucket->tokens -= tokens < bucket->tokens ? tokens : bucket->tokens;
	}
}

void shape_above_leave(struct worker *w, const struct policy_shape *shape,
	const struct shape_packet *packet, bool taken)
{
	struct levels_above above;

	find_levels(&above, w, shape, packet);
	if (taken)
		above.lineage.over = packet->spare;
	else
		take_what_is_there(&above.lineage);
	police_lineage_count(&above.lineage);
}
