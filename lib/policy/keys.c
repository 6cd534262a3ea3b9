/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Every key there is, one table an object, and the readers of values that only Weir has.
 * doc/configuration.md and config/weir.schema.json say the same for people and for editors.
 */
#include "policy/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "allocate/allocate.h"
#include "policy/check.h"
#include "policy/units.h"
#include "policy/value.h"

#define CPU_MAX         1023 /* CPU_SETSIZE of glibc less one */
#define EXPECTED_NAME   "a name of 1 to 63 characters A-Z a-z 0-9 _ . -"
#define EXPECTED_PREFIX "a prefix such as \"192.0.2.0/24\" or \"2001:db8::/32\""
#define EXPECTED_SIZE   "bytes such as \"75kB\" or \"64KiB\""
#define EXPECTED_TIME   "a time such as \"50ms\""
#define EXPECTED_HOST   "an address and port such as \"10.0.0.1:7946\" or \"[2001:db8::1]:7946\""

static void read_name(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);

	if (text == NULL || !name_valid(text))
		reader_expected(reader, path, EXPECTED_NAME);
	else
		memcpy(key_field(key, base), text, strlen(text) + 1);
}

static void read_eal(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct config *config = base;
	size_t i;
	json_t *element;

	if (!json_is_array(value) || json_array_size(value) > CONFIG_EAL_ARGS) {
		reader_expected(reader, path, "%s", key->expected);
		return;
	}
	json_array_foreach (value, i, element) {
		struct json_path at = {.parent = path, .index = i};
		const char *text = json_string_value(element);

		if (text == NULL || *text == '\0' || !text_printable(text)) {
			reader_expected(reader, &at, "a printable string, not empty");
			continue;
		}
		config->eal[config->n_eal] = strdup(text);
		reader->no_memory |= config->eal[config->n_eal++] == NULL;
	}
}

static void read_worker(
	struct reader *reader, const struct json_path *path, json_t *value, struct config *config)
{
	json_int_t cpu = json_integer_value(value);

	if (!json_is_integer(value) || cpu < 0 || cpu > CPU_MAX) {
		reader_expected(reader, path, "a CPU number from 0 to %d", CPU_MAX);
		return;
	}
	for (unsigned i = 0; i < config->n_workers; i++) {
		if (config->workers[i] == (unsigned)cpu) {
			reader_expected(reader, path, "each CPU once");
			return;
		}
	}
	config->workers[config->n_workers++] = (unsigned)cpu;
}

static void read_workers(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct config *config = base;
	size_t i, n = json_array_size(value);
	json_t *element;

	if (n == 0 || n > CONFIG_WORKERS_MAX) {
		reader_expected(reader, path, "%s", key->expected);
		return;
	}
	config->n_workers = 0; /* the default goes */
	json_array_foreach (value, i, element) {
		struct json_path at = {.parent = path, .index = i};

		read_worker(reader, &at, element, config);
	}
}

static void read_device(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);

	if (text == NULL || !device_valid(text))
		reader_expected(reader, path, "%s", key->expected);
	else
		memcpy(key_field(key, base), text, strlen(text) + 1);
}

static const struct key port_keys[] = {
	{"device", read_device, KEY_FIELD(struct port_config, device),
		.expected = "a PCI address such as \"0000:03:00.0\" or a virtual device such as "
			    "\"net_af_packet0,iface=eth1\"",
		.required = true},
	{"mtu", read_integer, KEY_FIELD(struct port_config, mtu),
		.detail = &(const struct range){64, 16000}},
	{0},
};

static void read_ports(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct port_config *port;
	const char *name;
	json_t *member;

	if (!json_is_object(value)) {
		reader_expected(reader, path, "%s", key->expected);
		return;
	}
	port = list_allocate(reader, path, key, base, json_object_size(value));
	if (port == NULL)
		return;
	json_object_foreach (value, name, member) {
		struct json_path at = {.parent = path, .key = name};

		if (name_valid(name))
			memcpy(port->name, name, strlen(name) + 1);
		else
			reader_error(reader, &at, "the key: expected " EXPECTED_NAME);
		read_keys(reader, &at, member, port_keys, port);
		port++;
	}
}

static void port_init(void *element)
{
	((struct port_config *)element)->mtu = 1500;
}

/* The index of a name in an array of structs that begin with one, or n. */
static unsigned find_name(const void *array, size_t size, unsigned n, const char *name)
{
	unsigned i = 0;

	while (i < n && strcmp((const char *)array + i * size, name) != 0)
		i++;
	return i;
}

static void read_port_name(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct config *config = reader->config;
	const char *text = json_string_value(value);
	unsigned port = config->n_ports;

	if (text != NULL && *text != '\0')
		port = find_name(config->ports, sizeof(*config->ports), config->n_ports, text);
	if (port == config->n_ports)
		reader_expected(reader, path, "the name of a port in \"ports\"");
	else
		key_store(key, base, port);
}

static const struct key wire_keys[] = {
	{"name", read_name, KEY_FIELD(struct wire, name), .required = true},
	{"a", read_port_name, KEY_FIELD(struct wire, a), .required = true},
	{"b", read_port_name, KEY_FIELD(struct wire, b), .required = true},
	{0},
};

