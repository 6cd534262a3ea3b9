/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The kernel's interfaces of the ports, and the longest frames that they transmit.
 */
#include "interfaces.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <rte_ethdev.h>

#include "base/time.h"
#include "instance.h"
#include "kernel_port.h"
#include "event.h"
#include "offload/offload.h"
#include "links.h"
#include "wire_offloads.h"
#include "base/layer2.h"
#include "base/math.h"
#include "bypasses.h"

#define PERIOD_NS   (2 * SECOND_NS)
#define GONE_NS     SECOND_NS /* a period while a port waits for its interface */
#define GRACE_NS    MS_NS     /* between two checks whether workers have left a port */
#define PATIENCE_MS 2000      /* time for the kernel at the stop */
#define NEWS_MOST   8         /* reports of one look; the next look reports the others */
#define NAMES       128

/* The name of an interface, and others that get or alter its packets; "": none. */
struct attachments {
	char name[IFNAMSIZ];
	char master[IFNAMSIZ], address[INET6_ADDRSTRLEN], program[64];
};

/* A look at one port: control sets the first two members, and the thread finds the others. */
struct look {
	unsigned interface;
	bool gone;
	unsigned back; /* index of the interface that has its name, once it is gone; 0: none */
	bool filtered;
	struct kernel_kin kin;
	struct attachments attachments;
};

struct interfaces {
	struct wire_offloads *offloads; /* the thread's during a look, like looks[] */
	struct look looks[CONFIG_PORTS_MAX];
	struct attachments seen[CONFIG_PORTS_MAX];
	unsigned own_program[CONFIG_PORTS_MAX]; /* ID of AF_XDP's; 0: not looked at yet */
	int reopening;                          /* port that workers are leaving; -1: none */
	uint64_t moment;                        /* see publisher_moment() */
	struct offload thread;
	struct offload_job job;
	bool looking;
	uint64_t next_ns;
	unsigned n_news;
	char news[NEWS_MOST][WIRE_OFFLOADS_NEWS];
	char at_work[CONFIG_PORTS_MAX][NAMES]; /* at the last look that has ended */
};

/* Any thread. The kernel's network stack also gets every frame: see the texts of the events. */
static void look_at_attachments(const struct port_config *port, struct look *look)
{
	char configured[IFNAMSIZ];
	struct attachments *attachments = &look->attachments;
	unsigned again;

	*attachments = (struct attachments){0};
	look->back = 0;
	if (!kernel_interface(port, configured))
		return;
	again = look->gone || !look->interface ? if_nametoindex(configured) : 0;
	look->back = look->gone && again;
	if (look->gone || !if_indextoname(again ? again : look->interface, attachments->name) ||
		kernel_kin(attachments->name, &look->kin))
		return;
	memcpy(attachments->master, look->kin.master, sizeof(attachments->master));
	kernel_address(attachments->name, attachments->address, sizeof(attachments->address));
	look->filtered = kernel_has_filter((unsigned)look->kin.index);
}

/* Names a program other than ours. AF_XDP's is the one of the first look after the start. */
static void name_program(struct interfaces *interfaces, const struct port_config *port, unsigned i)
{
	struct look *look = &interfaces->looks[i];
	unsigned id = look->kin.program, *own = &interfaces->own_program[i];
	char *program = look->attachments.program;

	if (!look->attachments.name[0])
		return;
	if (port_is_af_xdp(port) && *own == 0)
		*own = id;
	if (id != *own && id)
		snprintf(program, sizeof(look->attachments.program), "the XDP program %u", id);
	else if (id != *own)
		snprintf(program, sizeof(look->attachments.program), "no XDP program of Weir");
	else if (look->filtered)
		snprintf(program, sizeof(look->attachments.program), "a filter of tc");
}

static bool is_new(const char *was, const char *is)
{
	return !was[0] && is[0];
}

static void log_changes(
	const char *port, const struct attachments *was, const struct attachments *is)
{
	const char *name = is->name[0] ? is->name : was->name;

	if (is_new(was->master, is->master))
		event(PORT_IN_BRIDGE, event_word("port", port), event_word("interface", name),
			event_word("master", is->master));
	if (is_new(is->master, was->master))
		event(PORT_NOT_IN_BRIDGE, event_word("port", port), event_word("interface", name),
			event_word("master", was->master));
	if (is_new(was->address, is->address))
		event(PORT_HAS_ADDRESS, event_word("port", port), event_word("interface", name),
			event_word("address", is->address));
	if (is_new(is->address, was->address))
		event(PORT_NO_ADDRESS, event_word("port", port), event_word("interface", name),
			event_word("address", was->address));
	if (is_new(was->program, is->program))
		event(PORT_HAS_PROGRAM, event_word("port", port), event_word("interface", name),
			event_word("program", is->program));
	if (is_new(is->program, was->program))
		event(PORT_NO_PROGRAM, event_word("port", port), event_word("interface", name),
			event_word("program", was->program));
}

const char *interfaces_name(const struct instance *inst, unsigned port)
{
	return inst->interfaces ? inst->interfaces->seen[port].name : "";
}

