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
#include "rx_rings.h"
#include "etcd_share.h"
#include "eal.h"
#include "shape_in.h"
#include "links.h"
#include "log.h"
#include "pages.h"
#include "placing.h"
#include "police/charge.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "publish.h"
#include "credits.h"
#include "reload.h"
#include "commit.h"
#include "show.h"
#include "telemetry/server.h"
#include "attach.h"

/* How soon it is looked whether workers have seen what a reload has changed. */
#define RELOAD_REST_NS MS_NS

static void ports_stop(struct instance *inst)
{
	if (inst->borrowed)
		return;
	for (unsigned i = 0; i < inst->config->n_ports; i++)
		port_stop(&inst->ports[i]);
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		unsigned missing = port_free(&inst->ports[i]);

		if (missing)
			log_err("ports.%s: %u packet buffers did not come back",
				inst->config->ports[i].name, missing);
		inst->leaked += missing;
	}
}

/* Queue pairs of a wire: as many as there are workers, if both its ports have them. */
static uint16_t wire_queues(const struct instance *inst, const struct wire *wire)
{
	uint16_t ports = RTE_MIN(inst->ports[wire->a].queues_max, inst->ports[wire->b].queues_max);

	return RTE_MIN(ports, (uint16_t)inst->config->n_workers);
}

/* Whether a wire has fewer queues than there are workers, and yet all of them. */
static bool wire_distributed(const struct instance *inst, const struct wire *wire)
{
	return wire->distribute && wire_queues(inst, wire) < inst->config->n_workers;
}

static void warn_few_queues(const struct instance *inst, const struct wire *wire)
{
	unsigned queues = wire_queues(inst, wire), workers = inst->config->n_workers;

	if (queues < workers && !wire->distribute)
		log_warn("wire %s: %u queue%s for %u workers; \"distribute\" would share them out",
			wire->name, queues, queues == 1 ? "" : "s", workers);
}

/* Ports that run already, as many of their queues as there are workers. */
static int ports_borrow(struct instance *inst)
{
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		inst->ports[i] = inst->borrowed[i];
		inst->ports[i].queues = RTE_MIN(
			inst->borrowed[i].queues, (uint16_t)inst->config->n_workers);
	}
	return 0;
}

static int ports_start(struct instance *inst)
{
	const struct config *config = inst->config;
	uint16_t queues[CONFIG_PORTS_MAX];
	unsigned held[CONFIG_PORTS_MAX] = {0};
	int ret = 0;

	if (inst->borrowed)
		return ports_borrow(inst);
	for (unsigned i = 0; ret == 0 && i < config->n_ports; i++) {
		queues[i] = 1;
		ret = port_probe(&inst->ports[i], &config->ports[i], inst->port_ids[i]);
	}
	for (unsigned i = 0; ret == 0 && i < config->n_wires; i++) {
		const struct wire *wire = &config->wires[i];

		queues[wire->a] = queues[wire->b] = wire_queues(inst, wire);
		if (wire_distributed(inst, wire))
			held[wire->a] = held[wire->b] = rx_rings_mbufs(config->n_workers);
		warn_few_queues(inst, wire);
	}
	for (unsigned i = 0; ret == 0 && i < config->n_ports; i++)
		ret = port_start(&inst->ports[i], queues[i], held[i], config_buffers(config, i));
	if (ret)
		ports_stop(inst);
	return ret;
}

static int classifier_start(struct instance *inst)
{
	unsigned n = inst->n_policies;
	int ret = slot_map_init(&inst->slots, n, RTE_MAX(2 * n, (unsigned)INSTANCE_SLOTS_LEAST));

	if (ret == 0)
		ret = classifier_create(inst->policies, n, SOCKET_ID_ANY, &inst->classifier);
	if (ret == 0) {
		inst->sourced = slots_per_source(
			inst->policies, inst->slots.of, n, &inst->n_sourced);
		ret = inst->sourced ? 0 : -ENOMEM;
	}
	if (ret) {
		classifier_destroy(inst->classifier);
		slot_map_free(&inst->slots);
	}
	return ret;
}

static void classifier_stop(struct instance *inst)
{
	classifier_destroy(inst->classifier);
	free(inst->sourced);
	slot_map_free(&inst->slots);
}

