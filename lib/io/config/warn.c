/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Warns of valid settings that are probably mistakes (check.h).
 */
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>

#include "allocate/allocate.h"
#include "config/check.h"
#include "config/config_messages.h"
#include "policy/kind.h"
#include "policy/trial.h"
#include "policy/units.h"
#include "policy/value.h"

#define ETHERNET_BYTES    18U /* header 14 and FCS 4 */
#define TIMEOUT_INTERVALS 3   /* messages that a peer may miss before it counts as lost */

/* "grd" keeps the limit with demand that is at most so old and, in a large group, so smooth. */
#define GRD_INTERVAL_MOST_NS 100000000
#define GRD_LARGE_GROUP      32 /* limiters */
#define GRD_KEEP_LEAST       0.75

static void warn_wires(struct reader *reader, const struct config *config)
{
	static const struct json_path wires = {.key = "wires"}, ports = {.key = "ports"};
	bool used[CONFIG_PORTS_MAX] = {false};

	if (config->n_wires == 0)
		reader_report(reader, &wires, MESSAGE(NO_WIRES));
	for (unsigned i = 0; i < config->n_wires; i++) {
		const struct wire *wire = &config->wires[i];
		const struct port_config *a = &config->ports[wire->a], *b = &config->ports[wire->b];
		struct json_path at = {.parent = &wires, .index = i};

		used[wire->a] = used[wire->b] = true;
		if (a->mtu != b->mtu)
			reader_report(
				reader, &at, MESSAGE(MTU_UNEVEN), a->name, a->mtu, b->name, b->mtu);
	}
	for (unsigned i = 0; i < config->n_ports; i++) {
		struct json_path at = {.parent = &ports, .key = config->ports[i].name};

		if (!used[i])
			reader_report(reader, &at, MESSAGE(PORT_UNUSED));
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
		reader_report(reader, &unparsed, MESSAGE(UNPARSED_PASSES));
}

static void warn_workers(struct reader *reader, const struct config *config)
{
	static const struct json_path workers = {.key = "workers"};

	for (unsigned i = 0; i < config->n_workers && config->idle == IDLE_POLL; i++) {
		struct json_path at = {.parent = &workers, .index = i};
		bool listed = json_is_string(json_path_find(reader->root, &workers));

		if (config->workers[i] == config->control_cpu)
			reader_report(reader, listed ? &workers : &at, MESSAGE(CONTROL_SHARES_CPU));
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
	struct json_path estimator = {.parent = &gossip, .key = "estimator"};
	uint64_t shortest = shortest_policy_interval(config);
	char text[UNITS_TEXT_MAX];

	if (config->gossip.n_roster == 1)
		return;
	if (config->gossip.insecure)
		reader_report(reader, &insecure, MESSAGE(GOSSIP_INSECURE));
	/* One more name in a file must not part its limiter from the others. */
	if (config->gossip.estimator == ESTIMATOR_TREE &&
		!reader_has(reader, &gossip, estimator.key))
		reader_report(
			reader, &estimator, MESSAGE(ESTIMATOR_BY_SIZE), config->gossip.n_roster);
	if (config->n_policies > 0 && config->gossip.timeout_ns < TIMEOUT_INTERVALS * shortest)
		reader_report(reader, &timeout, MESSAGE(TIMEOUT_SHORT), TIMEOUT_INTERVALS,
			units_format_time(shortest, text, sizeof(text)));
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
			reader_report(reader, &at, MESSAGE(PEER_LOOPBACK));
	}
}

static void warn_socket(struct reader *reader, const struct config *config)
{
	static const struct json_path control = {.key = "control"};
	struct json_path at = {.parent = &control, .key = "socket"};

	if (config->control_socket[0] != '/' && reader_has(reader, &control, "socket"))
		reader_report(reader, &at, MESSAGE(SOCKET_RELATIVE));
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
		reader_report(reader, &at, MESSAGE(WINDOW_DIVIDED), policy_quota(policy), limiters,
			windows);
}

/* Warns of allocators meant for comparison with papers, or that keep a limit only within bounds. */
static void warn_allocator(struct reader *reader, const struct json_path *path,
	const struct policy *policy, unsigned n_limiters)
{
	struct json_path allocator = {.parent = path, .key = "allocator"};
	struct json_path interval = {.parent = path, .key = "interval"};
	struct json_path ewma = {.parent = path, .key = "ewma"};

	if (n_limiters >= 2 && policy->allocator == &allocator_gtb)
		reader_report(reader, &allocator, MESSAGE(GTB_UNFAIR));
	if (n_limiters < 2 || policy->allocator != &allocator_grd)
		return;
	if (policy->interval_ns > GRD_INTERVAL_MOST_NS)
		reader_report(reader, &interval, MESSAGE(GRD_LATE));
	if (n_limiters >= GRD_LARGE_GROUP && policy->keep_per_second < GRD_KEEP_LEAST)
		reader_report(reader, &ewma, MESSAGE(GRD_OSCILLATES));
}

static void warn_policy(struct reader *reader, const struct json_path *path,
	const struct policy *policy, const struct config *config, uint64_t frame)
{
	struct json_path window = {.parent = path, .key = "window"};
	struct json_path per = {.parent = path, .key = "per"};
	struct json_path guarantee = {.parent = path, .key = "guarantee"};
	unsigned n_workers = config->n_workers;
	/* If CPUs of the kernel also decide packets, more policies draw from a shared bucket. */
	const bool workers_share = policy_shares_shared_bucket(policy) ||
				   (config_has_plane(config) && policy_is_one_bucket(policy));

	burst_warn(reader, path, policy, frame, config->gossip.n_roster);
	schedule_warn(reader, path, policy, frame, config->gossip.n_roster);
	if (policy->count == COUNT_BYTES && meter_can(policy->meter, METER_WINDOW) &&
		policy_quota(policy) < frame)
		reader_report(
			reader, &window, MESSAGE(WINDOW_BELOW_FRAME), policy_quota(policy), frame);
	warn_windows(reader, path, policy, config);
	if (policy->per_v4 != 0 && n_workers > 1)
		reader_report(reader, &per, MESSAGE(PER_OF_WORKERS), n_workers, n_workers);
	if (policy_is_hard(policy) && n_workers > 1 && !workers_share)
		reader_report(reader, &guarantee, MESSAGE(HARD_OF_WORKERS), n_workers);
	guarantee_warn(reader, path, policy, config->gossip.n_roster);
	warn_allocator(reader, path, policy, config->gossip.n_roster);
}

static void warn_policies(struct reader *reader, const struct config *config)
{
	static const struct json_path policies = {.key = "policies"};
	uint64_t largest = 0;

	for (unsigned i = 0; i < config->n_ports; i++)
		if (config->ports[i].mtu + ETHERNET_BYTES > largest)
			largest = config->ports[i].mtu + ETHERNET_BYTES;
	if (config->n_policies == 0 && config_drops(config) == 0)
		reader_report(reader, &policies, MESSAGE(NO_POLICIES));
	for (unsigned i = 0; i < config->n_policies; i++) {
		struct json_path at = {.parent = &policies, .index = i};

		warn_policy(reader, &at, &config->policies[i], config, largest);
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
