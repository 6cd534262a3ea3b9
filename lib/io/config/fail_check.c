/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * "fail" of a wire: what becomes of its packets while Weir is away; what that needs, and what it
 * says in words.
 */
#include "config/check.h"
#include "config/describe.h"
#include "policy/kind.h"
#include "policy/units.h"

/* A policy that nobody may exceed, and whose packets may come by the wire; or NULL. */
static const struct policy *never_exceeded(const struct config *config, unsigned wire)
{
	for (unsigned i = 0; i < config->n_policies; i++) {
		const struct policy *policy = &config->policies[i];
		int of = policy->match.wire;

		if ((policy_is_conserved(policy) || policy_is_quota(policy)) &&
			(of == CONFIG_ANY || of == (int)wire))
			return policy;
	}
	return NULL;
}

/* Only where the kernel has the packets can it send them on. */
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
			reader_expected(reader, at,
				"\"closed\", as port \"%s\" is neither net_af_xdp nor "
				"net_af_packet",
				port->name);
			return;
		}
	}
}

static void check_policies(
	struct reader *reader, const struct json_path *at, const struct config *config, unsigned i)
{
	const struct policy *policy = never_exceeded(config, i);

	if (policy)
		reader_expected(reader, at,
			"\"closed\", as the limit of policy \"%s\" is never exceeded, and nobody "
			"would keep it",
			policy->name);
}

void fail_check(struct reader *reader, const struct config *config)
{
	struct json_path wires = {.key = "wires"};

	for (unsigned i = 0; i < config->n_wires; i++) {
		struct json_path wire = {.parent = &wires, .index = i};
		struct json_path at = {.parent = &wire, .key = "fail"};
		struct json_path after = {.parent = &wire, .key = "fail_after"};

		if (config->wires[i].fail == FAIL_CLOSED) {
			if (reader_has(reader, &wire, "fail_after"))
				reader_expected(reader, &after, "none unless \"fail\" is \"wire\"");
			continue;
		}
		if (config->wires[i].fail != FAIL_WIRE)
			continue;
		check_ports(reader, &at, config, i);
		check_policies(reader, &at, config, i);
	}
}

void describe_fail(const struct wire *wire, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	if (wire->fail == FAIL_WIRE)
		fprintf(out,
			"  while Weir is away, or a worker does not come round for %s, its packets "
			"pass unlimited\n",
			units_format_time(wire->fail_after_ns, text, sizeof(text)));
}
