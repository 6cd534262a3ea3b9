/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Wires that outlive this process (drivers/xdp/bypass.h), and the packets that bypassed it on them.
 */
#include "bypasses.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "classify/lines.h"
#include "event.h"
#include "instance.h"
#include "kernel_lines.h"

#define LOOK_NS  SECOND_NS
#define QUIET_NS (3 * SECOND_NS) /* after this time without a packet, a bypass has ended */

/* Time for which workers process the packets that were on their way when the wire was opened. */
#define DRAIN_NS (20 * MS_NS)

/* 2 MB of lines, of which the blocks of IPv4 take a quarter at most. */
#define LINES_LEAST 32768

struct bypasses {
	struct bypass *bypass;
	uint64_t looked_ns;
	int pins; /* negative errno of the last try to pin again, or 0 */
	struct trouble open[CONFIG_PORTS_MAX];
};

int bypasses_start(struct instance *inst)
{
	const struct complaint_sink to = complaint_sink_of(stderr);
	struct bypass_room room;
	size_t lines;
	int ret;

	if (inst->borrowed)
		return 0;
	inst->bypasses = calloc(1, sizeof(*inst->bypasses));
	if (!inst->bypasses)
		return -ENOMEM;
	room.slots = instance_slots(inst->config->n_policies);
	/* Room for twice as many policies of this kind, or a few thousand of any kind. */
	lines = 2 * classifier_lines_count(inst->classifier) + LINES_LEAST;
	room.lines = (uint32_t)RTE_MIN(lines, UINT32_MAX);
	ret = bypass_open(inst->config, &room, &to, &inst->bypasses->bypass);
	if (ret || !inst->bypasses->bypass)
		bypasses_stop(inst);
	else
		inst->plane = bypass_plane(inst->bypasses->bypass);
	return ret;
}

void bypasses_stop(struct instance *inst)
{
	if (inst->bypasses)
		bypass_close(inst->bypasses->bypass);
	free(inst->bypasses);
	inst->bypasses = NULL;
	inst->plane = NULL;
}

void bypasses_explain(const struct instance *inst)
{
	bool served;

	for (unsigned i = 0; i < inst->config->n_ports; i++)
		if (bypass_find_own(inst->config, i, &served) && served)
			fprintf(stderr,
				"weir: ports.%s: a running weir named %s serves it: stop that "
				"one, or give this one another \"limiter\" and other ports\n",
				inst->config->ports[i].name, inst->config->limiter);
}

int bypasses_take_over(struct instance *inst)
{
	struct bypass *bypass;
	int ret;

	if (!inst->bypasses) {
		bypass_remove_left(inst->config);
		return 0;
	}
	kernel_lines_adopt(inst);
	bypass = inst->bypasses->bypass;
	ret = bypass_take_over(bypass);
	if (ret) {
		event(PLANE_FAILED, event_word("why", strerror(-ret)));
		return ret;
	}
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		const char *port = inst->config->ports[i].name;
		struct bypass_past before;

		if (!bypass_has(bypass, i))
			continue;
		if (bypass_is_inherited(bypass, i))
			event(WIRE_TAKEN_OVER, event_word("port", port));
		before = bypass_before(bypass, i);
		if (before.packets)
			event(WIRE_WAS_OPEN, event_word("port", port),
				event_count("packets", before.packets),
				event_count("bytes", before.bytes));
	}
	kernel_lines_settle(inst);
	return 0;
}

void bypasses_settle(struct instance *inst, const struct timespec *until)
{
	const struct timespec drain = {.tv_nsec = DRAIN_NS};

	(void)until;
	if (!inst->bypasses)
		return;
	bypass_leave(inst->bypasses->bypass);
	nanosleep(&drain, NULL);
}

uint32_t *bypasses_beat(const struct instance *inst, unsigned worker)
{
	return inst->bypasses ? bypass_beat(inst->bypasses->bypass, worker) : NULL;
}

static void look_at_port(struct instance *inst, unsigned port, uint64_t now_ns)
{
	struct trouble *open = &inst->bypasses->open[port];
	const uint64_t past = bypass_past(inst->bypasses->bypass, port).packets;
	const enum trouble_news news = trouble_look(open, past, now_ns, QUIET_NS);
	const char *name = inst->config->ports[port].name;

	if (news == TROUBLE_BEGINS)
		event(WIRE_OPEN, event_word("port", name));
	else if (news == TROUBLE_ENDS)
		event(WIRE_SERVED, event_word("port", name),
			event_count("packets", trouble_counted(open)),
			event_real(
				"seconds", (double)(open->grew_ns - open->began_ns) / SECOND_NS));
}

static void look_at_pins(struct bypasses *bypasses)
{
	int before = bypasses->pins, missing = bypass_pin_again(bypasses->bypass);

	bypasses->pins = missing < 0 ? missing : 0;
	if (missing > 0)
		event(PINS_RESTORED, event_count("pins", (uint64_t)missing));
	else if (missing < 0 && before == 0)
		event(PINS_MISSING, event_word("why", strerror(-missing)));
}

int bypasses_pins(const struct instance *inst)
{
	return inst->bypasses ? inst->bypasses->pins : 0;
}

uint64_t bypasses_next(const struct instance *inst)
{
	return inst->bypasses ? inst->bypasses->looked_ns + LOOK_NS : UINT64_MAX;
}

bool bypasses_run(struct instance *inst, uint64_t now_ns)
{
	struct bypasses *bypasses = inst->bypasses;

	if (!bypasses || now_ns - bypasses->looked_ns < LOOK_NS)
		return false;
	bypasses->looked_ns = now_ns;
	kernel_lines_publish_time(inst);
	look_at_pins(bypasses);
	for (unsigned i = 0; i < inst->config->n_ports; i++)
		if (bypass_has(bypasses->bypass, i))
			look_at_port(inst, i, now_ns);
	return false;
}

void bypasses_set_frame(const struct instance *inst, unsigned port, uint32_t bytes)
{
	if (inst->bypasses && bypass_has(inst->bypasses->bypass, port))
		bypass_set_frame(inst->bypasses->bypass, port, bytes);
}

bool bypasses_are_used(const struct instance *inst, unsigned port)
{
	return inst->bypasses && inst->bypasses->open[port].lasts;
}

struct bypass_past bypasses_past(const struct instance *inst, unsigned port)
{
	if (!inst->bypasses || !bypass_has(inst->bypasses->bypass, port))
		return (struct bypass_past){0};
	return bypass_past(inst->bypasses->bypass, port);
}
