/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_cycles.h>
#include <rte_ether.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include "base/time.h"
#include "brain.h"
#include "classify/classify.h"
#include "config/buffers.h"
#include "packet/tunnel.h"
#include "control.h"
#include "delays.h"
#include "distribute.h"
#include "lanes.h"
#include "draw.h"
#include "eal.h"
#include "hold.h"
#include "links.h"
#include "log.h"
#include "pages.h"
#include "placing.h"
#include "police/charge.h"
#include "police/other.h"
#include "police/shaped.h"
#include "publish.h"
#include "purse.h"
#include "reload.h"
#include "settle.h"
#include "show.h"
#include "telemetry/server.h"
#include "tenant.h"

/* How soon it is looked whether workers have seen what a reload has changed. */
#define RELOAD_REST_NS MS_NS

static void ports_stop(struct box *box)
{
	if (box->lent)
		return;
	for (unsigned i = 0; i < box->config->n_ports; i++)
		port_stop(&box->ports[i]);
	for (unsigned i = 0; i < box->config->n_ports; i++) {
		unsigned missing = port_free(&box->ports[i]);

		if (missing)
			log_err("ports.%s: %u packet buffers did not come back",
				box->config->ports[i].name, missing);
		box->leaked += missing;
	}
}

/* Queue pairs of a wire: as many as there are workers, if both its ports have them. */
static uint16_t wire_queues(const struct box *box, const struct wire *wire)
{
	uint16_t ports = RTE_MIN(box->ports[wire->a].queues_max, box->ports[wire->b].queues_max);

	return RTE_MIN(ports, (uint16_t)box->config->n_workers);
}

/* Whether a wire has fewer queues than there are workers, and yet all of them. */
static bool wire_distributed(const struct box *box, const struct wire *wire)
{
	return wire->distribute && wire_queues(box, wire) < box->config->n_workers;
}

static void warn_few_queues(const struct box *box, const struct wire *wire)
{
	unsigned queues = wire_queues(box, wire), workers = box->config->n_workers;

	if (queues < workers && !wire->distribute)
		log_warn("wire %s: %u queue%s for %u workers; \"distribute\" would share them out",
			wire->name, queues, queues == 1 ? "" : "s", workers);
}

/* Ports that run already, as many of their queues as there are workers. */
static int ports_borrow(struct box *box)
{
	for (unsigned i = 0; i < box->config->n_ports; i++) {
		box->ports[i] = box->lent[i];
		box->ports[i].queues = RTE_MIN(
			box->lent[i].queues, (uint16_t)box->config->n_workers);
	}
	return 0;
}

static int ports_start(struct box *box)
{
	const struct config *config = box->config;
	uint16_t queues[CONFIG_PORTS_MAX];
	unsigned held[CONFIG_PORTS_MAX] = {0};
	int ret = 0;

	if (box->lent)
		return ports_borrow(box);
	for (unsigned i = 0; ret == 0 && i < config->n_ports; i++) {
		queues[i] = 1;
		ret = port_probe(&box->ports[i], &config->ports[i], box->port_ids[i]);
	}
	for (unsigned i = 0; ret == 0 && i < config->n_wires; i++) {
		const struct wire *wire = &config->wires[i];

		queues[wire->a] = queues[wire->b] = wire_queues(box, wire);
		if (wire_distributed(box, wire))
			held[wire->a] = held[wire->b] = lanes_mbufs(config->n_workers);
		warn_few_queues(box, wire);
	}
	for (unsigned i = 0; ret == 0 && i < config->n_ports; i++)
		ret = port_start(&box->ports[i], queues[i], held[i], config_buffers(config, i));
	if (ret)
		ports_stop(box);
	return ret;
}

static int classifier_start(struct box *box)
{
	unsigned n = box->n_policies;
	int ret = slots_init(&box->slots, n, RTE_MAX(2 * n, (unsigned)BOX_SLOTS_LEAST));

	if (ret == 0)
		ret = classifier_create(box->policies, n, SOCKET_ID_ANY, &box->classifier);
	if (ret == 0) {
		box->sourced = tenants_sourced(box->policies, box->slots.of, n, &box->n_sourced);
		ret = box->sourced ? 0 : -ENOMEM;
	}
	if (ret) {
		classifier_destroy(box->classifier);
		slots_free(&box->slots);
	}
	return ret;
}

static void classifier_stop(struct box *box)
{
	classifier_destroy(box->classifier);
	free(box->sourced);
	slots_free(&box->slots);
}

