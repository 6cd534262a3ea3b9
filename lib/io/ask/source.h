/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A source of answers, and the time between two of them: a limiter's socket, or in tests a table
 * without time.
 */
#ifndef WEIR_ASK_SOURCE_H
#define WEIR_ASK_SOURCE_H

#include <stdbool.h>

#include <jansson.h>

struct source {
	/*
	 * Sends a request such as "/weir/policy,NAME" and receives the answer. Returns 0 and the
	 * value: a new reference; JSON null for an object that does not exist. Or returns
	 * -ETIMEDOUT, -ECONNRESET (the server closed the connection), -EMSGSIZE (larger than
	 * announced), -EBADMSG (not the protocol) or another negative errno.
	 */
	int (*ask)(struct source *source, const char *request, json_t **value);

	/*
	 * The two halves of `ask()`, with the same results, for work in between. send() sends the
	 * request; receive() waits for the answer to the same request. NULL: not supported.
	 */
	int (*send)(struct source *source, const char *request);
	int (*receive)(struct source *source, const char *request, json_t **value);

	/* Waits `ms` milliseconds, or less after a signal. Returns the seconds waited. */
	double (*pause)(struct source *source, unsigned ms);

	/*
	 * Like `ask()`, with a descriptor that is sent along (-1: none) and stays the caller's.
	 * *taken is a descriptor received with the answer, which the caller closes, or -1. NULL:
	 * not supported.
	 */
	int (*ask_with)(
		struct source *source, const char *request, int given, int *taken, json_t **value);
};

/*
 * Returns the value at a path of members such as "dropped.packets", the outermost first. NULL if it
 * is missing or null. Borrowed.
 */
const json_t *member_at(const json_t *json, const char *path);

/* Calls `source->ask()`, and returns -ENOENT for null. */
int source_get(struct source *source, const char *request, json_t **value);

/* Like source_get(), for a command with a parameter. */
int source_get_of(struct source *source, const char *command, const char *name, json_t **value);

/*
 * The pages of a listing, one after the other. In a page, "next" is the start of the next page;
 * null: there is none.
 */
struct pages {
	struct source *source;
	const char *command, *name; /* name: parameter of the command; NULL: none */
	json_int_t next;            /* start of the page to take; 0: the first, or no more */
	bool sent;                  /* its request */
};

/*
 * Sends the request for the next page before pages_take(), so that the limiter makes it meanwhile.
 * Returns 0 or an error of `send()`, which must be supported.
 */
int pages_send(struct pages *pages);

/* Returns 0 and the next page, -ENOENT, -EBADMSG (it leads back), or an error of `ask()`. */
int pages_take(struct pages *pages, json_t **page);

/*
 * Requests all pages of a listing, for a name or for all (NULL). Returns the first page's object,
 * with the members of all pages in its array `what`. Returns -ENOENT, -EBADMSG (a page that leads
 * back), or an error of `ask()`.
 */
int source_list(struct source *source, const char *command, const char *name, const char *what,
	json_t **listing);

/*
 * Sends the command for each name in the array `what` of a listing. Returns an array of the
 * answers. Names without an answer, such as a policy removed in the meantime, are left out.
 */
int source_each(struct source *source, const char *listing, const char *what, const char *command,
	json_t **array);

#endif
