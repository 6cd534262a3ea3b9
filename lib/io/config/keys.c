/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of the box and of its group (those of a policy: policy_keys.c), one table an object, and
 * the readers of values that only Weir has.
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
	KEY("device", read_device, KEY_FIXED, KEY_FIELD(struct port_config, device), REQUIRED,
		"the device, see below",
		.expected = "a PCI address such as \"0000:03:00.0\", a virtual device such as "
			    "\"net_af_packet0,iface=eth1\" or an interface such as \"xdp:eth1\"",
		.form = "device"),
	KEY("mtu", read_integer, KEY_FIXED, KEY_FIELD(struct port_config, mtu), DEFAULT("1500"),
		"the largest layer-3 packet, in bytes. A longer frame is dropped, see below",
		.detail = &(const struct integer_range){64, 16000}),
	KEY("buffers", read_count, KEY_FIXED, KEY_FIELD(struct port_config, buffers),
		UNSET("for the shaped policies, 16384 to 65536; 4096 without any"),
		"packet buffers in addition to those in its queues, see below",
		.expected = "a number such as 20000 or \"2M\"",
		.detail = &(const struct quantity_range){units_parse_count, 4096, 100000000,
			"4096 to 100M", "packet buffers"}),
	KEY("buffer_size", read_integer, KEY_FIXED, KEY_FIELD(struct port_config, buffer_size),
		UNSET("2048; a frame of the `mtu` if the device cannot fill several buffers"),
		"bytes of a frame in one packet buffer. A longer frame takes several buffers",
		.detail = &(const struct integer_range){2048, 16384}),
	KEY("queues", read_integer, KEY_FIXED, KEY_FIELD(struct port_config, queues),
		UNSET("one for each worker, if the device has them"),
		"the largest number of receive queues to use. Not with a device `xdp:…`",
		.detail = &(const struct integer_range){1, CONFIG_WORKERS_MAX}),
	KEY("offloads", read_choice, KEY_FIXED, KEY_FIELD(struct port_config, offloads),
		DEFAULT("\"fix\""),
		"treatment of kernel offloads that alter packets of an `af_packet` or `af_xdp` "
		"port, see [Kernel interfaces](#kernel-interfaces)",
		.detail = offloads_modes),
	KEY("generic", read_bool, KEY_FIXED, KEY_FIELD(struct port_config, generic),
		DEFAULT("false"),
		"only with a device `xdp:…`: generic XDP, which every driver has and which is "
		"slower ([kernel.md](kernel.md#what-it-needs)). Both ports of a wire, or none"),
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
	KEY("name", read_name, KEY_FIXED, KEY_FIELD(struct wire, name), REQUIRED, "a unique name"),
	KEY("a", read_port_name, KEY_FIXED, KEY_FIELD(struct wire, a), REQUIRED, "one end",
		.form = "port-name"),
	KEY("b", read_port_name, KEY_FIXED, KEY_FIELD(struct wire, b), REQUIRED,
		"the other end, another port", .form = "port-name"),
	KEY("distribute", read_bool, KEY_FIXED, KEY_FIELD(struct wire, distribute),
		DEFAULT("false"),
		"true: all workers share the flows, even if the ports have fewer queues than there "
		"are workers"),
	KEY("link", read_choice, KEY_FIXED, KEY_FIELD(struct wire, link), DEFAULT("\"keep\""),
		"`\"follow\"`: if one end loses its link, Weir takes the other one down, so that "
		"routers on both sides notice",
		.detail = link_modes),
	KEY("default", read_otherwise, KEY_LIVE, KEY_FIELD(struct wire, otherwise),
		DEFAULT("\"pass\""), "treatment of packets that match no policy",
		.form = "default-action", .keys = otherwise_keys),
	KEY("fail", read_choice, KEY_FIXED, KEY_FIELD(struct wire, fail),
		UNSET("`\"last-limits\"` for ports `xdp:…`, otherwise `\"closed\"`"),
		"treatment of packets while Weir is down, see below", .detail = fail_modes),
	KEY("fail_after", read_quantity, KEY_FIXED, KEY_FIELD(struct wire, fail_after_ns),
		DEFAULT("\"100ms\""),
		"a worker that has not run its loop for this time counts as down. Only with "
		"`\"fail\": \"wire\"` or ports `xdp:…`",
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 20 * MS_NS,
			10 * SECOND_NS, "20ms to 10s", "ns"}),
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

