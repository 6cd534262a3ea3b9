/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/config.h"

#include <stdarg.h>

#include "allocate/allocate.h"
#include "config/check.h"
#include "config/describe.h"
#include "policy/kind.h"
#include "policy/units.h"
#include "policy/value.h"

static const char *plural_suffix(unsigned n)
{
	return n == 1 ? "" : "s";
}

static void describe_process(const struct config *config, FILE *out)
{
	fprintf(out, "limiter %s\n", config->limiter);
	fprintf(out, "  %u worker%s on CPU", config->n_workers, plural_suffix(config->n_workers));
	for (unsigned i = 0; i < config->n_workers; i++)
		fprintf(out, " %u", config->workers[i]);
	fprintf(out, ", %s\n", config->idle == IDLE_POLL ? "always polling" : "asleep when idle");
	fprintf(out, "  control on CPU %u, socket %s\n", config->control_cpu,
		config->control_socket);
	if (config->n_eal > 0) {
		fputs("  extra EAL arguments:", out);
		for (unsigned i = 0; i < config->n_eal; i++)
			fprintf(out, " %s", config->eal[i]);
		fputc('\n', out);
	}
}

static void describe_wires(const struct config *config, FILE *out)
{
	for (unsigned i = 0; i < config->n_ports; i++) {
		const struct port_config *port = &config->ports[i];

		fprintf(out, "port %s: %s, MTU %u\n", port->name, port->device, port->mtu);
	}
	for (unsigned i = 0; i < config->n_wires; i++) {
		const struct wire *wire = &config->wires[i];

		fprintf(out, "wire %s: a is %s, b is %s\n", wire->name, config->ports[wire->a].name,
			config->ports[wire->b].name);
		if (wire->distribute && config->n_workers > 1)
			fprintf(out,
				"  its flows go to all workers, also where it has fewer queues\n");
	}
}

static void describe_peers(const struct gossip_config *gossip, FILE *out)
{
	char text[ADDRESS_TEXT_MAX];

	for (unsigned i = 0; i < gossip->n_roster; i++) {
		const struct peer_config *peer = &gossip->roster[i];

		fprintf(out, "  %s at %s%s\n", peer->name,
			address_format(&peer->address, text, sizeof(text)),
			i == gossip->self ? " (this limiter)" : "");
	}
}

static const char *estimator_words(const struct gossip_config *gossip)
{
	static const char *const words[] = {
		[ESTIMATOR_STATE] = "everybody keeps everybody's newest record",
		[ESTIMATOR_TREE] = "summed along a tree over the roster",
		[ESTIMATOR_PUSH_SUM] = "summed by push-sum",
	};

	return gossip->compensate ? "summed by push-sum, scaled for what is lost"
				  : words[gossip->estimator];
}

static void describe_gossip(const struct gossip_config *gossip, FILE *out)
{
	unsigned others = gossip->n_roster - 1;
	unsigned told = gossip->branching < others ? gossip->branching : others;
	char address[ADDRESS_TEXT_MAX], time[UNITS_TEXT_MAX];

	if (gossip->n_roster == 1) {
		fprintf(out, "group: N = 1, no gossip; limits are this limiter's alone\n");
		return;
	}
	fprintf(out, "group: N = %u limiters\n", gossip->n_roster);
	describe_peers(gossip, out);
	if (gossip->key_file[0] != '\0')
		fprintf(out, "gossip: sealed with the key in %s\n", gossip->key_file);
	else
		fprintf(out, "gossip: NOT SEALED (insecure): anybody's datagrams are believed\n");
	fprintf(out, "  listens on %s\n",
		address_format(&gossip->listen, address, sizeof(address)));
	fprintf(out, "  tells %u peer%s an interval, in datagrams of at most %u bytes\n", told,
		plural_suffix(told), gossip->datagram_max);
	fprintf(out, "  demand of the group: %s\n", estimator_words(gossip));
	fprintf(out,
		"  a peer not heard for %s a round counts as lost and takes 1/%u of each limit"
		" with it\n",
		units_format_time(gossip->timeout_ns, time, sizeof(time)), gossip->n_roster);
}

