/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "ctl_options.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "json/suggest.h"
#include "sockets.h"

#define ROWS_MOST 40
#define ROW       256 /* above any character: getopt_long() returns this + the index of a row */

#define TIMEOUT_S    5.0
#define INTERVAL_S   1.0
#define INTERVAL_MIN 0.1
#define SECONDS_MOST 86400.0

const struct option_help option_rows[] = {
	{"socket", required_argument, 's', "SOCKET",
		"its socket (the only one in " SOCKETS_DIRECTORY ")", 0},
	{"name", required_argument, 'n', "LIMITER", "the same, by the limiter's name", 0},
	{"group", required_argument, 'g', "FILE", "several, by a file of JSON", 0},
	{"timeout", required_argument, 0, "S", "for each answer (5)", 0},
	{"json", no_argument, 0, NULL, "the server's reply, for programs", 0},
	{"wide", no_argument, 0, NULL, "every column and name whole, on terminals too", 0},
	{"version", no_argument, 0, NULL, "write the version", 0},
	{"help", no_argument, 'h', NULL, "write this", 0},
	{"sort", required_argument, 0, "BY", "the order of rows", OPTION_SORT},
	{"interval", required_argument, 0, "S", "seconds between two looks (1)", OPTION_INTERVAL},
	{"follow", no_argument, 0, NULL, "continue with new events", OPTION_FOLLOW},
	{"count", required_argument, 0, "N", "end after so many", OPTION_COUNT},
	{"confirm-within", required_argument, 0, "TIME", "undo it then, unless it is confirmed",
		OPTION_WITHIN},
	{"warning", required_argument, 0, "NAME=N", "a value that is WARNING", OPTION_THRESHOLD},
	{"critical", required_argument, 0, "NAME=N", "a value that is CRITICAL", OPTION_THRESHOLD},
	{"output", required_argument, 'o', "FILE", "the archive", OPTION_OUTPUT},
	{"policy", required_argument, 0, "POLICY", "packets of one alone", OPTION_CAPTURE},
	{"reason", required_argument, 0, "R", "packets with this reason or verdict",
		OPTION_CAPTURE},
	{"seconds", required_argument, 0, "S", "end after so many", OPTION_CAPTURE},
	{"rate", required_argument, 0, "N", "packets a second of a worker (1000)", OPTION_CAPTURE},
	{"write", required_argument, 'w', "FILE", "pcapng, that is not there yet", OPTION_CAPTURE},
	{"whole", no_argument, 0, NULL, "not headers alone", OPTION_CAPTURE},
	{"for", required_argument, 0, "TIME", "how long packets are taken (5s)", OPTION_TALKERS},
	{"by", required_argument, 0, "BY", "source, destination, flow, source/24", OPTION_TALKERS},
	{"top", required_argument, 0, "N", "how many are shown (10)", OPTION_TALKERS},
	{"unmatched", no_argument, 0, NULL, "packets that match no policy", OPTION_TALKERS},
	{"unparsed", no_argument, 0, NULL, "packets that cannot be parsed", OPTION_TALKERS},
	{"all-unused", no_argument, 0, NULL, "forget all unused records", OPTION_FORGET},
	{0},
};

/* Reports a wrong word, and returns false. */
static bool refuse_argument(const char *word, const char *why)
{
	fprintf(stderr, "weirctl: %s: %s\n", word, why);
	return false;
}

static bool take_seconds(const char *text, double least, double *seconds)
{
	char *end;

	*seconds = strtod(text, &end);
	if (end != text && !*end && isfinite(*seconds) && *seconds >= least &&
		*seconds <= SECONDS_MOST)
		return true;
	fprintf(stderr, "weirctl: %s: expected %g to %g seconds\n", text, least, SECONDS_MOST);
	return false;
}

static bool take_count(const char *text, unsigned long *count)
{
	char *end;

	errno = 0;
	*count = strtoul(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end && !errno && *count > 0)
		return true;
	return refuse_argument(text, "expected a number from 1");
}

/* "60", "60s", "5m" or "1h". */
static bool take_within(const char *text, unsigned *seconds)
{
	static const char units[] = "smh";
	static const unsigned of_unit[] = {1, 60, 3600};
	unsigned long n;
	char *end;
	const char *unit;

	errno = 0;
	n = strtoul(text, &end, 10);
	unit = *end ? strchr(units, *end) : units;
	if (*text < '0' || *text > '9' || errno || !unit || (*end && end[1]) || n == 0 ||
		n > (unsigned)SECONDS_MOST / of_unit[unit - units])
		return refuse_argument(text, "expected a time from 1s to 24h such as 60s or 5m");
	*seconds = (unsigned)n * of_unit[unit - units];
	return true;
}

