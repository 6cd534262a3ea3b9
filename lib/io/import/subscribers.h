/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A list of subscribers as CSV, made policies: doc/operate/import.md. Its header line names the
 * columns, those of this room's own format or those of LibreQoS's ShapedDevices.csv, where several
 * lines of one circuit are one policy. Pure; one thread each.
 */
#ifndef WEIR_IMPORT_SUBSCRIBERS_H
#define WEIR_IMPORT_SUBSCRIBERS_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "json/diagnostics.h"

struct subscribers_terms {
	const char *file;          /* as messages have it */
	const char *prefix;        /* of the names of all policies: they belong to this list */
	const char *parent_prefix; /* of the names of parents that are not in the list; "" */
	bool upload;               /* what subscribers send, and not what is sent to them */
	bool flat;                 /* parents are not looked at */
	bool skip_bad;            /* wrong lines are left out with a warning; they refuse nothing */
	const json_t *network;    /* LibreQoS's network.json, where parents are found; NULL */
	const char *network_file; /* as messages have it */
	/*
	 * The policies in force, which can be parents. NULL: without a network, any name can be a
	 * parent, and with one only names with the parent prefix.
	 */
	const json_t *running;
};

struct subscribers {
	json_t *policies; /* an array */
	json_t *lines;    /* by a policy's name, the line that it begins in */
	json_t *nodes;    /* by the name of a node's policy, the node's own name */
	json_t *bad;      /* names of policies that are left out because a line is wrong */
};

/*
 * Reads a list. Every mistake is told to diagnostics, with its line and column; then, and without
 * memory, -EINVAL and nothing is there. Or 0, and subscribers_free() is to follow.
 */
int subscribers_read(const char *text, size_t len, const struct subscribers_terms *terms,
	struct diagnostics *diagnostics, struct subscribers *out);
void subscribers_free(struct subscribers *subscribers);

/* Whether names that begin so can be names of policies, with room for a few more characters. */
bool import_prefix_valid(const char *prefix);

#endif
