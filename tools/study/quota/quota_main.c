/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "quota_main.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "command/option.h"
#include "command/output.h"
#include "quota_report.h"

#define EXIT_EXCEEDED 1

#define SEEDS    5     /* the paper's executions */
#define REQUESTS 10000 /* at 20 nodes polling then saves as much as in the paper: 85 % */

#define REQUESTS_MAX 8 /* numbers of them */

static const unsigned sizes[] = {10, 20, 100};

#define N_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static const char usage_text[] =
	"Usage: weir-study quota [OPTION]...\n"
	"Simulates nodes of a tree that grant requests until a quota is used up, and move the rest of it\n"
	"to the nodes that need it. Compares the messages with two other methods: a request to a centre\n"
	"each time, and a poll of all nodes.\n"
	"\n"
	"Runs:\n"
	"  --nodes N      only so many nodes, 2 to 1000 (10, 20 and 100)\n"
	"  --trace NAME   only zipf, or worldcup, which is named after the paper's: both are generated\n"
	"\n"
	"  --requests N   requests that the quota is about enough for (10000); up to 8 numbers with\n"
	"                 commas between them: each\n"
	"  --seeds N      runs of each (5)\n"
	"  --first SEED   the first seed (1)\n"
	"\n"
	"Output:\n"
	"  --json FILE    all figures ('-': standard output, in place of the table);\n"
	"                 tools/plot draws it\n"
	"  --markdown     the tables as a document has them\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 when more than the total was granted; 2 when it could not be run.\n";

struct quota_options {
	uint64_t nodes, seeds, first;
	uint64_t requests[REQUESTS_MAX];
	unsigned n_requests;
	enum quota_workload only; /* QUOTA_WORKLOADS: all */
	bool markdown;
	const char *json;
};

static bool take_trace(const char *text, void *options)
{
	struct quota_options *o = options;

	for (unsigned i = 0; i < QUOTA_WORKLOADS; i++)
		if (strcmp(text, quota_workloads[i]) == 0) {
			o->only = (enum quota_workload)i;
			return true;
		}
	fprintf(stderr, "--trace: \"%s\": expected zipf or worldcup\n", text);
	return false;
}

static bool take_requests(const char *text, void *options)
{
	struct quota_options *o = options;

	o->n_requests = option_numbers("requests", text, 100, 10000000, o->requests, REQUESTS_MAX);
	return o->n_requests > 0;
}

static const struct option_row option_rows[] = {
	OPTION_ROW_NUMBER("nodes", struct quota_options, nodes, 2, QUOTA_NODES_MAX),
	OPTION_ROW_OTHER("trace", take_trace),
	OPTION_ROW_OTHER("requests", take_requests),
	OPTION_ROW_FLAG("markdown", struct quota_options, markdown),
	OPTION_ROW_NUMBER("seeds", struct quota_options, seeds, 1, 100000),
	OPTION_ROW_NUMBER("first", struct quota_options, first, 0, INT32_MAX),
	OPTION_ROW_TEXT("json", struct quota_options, json),
};

static const struct option_set set = {
	.command = "quota",
	.usage = usage_text,
	.rows = option_rows,
	.n = sizeof(option_rows) / sizeof(option_rows[0]),
	.expected = "expected no more arguments",
};

/* Runs every contender on the same requests. Returns 0 or a negative errno. */
static int run_quota_seed(struct quota_row *row, uint64_t seed)
{
	struct quota_result results[QUOTA_CONTENDERS];
	struct quota_case c;
	int err;

	quota_case_init(&c, row->n, row->workload, seed, row->requests);
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

static int run_row(const struct quota_options *o, struct quota_row *row)
{
	for (unsigned long s = 0; s < o->seeds; s++)
		if (run_quota_seed(row, o->first + s))
			return -EIO;
	return 0;
}

static unsigned list_rows(const struct quota_options *o, struct quota_row *rows)
{
	unsigned n = 0;

	for (unsigned w = 0; w < QUOTA_WORKLOADS; w++)
		for (unsigned i = 0; i < (o->nodes ? 1 : N_SIZES); i++)
			for (unsigned r = 0; r < o->n_requests; r++)
				if (o->only == QUOTA_WORKLOADS || o->only == w)
					rows[n++] = (struct quota_row){
						.n = o->nodes ? (unsigned)o->nodes : sizes[i],
						.requests = (unsigned)o->requests[r],
						.workload = (enum quota_workload)w,
					};
	return n;
}

struct quota_found {
	const struct quota_row *rows;
	unsigned n;
};

static void write_quota_text(const void *what, FILE *out)
{
	const struct quota_found *found = what;

	quota_report_text(found->rows, found->n, out);
}

static void write_quota_markdown(const void *what, FILE *out)
{
	const struct quota_found *found = what;

	quota_report_markdown(found->rows, found->n, out);
}

static json_t *quota_to_json(const void *what)
{
	const struct quota_found *found = what;

	return quota_report_json(found->rows, found->n);
}

static int report_quota(const struct quota_options *o, const struct quota_row *rows, unsigned n)
{
	const struct output_forms forms = {
		.text = o->markdown ? write_quota_markdown : write_quota_text,
		.json = quota_to_json,
		.digits = 9};
	struct quota_found found = {rows, n};
	bool exceeded = false;

	for (unsigned i = 0; i < n; i++)
		exceeded |= rows[i].of[QUOTA_TREE].exceeded;
	if (output_result(&forms, &found, o->json))
		return EXIT_BAD;
	return exceeded ? EXIT_EXCEEDED : EXIT_SUCCESS;
}

int quota_main(int argc, char **argv)
{
	struct quota_options o = {.requests = {REQUESTS},
		.n_requests = 1,
		.only = QUOTA_WORKLOADS,
		.seeds = SEEDS,
		.first = 1};
	struct quota_row rows[QUOTA_WORKLOADS * N_SIZES * REQUESTS_MAX];
	int status = option_parse(&set, argc, argv, &o);
	unsigned n;

	if (status >= 0)
		return status;
	n = list_rows(&o, rows);
	for (unsigned i = 0; i < n; i++)
		if (run_row(&o, &rows[i]))
			return EXIT_BAD;
	return report_quota(&o, rows, n);
}
