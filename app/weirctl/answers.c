/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "answers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json/printable.h"
#include "command.h"

/* --- queries --------------------------------------------------------------------------------- */

static int query_command(struct target *target, const void *context, json_t **document)
{
	const struct options *options = context;

	return command_gather(
		options->command, &target->client.source, &options->request, document);
}

/* Writes the reason of a reply of null. */
static void explain_null(
	struct target *target, const struct command *command, const char *word, FILE *out)
{
	char *meant = word ? names_meant(&target->client.source, command->names, word) : NULL;

	if (word && command->names == NAMES_PEERS)
		fprintf(out, "%s: no such peer", word);
	else if (word && strcmp(command->name, "policy") == 0)
		fprintf(out, "%s: no such policy", word);
	else if (word && command->names == NAMES_POLICIES)
		fprintf(out, "%s: no such policy, or it has no %s", word, command->name);
	else if (command->absent)
		fputs(command->absent, out);
	else if (command->changes)
		fputs("this limiter has no file to reload", out);
	else
		fprintf(out, "this weir has no %s: it is older", command->name);
	if (meant && strcmp(meant, word) != 0)
		fprintf(out, ": did you mean \"%s\"?", meant);
	else if (word && command->names)
		fprintf(out, "; see weirctl %s",
			command->names == NAMES_PEERS ? "peers" : "policies");
	free(meant);
}

void answers_explain(struct target *target, const void *context, FILE *out)
{
	const struct options *options = context;

	if (target->error == ENOENT)
		explain_null(target, options->command, options->request.word, out);
	else if (target->error == ESTALE)
		fprintf(out,
			"%s: another change came right behind this one: weirctl history has how it "
			"ended",
			target->path);
	else
		target_explain(target, out);
}

void answers_complain(struct target *target, const struct options *options)
{
	fputs("weirctl: ", stderr);
	answers_explain(target, options, stderr);
	fputc('\n', stderr);
}

/* Adds a limiter that an option names. */
static bool add_named(struct targets *targets, const struct box_name *name)
{
	int ret = targets_add(targets, name->limiter, name->socket);

	if (ret == -EEXIST)
		fprintf(stderr, "weirctl: %s: is named twice\n",
			name->socket ? name->socket : name->limiter);
	else if (ret < 0)
		fputs("weirctl: out of memory\n", stderr);
	return ret >= 0;
}

bool answers_find(const struct options *options, struct targets *targets)
{
	bool good = true;

	*targets = (struct targets){.program = "weirctl",
		.timeout_s = options->timeout_s,
		.query = query_command,
		.explain = answers_explain,
		.context = options};
	for (unsigned i = 0; good && i < options->n_boxes; i++)
		good = add_named(targets, &options->boxes[i]);
	if (good && options->group)
		good = targets_add_group(targets, options->group, stderr);
	if (good && targets->n == 0)
		good = targets_add_only(targets, TARGETS_DIRECTORY, stderr);
	if (!good)
		targets_free(targets);
	return good;
}

/* --- answers --------------------------------------------------------------------------------- */

int answers_write_json(const json_t *document, FILE *out)
{
	int ret = json_dumpf(document, out,
		JSON_INDENT(1) | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	return ret || fputc('\n', out) == EOF ? -EIO : 0;
}

json_t *answers_json(const struct targets *targets)
{
	json_t *all;

	if (targets->n == 1 && !targets->each[0].last.document)
		return NULL;
	if (targets->n == 1)
		return json_incref(targets->each[0].last.document);
	all = json_object();
	for (unsigned i = 0; i < targets->n; i++) {
		const struct target *target = &targets->each[i];

		json_object_set_new(all, target->name,
			target->last.document ? json_incref(target->last.document)
					      : json_pack("{s:s}", "error",
							target->last.why ? target->last.why : "?"));
	}
	return all;
}

static int add_tables(
	const struct targets *targets, const struct options *options, struct view *view)
{
	const struct command *command = options->command;

	for (unsigned i = 0; i < targets->n; i++) {
		const struct target *target = &targets->each[i];
		int ret;

		if (!target->last.document ||
			(command->refused && command->refused(target->last.document, NULL)))
			continue;
		view_of_box(view, targets->n > 1 ? target->name : NULL);
		ret = command->print(target->last.document, view);
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
static int complain_of_target(const struct target *target, const struct options *options)
{
	const struct command *command = options->command;

	if (target->last.document && command->refused &&
		command->refused(target->last.document, stderr))
		return EXIT_FAILURE;
	if (target->last.document)
		return command->verdict ? command->verdict(target->last.document) : EXIT_SUCCESS;
	complain_of(target->last.why ? target->last.why : strerror(ENOMEM), "weirctl: ", stderr);
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

int answers_write_tables(
	const struct targets *targets, const struct options *options, FILE *out, unsigned width)
{
	struct view *view = view_new();
	int ret = view ? add_tables(targets, options, view) : -ENOMEM;

	if (ret == 0)
		ret = view_print(view, out, width);
	view_free(view);
	return ret;
}

int answers_write_documents(const struct targets *targets, FILE *out)
{
	json_t *document = answers_json(targets);
	int ret = document ? answers_write_json(document, out) : 0;

	json_decref(document);
	return ret;
}

int answers_write(
	const struct targets *targets, const struct options *options, FILE *out, unsigned width)
{
	int worst = EXIT_SUCCESS, ret;

	for (unsigned i = 0; i < targets->n; i++) {
		int status = complain_of_target(&targets->each[i], options);

		if (worst != EXIT_FAILURE && status != EXIT_SUCCESS)
			worst = status;
	}
	ret = options->json ? answers_write_documents(targets, out)
			    : answers_write_tables(targets, options, out, width);
	return answers_end(worst, ret);
}