static void wire_init(void *element)
{
	*(struct wire *)element = (struct wire){.a = PORT_REFUSED, .b = PORT_REFUSED};
}

static const struct choice idles[] = {
	{"poll", IDLE_POLL},
	{"sleep", IDLE_SLEEP},
	{0},
};

static const struct key control_keys[] = {
	{"socket", read_text, KEY_FIELD(struct config, control_socket), .expected = "a path"},
	{"cpu", read_integer, KEY_FIELD(struct config, control_cpu),
		.detail = &(const struct range){0, CPU_MAX}},
	{0},
};

/* detail: the offset, in the same struct, of the length. */
static void read_address(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const size_t *len_offset = key->detail;
	struct sockaddr_storage address;
	socklen_t len;

	if (!json_is_string(value) || address_parse(json_string_value(value), &address, &len) < 0) {
		reader_expected(reader, path, EXPECTED_HOST);
	} else if (!address_is_one_host(&address)) {
		reader_expected(reader, path, "the address of one host");
	} else {
		memcpy(key_field(key, base), &address, sizeof(address));
		memcpy((char *)base + *len_offset, &len, sizeof(len));
	}
}

static void read_peer_address(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct peer_config *peer = base;

	read_address(reader, path, value, key, base);
	if (peer->address_len > 0 && address_is_any(&peer->address)) {
		reader_expected(reader, path, "an address that the other limiters can send to");
		peer->address_len = 0;
	}
}

static const struct key peer_keys[] = {
	{"name", read_name, KEY_FIELD(struct peer_config, name), .required = true},
	{"address", read_peer_address, KEY_FIELD(struct peer_config, address),
		.detail = &(const size_t){offsetof(struct peer_config, address_len)},
		.required = true},
	{0},
};

static const struct list roster_list = {
	.keys = peer_keys,
	.size = sizeof(struct peer_config),
	.count_offset = offsetof(struct gossip_config, n_roster),
	.max = CONFIG_ROSTER_MAX,
};

static const struct key gossip_keys[] = {
	{"listen", read_address, KEY_FIELD(struct gossip_config, listen),
		.detail = &(const size_t){offsetof(struct gossip_config, listen_len)}},
	{"roster", read_list, KEY_FIELD(struct gossip_config, roster),
		.expected = "an array of the limiters of the group, this one included",
		.detail = &roster_list, .required = true},
	{"key_file", read_text, KEY_FIELD(struct gossip_config, key_file), .expected = "a path"},
	{"insecure", read_bool, KEY_FIELD(struct gossip_config, insecure)},
	{"branching", read_integer, KEY_FIELD(struct gossip_config, branching),
		.detail = &(const struct range){1, 64}},
	{"timeout", read_quantity, KEY_FIELD(struct gossip_config, timeout_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 100000000, 3600000000000,
			"100ms to 3600s", "ns"}},
	{"datagram", read_quantity, KEY_FIELD(struct gossip_config, datagram_max),
		.expected = EXPECTED_SIZE,
		.detail = &(const struct quantity_range){units_parse_size, 256, 8972,
			"256B to 8972B", "B"}},
	{0},
};

static void read_wire_name(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct config *config = reader->config;
	const char *text = json_string_value(value);
	unsigned wire = config->n_wires;

	if (text != NULL && *text != '\0')
		wire = find_name(config->wires, sizeof(*config->wires), config->n_wires, text);
	if (wire == config->n_wires)
		reader_expected(reader, path, "the name of a wire in \"wires\"");
	else
		key_store(key, base, wire);
}

static const struct choice directions[] = {
	{"a-to-b", DIRECTION_A_TO_B},
	{"b-to-a", DIRECTION_B_TO_A},
	{0},
};

static void read_prefix(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct prefix prefix = {0};
	int rc = json_is_string(value) ? prefix_parse(json_string_value(value), &prefix) : -EINVAL;
	char text[PREFIX_TEXT_MAX];

	if (rc == -EDOM)
		reader_expected(reader, path, "no host bits, as in \"%s\"",
			prefix_format(&prefix, text, sizeof(text)));
	else if (rc < 0)
		reader_expected(reader, path, EXPECTED_PREFIX);
	else
		memcpy(key_field(key, base), &prefix, sizeof(prefix));
}

static const struct key match_keys[] = {
	{"wire", read_wire_name, KEY_FIELD(struct match, wire)},
	{"direction", read_choice, KEY_FIELD(struct match, direction), .detail = directions},
	{"src", read_prefix, KEY_FIELD(struct match, src)},
	{"dst", read_prefix, KEY_FIELD(struct match, dst)},
	{"vlan", read_integer, KEY_FIELD(struct match, vlan),
		.detail = &(const struct range){0, 4094}},
	{"dscp", read_integer, KEY_FIELD(struct match, dscp),
		.detail = &(const struct range){0, 63}},
	{0},
};

