/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The command "import", and of its kinds that of lists: one change makes the policies of a prefix
 * those of the list.
 */
#include "import.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "ask/member.h"
#include "command.h"
#include "config/load.h"
#include "ctl_options.h"
#include "field.h"
#include "import/edits.h"
#include "import/subscribers.h"
#include "json/read.h"
#include "running.h"
#include "terminal.h"

#define READ_STEP 65536
#define TRIES     5

/* --- what it was called with ------------------------------------------------------------------ */

static bool refuse_words(const char *word, const char *expected)
{
	fprintf(stderr, "weirctl: import: %s: expected %s\n", word, expected);
	return false;
}

static bool check_csv(const struct request *request)
{
	if (request->n_words != 2)
		return refuse_words("csv", "one file behind it, or -");
	if (request->direction == NULL || (strcmp(request->direction, "download") != 0 &&
						  strcmp(request->direction, "upload") != 0))
		return refuse_words(request->direction ? request->direction : "csv",
			"--direction download, what is sent to subscribers, or upload");
	if (request->keep || request->family)
		return refuse_words(
			request->keep ? "--keep" : "--family", "it with flowspec alone");
	return true;
}

static bool check_flowspec(const struct request *request)
{
	if (request->n_words != 1)
		return refuse_words(request->words[1], "nothing behind flowspec");
	if (request->direction || request->parent_prefix || request->network || request->flat ||
		request->print || request->skip_bad || request->removals != REMOVALS_USUAL)
		return refuse_words("flowspec", "no option but --prefix, --family and --keep");
	if (request->family && strcmp(request->family, "ipv4") != 0 &&
		strcmp(request->family, "ipv6") != 0)
		return refuse_words(request->family, "--family ipv4 or ipv6");
	return true;
}

bool import_check(const struct request *request)
{
	const char *const prefixes[] = {request->prefix, request->parent_prefix};
	const char *kind = request->n_words > 0 ? request->words[0] : "nothing";

	for (unsigned i = 0; i < 2; i++)
		if (prefixes[i] && !import_prefix_valid(prefixes[i]))
			return refuse_words(
				prefixes[i], "a prefix of 1 to 30 characters A-Z a-z 0-9 _ . -");
	if (strcmp(kind, "csv") == 0)
		return check_csv(request);
	if (strcmp(kind, "flowspec") == 0)
		return check_flowspec(request);
	return refuse_words(kind, "csv FILE, or flowspec");
}

/* --- a list ----------------------------------------------------------------------------------- */

static int read_stream(FILE *file, struct import_text *out)
{
	size_t room = 0;

	for (;;) {
		char *grown = out->len < room ? out->text : realloc(out->text, room += READ_STEP);

		if (grown == NULL)
			return -ENOMEM;
		out->text = grown;
		out->len += fread(out->text + out->len, 1, room - out->len, file);
		if (out->len > READER_FILE_MAX)
			return -EFBIG;
		if (ferror(file))
			return -errno;
		if (feof(file))
			return 0;
	}
}

static int read_import(const char *path, struct import_text *out)
{
	bool is_input = strcmp(path, "-") == 0;
	FILE *file = is_input ? stdin : fopen(path, "r");
	int ret;

	if (!file)
		return -errno;
	ret = read_stream(file, out);
	if (!is_input)
		fclose(file);
	return ret;
}

static bool read_network(const char *path, json_t **network)
{
	json_error_t error;

	*network = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
	if (!*network)
		fprintf(stderr, "weirctl: %s:%d: %s\n", path, error.line, error.text);
	return *network != NULL;
}

static struct subscribers_terms terms_of(const struct request *request, const json_t *running)
{
	bool upload = strcmp(request->direction, "upload") == 0;

	return (struct subscribers_terms){
		.file = request->imported->name,
		.prefix = request->prefix ? request->prefix
			  : upload        ? "upload-"
					  : "download-",
		.parent_prefix = request->parent_prefix ? request->parent_prefix : "",
		.upload = upload,
		.flat = request->flat,
		.skip_bad = request->skip_bad,
		.network = request->imported->network,
		.network_file = request->network,
		.running = running,
	};
}

/* 0, or -EINVAL, which is said. */
static int parse_list(const struct import_text *text, const struct subscribers_terms *terms,
	struct subscribers *out)
{
	struct diagnostics diagnostics;

	diagnostics_init(&diagnostics, stderr, DIAGNOSTICS_TEXT);
	return subscribers_read(text->text, text->len, terms, &diagnostics, out);
}

