/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * When a trouble begins and when it has ended, by a counter that grows while it lasts: so that each
 * is said once. Pure; any thread.
 */
#ifndef WEIR_APP_TROUBLE_H
#define WEIR_APP_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>

struct trouble {
	bool lasts, known; /* known: it has been looked at before */
	uint64_t count;    /* as of the last look */
	uint64_t before;   /* it began: what had been counted, */
	uint64_t began_ns; /* and when */
	uint64_t grew_ns;  /* the last look at which it had grown */
};

enum trouble_news { TROUBLE_SAME, TROUBLE_BEGINS, TROUBLE_ENDS };

/* What was counted before the first look is nobody's trouble any more. It ends after so long. */
static inline enum trouble_news trouble_look(
	struct trouble *trouble, uint64_t count, uint64_t now_ns, uint64_t quiet_ns)
{
	bool grew = trouble->known && count > trouble->count;
	uint64_t before = trouble->count;

	trouble->known = true;
	trouble->count = count;
	if (grew)
		trouble->grew_ns = now_ns;
	if (grew && !trouble->lasts) {
		trouble->lasts = true;
		trouble->before = before;
		trouble->began_ns = now_ns;
		return TROUBLE_BEGINS;
	}
	if (!trouble->lasts || grew || now_ns - trouble->grew_ns < quiet_ns)
		return TROUBLE_SAME;
	trouble->lasts = false;
	return TROUBLE_ENDS;
}

/* What has been counted since it began. */
static inline uint64_t trouble_counted(const struct trouble *trouble)
{
	return trouble->count - trouble->before;
}

/* What there is of a total. */
enum total_level { TOTAL_PLENTY, TOTAL_NEAR_END, TOTAL_SPENT_ALL };

/*
 * At 90 % it nears its end; it is spent when no more is left than what workers hold of it (a
 * 65536th) and does for a packet of so many units. What comes back by itself is a little: that does
 * not count before there is more than twice as much.
 */
static inline enum total_level total_level(
	enum total_level before, uint64_t left, uint64_t total, uint64_t packet)
{
	uint64_t spent = total / 65536 + packet, near = total / 10;

	if (left <= spent || (before == TOTAL_SPENT_ALL && left <= 2 * spent))
		return TOTAL_SPENT_ALL;
	if (left <= near || (before != TOTAL_PLENTY && left <= near + near / 2))
		return TOTAL_NEAR_END;
	return TOTAL_PLENTY;
}

#endif
