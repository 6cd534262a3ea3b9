/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The word "watch": repeats any command.
 */
#include "repeat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "answers.h"
#include "follow.h"
#include "terminal.h"

/* Moves the cursor of a terminal to the top, and clears the screen. */
#define CLEAR "\033[H\033[J"

/* Time after the interval when present answers are shown though others are missing. */
#define GRACE_S  1.0
#define MS_PER_S 1000

struct watch {
	const struct options *options;
	struct follow *follow;
	struct boxes shown;
	unsigned long times;
};

static int ask_command(struct box *box, const struct request *request, json_t **document)
{
	const struct options *options = box->options;

	return command_gather(options->command, &box->client.source, request, document);
}

static int write_watched_json(const struct watch *watch, FILE *out)
{
	const struct box *only = &watch->shown.each[0];
	json_t *document = watch->shown.n == 1 && !only->document
				   ? json_pack("{s:s}", "error", only->why ? only->why : "?")
				   : answers_json(&watch->shown);
	int ret = answers_write_json(document, out);

	json_decref(document);
	return ret;
}

/* Reports limiters that are gone: on a terminal always, to a file only when they go. */
static void write_gone(const struct watch *watch, bool terminal, FILE *out)
{
	for (unsigned i = 0; i < watch->shown.n; i++) {
		const struct box *box = &watch->shown.each[i];

		if (box->gone_since && (terminal || box->gone_since != box->gone_shown))
			fprintf(out, "%s: %s\n", box->name, box->why ? box->why : "gone");
	}
}

static int write_watched(struct watch *watch, FILE *out)
{
	unsigned width = 0, rows;
	bool terminal = terminal_size(&width, &rows);
	struct view *view;
	int ret;

	if (watch->options->json)
		return write_watched_json(watch, out);
	if (terminal)
		fputs(CLEAR, out);
	else if (watch->times > 1)
		fputc('\n', out);
	view = view_new();
	ret = view ? answers_view(&watch->shown, watch->options, view) : -ENOMEM;
	if (ret == 0)
		ret = view_print(view, out, watch->options->wide ? 0 : width);
	view_free(view);
	write_gone(watch, terminal, out);
	return ret;
}

/* Writes all output in one step, so that nothing flickers. */
static int show_watched(struct watch *watch)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	int ret = out ? write_watched(watch, out) : -ENOMEM;

	if (out)
		fclose(out);
	if (ret == 0 && fwrite(text, 1, size, stdout) != size)
		ret = -EIO;
	free(text);
	follow_done(&watch->shown);
	return answers_end(0, ret) ? -EIO : 0;
}

static int watch_on(struct watch *watch)
{
	const struct request *request = &watch->options->request;
	double shown = follow_now();
	bool ever = false;

	for (;;) {
		double late = shown + request->interval_s + GRACE_S - follow_now();
		int ms = late > 0 ? (int)(late * MS_PER_S) + 1 : -1;
		unsigned events = follow_wait(watch->follow, ms, false);
		bool news, all = follow_take(watch->follow, &watch->shown, &news);

		if (events & FOLLOW_END)
			return EXIT_SUCCESS;
		if (!ever && all && follow_in_vain(&watch->shown))
			return EXIT_FAILURE;
		if (!news || !(all || late <= 0))
			continue;
		shown = follow_now();
		ever = true;
		watch->times++;
		if (show_watched(watch))
			return EXIT_FAILURE;
		if (watch->times == request->count)
			return EXIT_SUCCESS;
	}
}

int watch_boxes(struct boxes *boxes, const struct options *options)
{
	struct watch watch = {.options = options, .shown = follow_shown(boxes)};
	int status = EXIT_FAILURE;

	for (unsigned i = 0; i < boxes->n; i++)
		boxes->each[i].options = options;
	watch.follow = watch.shown.each ? follow_start(boxes, options, ask_command) : NULL;
	if (watch.follow)
		status = watch_on(&watch);
	else
		fprintf(stderr, "weirctl: watch: %s\n", strerror(ENOMEM));
	follow_free(&watch.shown);
	return status;
}
