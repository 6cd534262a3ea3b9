/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/check.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "allocate/allocate.h"
#include "base/name_hash.h"
#include "policy/value.h"

#define BURST_DEFAULT_MIN   15000 /* bytes: ten packets of the usual MTU */
#define BURST_DEFAULT_SHARE 10    /* a tenth of a second of the limit */

static const struct json_path path_gossip = {.key = "gossip"};
static const struct json_path path_roster = {.parent = &path_gossip, .key = "roster"};
static const struct json_path path_ports = {.key = "ports"};
static const struct json_path path_wires = {.key = "wires"};
static const struct json_path path_policies = {.key = "policies"};

static void complete_roster(struct reader *reader)
{
	struct config *config = reader->config;
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
		gossip->listen_len = 0; /* nobody to hear */
	} else if (gossip->listen_len == 0) {
		gossip->listen = self->address;
		gossip->listen_len = self->address_len;
	}
}

static uint64_t default_burst(uint64_t limit_bps)
{
	uint64_t bytes = limit_bps / 8 / BURST_DEFAULT_SHARE;

	if (bytes < BURST_DEFAULT_MIN)
		return BURST_DEFAULT_MIN;
	return bytes < CONFIG_BURST_MAX ? bytes : CONFIG_BURST_MAX;
}

void config_complete(struct reader *reader)
{
	struct config *config = reader->config;

	if (config->control_socket[0] == '\0')
		snprintf(config->control_socket, sizeof(config->control_socket),
			"/run/weir/%s.sock", config->limiter);
	complete_roster(reader);
	complete_self(&config->gossip, config->limiter);
	for (unsigned i = 0; i < config->n_policies; i++) {
		struct policy *policy = &config->policies[i];

		if (policy->burst_bytes == 0)
			policy->burst_bytes = default_burst(policy->limit_bps);
		if (policy->allocator == NULL)
			policy->allocator = allocator_find(
				config->gossip.n_roster > 1 ? "fps" : "central");
	}
}

/*
 * What must differ between the elements of an array. compare() orders elements, 0 when they clash;
 * known() leaves out elements that were refused already.
 */
struct unique {
	const struct json_path *array;
	const char *key;
	const char *what;
	size_t base, count; /* offsets in struct config */
	size_t size;
	bool (*known)(const void *element);
	int (*compare)(const void *a, const void *b);
};

/* For arrays of structs that begin with their name. */
static bool name_known(const void *element)
{
	return *(const char *)element != '\0';
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

static int hash_compare(const void *a, const void *b)
{
	uint32_t left = name_hash(a), right = name_hash(b);

	return left < right ? -1 : left > right;
}

static bool device_known(const void *element)
{
	const struct port_config *port = element;

	return port->name[0] != '\0' && port->device[0] != '\0';
}

/* Without regard to case, for PCI addresses; two vdevs that differ in nothing else are no loss. */
static int device_compare(const void *a, const void *b)
{
	const char *left = ((const struct port_config *)a)->device;
	const char *right = ((const struct port_config *)b)->device;
	size_t n = device_id_length(left), m = device_id_length(right);

	return n != m ? (n < m ? -1 : 1) : strncasecmp(left, right, n);
}

static bool address_known(const void *element)
{
	return ((const struct peer_config *)element)->address_len > 0;
}

static int address_compare(const void *a, const void *b)
{
	return memcmp(&((const struct peer_config *)a)->address,
		&((const struct peer_config *)b)->address, sizeof(struct sockaddr_storage));
}

static bool match_known(const void *element)
{
	return ((const struct policy *)element)->match.wire != WIRE_REFUSED;
}

static int prefix_compare(const struct prefix *a, const struct prefix *b)
{
	if (a->family != b->family)
		return a->family - b->family;
	if (a->length != b->length)
		return a->length - b->length;
	return memcmp(a->addr, b->addr, sizeof(a->addr));
}

static int match_compare(const void *a, const void *b)
{
	const struct match *left = &((const struct policy *)a)->match;
	const struct match *right = &((const struct policy *)b)->match;
	const int orders[] = {
		left->wire - right->wire,
		(int)left->direction - (int)right->direction,
		left->vlan - right->vlan,
		left->dscp - right->dscp,
		prefix_compare(&left->src, &right->src),
		prefix_compare(&left->dst, &right->dst),
	};

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		if (orders[i] != 0)
			return orders[i];
	}
	return 0;
}