/* Is called without a match too, so that what no policy was read into stays WIRE_REFUSED. */
static void read_match(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct match *match = key_field(key, base);
	unsigned errors = reader->errors;

	match->wire = CONFIG_ANY;
	if (value == NULL)
		return;
	read_keys(reader, path, value, match_keys, match);
	if (match->src.family != 0 && match->dst.family != 0 &&
		match->src.family != match->dst.family) {
		struct json_path dst = {.parent = path, .key = "dst"};

		reader_expected(reader, &dst, "IPv%u as in src", match->src.family);
	}
	if (reader->errors != errors)
		match->wire = WIRE_REFUSED;
}

static void read_allocator(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	const struct allocator *allocator = text != NULL ? allocator_find(text) : NULL;

	if (allocator == NULL)
		reader_expected(reader, path, "one of %s", allocator_names());
	else
		memcpy(key_field(key, base), &allocator, sizeof(allocator));
}

/* A share that is still kept: 1 would never learn anything. */
static void read_share(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	double share = json_number_value(value);

	if (!json_is_number(value) || share < 0 || share >= 1)
		reader_expected(reader, path, "a number from 0 to less than 1");
	else
		memcpy(key_field(key, base), &share, sizeof(share));
}

static const struct choice meters[] = {
	{"token-bucket", METER_TOKEN_BUCKET},
	{0},
};

static const struct choice actions[] = {
	{"drop", ACTION_DROP},
	{0},
};

static const struct choice accountings[] = {
	{"l3", ACCOUNTING_L3},
	{"l2", ACCOUNTING_L2},
	{"wire", ACCOUNTING_WIRE},
	{0},
};

static const struct key policy_keys[] = {
	{"name", read_name, KEY_FIELD(struct policy, name), .required = true},
	{"match", read_match, KEY_FIELD(struct policy, match), .required = true},
	{"limit", read_quantity, KEY_FIELD(struct policy, limit_bps),
		.expected = "bit/s such as \"10Mbit/s\"",
		.detail = &(const struct quantity_range){units_parse_rate, 8000, 400000000000,
			"8kbit/s to 400Gbit/s", "bit/s"},
		.required = true},
	{"burst", read_quantity, KEY_FIELD(struct policy, burst_bytes), .expected = EXPECTED_SIZE,
		.detail = &(const struct quantity_range){units_parse_size, 1, CONFIG_BURST_MAX,
			"1B to 4GiB", "B"}},
	{"allocator", read_allocator, KEY_FIELD(struct policy, allocator)},
	{"meter", read_choice, KEY_FIELD(struct policy, meter), .detail = meters},
	{"action", read_choice, KEY_FIELD(struct policy, action), .detail = actions},
	{"accounting", read_choice, KEY_FIELD(struct policy, accounting), .detail = accountings},
	{"interval", read_quantity, KEY_FIELD(struct policy, interval_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 10000000, 1000000000,
			"10ms to 1s", "ns"}},
	{"ewma", read_share, KEY_FIELD(struct policy, keep_per_second)},
	{0},
};

static void policy_init(void *element)
{
	*(struct policy *)element = (struct policy){
		.match = {.wire = WIRE_REFUSED, .vlan = CONFIG_ANY, .dscp = CONFIG_ANY},
		.accounting = ACCOUNTING_L3,
		.interval_ns = 50 * 1000 * 1000,
		.keep_per_second = 0.1,
	};
}

static const struct list port_list = {
	.keys = port_keys,
	.size = sizeof(struct port_config),
	.count_offset = offsetof(struct config, n_ports),
	.max = CONFIG_PORTS_MAX,
	.init = port_init,
};

static const struct list wire_list = {
	.keys = wire_keys,
	.size = sizeof(struct wire),
	.count_offset = offsetof(struct config, n_wires),
	.max = CONFIG_WIRES_MAX,
	.init = wire_init,
};

static const struct list policy_list = {
	.keys = policy_keys,
	.size = sizeof(struct policy),
	.count_offset = offsetof(struct config, n_policies),
	.max = CONFIG_POLICIES_MAX,
	.init = policy_init,
};

#define QUOTE_(x) #x
#define QUOTE(x)  QUOTE_(x)

/* In this order: wires name ports, policies name wires. */
const struct key config_keys[] = {
	{"limiter", read_name, KEY_FIELD(struct config, limiter), .required = true},
	{"eal", read_eal, KEY_FIELD(struct config, eal),
		.expected = "an array of at most " QUOTE(CONFIG_EAL_ARGS) " strings"},
	{"ports", read_ports, KEY_FIELD(struct config, ports), .detail = &port_list,
		.expected = "an object of ports by name"},
	{"wires", read_list, KEY_FIELD(struct config, wires), .detail = &wire_list,
		.expected = "an array of wires"},
	{"workers", read_workers, KEY_FIELD(struct config, workers),
		.expected = "an array of 1 to " QUOTE(CONFIG_WORKERS_MAX) " CPU numbers"},
	{"idle", read_choice, KEY_FIELD(struct config, idle), .detail = idles},
	{"control", read_object, .detail = control_keys},
	{"gossip", read_object, KEY_FIELD(struct config, gossip), .detail = gossip_keys},
	{"policies", read_list, KEY_FIELD(struct config, policies), .detail = &policy_list,
		.expected = "an array of policies"},
	{0},
};
