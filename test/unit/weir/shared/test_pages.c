/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The requests of page tables to a kernel with enough, some or no huge pages and NUMA nodes. The
 * kernel is simulated on top of the real one.
 */
#include "check.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <rte_config.h>
#include <rte_memory.h>

#include "pages.h"

#define H     PAGES_HUGE
#define CALLS 8

/* The simulated kernel, and the requests to it. */
static struct {
	bool none, huge; /* none: not even address space; huge: EAL has huge pages */
	bool stays;      /* a mapping cannot be moved */
	unsigned pages, sockets;
	size_t mapped;
	uint8_t *from; /* reserved address space */
	size_t space;
	unsigned n_tried, n_placed, n_advised, n_bound;
	struct {
		void *at;
		size_t bytes;
	} placed[CALLS], advised[CALLS], bound[CALLS];
	unsigned long node; /* node of the last request */
} kernel;

void *__real_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t bytes);
int __wrap_munmap(void *at, size_t bytes);
void *__real_mremap(void *from, size_t old_bytes, size_t bytes, int flags, void *to);
void *__wrap_mremap(void *from, size_t old_bytes, size_t bytes, int flags, void *to);
int __wrap_madvise(void *at, size_t bytes, int advice);
long __wrap_syscall(long number, ...);
unsigned __wrap_rte_socket_count(void);
int __wrap_rte_eal_has_hugepages(void);

void *__wrap_mmap64(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
	void *got;

	assert_null(at);
	assert_int_equal(protection, PROT_READ | PROT_WRITE);
	assert_true(flags & MAP_PRIVATE && flags & MAP_ANONYMOUS && fd == -1 && offset == 0);
	if (flags & MAP_HUGETLB) {
		kernel.n_tried++;
		assert_int_equal(flags >> MAP_HUGE_SHIFT, 21);
		assert_int_equal(bytes, H);
		if (kernel.pages-- == 0)
			return MAP_FAILED;
	} else {
		assert_true(flags & MAP_NORESERVE);
		if (kernel.none)
			return MAP_FAILED;
	}
	got = __real_mmap64(
		NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(got, MAP_FAILED);
	kernel.mapped += bytes;
	if (!(flags & MAP_HUGETLB)) {
		kernel.from = got;
		kernel.space = bytes;
	}
	return got;
}

int __wrap_munmap(void *at, size_t bytes)
{
	uint8_t *from = at;

	if (bytes > 0 && bytes != H) /* a single page can be anywhere */
		assert_true(from >= kernel.from && from + bytes <= kernel.from + kernel.space);
	if (bytes > 0)
		assert_int_equal(__real_munmap(at, bytes), 0);
	kernel.mapped -= bytes;
	return 0;
}

void *__wrap_mremap(void *from, size_t old_bytes, size_t bytes, int flags, void *to)
{
	assert_int_equal(old_bytes, H);
	assert_int_equal(bytes, H);
	assert_int_equal(flags, MREMAP_MAYMOVE | MREMAP_FIXED);
	if (kernel.stays)
		return MAP_FAILED;
	kernel.placed[kernel.n_placed++].at = to;
	kernel.mapped -= bytes; /* part of the mapped bytes */
	return __real_mremap(from, old_bytes, bytes, flags, to);
}

int __wrap_madvise(void *at, size_t bytes, int advice)
{
	assert_int_equal(advice, MADV_HUGEPAGE);
	kernel.advised[kernel.n_advised].at = at;
	kernel.advised[kernel.n_advised++].bytes = bytes;
	return 0;
}

long __wrap_syscall(long number, ...)
{
	unsigned long most, *nodes, flags;
	va_list more;
	int mode;

	va_start(more, number);
	kernel.bound[kernel.n_bound].at = va_arg(more, void *);
	kernel.bound[kernel.n_bound++].bytes = va_arg(more, size_t);
	mode = va_arg(more, int);
	nodes = va_arg(more, unsigned long *);
	most = va_arg(more, unsigned long);
	flags = va_arg(more, unsigned long);
	va_end(more);
	assert_int_equal(number, SYS_mbind);
	assert_int_equal(mode, MPOL_PREFERRED);
	assert_int_equal(flags, 0);
	assert_in_range(most, RTE_MAX_NUMA_NODES + 1, 4096);
	kernel.node = ~0UL;
	for (unsigned long i = 0; i < most; i++)
		if (nodes[i / 64] >> i % 64 & 1) {
			assert_int_equal(kernel.node, ~0UL);
			kernel.node = i;
		}
	return 0;
}

unsigned __wrap_rte_socket_count(void)
{
	return kernel.sockets;
}

int __wrap_rte_eal_has_hugepages(void)
{
	return kernel.huge;
}

/* Bytes requested and used, the simulated kernel, and the expected requests to it. */
static const struct {
	size_t bytes, used;
	bool huge, stays;
	unsigned pages;
	unsigned tried, placed;
	size_t advised[2][2]; /* offset, bytes */
} rows[] = {
	{H, 0, true, false, 9, 0, 0, {{0}}},
	{H, H - 1, true, false, 9, 0, 0, {{0}}},
	{H, H, true, false, 9, 1, 1, {{0}}},
	{H, H, false, false, 9, 0, 0, {{0, H}}},
	{H, H, true, false, 0, 1, 0, {{0, H}}},
	{H, H, true, true, 9, 1, 0, {{0, H}}},
	{3 * H, 2 * H, true, false, 9, 2, 2, {{2 * H, H}}},
	{3 * H, 2 * H, true, false, 1, 2, 1, {{H, H}, {2 * H, H}}},
	{3 * H, 2 * H, false, false, 9, 0, 0, {{0, 2 * H}, {2 * H, H}}},
	{3 * H, 2 * H + 1, true, false, 9, 2, 2, {{0}}},
	{4 * H, 2 * H + 1, true, false, 9, 2, 2, {{3 * H, H}}},
	{4 * H, H - 1, true, false, 9, 0, 0, {{0}}},
	{3 * H - 1, 3 * H - 1, true, false, 9, 2, 2, {{0}}},
	{H + 1, H, true, false, 9, 1, 1, {{H, H}}},
};

static size_t rounded(size_t bytes)
{
	return (bytes + H - 1) / H * H;
}

static void expect_row(size_t i, const uint8_t *memory)
{
	unsigned n = 0;

	assert_int_equal(kernel.mapped, rounded(rows[i].bytes));
	assert_int_equal(kernel.n_tried, rows[i].tried);
	assert_int_equal(kernel.n_placed, rows[i].placed);
	for (unsigned k = 0; k < kernel.n_placed; k++)
		assert_ptr_equal(kernel.placed[k].at, memory + k * H);
	while (n < 2 && rows[i].advised[n][1] > 0)
		n++;
	assert_int_equal(kernel.n_advised, n);
	for (unsigned k = 0; k < n; k++) {
		assert_ptr_equal(kernel.advised[k].at, memory + rows[i].advised[k][0]);
		assert_int_equal(kernel.advised[k].bytes, rows[i].advised[k][1]);
	}
}

/*
 * Used bytes get reserved huge pages while there are some. The kernel's transparent ones serve the
 * rest.
 */
TEST(test_huge)
{
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint8_t *memory;

		memset(&kernel, 0, sizeof(kernel));
		kernel.huge = rows[i].huge;
		kernel.stays = rows[i].stays;
		kernel.pages = rows[i].pages;
		kernel.sockets = 1;
		memory = pages_alloc(rows[i].bytes, rows[i].used, 0);
		assert_non_null(memory);
		assert_int_equal((uintptr_t)memory % H, 0);
		expect_row(i, memory);
		assert_int_equal(kernel.n_bound, 0);
		pages_free(memory, rows[i].bytes);
		assert_int_equal(kernel.mapped, 0);
	}
}

