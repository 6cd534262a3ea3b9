/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Readers of keys whose values more than one document, or more than one table, has.
 */
#ifndef WEIR_CONFIG_VALUE_KEYS_H
#define WEIR_CONFIG_VALUE_KEYS_H

#include "json/read.h"

#define CHOICE_REFUSED 255 /* policy.count, meter, action, guarantee; gossip.estimator */

/* A name of 1 to 63 characters of A-Z a-z 0-9 _ . - into an array of CONFIG_NAME_MAX. */
void read_name(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* An IPv4 or IPv6 prefix into a struct prefix. */
void read_ip_prefix(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* A DSCP as a number, or by its name; or as JSON has its keys. Negative: neither. */
int dscp_of_value(const json_t *value);
int dscp_of_key(const char *text);

/* A mark: MARK_ECN or a DSCP into an int. */
void read_mark(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/* Like read_quantity(), also of a JSON number. */
void read_count(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

/*
 * Like read_choice(), for a field of 32 bits that other keys depend on: CHOICE_REFUSED when it is
 * refused, so that they do not complain of its default.
 */
void read_marked_choice(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base);

#endif
