/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "command/option.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/output.h"

#define ROWS 24  /* that a set has at most */
#define HELP 1   /* what getopt_long() returns; rows follow */
#define ROW  256 /* above any message, and '?' */

bool option_number(const char *name, const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	if (errno == 0 && *text >= '0' && *text <= '9' && *end == '\0' && *out >= least &&
		*out <= most)
		return true;
	fprintf(stderr, "--%s: \"%s\": expected %" PRIu64 " to %" PRIu64 "\n", name, text, least,
		most);
	return false;
}

unsigned option_numbers(const char *name, const char *text, uint64_t least, uint64_t most,
	uint64_t *out, unsigned room)
{
	char number[24];

	for (unsigned n = 0; n < room; text++) {
		size_t len = strcspn(text, ",");

		snprintf(number, sizeof(number), "%.*s", (int)len, text);
		if (!option_number(name, number, least, most, &out[n++]))
			return 0;
		text += len;
		if (*text == '\0')
			return n;
	}
	fprintf(stderr, "--%s: expected at most %u numbers\n", name, room);
	return 0;
}

static bool take_unsigned(const struct option_row *row, const char *text, unsigned *out)
{
	uint64_t number;

	if (!option_number(row->name, text, row->least, row->most, &number))
		return false;
	*out = (unsigned)number;
	return true;
}

static bool take_real(const struct option_row *row, const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end != text && *end == '\0' && *out >= row->low && *out <= row->high)
		return true;
	fprintf(stderr, "--%s: \"%s\": expected %g to %g\n", row->name, text, row->low, row->high);
	return false;
}

static bool take_option_value(const struct option_row *row, const char *text, void *options)
{
	void *member = (char *)options + row->at;

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		return true;
	case OPTION_TEXT:
		*(const char **)member = text;
		return true;
	case OPTION_NUMBER:
		return option_number(row->name, text, row->least, row->most, member);
	case OPTION_UNSIGNED:
		return take_unsigned(row, text, member);
	case OPTION_REAL:
		return take_real(row, text, member);
	case OPTION_OTHER:
		return row->take(text, options);
	}
	return false;
}

/* The rows as getopt_long() wants them, with --help. */
static void list_long_options(const struct option_set *set, struct option longs[ROWS + 2])
{
	assert(set->n <= ROWS);
	for (unsigned i = 0; i < set->n; i++)
		longs[i] = (struct option){set->rows[i].name,
			set->rows[i].kind == OPTION_FLAG ? no_argument : required_argument, NULL,
			ROW + (int)i};
	longs[set->n] = (struct option){"help", no_argument, NULL, HELP};
	longs[set->n + 1] = (struct option){0};
}

static int print_option_help(const struct option_set *set)
{
	fputs(set->usage, stdout);
	return output_flush(stdout) ? EXIT_BAD : EXIT_SUCCESS;
}

int option_refuse(const struct option_set *set)
{
	fprintf(stderr, "%s; see %s%s%s --help\n", set->expected, program_invocation_short_name,
		set->command ? " " : "", set->command ? set->command : "");
	return EXIT_BAD;
}

int option_parse(const struct option_set *set, int argc, char **argv, void *options)
{
	struct option longs[ROWS + 2];
	int c;

	list_long_options(set, longs);
	optind = 1;
	while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
		if (c == HELP)
			return print_option_help(set);
		if (c < ROW || !take_option_value(&set->rows[c - ROW], optarg, options))
			return EXIT_BAD;
	}
	if (optind + set->argument != argc)
		return option_refuse(set);
	if (set->argument)
		*(const char **)((char *)options + set->argument_at) = argv[optind];
	return -1;
}
