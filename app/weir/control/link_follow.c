/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "link_follow.h"

#include "base/math.h"

void link_follow_begin(struct link_follow *follow, uint64_t now_ns)
{
	*follow = (struct link_follow){
		.down = LINK_END_NONE,
		.lost = LINK_END_NONE,
		.fresh = LINK_END_NONE,
		.starting = true,
		.fresh_ns = now_ns,
	};
}

/* Returns true for a link that was just brought up. It needs time to negotiate, and is not lost. */
static bool is_fresh(struct link_follow *follow, enum link_end end, bool up, uint64_t now_ns)
{
	if (now_ns - follow->fresh_ns >= LINK_FOLLOW_GRACE_NS) {
		follow->starting = false;
		follow->fresh = LINK_END_NONE;
	}
	if (up && follow->fresh == end)
		follow->fresh = LINK_END_NONE;
	return follow->starting || follow->fresh == end;
}

static enum link_end find_lost(struct link_follow *follow, const bool up[2], uint64_t now_ns)
{
	enum link_end lost = LINK_END_NONE;

	if (up[LINK_END_A] && up[LINK_END_B])
		follow->starting = false;
	for (enum link_end end = LINK_END_A; end <= LINK_END_B; end++)
		if (!is_fresh(follow, end, up[end], now_ns) && !up[end] && lost == LINK_END_NONE)
			lost = end;
	return lost;
}

static enum link_act follow_lost(
	struct link_follow *follow, const bool up[2], uint64_t now_ns, enum link_end *end)
{
	enum link_end lost = find_lost(follow, up, now_ns);

	if (lost != follow->lost) {
		follow->lost = lost;
		follow->since_ns = now_ns;
	}
	if (lost == LINK_END_NONE || now_ns - follow->since_ns < LINK_FOLLOW_DOWN_NS)
		return LINK_LEAVE;
	*end = follow->down = lost == LINK_END_A ? LINK_END_B : LINK_END_A;
	follow->lost = LINK_END_NONE;
	follow->returns = false;
	follow->again_ns = now_ns;
	follow->wait_ns = LINK_FOLLOW_AGAIN_NS;
	return LINK_TAKE_DOWN;
}

/*
 * Takes an end down again that is up: another program has changed it, or its device ignores Weir.
 * Each time logs two lines.
 */
static enum link_act take_down_again(struct link_follow *follow, uint64_t now_ns)
{
	if (now_ns < follow->again_ns)
		return LINK_LEAVE;
	follow->again_ns = now_ns + follow->wait_ns;
	follow->wait_ns = min_u64(2 * follow->wait_ns, LINK_FOLLOW_AGAIN_MOST_NS);
	return LINK_TAKE_DOWN;
}

enum link_act link_follow_turn(
	struct link_follow *follow, const bool up[2], uint64_t now_ns, enum link_end *end)
{
	bool back;

	if (follow->down == LINK_END_NONE)
		return follow_lost(follow, up, now_ns, end);
	*end = follow->down;
	back = up[follow->down == LINK_END_A ? LINK_END_B : LINK_END_A];
	if (back != follow->returns) {
		follow->returns = back;
		follow->since_ns = now_ns;
	}
	if (!back)
		return up[follow->down] ? take_down_again(follow, now_ns) : LINK_LEAVE;
	if (now_ns - follow->since_ns < LINK_FOLLOW_UP_NS)
		return LINK_LEAVE;
	follow->fresh = follow->down;
	follow->fresh_ns = now_ns;
	follow->down = LINK_END_NONE;
	follow->lost = LINK_END_NONE;
	return LINK_BRING_UP;
}
