/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/config.h"

#include <stdarg.h>
#include <string.h>

#include "allocate/allocate.h"
#include "config/check.h"
#include "config/describe.h"
#include "policy/kind.h"
#include "policy/schedule.h"
#include "policy/trial.h"
#include "policy/units.h"
#include "policy/value.h"

static const char *plural_suffix(unsigned n)
{
	return n == 1 ? "" : "s";
}

/* A limiter without its own groups leaves both rights to the user that it runs as. */
static void describe_access(const struct config *config, FILE *out)
{
	const char *group = config->control_group;

	if (group[0] == '\0')
		group = config->control_operators;
	fprintf(out, "    read by group %s, changed by root and its own user",
		group[0] != '\0' ? group : "of that user");
	if (config->control_operators[0] != '\0')
		fprintf(out, ", and group %s", config->control_operators);
	fputc('\n', out);
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
	describe_access(config, out);
	if (config->watchdog_ns) {
		char time[UNITS_TEXT_MAX];

		units_format_time(config->watchdog_ns, time, sizeof(time));
		fprintf(out, "  a worker stuck for %s ends the process\n", time);
	}
	if (config->n_eal > 0) {
		fputs("  extra EAL arguments:", out);
		for (unsigned i = 0; i < config->n_eal; i++)
			fprintf(out, " %s", config->eal[i]);
		fputc('\n', out);
	}
}

static const char *const offloads_words[] = {
	[OFFLOADS_FIX] = "offloads of its interface that alter packets are switched off",
	[OFFLOADS_REFUSE] = "no start while offloads of its interface alter packets",
	[OFFLOADS_IGNORE] = "offloads of its interface may alter packets",
};

static void describe_wires(const struct config *config, FILE *out)
{
	for (unsigned i = 0; i < config->n_ports; i++) {
		const struct port_config *port = &config->ports[i];

		fprintf(out, "port %s: %s, MTU %u\n", port->name, port->device, port->mtu);
		if (port_is_of_kernel(port))
			fprintf(out, "  %s\n", offloads_words[port->offloads]);
	}
	for (unsigned i = 0; i < config->n_wires; i++) {
		const struct wire *wire = &config->wires[i];

		fprintf(out, "wire %s: a is %s, b is %s\n", wire->name, config->ports[wire->a].name,
			config->ports[wire->b].name);
		if (wire->distribute && config->n_workers > 1)
			fprintf(out,
				"  its flows go to all workers, also where it has fewer queues\n");
		if (wire->link == LINK_FOLLOW)
			fprintf(out, "  when one end loses its link the other is taken down\n");
		describe_otherwise(config, wire, out);
		describe_fail(config, wire, out);
	}
}

static const char *estimator_words(const struct gossip_config *gossip)
{
	static const char *const words[] = {
		[ESTIMATOR_STATE] = "each limiter keeps the newest record of all others",
		[ESTIMATOR_TREE] = "summed along a tree over the roster",
	};

	return words[gossip->estimator];
}

static void describe_keys(const struct gossip_config *gossip, FILE *out)
{
	if (gossip->n_key_files == 0) {
		fprintf(out,
			"gossip: NOT ENCRYPTED (insecure): datagrams of any sender are accepted\n");
		return;
	}
	fprintf(out, "gossip: encrypted with the key in %s\n", gossip->key_files[0]);
	if (gossip->n_key_files > 1)
		fprintf(out, "  also accepts the key in %s\n", gossip->key_files[1]);
	if (gossip->identity_file[0] != '\0')
		fprintf(out, "  each limiter has an identity, this one in %s%s\n",
			gossip->identity_file,
			gossip->identities == IDENTITIES_OPTIONAL
				? "; limiters without one are accepted (\"optional\")"
				: "");
}

