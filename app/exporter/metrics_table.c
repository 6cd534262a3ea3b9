/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "metrics.h"

#define MS   1e-3
#define MBIT 125000.0 /* bytes a second */

#define ONE(name, type, at, help)                                                     \
	{                                                                             \
		name, METRIC_##type, METRIC_OF_LIMITER, at, NULL, NULL, NULL, 0, help \
	}
#define ONE_MS(name, type, at, help)                                                   \
	{                                                                              \
		name, METRIC_##type, METRIC_OF_LIMITER, at, NULL, NULL, NULL, MS, help \
	}
#define MEMBERS(name, at, label, help)                                                  \
	{                                                                               \
		name, METRIC_COUNTER, METRIC_OF_MEMBERS, at, NULL, label, NULL, 0, help \
	}
#define GAUGES(name, at, label, help)                                                 \
	{                                                                             \
		name, METRIC_GAUGE, METRIC_OF_MEMBERS, at, NULL, label, NULL, 0, help \
	}
#define EACH(name, type, at, value, label, scale, help)                                  \
	{                                                                                \
		name, METRIC_##type, METRIC_OF_EACH, at, value, label, NULL, scale, help \
	}
#define POLICY(name, type, column, count, help)                                               \
	{                                                                                     \
		name, METRIC_##type, METRIC_OF_POLICY, NULL, column, "policy", count, 0, help \
	}
#define WORKER(name, type, value, help) EACH(name, type, "workers", value, "worker", 0, help)
#define PORT(name, type, value, help)   EACH(name, type, "ports", value, "port", 0, help)

/* The rate or number of a policy in its unit. Each of the three units has a metric of its own. */
#define POLICY_RATE(name, column, help)                                             \
	POLICY(name "_bytes_per_second", GAUGE, column, "bytes", help),             \
		POLICY(name "_packets_per_second", GAUGE, column, "packets", help), \
		POLICY(name "_flows_per_second", GAUGE, column, "flows", help)
#define POLICY_COUNT(name, stem, help)                                                \
	POLICY(name "_packets", COUNTER, stem "_packets", NULL, help ", in packets"), \
		POLICY(name "_bytes", COUNTER, stem "_units", "bytes",                \
			help ", in bytes as the policy accounts for them"),           \
		POLICY(name "_flows", COUNTER, stem "_units", "flows", help ", in flows")

/* Received traffic of a policy whose packets have colours. */
#define POLICY_COLOUR(name, stem, help)                                               \
	POLICY(name "_packets", COUNTER, stem "_packets", NULL, help ", in packets"), \
		POLICY(name "_bytes", COUNTER, stem "_units", "bytes",                \
			help ", in bytes as the policy accounts for them")

/* Amounts of a quota. */
#define POLICY_BUDGET(name, column, help)                                \
	POLICY(name "_bytes", GAUGE, column, "bytes", help),             \
		POLICY(name "_packets", GAUGE, column, "packets", help), \
		POLICY(name "_flows", GAUGE, column, "flows", help)

