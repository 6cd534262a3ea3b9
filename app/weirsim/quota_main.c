/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "quota_main.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"
#include "output.h"
#include "quota_report.h"

#define EXIT_EXCEEDED 1

#define SEEDS    5     /* the paper's executions */
#define REQUESTS 10000 /* at 20 nodes polling then saves what it does in the paper: 85 % */

static const unsigned sizes[] = {10, 20, 100};

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const char usage_text[] =
	"Usage: weirsim quota [OPTION]...\n"
	"Nodes of a tree grant requests until a total is used up, and move what is left of it to where\n"
	"it is needed: what that costs, against asking a centre each time, and against polling all.\n"
	"\n"
	"  --nodes N      only so many nodes, 2 to 1000 (10, 20 and 100)\n"
	"  --requests N   requests that the total is about enough for (10000)\n"
	"  --seeds N      runs of each (5)\n"
	"  --first SEED   the first seed (1)\n"
	"  --json FILE    all figures ('-': standard output, in place of the table)\n"
	"  --svg FILE     cost by what is left of the total, of 20 nodes or the only ones\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 when more than the total was granted; 2 when it could not be run.\n";

struct options {
	uint64_t nodes, requests, seeds, first;
	const char *json, *svg;
};

static const struct option_row option_rows[] = {
	OPTION_ROW_NUMBER("nodes", struct options, nodes, 2, QUOTA_NODES_MAX),
	OPTION_ROW_NUMBER("requests", struct options, requests, 100, 10000000),
	OPTION_ROW_NUMBER("seeds", struct options, seeds, 1, 100000),
	OPTION_ROW_NUMBER("first", struct options, first, 0, INT32_MAX),
	OPTION_ROW_TEXT("json", struct options, json),
	OPTION_ROW_TEXT("svg", struct options, svg),
};

static const struct option_set set = {
	.command = "quota",
	.usage = usage_text,
	.rows = option_rows,
	.n = sizeof(option_rows) / sizeof(option_rows[0]),
	.expected = "expected no more arguments",
};

/* Every contender, on the same requests. 0 or a negative errno. */
static int run_seed(struct quota_row *row, const struct options *o, uint64_t seed)
{
	struct quota_result results[QUOTA_CONTENDERS];
	struct quota_case c;
	int err;

	quota_case_init(&c, row->n, row->workload, seed, (unsigned)o->requests);
	err = quota_central(&c, &results[QUOTA_CENTRAL]);
	if (err == 0)
		err = quota_poll(&c, false, &results[QUOTA_POLL]);
	if (err == 0)
		err = quota_poll(&c, true, &results[QUOTA_POLL_AT_ONCE]);
	if (err == 0)
		err = quota_tree(&c, &results[QUOTA_TREE]);
	if (err) {
		fprintf(stderr, "seed %llu: %s\n", (unsigned long long)seed, strerror(-err));
		return err;
	}
	quota_row_add(row, &c, results);
	return 0;
}

static int run_rows(const struct options *o, struct quota_row *rows, unsigned *n)
{
	*n = 0;
	for (unsigned w = 0; w < QUOTA_WORKLOADS; w++)
		for (unsigned i = 0; i < (o->nodes ? 1 : N_SIZES); i++) {
			struct quota_row *row = &rows[(*n)++];

			*row = (struct quota_row){
				.n = o->nodes ? (unsigned)o->nodes : sizes[i],
				.workload = (enum quota_workload)w,
			};
			for (unsigned long s = 0; s < o->seeds; s++)
				if (run_seed(row, o, o->first + s))
					return -EIO;
		}
	return 0;
}

struct found {
	const struct quota_row *rows;
	unsigned n, requests;
};

static void write_text(const void *what, FILE *out)
{
	const struct found *found = what;

	quota_report_text(found->rows, found->n, out);
}

static json_t *to_json(const void *what)
{
	const struct found *found = what;

	return quota_report_json(found->rows, found->n, found->requests);
}

/* Of 20 nodes, or the only ones. */
static int plot(const void *what, FILE *out)
{
	const struct found *found = what;
	unsigned row = 0;

	for (unsigned i = 0; i < found->n; i++)
		if (found->rows[i].n == 20)
			row = i;
	return quota_report_svg(&found->rows[row], out);
}

static int report(const struct options *o, const struct quota_row *rows, unsigned n)
{
	static const struct output_forms forms = {
		.text = write_text, .json = to_json, .plot = plot, .digits = 9};
	struct found found = {rows, n, (unsigned)o->requests};
	bool exceeded = false;

	for (unsigned i = 0; i < n; i++)
		exceeded |= rows[i].of[QUOTA_TREE].exceeded;
	if (output_result(&forms, &found, o->json, o->svg))
		return EXIT_BAD;
	return exceeded ? EXIT_EXCEEDED : EXIT_SUCCESS;
}

int quota_main(int argc, char **argv)
{
	struct options o = {.requests = REQUESTS, .seeds = SEEDS, .first = 1};
	struct quota_row rows[QUOTA_WORKLOADS * N_SIZES];
	unsigned n;
	int status = option_parse(&set, argc, argv, &o);

	if (status >= 0)
		return status;
	if (run_rows(&o, rows, &n))
		return EXIT_BAD;
	return report(&o, rows, n);
}
