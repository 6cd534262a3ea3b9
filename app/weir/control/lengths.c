/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The longest frame that a wire takes.
 */
#include "lengths.h"

#include <errno.h>
#include <stdlib.h>

#include <linux/rtnetlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/layer2.h"
#include "base/math.h"
#include "base/time.h"
#include "bypasses.h"
#include "event.h"
#include "instance.h"
#include "kernel_port.h"

#define PERIOD_NS (5 * SECOND_NS) /* in case that a report of the kernel was lost */
#define MESSAGES  32768           /* bytes */

struct lengths {
	int netlink; /* -1: only looks */
	uint64_t next_ns;
	uint32_t said[CONFIG_PORTS_MAX]; /* bytes, if the event has reported a limit; 0: no limit */
	uint32_t most[CONFIG_PORTS_MAX]; /* bytes of the longest that it transmits; 0: down */
};

/* Sets the longest frames of the paths that lead to a port of the wire. */
static void set_paths(struct instance *inst, unsigned wire, enum direction direction,
	const struct kernel_frames *most)
{
	for (unsigned w = 0; w < inst->config->n_workers; w++) {
		const struct worker *worker = &inst->workers[w];

		for (unsigned i = 0; i < worker->n_paths; i++) {
			struct path *path = &worker->paths[i];

			if (path->wire != wire || path->direction != direction)
				continue;
			__atomic_store_n(&path->tagged_max, most->tagged, __ATOMIC_RELAXED);
			__atomic_store_n(&path->frame_max, most->any, __ATOMIC_RELAXED);
		}
	}
}

static void say_limit(struct instance *inst, unsigned port, uint32_t most, uint32_t wanted)
{
	const struct port_config *config = &inst->config->ports[port];
	uint32_t limit = most < wanted ? most : 0;
	char name[IFNAMSIZ];

	if (limit == inst->lengths->said[port] || !port_interface(&inst->ports[port], name))
		return;
	inst->lengths->said[port] = limit;
	if (limit)
		event(FRAMES_LIMITED, event_word("port", config->name),
			event_word("interface", name), event_count("bytes", limit),
			event_count("mtu", wanted - ETHER_LEN));
	else
		event(FRAMES_WHOLE, event_word("port", config->name), event_count("bytes", wanted));
}

/* Sets one direction of a wire. If the far port is down, another reason counts its packets. */
static void set_direction(
	struct instance *inst, unsigned wire, enum direction direction, unsigned near, unsigned far)
{
	const struct port_config *ports = inst->config->ports;
	unsigned interface = inst->ports[far].interface;
	uint32_t wanted = min_u32(port_frame_max(&ports[near]), port_frame_max(&ports[far]));
	struct kernel_frames most = {wanted, wanted}, kernel = most;
	bool up = true;

	if (interface) {
		kernel = kernel_frames(&ports[far], interface);
		up = kernel.any > 0;
	}
	if (interface && up) {
		most.any = min_u32(wanted, kernel.any);
		most.tagged = min_u32(wanted, kernel.tagged);
		say_limit(inst, far, most.any, wanted);
	}
	set_paths(inst, wire, direction, &most);
	inst->lengths->most[far] = up ? most.any : 0;
	bypasses_set_frame(inst, near, inst->lengths->most[far]);
}

static void set_all(struct instance *inst)
{
	for (unsigned i = 0; i < inst->config->n_wires; i++) {
		const struct wire *wire = &inst->config->wires[i];

		set_direction(inst, i, DIRECTION_A_TO_B, wire->a, wire->b);
		set_direction(inst, i, DIRECTION_B_TO_A, wire->b, wire->a);
	}
	inst->lengths->next_ns = control_now() + PERIOD_NS;
}

int lengths_start(struct instance *inst)
{
	const struct sockaddr_nl links = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK};
	int fd = -1;

	inst->lengths = calloc(1, sizeof(*inst->lengths));
	if (!inst->lengths)
		return -ENOMEM;
	if (!inst->borrowed)
		fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (fd >= 0 && bind(fd, (const struct sockaddr *)&links, sizeof(links))) {
		close(fd);
		fd = -1;
	}
	inst->lengths->netlink = fd;
	set_all(inst);
	return 0;
}

void lengths_stop(struct instance *inst)
{
	if (inst->lengths->netlink >= 0)
		close(inst->lengths->netlink);
	free(inst->lengths);
	inst->lengths = NULL;
}

int lengths_fd(const struct instance *inst)
{
	return inst->lengths->netlink;
}

static bool is_of_port(const struct instance *inst, const struct nlmsghdr *message)
{
	const struct ifinfomsg *link = NLMSG_DATA(message);

	if (message->nlmsg_len < NLMSG_LENGTH(sizeof(*link)))
		return false;
	for (unsigned i = 0; i < inst->config->n_ports; i++)
		if ((int)inst->ports[i].interface == link->ifi_index)
			return true;
	return false;
}

/* Looks at the ports if one of their interfaces has changed, or reports were lost. */
void lengths_read(struct instance *inst)
{
	union {
		struct nlmsghdr head;
		char bytes[MESSAGES];
	} messages;
	ssize_t len = recv(inst->lengths->netlink, &messages, sizeof(messages), 0);
	bool changed = len < 0 && errno == ENOBUFS;
	size_t left = len > 0 ? (size_t)len : 0;

	for (const struct nlmsghdr *m = &messages.head; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left))
		changed |= is_of_port(inst, m);
	if (changed)
		set_all(inst);
}

uint64_t lengths_next(const struct instance *inst)
{
	return inst->lengths->next_ns;
}

bool lengths_run(struct instance *inst, uint64_t now_ns)
{
	if (now_ns >= inst->lengths->next_ns)
		set_all(inst);
	return false;
}

uint32_t lengths_max(const struct instance *inst, unsigned port)
{
	return inst->lengths ? inst->lengths->most[port] : 0;
}