static bool take_box(struct options *options, const char *socket, const char *limiter)
{
	if (options->n_boxes == BOXES_MAX)
		return refuse_argument(socket ? socket : limiter, "too many boxes");
	options->boxes[options->n_boxes++] = (struct box_name){socket, limiter};
	return true;
}

static bool take_threshold(struct request *request, const char *text, bool critical)
{
	if (request->n_thresholds == THRESHOLDS_MAX)
		return refuse_argument(text, "too many thresholds");
	request->thresholds[request->n_thresholds++] = (struct threshold){text, critical};
	return true;
}

static bool take_capture(struct request *request, const char *name, const char *value)
{
	if (strcmp(name, "policy") == 0)
		request->policy = value;
	else if (strcmp(name, "reason") == 0)
		request->reason = value;
	else if (strcmp(name, "seconds") == 0)
		request->seconds = value;
	else if (strcmp(name, "rate") == 0)
		request->rate = value;
	else if (strcmp(name, "write") == 0)
		request->write = value;
	else
		request->whole = true;
	return true;
}

static bool take_talkers(struct request *request, const char *name, const char *value)
{
	if (strcmp(name, "for") == 0)
		return take_within(value, &request->for_s);
	if (strcmp(name, "top") == 0)
		return take_count(value, &request->top);
	if (strcmp(name, "by") == 0)
		request->by = value;
	else if (strcmp(name, "unmatched") == 0)
		request->unmatched = true;
	else
		request->unparsed = true;
	return true;
}

/* Takes one option; options without a letter are found by their names. */
static bool take_option(struct options *options, const struct option_help *row, const char *value)
{
	const char *name = row->name;
	struct request *request = &options->request;

	if (strcmp(name, "socket") == 0)
		return take_box(options, value, NULL);
	if (strcmp(name, "name") == 0)
		return take_box(options, NULL, value);
	if (strcmp(name, "timeout") == 0)
		return take_seconds(value, INTERVAL_MIN, &options->timeout_s);
	if (strcmp(name, "interval") == 0)
		return take_seconds(value, INTERVAL_MIN, &request->interval_s);
	if (strcmp(name, "count") == 0)
		return take_count(value, &request->count);
	if (row->of == OPTION_WITHIN)
		return take_within(value, &request->within_s);
	if (row->of == OPTION_CAPTURE)
		return take_capture(request, name, value);
	if (row->of == OPTION_TALKERS)
		return take_talkers(request, name, value);
	if (row->of == OPTION_THRESHOLD)
		return take_threshold(request, value, name[0] == 'c');
	if (row->of == OPTION_OUTPUT)
		return true; /* the program that has the command reads it */
	if (row->of == OPTION_FORGET)
		request->all_unused = true;
	else if (strcmp(name, "group") == 0)
		options->group = value;
	else if (strcmp(name, "sort") == 0)
		request->sort = value;
	else if (strcmp(name, "follow") == 0)
		request->follow = true;
	else if (strcmp(name, "json") == 0)
		options->json = true;
	else if (strcmp(name, "wide") == 0)
		options->wide = true;
	else if (strcmp(name, "version") == 0)
		options->version = true;
	else
		options->help = true;
	return true;
}

/* Reports an unknown option, with the nearest name. */
static bool refuse_option(const char *word, int opt)
{
	struct suggestion near = {0};
	char name[64], remedy[SUGGEST_REMEDY_MAX], whole[SUGGEST_REMEDY_MAX];
	size_t len = strcspn(word, "=");
	unsigned begin = 0;

	if (opt == ':')
		return refuse_argument(word, "expected a value after it");
	snprintf(name, sizeof(name), "%.*s", (int)len, word);
	for (const struct option_help *row = option_rows; row->name; row++) {
		begin += strncmp(name + 2, row->name, strlen(name) > 2 ? strlen(name) - 2 : 64) ==
			 0;
		if (strncmp(name, "--", 2) == 0)
			suggest_offer(&near, name + 2, row->name);
	}
	if (begin > 1)
		return refuse_argument(name, "several options begin with this: give more of it");
	if (!near.word)
		return refuse_argument(word, "no such option");
	snprintf(whole, sizeof(whole), "--%s", near.word);
	fprintf(stderr, "weirctl: %s: no such option: %s\n", name, suggest_remedy(whole, remedy));
	return false;
}

