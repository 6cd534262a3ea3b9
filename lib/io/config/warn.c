/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>

#include "allocate/allocate.h"
#include "config/check.h"
#include "policy/kind.h"
#include "policy/shadow.h"
#include "policy/units.h"
#include "policy/value.h"

#define ETHERNET_BYTES    18U /* header 14 and FCS 4 */
#define TIMEOUT_INTERVALS 3   /* messages that a peer may miss before it counts as lost */

static void warn_mtus(struct reader *reader, const struct config *config, unsigned i)
{
	static const struct json_path wires = {.key = "wires"};
	const struct wire *wire = &config->wires[i];
	const struct port_config *a = &config->ports[wire->a], *b = &config->ports[wire->b];
	struct json_path at = {.parent = &wires, .index = i};

	if (a->mtu != b->mtu)
		reader_warn(reader, &at,
			"%s has an MTU of %u and %s one of %u: packets that are too large for the "
			"other end are dropped, and their senders get no ICMP message",
			a->name, a->mtu, b->name, b->mtu);
}

static void warn_wires(struct reader *reader, const struct config *config)
{
	static const struct json_path wires = {.key = "wires"}, ports = {.key = "ports"};
	bool used[CONFIG_PORTS_MAX] = {false};

	if (config->n_wires == 0)
		reader_warn(reader, &wires, "no packet is forwarded without a wire");
	for (unsigned i = 0; i < config->n_wires; i++) {
		used[config->wires[i].a] = used[config->wires[i].b] = true;
		warn_mtus(reader, config, i);
	}
	for (unsigned i = 0; i < config->n_ports; i++) {
		struct json_path at = {.parent = &ports, .key = config->ports[i].name};

		if (!used[i])
			reader_warn(reader, &at, "in no wire, so it is not used");
	}
}

/*
 * The sender of the packets chooses their format, so a limited sender can choose one that passes.
 */
static void warn_unparsed(struct reader *reader, const struct config *config)
{
	static const struct json_path unparsed = {.key = "unparsed"};

	if (config->unparsed == UNPARSED_PASS &&
		policies_ask_first(config->policies, config->n_policies))
		reader_warn(reader, &unparsed,
			"senders who fragment their packets are not limited by ports, protocol or "
			"new flows");
}

static void warn_workers(struct reader *reader, const struct config *config)
{
	static const struct json_path workers = {.key = "workers"};

	for (unsigned i = 0; i < config->n_workers && config->idle == IDLE_POLL; i++) {
		struct json_path at = {.parent = &workers, .index = i};
		bool listed = json_is_string(json_path_find(reader->root, &workers));

		if (config->workers[i] == config->control_cpu)
			reader_warn(reader, listed ? &workers : &at,
				"control has this CPU too, and a polling worker leaves it little");
	}
}

static uint64_t shortest_policy_interval(const struct config *config)
{
	uint64_t shortest = UINT64_MAX;

	for (unsigned i = 0; i < config->n_policies; i++) {
		if (config->policies[i].interval_ns < shortest)
			shortest = config->policies[i].interval_ns;
	}
	return shortest;
}

static void warn_gossip(struct reader *reader, const struct config *config)
{
	static const struct json_path gossip = {.key = "gossip"};
	struct json_path insecure = {.parent = &gossip, .key = "insecure"};
	struct json_path timeout = {.parent = &gossip, .key = "timeout"};
	uint64_t shortest = shortest_policy_interval(config);
	char text[UNITS_TEXT_MAX];

	if (config->gossip.n_roster == 1)
		return;
	if (config->gossip.insecure)
		reader_warn(reader, &insecure,
			"gossip is not encrypted: any host that can send to this limiter can "
			"change its limits");
	if (config->n_policies > 0 && config->gossip.timeout_ns < TIMEOUT_INTERVALS * shortest)
		reader_warn(reader, &timeout,
			"less than %d intervals of %s: a late message makes a peer lost",
			TIMEOUT_INTERVALS, units_format_time(shortest, text, sizeof(text)));
}

/* Warns of a peer at a loopback address if this limiter's own address is not one. */
static void warn_loopback(struct reader *reader, const struct gossip_config *gossip)
{
	static const struct json_path path_gossip = {.key = "gossip"};
	static const struct json_path roster = {.parent = &path_gossip, .key = "roster"};
	bool own = gossip->self < gossip->n_roster &&
		   address_is_loopback(&gossip->roster[gossip->self].address);

	for (unsigned i = 0; i < gossip->n_roster; i++) {
		struct json_path element = {.parent = &roster, .index = i};
		struct json_path at = {.parent = &element, .key = "address"};

		if (!own && gossip->roster[i].address_len > 0 &&
			address_is_loopback(&gossip->roster[i].address))
			reader_warn(reader, &at,
				"only this machine reaches it, and this limiter is at an address "
				"of the network: they do not reach each other");
	}
}

static void warn_socket(struct reader *reader, const struct config *config)
{
	static const struct json_path control = {.key = "control"};
	struct json_path at = {.parent = &control, .key = "socket"};

	if (config->control_socket[0] != '/' && reader_has(reader, &control, "socket"))
		reader_warn(reader, &at,
			"below the directory in which weir happens to be started: weirctl finds "
			"it by a whole path");
}

