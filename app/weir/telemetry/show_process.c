/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The process: its uptime, and its use of CPUs and of memory.
 */
#include "show.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mempool.h>

#include "instance.h"
#include "busy.h"

#define STATM_TEXT 128

json_t *show_share(double share)
{
	return isnan(share) ? json_null() : json_real(share);
}

static json_t *busy_json(struct busy_share busy)
{
	return json_pack("{s:o, s:f}", "busy_share", show_share(busy.share), "busy_s",
		(double)busy.busy_ns / SECOND_NS);
}

/*
 * Returns the bytes of ordinary pages that are in RAM; the kernel does not count huge ones there.
 * 0: unknown.
 */
static uint64_t resident_bytes(void)
{
	char text[STATM_TEXT];
	unsigned long pages = 0;
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	if (sscanf(text, "%*s %lu", &pages) != 1)
		return 0;
	return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Shows EAL's heaps on all NUMA nodes, with packets, tables, and rings of devices. */
static json_t *memory_json(void)
{
	uint64_t total = 0, used = 0;

	for (unsigned i = 0; i < rte_socket_count(); i++) {
		struct rte_malloc_socket_stats stats;

		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats))
			continue;
		total += stats.heap_totalsz_bytes;
		used += stats.heap_allocsz_bytes;
	}
	return json_pack("{s:o, s:o, s:o}", "resident_bytes", json_uint(resident_bytes()),
		"heap_bytes", json_uint(total), "heap_used_bytes", json_uint(used));
}

static void add_pool(struct rte_mempool *pool, void *pools)
{
	json_array_append_new(
		pools, json_pack("{s:s, s:i, s:i}", "name", pool->name, "buffers", (int)pool->size,
			       "free", (int)rte_mempool_avail_count(pool)));
}

json_t *show_process(const char *params, void *context)
{
	const struct instance *inst = context;
	json_t *workers = json_array(), *pools = json_array();

	(void)params;
	for (unsigned i = 0; i < inst->config->n_workers; i++)
		json_array_append_new(workers, busy_json(busy_worker(inst, i)));
	rte_mempool_walk(add_pool, pools);
	return json_pack("{s:s, s:s, s:i, s:f, s:f, s:o, s:o, s:o, s:o}", "limiter",
		inst->config->limiter, "version", WEIR_VERSION, "pid", (int)getpid(), "uptime_s",
		(double)busy_uptime_ns(inst) / SECOND_NS, "share_of_s",
		(double)BUSY_PERIOD_NS / SECOND_NS, "control", busy_json(busy_control(inst)),
		"workers", workers, "memory", memory_json(), "pools", pools);
}
