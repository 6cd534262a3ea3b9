/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <errno.h>
#include <stdlib.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include <sodium.h>

#include "classify/fragment.h"
#include "log.h"
#include "police/extra.h"
#include "worker.h"

static void *alloc_lines(size_t bytes, int socket)
{
	return rte_zmalloc_socket("worker", bytes ? bytes : 1, RTE_CACHE_LINE_SIZE, socket);
}

/* The tables of a policy on this worker, if it needs any. */
static int extra_alloc(struct worker *w, unsigned i, const struct policy *policy, int socket)
{
	size_t bytes = police_extra_bytes(policy);
	uint64_t secret;

	if (bytes == 0)
		return 0;
	w->memory[i] = alloc_lines(bytes, socket);
	if (!w->memory[i]) {
		log_err("policy %s: no %zu bytes for its tables on the worker of CPU %u",
			policy->name, bytes, w->cpu);
		return -ENOMEM;
	}
	randombytes_buf(&secret, sizeof(secret));
	police_extra_init(&w->extras[i], w->memory[i], policy, secret, rte_get_tsc_hz());
	if (w->extras[i].sources)
		w->sourced[w->n_sourced++] = i;
	return 0;
}

/* The table of fragments, if anything depends on what it knows. */
static int fragments_alloc(
	struct worker *w, const struct policy *policies, unsigned n_policies, int socket)
{
	uint64_t secret;

	if (!policies_name_ports(policies, n_policies))
		return 0;
	w->fragments = alloc_lines(sizeof(*w->fragments), socket);
	if (!w->fragments)
		return -ENOMEM;
	randombytes_buf(&secret, sizeof(secret));
	fragments_init(w->fragments, secret, rte_get_tsc_hz());
	return 0;
}

int worker_init(struct worker *w, const struct policy *policies, unsigned n_policies)
{
	int socket = (int)rte_lcore_to_socket_id(w->lcore), ret = 0;

	w->n_policies = n_policies;
	w->policies = alloc_lines(n_policies * sizeof(*w->policies), socket);
	w->extras = alloc_lines(n_policies * sizeof(*w->extras), socket);
	w->samples = alloc_lines(n_policies * sizeof(*w->samples), socket);
	w->sourced = calloc(n_policies + 1, sizeof(*w->sourced));
	w->memory = calloc(n_policies + 1, sizeof(*w->memory));
	w->random = 0x9e3779b9u * (w->index + 1);
	w->ticks_per_us = RTE_MAX(rte_get_tsc_hz() / 1000000, UINT64_C(1));
	if (!w->policies || !w->extras || !w->samples || !w->sourced || !w->memory)
		return -ENOMEM;
	ret = fragments_alloc(w, policies, n_policies, socket);
	for (unsigned i = 0; ret == 0 && i < n_policies; i++)
		ret = extra_alloc(w, i, &policies[i], socket);
	return ret;
}

void worker_free(struct worker *w)
{
	for (unsigned i = 0; w->memory && i < w->n_policies; i++)
		rte_free(w->memory[i]);
	rte_free(w->policies);
	rte_free(w->extras);
	rte_free(w->samples);
	rte_free(w->fragments);
	free(w->sourced);
	free(w->memory);
	w->policies = NULL;
	w->extras = NULL;
	w->samples = NULL;
	w->fragments = NULL;
	w->sourced = NULL;
	w->memory = NULL;
}
