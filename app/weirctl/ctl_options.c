/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "ctl_options.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ask/targets.h"
#include "base/time.h"
#include "policy/units.h"

#define TIMEOUT_S    5.0
#define INTERVAL_S   1.0
#define INTERVAL_MIN 0.1
#define SECONDS_MOST 86400.0

/* Returns 0 for a number alone, which is then in ns. */
static int parse_bare(const char *text, uint64_t *ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (text[strspn(text, "0123456789.e")] || end == text || *end ||
		seconds > (double)UINT32_MAX)
		return -1;
	*ns = (uint64_t)llround(seconds * (double)SECOND_NS);
	return 0;
}

static int parse_typed(const char *text, enum typed_unit unit, uint64_t *ns)
{
	if (unit == TYPED_UNIT_OPTIONAL && parse_bare(text, ns) == 0)
		return 0;
	return units_parse_duration(text, ns);
}

double typed_time(const char *text, enum typed_unit unit)
{
	uint64_t ns;

	return parse_typed(text, unit, &ns) ? NAN : (double)ns / SECOND_NS;
}

unsigned long typed_seconds(const char *text, enum typed_unit unit, unsigned long most)
{
	uint64_t ns;

	if (parse_typed(text, unit, &ns) || ns % SECOND_NS || ns / SECOND_NS > most)
		return 0;
	return (unsigned long)(ns / SECOND_NS);
}

/* Reports a wrong word, and returns false. */
static bool refuse_argument(const char *word, const char *why)
{
	fprintf(stderr, "weirctl: %s: %s\n", word, why);
	return false;
}

