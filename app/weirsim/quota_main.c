/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "quota_main.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"
#include "quota_report.h"

#define EXIT_EXCEEDED 1
#define EXIT_BAD      2

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

static const struct option long_options[] = {
	{"nodes", required_argument, NULL, 'n'},
	{"requests", required_argument, NULL, 'r'},
	{"seeds", required_argument, NULL, 's'},
	{"first", required_argument, NULL, 'f'},
	{"json", required_argument, NULL, 'j'},
	{"svg", required_argument, NULL, 'p'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct options {
	uint64_t nodes, requests, seeds, first;
	const char *json, *svg;
};

static bool take_option(int c, struct options *o)
{
	switch (c) {
	case 'n':
		return option_number("nodes", optarg, 2, QUOTA_NODES_MAX, &o->nodes);
	case 'r':
		return option_number("requests", optarg, 100, 10000000, &o->requests);
	case 's':
		return option_number("seeds", optarg, 1, 100000, &o->seeds);
	case 'f':
		return option_number("first", optarg, 0, INT32_MAX, &o->first);
	case 'j':
		o->json = optarg;
		return true;
	case 'p':
		o->svg = optarg;
		return true;
	default:
		return false;
	}
}

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

static int close_file(FILE *out, const char *path)
{
	int ret = ferror(out) ? -EIO : 0;

	if (out == stdout ? fflush(out) : fclose(out))
		ret = errno ? -errno : -EIO;
	if (ret)
		fprintf(stderr, "%s: %s\n", path, strerror(-ret));
	return ret;
}

static FILE *open_file(const char *path)
{
	FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "w");

	if (!out)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	return out;
}

static int write_json(const struct options *o, const struct quota_row *rows, unsigned n)
{
	json_t *json = quota_report_json(rows, n, (unsigned)o->requests);
	FILE *out = open_file(o->json);

	if (out) {
		json_dumpf(json, out, JSON_INDENT(2) | JSON_REAL_PRECISION(9));
		fputc('\n', out);
	}
	json_decref(json);
	return out ? close_file(out, o->json) : -EIO;
}

static int write_svg(const struct options *o, const struct quota_row *rows, unsigned n)
{
	FILE *out = open_file(o->svg);
	unsigned row = 0;

	for (unsigned i = 0; i < n; i++)
		if (rows[i].n == 20)
			row = i;
	if (!out)
		return -EIO;
	quota_report_svg(&rows[row], out);
	return close_file(out, o->svg);
}

static int report(const struct options *o, const struct quota_row *rows, unsigned n)
{
	bool exceeded = false;
	int err = 0;

	for (unsigned i = 0; i < n; i++)
		exceeded |= rows[i].of[QUOTA_TREE].exceeded;
	if (!o->json || strcmp(o->json, "-") != 0) {
		quota_report_text(rows, n, stdout);
		err = close_file(stdout, "standard output");
	}
	if (err == 0 && o->json)
		err = write_json(o, rows, n);
	if (err == 0 && o->svg)
		err = write_svg(o, rows, n);
	if (err)
		return EXIT_BAD;
	return exceeded ? EXIT_EXCEEDED : EXIT_SUCCESS;
}

int quota_main(int argc, char **argv)
{
	struct options o = {.requests = REQUESTS, .seeds = SEEDS, .first = 1};
	struct quota_row rows[QUOTA_WORKLOADS * N_SIZES];
	unsigned n;
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage_text, stdout);
			return EXIT_SUCCESS;
		}
		if (!take_option(c, &o))
			return EXIT_BAD;
	}
	if (optind != argc) {
		fputs("expected no more arguments; see weirsim quota --help\n", stderr);
		return EXIT_BAD;
	}
	if (run_rows(&o, rows, &n))
		return EXIT_BAD;
	return report(&o, rows, n);
}
