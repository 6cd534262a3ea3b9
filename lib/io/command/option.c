/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The options of programs and of their commands.
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
#include "json/suggest.h"

#define ROWS 40  /* most rows of a set */
#define HELP 255 /* getopt_long() returns it for --help of option_parse(); rows follow */
#define ROW  256 /* above any character */

#define HELP_WIDTH 100 /* columns */

/* Begins a message with the program's name, if the set has one. */
static void name_program(const struct option_set *set)
{
	if (set->program)
		fprintf(stderr, "%s: ", set->program);
}

static bool number_in(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return errno == 0 && *text >= '0' && *text <= '9' && *end == '\0' && *out >= least &&
	       *out <= most;
}

bool option_number(const char *name, const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
	if (number_in(text, least, most, out))
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

static bool take_number(
	const struct option_set *set, const struct option_row *row, const char *text, uint64_t *out)
{
	if (number_in(text, row->least, row->most, out))
		return true;
	name_program(set);
	return option_number(row->name, text, row->least, row->most, out);
}

static bool take_unsigned(
	const struct option_set *set, const struct option_row *row, const char *text, unsigned *out)
{
	uint64_t number;

	if (!take_number(set, row, text, &number))
		return false;
	*out = (unsigned)number;
	return true;
}

static bool take_real(
	const struct option_set *set, const struct option_row *row, const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	if (end != text && *end == '\0' && *out >= row->low && *out <= row->high)
		return true;
	name_program(set);
	fprintf(stderr, "--%s: \"%s\": expected %g to %g\n", row->name, text, row->low, row->high);
	return false;
}

static bool take_text(const struct option_set *set, const struct option_row *row, const char *text,
	const char **out)
{
	if (row->once && *out) {
		name_program(set);
		fprintf(stderr, "--%s: given twice\n", row->name);
		return false;
	}
	*out = text;
	return true;
}

static bool take_command(const struct option_set *set, const struct option_row *row,
	const char *text, struct option_command *out)
{
	if (out->is) {
		name_program(set);
		fprintf(stderr, "--%s: excludes the option before it\n", row->name);
		return false;
	}
	*out = (struct option_command){(unsigned)row->least, text};
	return true;
}

static bool take_option_value(
	const struct option_set *set, const struct option_row *row, const char *text, void *options)
{
	void *member = (char *)options + row->at;

	switch (row->kind) {
	case OPTION_FLAG:
		*(bool *)member = true;
		return true;
	case OPTION_TEXT:
		return take_text(set, row, text, member);
	case OPTION_NUMBER:
		return take_number(set, row, text, member);
	case OPTION_UNSIGNED:
		return take_unsigned(set, row, text, member);
	case OPTION_REAL:
		return take_real(set, row, text, member);
	case OPTION_OTHER:
		return row->take(text, options);
	case OPTION_COMMAND:
	case OPTION_COMMAND_OF:
		return take_command(set, row, text, member);
	}
	return false;
}

/*
 * Converts the rows for getopt_long(). `shorts` is ":", then each letter, with ":" if it takes a
 * value.
 */
static void list_options(
	const struct option_set *set, struct option longs[ROWS + 2], char shorts[2 * ROWS + 2])
{
	unsigned used = 0;

	assert(set->n <= ROWS);
	shorts[used++] = ':';
	for (unsigned i = 0; i < set->n; i++) {
		const struct option_row *row = &set->rows[i];
		bool has_value = row->kind != OPTION_FLAG && row->kind != OPTION_COMMAND;

		longs[i] = (struct option){
			row->name, has_value ? required_argument : no_argument, NULL, ROW + (int)i};
		if (row->brief)
			shorts[used++] = row->brief;
		if (row->brief && has_value)
			shorts[used++] = ':';
	}
	shorts[used] = '\0';
	longs[set->n] = (struct option){0};
	if (set->usage)
		longs[set->n] = (struct option){"help", no_argument, NULL, HELP};
	longs[set->n + 1] = (struct option){0};
}

/* Reports an unknown option, with the nearest name, or an option without its value. */
static int refuse_option(const struct option_set *set, const char *word, int opt)
{
	struct suggestion near = {0};
	char name[64], remedy[SUGGEST_REMEDY_MAX], whole[SUGGEST_REMEDY_MAX];
	unsigned begin = 0;

	name_program(set);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word, "="), word);
	for (unsigned i = 0; i < set->n && strncmp(name, "--", 2) == 0; i++) {
		begin += name[2] && strncmp(name + 2, set->rows[i].name, strlen(name + 2)) == 0;
		suggest_offer(&near, name + 2, set->rows[i].name);
	}
	if (opt == ':') {
		fprintf(stderr, "%s: expected a value after it\n", word);
	} else if (begin > 1) {
		fprintf(stderr, "%s: several options begin with this: give more of it\n", name);
	} else if (!near.word) {
		fprintf(stderr, "%s: no such option\n", word);
	} else {
		snprintf(whole, sizeof(whole), "--%s", near.word);
		fprintf(stderr, "%s: no such option: %s\n", name, suggest_remedy(whole, remedy));
	}
	return -1;
}