static bool take_seconds(const char *text, double least, double *seconds)
{
	*seconds = typed_time(text, TYPED_UNIT_OPTIONAL);
	if (*seconds >= least && *seconds <= SECONDS_MOST)
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

static bool take_within(const char *text, unsigned *seconds)
{
	*seconds = (unsigned)typed_seconds(text, TYPED_UNIT_OPTIONAL, (unsigned long)SECONDS_MOST);
	return *seconds > 0 ||
	       refuse_argument(text, "expected a time from 1s to 24h such as 60s or 10min");
}

static bool take_box(struct options *options, const char *socket, const char *limiter)
{
	if (options->n_boxes == BOXES_MAX)
		return refuse_argument(socket ? socket : limiter, "more than 256 limiters");
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

static bool take_socket(const char *text, void *options)
{
	return take_box(options, text, NULL);
}

static bool take_name(const char *text, void *options)
{
	return take_box(options, NULL, text);
}

static bool take_timeout(const char *text, void *options)
{
	return take_seconds(text, INTERVAL_MIN, &((struct options *)options)->timeout_s);
}

static bool take_interval(const char *text, void *options)
{
	return take_seconds(text, INTERVAL_MIN, &((struct options *)options)->request.interval_s);
}

static bool take_rounds(const char *text, void *options)
{
	return take_count(text, &((struct options *)options)->request.count);
}

static bool take_top(const char *text, void *options)
{
	return take_count(text, &((struct options *)options)->request.top);
}

static bool take_confirm(const char *text, void *options)
{
	return take_within(text, &((struct options *)options)->request.within_s);
}

static bool take_for(const char *text, void *options)
{
	return take_within(text, &((struct options *)options)->request.for_s);
}

static bool take_warning(const char *text, void *options)
{
	return take_threshold(&((struct options *)options)->request, text, false);
}

static bool take_critical(const char *text, void *options)
{
	return take_threshold(&((struct options *)options)->request, text, true);
}

#define FLAG(name, member, ...) OPTION_ROW_FLAG(name, struct options, member, __VA_ARGS__)
#define TEXT(name, member, ...) OPTION_ROW_TEXT(name, struct options, member, __VA_ARGS__)
#define VALUE(words, meaning)   .value = (words), .help = (meaning)

static const struct option_row rows[] = {
	OPTION_ROW_OTHER("socket", take_socket, .brief = 's',
		VALUE("SOCKET", "its socket (the only one in " TARGETS_DIRECTORY ")")),
	OPTION_ROW_OTHER("name", take_name, .brief = 'n',
		VALUE("LIMITER", "the same, by the limiter's name")),
	TEXT("group", group, .brief = 'g', VALUE("FILE", "several, by a file of JSON")),
	OPTION_ROW_OTHER("timeout", take_timeout, VALUE("S", "for each answer (5)")),
	FLAG("json", json, .help = "the server's reply, for programs"),
	FLAG("wide", wide, .help = "every column and name whole, on terminals too"),
	FLAG("version", version, .help = "print the version"),
	FLAG("help", help, .brief = 'h', .help = "print this help"),
	TEXT("sort", request.sort, VALUE("BY", "the order of rows"), .of = OPTION_SORT),
	OPTION_ROW_OTHER("interval", take_interval, VALUE("S", "seconds between two looks (1)"),
		.of = OPTION_INTERVAL),
	FLAG("follow", request.follow, .help = "continue with new events", .of = OPTION_FOLLOW),
	OPTION_ROW_OTHER("count", take_rounds, VALUE("N", "end after so many"), .of = OPTION_COUNT),
	OPTION_ROW_OTHER("confirm-within", take_confirm,
		VALUE("TIME", "undo it then, unless it is confirmed"), .of = OPTION_WITHIN),
	OPTION_ROW_OTHER("warning", take_warning, VALUE("NAME=N", "a value that is WARNING"),
		.of = OPTION_THRESHOLD),
	OPTION_ROW_OTHER("critical", take_critical, VALUE("NAME=N", "a value that is CRITICAL"),
		.of = OPTION_THRESHOLD),
	TEXT("output", output, .brief = 'o', VALUE("FILE", "the archive"), .of = OPTION_OUTPUT),
	TEXT("policy", request.policy, VALUE("POLICY", "packets of one alone"),
		.of = OPTION_CAPTURE),
	TEXT("reason", request.reason, VALUE("R", "packets with this reason or verdict"),
		.of = OPTION_CAPTURE),
	TEXT("seconds", request.seconds, VALUE("S", "end after so many"), .of = OPTION_CAPTURE),
	TEXT("rate", request.rate, VALUE("N", "packets a second of a worker (1000)"),
		.of = OPTION_CAPTURE),
	TEXT("write", request.write, .brief = 'w', VALUE("FILE", "pcapng, that is not there yet"),
		.of = OPTION_CAPTURE),
	FLAG("whole", request.whole, .help = "not headers alone", .of = OPTION_CAPTURE),
	OPTION_ROW_OTHER("for", take_for, VALUE("TIME", "how long packets are taken (5s)"),
		.of = OPTION_TALKERS),
	TEXT("by", request.by, VALUE("BY", "source, destination, flow, source/24"),
		.of = OPTION_TALKERS),
	OPTION_ROW_OTHER(
		"top", take_top, VALUE("N", "how many are shown (10)"), .of = OPTION_TALKERS),
	FLAG("unmatched", request.unmatched, .help = "packets that match no policy",
		.of = OPTION_TALKERS),
	FLAG("unparsed", request.unparsed, .help = "packets that cannot be parsed",
		.of = OPTION_TALKERS),
	FLAG("all-unused", request.all_unused, .help = "forget all unused records",
		.of = OPTION_FORGET),
	FLAG("dead", request.dead, .help = "the limiter has ended, and is not alive",
		.of = OPTION_GROUP),
	FLAG("yes", request.yes, .help = "without confirmation", .of = OPTION_GROUP),
};

const struct option_set option_rows = {
	.program = "weirctl", .rows = rows, .n = sizeof(rows) / sizeof(*rows)};

/* Reports an option that this command does not take. */
static bool refuse_special(const struct command *command, unsigned special)
{
	for (unsigned i = 0; i < option_rows.n; i++) {
		if (!(rows[i].of & special & ~command->options))
			continue;
		fprintf(stderr, "weirctl: --%s: the command %s does not take this option\n",
			rows[i].name, command->name);
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
	if (options->watch && (command->changes || command->run || (special & OPTION_FORGET) ||
				      (command->verb_changes && n > 2)))
		return refuse_argument(
			command->name, "watch repeats only commands that change nothing");
	if (options->watch)
		special &= ~(unsigned)(OPTION_INTERVAL | OPTION_COUNT);
	if (!refuse_special(command, special))
		return false;
	return !command->check || command->check(request);
}

bool options_parse(int argc, char **argv, const struct command *all, struct options *options)
{
	unsigned special = 0; /* bits of the options that not every command takes */
	int at;

	*options = (struct options){
		.all = all, .timeout_s = TIMEOUT_S, .request.interval_s = INTERVAL_S};
	at = option_read(&option_rows, argc, argv, options, &special);
	if (at < 0)
		return false;
	for (unsigned i = 1; i < options->n_boxes; i++)
		if (!options->boxes[i].socket != !options->boxes[0].socket)
			return refuse_argument(
				"-s, -n", "either of them, or a group (-g) with both");
	if (options->version || (options->help && at == argc))
		return true;
	options->argc = argc;
	options->argv = argv;
	options->command_at = at;
	return parse_words(argc - at, argv + at, options, special);
}
