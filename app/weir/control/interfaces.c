/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "interfaces.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "instance.h"
#include "kernel_port.h"
#include "event.h"
#include "offload/offload.h"
#include "wire_offloads.h"

#define PERIOD_NS   (5 * SECOND_NS)
#define PATIENCE_MS 2000 /* with the kernel, at the stop */
#define NEWS_MOST   8    /* of a look; what is more is said after the next */
#define NAMES       128

struct interfaces {
	struct wire_offloads *offloads; /* the thread's while it looks */
	struct offload thread;
	struct offload_job job;
	bool looking;
	uint64_t next_ns;
	unsigned n_news;
	char news[NEWS_MOST][WIRE_OFFLOADS_NEWS];
	char at_work[CONFIG_PORTS_MAX][NAMES]; /* as of the last look that has ended */
};

/*
 * The kernel's own stack gets every frame too: with an address it answers, and a bridge forwards a
 * second time.
 */
static void warn_shared(const struct port_config *port)
{
	char interface[IFNAMSIZ], address[INET6_ADDRSTRLEN];
	struct kernel_kin kin;

	if (!kernel_interface(port, interface) || kernel_kin(interface, &kin))
		return;
	if (kin.master[0])
		event(PORT_IN_BRIDGE, event_word("port", port->name),
			event_word("interface", interface), event_word("master", kin.master));
	if (kernel_address(interface, address, sizeof(address)))
		event(PORT_HAS_ADDRESS, event_word("port", port->name),
			event_word("interface", interface), event_word("address", address));
}

static void read_at_work(struct instance *inst)
{
	struct interfaces *interfaces = inst->interfaces;

	for (unsigned i = 0; i < inst->config->n_ports; i++)
		wire_offloads_at_work(interfaces->offloads, i, interfaces->at_work[i], NAMES);
}

/* On the thread. */
static void look_at_offloads(void *context)
{
	struct interfaces *interfaces = context;

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
	for (unsigned i = 0; i < inst->config->n_ports; i++)
		warn_shared(&inst->config->ports[i]);
	interfaces = calloc(1, sizeof(*interfaces));
	if (!interfaces)
		return -ENOMEM;
	ret = wire_offloads_start(inst->config, &interfaces->offloads);
	if (ret == 0 && interfaces->offloads)
		ret = offload_start(&interfaces->thread);
	if (ret || !interfaces->offloads) {
		wire_offloads_stop(interfaces->offloads, true);
		free(interfaces);
		return ret;
	}
	offload_name(&interfaces->thread, "weir-interfaces");
	interfaces->job = (struct offload_job){.work = look_at_offloads, .context = interfaces};
	interfaces->next_ns = control_now() + PERIOD_NS;
	inst->interfaces = interfaces;
	read_at_work(inst);
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

	return interfaces && !interfaces->looking ? interfaces->next_ns : UINT64_MAX;
}

bool interfaces_run(struct instance *inst, uint64_t now_ns)
{
	struct interfaces *interfaces = inst->interfaces;

	if (!interfaces)
		return false;
	if (interfaces->looking && offload_collect(&interfaces->thread)) {
		interfaces->looking = false;
		for (unsigned i = 0; i < interfaces->n_news; i++)
			event(OFFLOADS, event_word("said", interfaces->news[i]));
		read_at_work(inst);
		interfaces->next_ns = now_ns + PERIOD_NS;
	}
	if (!interfaces->looking && now_ns >= interfaces->next_ns) {
		interfaces->looking = true;
		offload_submit(&interfaces->thread, &interfaces->job);
	}
	return false;
}

void interfaces_at_work(const struct instance *inst, unsigned port, char *names, size_t size)
{
	snprintf(names, size, "%s", inst->interfaces ? inst->interfaces->at_work[port] : "");
}