static const struct choice on_refusals[] = {
	{"last-good", REFUSED_LAST_GOOD},
	{"stop", REFUSED_STOP},
	{0},
};

static const struct key control_keys[] = {
	KEY("socket", read_text, KEY_FIXED, KEY_FIELD(struct config, control_socket),
		UNSET("`/run/weir/LIMITER.sock`"), "Unix socket of the telemetry",
		.expected = "a path"),
	KEY("group", read_text, KEY_LIVE, KEY_FIELD(struct config, control_group),
		UNSET("`operators`, or the group that Weir runs as"),
		"group of the socket's file, whose members can read "
		"([access](telemetry.md#who-may-ask))",
		.expected = "the name of a group"),
	KEY("operators", read_text, KEY_LIVE, KEY_FIELD(struct config, control_operators),
		UNSET("none"),
		"group whose members can also give commands that change something, see below",
		.expected = "the name of a group"),
	KEY("cpu", read_integer, KEY_FIXED, KEY_FIELD(struct config, control_cpu), DEFAULT("0"),
		"CPU of the control thread", .detail = &(const struct integer_range){0, CPU_MAX}),
	KEY("watchdog", read_quantity, KEY_FIXED, KEY_FIELD(struct config, watchdog_ns),
		UNSET("none"),
		"a worker that has not run its loop for this time ends the process by SIGABRT. Its "
		"supervisor then starts it again ([stalled "
		"workers](telemetry.md#a-worker-that-is-stuck))",
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 500000000, 3600000000000,
			"500ms to 3600s", "ns"}),
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
	KEY("level", read_choice, KEY_LIVE, KEY_FIELD(struct log_config, level),
		DEFAULT("\"info\""),
		"the lowest severity in the log. If the beginning of a problem was logged, its end "
		"is logged too",
		.detail = log_levels),
	KEY("format", read_choice, KEY_LIVE, KEY_FIELD(struct log_config, format),
		DEFAULT("\"text\""), "format of a line on standard error", .detail = log_formats),
	{0},
};