/* Zero bytes need a page too. Without address space nothing must be freed. */
TEST(test_none)
{
	void *memory;

	memset(&kernel, 0, sizeof(kernel));
	memory = pages_alloc(0, 0, SOCKET_ID_ANY);
	assert_int_equal(kernel.mapped, H);
	pages_free(memory, 0);
	assert_int_equal(kernel.mapped, 0);
	kernel.none = true;
	assert_null(pages_alloc(H, H, 0));
	pages_free(NULL, H);
	assert_int_equal(kernel.mapped, 0);
	assert_int_equal(kernel.n_tried + kernel.n_advised + kernel.n_bound, 0);
}

/* With several nodes, the whole memory and each huge page prefer the requested node. */
TEST(test_nodes)
{
	static const struct {
		int socket;
		unsigned sockets, bound;
	} nodes[] = {
		{SOCKET_ID_ANY, 2, 0},
		{0, 1, 0},
		{0, 2, 3},
		{1, 2, 3},
		{RTE_MAX_NUMA_NODES - 1, 2, 3},
		{RTE_MAX_NUMA_NODES, 2, 0},
	};

	for (size_t i = 0; i < COUNT(nodes); i++) {
		uint8_t *memory;

		memset(&kernel, 0, sizeof(kernel));
		kernel.huge = true;
		kernel.pages = 2;
		kernel.sockets = nodes[i].sockets;
		memory = pages_alloc(3 * H, 2 * H, nodes[i].socket);
		assert_int_equal(kernel.n_placed, 2);
		assert_int_equal(kernel.n_bound, nodes[i].bound);
		if (kernel.n_bound) {
			assert_int_equal(kernel.node, nodes[i].socket);
			assert_ptr_equal(kernel.bound[0].at, memory);
			assert_int_equal(kernel.bound[0].bytes, 3 * H);
			assert_int_equal(kernel.bound[2].bytes, H);
		}
		pages_free(memory, 3 * H);
		assert_int_equal(kernel.mapped, 0);
	}
}
