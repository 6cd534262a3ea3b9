/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The part of a configuration that a group shares, in a document of another kind. A simulator has
 * the same policies and gossip, but no ports, wires, roster or sockets. Keys, checks and messages
 * are those of a configuration, inside any document that the reader has loaded:
 *
 * 	{"policies", read_group_policies, KEY_FIELD(struct scenario, group)},
 * 	{"gossip", read_group_gossip, KEY_FIELD(struct scenario, group)},
 *
 * The caller calls group_init() before read_keys(), and group_check() after it. The two keys are at
 * the root.
 */
#ifndef WEIR_CONFIG_GROUP_H
#define WEIR_CONFIG_GROUP_H

#include "policy/config.h"
#include "json/read.h"

struct group {
	struct gossip_config gossip; /* no roster, listen or key: only message settings */
	struct policy *policies;     /* some can lack a match, others can share one */
	unsigned n_policies;
};

/* Sets the defaults. Called before the keys are read. */
void group_init(struct reader *reader, struct group *group);

/* Reads "policies", and the keys of "gossip" that a simulated group has (struct key). */
void read_group_policies(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);
void read_group_gossip(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/*
 * Sets gossip.n_roster to the number of limiters, fills in the defaults that depend on it, and
 * reports inconsistent keys. Checks nothing if n_limiters is 0, because the number has an error.
 */
void group_check(struct reader *reader, struct group *group, unsigned n_limiters);

/* Frees the members, not the group itself. */
void group_free(struct group *group);

#endif
