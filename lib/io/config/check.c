/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Completes a configuration and checks the keys of the limiter and its group against each other.
 */
#include "config/check.h"
#include "config/config_messages.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/hash.h"
#include "config/keys.h"
#include "policy/kind.h"
#include "policy/value.h"

#define STATE_LIMITERS  64 /* largest group in which each keeps all records by default */
#define STATE_BRANCHING 3
#define TREE_BRANCHING  8

static const struct json_path path_gossip = {.key = "gossip"};
static const struct json_path path_roster = {.parent = &path_gossip, .key = "roster"};
static const struct json_path path_ports = {.key = "ports"};
static const struct json_path path_wires = {.key = "wires"};

static void complete_roster(struct reader *reader, struct config *config)
{
	struct gossip_config *gossip = &config->gossip;

	if (json_object_get(reader->root, "gossip") != NULL)
		return;
	gossip->roster = calloc(1, sizeof(*gossip->roster));
	if (gossip->roster == NULL) {
		reader->no_memory = true;
		return;
	}
	gossip->n_roster = 1;
	memcpy(gossip->roster[0].name, config->limiter, sizeof(config->limiter));
}

static void complete_self(struct gossip_config *gossip, const char *limiter)
{
	const struct peer_config *self;

	while (gossip->self < gossip->n_roster &&
		strcmp(gossip->roster[gossip->self].name, limiter) != 0)
		gossip->self++;
	if (gossip->self == gossip->n_roster)
		return;
	self = &gossip->roster[gossip->self];
	if (gossip->n_roster == 1) {
		gossip->listen_len = 0; /* no peers */
	} else if (gossip->listen_len == 0) {
		gossip->listen = self->address;
		gossip->listen_len = self->address_len;
	}
}

void gossip_complete(const struct reader *reader, struct gossip_config *gossip)
{
	if (!reader_has(reader, &path_gossip, "estimator"))
		gossip->estimator = gossip->n_roster <= STATE_LIMITERS ? ESTIMATOR_STATE
								       : ESTIMATOR_TREE;
	if (!reader_has(reader, &path_gossip, "branching"))
		gossip->branching = gossip->estimator == ESTIMATOR_TREE ? TREE_BRANCHING
									: STATE_BRANCHING;
	if (!reader_has(reader, &path_gossip, "loans"))
		gossip->loans = gossip->n_roster > 1 && gossip->estimator == ESTIMATOR_STATE
					? LOANS_SOFT
					: LOANS_NONE;
}

void config_complete(struct reader *reader, struct config *config)
{
	if (config->control_socket[0] == '\0')
		snprintf(config->control_socket, sizeof(config->control_socket),
			"/run/weir/%s.sock", config->limiter);
	complete_roster(reader, config);
	complete_self(&config->gossip, config->limiter);
	gossip_complete(reader, &config->gossip);
	ledger_complete(&config->ledger, config);
	policies_complete(reader, config->policies, config->n_policies, config->gossip.n_roster);
	zones_complete(reader, config);
	otherwise_complete(reader, config);
	for (unsigned i = 0; i < config->n_policies; i++)
		config->policies[i].drawn = config->ledger.n_etcd > 0 &&
					    policy_is_quota(&config->policies[i]);
}

static bool device_is_valid(const void *element)
{
	const struct port_config *port = element;

	return port->name[0] != '\0' && port->device[0] != '\0';
}

/* Ignores case, for PCI addresses. */
static int device_compare(const void *a, const void *b)
{
	const char *left = ((const struct port_config *)a)->device;
	const char *right = ((const struct port_config *)b)->device;
	size_t n = device_id_length(left), m = device_id_length(right);

	return n != m ? (n < m ? -1 : 1) : strncasecmp(left, right, n);
}

static bool address_is_valid(const void *element)
{
	return ((const struct peer_config *)element)->address_len > 0;
}

static int address_compare(const void *a, const void *b)
{
	return memcmp(&((const struct peer_config *)a)->address,
		&((const struct peer_config *)b)->address, sizeof(struct sockaddr_storage));
}

static const struct unique port_devices = {&path_ports, "device", "device",
	sizeof(struct port_config), true, device_is_valid, device_compare, NULL};

static const struct unique wire_names = {
	&path_wires, "name", "name", sizeof(struct wire), false, name_is_valid, name_compare, NULL};

static uint32_t address_hash(const void *element)
{
	const struct sockaddr_storage *address = &((const struct peer_config *)element)->address;
	const unsigned char *bytes = (const unsigned char *)address;
	uint64_t hash = HASH64_BASIS;

	for (size_t i = 0; i < sizeof(*address); i++)
		hash = hash64_step(hash, bytes[i]);
	return (uint32_t)(hash ^ hash >> 32);
}

static const struct unique peers[] = {
	{&path_roster, "name", "name", sizeof(struct peer_config), false, name_is_valid,
		name_compare, name_first_hash},
	{&path_roster, "name", "32-bit FNV-1a hash of the name", sizeof(struct peer_config), false,
		name_is_valid, hash_compare, name_first_hash},
	{&path_roster, "address", "address", sizeof(struct peer_config), false, address_is_valid,
		address_compare, address_hash},
};

/* Rejects a port that is at two ends of wires. */
static void check_wire_end(
	struct reader *reader, unsigned wire, const char *end, unsigned port, unsigned *wire_of)
{
	struct json_path element = {.parent = &path_wires, .index = wire};
	struct json_path at = {.parent = &element, .key = end};
	struct json_path other = {.parent = &path_wires};
	char *place;

