/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reports when a quota nears its end, when it is spent, and when it has units again.
 */
#include "watch_totals.h"

#include <rte_common.h>

#include "credits.h"
#include "event.h"
#include "instance.h"
#include "show.h"
#include "trouble.h"

/* Time between looks; most policies, and most policies with a quota, in one look. */
#define LOOK_NS     (SECOND_NS / 4)
#define LOOKED_MOST 4096
#define TOTALS_MOST 256

#define PACKET_BYTES 1518 /* a larger packet than the rest of a quota does not pass */

static void say_total(const struct policy *policy, const struct show_total *of,
	enum total_level before, enum total_level level)
{
	if (level == TOTAL_SPENT_ALL)
		event(TOTAL_SPENT, event_word("policy", policy->name),
			event_count("total", of->total));
	else if (level == TOTAL_NEAR_END && before == TOTAL_PLENTY)
		event(TOTAL_NEAR, event_word("policy", policy->name), event_count("left", of->left),
			event_count("total", of->total));
	else
		event(TOTAL_BACK, event_word("policy", policy->name), event_count("left", of->left),
			event_count("total", of->total));
}

/* Returns true if the policy has a quota. */
static bool look_at_total(struct instance *inst, unsigned i)
{
	uint8_t *told = credits_published(inst, inst->slots.of[i]);
	const struct policy *policy = &inst->policies[i];
	enum total_level level;
	struct show_total of;

	/* An estimate is no event: the reports that follow can correct it. */
	if (!told || !show_total_of(inst, i, &of) || !of.known || of.held)
		return told != NULL;
	level = total_level(
		*told, of.left, of.total, policy->count == COUNT_BYTES ? PACKET_BYTES : 0);
	if (level != *told)
		say_total(policy, &of, *told, level);
	*told = (uint8_t)level;
	return true;
}

uint64_t watch_totals_next(const struct instance *inst)
{
	return inst->credits->first ? inst->credits->watched_ns + LOOK_NS : UINT64_MAX;
}

bool watch_totals(struct instance *inst, uint64_t now_ns)
{
	unsigned n = RTE_MIN(inst->n_policies, (unsigned)LOOKED_MOST), totals = 0;

	if (now_ns < watch_totals_next(inst))
		return false;
	inst->credits->watched_ns = now_ns;
	for (unsigned k = 0; k < n && totals < TOTALS_MOST; k++) {
		if (inst->credits->watched >= inst->n_policies)
			inst->credits->watched = 0;
		totals += look_at_total(inst, inst->credits->watched++);
	}
	return false;
}
