/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The keys of ports and wires.
 */
#include "config/keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "json/suggest.h"
#include "json/vocabulary.h"
#include "policy/units.h"
#include "policy/value.h"

/*
 * Suggests the full address for one without a domain, as in lspci, or net_af_packet for a kernel's
 * interface.
 */
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
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected,
			message_part(text != NULL ? device_remedy(text, remedy) : NULL));
	else
		memcpy(key_field(key, base), text, strlen(text) + 1);
}

static const struct choice offloads_modes[] = {
	{"fix", OFFLOADS_FIX},
	{"refuse", OFFLOADS_REFUSE},
	{"ignore", OFFLOADS_IGNORE},
	{0},
};

static const struct vocabulary_entry offloads_values[] = {
	{"fix", "off disable"},
	{"refuse", "reject fail"},
	{"ignore", "keep allow warn"},
	{0},
};

const struct key port_keys[] = {
	KEY("device", read_device, KEY_FIXED, KEY_FIELD(struct port_config, device), REQUIRED,
		"the device, see below", "pci dev interface iface ifname address netdev bdf",
		.expected = "a PCI address such as \"0000:03:00.0\", a virtual device such as "
			    "\"net_af_packet0,iface=eth1\" or an interface such as \"xdp:eth1\"",
		.form = "device"),
	KEY("mtu", read_integer, KEY_FIXED, KEY_FIELD(struct port_config, mtu), DEFAULT("1500"),
		"the largest layer-3 packet, in bytes. A longer frame is dropped, see below",
		"maxframe framesize maxpacketsize jumbo l2mtu maximumtransmissionunit",
		.detail = &(const struct integer_range){64, 16000}),
	KEY("buffers", read_count, KEY_FIXED, KEY_FIELD(struct port_config, buffers),
		UNSET("for the shaped policies, 16384 to 65536; 4096 without any"),
		"packet buffers in addition to those in its queues, see below",
		"mbufs numbufs nbmbuf mempoolsize descriptors bufs",
		.expected = "a number such as 20000 or \"2M\"",
		.detail = &(const struct quantity_range){units_parse_count, 4096, 100000000,
			"4096 to 100M", "packet buffers"}),
	KEY("buffer_size", read_integer, KEY_FIXED, KEY_FIELD(struct port_config, buffer_size),
		UNSET("2048; a frame of the `mtu` if the device cannot fill several buffers"),
		"bytes of a frame in one packet buffer. A longer frame takes several buffers",
		"mbufsize bufsize dataroom segmentsize",
		.detail = &(const struct integer_range){2048, 16384}),
	KEY("queues", read_integer, KEY_FIXED, KEY_FIELD(struct port_config, queues),
		UNSET("one for each worker, if the device has them"),
		"the largest number of receive queues to use. Not with a device `xdp:…`",
		"rxqueues rxq channels combined rings numqueues",
		.detail = &(const struct integer_range){1, CONFIG_WORKERS_MAX}),
	KEY("offloads", read_choice, KEY_FIXED, KEY_FIELD(struct port_config, offloads),
		DEFAULT("\"fix\""),
		"treatment of kernel offloads that alter packets of an `af_packet` or `af_xdp` "
		"port, see [Kernel interfaces](#kernel-interfaces)",
		"gro lro tso ethtool features", .detail = offloads_modes,
		.value_words = offloads_values),
	KEY("generic", read_bool, KEY_FIXED, KEY_FIELD(struct port_config, generic),
		DEFAULT("false"),
		"only with a device `xdp:…`: generic XDP, which every driver has and which is "
		"slower ([kernel.md](kernel.md#requirements)). Both ports of a wire, or none",
		"skb skbmode xdpmode xdpgeneric native"),
	{0},
};

/* A port can be called "note" if it is an object. */
static bool is_port(const char *name, const json_t *member)
{
	return !key_is_remark(name) || json_is_object(member);
}

void read_port_configs(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct port_config *port;
	const char *name;
	json_t *member;
	size_t n = 0;

	if (!json_is_object(value)) {
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
		return;
	}
	json_object_foreach (value, name, member)
		n += is_port(name, member);
	port = list_allocate(reader, path, key, base, n);
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
			reader_report(reader, &at, MESSAGE(WRONG_KEY_NAME));
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
	reader_report(reader, path, MESSAGE(NO_SUCH_PORT),
		message_part(suggest_remedy(meant.word, remedy)));
}