static uint64_t largest_port_frame(const struct config *config)
{
	uint64_t frame = 0;

	for (unsigned i = 0; i < config->n_ports; i++) {
		if (config->ports[i].mtu + ETHERNET_BYTES > frame)
			frame = config->ports[i].mtu + ETHERNET_BYTES;
	}
	return frame;
}

/*
 * Each limiter and each of its workers has its own windows, and at least one packet passes in each.
 */
static void warn_windows(struct reader *reader, const struct json_path *path,
	const struct policy *policy, const struct config *config)
{
	struct json_path at = {.parent = path, .key = "limit"};
	unsigned limiters = config->gossip.n_roster ? config->gossip.n_roster : 1;
	uint64_t windows = (uint64_t)limiters * config->n_workers;

	if (!meter_can(policy->meter, METER_WINDOW))
		return;
	if (policy->count != COUNT_BYTES && policy->limit_bps > 0 && policy_quota(policy) < windows)
		reader_warn(reader, &at,
			"%" PRIu64
			" in a window, of which each worker of %u limiters lets one pass, "
			"%" PRIu64 " in all: a token bucket divides it exactly",
			policy_quota(policy), limiters, windows);
}

/*
 * Allocators meant for comparison with papers, or that keep a limit only within bounds. A row warns
 * about larger groups, longer intervals and a smaller "ewma" than these.
 */
static const struct allocator_risk {
	const struct allocator *allocator;
	unsigned limiters;
	uint64_t interval_ns;
	double keep;
	const char *key, *words;
} allocator_risks[] = {
	{&allocator_gtb, 2, 0, 1, "allocator",
		"for comparison with papers: its parts of the limit are unfair, and large groups "
		"exceed the limit; \"fps\" does not"},
	{&allocator_grd, 2, 100000000, 1, "interval",
		"\"grd\" exceeds the limit if its demand is older than 100ms: use \"50ms\""},
	{&allocator_grd, 32, 0, 0.75, "ewma",
		"\"grd\" oscillates in so large a group and exceeds the limit: use 0.75 or more, or "
		"\"fps\""},
};

static void warn_allocator(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	for (size_t i = 0; i < sizeof(allocator_risks) / sizeof(*allocator_risks); i++) {
		const struct allocator_risk *risk = &allocator_risks[i];
		struct json_path at = {.parent = path, .key = risk->key};

		if (policy->allocator == risk->allocator && n_limiters >= risk->limiters &&
			policy->interval_ns > risk->interval_ns &&
			policy->keep_per_second < risk->keep)
			reader_warn(reader, &at, "%s", risk->words);
	}
}

/* If CPUs of the kernel also decide packets, more policies draw from a shared bucket. */
static bool workers_share(const struct policy *policy, const struct config *config)
{
	return policy_shares_shared_bucket(policy) ||
	       (config_has_plane(config) && policy_is_one_bucket(policy));
}

static void warn_policy(struct reader *reader, const struct json_path *path,
	const struct policy *policy, const struct config *config, uint64_t frame)
{
	struct json_path window = {.parent = path, .key = "window"};
	struct json_path per = {.parent = path, .key = "per"};
	struct json_path guarantee = {.parent = path, .key = "guarantee"};
	unsigned n_workers = config->n_workers;

	burst_warn(reader, path, policy, frame, config->gossip.n_roster);
	schedule_warn(reader, path, policy, frame, config->gossip.n_roster);
	if (policy->count == COUNT_BYTES && meter_can(policy->meter, METER_WINDOW) &&
		policy_quota(policy) < frame)
		reader_warn(reader, &window,
			"the limit is %" PRIu64 " bytes in it, less than %" PRIu64
			", so the largest frames never pass",
			policy_quota(policy), frame);
	warn_windows(reader, path, policy, config);
	if (policy->per_v4 != 0 && n_workers > 1)
		reader_warn(reader, &per,
			"a source whose flows are spread over %u workers may get up to %u times its limit",
			n_workers, n_workers);
	if (policy_is_hard(policy) && n_workers > 1 && !workers_share(policy, config))
		reader_warn(reader, &guarantee,
			"each of %u workers has an even part of it, at any load: workers share "
			"only limits that drop and count bytes",
			n_workers);
	guarantee_warn(reader, path, policy, config->gossip.n_roster);
	warn_allocator(reader, path, policy, config->gossip.n_roster);
}

static void warn_policies(struct reader *reader, const struct config *config)
{
	static const struct json_path policies = {.key = "policies"};
	uint64_t frame = largest_port_frame(config);

	if (config->n_policies == 0 && config_drops(config) == 0)
		reader_warn(reader, &policies, "every packet passes without a policy");
	for (unsigned i = 0; i < config->n_policies; i++) {
		struct json_path at = {.parent = &policies, .index = i};

		warn_policy(reader, &at, &config->policies[i], config, frame);
		level_warn(reader, &at, config->policies, i);
	}
}

void config_warn(struct reader *reader, const struct config *config, const struct config *running)
{
	warn_wires(reader, config);
	otherwise_warn(reader, config);
	warn_workers(reader, config);
	warn_unparsed(reader, config);
	warn_gossip(reader, config);
	warn_loopback(reader, &config->gossip);
	warn_socket(reader, config);
	warn_policies(reader, config);
	policies_warn_matches(reader, config->policies, config->n_policies);
	shape_warn(reader, config, running);
	ledger_warn(reader, config, shortest_policy_interval(config));
}