/* Explains an address that is a name, or an IPv6 address whose port could be a part of it. */
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
	KEY("name", read_name, KEY_FIXED, KEY_FIELD(struct peer_config, name), REQUIRED,
		"name of the limiter, unique in the group"),
	KEY("address", read_peer_address, KEY_FIXED, KEY_FIELD(struct peer_config, address),
		REQUIRED, "address and port to which the other limiters send", .same = same_address,
		.detail = &(const size_t){offsetof(struct peer_config, address_len)},
		.form = "address"),
	KEY("public_key", read_public_key, KEY_LIVE, KEY_FIELD(struct peer_config, public_key),
		UNSET("none"),
		"public key that `weir --new-identity` prints. Required for all limiters with "
		"`identity_file`",
		.form = "public-key"),
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
	KEY("listen", read_address, KEY_FIXED, KEY_FIELD(struct gossip_config, listen),
		UNSET("this limiter's in `roster`"),
		"local address for datagrams. `\"0.0.0.0:7946\"` and `\"[::]:7946\"` are allowed. "
		"While no interface has it, packets pass and an alarm shows it",
		.same = same_address,
		.detail = &(const size_t){offsetof(struct gossip_config, listen_len)},
		.form = "address"),
	KEY("roster", read_list, KEY_ELEMENTS, KEY_FIELD(struct gossip_config, roster), REQUIRED,
		"all limiters of the group, including this one",
		.expected = "an array of the limiters of the group, this one included",
		.detail = &roster_list),
	KEY("key_file", read_key_file, KEY_FIXED, KEY_FIELD(struct gossip_config, key_files[0]),
		UNSET("none"), "the key that seals gossip, see below", .same = same_sealing,
		.expected = "a path", .form = "text"),
	KEY("key_files", read_key_files, KEY_LIVE, NO_FIELD, UNSET("none"),
		"instead of `key_file`, while a group [changes its key](#another-key): the first "
		"key seals, both open",
		.expected = "an array of 1 or 2 paths: of the key that seals, and of one that only "
			    "opens",
		.form = "paths"),
	KEY("identity_file", read_text, KEY_LIVE, KEY_FIELD(struct gossip_config, identity_file),
		UNSET("none"),
		"this limiter's own secret, see [Identities](#identities). Every limiter of the "
		"roster then has a `public_key`",
		.expected = "a path"),
	KEY("identities", read_choice, KEY_LIVE, KEY_FIELD(struct gossip_config, identities),
		DEFAULT("\"required\""),
		"`optional`: Weir also accepts limiters without a proof of identity, while a group "
		"gets its identities. Only with `identity_file`",
		.detail = identity_choices),
	KEY("insecure", read_bool, KEY_FIXED, KEY_FIELD(struct gossip_config, insecure),
		DEFAULT("false"),
		"true: gossip without a key, with a warning. Not together with a key"),
	KEY("sources", read_choice, KEY_FIXED, KEY_FIELD(struct gossip_config, sources),
		DEFAULT("\"roster\""), "accepted source addresses of datagrams, see below",
		.detail = source_choices),
	KEY("differs_alarm", read_quantity, KEY_LIVE,
		KEY_FIELD(struct gossip_config, differs_alarm_ns), DEFAULT("\"60s\""),
		"a [config mismatch](guarantees.md#config-mismatch) that lasts longer is an alarm "
		"in `/weir/health`. A reload changes this key",
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 1000000000,
			86400000000000, "1s to 24h", "ns"}),
	KEY("overshoot_alarm", read_real, KEY_FIXED,
		KEY_FIELD(struct gossip_config, overshoot_alarm), DEFAULT("0.5"),
		"a part of each soft limit: an [alarm](symptoms.md#the-group-exceeds-a-limit) if "
		"the group may enforce so much more than the limit for 10 s. 0: no alarm",
		.detail = &(const struct real_range){0, 100, .below = false}),
	KEY("branching", read_integer, KEY_FIXED, KEY_FIELD(struct gossip_config, branching),
		DEFAULT("3"), "peers that receive a message in each estimate interval",
		.detail = &(const struct integer_range){1, 64}, .simulated = true),
	KEY("timeout", read_quantity, KEY_FIXED, KEY_FIELD(struct gossip_config, timeout_ns),
		DEFAULT("\"1s\""), "a peer without messages for this time is lost, see below",
		.expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 100000000, 3600000000000,
			"100ms to 3600s", "ns"},
		.simulated = true),
	KEY("datagram", read_quantity, KEY_FIXED, KEY_FIELD(struct gossip_config, datagram_max),
		DEFAULT("\"1200B\""), "largest UDP payload. With a quota at least 582B",
		.expected = EXPECTED_SIZE,
		.detail = &(const struct quantity_range){units_parse_size, 256, 8972,
			"256B to 8972B", "B"},
		.simulated = true),
	KEY("estimator", read_estimator, KEY_FIXED, KEY_FIELD(struct gossip_config, estimator),
		UNSET("`\"state\"` up to 64 limiters, `\"tree\"` above"),
		"method for the sums over the group, see [Estimators](#estimators)",
		.detail = estimators, .form = "choice", .simulated = true),
	KEY("loans", read_marked_choice, KEY_FIXED, KEY_FIELD(struct gossip_config, loans),
		UNSET("`\"soft\"` with `state`, otherwise `\"none\"`"),
		"limits whose unused tokens the limiters lend each other, see [Token "
		"loans](../design/loans.md). Only with `state`",
		.same = same_loans, .detail = loan_choices, .simulated = true),
	{0},
};

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
	KEY("classify", read_marked_choice, KEY_FIXED, KEY_FIELD(struct tunnels, classify),
		DEFAULT("\"outer\""),
		"the headers whose addresses, protocol and ports decide the policy and the flow of "
		"a tunnel's packet",
		.detail = tunnels_classify),
	KEY("vxlan-port", read_integer, KEY_FIXED, KEY_FIELD(struct tunnels, vxlan_port),
		DEFAULT("4789"), "UDP destination port of VXLAN. Only with `\"inner\"`",
		.detail = &(const struct integer_range){1, UINT16_MAX}),
	{0},
};

