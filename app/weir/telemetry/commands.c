/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "show.h"

const struct telemetry_command show_commands[] = {
	{"/weir/config", "The configuration in force, and how the last reload ended", show_config,
		TELEMETRY_ALONE},
	{"/weir/reload", "Reads the configuration file again; /weir/config tells the outcome",
		show_reload, TELEMETRY_ALONE},
	{"/weir/policies", "Names of the policies. Parameter: first index of a page", show_policies,
		TELEMETRY_PARAMS},
	{"/weir/policy", "A policy's limits, demand and verdicts. Parameter: its name", show_policy,
		TELEMETRY_PARAMS},
	{"/weir/delays", "How long a policy's packets have waited. Parameter: its name",
		show_delays, TELEMETRY_PARAMS},
	{"/weir/peers", "The roster: who counts. Parameter: first index of a page", show_peers,
		TELEMETRY_PARAMS},
	{"/weir/gossip", "Datagrams sent, and received by verdict", show_gossip, TELEMETRY_ALONE},
	{"/weir/drops", "Packets that came in and did not leave, by reason", show_drops,
		TELEMETRY_ALONE},
	{"/weir/workers", "What each worker lcore has done", show_workers, TELEMETRY_ALONE},
	{"/weir/ports", "The configured ports and their links", show_ports, TELEMETRY_ALONE},
	{"/weir/ledger",
		"Limits that are never exceeded. Parameters: a policy, first edge of a page",
		show_ledger, TELEMETRY_PARAMS},
	{"/weir/quota", "Budgets: what is left of them. Parameter: a policy", show_quota,
		TELEMETRY_PARAMS},
	{"/weir/tree", "The tree that budgets move along. Parameter: first neighbour of a page",
		show_tree, TELEMETRY_PARAMS},
	{"/weir/etcd", "Totals that live in etcd. Parameter: first budget of a page", show_etcd,
		TELEMETRY_PARAMS},
	{"/weir/placement",
		"Workers that a policy's sources are given to. Parameter: its name, or first index "
		"of a page of names",
		show_placement, TELEMETRY_PARAMS},
	{0},
};
