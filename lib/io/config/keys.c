/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of the box and of its group (those of a policy: policy_keys.c), one table an object, and
 * the readers of values that only Weir has.
 * doc/operate/configuration.md and config/weir.schema.json say the same for people and for editors.
 */
#include "config/keys.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "config/check.h"
#include "config/value_keys.h"
#include "json/suggest.h"
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

static bool same_eal(const struct key *key, const void *a, const void *b)
{
	const struct config *old = a, *config = b;
	bool same = old->n_eal == config->n_eal;

	(void)key;
	for (unsigned i = 0; same && i < old->n_eal; i++)
		same = strcmp(old->eal[i], config->eal[i]) == 0;
	return same;
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

/* "2-5,8", as the kernel has it, from 1 to CONFIG_WORKERS_MAX of them. */
static void read_cpu_list(
	struct reader *reader, const struct json_path *path, json_t *value, struct config *config)
{
	int n = cpu_list_parse(
		json_string_value(value), CPU_MAX, config->workers, CONFIG_WORKERS_MAX);

	if (n > 0)
		config->n_workers = (unsigned)n;
	else
		reader_expected(reader, path, "1 to %d CPU numbers from 0 to %d, such as \"2-5,8\"",
			CONFIG_WORKERS_MAX, CPU_MAX);
}

static void read_workers(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct config *config = base;
	size_t i, n = json_array_size(value);
	json_t *element;

	if (json_is_string(value)) {
		read_cpu_list(reader, path, value, config);
		return;
	}
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

static bool same_workers(const struct key *key, const void *a, const void *b)
{
	const struct config *old = a, *config = b;

	(void)key;
	return old->n_workers == config->n_workers &&
	       memcmp(old->workers, config->workers, old->n_workers * sizeof(*old->workers)) == 0;
}

/* The address without its domain, as lspci has it; or the name of a kernel's interface. */
static const char *device_remedy(const char *text, char remedy[SUGGEST_REMEDY_MAX])
{
	static const char interface[] = "abcdefghijklmnopqrstuvwxyz0123456789_.";
	char meant[64];

	snprintf(meant, sizeof(meant), "0000:%.40s", text);
	if (device_valid(meant))
		return suggest_remedy(meant, remedy);
	if (strlen(text) < 2 || strlen(text) > 15 || strspn(text, interface) != strlen(text) ||
		strncmp(text, "net_", strlen("net_")) == 0)
		return NULL;
	snprintf(meant, sizeof(meant), "net_af_packet0,iface=%.16s", text);
	return suggest_remedy(meant, remedy);
}

static void read_device(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	char remedy[SUGGEST_REMEDY_MAX];

	if (text == NULL || !device_valid(text))
		reader_advise(reader, path, text != NULL ? device_remedy(text, remedy) : NULL, "%s",
			key->expected);
	else
		memcpy(key_field(key, base), text, strlen(text) + 1);
}

static const struct choice offloads_modes[] = {
	{"fix", OFFLOADS_FIX},
	{"refuse", OFFLOADS_REFUSE},
	{"ignore", OFFLOADS_IGNORE},
	{0},
};

static const struct key port_keys[] = {
	{"device", read_device, .change = KEY_FIXED, KEY_FIELD(struct port_config, device),
		.expected = "a PCI address such as \"0000:03:00.0\", a virtual device such as "
			    "\"net_af_packet0,iface=eth1\" or an interface such as \"xdp:eth1\"",
		.required = true},
	{"mtu", read_integer, .change = KEY_FIXED, KEY_FIELD(struct port_config, mtu),
		.detail = &(const struct integer_range){64, 16000}},
	{"buffers", read_count, .change = KEY_FIXED, KEY_FIELD(struct port_config, buffers),
		.expected = "a number such as 20000 or \"2M\"",
		.detail = &(const struct quantity_range){units_parse_count, 4096, 100000000,
			"4096 to 100M", "packet buffers"}},
	{"buffer_size", read_integer, .change = KEY_FIXED,
		KEY_FIELD(struct port_config, buffer_size),
		.detail = &(const struct integer_range){2048, 16384}},
	{"queues", read_integer, .change = KEY_FIXED, KEY_FIELD(struct port_config, queues),
		.detail = &(const struct integer_range){1, CONFIG_WORKERS_MAX}},
	{"offloads", read_choice, .change = KEY_FIXED, KEY_FIELD(struct port_config, offloads),
		.detail = offloads_modes},
	{"generic", read_bool, .change = KEY_FIXED, KEY_FIELD(struct port_config, generic)},
	{0},
};

/* A port may be called "note" all the same: then it is an object. */
static bool is_port(const char *name, const json_t *member)
{
	return !key_is_remark(name) || json_is_object(member);
}

static size_t count_ports(json_t *ports)
{
	const char *name;
	json_t *member;
	size_t n = 0;

	json_object_foreach (ports, name, member)
		n += is_port(name, member);
	return n;
}

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
	port = list_allocate(reader, path, key, base, count_ports(value));
	if (port == NULL)
		return;
	json_object_foreach (value, name, member) {
		struct json_path at = {.parent = path, .key = name};

		if (!is_port(name, member)) {
			read_remark(reader, &at, member);
			continue;
		}
		if (name_valid(name))
			memcpy(port->name, name, strlen(name) + 1);
		else
			reader_refuse(reader, &at, "the key", EXPECTED_NAME, NULL);
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
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion meant = {0};
	unsigned port = 0;
	json_t *member;

	json_object_foreach (json_object_get(reader->root, "ports"), name, member) {
		if (!is_port(name, member))
			continue;
		if (text != NULL && strcmp(text, name) == 0) {
			key_store(key, base, port);
			return;
		}
		if (text != NULL)
			suggest_offer(&meant, text, name);
		port++;
	}
	reader_advise(reader, path, suggest_remedy(meant.word, remedy),
		"the name of a port in \"ports\"");
}

static const struct choice link_modes[] = {
	{"keep", LINK_KEEP},
	{"follow", LINK_FOLLOW},
	{0},
};

static const struct choice fail_modes[] = {
	{"closed", FAIL_CLOSED},
	{"wire", FAIL_WIRE},
	{"last-limits", FAIL_LAST_LIMITS},
	{0},
};

static const struct key wire_keys[] = {
	{"name", read_name, .change = KEY_FIXED, KEY_FIELD(struct wire, name), .required = true},
	{"a", read_port_name, .change = KEY_FIXED, KEY_FIELD(struct wire, a), .required = true},
	{"b", read_port_name, .change = KEY_FIXED, KEY_FIELD(struct wire, b), .required = true},
	{"distribute", read_bool, .change = KEY_FIXED, KEY_FIELD(struct wire, distribute)},
	{"link", read_choice, .change = KEY_FIXED, KEY_FIELD(struct wire, link),
		.detail = link_modes},
	{"default", read_otherwise, .change = KEY_LIVE, KEY_FIELD(struct wire, otherwise)},
	{"fail", read_choice, .change = KEY_FIXED, KEY_FIELD(struct wire, fail),
		.detail = fail_modes},
	{"fail_after", read_quantity, .change = KEY_FIXED, KEY_FIELD(struct wire, fail_after_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 20 * MS_NS,
			10 * SECOND_NS, "20ms to 10s", "ns"}},
	{0},
};

/* Five beats of a worker that is scheduled as others are, and more. */
#define FAIL_AFTER_NS (100 * MS_NS)

static void wire_init(void *element)
{
	*(struct wire *)element = (struct wire){
		.a = PORT_REFUSED, .b = PORT_REFUSED, .fail_after_ns = FAIL_AFTER_NS};
}

static const struct choice idles[] = {
	{"poll", IDLE_POLL},
	{"sleep", IDLE_SLEEP},
	{0},
};

static const struct choice on_refusals[] = {
	{"last-good", REFUSED_LAST_GOOD},
	{"stop", REFUSED_STOP},
	{0},
};

static const struct key control_keys[] = {
	{"socket", read_text, .change = KEY_FIXED, KEY_FIELD(struct config, control_socket),
		.expected = "a path"},
	{"group", read_text, .change = KEY_LIVE, KEY_FIELD(struct config, control_group),
		.expected = "the name of a group"},
	{"operators", read_text, .change = KEY_LIVE, KEY_FIELD(struct config, control_operators),
		.expected = "the name of a group"},
	{"cpu", read_integer, .change = KEY_FIXED, KEY_FIELD(struct config, control_cpu),
		.detail = &(const struct integer_range){0, CPU_MAX}},
	{"watchdog", read_quantity, .change = KEY_FIXED, KEY_FIELD(struct config, watchdog_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 500000000, 3600000000000,
			"500ms to 3600s", "ns"}},
	{0},
};

static const struct choice log_levels[] = {
	{"error", LEVEL_ERROR},
	{"warning", LEVEL_WARNING},
	{"info", LEVEL_INFO},
	{"debug", LEVEL_DEBUG},
	{0},
};

static const struct choice log_formats[] = {
	{"text", FORMAT_TEXT},
	{"json", FORMAT_JSON},
	{0},
};

static const struct key log_keys[] = {
	{"level", read_choice, .change = KEY_LIVE, KEY_FIELD(struct log_config, level),
		.detail = log_levels},
	{"format", read_choice, .change = KEY_LIVE, KEY_FIELD(struct log_config, format),
		.detail = log_formats},
	{0},
};

/* What is wrong with an address that is a name, or an IPv6 one whose port could be part of it. */
static const char *address_remedy(const char *text)
{
	if (text == NULL)
		return NULL;
	if (text[0] != '[' && strchr(text, ':') != strrchr(text, ':'))
		return "an IPv6 address is written in brackets before its port";
	if (isalpha((unsigned char)text[0]))
		return "names are not looked up: write the address";
	return isdigit((unsigned char)text[0]) && strchr(text, ':') == NULL
		       ? "write a colon and the port behind it"
		       : NULL;
}

/* detail: the offset, in the same struct, of the length. */
static void read_address(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const size_t *len_offset = key->detail;
	struct sockaddr_storage address;
	socklen_t len;

	if (!json_is_string(value) || address_parse(json_string_value(value), &address, &len) < 0) {
		reader_advise(
			reader, path, address_remedy(json_string_value(value)), EXPECTED_HOST);
	} else if (!address_is_one_host(&address)) {
		reader_expected(reader, path, "the address of one host");
	} else {
		memcpy(key_field(key, base), &address, sizeof(address));
		memcpy((char *)base + *len_offset, &len, sizeof(len));
	}
}

static bool same_address(const struct key *key, const void *a, const void *b)
{
	const size_t *len_offset = key->detail;
	socklen_t len, other_len;

	memcpy(&len, (const char *)a + *len_offset, sizeof(len));
	memcpy(&other_len, (const char *)b + *len_offset, sizeof(other_len));
	return len == other_len && memcmp(key_field(key, a), key_field(key, b), len) == 0;
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

static int hex_digit(char c)
{
	static const char digits[] = "0123456789abcdef";
	const char *at = c ? strchr(digits, c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c) : NULL;

	return at ? (int)(at - digits) : -1;
}

static void read_public_key(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	uint8_t *out = key_field(key, base);
	bool good = text && strlen(text) == 2 * CONFIG_PUBLIC_KEY;

	for (size_t i = 0; good && i < CONFIG_PUBLIC_KEY; i++) {
		int high = hex_digit(text[2 * i]), low = hex_digit(text[2 * i + 1]);

		good = high >= 0 && low >= 0;
		if (good)
			out[i] = (uint8_t)(high << 4 | low);
	}
	if (!good || memcmp(out, &(const uint8_t[CONFIG_PUBLIC_KEY]){0}, CONFIG_PUBLIC_KEY) == 0)
		reader_expected(
			reader, path, "64 hexadecimal digits, as written by weir --new-identity");
}

static void read_key_files(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct gossip_config *gossip = base;
	size_t i, n = json_array_size(value);
	json_t *element;

	if (n == 0 || n > CONFIG_KEY_FILES) {
		reader_expected(reader, path, "%s", key->expected);
		return;
	}
	json_array_foreach (value, i, element) {
		struct key file = {.read = read_text,
			.offset = offsetof(struct gossip_config, key_files[0]) +
				  i * sizeof(gossip->key_files[0]),
			.size = sizeof(gossip->key_files[0]),
			.expected = "a path"};
		struct json_path at = {.parent = path, .index = i};

		read_text(reader, &at, element, &file, base);
	}
	gossip->n_key_files = (unsigned)n;
}

static void read_key_file(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct gossip_config *gossip = base;

	read_text(reader, path, value, key, base);
	if (gossip->n_key_files == 0)
		gossip->n_key_files = 1;
}

/* A reload can read other keys, but it cannot seal plain gossip or the reverse. */
static bool same_sealing(const struct key *key, const void *a, const void *b)
{
	const struct gossip_config *old = a, *gossip = b;

	(void)key;
	return old->insecure != gossip->insecure ||
	       (old->n_key_files == 0) == (gossip->n_key_files == 0);
}

static const struct key peer_keys[] = {
	{"name", read_name, .change = KEY_FIXED, KEY_FIELD(struct peer_config, name),
		.required = true},
	{"address", read_peer_address, .change = KEY_FIXED, .same = same_address,
		KEY_FIELD(struct peer_config, address),
		.detail = &(const size_t){offsetof(struct peer_config, address_len)},
		.required = true},
	{"public_key", read_public_key, .change = KEY_LIVE,
		KEY_FIELD(struct peer_config, public_key)},
	{0},
};

static const struct list roster_list = {
	.keys = peer_keys,
	.size = sizeof(struct peer_config),
	.count_offset = offsetof(struct gossip_config, n_roster),
	.max = CONFIG_ROSTER_MAX,
};

#define ESTIMATOR_CHOICE(name, value) {name, value},
static const struct choice estimators[] = {ESTIMATORS_OF_LIMITERS(ESTIMATOR_CHOICE){0}};
static const struct choice paper_estimators[] = {ESTIMATORS_OF_PAPERS(ESTIMATOR_CHOICE){0}};
const struct choice simulated_estimators[] = {
	ESTIMATORS_OF_LIMITERS(ESTIMATOR_CHOICE) ESTIMATORS_OF_PAPERS(ESTIMATOR_CHOICE){0}};
#undef ESTIMATOR_CHOICE

static void read_estimator(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);

	for (const struct choice *paper = paper_estimators; text && paper->name; paper++)
		if (strcmp(text, paper->name) == 0) {
			key_store(key, base, CHOICE_REFUSED);
			reader_advise(reader, path,
				"only weirsim has it, for comparison: remove \"estimator\" for the "
				"default",
				"\"state\" or \"tree\"");
			return;
		}
	read_marked_choice(reader, path, value, key, base);
}

static const struct choice identity_choices[] = {
	{"required", IDENTITIES_REQUIRED},
	{"optional", IDENTITIES_OPTIONAL},
	{0},
};

static const struct choice loan_choices[] = {
	{"none", LOANS_NONE},
	{"soft", LOANS_SOFT},
	{"all", LOANS_ALL},
	{0},
};

/* The default of loans depends on the estimator, which has a complaint of its own. */
static bool same_loans(const struct key *key, const void *a, const void *b)
{
	const struct gossip_config *old = a, *gossip = b;

	(void)key;
	return old->estimator != gossip->estimator || old->loans == gossip->loans;
}

static const struct choice source_choices[] = {
	{"roster", SOURCES_ROSTER},
	{"any", SOURCES_ANY},
	{0},
};

const struct key gossip_keys[] = {
	{"listen", read_address, .change = KEY_FIXED, .same = same_address,
		KEY_FIELD(struct gossip_config, listen),
		.detail = &(const size_t){offsetof(struct gossip_config, listen_len)}},
	{"roster", read_list, .change = KEY_ELEMENTS, KEY_FIELD(struct gossip_config, roster),
		.expected = "an array of the limiters of the group, this one included",
		.detail = &roster_list, .required = true},
	{"key_file", read_key_file, .change = KEY_FIXED, .same = same_sealing,
		KEY_FIELD(struct gossip_config, key_files[0]), .expected = "a path"},
	{"key_files", read_key_files, .change = KEY_LIVE,
		.expected = "an array of 1 or 2 paths: of the key that seals, and of one that only "
			    "opens"},
	{"identity_file", read_text, .change = KEY_LIVE,
		KEY_FIELD(struct gossip_config, identity_file), .expected = "a path"},
	{"identities", read_choice, .change = KEY_LIVE, KEY_FIELD(struct gossip_config, identities),
		.detail = identity_choices},
	{"insecure", read_bool, .change = KEY_FIXED, KEY_FIELD(struct gossip_config, insecure)},
	{"sources", read_choice, .change = KEY_FIXED, KEY_FIELD(struct gossip_config, sources),
		.detail = source_choices},
	{"differs_alarm", read_quantity, .change = KEY_LIVE,
		KEY_FIELD(struct gossip_config, differs_alarm_ns), .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 1000000000,
			86400000000000, "1s to 24h", "ns"}},
	{"overshoot_alarm", read_real, .change = KEY_FIXED,
		KEY_FIELD(struct gossip_config, overshoot_alarm),
		.detail = &(const struct real_range){0, 100, .below = false}},
	/* From here on what a simulated group has too: see gossip_tuning_keys. */
	{"branching", read_integer, .change = KEY_FIXED, KEY_FIELD(struct gossip_config, branching),
		.detail = &(const struct integer_range){1, 64}},
	{"timeout", read_quantity, .change = KEY_FIXED, KEY_FIELD(struct gossip_config, timeout_ns),
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 100000000, 3600000000000,
			"100ms to 3600s", "ns"}},
	{"datagram", read_quantity, .change = KEY_FIXED,
		KEY_FIELD(struct gossip_config, datagram_max), .expected = EXPECTED_SIZE,
		.detail = &(const struct quantity_range){units_parse_size, 256, 8972,
			"256B to 8972B", "B"}},
	{"estimator", read_estimator, .change = KEY_FIXED,
		KEY_FIELD(struct gossip_config, estimator), .detail = estimators},
	{"loans", read_marked_choice, .change = KEY_FIXED, .same = same_loans,
		KEY_FIELD(struct gossip_config, loans), .detail = loan_choices},
	{0},
};

