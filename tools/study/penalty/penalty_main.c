/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "penalty_main.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "command/option.h"
#include "command/output.h"
#include "penalty_queue.h"
#include "penalty_report.h"
#include "policy/units.h"

#define EXIT_LESS 1

static const char usage_text[] =
	"Usage: weir-study penalty [OPTION]...\n"
	"Compares the wait for tokens of one bucket with the wait at n parts of it. Each part has an\n"
	"n-th of its rate and of its burst. Simulates both, and uses the formula of \"Impact of\n"
	"Distributed Rate Limiting on Load Distribution in a Latency-sensitive Messaging Service\" if it\n"
	"applies.\n"
	"\n"
	"Arrivals:\n"
	"  --arrivals KIND  poisson, periodic, batch (whole, to any part) or spread (batches dealt out\n"
	"                   to the parts) (default: all)\n"
	"\n"
	"  --packet SIZE    of each packet (1250B)\n"
	"  --load X         of the rate, 0.01 to 0.99 (0.9)\n"
	"\n"
	"  --batch N        packets that arrive together, of batch and spread (8)\n"
	"  --publishers N   of periodic; publisher i is of part i modulo n (240)\n"
	"\n"
	"Bucket:\n"
	"  --rate RATE      of the one bucket (100Mbit/s)\n"
	"  --burst SIZE     of the one bucket; as many parts as a packet fits into, up to 16 (40000B)\n"
	"\n"
	"  --parts N,...    only so many, and one (default: each number of them)\n"
	"\n"
	"Runs:\n"
	"  --packets N      of a run, of which the first tenth is not measured (100000)\n"
	"  --seeds N        runs of each (10)\n"
	"  --first SEED     the first seed (1)\n"
	"\n"
	"Output:\n"
	"  --json FILE      all figures ('-': standard output, in place of the table);\n"
	"                   tools/plot draws it\n"
	"  --markdown       tables as a document has them\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 when packets waited less in all after a split, which cannot be; 2 when it\n"
	"could not be run.\n";

struct penalty_options {
	struct penalty_case c;
	bool all; /* arrivals */
	bool markdown;
	bool parts[PENALTY_PARTS + 1]; /* by their number: requested ones; 1 always is */
	uint64_t seeds, first;
	const char *json;
};

static bool parse_size(const char *name, const char *text, uint64_t most, uint64_t *out)
{
	if (units_parse_size(text, out) == 0 && *out >= 1 && *out <= most)
		return true;
	fprintf(stderr, "--%s: \"%s\": expected a size, 1B to %lluB\n", name, text,
		(unsigned long long)most);
	return false;
}

static bool take_burst(const char *text, void *options)
{
	struct penalty_options *o = options;

	return parse_size("burst", text, TOKEN_BUCKET_MAX_BURST, &o->c.burst_bytes);
}

static bool take_packet(const char *text, void *options)
{
	struct penalty_options *o = options;
	uint64_t bytes;

	if (!parse_size("packet", text, UINT16_MAX, &bytes))
		return false;
	o->c.packet_bytes = (uint32_t)bytes;
	return true;
}

static bool take_rate(const char *text, void *options)
{
	struct penalty_options *o = options;
	uint64_t *rate = &o->c.rate_bps;

	if (units_parse_rate(text, rate) == 0 && *rate >= 16000 && *rate <= 1000000000000)
		return true;
	fprintf(stderr, "--rate: \"%s\": expected a rate, 16kbit/s to 1Tbit/s\n", text);
	return false;
}

static bool take_arrivals(const char *text, void *options)
{
	struct penalty_options *o = options;

	for (unsigned i = 0; i < PENALTY_ARRIVALS; i++)
		if (strcmp(text, penalty_names[i]) == 0) {
			o->c.arrivals = (enum penalty_arrivals)i;
			o->all = false;
			return true;
		}
	o->all = strcmp(text, "all") == 0;
	if (!o->all)
		fprintf(stderr,
			"--arrivals: \"%s\": expected poisson, periodic, batch, spread or all\n",
			text);
	return o->all;
}

static bool take_parts(const char *text, void *options)
{
	struct penalty_options *o = options;
	uint64_t parts[PENALTY_PARTS];
	unsigned n = option_numbers("parts", text, 1, PENALTY_PARTS, parts, PENALTY_PARTS);

	for (unsigned i = 2; i <= PENALTY_PARTS; i++)
		o->parts[i] = false;
	for (unsigned i = 0; i < n; i++)
		o->parts[parts[i]] = true;
	return n > 0;
}

static const struct option_row rows[] = {
	OPTION_ROW_OTHER("arrivals", take_arrivals),
	OPTION_ROW_OTHER("rate", take_rate),
	OPTION_ROW_OTHER("burst", take_burst),
	OPTION_ROW_OTHER("packet", take_packet),
	OPTION_ROW_REAL("load", struct penalty_options, c.load, 0.01, 0.99),
	OPTION_ROW_UNSIGNED("batch", struct penalty_options, c.batch, 1, 1000),
	OPTION_ROW_UNSIGNED(
		"publishers", struct penalty_options, c.publishers, 1, PENALTY_PUBLISHERS),
	OPTION_ROW_OTHER("parts", take_parts),
	OPTION_ROW_FLAG("markdown", struct penalty_options, markdown),
	OPTION_ROW_NUMBER("packets", struct penalty_options, c.packets, 10, 1000000000),
	OPTION_ROW_NUMBER("seeds", struct penalty_options, seeds, 1, 100000),
	OPTION_ROW_NUMBER("first", struct penalty_options, first, 0, INT32_MAX),
	OPTION_ROW_TEXT("json", struct penalty_options, json),
};

