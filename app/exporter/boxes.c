/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "boxes.h"

#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ask/client.h"

#define SUFFIX ".sock"

struct asked {
	const char *path;
	unsigned patience_ms;
	const struct gather_most *most;
	const struct looked_at *looked_at;
	pthread_t thread;
	bool begun;
	struct metrics_of *of;
};

static double seconds_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* Writes the name of a limiter: its socket's file name, without the suffix. */
static void name_of_socket(const char *path, char *name, size_t room)
{
	const char *slash = strrchr(path, '/'), *file = slash ? slash + 1 : path;
	size_t n = strlen(file), suffix = strlen(SUFFIX);

	if (n > suffix && strcmp(file + n - suffix, SUFFIX) == 0)
		n -= suffix;
	snprintf(name, room, "%.*s", (int)n, file);
}

static void *ask_box(void *arg)
{
	struct asked *asked = arg;
	double began = seconds_now();
	struct client client;
	json_t *document = NULL;
	int ret = client_open_until(&client, asked->path, asked->patience_ms);

	if (ret == 0) {
		ret = gather(&client.source, asked->most, asked->looked_at, &document,
			&asked->of->policies);
		client_close(&client);
	}
	if (!document)
		document = json_object();
	json_object_set_new(document, "up", json_boolean(ret == 0));
	json_object_set_new(document, "took_s", json_real(seconds_now() - began));
	asked->of->document = document;
	return NULL;
}

static void ask_all(const struct boxes_options *options, const struct looked_at *looked_at,
	const char *const *paths, unsigned n, struct boxes *boxes)
{
	struct asked asked[BOXES_MOST];

	for (unsigned i = 0; i < n; i++) {
		asked[i] = (struct asked){.path = paths[i],
			.patience_ms = options->patience_ms,
			.most = &options->most,
			.looked_at = looked_at,
			.of = &boxes->of[i]};
		name_of_socket(paths[i], boxes->names[i], sizeof(boxes->names[i]));
		boxes->of[i].limiter = boxes->names[i];
		asked[i].begun = pthread_create(&asked[i].thread, NULL, ask_box, &asked[i]) == 0;
	}
	for (unsigned i = 0; i < n; i++) {
		if (asked[i].begun)
			pthread_join(asked[i].thread, NULL);
		else
			boxes->of[i].document = json_pack("{s:b}", "up", 0);
	}
	boxes->n = n;
}

struct boxes *boxes_ask(const struct boxes_options *options, const struct looked_at *looked_at)
{
	struct boxes *boxes = calloc(1, sizeof(*boxes));
	char pattern[4096];
	glob_t found = {0};

	if (!boxes)
		return NULL;
	if (options->n_sockets) {
		ask_all(options, looked_at, options->sockets, options->n_sockets, boxes);
		return boxes;
	}
	snprintf(pattern, sizeof(pattern), "%s/*" SUFFIX, options->directory);
	glob(pattern, 0, NULL, &found);
	ask_all(options, looked_at, (const char *const *)found.gl_pathv,
		found.gl_pathc < BOXES_MOST ? (unsigned)found.gl_pathc : BOXES_MOST, boxes);
	globfree(&found);
	return boxes;
}

void boxes_free(struct boxes *boxes)
{
	if (!boxes)
		return;
	boxes->freed = true;
	if (boxes->readers)
		return;
	for (unsigned i = 0; i < boxes->n; i++) {
		json_decref((json_t *)boxes->of[i].document);
		policy_pages_free(&boxes->of[i].policies);
	}
	free(boxes);
}

void boxes_leave(struct boxes *boxes)
{
	boxes->readers--;
	if (boxes->freed)
		boxes_free(boxes);
}

const char *boxes_ambiguous(const struct boxes_options *options)
{
	char one[108], other[108];

	for (unsigned i = 0; i < options->n_sockets; i++) {
		name_of_socket(options->sockets[i], one, sizeof(one));
		for (unsigned k = 0; k < i; k++) {
			name_of_socket(options->sockets[k], other, sizeof(other));
			if (strcmp(one, other) == 0)
				return options->sockets[i];
		}
	}
	return NULL;
}