bool interfaces_renamed(const struct instance *inst, unsigned port, char configured[IFNAMSIZ])
{
	const char *name = interfaces_name(inst, port);

	return name[0] && kernel_interface(&inst->config->ports[port], configured) &&
	       strcmp(name, configured) != 0;
}

static void log_name(const struct instance *inst, unsigned i, const char *before)
{
	const char *port = inst->config->ports[i].name, *name = interfaces_name(inst, i);
	char configured[IFNAMSIZ];

	if (!name[0] || strcmp(before, name) == 0)
		return;
	if (interfaces_renamed(inst, i, configured))
		event(PORT_RENAMED, event_word("port", port), event_word("before", configured),
			event_word("interface", name));
	else if (before[0])
		event(PORT_NAMED, event_word("port", port), event_word("interface", name));
}

/* Reports changes since the previous look. */
static void compare_looks(struct instance *inst)
{
	struct interfaces *interfaces = inst->interfaces;
	char before[IFNAMSIZ];

	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		const struct port_config *port = &inst->config->ports[i];

		name_program(interfaces, port, i);
		log_changes(port->name, &interfaces->seen[i], &interfaces->looks[i].attachments);
		memcpy(before, interfaces->seen[i].name, sizeof(before));
		interfaces->seen[i] = interfaces->looks[i].attachments;
		log_name(inst, i, before);
	}
}

bool interfaces_altered(const struct instance *inst, unsigned port, char *text, size_t size)
{
	static const struct attachments none;
	const struct interfaces *interfaces = inst->interfaces;
	const struct attachments *seen = interfaces ? &interfaces->seen[port] : &none;
	bool ignored = !interfaces || inst->config->ports[port].offloads == OFFLOADS_IGNORE;
	const struct {
		const char *kind, *name;
	} found[] = {{"master ", seen->master}, {"address ", seen->address}, {"", seen->program},
		{"offloads ", ignored ? "" : interfaces->at_work[port]}};
	size_t at = (size_t)snprintf(text, size, "%s has", seen->name), nothing = at;

	for (size_t i = 0; i < sizeof(found) / sizeof(found[0]); i++)
		if (found[i].name[0] && at < size)
			at += (size_t)snprintf(text + at, size - at, "%s %s%s",
				at > nothing ? "," : "", found[i].kind, found[i].name);
	return at > nothing;
}

static uint16_t id_for_workers(const struct instance *inst, unsigned port)
{
	if (inst->interfaces->reopening == (int)port ||
		!rte_eth_dev_is_valid_port(inst->ports[port].id))
		return (uint16_t)port_parked();
	return inst->ports[port].id;
}

/* Assigns the ports to workers, which use them from their next turn on. */
static void lead_workers(struct instance *inst)
{
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		for (unsigned i = 0; i < inst->workers[w].n_paths; i++) {
			struct path *path = &inst->workers[w].paths[i];
			const struct wire *wire = &inst->config->wires[path->wire];
			bool from_a = path->direction == DIRECTION_A_TO_B;
			uint16_t a = id_for_workers(inst, wire->a);
			uint16_t b = id_for_workers(inst, wire->b);

			__atomic_store_n(&path->rx_port, from_a ? a : b, __ATOMIC_RELAXED);
			__atomic_store_n(&path->tx_port, from_a ? b : a, __ATOMIC_RELAXED);
		}
}

static void begin_reopening(struct instance *inst, unsigned port)
{
	const char *name = inst->config->ports[port].name;

	if (port_can_reopen(&inst->ports[port])) {
		inst->interfaces->reopening = (int)port;
		lead_workers(inst);
		inst->interfaces->moment = publisher_moment(&inst->publisher);
	} else if (!inst->restart) {
		event(PORT_RESTART, event_word("port", name));
		inst->restart = true;
		kill(getpid(), SIGTERM); /* a normal stop with another exit status */
	}
}

/* Opens the port again. No worker uses it. */
static void end_reopening(struct instance *inst)
{
	unsigned port = (unsigned)inst->interfaces->reopening;
	int ret = port_reopen(&inst->ports[port]);

	inst->port_ids[port] = inst->ports[port].id;
	inst->links->ports[port].gone = ret != 0;
	if (ret)
		event(PORT_NOT_BACK, event_word("port", inst->config->ports[port].name),
			event_word("why", strerror(-ret)));
	else
		event(PORT_BACK, event_word("port", inst->config->ports[port].name));
	inst->interfaces->reopening = -1;
	lead_workers(inst);
}

/* Begins to reopen a port that is back, one at a time. Returns true if any port is gone. */
static bool look_for_returned(struct instance *inst)
{
	bool gone = false;

	if (!inst->links)
		return false;
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		if (!inst->links->ports[i].gone)
			continue;
		if (inst->interfaces->looks[i].back && inst->interfaces->reopening < 0)
			begin_reopening(inst, i);
		gone = true;
	}
	return gone;
}

static void read_at_work(struct instance *inst)
{
	struct interfaces *interfaces = inst->interfaces;

	for (unsigned i = 0; i < inst->config->n_ports; i++)
		wire_offloads_at_work(interfaces->offloads, i, interfaces->at_work[i], NAMES);
}

