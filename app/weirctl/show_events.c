/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The commands "events" and "log".
 */
#include "command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "answers.h"
#include "field.h"

#define FOLLOW_MS 500
#define NUMBER    24

int events_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {{"TIME", "time", KIND_TEXT},
		{"LEVEL", "level", KIND_TEXT}, {"TEXT", "text", KIND_TEXT}};

	return fields_list(json_object_get(document, "events"), FIELDS(fields), view);
}

/* Prints without heads, because more lines will follow. */
static int print_event_lines(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"", "time", KIND_TEXT}, {"", "level", KIND_TEXT}, {"", "text", KIND_TEXT}};
	json_t *lines = json_array(), *event;
	size_t i;
	int ret;

	json_array_foreach (json_object_get(document, "events"), i, event) {
		char time[FIELD_TEXT_MAX], level[FIELD_TEXT_MAX], text[FIELD_TEXT_MAX];
		char line[VIEW_CELL_MAX];

		/* "2026-11-22T21:10:00.123456Z warning peer a: lost" */
		snprintf(line, sizeof(line), "%.64s %-7.16s %.3000s",
			field_text(event, &fields[0], time), field_text(event, &fields[1], level),
			field_text(event, &fields[2], text));
		json_array_append_new(lines, json_string(line));
	}
	ret = fields_lines(lines, view);
	json_decref(lines);
	return ret;
}

static int print_events(const json_t *page, bool json)
{
	struct view *view = json ? NULL : view_new();
	json_t *event;
	size_t i;
	int ret = json || view ? 0 : -ENOMEM;

	json_array_foreach (json_object_get(page, "events"), i, event) {
		if (!json)
			break;
		ret = json_dumpf(event, stdout, JSON_COMPACT) || putchar('\n') == EOF ? -EIO : ret;
	}
	if (view)
		ret = print_event_lines(page, view);
	if (view && ret == 0)
		ret = view_print(view, stdout, 0);
	view_free(view);
	return ret || fflush(stdout) ? -EIO : 0;
}

/*
 * Prints new events; `from` is the number of the next one. In a page, `next` is a number if another
 * page is ready, and `to_come` is the number to request next.
 */
static int follow_on(struct target *target, char from[NUMBER], bool json)
{
	bool more = true;

	while (more) {
		json_t *page;
		int ret = source_get_of(&target->client.source, "/weir/events", from, &page);

		if (ret)
			return ret;
		more = json_is_integer(json_object_get(page, "next"));
		snprintf(from, NUMBER, "%" JSON_INTEGER_FORMAT,
			json_integer_value(json_object_get(page, "to_come")));
		ret = json_array_size(json_object_get(page, "events")) ? print_events(page, json)
								       : 0;
		json_decref(page);
		if (ret)
			exit(answers_end(0, ret));
	}
	return 0;
}

/* If the limiter ends, waits for its next process, whose events begin at 1. */
static void follow_events(struct target *target, bool json)
{
	const struct timespec pause = {FOLLOW_MS / 1000, FOLLOW_MS % 1000 * 1000000L};
	char from[NUMBER] = "0";
	json_int_t followed = 0, pid;

	for (;; nanosleep(&pause, NULL)) {
		if (target_open(target))
			continue;
		pid = json_integer_value(json_object_get(target->client.greeting, "pid"));
		if (pid != followed)
			snprintf(from, NUMBER, "0");
		followed = pid;
		if (follow_on(target, from, json))
			target_close(target); /* the limiter ended, or was too slow */
	}
}

int events_follow(const struct options *options)
{
	struct targets targets;

	if (!answers_find(options, &targets))
		return EXIT_FAILURE;
	if (targets.n > 1)
		fputs("weirctl: events --follow: name exactly one limiter\n", stderr);
	else if (target_open(&targets.each[0]))
		answers_complain(&targets.each[0], options);
	else
		follow_events(&targets.each[0], options->json);
	targets_free(&targets);
	return EXIT_FAILURE;
}

bool log_check(const struct request *request)
{
	static const char *const levels[] = {"error", "warning", "info", "debug"};

	for (size_t i = 0; request->word && i < sizeof(levels) / sizeof(*levels); i++)
		if (strcmp(levels[i], request->word) == 0)
			return true;
	if (request->word)
		fprintf(stderr, "weirctl: %s: expected error, warning, info or debug\n",
			request->word);
	return request->word == NULL;
}

int log_gather(struct source *source, const struct request *request, json_t **document)
{
	if (request->word)
		return source_get_of(source, "/weir/log_level", request->word, document);
	return source_get(source, "/weir/log", document);
}

int log_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"level", "level", KIND_TEXT},
		{"format", "format", KIND_TEXT},
		{"events", "events", KIND_COUNT},
		{"lines lost", "lines_lost", KIND_COUNT},
	};

	return fields_detail(document, FIELDS(fields), view);
}