/* Starts with what `so_far` parts need: a space, or a comma. */
__attribute__((format(printf, 3, 4))) static void describe_part(
	FILE *out, unsigned *so_far, const char *format, ...)
{
	va_list args;

	fputs((*so_far)++ > 0 ? ", " : " ", out);
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
}

static void describe_transport(const struct match *match, unsigned *parts, FILE *out)
{
	const char *proto = proto_name(match->proto);
	char text[PORTS_TEXT_MAX];

	if (proto != NULL)
		describe_part(out, parts, "%s", proto);
	else if (match->proto != 0)
		describe_part(out, parts, "protocol %u", match->proto);
	if (match->src_port.first != 0)
		describe_part(out, parts, "from port %s",
			port_range_format(&match->src_port, text, sizeof(text)));
	if (match->dst_port.first != 0)
		describe_part(out, parts, "to port %s",
			port_range_format(&match->dst_port, text, sizeof(text)));
}

static void describe_match(const struct config *config, const struct match *match, FILE *out)
{
	char text[PREFIX_TEXT_MAX];
	unsigned parts = 0;

	fputs("  takes", out);
	if (match->wire != CONFIG_ANY)
		describe_part(out, &parts, "wire %s", config->wires[match->wire].name);
	if (match->direction != DIRECTION_ANY)
		describe_part(out, &parts, "%s", direction_name(match->direction));
	if (match->src.family != 0)
		describe_part(
			out, &parts, "from %s", prefix_format(&match->src, text, sizeof(text)));
	if (match->dst.family != 0)
		describe_part(out, &parts, "to %s", prefix_format(&match->dst, text, sizeof(text)));
	if (match->vlan != CONFIG_ANY)
		describe_part(out, &parts, "VLAN %d", match->vlan);
	if (match->dscp != CONFIG_ANY)
		describe_part(out, &parts, "DSCP %d", match->dscp);
	describe_transport(match, &parts, out);
	fputs(parts > 0 ? "\n" : " every packet that no other policy takes\n", out);
}

static void describe_sources(const struct policy *policy, FILE *out)
{
	if (policy->per_v4 == 0)
		return;
	fprintf(out, "  each source for itself: IPv4 by /%u, IPv6 by /%u; %u of them a worker\n",
		policy->per_v4, policy->per_v6, policy->sources);
}

static void describe_shape(const struct policy *policy, FILE *out)
{
	const struct shape_config *shape = &policy->shape;
	char text[UNITS_TEXT_MAX], other[UNITS_TEXT_MAX];

	if (!policy_is_shaped(policy))
		return;
	fprintf(out, "  waits at most %s", units_format_time(shape->delay_ns, text, sizeof(text)));
	if (shape->bytes > 0)
		fprintf(out, ", %s %s", format_units(policy, shape->bytes, text, sizeof(text)),
			policy_is_timed(policy) ? "in all" : "a worker");
	if (shape->drop == SHAPE_DROP_CODEL)
		fprintf(out, "; above %s for %s CoDel %s",
			units_format_time(shape->target_ns, text, sizeof(text)),
			units_format_time(shape->interval_ns, other, sizeof(other)),
			shape->ecn ? "marks, or drops what cannot be marked" : "drops");
	else
		fputs("; what finds the queue full is dropped", out);
	if (policy_is_timed(policy))
		fputs("; another limit is that of what comes after it", out);
	fputc('\n', out);
	if (policy->slo_p99_ns > 0)
		fprintf(out, "  meant that 99 %% of the packets wait at most %s\n",
			units_format_time(policy->slo_p99_ns, text, sizeof(text)));
}

static void describe_classes(const struct policy *policy, FILE *out)
{
	const struct classes_config *classes = &policy->classes;

	if (policy->meter != METER_PHANTOM)
		return;
	if (classes->by == CLASSES_BY_FLOW) {
		fprintf(out, "  shared fairly by flows, %u at a time\n", classes->n);
		return;
	}
	fputs("  shared fairly by DSCPs, of weight 1", out);
	for (unsigned i = 0; i < PHANTOM_DSCPS; i++) {
		if (classes->weights[i] > 1)
			fprintf(out, ", %u of weight %u", i, classes->weights[i]);
	}
	fputc('\n', out);
}