#define ARRAY_OF(array, n)                                          \
	offsetof(struct config, array), offsetof(struct config, n), \
		sizeof(*((struct config *)NULL)->array)

static const struct unique uniques[] = {
	{&path_ports, "device", "a device", ARRAY_OF(ports, n_ports), device_known, device_compare},
	{&path_wires, "name", "a name", ARRAY_OF(wires, n_wires), name_known, name_compare},
	{&path_roster, "name", "a name", ARRAY_OF(gossip.roster, gossip.n_roster), name_known,
		name_compare},
	{&path_roster, "name", "a name with a 32-bit FNV-1a hash",
		ARRAY_OF(gossip.roster, gossip.n_roster), name_known, hash_compare},
	{&path_roster, "address", "an address", ARRAY_OF(gossip.roster, gossip.n_roster),
		address_known, address_compare},
	{&path_policies, "name", "a name", ARRAY_OF(policies, n_policies), name_known,
		name_compare},
	{&path_policies, "name", "a name with a 32-bit FNV-1a hash", ARRAY_OF(policies, n_policies),
		name_known, hash_compare},
	{&path_policies, "match", "a match", ARRAY_OF(policies, n_policies), match_known,
		match_compare},
};

static const char *unique_base(const struct unique *unique, const struct config *config)
{
	const char *base;

	memcpy(&base, (const char *)config + unique->base, sizeof(base));
	return base;
}

static unsigned unique_count(const struct unique *unique, const struct config *config)
{
	unsigned n;

	memcpy(&n, (const char *)config + unique->count, sizeof(n));
	return n;
}

/* Ports are the members of an object, everything else is an array. */
static struct json_path element_path(
	const struct unique *unique, const struct config *config, unsigned i)
{
	bool by_key = unique->array == &path_ports;

	return (struct json_path){
		.parent = unique->array,
		.key = by_key ? config->ports[i].name : NULL,
		.index = i,
	};
}

static void report_clash(
	struct reader *reader, const struct unique *unique, unsigned first, unsigned again)
{
	struct json_path other = element_path(unique, reader->config, first);
	struct json_path at = element_path(unique, reader->config, again);
	struct json_path field = {.parent = &at, .key = unique->key};
	char *place = NULL;
	size_t size;
	FILE *stream = open_memstream(&place, &size);

	if (stream == NULL) {
		reader->no_memory = true;
		return;
	}
	json_path_print(&other, stream);
	fclose(stream);
	reader_expected(reader, &field, "%s of its own, %s has the same", unique->what, place);
	free(place);
}

static int compare_elements(const void *a, const void *b, void *context)
{
	const char *left = *(const char *const *)a, *right = *(const char *const *)b;
	int order = ((const struct unique *)context)->compare(left, right);

	return order != 0 ? order : (left < right ? -1 : left > right);
}

static unsigned sort_known(
	const struct unique *unique, const char *base, unsigned n, const char **sorted)
{
	unsigned n_known = 0;

	for (unsigned i = 0; i < n; i++) {
		if (unique->known(base + i * unique->size))
			sorted[n_known++] = base + i * unique->size;
	}
	qsort_r(sorted, n_known, sizeof(*sorted), compare_elements, (void *)unique);
	return n_known;
}

/* Sorted, those that clash are neighbours; first_of[i] becomes the first that i clashes with. */
static void find_clashes(const struct unique *unique, const char *base, const char **sorted,
	unsigned n_known, unsigned *first_of)
{
	const char *first = n_known > 0 ? sorted[0] : NULL;

	for (unsigned i = 1; i < n_known; i++) {
		if (unique->compare(first, sorted[i]) != 0)
			first = sorted[i];
		else if (unique->compare != hash_compare || strcmp(first, sorted[i]) != 0)
			first_of[(size_t)(sorted[i] - base) / unique->size] =
				(unsigned)((size_t)(first - base) / unique->size);
	}
}

