/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json/printable.h"

int answers_write_json(const json_t *document, FILE *out)
{
	int ret = json_dumpf(document, out,
		JSON_INDENT(1) | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	return ret || fputc('\n', out) == EOF ? -EIO : 0;
}

json_t *answers_json(const struct boxes *boxes)
{
	json_t *all;

	if (boxes->n == 1 && !boxes->each[0].document)
		return NULL;
	if (boxes->n == 1)
		return json_incref(boxes->each[0].document);
	all = json_object();
	for (unsigned i = 0; i < boxes->n; i++) {
		const struct box *box = &boxes->each[i];

		json_object_set_new(all, box->name,
			box->document ? json_incref(box->document)
				      : json_pack("{s:s}", "error", box->why ? box->why : "?"));
	}
	return all;
}

int answers_view(const struct boxes *boxes, const struct options *options, struct view *view)
{
	const struct command *command = options->command;

	for (unsigned i = 0; i < boxes->n; i++) {
		const struct box *box = &boxes->each[i];
		int ret;

		if (!box->document || (command->refused && command->refused(box->document, NULL)))
			continue;
		view_of_box(view, boxes->n > 1 ? box->name : NULL);
		ret = command->print(box->document, view);
		if (ret)
			return ret;
	}
	return view_error(view);
}

void complain_of(const char *why, const char *before, FILE *err)
{
	char *text = printable_copy(why, "\\u");

	fprintf(err, "%s%s\n", before, text ? text : strerror(ENOMEM));
	free(text);
}

/*
 * Reports a limiter without the requested document; returns its exit status, 0 without a problem.
 */
static int complain_of_box(const struct box *box, const struct options *options)
{
	const struct command *command = options->command;

	if (box->document && command->refused && command->refused(box->document, stderr))
		return EXIT_FAILURE;
	if (box->document)
		return command->verdict ? command->verdict(box->document) : EXIT_SUCCESS;
	complain_of(box->why ? box->why : strerror(ENOMEM), "weirctl: ", stderr);
	return EXIT_FAILURE;
}

int answers_end(int status, int error)
{
	if (error == 0 && fflush(stdout))
		error = -errno;
	if (error == 0)
		return status;
	fprintf(stderr, "weirctl: standard output: %s\n", strerror(-error));
	return EXIT_FAILURE;
}

static int write_tables(
	const struct boxes *boxes, const struct options *options, FILE *out, unsigned width)
{
	struct view *view = view_new();
	int ret = view ? answers_view(boxes, options, view) : -ENOMEM;

	if (ret == 0)
		ret = view_print(view, out, width);
	view_free(view);
	return ret;
}

static int write_documents(const struct boxes *boxes, FILE *out)
{
	json_t *document = answers_json(boxes);
	int ret = document ? answers_write_json(document, out) : 0;

	json_decref(document);
	return ret;
}

int answers_write(
	const struct boxes *boxes, const struct options *options, FILE *out, unsigned width)
{
	int worst = EXIT_SUCCESS, ret;

	for (unsigned i = 0; i < boxes->n; i++) {
		int status = complain_of_box(&boxes->each[i], options);

		if (worst != EXIT_FAILURE && status != EXIT_SUCCESS)
			worst = status;
	}
	ret = options->json ? write_documents(boxes, out)
			    : write_tables(boxes, options, out, width);
	return answers_end(worst, ret);
}
