/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Memory of a worker and of its policies, on the worker's NUMA node.
 */
#include "worker_data.h"

#include <errno.h>
#include <string.h>

#include <rte_lcore.h>
#include <rte_malloc.h>

#include <sodium.h>

#include "classify/frames.h"
#include "packet/fragment.h"
#include "in_flight.h"
#include "rx_rings.h"
#include "event.h"
#include "pages.h"
#include "police/eights.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "police/try.h"
#include "policy/kind.h"
#include "policy/trial.h"
#include "shape_steps.h"
#include "steering.h"
#include "tick.h"

static void *alloc_worker_lines(size_t bytes, int socket)
{
	return rte_zmalloc_socket("worker", bytes, RTE_CACHE_LINE_SIZE, socket);
}

/* An unused sample points to the next one. */
union free_sample {
	struct flow_sample sample;
	union free_sample *next;
};

/* DPDK adds lines to each allocation, half a sample, so samples are allocated in chunks. */
#define CHUNK_SAMPLES 64

struct sample_chunk {
	struct sample_chunk *next;
	union free_sample samples[CHUNK_SAMPLES];
};

static int socket_of(const struct worker *w)
{
	return (int)rte_lcore_to_socket_id(w->lcore);
}

size_t worker_bytes(const struct policy *policies, unsigned n, uint32_t waiting)
{
	size_t bytes = shaper_bytes(waiting);

	for (unsigned i = 0; i < n; i++) {
		bytes += policy_extended_bytes(&policies[i]);
		if (policy_has_trial(&policies[i])) {
			struct policy trial = policy_trial(&policies[i]);

			bytes += policy_extended_bytes(&trial);
		}
	}
	return bytes;
}

int worker_init(struct worker *w, unsigned n_policies, unsigned used, uint32_t waiting)
{
	size_t lines = trial_lines(n_policies);

	w->n_policies = n_policies;
	w->policies = pages_alloc(
		lines * sizeof(*w->policies), used * sizeof(*w->policies), socket_of(w));
	w->samples = pages_alloc(lines * sizeof(*w->samples), 0, SOCKET_ID_ANY);
	w->own.eights = police_has_eights();
	w->own.wide = classify_has_wide();
	sample_bound_init(&w->own.bound, SAMPLES_PER_WORKER_S, tick_hz());
	w->ticks_per_us = RTE_MAX(tick_hz() / 1000000, UINT64_C(1));
	w->ending = pages_alloc(lines * sizeof(*w->ending), 0, SOCKET_ID_ANY);
	w->in_flight = alloc_worker_lines(sizeof(*w->in_flight), socket_of(w));
	expiry_init(&w->expiry, 0, UINT64_MAX);
	w->delay_unit = delay_unit(tick_hz());
	w->shaper = alloc_worker_lines(shaper_bytes(waiting), socket_of(w));
	if (!w->policies || !w->samples || !w->ending || !w->in_flight || !w->shaper)
		return -ENOMEM;
	shaper_init(w->shaper, tick_hz(), waiting, tick_now());
	shape_above_begin(w);
	w->in_flight->least = IN_FLIGHT_LEAST;
	return limit_ring_init(&w->limit_ring, (unsigned)lines);
}

static int no_memory(const struct worker *w, const struct policy *policy, size_t bytes)
{
	event(POLICY_NO_MEMORY, event_word("policy", policy->name), event_count("bytes", bytes),
		event_count("cpu", w->cpu));
	return -ENOMEM;
}

static struct fragments *new_fragments(const struct worker *w)
{
	struct fragments *fragments = alloc_worker_lines(sizeof(*fragments), socket_of(w));
	uint64_t secret;

	if (!fragments)
		return NULL;
	randombytes_buf(&secret, sizeof(secret));
	fragments_init(fragments, secret, tick_hz());
	return fragments;
}

/*
 * Adds fragments for the queues that this worker owns and shares: it classifies their packets, too.
 */