static const struct option_set set = {
	.command = "penalty",
	.usage = usage_text,
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.expected = "expected no more arguments",
};

/* Runs one bucket, then its parts, on the same packets. */
static int run_penalty_seed(struct penalty_kind *kind, uint64_t seed)
{
	unsigned __int128 one = 0, total;

	for (unsigned i = 0; i < kind->n; i++) {
		int err = penalty_run(&kind->rows[i], &kind->c, seed, &total);

		if (err) {
			fprintf(stderr, "%s\n",
				err == -ERANGE ? "--rate: too fast" : strerror(-err));
			return EXIT_BAD;
		}
		if (i == 0)
			one = total;
		if (total >= one)
			continue;
		fprintf(stderr, "%s, seed %llu: packets wait less for %u parts than for one\n",
			penalty_names[kind->c.arrivals], (unsigned long long)seed,
			kind->rows[i].parts);
		return EXIT_LESS;
	}
	return EXIT_SUCCESS;
}

static int run_kind(struct penalty_kind *kind, const struct penalty_options *o)
{
	int status = EXIT_SUCCESS;

	for (unsigned parts = 1; parts <= penalty_parts(&kind->c); parts++)
		if (o->parts[parts])
			kind->rows[kind->n++].parts = parts;
	for (uint64_t s = 0; s < o->seeds && status == EXIT_SUCCESS; s++)
		status = run_penalty_seed(kind, o->first + s);
	return status;
}

struct penalty_found {
	const struct penalty_options *options;
	struct penalty_kinds all;
};

static void write_penalty_text(const void *what, FILE *out)
{
	const struct penalty_found *found = what;

	fputs("Delays in microseconds; +/-: standard error of the mean; exact: its formula;\n"
	      "(1): the paper's; ratio: of the mean to that of one bucket.\n",
		out);
	for (unsigned i = 0; i < found->all.n; i++)
		penalty_report_text(&found->all.kinds[i], out);
}

static void write_penalty_markdown(const void *what, FILE *out)
{
	const struct penalty_found *found = what;

	for (unsigned i = 0; i < found->all.n; i++)
		penalty_report_markdown(&found->all.kinds[i], out);
}

static json_t *penalty_to_json(const void *what)
{
	const struct penalty_found *found = what;
	const struct penalty_options *o = found->options;
	json_t *runs = json_array();

	for (unsigned i = 0; i < found->all.n; i++)
		json_array_append_new(runs, penalty_report_json(&found->all.kinds[i]));
	return json_pack("{s:I,s:I,s:I,s:f,s:I,s:I,s:I,s:I,s:I,s:o}", "rate_bps",
		(json_int_t)o->c.rate_bps, "burst_bytes", (json_int_t)o->c.burst_bytes,
		"packet_bytes", (json_int_t)o->c.packet_bytes, "load", o->c.load, "batch",
		(json_int_t)o->c.batch, "publishers", (json_int_t)o->c.publishers, "packets",
		(json_int_t)o->c.packets, "seeds", (json_int_t)o->seeds, "first",
		(json_int_t)o->first, "runs", runs);
}

static int report_penalty(const struct penalty_options *o, const struct penalty_kinds *all)
{
	const struct output_forms forms = {
		.text = o->markdown ? write_penalty_markdown : write_penalty_text,
		.json = penalty_to_json};
	struct penalty_found found = {o, *all};

	return output_result(&forms, &found, o->json) ? EXIT_BAD : EXIT_SUCCESS;
}

static int run_all_arrivals(const struct penalty_options *o, struct penalty_kind *kinds)
{
	struct penalty_kinds all = {.kinds = kinds};
	int status = EXIT_SUCCESS;

	for (unsigned i = 0; i < PENALTY_ARRIVALS && status == EXIT_SUCCESS; i++) {
		struct penalty_kind *kind = &kinds[all.n];

		if (!o->all && i != o->c.arrivals)
			continue;
		kind->c = o->c;
		kind->c.arrivals = (enum penalty_arrivals)i;
		status = run_kind(kind, o);
		all.n++;
	}
	return status ? status : report_penalty(o, &all);
}

/* Checks options that are valid only together. */
static bool check_penalty_options(const struct penalty_case *c)
{
	if (penalty_parts(c) == 0) {
		fputs("--burst: less than a packet, so none would ever pass\n", stderr);
		return false;
	}
	if (c->rate_bps / 8 / PENALTY_HZ >= c->packet_bytes) {
		fputs("--packet: no more than the rate's tokens of a nanosecond\n", stderr);
		return false;
	}
	if (penalty_ticks(c) >= 0x1p58) {
		fputs("--packets: that takes more than nine years, of simulated time\n", stderr);
		return false;
	}
	return true;
}

int penalty_main(int argc, char **argv)
{
	struct penalty_options o = {
		.c = {.rate_bps = 100000000,
			.burst_bytes = 40000,
			.packet_bytes = 1250,
			.load = 0.9,
			.batch = 8,
			.publishers = 240,
			.packets = 100000},
		.all = true,
		.seeds = 10,
		.first = 1,
	};
	struct penalty_kind *kinds;
	int status;

	for (unsigned parts = 1; parts <= PENALTY_PARTS; parts++)
		o.parts[parts] = true;
	status = option_parse(&set, argc, argv, &o);
	if (status >= 0)
		return status;
	if (!check_penalty_options(&o.c))
		return EXIT_BAD;
	kinds = calloc(PENALTY_ARRIVALS, sizeof(*kinds));
	if (!kinds) {
		fprintf(stderr, "%s\n", strerror(ENOMEM));
		return EXIT_BAD;
	}
	status = run_all_arrivals(&o, kinds);
	free(kinds);
	return status;
}
