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

/* A policy's rate or number in what it counts: each of the three has a name with its unit. */
#define POLICY_RATE(name, column, help)                                             \
	POLICY(name "_bytes_per_second", GAUGE, column, "bytes", help),             \
		POLICY(name "_packets_per_second", GAUGE, column, "packets", help), \
		POLICY(name "_flows_per_second", GAUGE, column, "flows", help)
#define POLICY_COUNT(name, what, help)                                                \
	POLICY(name "_packets", COUNTER, what "_packets", NULL, help ", in packets"), \
		POLICY(name "_bytes", COUNTER, what "_units", "bytes",                \
			help ", in bytes as the policy accounts for them"),           \
		POLICY(name "_flows", COUNTER, what "_units", "flows", help ", in flows")

/* What came, of policies whose packets have colours. */
#define POLICY_COLOUR(name, what, help)                                               \
	POLICY(name "_packets", COUNTER, what "_packets", NULL, help ", in packets"), \
		POLICY(name "_bytes", COUNTER, what "_units", "bytes",                \
			help ", in bytes as the policy accounts for them")

/* What there is of a total. */
#define POLICY_BUDGET(name, column, help)                                \
	POLICY(name "_bytes", GAUGE, column, "bytes", help),             \
		POLICY(name "_packets", GAUGE, column, "packets", help), \
		POLICY(name "_flows", GAUGE, column, "flows", help)