/* `"isp-1001"` in a message: the line that it is of goes before it. */
static json_t *place_message(const json_t *message, const struct subscribers *list,
	const struct subscribers_terms *terms)
{
	const char *text = json_string_value(message), *begin = text ? strchr(text, '"') : NULL;
	char name[64];

	while (begin) {
		size_t len = strcspn(begin + 1, "\"");
		const json_t *line, *node;

		snprintf(name, sizeof(name), "%.*s", len < sizeof(name) ? (int)len : 0, begin + 1);
		line = json_object_get(list->lines, name);
		node = json_object_get(list->nodes, name);
		if (line)
			return json_sprintf(
				"%s:%d: %s", terms->file, (int)json_integer_value(line), text);
		if (node)
			return json_sprintf(
				"%s: %s: %s", terms->network_file, json_string_value(node), text);
		begin = begin[1 + len] ? strchr(begin + len + 2, '"') : NULL;
	}
	return json_incref((json_t *)(uintptr_t)message);
}

static json_t *place_messages(const json_t *document, const struct subscribers *list,
	const struct subscribers_terms *terms)
{
	const json_t *messages = member_at(document, "last.messages"), *message;
	json_t *placed = json_array();
	size_t i;

	json_array_foreach (messages, i, message)
		json_array_append_new(placed, place_message(message, list, terms));
	return placed;
}

static int send_edits(struct source *source, const json_t *edits, const struct subscribers *list,
	const struct subscribers_terms *terms, json_t **document)
{
	json_t *messages;
	int ret = json_array_size(edits) > 0 ? make_edit(source, edits, document) : 0;

	if (ret || !*document)
		return ret;
	messages = place_messages(*document, list, terms);
	if (member_at(*document, "last.messages"))
		json_object_set(json_object_get(*document, "last"), "messages", messages);
	json_decref(messages);
	return 0;
}

/*
 * Returns why a list may not take these policies away, or NULL. A file that is cut at the end of a
 * line is a good list, and so is one of a header alone. One policy may always go.
 */
static json_t *refuse_removals(const struct request *request, const struct subscribers *list,
	const struct import_counts *counts)
{
	unsigned owned = counts->removed + counts->set + counts->same;

	if (json_array_size(list->policies) == 0 && request->removals < 100)
		return json_sprintf("%s: no subscribers, and %u policies in force: is the file "
				    "whole? To remove all, give --allow-removals",
			request->imported->name, owned);
	if (counts->removed <= 1 || counts->removed * 100ULL <= owned * (uint64_t)request->removals)
		return NULL;
	return json_sprintf("%s: removes %u of %u policies, more than %u%%: is the file whole? To "
			    "remove them, give --allow-removals",
		request->imported->name, counts->removed, owned, request->removals);
}

/* A line that is wrong now changes nothing: the policy that it had before stays. */
static void keep_left_out(struct subscribers *list, const json_t *running)
{
	json_t *policy;
	size_t i;

	json_array_foreach (running, i, policy)
		if (json_object_get(list->bad, json_string_value(json_object_get(policy, "name"))))
			json_array_append(list->policies, policy);
}

/* What came of it, with the counts beside. */
static int import_list(struct source *source, const struct request *request, const json_t *running,
	json_t **document)
{
	const struct subscribers_terms terms = terms_of(request, running);
	struct subscribers list;
	struct import_counts counts;
	json_t *edits, *refused;
	int ret;

	*document = NULL;
	if (parse_list(request->imported, &terms, &list) < 0) {
		*document = json_pack("{s:s}", "refused", "the list is refused");
		return *document ? 0 : -ENOMEM;
	}
	keep_left_out(&list, running);
	edits = import_edits(running, list.policies, terms.prefix, &counts);
	refused = edits ? refuse_removals(request, &list, &counts) : NULL;
	if (refused)
		*document = json_pack("{s:o}", "refused", refused);
	ret = edits ? 0 : -ENOMEM;
	if (ret == 0 && !refused)
		ret = send_edits(source, edits, &list, &terms, document);
	if (ret == 0 && !*document)
		*document = json_object();
	if (ret == 0)
		json_object_set_new(*document, "import",
			json_pack("{s:s, s:i, s:i, s:i, s:i, s:i}", "prefix", terms.prefix, "added",
				(int)counts.added, "removed", (int)counts.removed, "changed",
				(int)counts.set, "unchanged", (int)counts.same, "left_out",
				(int)json_object_size(list.bad)));
	json_decref(edits);
	subscribers_free(&list);
	return ret;
}

/* Where others change something at the same time, it looks again at what there is to be done. */
static int import_gather(struct source *source, const struct request *request, json_t **document)
{
	int ret = -ESTALE;

	for (unsigned i = 0; i < TRIES && ret == -ESTALE; i++) {
		json_t *running = NULL;

		*document = NULL;
		ret = ask_running(source, &running);
		if (ret == 0)
			ret = import_list(
				source, request, json_object_get(running, "policies"), document);
		json_decref(running);
	}
	return ret;
}

static int import_print(const json_t *document, struct view *view)
{
	static const struct field fields[] = {
		{"prefix", "import.prefix", KIND_TEXT},
		{"added", "import.added", KIND_COUNT},
		{"removed", "import.removed", KIND_COUNT},
		{"changed", "import.changed", KIND_COUNT},
		{"unchanged", "import.unchanged", KIND_COUNT},
		{"left out", "import.left_out", KIND_COUNT | NONZERO},
		{"peers that differ now", "peers_differ", KIND_TEXT | NONZERO},
	};
	const json_t *messages = member_at(document, "last.messages");
	int ret = fields_detail(document, FIELDS(fields), view);

	return ret == 0 && json_array_size(messages) > 0 ? fields_lines(messages, view) : ret;
}

