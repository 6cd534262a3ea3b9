/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rules in force that another process left behind, of which only their notes say whose they are.
 * Pure; any thread.
 */
#ifndef WEIR_IMPORT_FLOWSPEC_FORMER_H
#define WEIR_IMPORT_FLOWSPEC_FORMER_H

#include <stddef.h>

#include <jansson.h>

/* What a peer's line in a policy's note begins with; the first line is what the rule is called. */
#define FLOWSPEC_OF "of "

/* Adds a peer's line to a note, once, in an order that who comes first does not change. 0 or -1. */
int flowspec_add_peer(json_t *note, const char *line);

/*
 * Adds to `policies`, which are what is announced, those of the prefix among the running ones that
 * a peer of their note has not let go of. `told` is of struct flowspec: a peer lets go of what it
 * has told of, and of all of a family that it has told all of. A policy without a peer in its note
 * stays until anybody tells of it. One that is in both is held by the peers of both, and to the
 * least of both limits, as it is with two peers that are known. In *left how many stay so. 0 or
 * -ENOMEM.
 */
int flowspec_keep_former(json_t *policies, const json_t *told, const json_t *running,
	const char *prefix, size_t *left);

#endif