	if (port >= CONFIG_PORTS_MAX) /* reported before */
		return;
	if (wire_of[port] == UINT_MAX) {
		wire_of[port] = wire;
	} else if (wire_of[port] == wire) {
		reader_report(reader, &at, MESSAGE(WIRE_ENDS_SAME));
	} else {
		other.index = wire_of[port];
		place = reader_place(reader, &other);
		reader->no_memory |= place == NULL;
		reader_report(reader, &at, MESSAGE(WIRE_PORT_TAKEN), message_part(place));
		free(place);
	}
}

static void check_wires(struct reader *reader, const struct config *config)
{
	unsigned wire_of[CONFIG_PORTS_MAX];

	memset(wire_of, 0xff, sizeof(wire_of));
	for (unsigned i = 0; i < config->n_wires; i++) {
		check_wire_end(reader, i, "a", config->wires[i].a, wire_of);
		check_wire_end(reader, i, "b", config->wires[i].b, wire_of);
	}
}

static bool roster_has_names(const struct gossip_config *gossip)
{
	for (unsigned i = 0; i < gossip->n_roster; i++) {
		if (gossip->roster[i].name[0] == '\0')
			return false;
	}
	return true;
}

static void check_self(struct reader *reader, const struct config *config)
{
	if (config->gossip.roster == NULL || config->gossip.self < config->gossip.n_roster ||
		config->limiter[0] == '\0' || !roster_has_names(&config->gossip))
		return;
	reader_report(reader, &path_roster, MESSAGE(LIMITER_NOT_IN_ROSTER), config->limiter,
		config->limiter);
}

/* One socket sends to all peers, so all addresses must be of its family. */
static void check_gossip_families(struct reader *reader, const struct gossip_config *gossip)
{
	for (unsigned i = 0; i < gossip->n_roster && gossip->listen_len > 0; i++) {
		const struct peer_config *peer = &gossip->roster[i];
		struct json_path element = {.parent = &path_roster, .index = i};
		struct json_path at = {.parent = &element, .key = "address"};

		if (peer->address_len > 0 && peer->address.ss_family != gossip->listen.ss_family)
			reader_report(reader, &at, MESSAGE(PEER_FAMILY),
				gossip->listen.ss_family == AF_INET ? "IPv4" : "IPv6");
	}
}

/* Limiters that exchange messages have a key, or state that they need none. */
static void check_key(struct reader *reader, const struct gossip_config *gossip)
{
	struct json_path key_file = {.parent = &path_gossip, .key = "key_file"};

	if (gossip->n_roster > 1 && !gossip->insecure &&
		!reader_has(reader, &path_gossip, "key_file") &&
		!reader_has(reader, &path_gossip, "key_files"))
		reader_report(reader, &key_file, MESSAGE(KEY_FILE_MISSING), gossip->n_roster);
}

/* All limiters have identities, or none has: a pair of keys needs both. */
static void check_identities(struct reader *reader, const struct gossip_config *gossip)
{
	static const uint8_t no_key[CONFIG_PUBLIC_KEY];
	struct json_path file = {.parent = &path_gossip, .key = "identity_file"};
	bool own = reader_has(reader, &path_gossip, "identity_file");
	unsigned with = 0, without = gossip->n_roster;

	for (unsigned i = gossip->n_roster; i-- > 0;) {
		if (memcmp(gossip->roster[i].public_key, no_key, sizeof(no_key)) != 0)
			with++;
		else
			without = i;
	}
	if (own && without < gossip->n_roster) {
		struct json_path element = {.parent = &path_roster, .index = without};
		struct json_path at = {.parent = &element, .key = "public_key"};

		reader_report(reader, &at, MESSAGE(PUBLIC_KEY_MISSING));
	} else if (!own && with > 0) {
		reader_report(reader, &file, MESSAGE(IDENTITY_FILE_MISSING));
	}
}

/* Workers that sleep can share a CPU; a worker that polls never yields it. */
static void check_workers(struct reader *reader, const struct config *config)
{
	static const struct json_path workers = {.key = "workers"};

	for (unsigned i = 0; i < config->n_workers && config->idle == IDLE_POLL; i++)
		for (unsigned j = 0; j < i; j++) {
			struct json_path at = {.parent = &workers, .index = i};
			bool listed = json_is_string(json_path_find(reader->root, &workers));

			if (config->workers[j] != config->workers[i])
				continue;
			reader_report(reader, listed ? &workers : &at, MESSAGE(WORKER_TWICE));
			break;
		}
}

void config_check(struct reader *reader, const struct config *config)
{
	const struct gossip_config *gossip = &config->gossip;

	check_unique(reader, &port_devices, config->ports, config->n_ports);
	check_unique(reader, &wire_names, config->wires, config->n_wires);
	for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
		check_unique(reader, &peers[i], gossip->roster, gossip->n_roster);
	check_wires(reader, config);
	fail_check(reader, config);
	start_check(reader, config);
	check_workers(reader, config);
	check_self(reader, config);
	check_gossip_families(reader, gossip);
	keys_check(reader, NULL, config_keys, config);
	check_key(reader, gossip);
	check_identities(reader, gossip);
	policies_check_matches(reader, config->policies, config->n_policies);
	policies_check(reader, config->policies, config->n_policies, gossip->n_roster);
	guarantee_check_gossip(reader, gossip, config->policies, config->n_policies);
	ledger_check(reader, config);
}
