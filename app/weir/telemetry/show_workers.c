/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Answers about workers and ports: packets, drops, waiting packets, delays and links.
 */
#include "show.h"

#include <rte_ethdev.h>

#include "base/time.h"
#include "delays.h"
#include "instance.h"
#include "interfaces.h"
#include "bypasses.h"
#include "links.h"
#include "losses.h"
#include "policy/kind.h"
#include "busy.h"
#include "packet/fragment.h"
#include "tick.h"
#include "totals.h"
#include "watch.h"

#define MICRO 1e6

static double quantile_us(const struct delay_sum *sum, double share)
{
	uint64_t hz = tick_hz();

	return (double)delay_quantile(sum, share, delay_unit(hz)) * MICRO / (double)hz;
}

/*
 * Shows how long a policy's packets have waited, in bins. Unlike quantiles, bins can be added over
 * limiters and subtracted over time.
 */
json_t *show_delays(const char *params, void *context)
{
	struct instance *inst = context;
	unsigned i = show_find(inst, params);
	const double hz = (double)tick_hz();
	const unsigned unit = delay_unit(tick_hz());
	struct delays_totals totals;
	uint64_t from = 0;
	json_t *bins;

	if (i == inst->n_policies || !policy_is_shaped(&inst->policies[i]))
		return NULL;
	delays_totals(inst, inst->slots.of[i], &totals);
	bins = json_array(); /* edges and counts of the bins with packets */
	for (unsigned b = 0; b < DELAY_BINS; b++) {
		uint64_t to = delay_bin_end(b, unit) + 1, n = totals.delay.bins[b];

		if (n)
			json_array_append_new(
				bins, json_pack("[f, f, o]", (double)from * MICRO / hz,
					      (double)to * MICRO / hz, json_uint(n)));
		from = to;
	}
	return json_pack(
		"{s:o, s:o}", "packets", json_uint(delay_count(&totals.delay)), "bins_us", bins);
}

json_t *show_waiting(struct instance *inst, unsigned worker)
{
	const struct shaper_counts *counts = shaper_counts(inst->workers[worker].shaper);
	const struct delay_sum *late = delays_lateness(inst, worker);

	return json_pack("{s:o, s:o, s:f, s:f}", "packets",
		json_uint(counter_read32(&counts->packets)), "room", json_uint(counts->most),
		"lateness_p99_us", quantile_us(late, 0.99), "lateness_max_us",
		quantile_us(late, 1));
}

#define OFFLOADS_TEXT 128

static json_t *drops_json(const uint64_t *counts)
{
	json_t *json = json_object();

	for (unsigned r = 0; r < DROP_REASONS; r++)
		json_object_set_new(json, drop_reason_name(r), json_uint(counter_read(&counts[r])));
	return json;
}

json_t *show_drops(const char *params, void *context)
{
	const struct instance *inst = context;
	const struct worker_counters totals = instance_worker_totals(inst);
	json_t *json = drops_json(totals.dropped);
	uint64_t missed = 0, no_buffer = 0, rx_errors = 0, tx_errors = 0;

	(void)params;
	/* Adds the packets that devices lost before or after the workers had them. */
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		struct rte_eth_stats stats;

		if (rte_eth_stats_get(inst->port_ids[i], &stats))
			continue;
		missed += losses_missed(inst, i, &stats);
		no_buffer += stats.rx_nombuf;
		rx_errors += stats.ierrors;
		tx_errors += stats.oerrors;
	}
	json_object_set_new(json, "rx_missed", json_uint(missed));
	json_object_set_new(json, "rx_no_buffer", json_uint(no_buffer));
	json_object_set_new(json, "rx_errors", json_uint(rx_errors));
	json_object_set_new(json, "tx_errors", json_uint(tx_errors));
	return json;
}

#define FIELD(member) SHOW_FIELD(packet_balance, COUNTER, member)
static const struct show_field balance_fields[] = {FIELD(received), FIELD(transmitted),
	FIELD(dropped), FIELD(waiting), FIELD(missing), FIELD(surplus), FIELD(in_work), {0}};
#undef FIELD

static json_t *balance_json(const struct instance *inst, unsigned wire)
{
	const struct packet_balance balance = packet_balance(inst, wire);
	json_t *json = json_object();

	show_fields(json, balance_fields, &balance, NULL);
	json_object_set_new(json, "reasons", drops_json(balance.reasons));
	return json;
}

json_t *show_balance(const char *params, void *context)
{
	const struct instance *inst = context;
	json_t *json = balance_json(inst, PACKET_BALANCE_ALL), *wires = json_array();

	(void)params;
	for (unsigned i = 0; i < inst->config->n_wires; i++) {
		json_t *wire = balance_json(inst, i);

		json_object_set_new(wire, "wire", json_string(inst->config->wires[i].name));
		json_array_append_new(wires, wire);
	}
	json_object_set_new(json, "wires", wires);
	return json;
}

static json_t *unparsed_json(const uint64_t *counts)
{
	json_t *json = json_object();

	for (unsigned r = UNPARSED_NONE + 1; r < UNPARSED_REASONS; r++)
		json_object_set_new(
			json, packet_unparsed_name(r), json_uint(counter_read(&counts[r])));
	return json;
}

