/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "broker_main.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "broker_report.h"
#include "option.h"
#include "output.h"

#define EXIT_ORDER 1
#define EXIT_BAD   2

static const char usage_text[] =
	"Usage: weirsim brokers --figure 4|5|6|7|8|9|table1 [OPTION]...\n"
	"What it is worth to place an aggregate's sources well on the brokers that limit it: figures\n"
	"and table of \"Impact of Distributed Rate Limiting on Load Distribution in a Latency-sensitive\n"
	"Messaging Service\", simulated, and the placement of lib/place beside the paper's.\n"
	"\n"
	"  --figure F    which one\n"
	"  --seeds N     runs of each point (default: 10)\n"
	"  --first SEED  the first seed (1)\n"
	"  --messages N  of a run, of which the first tenth is not measured (300000)\n"
	"  --json FILE   all figures ('-': standard output, in place of the table)\n"
	"  --svg FILE    a chart\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 when the order of the contenders is not the paper's at some point; 2 when it\n"
	"could not be run.\n";

static const struct option long_options[] = {
	{"figure", required_argument, NULL, 'f'},
	{"seeds", required_argument, NULL, 's'},
	{"first", required_argument, NULL, '1'},
	{"messages", required_argument, NULL, 'm'},
	{"json", required_argument, NULL, 'j'},
	{"svg", required_argument, NULL, 'g'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

struct options {
	const struct broker_figure *figure;
	bool table;
	uint64_t seeds, first, messages;
	const char *json, *svg;
};

static bool parse_figure(struct options *o)
{
	uint64_t number;

	o->table = strcmp(optarg, "table1") == 0;
	if (o->table)
		return true;
	if (!option_number("figure", optarg, BROKER_FIGURE_FIRST,
		    BROKER_FIGURE_FIRST + BROKER_FIGURES - 1, &number))
		return false;
	o->figure = broker_figure((unsigned)number);
	return true;
}

static bool take_option(int c, struct options *o)
{
	switch (c) {
	case 'f':
		return parse_figure(o);
	case 's':
		return option_number("seeds", optarg, 1, 1000, &o->seeds);
	case '1':
		return option_number("first", optarg, 0, INT32_MAX, &o->first);
	case 'm':
		return option_number("messages", optarg, 1000, 100000000, &o->messages);
	case 'j':
		o->json = optarg;
		return true;
	case 'g':
		o->svg = optarg;
		return true;
	default:
		return false;
	}
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
	if (optind != argc || (!o->figure && !o->table)) {
		fputs("expected --figure, and no arguments; see weirsim brokers --help\n", stderr);
		return EXIT_BAD;
	}
	return -1;
}

static bool prints(const struct options *o)
{
	return !o->json || !output_is_standard(o->json);
}

/* Text first, then files. json is freed. */
static int write_all(const struct options *o, json_t *json,
	int (*plot)(const void *what, FILE *out), const void *what)
{
	int err = prints(o) ? output_flush(stdout) : 0;

	if (err)
		fprintf(stderr, "standard output: %s\n", strerror(-err));
	if (err == 0 && o->json)
		err = output_write(o->json, output_json, json);
	if (err == 0 && o->svg)
		err = output_write(o->svg, plot, what);
	json_decref(json);
	return err ? EXIT_BAD : EXIT_SUCCESS;
}

static int run_table(const struct options *o)
{
	struct broker_table table;

	if (broker_table_run(&table, o->first, (unsigned)o->seeds, o->messages)) {
		fprintf(stderr, "%s\n", strerror(ENOMEM));
		return EXIT_BAD;
	}
	if (prints(o))
		broker_table_text(&table, stdout);
	return write_all(o, broker_table_json(&table), broker_table_plot, &table);
}

static int run_figure(const struct options *o)
{
	struct broker_results results = {.figure = o->figure};
	int status;

	if (broker_figure_run(&results, o->first, (unsigned)o->seeds, o->messages)) {
		fprintf(stderr, "%s\n", strerror(ENOMEM));
		return EXIT_BAD;
	}
	if (prints(o))
		broker_report_text(&results, stdout);
	status = write_all(o, broker_report_json(&results), broker_report_plot, &results);
	if (status == EXIT_SUCCESS && broker_out_of_order(&results) > 0)
		return EXIT_ORDER;
	return status;
}

int broker_main(int argc, char **argv)
{
	struct options o = {.seeds = 10, .first = 1, .messages = 300000};
	int status = parse_options(argc, argv, &o);

	if (status >= 0)
		return status;
	return o.table ? run_table(&o) : run_figure(&o);
}