static void engine_memory_free(struct box *box)
{
	size_t slots = box->slots.capacity, workers = box->config->n_workers;
	struct engine *engine = &box->engine;

	for (size_t i = 0; engine->slots && i < slots; i++)
		free(engine->slots[i].shares);
	pages_free(engine->slots, slots * sizeof(*engine->slots));
	pages_free(engine->reserves, slots * sizeof(*engine->reserves));
	pages_free(engine->totals, slots * workers * sizeof(*engine->totals));
	engine_free(engine);
	pages_free(box->carried, slots * sizeof(*box->carried));
	rte_free(box->rounds.changes.places);
	dirty_free(&box->dirty);
}

/* However it is accounted: Ethernet's header, two tags and what is on the wire beside a frame. */
static uint32_t largest_wire_frame(const struct config *config)
{
	uint32_t mtu = 0;

	for (unsigned i = 0; i < config->n_ports; i++)
		mtu = RTE_MAX(mtu, (uint32_t)config->ports[i].mtu);
	return mtu + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + POLICE_WIRE;
}

static int reserves_alloc(struct box *box)
{
	struct reserve_changes *changes = &box->rounds.changes;
	size_t n = box->slots.capacity;

	box->engine.frame = largest_wire_frame(box->config);
	if (box->config->n_workers == 1)
		return 0;
	changes->most = (unsigned)RTE_MIN(n, (size_t)PUBLISH_ROUND);
	changes->places = rte_zmalloc(
		"reserves", 2 * changes->most * sizeof(*changes->places), RTE_CACHE_LINE_SIZE);
	box->engine.reserves = pages_alloc(n * sizeof(*box->engine.reserves),
		box->n_policies * sizeof(*box->engine.reserves), SOCKET_ID_ANY);
	for (unsigned w = 0; w < box->config->n_workers; w++)
		box->workers[w].reserves = box->engine.reserves;
	return box->engine.reserves && changes->places ? 0 : -ENOMEM;
}

static int engine_memory_alloc(struct box *box)
{
	struct engine *engine = &box->engine;
	unsigned n = box->config->n_workers;
	size_t slots = box->slots.capacity;
	int ret = engine_init(engine, n);

	for (unsigned w = 0; ret == 0 && w < n; w++)
		engine->workers[w] = (struct engine_worker){
			.states = box->workers[w].policies, .samples = box->workers[w].samples};
	engine_share_begin(engine, box->policies, box->n_policies, control_now());
	engine->slots = pages_alloc(slots * sizeof(*engine->slots), 0, SOCKET_ID_ANY);
	engine->totals = pages_alloc(slots * n * sizeof(*engine->totals), 0, SOCKET_ID_ANY);
	box->carried = pages_alloc(slots * sizeof(*box->carried), 0, SOCKET_ID_ANY);
	if (ret || !engine->slots || !engine->totals || !box->carried ||
		dirty_init(&box->dirty, box->slots.capacity))
		return -ENOMEM;
	return reserves_alloc(box);
}

/* Lanes go with their owner's paths, after all who share them, and what is inside to its pool. */
static void paths_free(struct box *box)
{
	for (unsigned w = 0; w < box->config->n_workers; w++) {
		struct worker *worker = &box->workers[w];

		for (unsigned i = 0; i < worker->n_paths; i++)
			if (!lanes_owned(worker->paths[i].lanes, w))
				worker->paths[i].lanes = NULL;
	}
	for (unsigned w = 0; w < box->config->n_workers; w++) {
		struct worker *worker = &box->workers[w];

		for (unsigned i = 0; i < worker->n_paths; i++)
			lanes_destroy(worker->paths[i].lanes);
		free(worker->paths);
	}
}

static void memory_stop(struct box *box)
{
	if (box->workers)
		paths_free(box);
	for (unsigned i = 0; box->workers && i < box->config->n_workers; i++)
		worker_free(&box->workers[i]);
	free(box->workers);
	publisher_free(&box->publisher);
	engine_memory_free(box);
}

static const struct nic_clock *clock_of(const struct box *box, const struct port *port)
{
	return port->timestamps ? &box->nic_clocks[port - box->ports] : NULL;
}