const struct metric metrics[] = {
	ONE("weir_up", GAUGE, "up", "Whether the limiter has answered in time"),
	ONE("weir_scrape_duration_seconds", GAUGE, "took_s", "How long its answers have taken"),
	{"weir_build", METRIC_INFO, METRIC_OF_LIMITER, "process.version", NULL, "version", NULL, 0,
		"The version that runs"},
	ONE("weir_uptime_seconds", GAUGE, "process.uptime_s", "Since the start of the process"),
	ONE("weir_policies", GAUGE, "config.policies", "Policies in force"),
	ONE("weir_policies_left_out", GAUGE, "left_out.policies",
		"Policies without metrics of their own: more than --max-policies, or a reload went on"),
	ONE("weir_peers_left_out", GAUGE, "left_out.peers",
		"Peers without metrics of their own: more than --max-peers"),
	ONE("weir_shadow", GAUGE, "config.shadow",
		"Whether nothing is enforced, and policies only count"),
	ONE("weir_last_reload_success", GAUGE, "config.last_reload.ok",
		"Whether the last reload was taken; absent before the first"),
	ONE("weir_alarms", GAUGE, "health.alarms", "Things that are wrong now: weirctl status"),
	ONE("weir_control_stalls", COUNTER, "health.control.stalls",
		"Times that control stood still for more than 60 ms"),
	ONE("weir_control_busy_seconds", COUNTER, "process.control.busy_s",
		"CPU time of the control thread"),
	ONE("weir_log_lines_lost", COUNTER, "health.log_lines_lost",
		"Lines that whoever reads the log did not take in time"),
	ONE("weir_tsc_jumps", COUNTER, "health.tsc.jumps",
		"Times that the clock by which limits are timed has jumped"),
	ONE("weir_memory_resident_bytes", GAUGE, "process.memory.resident_bytes",
		"Memory in ordinary pages"),
	ONE("weir_memory_heap_bytes", GAUGE, "process.memory.heap_bytes",
		"DPDK's heaps, in huge pages where there are any"),
	ONE("weir_memory_heap_used_bytes", GAUGE, "process.memory.heap_used_bytes",
		"What of DPDK's heaps is in use"),
	EACH("weir_pool_buffers", GAUGE, "process.pools", "buffers", "pool", 0,
		"Buffers that a pool of DPDK's has"),
	EACH("weir_pool_free_buffers", GAUGE, "process.pools", "free", "pool", 0,
		"Buffers of a pool that are free"),

	MEMBERS("weir_dropped_packets", "drops", "reason",
		"Packets that came in and did not leave, by reason"),
	MEMBERS("weir_unparsed_packets", "unparsed", "reason",
		"Packets that were not understood, whatever became of them, by reason"),

	WORKER("weir_worker_received_packets", COUNTER, "rx_packets", "Packets that came in"),
	WORKER("weir_worker_sent_packets", COUNTER, "tx_packets", "Packets that left"),
	WORKER("weir_worker_unmatched_packets", COUNTER, "unmatched_packets",
		"Packets that passed without a policy"),
	WORKER("weir_worker_rerouted_packets", COUNTER, "rerouted_packets",
		"Packets given to others than the worker of their flow, as that was stuck"),
	WORKER("weir_worker_waiting_packets", GAUGE, "waiting.packets",
		"Packets of shaped policies that wait"),
	WORKER("weir_worker_stuck", GAUGE, "stuck", "Whether the worker does not come round"),
	WORKER("weir_worker_stalls", COUNTER, "stalls", "Times that it did not come round"),
	EACH("weir_worker_busy_seconds", COUNTER, "process.workers", "busy_s", "worker", 0,
		"Time in bursts of packets, estimated from one in 16"),

	PORT("weir_port_up", GAUGE, "up", "Whether the port has its link"),
	EACH("weir_port_speed_bytes_per_second", GAUGE, "ports", "speed_mbps", "port", MBIT,
		"Speed of the link; absent where it is not known"),
	PORT("weir_port_link_changes", COUNTER, "link_changes", "Times that the link came or went"),
	PORT("weir_port_past_packets", COUNTER, "past_packets",
		"Packets that went straight to the other port, past every limit"),
	PORT("weir_port_past_bytes", COUNTER, "past_bytes", "Bytes of these"),
	PORT("weir_port_kernel_passed", COUNTER, "kernel_passed",
		"Packets that the kernel has let pass by itself"),
	PORT("weir_port_kernel_unmatched", COUNTER, "kernel_unmatched",
		"Of these, without a policy"),
	PORT("weir_port_kernel_dropped", COUNTER, "kernel_dropped",
		"Packets that the kernel has dropped, as they did not conform"),
	PORT("weir_port_kernel_unserved", COUNTER, "kernel_unserved",
		"Packets that were the workers', who were away, and are lost"),
	PORT("weir_port_kernel_unsent", COUNTER, "kernel_unsent",
		"Packets that the kernel let pass, and the other port's driver did not send"),
	PORT("weir_port_received_packets", COUNTER, "stats.ipackets", "Packets received"),
	PORT("weir_port_received_bytes", COUNTER, "stats.ibytes", "Bytes received"),
	PORT("weir_port_sent_packets", COUNTER, "stats.opackets", "Packets sent"),
	PORT("weir_port_sent_bytes", COUNTER, "stats.obytes", "Bytes sent"),
	PORT("weir_port_missed_packets", COUNTER, "stats.imissed",
		"Packets that the device dropped, as no worker took them in time"),
	PORT("weir_port_no_buffer_packets", COUNTER, "stats.rx_nombuf",
		"Packets that the device dropped, as there was no buffer"),
	PORT("weir_port_receive_errors", COUNTER, "stats.ierrors", "Packets received with errors"),
	PORT("weir_port_send_errors", COUNTER, "stats.oerrors", "Packets that could not be sent"),

	EACH("weir_peer_alive", GAUGE, "peers", "alive", "peer", 0,
		"Whether a peer counts: heard lately, and hears us"),
	EACH("weir_peer_heard_seconds", GAUGE, "peers", "heard_ms_ago", "peer", MS,
		"Since when a peer has not been heard"),
	EACH("weir_peer_restarts", COUNTER, "peers", "restarts", "peer", 0,
		"Restarts of a peer that were seen"),
	EACH("weir_peer_differs", GAUGE, "peers", "differs", "peer", 0,
		"Things in which a peer was told something else: weirctl peers"),
	ONE("weir_gossip_sent_datagrams", COUNTER, "gossip.sent", "Datagrams sent to peers"),
	ONE("weir_gossip_sent_bytes", COUNTER, "gossip.sent_bytes", "UDP payload sent to peers"),
	ONE("weir_gossip_received_bytes", COUNTER, "gossip.received_bytes",
		"UDP payload that came"),
	ONE("weir_gossip_send_errors", COUNTER, "gossip.send_errors",
		"Datagrams that could not be sent"),
	ONE("weir_gossip_socket_drops", COUNTER, "gossip.socket_drops",
		"Datagrams that the kernel threw away: of strangers, or for want of room"),
	ONE("weir_gossip_wrong_source", COUNTER, "gossip.wrong_source",
		"Datagrams in a peer's name from an address that is not its"),
	MEMBERS("weir_gossip_received_datagrams", "gossip.received", "verdict",
		"Datagrams that came, by what was thought of them"),
	ONE("weir_ledger_expired", COUNTER, "ledger.expired",
		"Times that a worker's conserved limits ended as control had not renewed them"),
	ONE("weir_ledger_control_late", COUNTER, "ledger.control_late",
		"Times that control came too late to renew conserved limits"),

	ONE("weir_netflow_domain", GAUGE, "netflow.domain",
		"The observation domain by which collectors know the limiter"),
	ONE("weir_netflow_sent_datagrams", COUNTER, "netflow.datagrams",
		"Datagrams with flow records that were sent to the collector"),
	ONE("weir_netflow_sent_records", COUNTER, "netflow.records", "Flow records sent"),
	ONE("weir_netflow_send_errors", COUNTER, "netflow.failed",
		"Datagrams that did not go, or that nobody took where the collector should be"),

	POLICY_RATE("weir_policy_limit", "limit_per_s", "The limit of the whole group"),
	POLICY_RATE(
		"weir_policy_local_limit", "local_limit_per_s", "What this limiter may pass now"),
	POLICY_RATE("weir_policy_share", "share_per_s",
		"What a policy below another may have of its limit now, over the whole group"),
	POLICY_RATE("weir_policy_demand", "demand_per_s", "What is asked of this limiter"),
	POLICY_RATE("weir_policy_global_demand", "global_demand_per_s",
		"What is asked of the whole group, as far as has been heard"),
	POLICY("weir_policy_parent", INFO, "parent", NULL,
		"Whose limit a policy's packets are charged to as well: that one has counted them, too"),
	POLICY("weir_policy_peers_lost", GAUGE, "peers_lost", NULL,
		"Peers whose part of the limit is not counted on"),
	POLICY_COUNT("weir_policy_passed", "passed", "Passed"),
	POLICY_COUNT("weir_policy_dropped", "dropped", "Dropped, as the limit says"),
	POLICY_COUNT("weir_policy_over", "over", "Passed though over the limit (mark, count)"),
	POLICY_COLOUR("weir_policy_green", "green", "Came, and were green: within the limit"),
	POLICY_COLOUR("weir_policy_yellow", "yellow",
		"Came, and were yellow: beyond the limit, within its peak or excess"),
	POLICY_COLOUR("weir_policy_red", "red", "Came, and were red: beyond both"),
	POLICY("weir_policy_fallback_packets", COUNTER, "fallback_packets", NULL,
		"Packets that passed though their total did not pay for them"),
	POLICY("weir_policy_waiting_packets", GAUGE, "waiting_packets", NULL,
		"Packets that wait to conform (shape)"),
	POLICY_BUDGET("weir_policy_budget", "total_units", "The total of this period"),
	POLICY_BUDGET("weir_policy_budget_left", "left_units",
		"What the whole group has left of it, as far as has been heard"),
	POLICY_BUDGET("weir_policy_budget_spent", "spent_units",
		"What was spent of it here, in this period"),
	POLICY_RATE("weir_policy_trial_limit", "trial_limit_per_s",
		"The limit of the whole group that is tried beside the enforced one"),
	POLICY_RATE("weir_policy_trial_local_limit", "trial_local_limit_per_s",
		"What this limiter would pass of it now"),
	POLICY_COUNT("weir_policy_trial_passed", "trial_passed", "What a trial would have passed"),
	POLICY_COUNT(
		"weir_policy_trial_dropped", "trial_dropped", "What a trial would have dropped"),
	{0},
};
