/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "fail" of a wire: the treatment of its packets while Weir does not run. Checks and description.
 */
#include "config/check.h"
#include "config/config_messages.h"
#include "config/describe.h"
#include "policy/kind.h"
#include "policy/matches.h"
#include "policy/units.h"

/* Returns a policy with a hard limit whose packets can use the wire, or NULL. */
static const struct policy *find_hard(const struct config *config, unsigned wire)
{
	for (unsigned i = 0; i < config->n_policies; i++) {
		const struct policy *policy = &config->policies[i];

		if (policy_is_never_exceeded(policy) && policy_may_use(policy, wire))
			return policy;
	}
	return NULL;
}

/* Only ports of the kernel can pass packets without Weir. */
static void check_ports(
	struct reader *reader, const struct json_path *at, const struct config *config, unsigned i)
{
	const unsigned ends[] = {config->wires[i].a, config->wires[i].b};

	for (unsigned k = 0; k < 2; k++) {
		const struct port_config *port;

		if (ends[k] >= config->n_ports)
			continue;
		port = &config->ports[ends[k]];
		if (port->device[0] != '\0' && !port_is_of_kernel(port)) {
			reader_report(reader, at, MESSAGE(FAIL_NEEDS_KERNEL_PORT), port->name);
			return;
		}
	}
}

/* The XDP data plane has both ports of a wire, or none. */
static void check_plane(struct reader *reader, const struct json_path *path,
	const struct config *config, unsigned i)
{
	const struct wire *wire = &config->wires[i];
	const struct json_path at = {.parent = path, .key = "b"};
	const struct port_config *a, *b;

	if (wire->a >= config->n_ports || wire->b >= config->n_ports)
		return;
	a = &config->ports[wire->a];
	b = &config->ports[wire->b];
	if (a->device[0] != '\0' && b->device[0] != '\0' && port_is_xdp(a) != port_is_xdp(b))
		reader_report(
			reader, &at, MESSAGE(WIRE_MIXES_XDP), port_is_xdp(a) ? a->name : b->name);
	else if (port_is_xdp(a) && port_is_xdp(b) && a->generic != b->generic)
		reader_report(
			reader, &at, MESSAGE(WIRE_MIXES_GENERIC), a->generic ? a->name : b->name);
}

static void check_generic(struct reader *reader, const struct config *config)
{
	const struct json_path ports = {.key = "ports"};

	for (unsigned i = 0; i < config->n_ports; i++) {
		const struct port_config *port = &config->ports[i];
		const struct json_path named = {.parent = &ports, .key = port->name};
		const struct json_path at = {.parent = &named, .key = "generic"};

		if (port->generic && port->device[0] != '\0' && !port_is_xdp(port))
			reader_report(reader, &at, MESSAGE(NEEDS_XDP));
	}
}

/* Workers take packets from every queue of an XDP port, so "queues" cannot reduce them. */
static void check_queues(struct reader *reader, const struct config *config)
{
	const struct json_path ports = {.key = "ports"};

	for (unsigned i = 0; i < config->n_ports; i++) {
		const struct port_config *port = &config->ports[i];
		const struct json_path named = {.parent = &ports, .key = port->name};
		const struct json_path at = {.parent = &named, .key = "queues"};

		if (port_is_xdp(port) && port->queues > 0)
			reader_report(reader, &at, MESSAGE(QUEUES_OF_XDP));
	}
}

static void check_last_limits(
	struct reader *reader, const struct json_path *at, const struct config *config, unsigned i)
{
	const struct wire *wire = &config->wires[i];

	if (wire->a < config->n_ports && wire->b < config->n_ports && !wire_has_plane(config, wire))
		reader_report(reader, at, MESSAGE(LAST_LIMITS_NEED_XDP));
}

static void check_fail(struct reader *reader, const struct json_path *wire,
	const struct config *config, unsigned i)
{
	const struct json_path at = {.parent = wire, .key = "fail"};
	const struct json_path after = {.parent = wire, .key = "fail_after"};
	const struct policy *hard;

	switch (config->wires[i].fail) {
	case FAIL_OPEN:
		check_ports(reader, &at, config, i);
		hard = find_hard(config, i);
		if (hard)
			reader_report(reader, &at, MESSAGE(FAIL_OPEN_HARD), hard->name);
		break;
	case FAIL_LAST_LIMITS:
		check_last_limits(reader, &at, config, i);
		break;
	default:
		if (reader_has(reader, wire, "fail_after") &&
			!(config->wires[i].a < config->n_ports &&
				config->wires[i].b < config->n_ports &&
				wire_has_plane(config, &config->wires[i])))
			reader_report(reader, &after, MESSAGE(FAIL_AFTER_NEEDS_OPEN));
	}
}

void fail_check(struct reader *reader, const struct config *config)
{
	struct json_path wires = {.key = "wires"};

	check_queues(reader, config);
	check_generic(reader, config);
	for (unsigned i = 0; i < config->n_wires; i++) {
		struct json_path wire = {.parent = &wires, .index = i};

		check_plane(reader, &wire, config, i);
		check_fail(reader, &wire, config, i);
	}
}

/* Lists policies whose packets the kernel leaves to workers, each with the reason. */
static void describe_plane(const struct config *config, FILE *out)
{
	fprintf(out, "  the kernel decides its packets; workers decide\n");
	for (unsigned i = 0; i < config->n_policies; i++) {
		const char *why = policy_needs_worker(&config->policies[i]);

		if (why)
			fprintf(out, "    policy \"%s\", because it %s\n", config->policies[i].name,
				why);
	}
	fprintf(out, "    fragments and packets with further headers before IP\n");
}

void describe_fail(const struct config *config, const struct wire *wire, FILE *out)
{
	static const char *const words[] = {
		[FAIL_OPEN] = "pass unlimited",
		[FAIL_LAST_LIMITS] = "keep to the last limits; packets of the workers pass, or are "
				     "lost if they could belong to a hard limit",
		[FAIL_CLOSED] = "are lost",
	};
	enum fail_mode fail = wire_fail(config, wire);
	char text[UNITS_TEXT_MAX];

	if (wire_has_plane(config, wire))
		describe_plane(config, out);
	if (wire_has_programs(config, wire))
		fprintf(out,
			"  while Weir is stopped, or a worker stalls for %s, its packets "
			"%s\n",
			units_format_time(wire->fail_after_ns, text, sizeof(text)), words[fail]);
}