static const struct list port_list = {
	.keys = port_keys,
	.size = sizeof(struct port_config),
	.count_offset = offsetof(struct config, n_ports),
	.max = CONFIG_PORTS_MAX,
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

/* Only files can include others. Their content is already in the document. */
static void read_include_key(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	(void)value;
	(void)key;
	(void)base;
	if (reader->joined == NULL)
		reader_expected(reader, path, "no \"include\" in a document that is not a file");
}

const struct key config_keys[] = {
	KEY("include", read_include_key, KEY_LIVE, NO_FIELD, UNSET("none"),
		"more files, see [Several files](#several-files)", .form = "include"),
	KEY("limiter", read_name, KEY_FIXED, KEY_FIELD(struct config, limiter), REQUIRED,
		"this limiter. If there is `gossip`, a name in `gossip.roster`"),
	KEY("eal", read_eal, KEY_FIXED, KEY_FIELD(struct config, eal), DEFAULT("[]"),
		"extra arguments for DPDK's EAL, see below", .same = same_eal,
		.expected = "an array of at most " QUOTE(CONFIG_EAL_ARGS) " strings",
		.form = "arguments"),
	KEY("ports", read_port_configs, KEY_ELEMENTS, KEY_FIELD(struct config, ports),
		UNSET("none"), "see [Ports and wires](#ports-and-wires)", .detail = &port_list,
		.expected = "an object of ports by name", .form = "ports", .keys = port_keys),
	KEY("wires", read_list, KEY_ELEMENTS, KEY_FIELD(struct config, wires), UNSET("none"),
		"see [Ports and wires](#ports-and-wires). Warning if there is none: Weir forwards "
		"nothing",
		.detail = &wire_list, .expected = "an array of wires"),
	KEY("workers", read_workers, KEY_FIXED, KEY_FIELD(struct config, workers), DEFAULT("[1]"),
		"a worker thread for each number, on that CPU. Each once, unless `idle` is "
		"`\"sleep\"`",
		.same = same_workers,
		.expected = "an array of 1 to " QUOTE(
			CONFIG_WORKERS_MAX) " CPU numbers, or a list such as \"2-5,8\"",
		.form = "cpus"),
	KEY("idle", read_choice, KEY_FIXED, KEY_FIELD(struct config, idle), DEFAULT("\"poll\""),
		"behaviour of a worker without packets", .detail = idles),
	KEY("on_refused", read_choice, KEY_LIVE, KEY_FIELD(struct config, on_refused),
		DEFAULT("\"last-good\""),
		"behaviour of a start with a rejected file: [run the last good "
		"configuration](changes.md#a-start-whose-file-is-refused), or stop. The key in the "
		"last good configuration counts",
		.detail = on_refusals),
	KEY("shadow", read_bool, KEY_LIVE, KEY_FIELD(struct config, shadow), DEFAULT("false"),
		"true: policies only count, and Weir enforces nothing, see [Shadow](#shadow). "
		"`weir --shadow` overrides the file"),
	KEY("shape", read_object, KEY_PART, NO_FIELD, UNSET("`{\"pool\": \"50%\"}`"),
		"waiting packets of all policies", .detail = box_shape_keys),
	KEY("control", read_object, KEY_PART, NO_FIELD, UNSET("see there"),
		"see [Control](#control)", .detail = control_keys),
	KEY("log", read_object, KEY_PART, KEY_FIELD(struct config, log), UNSET("see there"),
		"see [Log](#log)", .detail = log_keys),
	KEY("gossip", read_object, KEY_PART, KEY_FIELD(struct config, gossip), UNSET("none: alone"),
		"see [Gossip](#gossip). Without it this limiter is the whole group",
		.detail = gossip_keys),
	KEY("ledger", read_object, KEY_PART, KEY_FIELD(struct config, ledger), UNSET("see there"),
		"see [Ledger](#ledger). It matters only for hard limits and quotas",
		.detail = ledger_keys),
	KEY("tunnels", read_object, KEY_PART, KEY_FIELD(struct config, tunnels), UNSET("see there"),
		"see [headers](#what-of-a-packet-is-looked-at)", .detail = tunnels_keys),
	KEY("unparsed", read_choice, KEY_FIXED, KEY_FIELD(struct config, unparsed),
		DEFAULT("\"strict\""),
		"treatment of [packets that Weir cannot parse](#what-is-not-understood)",
		.detail = unparsed_actions),
	KEY("policies", read_list, KEY_LIVE, KEY_FIELD(struct config, policies), UNSET("none"),
		"see [Policies](#policies). Warning if there is none: everything passes",
		.detail = &policy_list, .expected = "an array of policies"),
	{0},
};
