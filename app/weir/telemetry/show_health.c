/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What an operator would want to be woken for: an alarm is one function and one row.
 */
#include "show.h"

#include <string.h>

#include "bypasses.h"
#include "clock.h"
#include "instance.h"
#include "kept.h"
#include "links.h"
#include "log.h"
#include "reload.h"
#include "watch.h"

/* Adds its texts, if there are any, to the array. */
typedef void (*alarm_fn)(const struct instance *inst, json_t *alarms);

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

/* It is in force at the others. */
static void alarm_reload(const struct instance *inst, json_t *alarms)
{
	int worker = reload_waits_for(inst);

	if (worker >= 0)
		json_array_append_new(alarms,
			json_sprintf("the reload keeps what was before until worker %d (CPU %u) "
				     "comes round, and so long another one waits",
				worker, inst->config->workers[worker]));
}

/* Their conserved limits have ended, and control has yet to renew them. */
static void alarm_ended_limits(const struct instance *inst, json_t *alarms)
{
	for (unsigned i = 0; inst->renewal.span && i < inst->config->n_workers; i++)
		if (expiry_until(&inst->workers[i].expiry) == 0)
			json_array_append_new(alarms,
				json_sprintf("worker %u (CPU %u) passes of conserved limits what "
					     "is promised to nobody",
					i, inst->config->workers[i]));
}

static void alarm_clock(const struct instance *inst, json_t *alarms)
{
	if (inst->clock.doubted)
		json_array_append_new(alarms,
			json_sprintf("the TSC has jumped by %.3f ms, and is being measured anew",
				(double)inst->clock.jumped_ns / MS_NS));
}

/* Packets of a wire that fails open went past the limits a moment ago. */
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
				json_sprintf("port %s: %s was removed: out of use until a restart",
					inst->config->ports[i].name,
					inst->config->ports[i].device));
}

/* The file on disk does not say what runs, or a crash would lose what does. */
static void alarm_kept(const struct instance *inst, json_t *alarms)
{
	const struct kept *kept = inst->kept;

	if (kept && kept->refused)
		json_array_append_new(alarms,
			json_sprintf("%s is refused (%.*s): the last good configuration runs",
				inst->file, (int)strcspn(kept->refused, "\n"), kept->refused));
	if (kept && kept->trouble)
		json_array_append_new(
			alarms, json_sprintf("%s: %s: what was changed, or who did, is not kept",
					kept->directory, kept->trouble));
	if (kept && confirm_waits(&kept->confirm))
		json_array_append_new(alarms,
			json_sprintf("a change is undone in %.0f s unless weirctl confirm comes",
				(double)confirm_left_ns(&kept->confirm, control_now()) /
					SECOND_NS));
}

static const alarm_fn alarm_rows[] = {
	alarm_stuck_workers,
	alarm_reload,
	alarm_refused_reload,
	alarm_kept,
	alarm_open_wires,
	alarm_gone_ports,
	alarm_peers_that_differ,
	alarm_peers_never_heard,
	alarm_ended_limits,
	alarm_clock,
	alarm_wall_clock,
	alarm_spent_totals,
	alarm_overshoots,
};

json_t *show_health(const char *params, void *context)
{
	const struct instance *inst = context;
	struct watch_stalls control = watch_control_stalls(inst);
	const char *doubt = inst->clock.doubt;
	json_t *alarms = json_array();
	const char *first;

	(void)params;
	for (size_t i = 0; i < sizeof(alarm_rows) / sizeof(*alarm_rows); i++)
		alarm_rows[i](inst, alarms);
	return json_pack("{s:o, s:i, s:{s:o, s:f}, s:o, s:{s:f, s:o, s:o}}", "alarms", alarms,
		"totals_spent", (int)show_spent_totals(inst, &first), "control", "stalls",
		json_uint(control.n), "longest_stall_ms", (double)control.longest_ns / MS_NS,
		"log_lines_lost", json_uint(log_lost()), "tsc", "mhz", (double)inst->clock.hz / 1e6,
		"jumps", json_uint(inst->clock.jumps), "doubt",
		doubt ? json_string(doubt) : json_null());
}