static void describe_gossip(const struct gossip_config *gossip, FILE *out)
{
	unsigned others = gossip->n_roster - 1;
	unsigned n_children = gossip->branching < others ? gossip->branching : others;
	char address[ADDRESS_TEXT_MAX], time[UNITS_TEXT_MAX];

	if (gossip->n_roster == 1) {
		fprintf(out, "group: N = 1, no gossip; limits are this limiter's alone\n");
		return;
	}
	fprintf(out, "group: N = %u limiters\n", gossip->n_roster);
	for (unsigned i = 0; i < gossip->n_roster; i++) {
		const struct peer_config *peer = &gossip->roster[i];

		fprintf(out, "  %s at %s%s\n", peer->name,
			address_format(&peer->address, address, sizeof(address)),
			i == gossip->self ? " (this limiter)" : "");
	}
	describe_keys(gossip, out);
	fprintf(out, "  listens on %s\n",
		address_format(&gossip->listen, address, sizeof(address)));
	if (gossip->estimator == ESTIMATOR_TREE)
		fprintf(out,
			"  sends to a parent and to at most %u %s, in datagrams of at most %u bytes\n",
			n_children, n_children == 1 ? "child" : "children", gossip->datagram_max);
	else
		fprintf(out, "  sends to %u peer%s an interval, in datagrams of at most %u bytes\n",
			n_children, plural_suffix(n_children), gossip->datagram_max);
	fprintf(out, "  demand of the group: %s\n", estimator_words(gossip));
	fprintf(out,
		"  a peer is lost after %s a round without gossip, and 1/%u of each limit with it\n",
		units_format_time(gossip->timeout_ns, time, sizeof(time)), gossip->n_roster);
}

/* Writes a part of a line. It begins with a space, and with a comma after earlier parts. */
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
	if (match->last)
		describe_part(out, &parts, "packets without another policy");
	fputs(parts > 0 ? "\n" : " every packet that no other policy takes\n", out);
}

#define MATCHES_SHOWN 8

static void describe_matches(const struct config *config, const struct policy *policy, FILE *out)
{
	unsigned n = policy_n_matches(policy);
	unsigned shown = n > MATCHES_SHOWN ? MATCHES_SHOWN : n;

	for (unsigned i = 0; i < shown; i++) {
		fputs(i == 0 ? "  takes" : "    or", out);
		describe_match(config, policy_match(policy, i), out);
	}
	if (n > shown)
		fprintf(out, "    or by %u more matches\n", n - shown);
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
			shape->ecn ? "marks, or drops unmarkable packets" : "drops");
	else
		fputs("; a full queue drops", out);
	if (policy_is_timed(policy))
		fputs("; a new limit applies to later packets", out);
	fputc('\n', out);
	if (policy->slo_p99_ns > 0)
		fprintf(out, "  target: 99 %% of the packets wait at most %s\n",
			units_format_time(policy->slo_p99_ns, text, sizeof(text)));
}

