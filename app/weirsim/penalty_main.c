/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "penalty_main.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "option.h"
#include "output.h"
#include "penalty_queue.h"
#include "penalty_report.h"
#include "policy/units.h"

#define EXIT_LESS 1
#define EXIT_BAD  2

static const char usage_text[] =
	"Usage: weirsim penalty [OPTION]...\n"
	"What packets wait for tokens of one bucket, and of n parts of it that have an n-th of its rate\n"
	"and of its burst each: simulated, and by the formula of \"Impact of Distributed Rate Limiting\n"
	"on Load Distribution in a Latency-sensitive Messaging Service\" where it applies.\n"
	"\n"
	"  --arrivals KIND  poisson, periodic, batch (whole, to any part) or spread (batches dealt out\n"
	"                   to the parts) (default: all)\n"
	"  --rate RATE      of the one bucket (100Mbit/s)\n"
	"  --burst SIZE     of the one bucket; as many parts as a packet fits into, up to 16 (40000B)\n"
	"  --packet SIZE    of each packet (1250B)\n"
	"  --load X         of the rate, 0.01 to 0.99 (0.9)\n"
	"  --batch N        packets at once, of batch and spread (8)\n"
	"  --publishers N   of periodic; publisher i is of part i modulo n (240)\n"
	"  --packets N      of a run, of which the first tenth is not measured (100000)\n"
	"  --seeds N        runs of each (10)\n"
	"  --first SEED     the first seed (1)\n"
	"  --json FILE      all figures ('-': standard output, in place of the table)\n"
	"  --svg FILE       a chart of each kind of arrivals\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 when packets waited less in all after a split, which cannot be; 2 when it\n"
	"could not be run.\n";

static const struct option long_options[] = {
	{"arrivals", required_argument, NULL, 'a'},
	{"rate", required_argument, NULL, 'r'},
	{"burst", required_argument, NULL, 'b'},
	{"packet", required_argument, NULL, 'p'},
	{"load", required_argument, NULL, 'l'},
	{"batch", required_argument, NULL, 'm'},
	{"publishers", required_argument, NULL, 'u'},
	{"packets", required_argument, NULL, 'n'},
	{"seeds", required_argument, NULL, 's'},
	{"first", required_argument, NULL, 'f'},
	{"json", required_argument, NULL, 'j'},
	{"svg", required_argument, NULL, 'g'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct options {
	struct penalty_case c;
	bool all; /* arrivals */
	uint64_t seeds, first;
	const char *json, *svg;
};

static bool parse_unsigned(const char *name, unsigned most, unsigned *out)
{
	uint64_t value;

	if (!option_number(name, optarg, 1, most, &value))
		return false;
	*out = (unsigned)value;
	return true;
}

static bool parse_load(double *out)
{
	char *end;

	*out = strtod(optarg, &end);
	if (end != optarg && *end == '\0' && *out >= 0.01 && *out <= 0.99)
		return true;
	fprintf(stderr, "--load: \"%s\": expected 0.01 to 0.99\n", optarg);
	return false;
}

static bool parse_size(const char *name, uint64_t most, uint64_t *out)
{
	if (units_parse_size(optarg, out) == 0 && *out >= 1 && *out <= most)
		return true;
	fprintf(stderr, "--%s: \"%s\": expected a size, 1B to %lluB\n", name, optarg,
		(unsigned long long)most);
	return false;
}

static bool parse_packet(uint32_t *out)
{
	uint64_t bytes;

	if (!parse_size("packet", UINT16_MAX, &bytes))
		return false;
	*out = (uint32_t)bytes;
	return true;
}

static bool parse_rate(uint64_t *out)
{
	if (units_parse_rate(optarg, out) == 0 && *out >= 16000 && *out <= 1000000000000)
		return true;
	fprintf(stderr, "--rate: \"%s\": expected a rate, 16kbit/s to 1Tbit/s\n", optarg);
	return false;
}

static bool parse_arrivals(struct options *o)
{
	for (unsigned i = 0; i < PENALTY_ARRIVALS; i++)
		if (strcmp(optarg, penalty_names[i]) == 0) {
			o->c.arrivals = (enum penalty_arrivals)i;
			o->all = false;
			return true;
		}
	o->all = strcmp(optarg, "all") == 0;
	if (!o->all)
		fprintf(stderr,
			"--arrivals: \"%s\": expected poisson, periodic, batch, spread or all\n",
			optarg);
	return o->all;
}

static bool take_traffic_option(int c, struct options *o)
{
	switch (c) {
	case 'a':
		return parse_arrivals(o);
	case 'r':
		return parse_rate(&o->c.rate_bps);
	case 'b':
		return parse_size("burst", TOKEN_BUCKET_MAX_BURST, &o->c.burst_bytes);
	case 'p':
		return parse_packet(&o->c.packet_bytes);
	case 'l':
		return parse_load(&o->c.load);
	case 'm':
		return parse_unsigned("batch", 1000, &o->c.batch);
	case 'u':
		return parse_unsigned("publishers", PENALTY_PUBLISHERS, &o->c.publishers);
	default:
		return false;
	}
}

static bool take_option(int c, struct options *o)
{
	switch (c) {
	case 'n':
		return option_number("packets", optarg, 10, 1000000000, &o->c.packets);
	case 's':
		return option_number("seeds", optarg, 1, 100000, &o->seeds);
	case 'f':
		return option_number("first", optarg, 0, INT32_MAX, &o->first);
	case 'j':
		o->json = optarg;
		return true;
	case 'g':
		o->svg = optarg;
		return true;
	default:
		return take_traffic_option(c, o);
	}
}

/* One bucket, then its parts, on the same packets. */
static int run_seed(struct penalty_kind *kind, uint64_t seed)
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
			penalty_names[kind->c.arrivals], (unsigned long long)seed, i + 1);
		return EXIT_LESS;
	}
	return EXIT_SUCCESS;
}

