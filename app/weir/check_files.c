/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "check_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/describe.h"
#include "config/load.h"
#include "eal.h"
#include "etcd_share.h"
#include "policy/config.h"
#include "secret/group_keys.h"
#include "socket_groups.h"

#define PLACE_STEPS 4 /* of the longest place, ledger.etcd.password_file, and one more */

/* The path of a place such as "gossip.key_files[1]", whose text is cut at its steps. */
static struct json_path *parse_place(char *place, struct json_path steps[PLACE_STEPS])
{
	unsigned n = 0;

	for (char *at = place; *at && n + 1 < PLACE_STEPS; n++) {
		size_t len = strcspn(at, ".[");
		char end = at[len];

		at[len] = '\0';
		steps[n] = (struct json_path){.parent = n > 0 ? &steps[n - 1] : NULL, .key = at};
		at += len + (end != '\0');
		if (end == '[') {
			steps[n + 1] = (struct json_path){
				.parent = &steps[n], .index = strtoul(at, &at, 10)};
			n++;
			at += *at == ']';
		}
	}
	return n > 0 ? &steps[n - 1] : NULL;
}

/* Cuts a text in two at the words between; what is behind them, or NULL. */
static char *cut_at(char *text, const char *words)
{
	char *at = text ? strstr(text, words) : NULL;

	if (!at)
		return NULL;
	*at = '\0';
	return at + strlen(words);
}

/* `PLACE: VALUE: WHAT: expected WHAT: REMEDY`, of which the last three need not be there. */
static void relay_line(struct reader *reader, char *line)
{
	static const char program[] = "weir: ";
	struct json_path steps[PLACE_STEPS];
	char *place = strncmp(line, program, strlen(program)) ? line : line + strlen(program);
	char *value = cut_at(place, ": "), *what = cut_at(value, ": "), *expected, *remedy;
	char found[1024];

	expected = what && strncmp(what, "expected ", strlen("expected ")) == 0
			   ? what + strlen("expected ")
			   : cut_at(what, ": expected ");
	if (what && expected == what + strlen("expected "))
		what = NULL;
	remedy = cut_at(expected ? expected : what, ": ");
	snprintf(found, sizeof(found), "%s%s%s", value ? value : "", what ? ": " : "",
		what ? what : "");
	reader_refuse(reader, parse_place(place, steps), found, expected, remedy);
}

/* Files that the configuration names, and groups of this machine: reported where they are named. */
static void check_machine(const struct config *config, struct reader *reader, void *context)
{
	struct telemetry_options groups = {0};
	struct keyring *keyring = NULL;
	char *text = NULL, *line, *next;
	size_t size;
	FILE *err = open_memstream(&text, &size);

	(void)context;
	if (!err) {
		reader->no_memory = true;
		return;
	}
	socket_groups_find(config, &groups, err);
	etcd_share_check(&config->ledger, err);
	group_keys_load(&config->gossip, err, &keyring);
	keyring_destroy(keyring);
	fclose(err);
	for (line = text; (next = cut_at(line, "\n")) != NULL; line = next)
		relay_line(reader, line);
	free(text);
}

static void say_good(const char *file, const struct config *config, unsigned n_files,
	const struct diagnostics *d)
{
	printf("%s: good: limiter %s of %u; ports %u, wires %u, policies %u",
		strcmp(file, "-") == 0 ? "<stdin>" : file, config->limiter, config->gossip.n_roster,
		config->n_ports, config->n_wires, config->n_policies);
	if (n_files > 1)
		printf(", files %u", n_files);
	if (d->warnings > 0)
		printf("; warnings %u", d->warnings);
	putchar('\n');
}

int check_config_file(const char *file, const struct check_options *options)
{
	struct diagnostics diagnostics;
	struct config *config = NULL;
	unsigned n_files = 0;
	struct config_load load = {.path = file,
		.diagnostics = &diagnostics,
		.also = check_machine,
		.n_files = &n_files};
	int ret;

	diagnostics_init(&diagnostics, options->json ? stdout : stderr,
		options->json ? DIAGNOSTICS_JSON : DIAGNOSTICS_TEXT);
	diagnostics.errors_only = options->quiet && !options->strict;
	ret = config_load_with(&load, &config);
	if (ret == 0 && options->strict && diagnostics.warnings > 0) {
		if (!options->json)
			fprintf(stderr, "%s: refused: warnings are errors with --strict\n", file);
		ret = -EINVAL;
	}
	if (ret == 0 && !options->quiet && !options->json)
		say_good(file, config, n_files, &diagnostics);
	config_free(config);
	return ret;
}

int describe_config_file(const char *file)
{
	struct diagnostics diagnostics;
	struct config *config = NULL;
	struct config_load load = {
		.path = file, .diagnostics = &diagnostics, .also = check_machine};
	int ret;

	diagnostics_init(&diagnostics, stderr, DIAGNOSTICS_TEXT);
	ret = config_load_with(&load, &config);
	if (ret == 0) {
		config_describe(config, stdout);
		eal_describe(config, stdout);
	}
	config_free(config);
	return ret;
}
