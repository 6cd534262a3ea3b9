/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rejects devices and arguments of EAL with which a start fails on every machine.
 */
#include <string.h>

#include "config/check.h"
#include "config/config_messages.h"
#include "policy/value.h"

/*
 * Options of EAL that a limiter cannot have. getopt_long() also accepts the beginning of a long
 * option, and short options after each other.
 */
static const struct eal_refusal {
	const char *option, *allowed; /* NULL: no value */
	const char *remedy;
} eal_refusals[] = {
	{"-c", NULL, "\"workers\" and \"control\": {\"cpu\"} choose CPUs"},
	{"-l", NULL, "\"workers\" and \"control\": {\"cpu\"} choose CPUs"},
	{"-s", NULL, "\"workers\" and \"control\": {\"cpu\"} choose CPUs"},
	{"-S", NULL, "\"workers\" and \"control\": {\"cpu\"} choose CPUs"},
	{"--lcores", NULL, "\"workers\" and \"control\": {\"cpu\"} choose CPUs"},
	{"--remap-lcore-ids", NULL, "\"workers\" and \"control\": {\"cpu\"} choose CPUs"},
	{"--main-lcore", NULL, "\"control\": {\"cpu\"} chooses the CPU of control"},
	{"--master-lcore", NULL, "\"control\": {\"cpu\"} chooses the CPU of control"},
	{"--proc-type", "primary", "a limiter is the primary process of its ports"},
	{"-h", NULL, "weir --help; EAL would write its own and end"},
	{"--help", NULL, "weir --help; EAL would write its own and end"},
	{"--", NULL, "EAL would ignore all that follows"},
};

/* EAL's -v has no value, so another short option can follow it. */
static bool has_short(const char *argument, char option)
{
	argument++;
	while (*argument == 'v')
		argument++;
	return *argument == option;
}

static bool is_option(const char *argument, const char *option)
{
	size_t len = strcspn(argument, "=");

	if (strlen(option) == 2 && option[1] != '-')
		return argument[0] == '-' && has_short(argument, option[1]);
	if (len <= 2)
		return strcmp(argument, option) == 0;
	return strncmp(argument, option, len) == 0;
}

static bool is_allowed(const struct config *config, unsigned i, const struct eal_refusal *refusal)
{
	const char *value = strchr(config->eal[i], '=');

	if (value)
		value++;
	else if (i + 1 < config->n_eal)
		value = config->eal[i + 1];
	return refusal->allowed && value && strcmp(value, refusal->allowed) == 0;
}

static void check_eal(struct reader *reader, const struct config *config)
{
	static const struct json_path eal = {.key = "eal"};

	for (unsigned i = 0; i < config->n_eal; i++) {
		struct json_path at = {.parent = &eal, .index = i};

		for (size_t k = 0; k < sizeof(eal_refusals) / sizeof(*eal_refusals); k++) {
			const struct eal_refusal *refusal = &eal_refusals[k];

			if (!is_option(config->eal[i], refusal->option) ||
				is_allowed(config, i, refusal))
				continue;
			reader_report(reader, &at, MESSAGE(EAL_ARGUMENT),
				message_part(refusal->remedy), config->eal[i]);
			break;
		}
	}
}

static void check_port(
	struct reader *reader, const struct json_path *path, const struct port_config *port)
{
	struct json_path device = {.parent = path, .key = "device"};
	struct json_path mtu = {.parent = path, .key = "mtu"};
	struct json_path buffer = {.parent = path, .key = "buffer_size"};

	if (port_is_of_kernel(port) && !port_is_xdp(port) && !strstr(port->device, ",iface="))
		reader_report(reader, &device, MESSAGE(AF_XDP_WITHOUT_INTERFACE),
			(int)device_id_length(port->device), port->device);
	if (port_is_af_xdp(port) && port->mtu > PORT_AF_XDP_MTU_MAX)
		reader_report(reader, &mtu, MESSAGE(AF_XDP_MTU), PORT_AF_XDP_MTU_MAX);
	if (port_is_af_xdp(port) && port->buffer_size > PORT_AF_XDP_BUFFER_MAX)
		reader_report(reader, &buffer, MESSAGE(AF_XDP_BUFFER), PORT_AF_XDP_BUFFER_MAX);
}

void start_check(struct reader *reader, const struct config *config)
{
	static const struct json_path ports = {.key = "ports"};

	check_eal(reader, config);
	for (unsigned i = 0; i < config->n_ports; i++) {
		struct json_path at = {.parent = &ports, .key = config->ports[i].name};

		if (config->ports[i].name[0] && config->ports[i].device[0])
			check_port(reader, &at, &config->ports[i]);
	}
}
