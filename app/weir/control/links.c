/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The links of the ports, and the clocks of devices that stamp packets, both checked regularly.
 */
#include "links.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/math.h"
#include "base/time.h"
#include "instance.h"
#include "event.h"
#include "tick.h"

void link_follow_begin(struct link_follow *follow, uint64_t now_ns)
{
	*follow = (struct link_follow){
		.down = LINK_END_NONE,
		.lost = LINK_END_NONE,
		.fresh = LINK_END_NONE,
		.starting = true,
		.fresh_ns = now_ns,
	};
}

/* Returns true for a link that was just brought up. It needs time to negotiate, and is not lost. */
static bool is_fresh(struct link_follow *follow, enum link_end end, bool up, uint64_t now_ns)
{
	if (now_ns - follow->fresh_ns >= LINK_FOLLOW_GRACE_NS) {
		follow->starting = false;
		follow->fresh = LINK_END_NONE;
	}
	if (up && follow->fresh == end)
		follow->fresh = LINK_END_NONE;
	return follow->starting || follow->fresh == end;
}

static enum link_act follow_lost(
	struct link_follow *follow, const bool up[2], uint64_t now_ns, enum link_end *end)
{
	enum link_end lost = LINK_END_NONE;

	if (up[LINK_END_A] && up[LINK_END_B])
		follow->starting = false;
	for (enum link_end at = LINK_END_A; at <= LINK_END_B; at++)
		if (!is_fresh(follow, at, up[at], now_ns) && !up[at] && lost == LINK_END_NONE)
			lost = at;
	if (lost != follow->lost) {
		follow->lost = lost;
		follow->since_ns = now_ns;
	}
	if (lost == LINK_END_NONE || now_ns - follow->since_ns < LINK_FOLLOW_DOWN_NS)
		return LINK_LEAVE;
	*end = follow->down = lost == LINK_END_A ? LINK_END_B : LINK_END_A;
	follow->lost = LINK_END_NONE;
	follow->returns = false;
	follow->again_ns = now_ns;
	follow->wait_ns = LINK_FOLLOW_AGAIN_NS;
	return LINK_TAKE_DOWN;
}

/*
 * Takes an end down again that is up: another program has changed it, or its device ignores Weir.
 * Each time logs two lines.
 */
static enum link_act take_down_again(struct link_follow *follow, uint64_t now_ns)
{
	if (now_ns < follow->again_ns)
		return LINK_LEAVE;
	follow->again_ns = now_ns + follow->wait_ns;
	follow->wait_ns = min_u64(2 * follow->wait_ns, LINK_FOLLOW_AGAIN_MOST_NS);
	return LINK_TAKE_DOWN;
}

enum link_act link_follow_turn(
	struct link_follow *follow, const bool up[2], uint64_t now_ns, enum link_end *end)
{
	bool back;

	if (follow->down == LINK_END_NONE)
		return follow_lost(follow, up, now_ns, end);
	*end = follow->down;
	back = up[follow->down == LINK_END_A ? LINK_END_B : LINK_END_A];
	if (back != follow->returns) {
		follow->returns = back;
		follow->since_ns = now_ns;
	}
	if (!back)
		return up[follow->down] ? take_down_again(follow, now_ns) : LINK_LEAVE;
	if (now_ns - follow->since_ns < LINK_FOLLOW_UP_NS)
		return LINK_LEAVE;
	follow->fresh = follow->down;
	follow->fresh_ns = now_ns;
	follow->down = LINK_END_NONE;
	follow->lost = LINK_END_NONE;
	return LINK_BRING_UP;
}

#define PERIOD_NS   (SECOND_NS / 4)
#define PATIENCE_MS 2000 /* time for a device at the stop */

/* Runs on the thread of links. */
static void switch_link(void *context)
{
	struct link_switch *link = context;

	link->ret = port_switch_link(link->port, link->up);
}

static int bring_up(const struct instance *inst, unsigned port)
{
	int ret = port_switch_link(&inst->ports[port], true);

	if (ret)
		event(LINK_NOT_SWITCHED, event_word("port", inst->config->ports[port].name),
			event_word("done", "switched, so it cannot follow"),
			event_word("why", strerror(-ret)));
	return ret;
}

static int begin_following(struct instance *inst)
{
	struct links *links = inst->links;
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < inst->config->n_wires; i++) {
		const struct wire *wire = &inst->config->wires[i];

		if (wire->link != LINK_FOLLOW)
			continue;
		link_follow_begin(&links->wires[i], control_now());
		ret = bring_up(inst, wire->a);
		if (ret == 0)
			ret = bring_up(inst, wire->b);
	}
	if (ret == 0)
		ret = offload_start(&links->thread);
	links->follows = ret == 0;
	links->job = (struct offload_job){.work = switch_link, .context = &links->under_way};
	return ret;
}