json_t *show_unparsed(const char *params, void *context)
{
	const struct worker_counters totals = instance_worker_totals(context);

	(void)params;
	return unparsed_json(totals.unparsed);
}

/* Returns the counts of fragments; null if no policy needs data that only the first one has. */
static json_t *show_fragments(const struct worker *worker)
{
	const struct fragments *table = __atomic_load_n(&worker->fragments, __ATOMIC_ACQUIRE);

	if (!table)
		return json_null();
	return json_pack("{s:o, s:o, s:o, s:o}", "first", json_uint(counter_read(&table->first)),
		"found", json_uint(counter_read(&table->found)), "unknown",
		json_uint(counter_read(&table->unknown)), "conflict",
		json_uint(counter_read(&table->conflict)));
}

#define FIELD(member) SHOW_FIELD(worker_counters, COUNTER, member)
static const struct show_field packets_fields[] = {FIELD(rx_packets), FIELD(tx_packets),
	FIELD(unmatched_packets), FIELD(rerouted_packets), {0}};
static const struct show_field turns_fields[] = {
	FIELD(bursts), FIELD(empty_polls), FIELD(sleeps), {0}};
#undef FIELD

static json_t *worker_json(struct instance *inst, unsigned i)
{
	const struct worker *worker = &inst->workers[i];
	const struct worker_counters *c = &worker->counters;
	uint64_t standing = watch_standing(inst, i, control_now());
	struct watch_stalls stalls = watch_worker_stalls(inst, i);
	json_t *json;

	json = json_pack("{s:i, s:i, s:s, s:i}", "lcore", (int)worker->lcore, "cpu",
		(int)worker->cpu, "idle", worker->idle == IDLE_POLL ? "poll" : "sleep", "paths",
		(int)worker->n_paths);
	json_object_set_new(json, "stuck", json_boolean(standing > 0));
	json_object_set_new(json, "stuck_ms", json_real((double)standing / MS_NS));
	json_object_set_new(json, "stalls", json_uint(stalls.n));
	json_object_set_new(json, "longest_stall_ms", json_real((double)stalls.longest_ns / MS_NS));
	show_fields(json, packets_fields, c, NULL);
	json_object_set_new(json, "dropped", drops_json(c->dropped));
	json_object_set_new(json, "unparsed", unparsed_json(c->unparsed));
	json_object_set_new(json, "fragments", show_fragments(worker));
	show_fields(json, turns_fields, c, NULL);
	json_object_set_new(json, "busy_share", show_share(busy_worker(inst, i).share));
	json_object_set_new(json, "busy_cycles",
		json_uint(counter_read(&c->busy_cycles) + counter_read(&c->handing_cycles)));
	json_object_set_new(json, "handing_cycles", json_uint(counter_read(&c->handing_cycles)));
	json_object_set_new(json, "waiting", show_waiting(inst, i));
	return json;
}

json_t *show_workers(const char *params, void *context)
{
	struct instance *inst = context;
	json_t *json = json_array();

	(void)params;
	for (unsigned i = 0; i < inst->config->n_workers; i++)
		json_array_append_new(json, worker_json(inst, i));
	return json;
}

static json_t *port_json(const struct instance *inst, unsigned i)
{
	const struct link_state *link = &inst->links->ports[i];
	const char *state = link->gone ? "GONE" : link->up ? "UP" : "DOWN";
	const bool knows_speed = link->speed_mbps != RTE_ETH_SPEED_NUM_UNKNOWN;
	struct bypass_past past = bypasses_past(inst, i);
	struct rte_eth_stats stats = {0};
	char offloads[OFFLOADS_TEXT];

	interfaces_at_work(inst, i, offloads, sizeof(offloads));
	(void)rte_eth_stats_get(inst->port_ids[i], &stats);
	return json_pack(
		"{s:s, s:s, s:s, s:i, s:s, s:o, s:o, s:i, s:i, s:b, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o, s:o}",
		"name", inst->config->ports[i].name, "device", inst->config->ports[i].device,
		"interface", interfaces_name(inst, i), "port", (int)inst->port_ids[i], "link",
		state, "speed_mbps", knows_speed ? json_uint(link->speed_mbps) : json_null(),
		"link_changes", json_uint(link->changes), "queues", (int)inst->ports[i].queues,
		"queues_used", (int)queues_used(inst, i), "rss", inst->ports[i].rss, "offloads",
		offloads, "missed", json_uint(losses_missed(inst, i, &stats)), "past_packets",
		json_uint(past.packets), "past_bytes", json_uint(past.bytes), "kernel_passed",
		json_uint(past.passed), "kernel_unmatched", json_uint(past.unmatched),
		"kernel_dropped", json_uint(past.dropped), "kernel_unserved",
		json_uint(past.unserved), "kernel_unsent", json_uint(past.unsent), "frame_max",
		json_uint(lengths_max(inst, i)));
}

json_t *show_ports(const char *params, void *context)
{
	const struct instance *inst = context;
	json_t *json = json_array();

	(void)params;
	for (unsigned i = 0; i < inst->config->n_ports; i++)
		json_array_append_new(json, port_json(inst, i));
	return json;
}
