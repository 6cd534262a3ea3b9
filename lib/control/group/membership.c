/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "group/membership.h"

bool peer_counter_fresh(struct peer *peer, uint64_t counter)
{
	uint64_t behind;

	if (counter == 0)
		return false;
	if (counter > peer->counter) {
		uint64_t ahead = counter - peer->counter;

		peer->window = ahead < REPLAY_WINDOW ? peer->window << ahead : 0;
		peer->window |= 1;
		peer->counter = counter;
		return true;
	}
	behind = peer->counter - counter;
	if (behind >= REPLAY_WINDOW || peer->window >> behind & 1)
		return false;
	peer->window |= UINT64_C(1) << behind;
	return true;
}

void peer_believe(struct peer *peer, uint64_t epoch, uint32_t tick, uint64_t now_ns)
{
	if (peer->known) {
		peer->restarts++;
		peer->retired_epoch = peer->epoch;
	}
	peer->known = true;
	peer->epoch = epoch;
	peer->tick = tick;
	peer->heard_ns = now_ns;
	peer->counter = 0;
	peer->window = 0;
	peer->confirmed = false;
	peer->claimed_epoch = 0;
}

void peer_heard(struct peer *peer, uint32_t tick, uint64_t now_ns)
{
	if (!serial_newer(tick, peer->tick))
		return;
	peer->tick = tick;
	peer->heard_ns = now_ns;
}

void peer_confirmed(struct peer *peer, uint64_t sent_ns)
{
	if (peer->confirmed && (int64_t)(sent_ns - peer->confirmed_ns) <= 0)
		return;
	peer->confirmed = true;
	peer->confirmed_ns = sent_ns;
}

/*
 * Signed, so that a time a little ahead of now (another thread's reading) is recent, not ancient.
 */
static bool heard_within(uint64_t then_ns, uint64_t now_ns, uint64_t timeout_ns)
{
	return (int64_t)(now_ns - then_ns) < (int64_t)timeout_ns;
}

bool peer_expire(struct peer *peer, uint64_t now_ns, uint64_t timeout_ns)
{
	bool was = peer->alive;

	peer->alive = peer->known && peer->confirmed &&
		      heard_within(peer->heard_ns, now_ns, timeout_ns) &&
		      heard_within(peer->confirmed_ns, now_ns, timeout_ns);
	return peer->alive != was;
}
