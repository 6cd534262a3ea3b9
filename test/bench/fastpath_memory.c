/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Measures an instance's memory: allocated in DPDK's heaps, and resident outside them. Address
 * space that was never written is not counted.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal_memconfig.h>
#include <rte_lcore.h>
#include <rte_malloc.h>
#include <rte_memory.h>

#include "fastpath.h"

#define LISTS_MAX 128
#define KB        1024.0

/* Ranges of DPDK's heaps, whose resident memory does not depend on allocations in them. */
struct heaps {
	unsigned n;
	struct {
		uint64_t from, to;
	} range[LISTS_MAX];
};

static int add_heap(const struct rte_memseg_list *list, void *arg)
{
	struct heaps *heaps = arg;

	if (list->external)
		return 0;
	if (heaps->n == LISTS_MAX)
		die("more lists of segments than there is room for");
	heaps->range[heaps->n].from = list->addr_64;
	heaps->range[heaps->n++].to = list->addr_64 + list->len;
	return 0;
}

static bool is_heap(const struct heaps *heaps, uint64_t address)
{
	for (unsigned i = 0; i < heaps->n; i++)
		if (address >= heaps->range[i].from && address < heaps->range[i].to)
			return true;
	return false;
}

/* Returns the resident bytes that a line of smaps reports, or 0 for other lines. */
static double resident_line(const char *line)
{
	uint64_t kb;

	if (sscanf(line, "Rss: %" SCNu64, &kb) == 1 ||
		sscanf(line, "Private_Hugetlb: %" SCNu64, &kb) == 1 ||
		sscanf(line, "Shared_Hugetlb: %" SCNu64, &kb) == 1)
		return (double)kb * KB;
	return 0;
}

/* Returns resident bytes of the process, less those of DPDK's heaps. */
static double resident_bytes(void)
{
	FILE *smaps = fopen("/proc/self/smaps", "re");
	struct heaps heaps = {0};
	bool counts = true;
	double sum = 0;
	char line[512];

	if (!smaps)
		die("no /proc/self/smaps");
	rte_memseg_list_walk(add_heap, &heaps);
	while (fgets(line, sizeof(line), smaps)) {
		uint64_t from, to;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " ", &from, &to) == 2)
			counts = !is_heap(&heaps, from);
		else if (counts)
			sum += resident_line(line);
	}
	fclose(smaps);
	return sum;
}

double memory_taken(void)
{
	double sum;

	malloc_trim(0); /* returns freed memory, which would hide later use */
	sum = resident_bytes();
	for (unsigned i = 0; i < rte_socket_count(); i++) {
		struct rte_malloc_socket_stats stats;

		if (rte_malloc_get_socket_stats(rte_socket_id_by_idx(i), &stats) == 0)
			sum += (double)stats.heap_allocsz_bytes;
	}
	return sum;
}
