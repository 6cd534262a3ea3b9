/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * GDRL's runs as a table of a document.
 */
#include <math.h>
#include <stdlib.h>

#include "gdrl_report.h"

#define DECADES 5 /* slots 10, 100 and so on, whose index is printed */

void gdrl_markdown_head(FILE *out)
{
	fputs("| figure | N | graph | filters start | slots | index at slot 10 | 100 | 1,000 | 10,000 | "
	      "100,000 | ever | in the last quarter | at 0.99 for good from slot |\n"
	      "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n",
		out);
}

/* Prints the least of the seeds, or nothing if a run has not come so far. */
static void print_index(const struct gdrl_run *runs, unsigned n, unsigned slot, FILE *out)
{
	double least = INFINITY;

	for (unsigned i = 0; i < n; i++)
		if (slot < runs[i].n)
			least = fmin(least, runs[i].jain[slot]);
	if (isfinite(least))
		fprintf(out, " %.3f |", least);
	else
		fputs(" – |", out);
}

static int compare_slots(const void *a, const void *b)
{
	unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

	return x < y ? -1 : x > y;
}

static void markdown_slot(double slot, FILE *out)
{
	if (slot >= GDRL_NEVER)
		fputs("never", out);
	else
		fprintf(out, "%.0f", slot);
}

/*
 * Returns the median. With an even number of seeds it is between two; if one is never, it is never.
 */
static double median_of(const unsigned *slots, unsigned n)
{
	if (slots[n / 2] == GDRL_NEVER)
		return GDRL_NEVER;
	return n % 2 ? slots[n / 2] : (slots[n / 2 - 1] + (double)slots[n / 2]) / 2;
}

static void print_stays(const struct gdrl_run *runs, unsigned n, FILE *out)
{
	unsigned *slots = calloc(n, sizeof(*slots)), never = 0;

	if (slots == NULL)
		return;
	for (unsigned i = 0; i < n; i++) {
		slots[i] = runs[i].stays;
		never += slots[i] == GDRL_NEVER;
	}
	qsort(slots, n, sizeof(*slots), compare_slots);
	markdown_slot(slots[0], out);
	if (n > 1) {
		fputs(" to ", out);
		markdown_slot(slots[n - 1], out);
		fputs(", median ", out);
		markdown_slot(median_of(slots, n), out);
		fprintf(out, ", of %u seeds", n);
	}
	if (never > 0 && n > 1)
		fprintf(out, ", %u of them never", never);
	free(slots);
}

void gdrl_markdown_row(const struct gdrl_run *runs, unsigned n, FILE *out)
{
	const struct gdrl_case *c = &runs[0].c;
	double ever = INFINITY, end = INFINITY;
	unsigned slot = 1;

	fprintf(out, "| %s | %u | ", runs[0].name, c->n);
	if (c->ring)
		fputs("ordered ring", out);
	else
		fprintf(out, "random, degree %u", c->degree);
	fprintf(out, " | %s | %u |", c->cold ? "cold" : "warm", c->steps);
	for (unsigned i = 0; i < DECADES; i++)
		print_index(runs, n, slot *= 10, out);
	for (unsigned i = 0; i < n; i++) {
		ever = fmin(ever, runs[i].least_ever);
		end = fmin(end, runs[i].least);
	}
	fprintf(out, " %.3f | %.4f | ", ever, end);
	print_stays(runs, n, out);
	fputs(" |\n", out);
}
