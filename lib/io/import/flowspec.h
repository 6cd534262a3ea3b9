/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a BGP speaker says of flow specifications (RFC 8955 and 8956): as exabgp gives it to a
 * process with `encoder json`, or as `gobgp monitor global rib -j` does, a line for each update.
 * What is announced now is kept, by peer, and made policies: doc/operate/import.md. No socket,
 * clock or file; one thread.
 */
#ifndef WEIR_IMPORT_FLOWSPEC_H
#define WEIR_IMPORT_FLOWSPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <jansson.h>

#define FLOWSPEC_RULES_MOST 10000 /* of a peer; what it announces beyond is refused */

struct flowspec {
	const char *prefix; /* of the names of all policies */
	const char *family; /* "ipv4" or "ipv6": rules of the other one are ignored; NULL: none */
	json_t *peers;      /* by peer, what it announces by name */
	json_t *prefixes;   /* by prefixes, policies by name: also some that are gone */
	/*
	 * By peer, what it need no longer be asked about: names of what it announced or withdrew,
	 * and "ipv4" and "ipv6" where it has told all of one, until the owner frees it.
	 */
	json_t *told;
	bool told_more; /* which has grown; the owner clears it */
	bool keep;      /* what a session had stays after it, until the next one has told all */
	bool complete;  /* GoBGP has told of a path: it begins with all that it has */
};

/* The prefix stays the caller's. 0 or -ENOMEM. */
int flowspec_init(struct flowspec *flowspec, const char *prefix);
void flowspec_free(struct flowspec *flowspec);

/*
 * One line. 1: what is announced is another than before; 0: it is not; -EINVAL, said on `say`: it
 * is no such line; -ENOMEM. A rule that no policy can be is named on `say`, with the reason, and
 * nothing is limited by it; and so are two that may take the same packets.
 */
int flowspec_line(struct flowspec *flowspec, const char *line, size_t len, FILE *say);

/*
 * The policies of all that is announced: a new array. Of peers that announce one rule with several
 * rates the least holds, and the note names all of them. NULL without memory.
 */
json_t *flowspec_policies(const struct flowspec *flowspec);

#endif
