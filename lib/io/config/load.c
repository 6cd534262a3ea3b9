/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/check.h"
#include "config/keys.h"
#include "config/lists.h"
#include "config/load.h"
#include "json/include.h"
#include "json/read.h"
#include "config/compare.h"
#include "config/config_messages.h"
#include "policy/matches.h"
#include "policy/trial.h"

#define READS_MOST 5

void config_free(struct config *config)
{
	if (config == NULL)
		return;
	for (unsigned i = 0; i < config->n_eal; i++)
		free(config->eal[i]);
	free(config->ports);
	free(config->wires);
	free(config->gossip.roster);
	free(config->ledger.edges);
	for (unsigned i = 0; i < config->ledger.n_etcd; i++)
		free(config->ledger.etcd[i]);
	policies_free(config->policies, config->n_policies);
	zones_free(config);
	free(config);
}

void config_complain(void *context, const struct complaint *complaint)
{
	struct reader *reader = context;
	struct json_named named;

	reader_report(reader, json_path_named(reader->root, complaint->place, &named),
		MESSAGE(CANNOT_APPLY), message_part(complaint->expected),
		message_part(complaint->remedy), complaint->found);
}

/* Reads, completes and checks a document; leaves the reader open. */
static struct config *read_config(struct reader *reader, const struct config *running)
{
	struct config *config = calloc(1, sizeof(*config));

	reader->vocabulary = &config_vocabulary;
	reader->no_memory |= config == NULL;
	if (config != NULL) {
		keys_preset(reader, config_keys, config);
		read_keys(reader, NULL, reader->root, config_keys, config);
	}
	if (!reader->no_memory && json_is_object(reader->root)) {
		config_complete(reader, config);
		config_check(reader, config);
	}
	if (!reader_failed(reader) && running != NULL)
		config_fixed(running, config, &(struct complaint_sink){config_complain, reader});
	if (reader_failed(reader))
		return config;
	config_warn(reader, config, running);
	if (running != NULL && running->shadow_forced)
		config_force_shadow(config);
	else if (config->shadow)
		config_enter_shadow(config);
	return config;
}

int config_parse(const char *text, size_t len, const char *name, FILE *err, struct config **out)
{
	struct diagnostics diagnostics;
	struct config_load load = {
		.path = name, .text = text, .len = len, .diagnostics = &diagnostics};

	diagnostics_init(&diagnostics, err, DIAGNOSTICS_TEXT);
	return config_load_with(&load, out);
}

int config_read_document(const json_t *document, const char *name, const struct config *running,
	FILE *err, struct config **out)
{
	struct reader reader;
	struct config *config;
	int rc = reader_take(&reader, document, name, err);

	*out = NULL;
	if (rc < 0)
		return rc;
	config = read_config(&reader, running);
	rc = reader_finish(&reader);
	if (rc == 0)
		*out = config;
	else
		config_free(config);
	return rc;
}

int config_load(const char *path, FILE *err, struct config **out)
{
	return config_load_for_running(path, NULL, err, out);
}

int config_load_for_running(
	const char *path, const struct config *running, FILE *err, struct config **out)
{
	struct diagnostics diagnostics;
	struct config_load load = {.path = path, .running = running, .diagnostics = &diagnostics};

	diagnostics_init(&diagnostics, err, DIAGNOSTICS_TEXT);
	return config_load_with(&load, out);
}

/* Opens the files in the state of one moment. Tries again if a file changes meanwhile. */
static int open_files(struct reader *reader, const struct config_load *load)
{
	int rc = -EAGAIN;

	if (load->text != NULL)
		return reader_open_text(
			reader, load->text, load->len, load->path, load->diagnostics);
	for (unsigned tries = 0; tries < READS_MOST && rc == -EAGAIN; tries++) {
		rc = reader_open(reader, load->path, load->diagnostics);
		if (rc < 0)
			return rc;
		rc = reader_include(reader, "include", "policies");
		if (rc == 0 && !reader->no_memory)
			rc = lists_expand(reader);
		if (rc == -EAGAIN)
			reader_finish(reader);
	}
	if (rc == -EAGAIN && diagnostics_count(load->diagnostics, false))
		diagnostics_report(load->diagnostics, &(struct diagnostic){.file = load->path},
			MESSAGE(FILES_CHANGED));
	return rc;
}

/* Returns a reference to the document, and moves the states of its files to `seen`. */
static json_t *take_document(struct reader *reader, struct seen **seen)
{
	json_t *document = json_incref(reader->root);

	json_object_del(document, "include"); /* the root is a copy: see reader_include() */
	if (seen != NULL) {
		*seen = reader->seen;
		reader->seen = NULL;
	}
	return document;
}

int config_load_document(
	const char *path, struct diagnostics *diagnostics, json_t **out, struct seen **seen)
{
	const struct config_load load = {.path = path, .diagnostics = diagnostics};
	struct reader reader;
	int rc = open_files(&reader, &load);

	*out = NULL;
	*seen = NULL;
	if (rc < 0)
		return rc;
	if (!reader_failed(&reader))
		*out = take_document(&reader, seen);
	return reader_finish(&reader);
}

int config_load_with(const struct config_load *load, struct config **out)
{
	struct reader reader;
	struct config *config;
	int rc = open_files(&reader, load);

	*out = NULL;
	if (load->document != NULL)
		*load->document = NULL;
	if (load->seen != NULL)
		*load->seen = NULL;
	if (rc < 0)
		return rc;
	config = read_config(&reader, load->running);
	if (load->also != NULL && !reader_failed(&reader))
		load->also(config, &reader, load->context);
	if (load->document != NULL && !reader_failed(&reader))
		*load->document = take_document(&reader, load->seen);
	if (load->n_files != NULL)
		*load->n_files = reader.n_documents;
	rc = reader_finish(&reader);
	if (rc == 0)
		*out = config;
	else
		config_free(config);
	return rc;
}