static void engine_memory_free(struct instance *inst)
{
	size_t slots = inst->slots.capacity, workers = inst->config->n_workers;
	struct engine *engine = &inst->engine;

	for (size_t i = 0; engine->slots && i < slots; i++)
		free(engine->slots[i].shares);
	pages_free(engine->slots, slots * sizeof(*engine->slots));
	pages_free(engine->shared_buckets, slots * sizeof(*engine->shared_buckets));
	pages_free(engine->totals, slots * workers * sizeof(*engine->totals));
	engine_free(engine);
	pages_free(inst->carried_over, slots * sizeof(*inst->carried_over));
	rte_free(inst->rounds.changes.places);
	dirty_free(&inst->dirty);
}

/* However it is accounted: Ethernet's header, two tags and what is on the wire beside a frame. */
static uint32_t largest_wire_frame(const struct config *config)
{
	uint32_t mtu = 0;

	for (unsigned i = 0; i < config->n_ports; i++)
		mtu = RTE_MAX(mtu, (uint32_t)config->ports[i].mtu);
	return mtu + RTE_ETHER_HDR_LEN + 2 * RTE_VLAN_HLEN + POLICE_WIRE;
}

static int shared_buckets_alloc(struct instance *inst)
{
	struct shared_bucket_changes *changes = &inst->rounds.changes;
	size_t n = inst->slots.capacity;

	inst->engine.frame = largest_wire_frame(inst->config);
	if (inst->config->n_workers == 1)
		return 0;
	changes->most = (unsigned)RTE_MIN(n, (size_t)PUBLISH_ROUND);
	changes->places = rte_zmalloc("shared_buckets",
		2 * changes->most * sizeof(*changes->places), RTE_CACHE_LINE_SIZE);
	inst->engine.shared_buckets = pages_alloc(n * sizeof(*inst->engine.shared_buckets),
		inst->n_policies * sizeof(*inst->engine.shared_buckets), SOCKET_ID_ANY);
	for (unsigned w = 0; w < inst->config->n_workers; w++)
		inst->workers[w].shared_buckets = inst->engine.shared_buckets;
	return inst->engine.shared_buckets && changes->places ? 0 : -ENOMEM;
}

static int engine_memory_alloc(struct instance *inst)
{
	struct engine *engine = &inst->engine;
	unsigned n = inst->config->n_workers;
	size_t slots = inst->slots.capacity;
	int ret = engine_init(engine, n);

	for (unsigned w = 0; ret == 0 && w < n; w++)
		engine->workers[w] = (struct engine_worker){
			.states = inst->workers[w].policies, .samples = inst->workers[w].samples};
	engine_share_begin(engine, inst->policies, inst->n_policies, control_now());
	engine->slots = pages_alloc(slots * sizeof(*engine->slots), 0, SOCKET_ID_ANY);
	engine->totals = pages_alloc(slots * n * sizeof(*engine->totals), 0, SOCKET_ID_ANY);
	inst->carried_over = pages_alloc(slots * sizeof(*inst->carried_over), 0, SOCKET_ID_ANY);
	if (ret || !engine->slots || !engine->totals || !inst->carried_over ||
		dirty_init(&inst->dirty, inst->slots.capacity))
		return -ENOMEM;
	return shared_buckets_alloc(inst);
}

/* Rings go with their owner's paths, after all who share them, and what is inside to its pool. */
static void paths_free(struct instance *inst)
{
	for (unsigned w = 0; w < inst->config->n_workers; w++) {
		struct worker *worker = &inst->workers[w];

		for (unsigned i = 0; i < worker->n_paths; i++)
			if (!rx_rings_owned(worker->paths[i].rings, w))
				worker->paths[i].rings = NULL;
	}
	for (unsigned w = 0; w < inst->config->n_workers; w++) {
		struct worker *worker = &inst->workers[w];

		for (unsigned i = 0; i < worker->n_paths; i++)
			rx_rings_destroy(worker->paths[i].rings);
		free(worker->paths);
	}
}

static void memory_stop(struct instance *inst)
{
	if (inst->workers)
		paths_free(inst);
	for (unsigned i = 0; inst->workers && i < inst->config->n_workers; i++)
		worker_free(&inst->workers[i]);
	free(inst->workers);
	publisher_free(&inst->publisher);
	engine_memory_free(inst);
}

static const struct nic_clock *clock_of(const struct instance *inst, const struct port *port)
{
	return port->timestamps ? &inst->nic_clocks[port - inst->ports] : NULL;
}

