/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Where answers come from, and how time passes between two of them: a limiter's socket, or in tests
 * a table and no time.
 */
#ifndef WEIR_ASK_SOURCE_H
#define WEIR_ASK_SOURCE_H

#include <jansson.h>

struct source {
	/*
	 * Asks "/weir/policy,NAME": 0 and the value (a new reference; JSON's null for one that is
	 * not there), -ETIMEDOUT, -ECONNRESET (it hung up), -EMSGSIZE (more than it had announced),
	 * -EBADMSG (not the protocol) or another negative errno.
	 */
	int (*ask)(struct source *source, const char *request, json_t **value);

	/*
	 * The two halves of a question, with the same outcomes, for work between them: send()
	 * requests, receive() waits for the reply to the same request. NULL: none.
	 */
	int (*send)(struct source *source, const char *request);
	int (*receive)(struct source *source, const char *request, json_t **value);

	/* Lets so much time pass, or less if a signal came; returns how many seconds it was. */
	double (*pause)(struct source *source, unsigned ms);

	/*
	 * Asks with a descriptor that goes along (-1: none), which stays the caller's; *taken is
	 * one that came with the answer, the caller's from then on, or -1. NULL: none can go.
	 */
	int (*ask_with)(
		struct source *source, const char *request, int given, int *taken, json_t **value);
};

/* source->ask(), and -ENOENT for null. */
int source_get(struct source *source, const char *request, json_t **value);

/* Asks with a parameter. */
int source_get_of(struct source *source, const char *command, const char *name, json_t **value);

/*
 * A listing of as many pages as there are, of a name or of all (NULL): the first page's object,
 * with all of the members in its array `what`. -ENOENT, -EBADMSG (a page that does not lead on), or
 * what ask() says.
 */
int source_list(struct source *source, const char *command, const char *name, const char *what,
	json_t **listing);

/*
 * What the command says of each policy of which it says anything, but not of more than `most`: an
 * array. One that is removed meanwhile is none.
 */
int source_each(struct source *source, const char *command, size_t most, json_t **array);

/* Asks a command that lists the names of those (in `what`) if it gets none: no other. */
int source_each_listed(
	struct source *source, const char *command, const char *what, json_t **array);

#endif