static void describe_classes(const struct policy *policy, FILE *out)
{
	const struct classes_config *classes = &policy->classes;

	if (!meter_can(policy->meter, METER_CLASSES))
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

/* Writes the amount that can pass together, or in a window: "burst 75kB". */
static void describe_depth(const struct policy *policy, FILE *out)
{
	char units[UNITS_TEXT_MAX], window[UNITS_TEXT_MAX];

	if (policy->window_ns > 0)
		fprintf(out, "%s in each %s",
			format_units(policy, policy_quota(policy), units, sizeof(units)),
			units_format_time(policy->window_ns, window, sizeof(window)));
	else
		fprintf(out, "burst %s",
			format_units(policy, policy->burst_bytes, units, sizeof(units)));
}

static const char *meter_prose(enum meter_kind meter)
{
#define METER_PROSE(constant, member, prefix, state, profile, set, name, prose, ...) prose,
	static const char *const prose[] = {METERS(METER_PROSE, METER_PROSE)};
#undef METER_PROSE

	return prose[meter];
}

/* Writes the second limit: "up to 200Mbit/s, burst 5MB". */
static void describe_second(const struct policy *policy, FILE *out)
{
	char rate[UNITS_TEXT_MAX], units[UNITS_TEXT_MAX];
	struct policy second = policy_with_terms(policy, &policy->colours.second);

	if (meter_can(policy->meter, METER_PEAK))
		fputs("up to a peak of ", out);
	else if (meter_can(policy->meter, METER_SPILLS))
		fputs("the unused part of the limit, ", out);
	else
		fputs("in addition to the limit, up to ", out);
	if (!meter_can(policy->meter, METER_SPILLS))
		fprintf(out, "%s, ", format_limit(&second, 1, rate, sizeof(rate)));
	fprintf(out, "burst %s", format_units(policy, second.burst_bytes, units, sizeof(units)));
}

static void describe_colour(const struct policy *policy, enum colour colour, FILE *out)
{
	const struct colour_action *action = &policy->colours.actions[colour];
	struct policy acts = *policy;

	acts.action = action->action;
	acts.mark = action->mark;
	fputs(" ", out);
	describe_action(&acts, out);
	fputc('\n', out);
}

static void describe_incoming(const struct colours_config *colours, FILE *out)
{
	unsigned n = 0;

	if (!colours->aware) {
		fputs("    the colour of arriving packets does not count\n", out);
		return;
	}
	fputs("    no better than the colour of the arriving packet, by DSCP:", out);
	for (unsigned i = 0; i < COLOUR_DSCPS; i++)
		if (colours->of_dscp[i] != COLOUR_GREEN)
			fprintf(out, "%s %u %s", n++ > 0 ? "," : "", i,
				colours->of_dscp[i] == COLOUR_RED ? "red" : "yellow");
	fputs(n > 0 ? ", others green\n" : " all green\n", out);
}

/* Writes a line for each colour. */
static void describe_colours(const struct policy *policy, FILE *out)
{
	fputs("  green: the limit, ", out);
	describe_depth(policy, out);
	fputs(";", out);
	describe_colour(policy, COLOUR_GREEN, out);
	fputs("  yellow: ", out);
	describe_second(policy, out);
	fputs(";", out);
	describe_colour(policy, COLOUR_YELLOW, out);
	fputs("  red: the rest;", out);
	describe_colour(policy, COLOUR_RED, out);
	fprintf(out, "    (%s)\n", meter_prose(policy->meter));
	describe_incoming(&policy->colours, out);
}

static void describe_meter(const struct policy *policy, FILE *out)
{
	if (policy_is_coloured(policy)) {
		describe_colours(policy, out);
		return;
	}
	fputs("  ", out);
	if (meter_can(policy->meter, METER_AT_RANDOM)) {
		fputs("the excess, chosen at random, ", out);
	} else {
		describe_depth(policy, out);
		fputs(", the excess ", out);
	}
	describe_action(policy, out);
	fprintf(out, " (%s)\n", meter_prose(policy->meter));
	describe_classes(policy, out);
}

static void describe_trial(const struct policy *policy, FILE *out)
{
	char rate[UNITS_TEXT_MAX];
	struct policy trial;

	if (!policy_has_trial(policy))
		return;
	trial = policy_trial(policy);
	fprintf(out, "  trial, without effect: %s, ", format_limit(&trial, 1, rate, sizeof(rate)));
	describe_depth(&trial, out);
	fprintf(out, " (%s)\n", meter_prose(trial.meter));
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
	fprintf(out, "  allocator %s every %s, past demand counts %g%% after a second\n",
		policy->allocator->name, units_format_time(policy->interval_ns, text, sizeof(text)),
		100 * policy->keep_per_second);
	if (policy->weigh_tcp_only)
		fputs("  flows other than TCP are no evidence of a fair share\n", out);
}

static void describe_schedule(const struct policy *policy, FILE *out)
{
	const struct schedule *schedule = policy->schedule;
	char days[SCHEDULE_DAYS_MAX], limit[UNITS_TEXT_MAX], burst[UNITS_TEXT_MAX];

	for (unsigned i = 0; schedule && i < schedule->n; i++) {
		const struct schedule_entry *entry = &schedule->entries[i];
		struct policy other = *policy;

		other.limit_bps = entry->terms.limit_bps;
		other.limit_s = entry->terms.limit_s;
		fprintf(out, "  %s %02u:%02u to %02u:%02u in %s: limit %s",
			schedule_format_days(entry->days, days), entry->from_s / 3600,
			entry->from_s / 60 % 60, entry->to_s / 3600, entry->to_s / 60 % 60,
			schedule->zone_name, format_limit(&other, 1, limit, sizeof(limit)));
		if (meter_can(policy->meter, METER_BURST))
			fprintf(out, ", burst %s",
				format_units(
					policy, entry->terms.burst_bytes, burst, sizeof(burst)));
		fputc('\n', out);
	}
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
	if (policy->per_v4 != 0)
		fprintf(out, "  for each source: IPv4 by /%u, IPv6 by /%u; %u sources a worker\n",
			policy->per_v4, policy->per_v6, policy->sources);
	describe_meter(policy, out);
	describe_schedule(policy, out);
	describe_shape(policy, out);
	describe_trial(policy, out);
}

static void describe_place_in_tree(
	const struct config *config, const struct policy *policy, FILE *out)
{
	unsigned index = (unsigned)(policy - config->policies);
	int divider = policy_divider(config->policies, index);
	char text[UNITS_TEXT_MAX];
	struct policy guaranteed = *policy;

	if (policy_is_parent(policy))
		fprintf(out, "  limits %u polic%s together\n", policy->children,
			policy->children > 1 ? "ies" : "y");
	if (!policy_has_parent(policy))
		return;
	if (policy->parent != divider || !policy_has_part(config->policies, index))
		fprintf(out, "  within %s\n", config->policies[policy->parent].name);
	if (!policy_has_part(config->policies, index))
		return;
	fprintf(out, "  of %s it has", config->policies[divider].name);
	guaranteed.limit_bps = policy->guaranteed_bps;
	if (policy->guaranteed_bps > 0)
		fprintf(out, " %s first, and", format_limit(&guaranteed, 1, text, sizeof(text)));
	fprintf(out, " a part of the rest by weight %u\n", policy->weight);
}

static void describe_policy(const struct config *config, const struct policy *policy, FILE *out)
{
	unsigned n = config->gossip.n_roster;

	fprintf(out, "policy %s\n", policy->name);
	if (policy->unmatched)
		fputs("  takes only the packets of its children\n", out);
	else
		describe_matches(config, policy, out);
	describe_place_in_tree(config, policy, out);
	if (policy_is_quota(policy))
		describe_quota(policy, n, out);
	else
		describe_rate(policy, n, out);
	describe_allocator(policy, out);
	describe_share(policy, n, out);
	describe_place(config, policy, out);
}

/*
 * Writes one line for all policies that need fields which a fragment, or a long chain, does not
 * show.
 */
static void describe_unparsed(const struct config *config, FILE *out)
{
	static const char *const what[] = {
		[UNPARSED_STRICT] = "are charged to the strictest policy that they could be of",
		[UNPARSED_DROP] = "are dropped",
		[UNPARSED_PASS] = ("are charged as if they had no ports: a sender who fragments is "
				   "not limited by ports or new flows"),
	};

	if (policies_ask_first(config->policies, config->n_policies))
		fprintf(out,
			"fragments belong to the policy of their first fragment; fragments without it, and other packets that are not parsed, %s\n",
			what[config_unparsed(config)]);
}

void config_describe(const struct config *config, FILE *out)
{
	describe_process(config, out);
	describe_wires(config, out);
	describe_gossip(&config->gossip, out);
	describe_ledger(config, out);
	if (config->tunnels.classify == TUNNELS_INNER)
		fprintf(out,
			"tunnels: packets inside GRE, VXLAN (UDP port %u) and IP in IP are classified\n",
			config->tunnels.vxlan_port);
	describe_unparsed(config, out);
	if (config->shadow)
		fputs("shadow: nothing is enforced, every packet passes\n", out);
	for (unsigned i = 0; i < config->n_policies; i++)
		describe_policy(config, &config->policies[i], out);
	if (config->n_policies == 0 && config_drops(config) == 0)
		fputs("no policy: every packet passes\n", out);
}