const struct metric metrics[] = {
	ONE("weir_up", GAUGE, "up", "1 if the limiter answered in time"),
	ONE("weir_scrape_duration_seconds", GAUGE, "took_s",
		"Time that the limiter took for its answers"),
	{"weir_build", METRIC_INFO, METRIC_OF_LIMITER, "process.version", NULL, "version", NULL, 0,
		"Version of the running limiter"},
	ONE("weir_uptime_seconds", GAUGE, "process.uptime_s",
		"Time since the start of the process"),
	ONE("weir_policies", GAUGE, "config.policies", "Policies in force"),
	ONE("weir_policies_left_out", GAUGE, "left_out.policies",
		"Policies without metrics: above --max-policies, or a reload interrupted the scrape"),
	ONE("weir_peers_left_out", GAUGE, "left_out.peers",
		"Peers without metrics: above --max-peers"),
	ONE("weir_shadow", GAUGE, "config.shadow",
		"1 in shadow mode: policies count and enforce nothing"),
	ONE("weir_last_reload_success", GAUGE, "config.last_reload.ok",
		"1 if the last reload was accepted, 0 if refused; absent before the first"),
	ONE("weir_alarms", GAUGE, "health.alarms", "Active alarms; weirctl status lists them"),
	GAUGES("weir_alarm", "health.active", "alarm",
		"Active alarms of a kind; the manual has the kinds"),
	ONE("weir_control_stalls", COUNTER, "health.control.stalls",
		"Stalls of the control thread: it was more than 45 ms late"),
	ONE("weir_control_busy_seconds", COUNTER, "process.control.busy_s",
		"CPU time of the control thread"),
	ONE("weir_log_lines_lost", COUNTER, "health.log_lines_lost",
		"Log lines lost because the reader of the log was too slow"),
	ONE("weir_tsc_jumps", COUNTER, "health.tsc.jumps",
		"Jumps of the TSC, the clock that times all limits"),
	ONE("weir_memory_resident_bytes", GAUGE, "process.memory.resident_bytes",
		"Resident memory in ordinary pages"),
	ONE("weir_memory_heap_bytes", GAUGE, "process.memory.heap_bytes",
		"Size of the DPDK heaps, in huge pages if there are any"),
	ONE("weir_memory_heap_used_bytes", GAUGE, "process.memory.heap_used_bytes",
		"Used part of the DPDK heaps"),
	EACH("weir_pool_buffers", GAUGE, "process.pools", "buffers", "pool", 0,
		"Buffers in a DPDK pool"),
	EACH("weir_pool_free_buffers", GAUGE, "process.pools", "free", "pool", 0,
		"Free buffers in a DPDK pool"),

	MEMBERS("weir_dropped_packets", "drops", "reason",
		"Packets received but not transmitted, by reason"),
	MEMBERS("weir_unparsed_packets", "unparsed", "reason",
		"Packets that Weir could not parse, passed or dropped, by reason"),

	WORKER("weir_worker_received_packets", COUNTER, "rx_packets", "Packets received"),
	WORKER("weir_worker_sent_packets", COUNTER, "tx_packets", "Packets transmitted"),
	WORKER("weir_worker_unmatched_packets", COUNTER, "unmatched_packets",
		"Packets passed without a policy"),
	WORKER("weir_worker_rerouted_packets", COUNTER, "rerouted_packets",
		"Packets given to another worker because the worker of their flow was stalled"),
	WORKER("weir_worker_waiting_packets", GAUGE, "waiting.packets",
		"Packets that wait in shapers"),
	WORKER("weir_worker_stuck", GAUGE, "stuck",
		"1 if the worker is stalled: it does not run its loop"),
	WORKER("weir_worker_stalls", COUNTER, "stalls", "Stalls of the worker"),
	EACH("weir_worker_busy_seconds", COUNTER, "process.workers", "busy_s", "worker", 0,
		"Time spent on packets, estimated from one burst in 16"),

	PORT("weir_port_up", GAUGE, "up", "1 if the link is up"),
	EACH("weir_port_speed_bytes_per_second", GAUGE, "ports", "speed_mbps", "port", MBIT,
		"Speed of the link; absent if the device does not report it"),
	PORT("weir_port_link_changes", COUNTER, "link_changes",
		"Changes of the link between up and down"),
	PORT("weir_port_past_packets", COUNTER, "past_packets",
		"Packets that bypassed every limit, directly to the other port"),
	PORT("weir_port_past_bytes", COUNTER, "past_bytes",
		"Bytes that bypassed every limit, directly to the other port"),
	PORT("weir_port_kernel_passed", COUNTER, "kernel_passed",
		"Packets that the XDP data plane passed"),
	PORT("weir_port_kernel_unmatched", COUNTER, "kernel_unmatched",
		"Packets that the XDP data plane passed without a policy"),
	PORT("weir_port_kernel_dropped", COUNTER, "kernel_dropped",
		"Packets that the XDP data plane dropped because they did not conform"),
	PORT("weir_port_kernel_unserved", COUNTER, "kernel_unserved",
		"Packets lost because they needed a worker while the workers were away"),
	PORT("weir_port_kernel_unsent", COUNTER, "kernel_unsent",
		"Packets that the other port did not transmit: down, gone, or its driver accepts no more"),
	PORT("weir_port_received_packets", COUNTER, "stats.ipackets", "Packets received"),
	PORT("weir_port_received_bytes", COUNTER, "stats.ibytes", "Bytes received"),
	PORT("weir_port_sent_packets", COUNTER, "stats.opackets", "Packets transmitted"),
	PORT("weir_port_sent_bytes", COUNTER, "stats.obytes", "Bytes transmitted"),
	PORT("weir_port_missed_packets", COUNTER, "missed",
		"Packets the device or the kernel dropped because no worker polled their queue in time"),
	PORT("weir_port_no_buffer_packets", COUNTER, "stats.rx_nombuf",
		"Packets the device dropped because there was no free buffer"),
	PORT("weir_port_receive_errors", COUNTER, "stats.ierrors", "Packets received with errors"),
	PORT("weir_port_send_errors", COUNTER, "stats.oerrors",
		"Packets that the device could not transmit"),

	EACH("weir_peer_alive", GAUGE, "peers", "alive", "peer", 0,
		"1 if the peer is active: it sent a message recently and receives ours"),
	EACH("weir_peer_heard_seconds", GAUGE, "peers", "heard_ms_ago", "peer", MS,
		"Time since the last message from the peer"),
	EACH("weir_peer_restarts", COUNTER, "peers", "restarts", "peer", 0,
		"Restarts of the peer that this limiter noticed"),
	EACH("weir_peer_differs", GAUGE, "peers", "differs", "peer", 0,
		"Config mismatches with the peer; weirctl peers lists them"),
	ONE("weir_gossip_sent_datagrams", COUNTER, "gossip.sent", "Datagrams sent to peers"),
	ONE("weir_gossip_sent_bytes", COUNTER, "gossip.sent_bytes", "UDP payload sent to peers"),
	ONE("weir_gossip_received_bytes", COUNTER, "gossip.received_bytes", "UDP payload received"),
	ONE("weir_gossip_send_errors", COUNTER, "gossip.send_errors",
		"Datagrams that could not be sent"),
	ONE("weir_gossip_socket_drops", COUNTER, "gossip.socket_drops",
		"Datagrams the kernel dropped: unknown sender, or full buffer"),
	ONE("weir_gossip_wrong_source", COUNTER, "gossip.wrong_source",
		"Datagrams with the name of a peer but another source address"),
	MEMBERS("weir_gossip_received_datagrams", "gossip.received", "verdict",
		"Datagrams received, by verdict"),
	ONE("weir_ledger_failures", COUNTER, "ledger.failures",
		"Commits of the ledger that failed"),
	ONE_MS("weir_ledger_commit_seconds", GAUGE, "ledger.last_round_ms",
		"Time of the last commit of the ledger, with the workers"),
	ONE("weir_ledger_recovering_policies", GAUGE, "ledger.recovering_policies",
		"Hard limits and quotas that pass nothing until the neighbours have reported"),
	ONE("weir_ledger_invalid_statements", COUNTER, "ledger.invalid_statements",
		"Statements of neighbours that cannot be true"),
	ONE("weir_ledger_other_neighbours", GAUGE, "ledger.neighbours_of_other_ledgers",
		"Neighbours that use another ledger"),
	ONE("weir_ledger_expired", COUNTER, "ledger.expired",
		"Times the hard limits of a worker expired because control did not renew them"),
	ONE("weir_ledger_unused_records", GAUGE, "ledger.unused_records",
		"Records of the ledger whose policies are gone"),
	ONE("weir_ledger_control_late", COUNTER, "ledger.control_late",
		"Times control renewed the hard limits too late"),

	ONE("weir_netflow_domain", GAUGE, "netflow.domain",
		"Observation domain of the limiter in flow records"),
	ONE("weir_netflow_sent_datagrams", COUNTER, "netflow.datagrams",
		"Datagrams with flow records sent to the collector"),
	ONE("weir_netflow_sent_records", COUNTER, "netflow.records", "Flow records sent"),
	ONE("weir_netflow_send_errors", COUNTER, "netflow.failed",
		"Datagrams not sent, or refused at the address of the collector"),

	POLICY_RATE("weir_policy_limit", "limit_per_s", "Limit of the whole group"),
	POLICY_RATE("weir_policy_local_limit", "local_limit_per_s",
		"Part of the limit that this limiter enforces now"),
	POLICY_RATE("weir_policy_peak", "peak_per_s",
		"Rate up to which packets of a policy with colours pass, over the whole group"),
	POLICY_RATE("weir_policy_local_peak", "local_peak_per_s",
		"Rate up to which packets of a policy with colours pass at this limiter"),
	POLICY_RATE("weir_policy_bound", "bound_per_s",
		"Largest sum of the local limits of the limiters that reported theirs"),
	POLICY_RATE("weir_policy_estimate", "estimate_per_s",
		"Estimate of the sum of the local limits of these limiters"),
	POLICY("weir_policy_peers_unheard", GAUGE, "peers_unheard", NULL,
		"Peers without a recent report: each can enforce up to the whole limit"),
	POLICY_RATE("weir_policy_share", "share_per_s",
		"Part of its parent's limit that a child policy gets now, over the whole group"),
	POLICY_RATE("weir_policy_demand", "demand_per_s", "Demand at this limiter"),
	POLICY_RATE("weir_policy_global_demand", "global_demand_per_s",
		"Demand at the whole group, from the messages received so far"),
	POLICY("weir_policy_parent", INFO, "parent", NULL,
		"Parent policy, which is charged for the same packets and counts them too"),
	POLICY("weir_policy_peers_lost", GAUGE, "peers_lost", NULL,
		"Lost peers, whose part of the limit is unused"),
	POLICY_COUNT("weir_policy_passed", "passed", "Traffic passed"),
	POLICY_COUNT("weir_policy_dropped", "dropped", "Traffic dropped because of the limit"),
	POLICY_COUNT("weir_policy_over", "over", "Exceeding traffic passed (mark, count)"),
	POLICY_COLOUR("weir_policy_green", "green", "Green traffic received: within the limit"),
	POLICY_COLOUR("weir_policy_yellow", "yellow",
		"Yellow traffic received: above the limit, within its peak or excess"),
	POLICY_COLOUR("weir_policy_red", "red", "Red traffic received: above both"),
	POLICY("weir_policy_fallback_packets", COUNTER, "fallback_packets", NULL,
		"Packets passed although the quota did not cover them"),
	POLICY("weir_policy_waiting_packets", GAUGE, "waiting_packets", NULL,
		"Packets that wait in the shaper of the policy"),
	POLICY_BUDGET("weir_policy_budget", "total_units", "Quota of this period"),
	POLICY_BUDGET("weir_policy_budget_left", "left_units",
		"Remaining quota of the whole group, from the messages received so far"),
	POLICY_BUDGET("weir_policy_budget_spent", "spent_units",
		"Quota that traffic at this limiter spent in this period"),
	POLICY_BUDGET("weir_policy_budget_prefetched", "prefetched_units",
		"Quota that this limiter took in advance for its workers, not spent yet"),
	POLICY_RATE("weir_policy_trial_limit", "trial_limit_per_s",
		"Limit of the whole group that is on trial, not enforced"),
	POLICY_RATE("weir_policy_trial_local_limit", "trial_local_limit_per_s",
		"Part of the trial limit that this limiter would enforce now"),
	POLICY_COUNT("weir_policy_trial_passed", "trial_passed",
		"Traffic that the trial limit would have passed"),
	POLICY_COUNT("weir_policy_trial_dropped", "trial_dropped",
		"Traffic that the trial limit would have dropped"),
	{0},
};