int option_read(const struct option_set *set, int argc, char **argv, void *options, unsigned *given)
{
	struct option longs[ROWS + 2];
	char shorts[2 * ROWS + 2];
	int opt, at;

	list_options(set, longs, shorts);
	opterr = 0;
	optind = 0; /* restarts getopt_long() */
	while (at = optind ? optind : 1,
		(opt = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct option_row *row = set->rows;

		if (opt == '?' || opt == ':')
			return refuse_option(set, argv[optind > at ? optind - 1 : at], opt);
		if (opt == HELP)
			return 0;
		while (opt >= ROW ? row - set->rows != opt - ROW : row->brief != opt)
			row++;
		if (!take_option_value(set, row, optarg, options))
			return -1;
		if (given)
			*given |= row->of;
	}
	return optind;
}

/* Returns the bytes of the next line of a text, which ends at a blank. */
static size_t line_length(const char *text, size_t room)
{
	size_t n = strlen(text);

	if (room > 0 && n > room)
		for (n = room; n > 0 && text[n] != ' '; n--)
			;
	return n > 0 ? n : strlen(text);
}

static void print_row(const struct option_row *row, unsigned column, unsigned width, FILE *out)
{
	const char *text = row->help;
	char brief[8] = "    ";
	int used;

	if (row->brief)
		snprintf(brief, sizeof(brief), "-%c, ", row->brief);
	used = fprintf(out, "  %s--%s%s%s", brief, row->name, row->value ? " " : "",
		row->value ? row->value : "");
	if (width > 0 && used >= (int)column) {
		fputc('\n', out);
		used = 0;
	}
	fprintf(out, "%*s", used < (int)column ? (int)column - used : 2, "");
	for (;;) {
		size_t n = line_length(text, width > column ? width - column : 0);

		fprintf(out, "%.*s\n", (int)n, text);
		text += n + (text[n] == ' ');
		if (!*text)
			return;
		fprintf(out, "%*s", (int)column, "");
	}
}

void option_print_rows(
	const struct option_set *set, unsigned of, unsigned column, unsigned width, FILE *out)
{
	for (unsigned i = 0; i < set->n; i++) {
		const struct option_row *row = &set->rows[i];

		if (of ? (row->of & of) != 0 : row->of == 0)
			print_row(row, column, width, out);
	}
}

static int print_option_help(const struct option_set *set)
{
	fputs(set->usage, stdout);
	if (set->notes) {
		option_print_rows(set, 0, set->column, HELP_WIDTH, stdout);
		fputs("      --help\n\n", stdout);
		fputs(set->notes, stdout);
	}
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
	int at = option_read(set, argc, argv, options, NULL);

	if (at < 0)
		return EXIT_BAD;
	if (at == 0)
		return print_option_help(set);
	if (at + set->argument != argc)
		return option_refuse(set);
	if (set->argument)
		*(const char **)((char *)options + set->argument_at) = argv[at];
	return -1;
}
