/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The table of all metrics: the name and help of each, and where a reply has its value (metrics.h).
 */
#include "metrics.h"

#include "numbers/number_table.h"

#define MS   1e-3
#define MBIT 125000.0 /* bytes per second */

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
#define WORKER(name, type, value, help) EACH(name, type, "workers", value, "worker", 0, help)
#define PORT(name, type, value, help)   EACH(name, type, "ports", value, "port", 0, help)

/*
 * The numbers of a policy (numbers/number_table.h). Each of the three units that a policy can count
 * has its own metric.
 */
#define POLICY(name, kind, column, count, help)                                                  \
	{"weir_policy_" name, METRIC_##kind, METRIC_OF_POLICY, NULL, column, "policy", count, 0, \
		help},
#define OF_RATE(name, stem, kind, applies, help)                                 \
	POLICY(name "_bytes_per_second", kind, stem "_per_s", "bytes", help)     \
	POLICY(name "_packets_per_second", kind, stem "_per_s", "packets", help) \
	POLICY(name "_flows_per_second", kind, stem "_per_s", "flows", help)
#define OF_UNITS(name, stem, kind, applies, help)                     \
	POLICY(name "_bytes", kind, stem "_units", "bytes", help)     \
	POLICY(name "_packets", kind, stem "_units", "packets", help) \
	POLICY(name "_flows", kind, stem "_units", "flows", help)
#define OF_VOLUME(name, stem, kind, applies, help)                 \
	POLICY(name "_bytes", kind, stem "_units", "bytes",        \
		help ", in bytes as the policy accounts for them") \
	FLOWS_##applies(POLICY(name "_flows", kind, stem "_units", "flows", help ", in flows"))
#define OF_PACKETS(name, stem, kind, applies, help) \
	POLICY(name "_packets", kind, stem "_packets", NULL, help)
#define OF_COUNT(name, stem, kind, applies, help) POLICY(name, kind, stem, NULL, help)
#define OF_BYTES(name, stem, kind, applies, help) \
	POLICY(name "_bytes", kind, stem "_bytes", NULL, help)
#define OF_RATIO(name, stem, kind, applies, help) \
	POLICY(name "_ratio", kind, stem "_ratio", NULL, help)
#define OF_SECONDS(name, stem, kind, applies, help) \
	POLICY(name "_seconds", kind, stem "_s", NULL, help)
#define OF_TEXT(name, stem, kind, applies, help) POLICY(name, kind, stem, NULL, help)
/* No policy that counts flows has colours. */
#define FLOWS_ALWAYS(metric) metric
#define FLOWS_TRIAL(metric)  metric
#define FLOWS_COLOURED(metric)

#define SHOWN_ALL(unit, ...)    OF_##unit(__VA_ARGS__)
#define SHOWN_METRIC(unit, ...) OF_##unit(__VA_ARGS__)
#define SHOWN_COLUMN(...)
#define SHOWN_DETAIL(...)
#define SHOWN_GIVEN(...)
#define NUMBER(stem, unit, kind, applies, shown, path, zero, label, head, value, help) \
	SHOWN_##shown(unit, #stem, #stem, kind, applies, help)
#define PREVIOUS(stem, unit, kind, applies, column, metric) \
	OF_##unit(metric, #stem, kind, applies,             \
		"Former name of weir_policy_" #stem ", until the next release")

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
	EACH("weir_peer_silent_seconds", GAUGE, "peers", "silent_ms", "peer", MS,
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

	POLICY_NUMBERS(NUMBER) POLICY_COLUMNS_PREVIOUS(PREVIOUS){0},
};
