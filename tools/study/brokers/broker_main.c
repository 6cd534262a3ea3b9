/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "broker_main.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker_report.h"
#include "command/option.h"
#include "command/output.h"

#define EXIT_ORDER 1

static const char usage_text[] =
	"Usage: weir-study brokers --figure 4|5|6|7|8|9|table1 [OPTION]...\n"
	"Simulates the placement of an aggregate's sources on the brokers that limit it. Repeats the\n"
	"figures and the table of \"Impact of Distributed Rate Limiting on Load Distribution in a\n"
	"Latency-sensitive Messaging Service\". Compares the placement of lib/control/place with the\n"
	"paper's.\n"
	"\n"
	"Runs:\n"
	"  --figure F    the figure or table\n"
	"  --panel N     only this kind of arrivals of the figure, counted from 1 (default: all)\n"
	"\n"
	"  --seeds N     runs of each point (default: 10)\n"
	"  --first SEED  the first seed (1)\n"
	"  --messages N  of a run, of which the first tenth is not measured (300000)\n"
	"\n"
	"Output:\n"
	"  --json FILE   all figures ('-': standard output, in place of the table);\n"
	"                tools/plot draws it\n"
	"  --markdown    the table as a document has it; no check of the order\n"
	"  --help\n"
	"\n"
	"Exit status: 0; 1 when the order of the contenders is not the paper's at some point; 2 when it\n"
	"could not be run.\n";

struct broker_options {
	const struct broker_figure *figure;
	bool table, markdown;
	unsigned panel; /* 0: all */
	uint64_t seeds, first, messages;
	const char *json;
};

static bool take_broker_figure(const char *text, void *options)
{
	struct broker_options *o = options;
	uint64_t number;

	o->table = strcmp(text, "table1") == 0;
	if (o->table)
		return true;
	if (!option_number("figure", text, BROKER_FIGURE_FIRST,
		    BROKER_FIGURE_FIRST + BROKER_FIGURES - 1, &number))
		return false;
	o->figure = broker_figure((unsigned)number);
	return true;
}

static const struct option_row rows[] = {
	OPTION_ROW_OTHER("figure", take_broker_figure),
	OPTION_ROW_UNSIGNED("panel", struct broker_options, panel, 1, BROKER_PANELS),
	OPTION_ROW_FLAG("markdown", struct broker_options, markdown),
	OPTION_ROW_NUMBER("seeds", struct broker_options, seeds, 1, 1000),
	OPTION_ROW_NUMBER("first", struct broker_options, first, 0, INT32_MAX),
	OPTION_ROW_NUMBER("messages", struct broker_options, messages, 1000, 100000000),
	OPTION_ROW_TEXT("json", struct broker_options, json),
};

static const struct option_set set = {
	.command = "brokers",
	.usage = usage_text,
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.expected = "expected --figure, and no arguments",
};

static int run_table(const struct broker_options *o)
{
	const struct output_forms forms = {
		.text = o->markdown ? broker_table_markdown : broker_table_text,
		.json = broker_table_json};
	struct broker_table table;

	if (broker_table_run(&table, o->first, (unsigned)o->seeds, o->messages)) {
		fprintf(stderr, "%s\n", strerror(ENOMEM));
		return EXIT_BAD;
	}
	return output_result(&forms, &table, o->json) ? EXIT_BAD : EXIT_SUCCESS;
}

static int run_figure(const struct broker_options *o)
{
	const struct output_forms forms = {
		.text = o->markdown ? broker_report_markdown : broker_report_text,
		.json = broker_report_json};
	struct broker_results results = {.figure = o->figure, .panel = o->panel};

	if (broker_figure_run(&results, o->first, (unsigned)o->seeds, o->messages)) {
		fprintf(stderr, "%s\n", strerror(ENOMEM));
		return EXIT_BAD;
	}
	if (output_result(&forms, &results, o->json))
		return EXIT_BAD;
	return !o->markdown && broker_out_of_order(&results) > 0 ? EXIT_ORDER : EXIT_SUCCESS;
}

int broker_main(int argc, char **argv)
{
	struct broker_options o = {.seeds = 10, .first = 1, .messages = 300000};
	int status = option_parse(&set, argc, argv, &o);

	if (status >= 0)
		return status;
	if (!o.figure && !o.table)
		return option_refuse(&set);
	if (o.panel > (o.table ? 0 : o.figure->n_panels)) {
		fprintf(stderr, "--panel: expected at most %u of this figure\n",
			o.table ? 0 : o.figure->n_panels);
		return EXIT_BAD;
	}
	return o.table ? run_table(&o) : run_figure(&o);
}