/* Both directions of a queue, for the worker that owns it. */
static void paths_add(struct instance *inst, unsigned wire, uint16_t queue, struct worker *worker)
{
	const struct port *a = &inst->ports[inst->config->wires[wire].a];
	const struct port *b = &inst->ports[inst->config->wires[wire].b];

	worker->paths[worker->n_paths++] = (struct path){a->id, b->id, queue, (uint16_t)wire,
		DIRECTION_A_TO_B, a->rss, NULL, clock_of(inst, a)};
	worker->paths[worker->n_paths++] = (struct path){b->id, a->id, queue, (uint16_t)wire,
		DIRECTION_B_TO_A, b->rss, NULL, clock_of(inst, b)};
}

/* The last path of a worker becomes one of every worker's, by rings; they tell the flow's hash. */
static int paths_share(struct instance *inst, struct worker *owner, struct path *path)
{
	unsigned n = inst->config->n_workers;

	path->rings = rx_rings_create(owner->index, n);
	if (!path->rings || rx_rings_open(path->rings, inst->workers, inst->slots.capacity))
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		struct worker *worker = &inst->workers[i];

		if (i == owner->index)
			continue;
		worker->paths[worker->n_paths] = *path;
		worker->paths[worker->n_paths++].rx_hash = true;
	}
	return 0;
}

/* Every queue of every wire goes to a worker; wires with few begin at different ones. */
static int paths_assign(struct instance *inst)
{
	const struct config *config = inst->config;
	unsigned n = config->n_workers;
	int ret = 0;

	for (unsigned i = 0; i < config->n_wires; i++) {
		uint16_t queues = inst->ports[config->wires[i].a].queues;

		for (uint16_t q = 0; ret == 0 && q < queues; q++) {
			struct worker *owner = &inst->workers[(i + q) % n];

			paths_add(inst, i, q, owner);
			if (!wire_distributed(inst, &config->wires[i]))
				continue;
			ret = paths_share(inst, owner, &owner->paths[owner->n_paths - 2]);
			if (ret == 0)
				ret = paths_share(inst, owner, &owner->paths[owner->n_paths - 1]);
		}
	}
	return ret;
}

static int paths_alloc(struct instance *inst, struct worker *worker)
{
	size_t n = (size_t)inst->config->n_wires * inst->config->n_workers * 2;

	worker->paths = calloc(n + 1, sizeof(struct path));
	return worker->paths ? 0 : -ENOMEM;
}

static int memory_start(struct instance *inst)
{
	const struct config *config = inst->config;
	unsigned n = config->n_workers;
	int ret = publisher_init(&inst->publisher, n);

	inst->workers = aligned_alloc(RTE_CACHE_LINE_SIZE, n * sizeof(*inst->workers));
	if (inst->workers)
		memset(inst->workers, 0, n * sizeof(*inst->workers));
	else
		ret = -ENOMEM;
	for (unsigned i = 0; ret == 0 && i < n; i++) {
		struct worker *worker = &inst->workers[i];

		worker->index = i;
		worker->lcore = i + 1;
		worker->cpu = config->workers[i];
		worker->idle = config->idle;
		worker->tunnels = tunnels_to_enter(config);
		worker->publisher = &inst->publisher;
		worker->stop = &inst->stop;
		worker->landed = &inst->landed;
		worker->n_workers = n;
		ret = worker_init(
			worker, inst->slots.capacity, inst->n_policies, config_waiting(config));
		if (ret == 0)
			ret = paths_alloc(inst, worker);
	}
	if (ret == 0)
		ret = paths_assign(inst);
	if (ret == 0)
		ret = engine_memory_alloc(inst);
	if (ret)
		memory_stop(inst);
	return ret;
}

static int telemetry_start(struct instance *inst)
{
	static const struct telemetry_command *const tables[] = {telemetry_ethdev, show_commands};
	const char *path = inst->config->control_socket;
	int ret = telemetry_listen(path, tables, RTE_DIM(tables), inst, &inst->telemetry);

	if (ret)
		log_err("control.socket: %s: %s", path, strerror(-ret));
	return ret;
}

static void telemetry_stop(struct instance *inst)
{
	telemetry_close(inst->telemetry);
}

/*
 * rte_eal_wait_lcore() spins, and under SCHED_FIFO a spinner never lets a worker of its own CPU
 * come to its end: so sleep until it has.
 */
static void wait_for_workers(struct instance *inst)
{
	const struct timespec moment = {0, 1000000};

	__atomic_store_n(&inst->stop, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < inst->config->n_workers; i++) {
		while (rte_eal_get_lcore_state(inst->workers[i].lcore) == RUNNING)
			nanosleep(&moment, NULL);
		rte_eal_wait_lcore(inst->workers[i].lcore);
	}
}

