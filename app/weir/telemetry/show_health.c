/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Alarms: conditions that an operator must act on. Each is one function and one row.
 */
#include "show.h"

#include <inttypes.h>
#include <string.h>

#include "bypasses.h"
#include "clock.h"
#include "gossip_socket.h"
#include "instance.h"
#include "interfaces.h"
#include "kept.h"
#include "links.h"
#include "policy/value.h"
#include "log.h"
#include "totals.h"
#include "reload.h"
#include "watch.h"

static void alarm_stuck_workers(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < inst->config->n_workers; i++) {
		uint64_t ns = watch_standing(inst, i, control_now());

		if (ns > 0)
			json_array_append_new(
				alarms, json_sprintf("worker %u (CPU %u) is stuck for %.1f s", i,
						inst->config->workers[i], (double)ns / SECOND_NS));
	}
}

/* The other workers already use the new configuration. */
static void alarm_reload(const struct instance *inst, json_t *alarms)
{
	int worker = reload_waits_for(inst);

	if (worker >= 0)
		json_array_append_new(alarms,
			json_sprintf("the reload keeps the previous configuration until worker %d "
				     "(CPU %u) runs again; another reload waits until then",
				worker, inst->config->workers[worker]));
}

/* Workers whose hard limits have ended, until control renews them. */
static void alarm_ended_limits(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; inst->renewal.span && i < inst->config->n_workers; i++)
		if (expiry_until(&inst->workers[i].expiry) == 0)
			json_array_append_new(alarms,
				json_sprintf("worker %u (CPU %u) passes only the unreserved share "
					     "of hard limits",
					i, inst->config->workers[i]));
}

static void alarm_clock(const struct instance *inst, json_t *alarms)
{
	if (inst->clock.doubted)
		json_array_append_new(
			alarms, json_sprintf("the TSC jumped by %.3f ms, and is measured again",
					(double)inst->clock.jumped_ns / MS_NS));
}

/* Packets of a wire that fails open bypassed the limits a moment ago. */
static void alarm_open_wires(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < inst->config->n_ports; i++)
		if (bypasses_are_used(inst, i))
			json_array_append_new(alarms,
				json_sprintf("port %s: packets go straight to the other port, past "
					     "every limit",
					inst->config->ports[i].name));
}

static void alarm_gone_ports(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < inst->config->n_ports; i++)
		if (inst->links->ports[i].gone)
			json_array_append_new(alarms,
				json_sprintf("port %s: %s was removed: %s",
					inst->config->ports[i].name, inst->config->ports[i].device,
					links_when_gone(inst, i)));
}

/* Something else on this machine also receives the packets of a port, or can alter them. */
static void alarm_altered_ports(const struct instance *inst, json_t *alarms)
{
	char text[256];

	for (unsigned i = 0; i < inst->config->n_ports; i++)
		if (interfaces_altered(inst, i, text, sizeof(text)))
			json_array_append_new(alarms,
				json_sprintf("port %s: %s", inst->config->ports[i].name, text));
}

static void alarm_renamed_ports(const struct instance *inst, json_t *alarms)
{
	char configured[IFNAMSIZ];

	for (unsigned i = 0; i < inst->config->n_ports; i++)
		if (interfaces_renamed(inst, i, configured))
			json_array_append_new(alarms,
				json_sprintf("port %s: %s is named %s now: a restart cannot find "
					     "it",
					inst->config->ports[i].name, configured,
					interfaces_name(inst, i)));
}

static void alarm_links_down(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		const struct link_state *link = &inst->links->ports[i];

		if (link->known && !link->up && !link->gone)
			json_array_append_new(alarms,
				json_sprintf("port %s: no link", inst->config->ports[i].name));
	}
}

static void alarm_pins(const struct instance *inst, json_t *alarms)
{
	int ret = bypasses_pins(inst);

	if (ret)
		json_array_append_new(alarms,
			json_sprintf("the pins of the XDP programs are missing (%s): if Weir ends, "
				     "no packet passes",
				strerror(-ret)));
}

static void alarm_balance(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; i < inst->config->n_wires; i++) {
		const struct packet_balance balance = packet_balance(inst, i);

		if (packet_balance_fails(&balance))
			json_array_append_new(alarms,
				json_sprintf("wire %s: %" PRIu64
					     " packets are %s: an error in Weir, please report it "
					     "with the output of weirctl balance --json",
					inst->config->wires[i].name,
					balance.missing + balance.surplus,
					balance.missing ? "in no counter" : "in two counters"));
	}
}

