/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Arrays that grow in place, because workers hold pointers into them.
 */
#include "pages.h"

#include <stdbool.h>
#include <stdint.h>
#include <unistd.h>

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <rte_common.h>
#include <rte_eal.h>
#include <rte_lcore.h>
#include <rte_memory.h>

#define HUGE_2MB (21 << MAP_HUGE_SHIFT)

/* Rounds up to whole huge pages, which then fit. */
static size_t round_to_huge(size_t bytes)
{
	return RTE_ALIGN_CEIL(bytes ? bytes : 1, PAGES_HUGE);
}

/* Reserves address space that begins at a huge page: reserves more, and unmaps the excess. */
static uint8_t *reserve_address_space(size_t bytes)
{
	size_t more = bytes + PAGES_HUGE;
	uint8_t *got = mmap(NULL, more, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *memory;

	if (got == MAP_FAILED)
		return NULL;
	memory = RTE_PTR_ALIGN_CEIL(got, PAGES_HUGE);
	if (memory > got)
		munmap(got, (size_t)(memory - got));
	munmap(memory + bytes, (size_t)(got + more - (memory + bytes)));
	return memory;
}

/* Sets a preference. If the node has no memory, another node's is used. */
static void prefer_node(void *memory, size_t bytes, int socket)
{
	unsigned long nodes[RTE_MAX_NUMA_NODES / (8 * sizeof(unsigned long)) + 1] = {0};

	if (socket < 0 || socket >= RTE_MAX_NUMA_NODES || rte_socket_count() == 1)
		return;
	nodes[(unsigned)socket / (8 * sizeof(*nodes))] = 1UL
							 << (unsigned)socket % (8 * sizeof(*nodes));
	(void)syscall(SYS_mbind, memory, bytes, MPOL_PREFERRED, nodes, 8 * sizeof(nodes), 0UL);
}

/*
 * Replaces the memory by a reserved huge page, if one is left. The page is mapped elsewhere and
 * moved, because a failed mapping here would leave a hole that another thread could take.
 */
static bool place_huge(uint8_t *at, int socket)
{
	void *page = mmap(NULL, PAGES_HUGE, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | HUGE_2MB, -1, 0);

	if (page == MAP_FAILED)
		return false;
	prefer_node(page, PAGES_HUGE, socket);
	if (mremap(page, PAGES_HUGE, PAGES_HUGE, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at)
		return true;
	munmap(page, PAGES_HUGE);
	return false;
}

void *pages_alloc(size_t bytes, size_t used, int socket)
{
	size_t all = round_to_huge(bytes), filled = RTE_ALIGN_FLOOR(used, PAGES_HUGE), at = 0;
	uint8_t *memory = reserve_address_space(all);

	if (!memory)
		return NULL;
	prefer_node(memory, all, socket);
	while (at < filled && rte_eal_has_hugepages() && place_huge(memory + at, socket))
		at += PAGES_HUGE;
	/*
	 * Transparent huge pages: the rest of the filled ones, and those written only after others
	 * are full.
	 */
	if (at < filled)
		madvise(memory + at, filled - at, MADV_HUGEPAGE);
	if (round_to_huge(used) < all && filled > 0)
		madvise(memory + round_to_huge(used), all - round_to_huge(used), MADV_HUGEPAGE);
	return memory;
}

void pages_free(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, round_to_huge(bytes));
}
