/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Whether huge pages are whole in the processor's TLB: a hypervisor may back them by small ones,
 * and then each is as many entries. As many lines as fill a part of the L2 cache are gone through
 * in random order, side by side and one on each 4 kB of the same memory. Where pages are whole both
 * take the same; where they are not, the second waits for walks of page tables, as all do here that
 * reach large tables at random.
 */
#include <stdint.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/prng.h"
#include "fastpath.h"

#define LINES  4096 /* 256 kB; as small pages more than a TLB has room for */
#define LINE   64
#define PAGE   4096
#define PASSES 4
#define TIMES  15

/* The i-th line of its page is another than its neighbours', so that no set of a cache has all. */
static void **line_at(uint8_t *memory, unsigned i, bool spread)
{
	size_t at = spread ? (size_t)i * PAGE + (i + i / (PAGE / LINE)) % (PAGE / LINE) * LINE
			   : (size_t)i * LINE;

	return (void **)(memory + at);
}

static void swap_lines(unsigned *a, unsigned *b)
{
	unsigned kept = *a;

	*a = *b;
	*b = kept;
}

/* Each line leads to another, in one round through all. */
static void link_lines(uint8_t *memory, bool spread)
{
	static unsigned order[LINES];
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < LINES; i++)
		order[i] = i;
	for (unsigned i = LINES - 1; i > 0; i--)
		swap_lines(&order[i], &order[prng_below(&prng, i + 1)]);
	for (unsigned i = 0; i < LINES; i++)
		*line_at(memory, order[i], spread) = line_at(
			memory, order[(i + 1) % LINES], spread);
}

/* Cycles a line, the least of several times: what disturbs adds, and takes nothing away. */
static double cycles_a_line(uint8_t *memory, bool spread)
{
	uint64_t least = UINT64_MAX;
	void **at;

	link_lines(memory, spread);
	at = line_at(memory, 0, spread);
	for (unsigned time = 0; time < TIMES; time++) {
		uint64_t began = rte_rdtsc_precise(), took;

		for (unsigned i = 0; i < PASSES * LINES; i++)
			at = *at;
		__asm__ volatile("" : : "r"(at));
		took = rte_rdtsc_precise() - began;
		least = RTE_MIN(least, took);
	}
	return (double)least / (PASSES * LINES);
}

json_t *pages_measure(void)
{
	uint8_t *memory = rte_malloc("pages", (size_t)LINES * PAGE, PAGE);
	json_t *measured;

	if (!memory)
		die("no memory for %u pages", LINES);
	measured = json_pack("{s:f, s:f}", "packed", cycles_a_line(memory, false), "spread",
		cycles_a_line(memory, true));
	rte_free(memory);
	return measured;
}