/* The configuration that runs is not that of the file on disk, or a crash would lose it. */
static void alarm_kept(const struct instance *inst, json_t *alarms)
{
	const struct kept *kept = inst->kept;

	if (kept && kept->refused)
		json_array_append_new(alarms,
			json_sprintf("%s is refused (%.*s): the last good configuration runs",
				inst->file, (int)strcspn(kept->refused, "\n"), kept->refused));
	if (kept && kept->trouble)
		json_array_append_new(
			alarms, json_sprintf("%s: %s: changes and their authors are not kept",
					kept->directory, kept->trouble));
	if (kept && confirm_waits(&kept->confirm))
		json_array_append_new(alarms,
			json_sprintf("a change is rolled back in %.0f s unless weirctl confirm "
				     "comes",
				(double)confirm_left_ns(&kept->confirm, control_now()) /
					SECOND_NS));
}

/* Packets are forwarded even without the network of the group. */
static void alarm_unbound_gossip(const struct instance *inst, json_t *alarms)
{
	char text[ADDRESS_TEXT_MAX];

	if (!inst->gossip->bound)
		json_array_append_new(alarms,
			json_sprintf("gossip.listen: no interface has the address %s: this limiter "
				     "has no peers",
				address_format(&inst->config->gossip.listen, text, sizeof(text))));
}

/* The names are stable: metrics and alert rules use them. */
static const struct {
	const char *name;
	alarm_fn *add;
} alarm_rows[] = {
	{"worker_stuck", alarm_stuck_workers},
	{"reload_waits", alarm_reload},
	{"reload_refused", alarm_refused_reload},
	{"change_kept", alarm_kept},
	{"wire_open", alarm_open_wires},
	{"gossip_unbound", alarm_unbound_gossip},
	{"port_gone", alarm_gone_ports},
	{"port_altered", alarm_altered_ports},
	{"port_renamed", alarm_renamed_ports},
	{"link_down", alarm_links_down},
	{"packet_balance", alarm_balance},
	{"pins_missing", alarm_pins},
	{"peer_differs", alarm_peers_that_differ},
	{"peer_lost", alarm_peers_lost},
	{"peer_silent", alarm_silent_peers},
	{"group", alarm_group},
	{"datagrams_refused", alarm_datagrams_refused},
	{"ledger_failing", alarm_ledger_failing},
	{"ledger_exchanged", alarm_ledger_exchanged},
	{"ledger_recovering", alarm_ledger_recovering},
	{"ledger_sentinel", alarm_ledger_sentinel},
	{"ledger_other", alarm_ledger_other},
	{"ledger_invalid", alarm_ledger_invalid},
	{"ledger_older", alarm_ledger_older},
	{"name_twice", alarm_name_twice},
	{"limits_expired", alarm_ended_limits},
	{"etcd_away", alarm_etcd_away},
	{"etcd_fenced", alarm_etcd_fenced},
	{"etcd_refused", alarm_etcd_refused},
	{"tsc_jumped", alarm_clock},
	{"wall_clock", alarm_wall_clock},
	{"quota_spent", alarm_spent_totals},
	{"overshoot", alarm_overshoots},
	{"sources_full", alarm_full_sources},
};

json_t *show_health(const char *params, void *context)
{
	const struct instance *inst = context;
	struct watch_stalls control = watch_control_stalls(inst);
	const char *doubt = inst->clock.doubt;
	json_t *alarms = json_array(), *active = json_object();
	const char *first;

	(void)params;
	for (size_t i = 0; i < sizeof(alarm_rows) / sizeof(*alarm_rows); i++) {
		size_t before = json_array_size(alarms);

		alarm_rows[i].add(inst, alarms);
		json_object_set_new(
			active, alarm_rows[i].name, json_uint(json_array_size(alarms) - before));
	}
	return json_pack("{s:o, s:o, s:i, s:{s:o, s:f}, s:o, s:{s:f, s:o, s:o}}", "alarms", alarms,
		"active", active, "totals_spent", (int)show_spent_totals(inst, &first), "control",
		"stalls", json_uint(control.n), "longest_stall_ms",
		(double)control.longest_ns / MS_NS, "log_lines_lost", json_uint(log_lost()), "tsc",
		"mhz", (double)inst->clock.hz / 1e6, "jumps", json_uint(inst->clock.jumps), "doubt",
		doubt ? json_string(doubt) : json_null());
}
