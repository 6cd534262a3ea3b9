/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What weirctl can be asked. A command gathers one JSON document from a limiter, and prints it: so
 * that what scripts get is what operators see, and each half can be tested by itself.
 */
#ifndef WEIR_WEIRCTL_COMMAND_H
#define WEIR_WEIRCTL_COMMAND_H

#include <stdbool.h>
#include <stdio.h>

#include "source.h"

struct request {
	const char *word; /* behind the command: a name, or how many; NULL */
	const char *sort; /* --sort; NULL: as they come */
};

struct command {
	const char *name;
	const char *words; /* for the usage: "[N]" */
	const char *help;
	const char
		*absent; /* why there is nothing to say, other than that the server is old; NULL */
	bool wants, takes;  /* a word: must be there, may be */
	bool sorts;         /* knows --sort */
	bool takes_a_while; /* it pauses by itself */

	const char *asks;  /* "/weir/peers": with the word, if there is one; NULL: gather() asks */
	const char *lists; /* the reply's array that comes in pages; NULL: it comes at once */

	/* As command_gather(), where more than one thing has to be asked. */
	int (*gather)(struct source *source, const struct request *request, json_t **document);

	/* 0 or -ENOMEM. */
	int (*print)(const json_t *document, FILE *out);

	/* Whether what it asked for was refused, and why, on `err`. NULL: never. */
	bool (*refused)(const json_t *document, FILE *err);
};

/* NULL: there is none of that name. */
const struct command *command_find(const char *name);

/* The document: 0; -EINVAL (what was asked makes no sense), or what source.h says. */
int command_gather(const struct command *command, struct source *source,
	const struct request *request, json_t **document);

/* A line for each. */
void commands_help(FILE *out);

/* What makes sense behind "policies": of --sort; and how many, all of them without a word. */
bool policies_sort_known(const char *sort);
bool policies_count(const char *word, size_t *n);

int status_gather(struct source *source, const struct request *request, json_t **document);
int status_print(const json_t *document, FILE *out);

int policies_gather(struct source *source, const struct request *request, json_t **document);
int policies_print(const json_t *document, FILE *out);
int policy_print(const json_t *document, FILE *out);

int placement_gather(struct source *source, const struct request *request, json_t **document);
int placement_print(const json_t *document, FILE *out);

int peers_print(const json_t *document, FILE *out);
int gossip_print(const json_t *document, FILE *out);
int drops_print(const json_t *document, FILE *out);
int workers_print(const json_t *document, FILE *out);
int ports_print(const json_t *document, FILE *out);

int ledger_gather(struct source *source, const struct request *request, json_t **document);
int ledger_print(const json_t *document, FILE *out);
int quota_gather(struct source *source, const struct request *request, json_t **document);
int quota_print(const json_t *document, FILE *out);
int tree_print(const json_t *document, FILE *out);
int etcd_print(const json_t *document, FILE *out);

int config_print(const json_t *document, FILE *out);
int reload_gather(struct source *source, const struct request *request, json_t **document);
bool reload_refused(const json_t *document, FILE *err);

#endif
