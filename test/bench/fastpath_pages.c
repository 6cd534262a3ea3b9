/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Detects if huge pages are single entries in the processor's TLB. A hypervisor can back them by
 * small pages, and then each takes many entries. As many lines as fill a part of the L2 cache are
 * read in random order: adjacent, and one in each 4 kB of the same memory. With real huge pages
 * both take the same time. Otherwise the second waits for page walks, and so does every random
 * access to a large table on this machine.
 */
#include <stdint.h>

#include <rte_common.h>
#include <rte_cycles.h>
#include <rte_malloc.h>

#include "base/prng.h"
#include "fastpath.h"

#define LINES  4096 /* 256 kB; one on each small page, they exceed a TLB */
#define LINE   64
#define PAGE   4096
#define PASSES 4
#define TIMES  15

/* Returns the i-th line. Offsets within pages differ, so that no cache set gets all of them. */
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

/* Links the lines to one random cycle. */
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

/* Returns cycles a line, the minimum of several runs, because disturbances only add time. */
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