/* Both directions of a queue, for the worker that owns it. */
static void paths_add(struct box *box, unsigned wire, uint16_t queue, struct worker *worker)
{
	const struct port *a = &box->ports[box->config->wires[wire].a];
	const struct port *b = &box->ports[box->config->wires[wire].b];

	worker->paths[worker->n_paths++] = (struct path){a->id, b->id, queue, (uint16_t)wire,
		DIRECTION_A_TO_B, a->rss, NULL, clock_of(box, a)};
	worker->paths[worker->n_paths++] = (struct path){b->id, a->id, queue, (uint16_t)wire,
		DIRECTION_B_TO_A, b->rss, NULL, clock_of(box, b)};
}

/* The last path of a worker becomes one of every worker's, by lanes; they tell the flow's hash. */
static int paths_share(struct box *box, struct worker *owner, struct path *path)
{
	unsigned n = box->config->n_workers;

	path->lanes = lanes_create(owner->index, n);
	if (!path->lanes || lanes_seat(path->lanes, box->workers, box->slots.capacity))
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		struct worker *worker = &box->workers[i];

		if (i == owner->index)
			continue;
		worker->paths[worker->n_paths] = *path;
		worker->paths[worker->n_paths++].rx_hash = true;
	}
	return 0;
}

/* Every queue of every wire goes to a worker; wires with few begin at different ones. */
static int paths_assign(struct box *box)
{
	const struct config *config = box->config;
	unsigned n = config->n_workers;
	int ret = 0;

	for (unsigned i = 0; i < config->n_wires; i++) {
		uint16_t queues = box->ports[config->wires[i].a].queues;

		for (uint16_t q = 0; ret == 0 && q < queues; q++) {
			struct worker *owner = &box->workers[(i + q) % n];

			paths_add(box, i, q, owner);
			if (!wire_distributed(box, &config->wires[i]))
				continue;
			ret = paths_share(box, owner, &owner->paths[owner->n_paths - 2]);
			if (ret == 0)
				ret = paths_share(box, owner, &owner->paths[owner->n_paths - 1]);
		}
	}
	return ret;
}

static int paths_alloc(struct box *box, struct worker *worker)
{
	size_t n = (size_t)box->config->n_wires * box->config->n_workers * 2;

	worker->paths = calloc(n + 1, sizeof(struct path));
	return worker->paths ? 0 : -ENOMEM;
}

static int memory_start(struct box *box)
{
	const struct config *config = box->config;
	unsigned n = config->n_workers;
	int ret = publisher_init(&box->publisher, n);

	box->workers = aligned_alloc(RTE_CACHE_LINE_SIZE, n * sizeof(*box->workers));
	if (box->workers)
		memset(box->workers, 0, n * sizeof(*box->workers));
	else
		ret = -ENOMEM;
	for (unsigned i = 0; ret == 0 && i < n; i++) {
		struct worker *worker = &box->workers[i];

		worker->index = i;
		worker->lcore = i + 1;
		worker->cpu = config->workers[i];
		worker->idle = config->idle;
		worker->tunnels = tunnels_to_enter(config);
		worker->publisher = &box->publisher;
		worker->stop = &box->stop;
		worker->landed = &box->landed;
		worker->n_workers = n;
		ret = worker_init(
			worker, box->slots.capacity, box->n_policies, config_waiting(config));
		if (ret == 0)
			ret = paths_alloc(box, worker);
	}
	if (ret == 0)
		ret = paths_assign(box);
	if (ret == 0)
		ret = engine_memory_alloc(box);
	if (ret)
		memory_stop(box);
	return ret;
}

static int telemetry_start(struct box *box)
{
	static const struct telemetry_command *const tables[] = {telemetry_ethdev, show_commands};
	const char *path = box->config->control_socket;
	int ret = telemetry_listen(path, tables, RTE_DIM(tables), box, &box->telemetry);

	if (ret)
		log_err("control.socket: %s: %s", path, strerror(-ret));
	return ret;
}

static void telemetry_stop(struct box *box)
{
	telemetry_close(box->telemetry);
}

/*
 * rte_eal_wait_lcore() spins, and under SCHED_FIFO a spinner never lets a worker of its own CPU
 * come to its end: so sleep until it has.
 */
static void wait_for_workers(struct box *box)
{
	const struct timespec moment = {0, 1000000};

	__atomic_store_n(&box->stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < box->config->n_workers; i++) {
		while (rte_eal_get_lcore_state(box->workers[i].lcore) == RUNNING)
			nanosleep(&moment, NULL);
		rte_eal_wait_lcore(box->workers[i].lcore);
	}
}

