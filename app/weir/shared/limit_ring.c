/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that control sends to one worker: a ring of changed limits, and a hash of the last one
 * sent for each policy, so that no limit is sent twice.
 */

/* Use C11 acquire and release in rings, instead of barriers for this CPU only. */
#define RTE_USE_C11_MEM_MODEL

#include "limit_ring.h"

#include <errno.h>
#include <stdlib.h>

#include <rte_common.h>
#include <rte_memory.h>
#include <rte_ring_elem.h>

#include "base/hash.h"
#include "pages.h"

static struct rte_ring *ring_new(unsigned capacity)
{
	unsigned count = rte_align32pow2(capacity + 1); /* one of them is always free */
	ssize_t size = rte_ring_get_memsize_elem(sizeof(struct limit_profile), count);
	struct rte_ring *ring;

	if (size < 0)
		return NULL;
	ring = aligned_alloc(
		RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL((size_t)size, RTE_CACHE_LINE_SIZE));
	if (ring && rte_ring_init(ring, "limits", count, RING_F_SP_ENQ | RING_F_SC_DEQ)) {
		free(ring);
		return NULL;
	}
	return ring;
}

int limit_ring_init(struct limit_ring *limit_ring, unsigned n_policies)
{
	limit_ring->ring = ring_new(RTE_MIN(n_policies + 1, (unsigned)LIMIT_RING_MAX));
	limit_ring->n_policies = n_policies;
	limit_ring->sent = pages_alloc(n_policies * sizeof(*limit_ring->sent), 0, SOCKET_ID_ANY);
	return limit_ring->ring && limit_ring->sent ? 0 : -ENOMEM;
}

void limit_ring_free(struct limit_ring *limit_ring)
{
	free(limit_ring->ring);
	pages_free(limit_ring->sent, limit_ring->n_policies * sizeof(*limit_ring->sent));
	*limit_ring = (struct limit_ring){0};
}

/* Each step is reversible, and makes each bit depend on the lower and on some higher ones. */
static uint64_t mix_hash_word(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * HASH_GOLDEN;
	return hash ^ hash >> 32;
}

/*
 * Returns a hash of 64 bits that stands for the 25 bytes of a limit. With a probability of 2^-64 it
 * equals that of the previous limit. Then the worker keeps that one until the next change.
 */
static uint64_t hash_of(const struct limit_profile *profile)
{
	struct meter_limit limit = meter_profile_limit(profile->kind, &profile->meter);
	const struct shape_terms *terms = &profile->shape.terms;
	uint64_t hash = mix_hash_word(
		mix_hash_word(
			mix_hash_word(mix_hash_word(0, limit.rate), limit.burst), limit.credit),
		(uint64_t)profile->ending << 8 | profile->sample_shift);

	if (!profile->shaped)
		return hash;
	hash = mix_hash_word(hash, terms->units);
	hash = mix_hash_word(hash, (uint64_t)terms->delay_us << 32 | terms->target_us);
	return mix_hash_word(hash, (uint64_t)terms->interval_us << 2 | (uint64_t)terms->codel << 1 |
					   (uint64_t)terms->ecn);
}

void limit_ring_begin(struct limit_ring *limit_ring, const struct limit_profile *profile)
{
	limit_ring->sent[profile->policy] = hash_of(profile);
}

bool limit_ring_send(struct limit_ring *limit_ring, const struct limit_profile *profile)
{
	struct limit_profile message = *profile; /* the ring takes nothing const */
	uint64_t hash = hash_of(profile);

	if (hash == limit_ring->sent[profile->policy])
		return true;
	if (rte_ring_sp_enqueue_elem(limit_ring->ring, &message, sizeof(message)))
		return false;
	limit_ring->sent[profile->policy] = hash;
	return true;
}

void limit_ring_forget(struct limit_ring *limit_ring, uint32_t policy)
{
	limit_ring->sent[policy] = ~limit_ring->sent[policy];
}

bool limit_ring_is_taken(const struct limit_ring *limit_ring)
{
	return limit_ring_taken(limit_ring, limit_ring_mark(limit_ring));
}

uint32_t limit_ring_mark(const struct limit_ring *limit_ring)
{
	return __atomic_load_n(&limit_ring->ring->prod.tail, __ATOMIC_ACQUIRE);
}

bool limit_ring_taken(const struct limit_ring *limit_ring, uint32_t mark)
{
	/* Acquire pairs with the release in limit_ring_take(). Places wrap. */
	uint32_t taken = __atomic_load_n(&limit_ring->ring->cons.tail, __ATOMIC_ACQUIRE);

	return (int32_t)(taken - mark) >= 0;
}

unsigned limit_ring_take(
	const struct limit_ring *limit_ring, struct limit_profile *profiles, unsigned n)
{
	return rte_ring_sc_dequeue_burst_elem(
		limit_ring->ring, profiles, sizeof(*profiles), n, NULL);
}