static bool add_owners_fragments(const struct worker *w)
{
	for (unsigned i = 0; i < w->n_paths; i++) {
		const struct rx_rings *rings = w->paths[i].rings;
		struct fragments *fragments;

		if (!rings || rings->owner != w->index || !rings->steering ||
			rings->steering->fragments)
			continue;
		fragments = new_fragments(w);
		if (!fragments)
			return false;
		__atomic_store_n(&rings->steering->fragments, fragments, __ATOMIC_RELEASE);
	}
	return true;
}

/* Adds the table of fragments when the first policy comes that needs it. */
static int add_fragments(struct worker *w, const struct policy *policy)
{
	struct fragments *fragments;

	if (w->fragments || !policies_ask_first(policy, 1))
		return 0;
	fragments = add_owners_fragments(w) ? new_fragments(w) : NULL;
	if (!fragments)
		return no_memory(w, policy, sizeof(*fragments));
	__atomic_store_n(&w->fragments, fragments, __ATOMIC_RELEASE);
	return 0;
}

static int add_chunk(struct worker *w)
{
	struct sample_chunk *chunk = alloc_worker_lines(sizeof(*chunk), socket_of(w));

	if (!chunk)
		return -ENOMEM;
	chunk->next = w->chunks;
	w->chunks = chunk;
	for (unsigned i = 0; i < CHUNK_SAMPLES; i++) {
		chunk->samples[i].next = w->free_samples;
		w->free_samples = &chunk->samples[i];
	}
	return 0;
}

int worker_add_policy(
	struct worker *w, const struct policy *policy, const struct limit_profile *profile)
{
	struct policy_state *state = &w->policies[profile->policy];
	struct policy_start start = {.now = tick_now(), .hz = tick_hz()};
	size_t bytes = policy_extended_bytes(policy);
	union free_sample *taken;
	void *memory;

	if (w->shared_buckets && policy_is_shaped(policy))
		start.shared = &w->shared_buckets[profile->policy];
	if (add_fragments(w, policy))
		return -ENOMEM;
	memory = bytes ? alloc_worker_lines(bytes, socket_of(w)) : NULL;
	if (bytes && !memory)
		return no_memory(w, policy, bytes);
	if (bytes) { /* plain policies need none, and each is a system call */
		randombytes_buf(&start.secret, sizeof(start.secret));
		randombytes_buf(&start.seed, sizeof(start.seed));
	}
	policy_state_init(state, memory, policy, profile, &start);
	if (!policy_samples_flows(policy))
		return 0;
	if (!w->free_samples && add_chunk(w))
		return no_memory(w, policy, sizeof(struct flow_sample));
	taken = w->free_samples;
	w->free_samples = taken->next;
	memset(taken, 0, sizeof(*taken));
	w->samples[profile->policy] = &taken->sample;
	return 0;
}

int worker_change_policy(struct worker *w, const struct policy *policy)
{
	return add_fragments(w, policy);
}

void worker_remove_policy(struct worker *w, uint32_t slot)
{
	union free_sample *given = (union free_sample *)w->samples[slot];

	rte_free(policy_state_memory(&w->policies[slot]));
	memset(&w->policies[slot], 0, sizeof(w->policies[slot]));
	if (!given)
		return;
	given->next = w->free_samples;
	w->free_samples = given;
	w->samples[slot] = NULL;
}

void worker_free(struct worker *w)
{
	size_t lines = trial_lines(w->n_policies);

	for (size_t i = 0; w->policies && i < lines; i++)
		rte_free(policy_state_memory(&w->policies[i]));
	while (w->chunks) {
		struct sample_chunk *chunk = w->chunks;

		w->chunks = chunk->next;
		rte_free(chunk);
	}
	pages_free(w->policies, lines * sizeof(*w->policies));
	rte_free(w->fragments);
	rte_free(w->shaper);
	rte_free(w->in_flight);
	pages_free(w->samples, lines * sizeof(*w->samples));
	pages_free(w->ending, lines * sizeof(*w->ending));
	limit_ring_free(&w->limit_ring);
	w->policies = NULL;
	w->ending = NULL;
	w->shaper = NULL;
	w->in_flight = NULL;
	w->fragments = NULL;
	w->samples = NULL;
	w->free_samples = NULL;
}
