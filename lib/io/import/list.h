/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A list of subscribers while it is read. Private to this room.
 */
#ifndef WEIR_IMPORT_LIST_H
#define WEIR_IMPORT_LIST_H

#include "import/columns.h"
#include "import/csv.h"
#include "import/subscribers.h"
#include "policy/config.h"

#define LIST_TEXT_MOST   64 /* bytes of a field that is no note and no addresses */
#define LIST_QUOTED_MOST (LIST_TEXT_MOST + 8)

struct subscriber_list {
	const struct subscribers_terms *terms;
	struct diagnostics *diagnostics;
	struct columns columns;
	struct csv_row row;
	json_t *ids;          /* by a policy's name: what it is made of as "text", and the line */
	json_t *parents;      /* by a policy's name: its "parent" as it is written, and the line */
	json_t *others;       /* parents, so, that are not their circuit's: an array */
	json_t *nodes, *used; /* of the network: all, and those that circuits are below of */
	bool nodes_refused;   /* so that nobody is to be blamed for his parent */
	json_t *owners;       /* skip_bad: by address, the policy's name and line */
	bool is_bad;          /* something is wrong with the line or policy being read */
	struct subscribers out;
	bool no_memory;
};

/* In quotes, and in words, without what a terminal might obey. */
char *list_quote(const char *text, char words[LIST_QUOTED_MOST]);

/* Says what is wrong with a field: of that line and column. */
void list_refuse_at(struct subscriber_list *list, unsigned line, enum column column,
	const char *found, const char *expected, const char *remedy);

/* Says that there should be something else, which is no mistake. */
void list_warn_at(struct subscriber_list *list, unsigned line, enum column column,
	const char *found, const char *expected);

/* Warns of a node that the import changes or leaves out. */
void list_warn_of_node(struct subscriber_list *list, const char *node, const char *text);

/* Says something of a line, 0 of none. */
void list_say(struct subscriber_list *list, unsigned line, bool warning, const char *text);

/* Reports a problem of the line being read. */
void list_say_of_line(struct subscriber_list *list, bool warning, const char *text);

/* Leaves out the policy later, if is_bad and wrong lines are skipped. */
void list_note_bad(struct subscriber_list *list, const char *policy);

/* A name as LibreQoS has them: whatever a policy's cannot have becomes "_". */
void list_make_plain(char *text);

/*
 * The policy's name is made of that ID of a line. False, and said: it is another's already. Two
 * customers of one name would have one limit together.
 */
bool list_claim_name(struct subscriber_list *list, unsigned line, enum column column,
	const char *name, const char *id);

/* The prefixes of a policy's match. */
static inline json_t *list_addresses(const struct subscriber_list *list, json_t *policy)
{
	return json_object_get(
		json_object_get(policy, "match"), list->terms->upload ? "src" : "dst");
}

/* When all lines are read: finds the parents, and lets go of who has no addresses. */
void list_settle(struct subscriber_list *list);

#endif