static int limits_start(struct instance *inst)
{
	tsc_clock_start(&inst->clock);
	return publish_first(inst);
}

/* What was published goes with the rest of the memory. */
static void limits_stop(struct instance *inst)
{
	(void)inst;
}

static int launch_workers(struct instance *inst)
{
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < inst->config->n_workers; i++)
		ret = rte_eal_remote_launch(worker_run, &inst->workers[i], inst->workers[i].lcore);
	if (ret)
		wait_for_workers(inst);
	return ret;
}

/* What a policy consists of; each is prepared after those above it. */
static const struct policy_part *const parts[] = {
	&shares_part, &delays_part, &credit_part, &lines_part, &placing_part, NULL};

static uint64_t reload_next(const struct instance *inst)
{
	return reload_finishing(inst) ? control_now() + RELOAD_REST_NS : UINT64_MAX;
}

static bool reload_run(struct instance *inst, uint64_t now_ns)
{
	(void)now_ns;
	reload_advance(inst);
	return false;
}

static void reload_hang_up(struct instance *inst)
{
	const char *answer = reload_request(inst);

	log_info("SIGHUP: reload %s", answer ? answer : "of nothing: there is no file");
}

static bool ledger_run(struct instance *inst, uint64_t now_ns)
{
	(void)now_ns;
	return commit_advance(inst);
}

static bool placement_run(struct instance *inst, uint64_t now_ns)
{
	placings_look(inst, now_ns);
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
	{.name = "ledger", .fd = commit_fd, .next_ns = commit_next, .run = ledger_run},
	{.name = "totals", .next_ns = credits_next, .run = credits_look},
	{.name = "etcd", .fd = etcd_share_fd, .next_ns = etcd_share_next, .run = etcd_share_look},
	{.name = "news", .tell = brain_tell},
	{.name = "placement", .next_ns = placings_next, .run = placement_run},
	{.name = "links", .run = links_run},
};

/* Brought up in this order, taken down in reverse: the socket answers when packets flow. */
static const struct module {
	const char *name;
	int (*start)(struct instance *inst);
	void (*stop)(struct instance *inst);
} modules[] = {
	{"ports", ports_start, ports_stop},
	{"links", links_start, links_stop},
	{"classifier", classifier_start, classifier_stop},
	{"memory", memory_start, memory_stop},
	{"delays", delays_start, delays_stop},
	{"ledger", commit_start, commit_stop},
	{"limiter", brain_start, brain_stop},
	{"gossip", gossip_start, gossip_stop},
	{"etcd", etcd_share_start, etcd_share_stop},
	{"totals", credits_start, credits_stop},
	{"placement", placings_start, placings_stop},
	{"limits", limits_start, limits_stop},
	{"reload", reload_start, reload_stop},
	{"workers", launch_workers, wait_for_workers},
	{"telemetry", telemetry_start, telemetry_stop},
};

/* Modules below this are up before any worker runs. */
#define PREPARED (RTE_DIM(modules) - 2)

static int start_modules(struct instance *inst, unsigned n)
{
	const struct config *config = inst->config;

	inst->parts = parts;
	inst->policies = config->policies;
	inst->n_policies = config->n_policies;
	if (shape_in_register())
		return -ENOMEM;
	if (eal_find_ports(config, inst->port_ids))
		return -ENODEV;
	for (; inst->started < n; inst->started++) {
		int ret = modules[inst->started].start(inst);

		if (ret) {
			log_err("not started, because of %s: %s", modules[inst->started].name,
				strerror(-ret));
			instance_stop(inst);
			return ret;
		}
	}
	return 0;
}

int instance_start(struct instance *inst, const struct config *config, const char *file)
{
	*inst = (struct instance){.config = config, .file = file};
	return start_modules(inst, RTE_DIM(modules));
}

int instance_prepare(struct instance *inst, const struct config *config, const struct port *ports)
{
	*inst = (struct instance){.config = config, .borrowed = ports};
	return start_modules(inst, PREPARED);
}

int instance_run(struct instance *inst, int signal_fd)
{
	return control_run(inst, tasks, RTE_DIM(tasks), signal_fd);
}

void instance_stop(struct instance *inst)
{
	while (inst->started > 0)
		modules[--inst->started].stop(inst);
}
