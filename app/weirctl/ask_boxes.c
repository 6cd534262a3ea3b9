/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "ask_boxes.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "known_names.h"
#include "sockets.h"

/* --- names ----------------------------------------------------------------------------------- */

/* Returns the file's name without the suffix of all sockets. */
static char *name_of_path(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t len = strlen(name), suffix = strlen(".sock");

	if (len > suffix && strcmp(name + len - suffix, ".sock") == 0)
		len -= suffix;
	return strndup(name, len);
}

/* Takes over the path. */
static bool add_box(struct boxes *boxes, const char *name, char *path, double timeout_s)
{
	struct box *each = reallocarray(boxes->each, boxes->n + 1, sizeof(*each));

	if (each)
		boxes->each = each;
	if (!each || !path) {
		free(path);
		fputs("weirctl: out of memory\n", stderr);
		return false;
	}
	each[boxes->n] = (struct box){.path = path,
		.name = name ? strdup(name) : name_of_path(path),
		.timeout_s = timeout_s,
		.client.fd = -1};
	if (!each[boxes->n++].name)
		fputs("weirctl: out of memory\n", stderr);
	return each[boxes->n - 1].name != NULL;
}

static char *path_of(const struct box_name *box)
{
	char *path = NULL;

	if (box->socket)
		return strdup(box->socket);
	if (asprintf(&path, "%s/%s.sock", SOCKETS_DIRECTORY, box->limiter) < 0)
		path = NULL;
	return path;
}

static bool refuse_group(const char *file, const char *why)
{
	fprintf(stderr, "weirctl: %s: %s\n", file, why);
	return false;
}

/* Reads [{"name": "ams", "socket": "/run/weir/ams.sock"}, …]; the socket is optional. */
static bool add_group(struct boxes *boxes, const char *file, double timeout_s)
{
	json_error_t error;
	json_t *group = json_load_file(file, JSON_REJECT_DUPLICATES, &error), *member;
	bool good = json_array_size(group) > 0 && json_array_size(group) <= BOXES_MAX;
	size_t i;

	if (!group) {
		fprintf(stderr, "weirctl: %s:%d: %s\n", file, error.line, error.text);
		return false;
	}
	json_array_foreach (group, i, member) {
		const char *name = NULL, *socket = NULL;

		good = good &&
		       json_unpack(member, "{s:s, s?s !}", "name", &name, "socket", &socket) == 0;
		if (!good)
			break;
		good = add_box(boxes, name, path_of(&(struct box_name){socket, name}), timeout_s);
	}
	json_decref(group);
	return good ||
	       refuse_group(file, "expected a list such as [{\"name\": \"ams\", \"socket\": "
				  "\"/run/weir/ams.sock\"}] of at most 256 boxes");
}

/* Replaces the second use of a name by its path. */
static bool make_names_unique(struct boxes *boxes)
{
	for (unsigned i = 0; i < boxes->n; i++) {
		for (unsigned k = i + 1; k < boxes->n; k++) {
			if (strcmp(boxes->each[i].path, boxes->each[k].path) == 0)
				return refuse_group(boxes->each[k].path, "is named twice");
			if (strcmp(boxes->each[i].name, boxes->each[k].name) != 0)
				continue;
			free(boxes->each[k].name);
			boxes->each[k].name = strdup(boxes->each[k].path);
			if (!boxes->each[k].name) {
				fputs("weirctl: out of memory\n", stderr);
				return false;
			}
		}
	}
	return true;
}

bool boxes_find(const struct options *options, struct boxes *boxes)
{
	char *only;

	*boxes = (struct boxes){0};
	for (unsigned i = 0; i < options->n_boxes; i++)
		if (!add_box(boxes, options->boxes[i].limiter, path_of(&options->boxes[i]),
			    options->timeout_s))
			return false;
	if (options->group && !add_group(boxes, options->group, options->timeout_s))
		return false;
	if (boxes->n)
		return make_names_unique(boxes);
	only = sockets_only(SOCKETS_DIRECTORY, stderr);
	return only && add_box(boxes, NULL, only, options->timeout_s);
}

void boxes_free(struct boxes *boxes)
{
	for (unsigned i = 0; i < boxes->n; i++) {
		struct box *box = &boxes->each[i];

		box_close(box);
		json_decref(box->document);
		free(box->why);
		free(box->name);
		free(box->path);
	}
	free(boxes->each);
	*boxes = (struct boxes){0};
}

/* --- requests -------------------------------------------------------------------------------- */

/* Returns the error of a limiter that could not be reached. */
static int ask_nobody(struct source *source, const char *request, json_t **value)
{
	const struct box *box = (const struct box *)source;

	(void)request;
	*value = NULL;
	return -box->error;
}

static double wait_for_nobody(struct source *source, unsigned ms)
{
	(void)source;
	(void)ms;
	return 0;
}

int box_open(struct box *box)
{
	int ret;

	if (box->open)
		return 0;
	ret = client_open_patient(&box->client, box->path, box->timeout_s);
	box->open = ret == 0;
	/* a missing socket is not the same as a missing answer */
	box->error = ret == -ENOENT ? ENXIO : -ret;
	if (ret)
		box->client.source = (struct source){.ask = ask_nobody, .pause = wait_for_nobody};
	return ret;
}

void box_close(struct box *box)
{
	if (box->open)
		client_close(&box->client);
	box->open = false;
	json_decref(box->memory);
	box->memory = NULL;
}

/* --- errors ---------------------------------------------------------------------------------- */

/* Writes the reason of a reply of null. */
static void explain_null(
	struct box *box, const struct command *command, const char *word, FILE *out)
{
	char *meant = word ? names_meant(&box->client.source, command->names, word) : NULL;

	if (word && command->names == NAMES_PEERS)
		fprintf(out, "%s: no such peer", word);
	else if (word && command->print == policy_or_change_print)
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

char *box_explain(struct box *box, const struct command *command, const struct request *request)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	if (box->error == ENOENT)
		explain_null(box, command, request->word, out);
	else
		sockets_explain(box->path, box->error, out);
	fclose(out);
	return text;
}

/* --- all limiters ---------------------------------------------------------------------------- */

void box_ask(struct box *box, const struct command *command, const struct request *request)
{
	json_t *document = NULL;
	int ret;

	box_open(box);
	ret = command_gather(command, &box->client.source, request, &document);
	json_decref(box->document);
	box->document = ret ? NULL : document;
	if (ret)
		json_decref(document);
	box->error = -ret;
	free(box->why);
	box->why = ret ? box_explain(box, command, request) : NULL;
}

struct asking {
	struct box *box;
	const struct command *command;
	const struct request *request;
	pthread_t thread;
	bool apart;
};

static void *ask_apart(void *context)
{
	struct asking *asking = context;

	box_ask(asking->box, asking->command, asking->request);
	return NULL;
}

void boxes_ask(struct boxes *boxes, const struct command *command, const struct request *request)
{
	struct asking asking[BOXES_MAX * 2];

	json_object_seed(0); /* not thread-safe at its first use */
	for (unsigned i = 0; i < boxes->n; i++) {
		struct asking *one = &asking[i];

		*one = (struct asking){&boxes->each[i], command, request, 0, false};
		one->apart = i + 1 < boxes->n &&
			     pthread_create(&one->thread, NULL, ask_apart, one) == 0;
		if (!one->apart)
			ask_apart(one);
	}
	for (unsigned i = 0; i < boxes->n; i++)
		if (asking[i].apart)
			pthread_join(asking[i].thread, NULL);
}
