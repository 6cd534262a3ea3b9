/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Decides which peers are active.
 */
#include "group/membership.h"

#include <string.h>

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

struct peer_retired *peer_find_retired(struct peer *peer, uint64_t epoch)
{
	for (unsigned i = 0; i < PEER_RETIRED; i++)
		if (peer->retired[i].epoch == epoch)
			return &peer->retired[i];
	return NULL;
}

void peer_echoed(struct peer *peer, uint32_t tick)
{
	if (peer->has_echoed && !serial_newer(tick, peer->echoed))
		return;
	peer->has_echoed = true;
	peer->echoed = tick;
}

static bool claim_is_void(const struct peer_claim *claim, uint32_t tick, uint32_t wait)
{
	return claim->epoch == 0 || tick - claim->claimed_tick >= wait;
}

static bool claim_is_refuted(const struct peer_claim *claim, uint32_t tick, uint32_t wait)
{
	return claim->was_sent && tick - claim->echoed_tick >= wait;
}

/* Returns the place of a new claim: a free one, or that of a refuted claim, or NULL. */
static struct peer_claim *room_for_claim(
	struct peer *peer, uint32_t tick, uint32_t wait, struct prng *prng)
{
	struct peer_claim *refuted = NULL;
	unsigned n_refuted = 0;

	for (unsigned i = 0; i < PEER_CLAIMS; i++) {
		struct peer_claim *claim = &peer->claims[i];

		if (claim_is_void(claim, tick, wait))
			return claim;
		if (claim_is_refuted(claim, tick, wait) && prng_below(prng, ++n_refuted) == 0)
			refuted = claim;
	}
	return refuted;
}

static struct peer_claim *find_claim(struct peer *peer, uint64_t epoch)
{
	for (unsigned i = 0; i < PEER_CLAIMS; i++)
		if (peer->claims[i].epoch == epoch)
			return &peer->claims[i];
	return NULL;
}

void peer_claim(struct peer *peer, const struct peer_claim *received, uint32_t tick, uint32_t wait,
	struct prng *prng)
{
	struct peer_claim *claim = find_claim(peer, received->epoch);

	if (!claim)
		claim = room_for_claim(peer, tick, wait, prng);
	if (!claim)
		return;
	if (claim->epoch != received->epoch || claim_is_void(claim, tick, wait))
		*claim = *received;
	claim->claimed_tick = tick;
	/* An echo of an old tick would prove nothing: a recording must not move the tick back. */
	if (serial_newer(received->tick, claim->tick)) {
		claim->tick = received->tick;
		claim->speaks = received->speaks;
	}
}

/* Returns the claim whose turn it is: of all claims, or of those never echoed; or NULL. */
static struct peer_claim *claim_in_turn(
	struct peer *peer, uint32_t tick, uint32_t wait, bool echoed_too)
{
	for (unsigned i = 0; i < PEER_CLAIMS; i++) {
		unsigned at = (peer->claim_turn + i) % PEER_CLAIMS;
		struct peer_claim *claim = &peer->claims[at];

		if (claim_is_void(claim, tick, wait) || (claim->was_sent && !echoed_too) ||
			(peer->alive && claim_is_refuted(claim, tick, wait)))
			continue;
		peer->claim_turn = (uint8_t)((at + 1) % PEER_CLAIMS);
		return claim;
	}
	return NULL;
}

const struct peer_claim *peer_next_claim(struct peer *peer, uint32_t tick, uint32_t wait)
{
	struct peer_claim *claim = claim_in_turn(peer, tick, wait, false);

	if (!claim)
		claim = claim_in_turn(peer, tick, wait, true);
	if (claim && !claim->was_sent)
		claim->echoed_tick = tick;
	if (claim)
		claim->was_sent = true;
	return claim;
}

void peer_accept(struct peer *peer, uint64_t epoch, uint32_t tick, uint64_t now_ns)
{
	if (peer->known && peer->epoch != epoch) {
		peer->restarts += peer->proven;
		memmove(&peer->retired[1], peer->retired,
			sizeof(peer->retired) - sizeof(*peer->retired));
		peer->retired[0] = (struct peer_retired){peer->epoch, peer->counter};
		peer->replaced = peer->rival = peer->proven;
		peer->rival_tick = peer->received_tick;
	}
	peer->known = true;
	peer->epoch = epoch;
	peer->tick = peer->own_tick = tick;
	peer->advanced_ns = peer->own_advanced_ns = now_ns;
	peer->counter = 0;
	peer->window = 0;
	peer->confirmed = false;
	peer->proven = false;
	memset(peer->claims, 0, sizeof(peer->claims));
}

void peer_proven(struct peer *peer, uint64_t counter)
{
	peer->proven = true;
	peer->counter = counter - 1;
	peer->window = UINT64_MAX;
}

void peer_note_own_tick(struct peer *peer, uint32_t tick, uint32_t our_tick, uint64_t now_ns)
{
	if (tick != peer->own_tick)
		peer->own_advanced_ns = peer->advanced_ns = now_ns;
	peer->tick = peer->own_tick = tick;
	peer->received_tick = our_tick;
}

uint32_t peer_echo_tick(const struct peer *peer, uint32_t our_tick, uint32_t silent)
{
	return peer->proven && our_tick - peer->received_tick < silent ? peer->own_tick
								       : peer->tick;
}

bool peer_can_be_at(
	const struct peer *peer, uint32_t tick, uint64_t now_ns, uint64_t late_ns, uint64_t tick_ns)
{
	if (!peer->proven || !serial_newer(tick, peer->own_tick))
		return true;
	return tick - peer->own_tick <= (now_ns - peer->own_advanced_ns + late_ns) / tick_ns;
}

void peer_note_reported_tick(struct peer *peer, uint32_t tick, uint64_t now_ns)
{
	if (!serial_newer(tick, peer->tick))
		return;
	peer->tick = tick;
	peer->advanced_ns = now_ns;
}

void peer_confirmed(struct peer *peer, uint64_t sent_ns)
{
	if (peer->confirmed && (int64_t)(sent_ns - peer->confirmed_ns) <= 0)
		return;
	peer->confirmed = true;
	peer->confirmed_ns = sent_ns;
}

/*
 * Signed, so that a time a little later than now (another thread's reading) is recent, not ancient.
 */
static bool within_timeout(uint64_t then_ns, uint64_t now_ns, uint64_t timeout_ns)
{
	return (int64_t)(now_ns - then_ns) < (int64_t)timeout_ns;
}

bool peer_expire(struct peer *peer, uint64_t now_ns, uint64_t timeout_ns)
{
	bool was = peer->alive;

	peer->alive = peer->known && peer->confirmed &&
		      within_timeout(peer->advanced_ns, now_ns, timeout_ns) &&
		      within_timeout(peer->confirmed_ns, now_ns, timeout_ns);
	return peer->alive != was;
}