static void check_unique(struct reader *reader, const struct unique *unique)
{
	const char *base = unique_base(unique, reader->config);
	unsigned n = unique_count(unique, reader->config);
	const char **sorted = calloc(n + 1, sizeof(*sorted));
	unsigned *first_of = calloc(n + 1, sizeof(*first_of));

	if (sorted == NULL || first_of == NULL) {
		reader->no_memory = true;
	} else {
		for (unsigned i = 0; i < n; i++)
			first_of[i] = i;
		find_clashes(unique, base, sorted, sort_known(unique, base, n, sorted), first_of);
		for (unsigned i = 0; i < n; i++) {
			if (first_of[i] != i)
				report_clash(reader, unique, first_of[i], i);
		}
	}
	free(sorted);
	free(first_of);
}

/* The port at one end of a wire must be at the end of no other. */
static void check_wire_end(
	struct reader *reader, unsigned wire, const char *end, unsigned port, unsigned *wire_of)
{
	struct json_path element = {.parent = &path_wires, .index = wire};
	struct json_path at = {.parent = &element, .key = end};

	if (port == PORT_REFUSED)
		return;
	if (wire_of[port] == UINT_MAX)
		wire_of[port] = wire;
	else if (wire_of[port] == wire)
		reader_expected(reader, &at, "another port than at the other end");
	else
		reader_expected(
			reader, &at, "a port of its own, wires[%u] has the same", wire_of[port]);
}

static void check_wires(struct reader *reader)
{
	const struct config *config = reader->config;
	unsigned wire_of[CONFIG_PORTS_MAX];

	memset(wire_of, 0xff, sizeof(wire_of));
	for (unsigned i = 0; i < config->n_wires; i++) {
		check_wire_end(reader, i, "a", config->wires[i].a, wire_of);
		check_wire_end(reader, i, "b", config->wires[i].b, wire_of);
	}
}

static bool roster_names_known(const struct gossip_config *gossip)
{
	for (unsigned i = 0; i < gossip->n_roster; i++) {
		if (gossip->roster[i].name[0] == '\0')
			return false;
	}
	return true;
}

static void check_self(struct reader *reader)
{
	const struct config *config = reader->config;

	if (config->gossip.roster == NULL || config->gossip.self < config->gossip.n_roster ||
		config->limiter[0] == '\0' || !roster_names_known(&config->gossip))
		return;
	reader_expected(reader, &path_roster, "this limiter, \"%s\", in it", config->limiter);
}

/* One socket sends to all, so all must be of its family. */
static void check_families(struct reader *reader)
{
	const struct gossip_config *gossip = &reader->config->gossip;

	for (unsigned i = 0; i < gossip->n_roster && gossip->listen_len > 0; i++) {
		const struct peer_config *peer = &gossip->roster[i];
		struct json_path element = {.parent = &path_roster, .index = i};
		struct json_path at = {.parent = &element, .key = "address"};

		if (peer->address_len > 0 && peer->address.ss_family != gossip->listen.ss_family)
			reader_expected(reader, &at, "%s, as this limiter listens on",
				gossip->listen.ss_family == AF_INET ? "IPv4" : "IPv6");
	}
}

static void check_key(struct reader *reader)
{
	const struct gossip_config *gossip = &reader->config->gossip;
	struct json_path key_file = {.parent = &path_gossip, .key = "key_file"};
	struct json_path insecure = {.parent = &path_gossip, .key = "insecure"};
	json_t *key = json_path_find(reader->root, &key_file);

	if (gossip->insecure && key != NULL)
		reader_expected(reader, &insecure, "false beside a \"key_file\"");
	else if (gossip->n_roster > 1 && !gossip->insecure && key == NULL)
		reader_expected(reader, &key_file,
			"the path of the key that the %u limiters share, or \"insecure\": true",
			gossip->n_roster);
}

static void check_allocators(struct reader *reader)
{
	const struct config *config = reader->config;

	for (unsigned i = 0; i < config->n_policies; i++) {
		const struct allocator *allocator = config->policies[i].allocator;
		struct json_path element = {.parent = &path_policies, .index = i};
		struct json_path at = {.parent = &element, .key = "allocator"};

		if (allocator == NULL || (allocator->alone && config->gossip.n_roster > 1))
			reader_expected(reader, &at,
				"an allocator that can share the limit between %u limiters",
				config->gossip.n_roster);
	}
}

void config_check(struct reader *reader)
{
	for (size_t i = 0; i < sizeof(uniques) / sizeof(uniques[0]); i++)
		check_unique(reader, &uniques[i]);
	check_wires(reader);
	check_self(reader);
	check_families(reader);
	check_key(reader);
	check_allocators(reader);
}