/* Adds a policy for each parent that is not in the list, because it may be in force. */
static int add_parents(json_t *policies)
{
	json_t *known = json_object(), *policy;
	size_t i, n = json_array_size(policies);
	int ret = known ? 0 : -1;

	json_array_foreach (policies, i, policy)
		ret |= json_object_set(
			known, json_string_value(json_object_get(policy, "name")), policy);
	for (i = 0; ret == 0 && i < n; i++) {
		json_t *parent = json_object_get(json_array_get(policies, i), "parent");
		const char *name = json_string_value(parent);

		if (!name || json_object_get(known, name))
			continue;
		policy = json_pack("{s:O, s:s}", "name", parent, "limit", "400Gbit/s");
		ret |= json_object_set(known, name, policy);
		ret |= json_array_append_new(policies, policy);
	}
	json_decref(known);
	return ret ? -ENOMEM : 0;
}

/* Writes the messages of a limiter, each with its place in the list. */
static void print_placed(
	const char *messages, const struct subscribers *list, const struct subscribers_terms *terms)
{
	while (*messages) {
		size_t len = strcspn(messages, "\n");
		json_t *line = json_stringn(messages, len);
		json_t *placed = line ? place_message(line, list, terms) : NULL;

		fprintf(stderr, "%s\n", placed ? json_string_value(placed) : strerror(ENOMEM));
		json_decref(line);
		json_decref(placed);
		messages += len + (messages[len] == '\n');
	}
}

/* Judges the policies as a limiter does. 0 or a negative errno, reported. */
static int judge_list(const struct subscribers *list, const struct subscribers_terms *terms)
{
	json_t *policies = json_copy(list->policies);
	json_t *document = json_pack("{s:s, s:o*}", "limiter", "list", "policies", policies);
	struct config *config = NULL;
	char *messages = NULL;
	size_t size;
	FILE *err = open_memstream(&messages, &size);
	int ret = document && err ? add_parents(policies) : -ENOMEM;

	if (ret == 0)
		ret = config_read_document(document, terms->file, NULL, err, &config);
	if (err)
		fclose(err);
	print_placed(messages ? messages : "", list, terms);
	config_free(config);
	json_decref(document);
	free(messages);
	return ret;
}

/* As a file that a configuration can include. */
static int print_list(const struct request *request)
{
	const struct subscribers_terms terms = terms_of(request, NULL);
	struct subscribers list;
	json_t *document;
	int ret;

	if (parse_list(request->imported, &terms, &list) < 0)
		return EXIT_FAILURE;
	if (json_array_size(list.policies) == 0 && request->removals < 100) {
		fprintf(stderr,
			"weirctl: %s: no subscribers: is the file whole? To write an "
			"empty file, give --allow-removals\n",
			terms.file);
		subscribers_free(&list);
		return EXIT_FAILURE;
	}
	if (judge_list(&list, &terms) < 0) {
		subscribers_free(&list);
		return EXIT_FAILURE;
	}
	document = json_pack("{s:O}", "policies", list.policies);
	ret = document ? answers_write_json(document, stdout) : -ENOMEM;
	json_decref(document);
	subscribers_free(&list);
	return answers_end(EXIT_SUCCESS, ret);
}

static int send_list(const struct options *options, const struct request *request)
{
	struct command command = *options->command;
	struct options asked = *options;
	unsigned width = 0, rows;
	struct boxes boxes;
	int status = EXIT_FAILURE;

	command.gather = import_gather;
	command.print = import_print;
	command.refused = change_refused;
	asked.command = &command;
	if (boxes_find(options, &boxes)) {
		if (options->wide || !terminal_size(&width, &rows))
			width = 0;
		boxes_ask(&boxes, &command, request);
		status = answers_write(&boxes, &asked, stdout, width);
	}
	boxes_free(&boxes);
	return status;
}

int import_run(const struct options *options)
{
	struct request request = options->request;
	struct import_text text;
	int ret, status = EXIT_FAILURE;

	if (strcmp(request.words[0], "flowspec") == 0)
		return flowspec_follow(options);
	text = (struct import_text){
		.name = strcmp(request.words[1], "-") == 0 ? "standard input" : request.words[1]};
	if (request.network && !read_network(request.network, &text.network))
		return EXIT_FAILURE;
	ret = read_import(request.words[1], &text);
	request.imported = &text;
	request.word = NULL;
	if (ret)
		fprintf(stderr, "weirctl: %s: %s\n", text.name, strerror(-ret));
	else
		status = request.print ? print_list(&request) : send_list(options, &request);
	json_decref(text.network);
	free(text.text);
	return status;
}
