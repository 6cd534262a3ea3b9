/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Readers of keys whose values occur in several documents or tables.
 */
#ifndef WEIR_CONFIG_VALUE_KEYS_H
#define WEIR_CONFIG_VALUE_KEYS_H

#include "json/read.h"

#define CHOICE_REFUSED 255 /* policy.count, meter, action, guarantee; gossip.estimator */

/* Reads a name of 1 to 63 characters of A-Z a-z 0-9 _ . - into an array of CONFIG_NAME_MAX. */
void read_name(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Reads an IPv4 or IPv6 prefix into a struct prefix. */
void read_ip_prefix(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Return a DSCP from a number or a name, or from a key of JSON; negative: neither. */
int dscp_of_value(const json_t *value);
int dscp_of_key(const char *text);

/* Reads a mark, MARK_ECN or a DSCP, into an int. */
void read_mark(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Like read_quantity(), but also accepts a JSON number. */
void read_count(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/*
 * Like read_choice(), for a 32-bit field that other keys depend on. An invalid value sets
 * CHOICE_REFUSED, so that the other keys do not report errors about its default.
 */
void read_marked_choice(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

#endif
