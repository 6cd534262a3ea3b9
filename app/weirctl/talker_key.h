/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Keys of talkers: packets of one sender, receiver or flow have the same key. Also how it is
 * written.
 */
#ifndef WEIR_WEIRCTL_TALKER_KEY_H
#define WEIR_WEIRCTL_TALKER_KEY_H

#include <stdbool.h>

#include <jansson.h>

#include "talkers/talkers.h"

/* Fields that a key has. */
struct talker_by {
	bool source, destination, ports;
	unsigned bits4, bits6; /* leading bits of an address that count */
};

/*
 * Parses "source", "destination" or "flow"; "source/24" or "destination/24" for prefixes, twice as
 * long for IPv6. Returns false for other texts.
 */
bool talker_by(const char *text, struct talker_by *by);

/* Returns the head of its column. */
const char *talker_by_head(const char *text);

/* Makes the key of a packet of /weir/talkers_read, whose members are its columns. */
void talker_key_of(const json_t *packet, const struct talker_by *by, struct talker_key *key);

/*
 * Returns an object: "talker", for people, and its parts, as far as they count: "vlan", "source",
 * "destination", "protocol", "source_port", "destination_port", "ethertype".
 */
json_t *talker_key_json(const struct talker_key *key, const struct talker_by *by);

#endif
