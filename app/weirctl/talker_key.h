/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What makes two packets those of one sender, receiver or flow; and how that is written.
 */
#ifndef WEIR_WEIRCTL_TALKER_KEY_H
#define WEIR_WEIRCTL_TALKER_KEY_H

#include <stdbool.h>

#include <jansson.h>

#include "talkers/talkers.h"

/* By what packets are told apart. */
struct talker_by {
	bool source, destination, ports;
	unsigned bits4, bits6; /* of an address that count */
};

/*
 * "source", "destination" or "flow"; "source/24" or "destination/24" for prefixes, of IPv6 twice as
 * long. False: it is none of them.
 */
bool talker_by(const char *text, struct talker_by *by);

/* The head of the column that it is shown in. */
const char *talker_by_head(const char *text);

/* The key of a packet of /weir/talkers_read, whose members are its columns. */
void talker_key_of(const json_t *packet, const struct talker_by *by, struct talker_key *key);

/*
 * An object: "talker", as it is written for people, and what it consists of: "vlan", "source",
 * "destination", "protocol", "source_port", "destination_port", "ethertype", as far as they count.
 */
json_t *talker_key_json(const struct talker_key *key, const struct talker_by *by);

#endif