/* Runs on the thread of interfaces. */
static void look_at_interfaces(void *context)
{
	struct instance *inst = context;
	struct interfaces *interfaces = inst->interfaces;

	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		look_at_attachments(&inst->config->ports[i], &interfaces->looks[i]);
		if (interfaces->looks[i].back)
			wire_offloads_renew(interfaces->offloads, i, interfaces->looks[i].back);
	}
	interfaces->n_news = 0;
	while (interfaces->n_news < NEWS_MOST &&
		wire_offloads_look(interfaces->offloads, interfaces->news[interfaces->n_news]))
		interfaces->n_news++;
}

int interfaces_start(struct instance *inst)
{
	struct interfaces *interfaces;
	int ret = 0;

	if (inst->borrowed)
		return 0;
	interfaces = calloc(1, sizeof(*interfaces));
	if (!interfaces)
		return -ENOMEM;
	interfaces->reopening = -1;
	ret = wire_offloads_start(inst->config, &interfaces->offloads);
	if (ret == 0 && interfaces->offloads)
		ret = offload_start(&interfaces->thread);
	if (ret || !interfaces->offloads) {
		wire_offloads_stop(interfaces->offloads, true);
		free(interfaces);
		return ret;
	}
	offload_name(&interfaces->thread, "weir-interfaces");
	interfaces->job = (struct offload_job){.work = look_at_interfaces, .context = inst};
	interfaces->next_ns = control_now() + PERIOD_NS;
	inst->interfaces = interfaces;
	read_at_work(inst);
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		look_at_attachments(&inst->config->ports[i], &interfaces->looks[i]);
		interfaces->looks[i].kin.program = 0; /* the start replaces its own */
	}
	compare_looks(inst);
	return 0;
}

void interfaces_stop(struct instance *inst)
{
	if (!inst->interfaces)
		return;
	if (offload_stop(&inst->interfaces->thread, PATIENCE_MS)) {
		wire_offloads_stop(inst->interfaces->offloads, !inst->has_started);
		free(inst->interfaces);
	} else {
		event(OFFLOADS_HANG);
	}
	inst->interfaces = NULL;
}

int interfaces_fd(const struct instance *inst)
{
	return inst->interfaces ? offload_fd(&inst->interfaces->thread) : -1;
}

uint64_t interfaces_next(const struct instance *inst)
{
	const struct interfaces *interfaces = inst->interfaces;

	if (interfaces && interfaces->reopening >= 0)
		return control_now() + GRACE_NS;
	return interfaces && !interfaces->looking ? interfaces->next_ns : UINT64_MAX;
}

static void begin_look(struct instance *inst)
{
	struct interfaces *interfaces = inst->interfaces;

	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		interfaces->looks[i].interface = inst->ports[i].interface;
		interfaces->looks[i].gone = inst->links && inst->links->ports[i].gone;
	}
	interfaces->looking = true;
	offload_submit(&interfaces->thread, &interfaces->job);
}

static void end_look(struct instance *inst, uint64_t now_ns)
{
	struct interfaces *interfaces = inst->interfaces;

	interfaces->looking = false;
	for (unsigned i = 0; i < interfaces->n_news; i++)
		event(OFFLOADS, event_word("line", interfaces->news[i]));
	read_at_work(inst);
	compare_looks(inst);
	interfaces->next_ns = now_ns + (look_for_returned(inst) ? GONE_NS : PERIOD_NS);
}

bool interfaces_run(struct instance *inst, uint64_t now_ns)
{
	struct interfaces *interfaces = inst->interfaces;

	if (!interfaces)
		return false;
	if (interfaces->looking && offload_collect(&interfaces->thread))
		end_look(inst, now_ns);
	if (interfaces->reopening >= 0 && publisher_is_past(&inst->publisher, interfaces->moment))
		end_reopening(inst);
	if (!interfaces->looking && now_ns >= interfaces->next_ns)
		begin_look(inst);
	return false;
}

void interfaces_at_work(const struct instance *inst, unsigned port, char *names, size_t size)
{
	snprintf(names, size, "%s", inst->interfaces ? inst->interfaces->at_work[port] : "");
}

/* --- lengths of frames ------------------------------------------------------------------------ */

#define LENGTHS_NS (5 * SECOND_NS) /* in case that a report of the kernel was lost */
#define MESSAGES   32768           /* bytes */

struct lengths {
	int netlink; /* -1: only looks */
	uint64_t next_ns;
	uint32_t logged
		[CONFIG_PORTS_MAX];      /* bytes, if the event has reported a limit; 0: no limit */
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

static void log_limit(struct instance *inst, unsigned port, uint32_t most, uint32_t wanted)
{
	const struct port_config *config = &inst->config->ports[port];
	uint32_t limit = most < wanted ? most : 0;
	char name[IFNAMSIZ];

	if (limit == inst->lengths->logged[port] || !port_interface(&inst->ports[port], name))
		return;
	inst->lengths->logged[port] = limit;
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
		log_limit(inst, far, most.any, wanted);
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
	inst->lengths->next_ns = control_now() + LENGTHS_NS;
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