static int run_kind(struct penalty_kind *kind, const struct options *o)
{
	int status = EXIT_SUCCESS;

	for (unsigned i = 0; i < kind->n; i++)
		kind->rows[i].parts = i + 1;
	for (uint64_t s = 0; s < o->seeds && status == EXIT_SUCCESS; s++)
		status = run_seed(kind, o->first + s);
	return status;
}

static int write_json(const struct options *o, const struct penalty_kinds *all)
{
	json_t *runs = json_array(), *out;
	int ret;

	for (unsigned i = 0; i < all->n; i++)
		json_array_append_new(runs, penalty_report_json(&all->kinds[i]));
	out = json_pack("{s:I,s:I,s:I,s:f,s:I,s:I,s:I,s:I,s:I,s:o}", "rate_bps",
		(json_int_t)o->c.rate_bps, "burst_bytes", (json_int_t)o->c.burst_bytes,
		"packet_bytes", (json_int_t)o->c.packet_bytes, "load", o->c.load, "batch",
		(json_int_t)o->c.batch, "publishers", (json_int_t)o->c.publishers, "packets",
		(json_int_t)o->c.packets, "seeds", (json_int_t)o->seeds, "first",
		(json_int_t)o->first, "runs", runs);
	ret = output_write(o->json, output_json, out);
	json_decref(out);
	return ret;
}

static int report(const struct options *o, const struct penalty_kinds *all)
{
	int err = 0;

	if (!o->json || !output_is_standard(o->json)) {
		fputs("Delays in microseconds; +/-: standard error of the mean; exact: its formula;\n"
		      "(1): the paper's; ratio: of the mean to that of one bucket.\n",
			stdout);
		for (unsigned i = 0; i < all->n; i++)
			penalty_report_text(&all->kinds[i], stdout);
		err = output_flush(stdout);
		if (err)
			fprintf(stderr, "standard output: %s\n", strerror(-err));
	}
	if (err == 0 && o->json)
		err = write_json(o, all);
	if (err == 0 && o->svg)
		err = output_write(o->svg, penalty_report_plot, all);
	return err ? EXIT_BAD : EXIT_SUCCESS;
}

static int run_all(const struct options *o, struct penalty_kind *kinds)
{
	struct penalty_kinds all = {.kinds = kinds};
	int status = EXIT_SUCCESS;

	for (unsigned i = 0; i < PENALTY_ARRIVALS && status == EXIT_SUCCESS; i++) {
		struct penalty_kind *kind = &kinds[all.n];

		if (!o->all && i != o->c.arrivals)
			continue;
		kind->c = o->c;
		kind->c.arrivals = (enum penalty_arrivals)i;
		kind->n = penalty_parts(&o->c);
		status = run_kind(kind, o);
		all.n++;
	}
	return status ? status : report(o, &all);
}

/* Options that only mean something together. */
static bool check_options(const struct penalty_case *c)
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

/* Negative: go on; else the exit status. */
static int parse_options(int argc, char **argv, struct options *o)
{
	int c;

	optind = 1;
	while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1) {
		if (c == 'h') {
			fputs(usage_text, stdout);
			return output_flush(stdout) ? EXIT_BAD : EXIT_SUCCESS;
		}
		if (!take_option(c, o))
			return EXIT_BAD;
	}
	if (optind != argc) {
		fputs("expected no more arguments; see weirsim penalty --help\n", stderr);
		return EXIT_BAD;
	}
	return check_options(&o->c) ? -1 : EXIT_BAD;
}

int penalty_main(int argc, char **argv)
{
	struct options o = {
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
	int status = parse_options(argc, argv, &o);
	struct penalty_kind *kinds;

	if (status >= 0)
		return status;
	kinds = calloc(PENALTY_ARRIVALS, sizeof(*kinds));
	if (!kinds) {
		fprintf(stderr, "%s\n", strerror(ENOMEM));
		return EXIT_BAD;
	}
	status = run_all(&o, kinds);
	free(kinds);
	return status;
}
