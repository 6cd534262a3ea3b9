/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of the box and of its group (those of a policy: policy_keys.c), one table an object, and
 * the readers of values that only Weir has.
 * doc/operate/configuration.md and config/weir.schema.json say the same for people and for editors.
 */
#include "config/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "config/check.h"
#include "config/value_keys.h"
#include "policy/units.h"
#include "policy/value.h"

#define CPU_MAX       1023 /* CPU_SETSIZE of glibc less one */
#define EXPECTED_HOST "an address and port such as \"10.0.0.1:7946\" or \"[2001:db8::1]:7946\""

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
		.detail = &(const struct integer_range){64, 16000}},
	{"buffers", read_count, KEY_FIELD(struct port_config, buffers),
		.expected = "a number such as 20000 or \"2M\"",
		.detail = &(const struct quantity_range){units_parse_count, 4096, 100000000,
			"4096 to 100M", "packet buffers"}},
	{0},
};

static void read_port_configs(struct reader *reader, const struct json_path *path, json_t *value,
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

static void read_port_name(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value), *name;
	unsigned port = 0;
	json_t *member;

	json_object_foreach (json_object_get(reader->root, "ports"), name, member) {
		if (text != NULL && strcmp(text, name) == 0) {
			key_store(key, base, port);
			return;
		}
		port++;
	}
	reader_expected(reader, path, "the name of a port in \"ports\"");
}

static const struct key wire_keys[] = {
	{"name", read_name, KEY_FIELD(struct wire, name), .required = true},
	{"a", read_port_name, KEY_FIELD(struct wire, a), .required = true},
	{"b", read_port_name, KEY_FIELD(struct wire, b), .required = true},
	{"distribute", read_bool, KEY_FIELD(struct wire, distribute)},
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
		.detail = &(const struct integer_range){0, CPU_MAX}},
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

static const struct choice estimators[] = {
	{"state", ESTIMATOR_STATE},
	{"tree", ESTIMATOR_TREE},
	{"push-sum", ESTIMATOR_PUSH_SUM},
	{0},
};

const struct key gossip_keys[] = {
	{"listen", read_address, KEY_FIELD(struct gossip_config, listen),
		.detail = &(const size_t){offsetof(struct gossip_config, listen_len)}},
	{"roster", read_list, KEY_FIELD(struct gossip_config, roster),
		.expected = "an array of the limiters of the group, this one included",
		.detail = &roster_list, .required = true},
	{"key_file", read_text, KEY_FIELD(struct gossip_config, key_file), .expected = "a path"},
	{"insecure", read_bool, KEY_FIELD(struct gossip_config, insecure)},
	/* From here on what a simulated group has too: see gossip_tuning_keys. */
	{"branching", read_integer, KEY_FIELD(struct gossip_config, branching),
		.detail = &(const struct integer_range){1, 64}},
	{"timeout", read_quantity, KEY_FIELD(struct gossip_config, timeout_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 100000000, 3600000000000,
			"100ms to 3600s", "ns"}},
	{"datagram", read_quantity, KEY_FIELD(struct gossip_config, datagram_max),
		.expected = EXPECTED_SIZE,
		.detail = &(const struct quantity_range){units_parse_size, 256, 8972,
			"256B to 8972B", "B"}},
	{"estimator", read_marked_choice, KEY_FIELD(struct gossip_config, estimator),
		.detail = estimators},
	{"compensate", read_bool, KEY_FIELD(struct gossip_config, compensate)},
	{0},
};

/* The rows before it: listen, roster, key_file, insecure. */
const struct key *const gossip_tuning_keys = &gossip_keys[4];

void gossip_config_init(struct gossip_config *gossip)
{
	*gossip = (struct gossip_config){
		.branching = 3,
		.timeout_ns = SECOND_NS,
		.datagram_max = 1200,
	};
}

static const struct choice tunnels_classify[] = {
	{"outer", TUNNELS_OUTER},
	{"inner", TUNNELS_INNER},
	{0},
};

static const struct key tunnels_keys[] = {
	{"classify", read_marked_choice, KEY_FIELD(struct tunnels, classify),
		.detail = tunnels_classify},
	{"vxlan-port", read_integer, KEY_FIELD(struct tunnels, vxlan_port),
		.detail = &(const struct integer_range){1, UINT16_MAX}},
	{0},
};

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

const struct key config_keys[] = {
	{"limiter", read_name, KEY_FIELD(struct config, limiter), .required = true},
	{"eal", read_eal, KEY_FIELD(struct config, eal),
		.expected = "an array of at most " QUOTE(CONFIG_EAL_ARGS) " strings"},
	{"ports", read_port_configs, KEY_FIELD(struct config, ports), .detail = &port_list,
		.expected = "an object of ports by name"},
	{"wires", read_list, KEY_FIELD(struct config, wires), .detail = &wire_list,
		.expected = "an array of wires"},
	{"workers", read_workers, KEY_FIELD(struct config, workers),
		.expected = "an array of 1 to " QUOTE(CONFIG_WORKERS_MAX) " CPU numbers"},
	{"idle", read_choice, KEY_FIELD(struct config, idle), .detail = idles},
	{"shape", read_object, .detail = box_shape_keys},
	{"control", read_object, .detail = control_keys},
	{"gossip", read_object, KEY_FIELD(struct config, gossip), .detail = gossip_keys},
	{"ledger", read_object, KEY_FIELD(struct config, ledger), .detail = ledger_keys},
	{"tunnels", read_object, KEY_FIELD(struct config, tunnels), .detail = tunnels_keys},
	{"policies", read_list, KEY_FIELD(struct config, policies), .detail = &policy_list,
		.expected = "an array of policies"},
	{0},
};