/* Bits of the options that not every command takes are gathered in `special`. */
static bool parse_options(int argc, char **argv, struct options *options, unsigned *special)
{
	struct option longs[ROWS_MOST] = {0};
	char shorts[2 * ROWS_MOST] = ":";
	int opt, at;

	for (unsigned i = 0; option_rows[i].name && i + 1 < ROWS_MOST; i++) {
		const struct option_help *row = &option_rows[i];
		size_t used = strlen(shorts);

		longs[i] = (struct option){row->name, row->argument, NULL, ROW + (int)i};
		if (row->brief)
			snprintf(shorts + used, sizeof(shorts) - used, "%c%s", row->brief,
				row->value ? ":" : "");
	}
	opterr = 0;
	while (at = optind, (opt = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		const struct option_help *row = option_rows;

		if (opt == '?' || opt == ':')
			return refuse_option(argv[optind > at ? optind - 1 : at], opt);
		while (opt >= ROW ? row - option_rows != opt - ROW : row->brief != opt)
			row++;
		if (!take_option(options, row, optarg))
			return false;
		*special |= row->of;
	}
	return true;
}

/* Reports an option that this command does not take. */
static bool refuse_special(const struct command *command, unsigned special)
{
	for (const struct option_help *row = option_rows; row->name; row++) {
		if (!(row->of & special & ~command->options))
			continue;
		fprintf(stderr, "weirctl: --%s: the command %s does not take this option\n",
			row->name, command->name);
		return false;
	}
	return true;
}

/* Reports the first word that the usage needs, such as FILE or POLICY. */
static bool refuse_missing(const struct command *command)
{
	const char *words = command->words;
	size_t len = strcspn(words, " ");

	while (words[0] == '[') { /* a word that can be left out */
		words += strcspn(words, "]");
		words += strspn(words, "] ");
		len = strcspn(words, " ");
	}
	fprintf(stderr, "weirctl: %s: missing %.*s after \"%s\"\n", command->name, (int)len, words,
		command->name);
	return false;
}

/* Takes the words after the options. */
static bool parse_words(int n, char **words, struct options *options, unsigned special)
{
	const struct command *command;
	struct request *request = &options->request;
	int most;

	if (n < 1)
		return false;
	command = command_meant(options->all, words[0], stderr);
	options->command = command;
	if (!command || options->help)
		return command != NULL;
	if (strcmp(command->name, "watch") == 0) {
		options->watch = true;
		command = n > 1 ? command_meant(options->all, words[1], stderr) : NULL;
		if (!command)
			return n > 1 ? false : refuse_missing(options->command);
		options->command = command;
		words++;
		n--;
	}
	request->words = (const char *const *)words + 1;
	request->n_words = (unsigned)n - 1;
	most = command->many ? n : command->wants || command->takes ? 2 : 1;
	if (n > most)
		return refuse_argument(words[most], "unexpected word");
	request->word = n >= 2 && (command->wants || !command->many || (command->names && n == 2))
				? words[1]
				: NULL;
	if (command->wants && !request->word)
		return refuse_missing(command);
	if (options->watch && (command->changes || command->run))
		return refuse_argument(command->name, "cannot be watched");
	if (options->watch)
		special &= ~(unsigned)(OPTION_INTERVAL | OPTION_COUNT);
	if (!refuse_special(command, special))
		return false;
	return !command->check || command->check(request);
}

bool options_parse(int argc, char **argv, const struct command *all, struct options *options)
{
	unsigned special = 0;

	*options = (struct options){
		.all = all, .timeout_s = TIMEOUT_S, .request.interval_s = INTERVAL_S};
	if (!parse_options(argc, argv, options, &special))
		return false;
	for (unsigned i = 1; i < options->n_boxes; i++)
		if (!options->boxes[i].socket != !options->boxes[0].socket)
			return refuse_argument(
				"-s, -n", "either of them, or a group (-g) with both");
	if (options->version || (options->help && optind == argc))
		return true;
	options->argc = argc;
	options->argv = argv;
	options->command_at = optind;
	return parse_words(argc - optind, argv + optind, options, special);
}