int links_start(struct instance *inst)
{
	bool follows = false;
	int ret = 0;

	inst->links = calloc(1, sizeof(*inst->links));
	if (!inst->links)
		return -ENOMEM;
	for (unsigned i = 0; i < inst->config->n_wires; i++)
		follows |= inst->config->wires[i].link == LINK_FOLLOW;
	if (!inst->borrowed && follows)
		ret = begin_following(inst);
	if (ret)
		links_stop(inst);
	return ret;
}

void links_stop(struct instance *inst)
{
	if (inst->links->follows) {
		if (!offload_stop(&inst->links->thread, PATIENCE_MS)) {
			event(LINK_HANGS);
			inst->links = NULL;
			return;
		}
		for (unsigned i = 0; i < inst->config->n_ports; i++)
			if (inst->links->ports[i].taken_down)
				bring_up(inst, i);
	}
	free(inst->links);
	inst->links = NULL;
}

/* Marks a removed device. Nothing uses a new one in its place: see interfaces.h. */
static bool is_gone(struct instance *inst, unsigned port)
{
	struct link_state *state = &inst->links->ports[port];

	if (state->gone || !port_gone(&inst->ports[port]))
		return state->gone;
	state->gone = true;
	state->changes += state->known && state->up;
	state->up = false;
	event(PORT_GONE, event_word("port", inst->config->ports[port].name),
		event_word("device", inst->config->ports[port].device),
		event_word("next", port_when_gone(&inst->ports[port])));
	return true;
}

const char *links_when_gone(const struct instance *inst, unsigned port)
{
	return port_when_gone(&inst->ports[port]);
}

static void watch_links(struct instance *inst)
{
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		struct link_state *state = &inst->links->ports[i];
		bool up;

		if (inst->links->under_way.port ==
			&inst->ports[i]) /* ethdev allows one at a time */
			continue;
		if (is_gone(inst, i))
			continue;
		if (port_link(&inst->ports[i], &up, &state->speed_mbps))
			continue;
		if (state->known && state->up == up)
			continue;
		state->changes += state->known;
		state->known = true;
		state->up = up;
		if (up)
			event(LINK_UP, event_word("port", inst->config->ports[i].name));
		else
			event(LINK_DOWN, event_word("port", inst->config->ports[i].name));
	}
}

/* Switches the links of one wire that follows. Returns true if a switch is under way. */
static bool follow_wire(struct instance *inst, unsigned i, uint64_t now_ns)
{
	const struct wire *wire = &inst->config->wires[i];
	const struct link_state *ports = inst->links->ports;
	const unsigned ends[] = {wire->a, wire->b};
	const bool up[] = {ports[wire->a].up, ports[wire->b].up};
	enum link_end end = LINK_END_NONE;
	enum link_act act = link_follow_turn(&inst->links->wires[i], up, now_ns, &end);
	struct links *links = inst->links;
	const char *name;

	if (act == LINK_LEAVE)
		return false;
	name = inst->config->ports[ends[end]].name;
	if (act == LINK_TAKE_DOWN)
		event(LINK_TAKEN_DOWN, event_word("port", name),
			event_word("other", inst->config->ports[ends[!end]].name),
			event_word("wire", wire->name));
	else
		event(LINK_BROUGHT_UP, event_word("port", name));
	/* Only one link is switched at a time. The others wait for their turn. */
	links->ports[ends[end]].taken_down = act == LINK_TAKE_DOWN;
	links->under_way = (struct link_switch){
		.port = &inst->ports[ends[end]], .up = act == LINK_BRING_UP};
	offload_submit(&links->thread, &links->job);
	return true;
}

static void collect_switched(struct instance *inst)
{
	struct link_switch *link = &inst->links->under_way;

	if (!inst->links->follows || !offload_collect(&inst->links->thread))
		return;
	if (link->ret)
		event(LINK_NOT_SWITCHED, event_word("port", link->port->config->name),
			event_word("done", link->up ? "brought up" : "taken down"),
			event_word("why", strerror(-link->ret)));
	*link = (struct link_switch){0};
}

int links_fd(const struct instance *inst)
{
	return inst->links->follows ? offload_fd(&inst->links->thread) : -1;
}

uint64_t links_next(const struct instance *inst)
{
	return inst->links->follows ? inst->links->seen_ns + PERIOD_NS : UINT64_MAX;
}

bool links_run(struct instance *inst, uint64_t now_ns)
{
	bool under_way;

	collect_switched(inst);
	if (now_ns - inst->links->seen_ns < PERIOD_NS)
		return false;
	watch_links(inst);
	for (unsigned i = 0; i < inst->config->n_ports; i++) { /* whose devices stamp packets */
		uint64_t before = tick_now(), nic;

		if (inst->ports[i].timestamps && !inst->links->ports[i].gone &&
			port_clock(&inst->ports[i], &nic) == 0)
			nic_clock_read(&inst->nic_clocks[i], nic, before, tick_now());
	}
	under_way = inst->links->under_way.port != NULL;
	for (unsigned i = 0; inst->links->follows && !under_way && i < inst->config->n_wires; i++)
		if (inst->config->wires[i].link == LINK_FOLLOW)
			under_way = follow_wire(inst, i, now_ns);
	inst->links->seen_ns = now_ns;
	return false;
}