static void describe_meter(const struct policy *policy, FILE *out)
{
	static const char *const names[METER_KINDS] = {
		[METER_TOKEN_BUCKET] = "token bucket",
		[METER_GCRA] = "GCRA",
		[METER_FIXED_WINDOW] = "fixed window",
		[METER_HYBRID] = "hybrid of quota and even rate",
		[METER_RANDOM_DROP] = "random drop",
		[METER_PHANTOM] = "phantom queues",
	};
	char units[UNITS_TEXT_MAX], window[UNITS_TEXT_MAX];

	if (policy->meter == METER_RANDOM_DROP)
		fputs("  what is above, chosen at random, ", out);
	else if (policy->window_ns > 0)
		fprintf(out, "  %s in each %s, what is above ",
			format_units(policy, policy_quota(policy), units, sizeof(units)),
			units_format_time(policy->window_ns, window, sizeof(window)));
	else
		fprintf(out, "  burst %s, what is above ",
			format_units(policy, policy->burst_bytes, units, sizeof(units)));
	describe_action(policy, out);
	fprintf(out, " (%s)\n", names[policy->meter]);
	describe_classes(policy, out);
}

static void describe_history(const struct policy *policy, FILE *out)
{
	char interval[UNITS_TEXT_MAX], history[UNITS_TEXT_MAX], step[UNITS_TEXT_MAX];

	fprintf(out,
		"  allocator %s every %s: the rate by average arrivals, the burst by the largest backlog of the last %s, in steps of %s\n",
		policy->allocator->name,
		units_format_time(policy->interval_ns, interval, sizeof(interval)),
		units_format_time(policy->history_ns, history, sizeof(history)),
		units_format_time(policy->step_ns, step, sizeof(step)));
}

static void describe_allocator(const struct policy *policy, FILE *out)
{
	char text[UNITS_TEXT_MAX];

	if (policy->allocator->remembers) {
		describe_history(policy, out);
		return;
	}
	fprintf(out, "  allocator %s every %s, a demand of the past counts %g%% after a second\n",
		policy->allocator->name, units_format_time(policy->interval_ns, text, sizeof(text)),
		100 * policy->keep_per_second);
	if (policy->weigh_tcp_only)
		fputs("  flows other than TCP are no evidence of a fair share\n", out);
}

static void describe_rate(const struct policy *policy, unsigned n, FILE *out)
{
	char rate[UNITS_TEXT_MAX];

	fprintf(out, "  limit %s of %s", format_limit(policy, 1, rate, sizeof(rate)),
		counting_words(policy));
	if (n > 1)
		fprintf(out, ", over all %u limiters", n);
	fputc('\n', out);
	describe_guarantee(policy, n, out);
	describe_sources(policy, out);
	describe_meter(policy, out);
	describe_shape(policy, out);
}

static void describe_policy(const struct config *config, const struct policy *policy, FILE *out)
{
	unsigned n = config->gossip.n_roster;

	fprintf(out, "policy %s\n", policy->name);
	describe_match(config, &policy->match, out);
	if (policy_is_quota(policy))
		describe_quota(policy, n, out);
	else
		describe_rate(policy, n, out);
	describe_allocator(policy, out);
	describe_share(policy, n, out);
	describe_place(config, policy, out);
}

static void describe_tunnels(const struct tunnels *tunnels, FILE *out)
{
	if (tunnels->classify == TUNNELS_INNER)
		fprintf(out,
			"tunnels: packets inside GRE, VXLAN (UDP port %u) and IP in IP are classified\n",
			tunnels->vxlan_port);
}

void config_describe(const struct config *config, FILE *out)
{
	describe_process(config, out);
	describe_wires(config, out);
	describe_gossip(&config->gossip, out);
	describe_ledger(config, out);
	describe_tunnels(&config->tunnels, out);
	for (unsigned i = 0; i < config->n_policies; i++)
		describe_policy(config, &config->policies[i], out);
	if (config->n_policies == 0)
		fputs("no policy: every packet passes\n", out);
}