/* Skips the rows of the listener, the roster, the keys, the sources and the alarms. */
const struct key *const gossip_tuning_keys = &gossip_keys[10];

void gossip_config_init(struct gossip_config *gossip)
{
	*gossip = (struct gossip_config){
		.differs_alarm_ns = 60 * SECOND_NS,
		.overshoot_alarm = 0.5,
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

static const struct choice unparsed_actions[] = {
	{"strict", UNPARSED_STRICT},
	{"drop", UNPARSED_DROP},
	{"pass", UNPARSED_PASS},
	{0},
};

static const struct key tunnels_keys[] = {
	{"classify", read_marked_choice, .change = KEY_FIXED, KEY_FIELD(struct tunnels, classify),
		.detail = tunnels_classify},
	{"vxlan-port", read_integer, .change = KEY_FIXED, KEY_FIELD(struct tunnels, vxlan_port),
		.detail = &(const struct integer_range){1, UINT16_MAX}},
	{0},
};

static const struct list port_list = {
	.keys = port_keys,
	.size = sizeof(struct port_config),
	.count_offset = offsetof(struct config, n_ports),
	.max = CONFIG_PORTS_MAX,
	.init = port_init,
	.named = true,
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

/* Only files can include others, and what they include is here already. */
static void read_include_key(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	(void)value;
	(void)key;
	(void)base;
	if (reader->joined == NULL)
		reader_expected(reader, path, "none in what is read from no file");
}

const struct key config_keys[] = {
	{"include", read_include_key, .change = KEY_LIVE, .required = false},
	{"limiter", read_name, .change = KEY_FIXED, KEY_FIELD(struct config, limiter),
		.required = true},
	{"eal", read_eal, .change = KEY_FIXED, .same = same_eal, KEY_FIELD(struct config, eal),
		.expected = "an array of at most " QUOTE(CONFIG_EAL_ARGS) " strings"},
	{"ports", read_port_configs, .change = KEY_ELEMENTS, KEY_FIELD(struct config, ports),
		.detail = &port_list, .expected = "an object of ports by name"},
	{"wires", read_list, .change = KEY_ELEMENTS, KEY_FIELD(struct config, wires),
		.detail = &wire_list, .expected = "an array of wires"},
	{"workers", read_workers, .change = KEY_FIXED, .same = same_workers,
		KEY_FIELD(struct config, workers),
		.expected = "an array of 1 to " QUOTE(
			CONFIG_WORKERS_MAX) " CPU numbers, or a list such as \"2-5,8\""},
	{"idle", read_choice, .change = KEY_FIXED, KEY_FIELD(struct config, idle), .detail = idles},
	{"on_refused", read_choice, .change = KEY_LIVE, KEY_FIELD(struct config, on_refused),
		.detail = on_refusals},
	{"shadow", read_bool, .change = KEY_LIVE, KEY_FIELD(struct config, shadow)},
	{"shape", read_object, .detail = box_shape_keys},
	{"control", read_object, .detail = control_keys},
	{"log", read_object, KEY_FIELD(struct config, log), .detail = log_keys},
	{"gossip", read_object, KEY_FIELD(struct config, gossip), .detail = gossip_keys},
	{"ledger", read_object, KEY_FIELD(struct config, ledger), .detail = ledger_keys},
	{"tunnels", read_object, KEY_FIELD(struct config, tunnels), .detail = tunnels_keys},
	{"unparsed", read_choice, .change = KEY_FIXED, KEY_FIELD(struct config, unparsed),
		.detail = unparsed_actions},
	{"policies", read_list, .change = KEY_LIVE, KEY_FIELD(struct config, policies),
		.detail = &policy_list, .expected = "an array of policies"},
	{0},
};