static const struct choice link_modes[] = {
	{"keep", LINK_KEEP},
	{"follow", LINK_FOLLOW},
	{0},
};

static const struct choice fail_modes[] = {
	{"closed", FAIL_CLOSED},
	{"open", FAIL_OPEN},
	{"last-limits", FAIL_LAST_LIMITS},
	{0},
};

static const struct vocabulary_entry link_values[] = {
	{"keep", "ignore up stay"},
	{"follow", "propagate down llf mirror"},
	{0},
};

static const struct vocabulary_entry default_values[] = {
	{"pass", "accept allow permit forward"},
	{"drop", "deny discard reject block"},
	{0},
};

static const struct vocabulary_entry fail_values[] = {
	{"closed", "drop block"},
	{"open", "bypass pass"},
	{"last-limits", "hold"},
	{0},
};

static const struct key wire_keys[] = {
	KEY("name", read_name, KEY_FIXED, KEY_FIELD(struct wire, name), REQUIRED, "a unique name",
		"id label title wirename"),
	KEY("a", read_port_name, KEY_FIXED, KEY_FIELD(struct wire, a), REQUIRED, "one end",
		"left inside lan port1 from first access in", .form = "port-name"),
	KEY("b", read_port_name, KEY_FIXED, KEY_FIELD(struct wire, b), REQUIRED,
		"the other end, another port", "right outside wan port2 to second uplink out",
		.form = "port-name"),
	KEY("distribute", read_bool, KEY_FIXED, KEY_FIELD(struct wire, distribute),
		DEFAULT("false"),
		"true: all workers share the flows, even if the ports have fewer queues than there "
		"are workers",
		"rss spread loadbalance softrss hash rps"),
	KEY("link", read_choice, KEY_FIXED, KEY_FIELD(struct wire, link), DEFAULT("\"keep\""),
		"`\"follow\"`: if one end loses its link, Weir takes the other one down, so that "
		"routers on both sides notice",
		"linkloss linkstate llf linkfault losspropagation", .detail = link_modes,
		.value_words = link_values),
	KEY("default", read_otherwise, KEY_LIVE, KEY_FIELD(struct wire, otherwise),
		DEFAULT("\"pass\""), "treatment of packets that match no policy",
		"fallback catchall otherwise defaultaction defaultpolicy unmatched",
		.form = "default-action", .keys = otherwise_keys, .value_words = default_values),
	KEY("fail", read_choice, KEY_FIXED, KEY_FIELD(struct wire, fail),
		UNSET("`\"last-limits\"` for ports `xdp:…`, otherwise `\"closed\"`"),
		"treatment of packets while Weir is down, see below",
		"failopen failclosed bypass failmode onfailure failsafe", .detail = fail_modes,
		.value_words = fail_values,
		.previous = (const struct vocabulary_entry[]){{"open", "wire"}, {0}}),
	KEY("fail_after", read_quantity, KEY_FIXED, KEY_FIELD(struct wire, fail_after_ns),
		DEFAULT("\"100ms\""),
		"a worker that has not run its loop for this time counts as down. Only with "
		"`\"fail\": \"open\"` or ports `xdp:…`",
		"failtimeout bypassafter failovertime deadtime", .expected = EXPECTED_TIME,
		.detail = &(const struct quantity_range){units_parse_time, 20 * MS_NS,
			10 * SECOND_NS, "20ms to 10s", "ns"}),
	{0},
};

static void wire_init(void *element)
{
	*(struct wire *)element = (struct wire){.a = PORT_REFUSED, .b = PORT_REFUSED};
}

const struct list port_list = {
	.keys = port_keys,
	.size = sizeof(struct port_config),
	.count_offset = offsetof(struct config, n_ports),
	.max = CONFIG_PORTS_MAX,
	.named = true,
};

const struct list wire_list = {
	.keys = wire_keys,
	.size = sizeof(struct wire),
	.count_offset = offsetof(struct config, n_wires),
	.max = CONFIG_WIRES_MAX,
	.init = wire_init,
};