static int limits_start(struct box *box)
{
	tsc_clock_start(&box->clock);
	return publish_first(box);
}

/* What was published goes with the rest of the memory. */
static void limits_stop(struct box *box)
{
	(void)box;
}

static int launch_workers(struct box *box)
{
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < box->config->n_workers; i++)
		ret = rte_eal_remote_launch(worker_run, &box->workers[i], box->workers[i].lcore);
	if (ret)
		wait_for_workers(box);
	return ret;
}

/* What a policy consists of; each is prepared after those above it. */
static const struct policy_part *const parts[] = {
	&shares_part, &delays_part, &purse_part, &lines_part, &placing_part, NULL};

static uint64_t reload_next(const struct box *box)
{
	return reload_settling(box) ? control_now() + RELOAD_REST_NS : UINT64_MAX;
}

static bool reload_run(struct box *box, uint64_t now_ns)
{
	(void)now_ns;
	reload_advance(box);
	return false;
}

static void reload_hang_up(struct box *box)
{
	const char *answer = reload_request(box);

	log_info("SIGHUP: reload %s", answer ? answer : "of nothing: there is no file");
}

static bool ledger_run(struct box *box, uint64_t now_ns)
{
	(void)now_ns;
	return settle_advance(box);
}

static bool placement_run(struct box *box, uint64_t now_ns)
{
	placings_look(box, now_ns);
	return false;
}

/* What the control loop goes through at each of its turns, in this order. */
static const struct task tasks[] = {
	{.name = "gossip", .fd = gossip_fd, .read = gossip_take},
	{.name = "reload",
		.fd = reload_fd,
		.next_ns = reload_next,
		.run = reload_run,
		.hang_up = reload_hang_up},
	{.name = "limiter", .next_ns = brain_next, .run = brain_run},
	{.name = "ledger", .fd = settle_fd, .next_ns = settle_next, .run = ledger_run},
	{.name = "totals", .next_ns = purses_next, .run = purses_look},
	{.name = "etcd", .fd = draw_fd, .next_ns = draw_next, .run = draw_look},
	{.name = "news", .tell = brain_tell},
	{.name = "placement", .next_ns = placings_next, .run = placement_run},
	{.name = "links", .run = links_run},
};

/* Brought up in this order, taken down in reverse: the socket answers when packets flow. */
static const struct module {
	const char *name;
	int (*start)(struct box *box);
	void (*stop)(struct box *box);
} modules[] = {
	{"ports", ports_start, ports_stop},
	{"links", links_start, links_stop},
	{"classifier", classifier_start, classifier_stop},
	{"memory", memory_start, memory_stop},
	{"delays", delays_start, delays_stop},
	{"ledger", settle_start, settle_stop},
	{"limiter", brain_start, brain_stop},
	{"gossip", gossip_start, gossip_stop},
	{"etcd", draw_start, draw_stop},
	{"totals", purses_start, purses_stop},
	{"placement", placings_start, placings_stop},
	{"limits", limits_start, limits_stop},
	{"reload", reload_start, reload_stop},
	{"workers", launch_workers, wait_for_workers},
	{"telemetry", telemetry_start, telemetry_stop},
};

/* Modules below this are up before any worker runs. */
#define PREPARED (RTE_DIM(modules) - 2)

static int start_modules(struct box *box, unsigned n)
{
	const struct config *config = box->config;

	box->parts = parts;
	box->policies = config->policies;
	box->n_policies = config->n_policies;
	if (hold_register())
		return -ENOMEM;
	if (eal_find_ports(config, box->port_ids))
		return -ENODEV;
	for (; box->started < n; box->started++) {
		int ret = modules[box->started].start(box);

		if (ret) {
			log_err("not started, because of %s: %s", modules[box->started].name,
				strerror(-ret));
			box_stop(box);
			return ret;
		}
	}
	return 0;
}

int box_start(struct box *box, const struct config *config, const char *file)
{
	*box = (struct box){.config = config, .file = file};
	return start_modules(box, RTE_DIM(modules));
}

int box_prepare(struct box *box, const struct config *config, const struct port *ports)
{
	*box = (struct box){.config = config, .lent = ports};
	return start_modules(box, PREPARED);
}

int box_run(struct box *box, int signal_fd)
{
	return control_run(box, tasks, RTE_DIM(tasks), signal_fd);
}

void box_stop(struct box *box)
{
	while (box->started > 0)
		modules[--box->started].stop(box);
}
