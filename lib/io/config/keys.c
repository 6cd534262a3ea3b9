/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of the process: CPUs, control socket, log, tunnels. The other files have the tables of
 * ports and wires, of the group, of the ledger and of a policy.
 */
#include "config/keys.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "config/value_keys.h"
#include "json/suggest.h"
#include "json/vocabulary.h"
#include "policy/units.h"
#include "policy/value.h"

#define CPU_MAX 1023 /* CPU_SETSIZE of glibc less one */

static void read_eal(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct config *config = base;
	size_t i;
	json_t *element;

	if (!json_is_array(value) || json_array_size(value) > CONFIG_EAL_ARGS) {
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
		return;
	}
	json_array_foreach (value, i, element) {
		struct json_path at = {.parent = path, .index = i};
		const char *text = json_string_value(element);

		if (text == NULL || *text == '\0' || !text_printable(text)) {
			reader_report(reader, &at, MESSAGE(TEXT_NOT_PRINTABLE));
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

static void read_workers(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct config *config = base;
	size_t i, n = json_array_size(value);
	json_t *element;
	int n_listed;

	if (json_is_string(value)) { /* "2-5,8", the kernel's format */
		n_listed = cpu_list_parse(
			json_string_value(value), CPU_MAX, config->workers, CONFIG_WORKERS_MAX);
		if (n_listed > 0)
			config->n_workers = (unsigned)n_listed;
		else
			reader_report(
				reader, path, MESSAGE(WORKERS_VALUE), CONFIG_WORKERS_MAX, CPU_MAX);
		return;
	}
	if (n == 0 || n > CONFIG_WORKERS_MAX) {
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
		return;
	}
	config->n_workers = 0; /* drops the default */
	json_array_foreach (value, i, element) {
		struct json_path at = {.parent = path, .index = i};
		json_int_t cpu = json_integer_value(element);

		if (json_is_integer(element) && cpu >= 0 && cpu <= CPU_MAX)
			config->workers[config->n_workers++] = (unsigned)cpu;
		else
			reader_report(reader, &at, MESSAGE(CPU_RANGE), CPU_MAX);
	}
}

static bool same_workers(const struct key *key, const void *a, const void *b)
{
	const struct config *old = a, *config = b;

	(void)key;
	return old->n_workers == config->n_workers &&
	       memcmp(old->workers, config->workers, old->n_workers * sizeof(*old->workers)) == 0;
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

static const struct vocabulary_entry idle_values[] = {
	{"poll", "busy spin busypoll"},
	{"sleep", "interrupt wait block"},
	{0},
};

static const struct vocabulary_entry on_refused_values[] = {
	{"last-good", "previous keep fallback"},
	{"stop", "exit fail abort"},
	{0},
};

static const struct key control_keys[] = {
	KEY("socket", read_text, KEY_FIXED, KEY_FIELD(struct config, control_socket),
		UNSET("`/run/weir/LIMITER.sock`"), "Unix socket of the telemetry",
		"path listen unix sock sockpath", .expected = "a path"),
	KEY("group", read_text, KEY_LIVE, KEY_FIELD(struct config, control_group),
		UNSET("`operators`, or the group that Weir runs as"),
		"group of the socket's file, whose members can read "
		"([access](telemetry.md#access))",
		"readers gid viewers readgroup", .expected = "the name of a group"),
	KEY("operators", read_text, KEY_LIVE, KEY_FIELD(struct config, control_operators),
		UNSET("none"),
		"group whose members can also give commands that change something, see below",
		"writers admins admingroup privileged", .expected = "the name of a group"),
	KEY("cpu", read_integer, KEY_FIXED, KEY_FIELD(struct config, control_cpu), DEFAULT("0"),
		"CPU of the control thread", "core lcore affinity maincore",
		.detail = &(const struct integer_range){0, CPU_MAX}),
	KEY("watchdog", read_quantity, KEY_FIXED, KEY_FIELD(struct config, watchdog_ns),
		UNSET("none"),
		"a worker that has not run its loop for this time ends the process by SIGABRT. Its "
		"supervisor then starts it again ([stalled "
		"workers](telemetry.md#a-worker-that-is-stuck))",
		"hangtimeout stalltimeout deadman heartbeat", .expected = EXPECTED_TIME,
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

static const struct vocabulary_entry level_values[] = {
	{"error", "err critical crit fatal"},
	{"warning", "warn"},
	{"info", "notice information"},
	{"debug", "trace verbose"},
	{0},
};

static const struct vocabulary_entry format_values[] = {
	{"text", "plain console"},
	{"json", "structured"},
	{0},
};

static const struct key log_keys[] = {
	KEY("level", read_choice, KEY_LIVE, KEY_FIELD(struct log_config, level),
		DEFAULT("\"info\""),
		"the lowest severity in the log. If the beginning of a problem was logged, its end "
		"is logged too",
		"severity verbosity priority loglevel minlevel", .detail = log_levels,
		.value_words = level_values),
	KEY("format", read_choice, KEY_LIVE, KEY_FIELD(struct log_config, format),
		DEFAULT("\"text\""), "format of a line on standard error",
		"style output encoding logformat", .detail = log_formats,
		.value_words = format_values),
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

static const struct vocabulary_entry classify_values[] = {
	{"outer", "underlay transport"},
	{"inner", "payload decap"},
	{0},
};

static const struct vocabulary_entry unparsed_values[] = {
	{"strict", "strictest"},
	{"drop", "deny discard reject block"},
	{"pass", "accept allow permit forward"},
	{0},
};

static const struct key tunnels_keys[] = {
	KEY("classify", read_marked_choice, KEY_FIXED, KEY_FIELD(struct tunnels, classify),
		DEFAULT("\"outer\""),
		"the headers whose addresses, protocol and ports decide the policy and the flow of "
		"a tunnel's packet",
		"headers inspect match decap mode", .detail = tunnels_classify,
		.value_words = classify_values),
	KEY("vxlan-port", read_integer, KEY_FIXED, KEY_FIELD(struct tunnels, vxlan_port),
		DEFAULT("4789"), "UDP destination port of VXLAN", "udpport port vxlan vxlandstport",
		.detail = &(const struct integer_range){1, UINT16_MAX},
		RELATIONS({NEEDS_VALUE("classify", "inner")})),
	{0},
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
		reader_report(reader, path, MESSAGE(INCLUDE_NOT_IN_FILE));
}

const struct key config_keys[] = {
	KEY("include", read_include_key, KEY_LIVE, NO_FIELD, UNSET("none"),
		"more files, see [Several files](#several-files)",
		"import includedir confd files source load", .form = "include"),
	KEY("limiter", read_name, KEY_FIXED, KEY_FIELD(struct config, limiter), REQUIRED,
		"this limiter. If there is `gossip`, a name in `gossip.roster`",
		"node hostname instance id nodeid name", .common = true),
	KEY("eal", read_eal, KEY_FIXED, KEY_FIELD(struct config, eal), DEFAULT("[]"),
		"extra arguments for DPDK's EAL, see below",
		"dpdk ealargs dpdkargs extraargs ealoptions dpdkoptions", .same = same_eal,
		.expected = "an array of at most " QUOTE(CONFIG_EAL_ARGS) " strings",
		.form = "arguments"),
	KEY("ports", read_port_configs, KEY_ELEMENTS, KEY_FIELD(struct config, ports),
		UNSET("none"), "see [Ports and wires](#ports-and-wires)",
		"interfaces ifaces nics devices netdevs interface", .detail = &port_list,
		.expected = "an object of ports by name", .form = "ports", .keys = port_keys,
		.heading = "Ports and wires", .named = true, .common = true),
	KEY("wires", read_list, KEY_ELEMENTS, KEY_FIELD(struct config, wires), UNSET("none"),
		"see [Ports and wires](#ports-and-wires). Warning if there is none: Weir forwards "
		"nothing",
		"links bridges pairs bridge inline bumps circuits link", .detail = &wire_list,
		.expected = "an array of wires", .heading = "Ports and wires", .common = true),
	KEY("workers", read_workers, KEY_FIXED, KEY_FIELD(struct config, workers), DEFAULT("[1]"),
		"a worker thread for each number, on that CPU. Each once, unless `idle` is "
		"`\"sleep\"`",
		"cores lcores cpus threads cpulist corelist workerthreads", .same = same_workers,
		.expected = "an array of 1 to " QUOTE(
			CONFIG_WORKERS_MAX) " CPU numbers, or a list such as \"2-5,8\"",
		.form = "cpus", .common = true),
	KEY("idle", read_choice, KEY_FIXED, KEY_FIELD(struct config, idle), DEFAULT("\"poll\""),
		"behaviour of a worker without packets",
		"polling pollmode busypoll interruptmode idlemode sleep", .detail = idles,
		.value_words = idle_values),
	KEY("on_refused", read_choice, KEY_LIVE, KEY_FIELD(struct config, on_refused),
		DEFAULT("\"last-good\""),
		"behaviour of a start with a rejected file: [run the last good "
		"configuration](changes.md#a-start-whose-file-is-refused), or stop. The key in the "
		"last good configuration counts",
		"oninvalid fallback lastgood onerror", .detail = on_refusals,
		.value_words = on_refused_values),
	KEY("shadow", read_bool, KEY_LIVE, KEY_FIELD(struct config, shadow), DEFAULT("false"),
		"true: policies only count, and Weir enforces nothing, see [Shadow](#shadow). "
		"`weir --shadow` overrides the file",
		"dryrun monitoronly observe testmode simulate auditonly"),
	KEY("shape", read_object, KEY_PART, NO_FIELD, UNSET("`{\"pool\": \"50%\"}`"),
		"waiting packets of all policies", "shaping buffering queueing",
		.detail = box_shape_keys, .heading = "Shape"),
	KEY("control", read_object, KEY_PART, NO_FIELD, UNSET("see there"),
		"see [Control](#control)", "admin api management cli socket listener unixsocket",
		.detail = control_keys, .heading = "Control"),
	KEY("log", read_object, KEY_PART, KEY_FIELD(struct config, log), UNSET("see there"),
		"see [Log](#log)", "logging syslog debug loglevel verbosity", .detail = log_keys,
		.heading = "Log"),
	KEY("gossip", read_object, KEY_PART, KEY_FIELD(struct config, gossip), UNSET("none: alone"),
		"see [Gossip](#gossip). Without it this limiter is the whole group",
		"cluster group peers mesh membership swim sync", .detail = gossip_keys,
		.heading = "Gossip"),
	KEY("ledger", read_object, KEY_PART, KEY_FIELD(struct config, ledger), UNSET("see there"),
		"see [Ledger](#ledger). It matters only for hard limits and quotas",
		"state storage persistence statedir consensus", .detail = ledger_keys,
		.heading = "Ledger"),
	KEY("tunnels", read_object, KEY_PART, KEY_FIELD(struct config, tunnels), UNSET("see there"),
		"see [headers](#headers-that-weir-reads)", "encapsulation gre vxlan decap overlays",
		.detail = tunnels_keys, .heading = "Headers that Weir reads"),
	KEY("unparsed", read_choice, KEY_FIXED, KEY_FIELD(struct config, unparsed),
		DEFAULT("\"strict\""),
		"treatment of [packets that Weir cannot parse](#unparsed-packets)",
		"malformed unknown unclassified invalid", .detail = unparsed_actions,
		.value_words = unparsed_values),
	KEY("policies", read_list, KEY_LIVE, KEY_FIELD(struct config, policies), UNSET("none"),
		"see [Policies](#policies). Warning if there is none: everything passes",
		"rules limits classes shapers limiters services policy rule policer policers meters",
		.detail = &policy_list, .expected = "an array of policies", .heading = "Policies",
		.common = true),
	{0},
};

const struct vocabulary config_vocabulary = {
	.manual = "doc/operate/configuration.md",
	.heading = "The file",
	.keys = config_keys,
	.inside = key_inside,
};
