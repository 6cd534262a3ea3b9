/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Detects when a trouble begins and ends, by a counter that grows while it lasts, so that both are
 * reported once. Pure; any thread.
 */
#ifndef WEIR_APP_TROUBLE_H
#define WEIR_APP_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>

struct trouble {
	bool lasts, known; /* `known`: the counter has been read before */
	uint64_t count;    /* at the last look */
	uint64_t before;   /* count before the trouble began */
	uint64_t began_ns; /* time at which it began */
	uint64_t grew_ns;  /* last look at which the count had grown */
};

enum trouble_news { TROUBLE_SAME, TROUBLE_BEGINS, TROUBLE_ENDS };

/*
 * Looks at the counter. Counts from before the first look are ignored. The trouble ends after
 * quiet_ns without growth.
 */
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

/* Returns the count since the trouble began. */
static inline uint64_t trouble_counted(const struct trouble *trouble)
{
	return trouble->count - trouble->before;
}

/* The level of a quota. */
enum total_level { TOTAL_PLENTY, TOTAL_NEAR_END, TOTAL_SPENT_ALL };

/*
 * Returns the level of a quota. At 90 % it is near its end. It is spent if no more is left than the
 * part that workers hold (a 65536th) and one packet of so many units. A small amount returns by
 * itself. So a spent quota keeps this level until more than twice as much is left; one near its
 * end, until more than 15 % is left.
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
