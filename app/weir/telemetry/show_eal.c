/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Commands of EAL that clients of DPDK's own telemetry use, with the same keys and types: its
 * lcores and its memory zones. An lcore also has its busy cycles, like in newer versions of DPDK.
 */
#include "show.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <fcntl.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_mempool.h>
#include <rte_memzone.h>

#include "base/counter.h"
#include "instance.h"
#include "busy.h"

#define ADDRESS_TEXT 24

/* State of a walk through all zones. */
struct zone_search {
	unsigned index, wanted;
	json_t *found; /* a list of all, or the wanted one */
};

json_t *show_lcores(const char *params, void *context)
{
	json_t *list = json_array();
	unsigned lcore;

	(void)params;
	(void)context;
	RTE_LCORE_FOREACH(lcore)
	json_array_append_new(list, json_uint(lcore));
	return list;
}

json_t *show_lcore(const char *params, void *context)
{
	const struct instance *inst = context;
	double hz = (double)inst->clock.hz;
	json_t *json, *list;
	struct busy_share busy;
	rte_cpuset_t cpus;
	unsigned lcore;

	if (!show_index(params, &lcore) || !rte_lcore_is_enabled(lcore) ||
		lcore > inst->config->n_workers)
		return NULL;
	cpus = rte_lcore_cpuset(lcore);
	list = json_array();
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			json_array_append_new(list, json_uint(cpu));
	json = json_pack("{s:i, s:i, s:s, s:o}", "lcore_id", (int)lcore, "socket",
		(int)rte_lcore_to_socket_id(lcore), "role", "RTE", "cpuset", list);
	/* The cycles since the start of the process, and those in which the lcore was busy. */
	busy = lcore == rte_get_main_lcore() ? busy_control(inst) : busy_worker(inst, lcore - 1);
	json_object_set_new(json, "total_cycles",
		json_uint((uint64_t)((double)busy_uptime_ns(inst) * hz / SECOND_NS)));
	json_object_set_new(
		json, "busy_cycles", json_uint((uint64_t)((double)busy.busy_ns * hz / SECOND_NS)));
	return json;
}

static void list_zone(const struct rte_memzone *zone, void *arg)
{
	struct zone_search *search = arg;

	(void)zone;
	json_array_append_new(search->found, json_uint(search->index++));
}

json_t *show_memzones(const char *params, void *context)
{
	struct zone_search search = {.found = json_array()};

	(void)params;
	(void)context;
	rte_memzone_walk(list_zone, &search);
	return search.found;
}

/* Shows the pages that a zone is in, and the first one's address. Zones can share a page. */
static void find_zone(const struct rte_memzone *zone, void *arg)
{
	char base[ADDRESS_TEXT], address[ADDRESS_TEXT];
	struct zone_search *search = arg;
	unsigned index = search->index++;
	uint64_t page = zone->hugepage_sz, first;

	if (index != search->wanted || !page)
		return;
	first = zone->addr_64 / page * page;
	snprintf(base, sizeof(base), "0x%" PRIx64, first);
	snprintf(address, sizeof(address), "0x%" PRIx64, zone->addr_64);
	search->found = json_pack("{s:i, s:s, s:o, s:s, s:i, s:i, s:o, s:s, s:o}", "Zone",
		(int)index, "Name", zone->name, "Length", json_uint(zone->len), "Address", address,
		"Socket", zone->socket_id, "Flags", (int)zone->flags, "Hugepage_size",
		json_uint(page), "Hugepage_base", base, "Hugepage_used",
		json_uint((zone->addr_64 + zone->len - first + page - 1) / page));
}

json_t *show_memzone(const char *params, void *context)
{
	struct zone_search search = {0};

	(void)context;
	if (!show_index(params, &search.wanted))
		return NULL;
	rte_memzone_walk(find_zone, &search);
	return search.found;
}

/* --- process ---------------------------------------------------------------------------------- */

/* The process: its uptime, and its use of CPUs and of memory. */

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

static void add_pool(struct rte_mempool *pool, void *pools)
{
	json_array_append_new(
		pools, json_pack("{s:s, s:i, s:i}", "name", pool->name, "buffers", (int)pool->size,
			       "free", (int)rte_mempool_avail_count(pool)));
}

json_t *show_process(const char *params, void *context)
{
	const struct instance *inst = context;
	json_t *workers = json_array(), *pools = json_array(), *memory;
	uint64_t total = 0, used = 0;

	(void)params;
	for (unsigned i = 0; i < inst->config->n_workers; i++)
		json_array_append_new(workers, busy_json(busy_worker(inst, i)));
	rte_mempool_walk(add_pool, pools);
	/* EAL's heaps on all NUMA nodes, with packets, tables, and rings of devices. */
	for (unsigned i = 0; i < rte_socket_count(); i++) {
		struct rte_malloc_socket_stats stats;

		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats))
			continue;
		total += stats.heap_totalsz_bytes;
		used += stats.heap_allocsz_bytes;
	}
	memory = json_pack("{s:o, s:o, s:o}", "resident_bytes", json_uint(resident_bytes()),
		"heap_bytes", json_uint(total), "heap_used_bytes", json_uint(used));
	return json_pack("{s:s, s:s, s:i, s:f, s:f, s:o, s:o, s:o, s:o}", "limiter",
		inst->config->limiter, "version", WEIR_VERSION, "pid", (int)getpid(), "uptime_s",
		(double)busy_uptime_ns(inst) / SECOND_NS, "share_of_s",
		(double)BUSY_PERIOD_NS / SECOND_NS, "control", busy_json(busy_control(inst)),
		"workers", workers, "memory", memory, "pools", pools);
}
