/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Start and end of the appliance: the lists of its modules and of the tasks of its control loop.
 * Control thread.
 */
#include "start.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_malloc.h>

#include <sodium.h>

#include "base/layer2.h"
#include "base/time.h"
#include "limiter_task.h"
#include "classify/classify.h"
#include "config/buffers.h"
#include "packet/parse.h"
#include "control.h"
#include "delays.h"
#include "distribute.h"
#include "rx_rings.h"
#include "etcd_share.h"
#include "eal.h"
#include "interfaces.h"
#include "shape_mbuf.h"
#include "kernel_lines.h"
#include "kernel_port.h"
#include "links.h"
#include "losses.h"
#include "busy.h"
#include "bypasses.h"
#include "event.h"
#include "group_task.h"
#include "kept.h"
#include "pages.h"
#include "placing.h"
#include "policy/names.h"
#include "policy/trial.h"
#include "police/charge.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "publish.h"
#include "renewal.h"
#include "credits.h"
#include "reload.h"
#include "commit.h"
#include "show.h"
#include "machine_errors.h"
#include "telemetry/server.h"
#include "timed.h"
#include "tap_session.h"
#include "waits.h"
#include "watch.h"
#include "attach.h"
#include "police/try.h"
#include "trials.h"
#include "worker.h"
#include "worker_data.h"

/* Interval of the check whether all workers have seen the change of a reload. */
#define RELOAD_REST_NS MS_NS

/* Tasks with an interval of a second wait this long for a turn of another task. */
#define SLACK_NS (SECOND_NS / 10)

/* Seconds that a stop waits for disks and files, while packets flow. */
#define SETTLE_S 2

/* Time for clients of the control socket in a turn: a small part of the shortest interval. */
#define TELEMETRY_BUDGET_NS (2 * MS_NS)

/* Time for all workers to end. They send waiting packets, which takes microseconds. */
#define STOP_NS (3 * SECOND_NS / 2)

static void ports_stop(struct instance *inst)
{
	if (inst->borrowed)
		return;
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		port_stop(&inst->ports[i]);
		if (!inst->has_started || !port_has_programs(inst->config, i))
			port_put_back(&inst->ports[i], !inst->has_started);
	}
	for (unsigned i = 0; i < inst->config->n_ports; i++) {
		unsigned missing = port_free(&inst->ports[i]);

		if (missing)
			event(BUFFERS_MISSING, event_word("port", inst->config->ports[i].name),
				event_count("buffers", missing));
		inst->leaked += missing;
	}
}

/* Returns the queue pairs of a wire: one per worker if both ports have so many. */
static uint16_t wire_queues(const struct instance *inst, const struct wire *wire)
{
	uint16_t ports = RTE_MIN(inst->ports[wire->a].queues_max, inst->ports[wire->b].queues_max);

	return RTE_MIN(ports, (uint16_t)inst->config->n_workers);
}

/* Returns true if a wire has fewer queues than workers, and all workers take its packets. */
static bool wire_distributed(const struct instance *inst, const struct wire *wire)
{
	return wire->distribute && wire_queues(inst, wire) < inst->config->n_workers;
}

/* Returns the queues that both ports accept. */
static uint16_t wire_queues_taken(struct instance *inst, const struct wire *wire)
{
	uint16_t a = port_queues(&inst->ports[wire->a], wire_queues(inst, wire));
	uint16_t b = port_queues(&inst->ports[wire->b], a);

	return b < a ? port_queues(&inst->ports[wire->a], b) : b;
}

/* Takes over ports that run already, with at most one queue for each worker. */
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
	unsigned held[CONFIG_PORTS_MAX] = {0}, wanted;
	uint64_t began_ns = control_now();
	int ret = 0;

	if (inst->borrowed)
		return ports_borrow(inst);
	for (unsigned i = 0; ret == 0 && i < config->n_ports; i++) {
		queues[i] = 1;
		ret = port_probe(&inst->ports[i], &config->ports[i], inst->port_ids[i]);
	}
	for (unsigned i = 0; ret == 0 && i < config->n_wires; i++) {
		const struct wire *wire = &config->wires[i];

		queues[wire->a] = queues[wire->b] = wire_queues_taken(inst, wire);
		if (wire_distributed(inst, wire))
			held[wire->a] = held[wire->b] = rx_rings_mbufs(config->n_workers);
		wanted = wire_queues(inst, wire);
		if (wanted < config->n_workers && !wire->distribute)
			event(FEW_QUEUES, event_word("wire", wire->name),
				event_count("queues", wanted),
				event_count("workers", config->n_workers));
	}
	for (unsigned i = 0; ret == 0 && i < config->n_ports; i++)
		ret = port_start(&inst->ports[i], queues[i], held[i], config_buffers(config, i),
			port_has_programs(config, i));
	if (ret) {
		bypasses_explain(inst);
		ports_stop(inst);
	}
	inst->ports_took_ns = control_now() - began_ns;
	return ret;
}

static int classifier_start(struct instance *inst)
{
	unsigned n = inst->n_policies;
	int ret = slot_map_init(&inst->slots, n, instance_slots(n));

	if (ret == 0)
		ret = classifier_create(inst->policies, n, SOCKET_ID_ANY, &inst->classifier);
	if (ret == 0)
		classifier_set_unparsed(inst->classifier, config_unparsed(inst->config));
	if (ret == 0)
		classifier_set_drops(inst->classifier, config_drops(inst->config));
	if (ret == 0)
		ret = policy_names_create(inst->policies, n, &inst->names);
	if (ret == 0) {
		inst->sourced = slots_per_source(
			inst->policies, inst->slots.of, n, &inst->n_sourced, &inst->n_hard);
		ret = inst->sourced ? 0 : -ENOMEM;
	}
	if (ret == 0)
		ret = slots_of_parents(
			inst->policies, inst->slots.of, n, inst->slots.capacity, &inst->parents);
	if (ret) {
		free(inst->sourced);
		policy_names_destroy(inst->names);
		classifier_destroy(inst->classifier);
		slot_map_free(&inst->slots);
	}
	return ret;
}

static void classifier_stop(struct instance *inst)
{
	policy_names_destroy(inst->names);
	classifier_destroy(inst->classifier);
	free(inst->sourced);
	free(inst->parents);
	slot_map_free(&inst->slots);
}

static void engine_memory_free(struct instance *inst)
{
	size_t slots = inst->slots.capacity, lines = trial_lines(slots),
	       workers = inst->config->n_workers, all = engine_lines(&inst->engine);
	struct engine *engine = &inst->engine;

	for (size_t i = 0; engine->slots && i < lines; i++)
		free(engine->slots[i].shares);
	pages_free(engine->slots, lines * sizeof(*engine->slots));
	if (!inst->plane)
		pages_free(engine->shared_buckets, lines * sizeof(*engine->shared_buckets));
	pages_free(engine->totals, lines * all * sizeof(*engine->totals));
	kernel_lines_stop(inst);
	engine_free(engine);
	pages_free(inst->carried_over, slots * sizeof(*inst->carried_over));
	pages_free(inst->trials, slots * sizeof(*inst->trials));
	dirty_free(&inst->dirty);
	for (unsigned w = 0; inst->behind && w < workers; w++)
		dirty_free(&inst->behind[w]);
	free(inst->behind);
}

static int shared_buckets_alloc(struct instance *inst)
{
	size_t n = trial_lines(inst->slots.capacity);
	uint32_t mtu = 0;

	for (unsigned i = 0; i < inst->config->n_ports; i++)
		mtu = RTE_MAX(mtu, (uint32_t)inst->config->ports[i].mtu);
	/* The largest cost by any accounting: all of layer 2, and the bytes between frames. */
	inst->engine.frame = mtu + LAYER2_MAX + POLICE_WIRE;
	if (engine_lines(&inst->engine) == 1 && !inst->config->gossip.loans)
		return 0;
	inst->engine.shared_buckets =
		inst->plane ? kernel_lines_buckets(inst)
			    : pages_alloc(n * sizeof(*inst->engine.shared_buckets),
				      inst->n_policies * sizeof(*inst->engine.shared_buckets),
				      SOCKET_ID_ANY);
	for (unsigned w = 0; w < inst->config->n_workers; w++) {
		inst->workers[w].shared_buckets = inst->engine.shared_buckets;
		inst->workers[w].membership = kernel_lines_membership(inst);
		inst->workers[w].soft_ending = kernel_lines_soft_ending(inst);
	}
	return inst->engine.shared_buckets ? 0 : -ENOMEM;
}

static int dirty_alloc(struct instance *inst)
{
	unsigned n = inst->config->n_workers;
	int ret = dirty_init(&inst->dirty, inst->slots.capacity);

	inst->behind = calloc(n, sizeof(*inst->behind));
	if (!inst->behind)
		return -ENOMEM;
	for (unsigned w = 0; ret == 0 && w < n; w++)
		ret = dirty_init(&inst->behind[w], inst->slots.capacity);
	return ret;
}

static int engine_memory_alloc(struct instance *inst)
{
	struct engine *engine = &inst->engine;
	unsigned n = inst->config->n_workers;
	size_t slots = inst->slots.capacity, lines = trial_lines(slots);
	int ret = engine_init(engine, n, kernel_lines_cpus(inst));

	for (unsigned w = 0; ret == 0 && w < n; w++)
		engine->workers[w] = (struct engine_worker){
			.states = inst->workers[w].policies, .samples = inst->workers[w].samples};
	engine_share_begin(engine, inst->policies, inst->n_policies, control_now());
	engine->n_slots = inst->slots.capacity;
	engine->slots = pages_alloc(lines * sizeof(*engine->slots), 0, SOCKET_ID_ANY);
	engine->totals = pages_alloc(
		lines * engine_lines(engine) * sizeof(*engine->totals), 0, SOCKET_ID_ANY);
	if (ret == 0)
		ret = kernel_lines_start(inst);
	inst->trials = pages_alloc(slots * sizeof(*inst->trials), 0, SOCKET_ID_ANY);
	inst->carried_over = pages_alloc(slots * sizeof(*inst->carried_over), 0, SOCKET_ID_ANY);
	if (ret || !engine->slots || !engine->totals || !inst->carried_over || !inst->trials ||
		dirty_alloc(inst))
		return -ENOMEM;
	return shared_buckets_alloc(inst);
}

static void memory_stop(struct instance *inst)
{
	const unsigned n = inst->workers ? inst->config->n_workers : 0;

	/* Frees rings with the paths of their owner, after all paths that share them. */
	for (unsigned w = 0; w < n; w++) {
		struct worker *worker = &inst->workers[w];

		for (unsigned i = 0; i < worker->n_paths; i++)
			if (!rx_rings_owned(worker->paths[i].rings, w))
				worker->paths[i].rings = NULL;
	}
	for (unsigned w = 0; w < n; w++) {
		struct worker *worker = &inst->workers[w];

		for (unsigned i = 0; i < worker->n_paths; i++)
			rx_rings_destroy(worker->paths[i].rings); /* with their mbufs */
		free(worker->paths);
	}
	for (unsigned w = 0; w < n; w++)
		worker_free(&inst->workers[w]);
	free(inst->workers);
	publisher_free(&inst->publisher);
	engine_memory_free(inst);
}

static const struct nic_clock *clock_of(const struct instance *inst, const struct port *port)
{
	return port->timestamps ? &inst->nic_clocks[port - inst->ports] : NULL;
}

/* Adds both directions of a queue to the worker that owns it. */
static void paths_add(struct instance *inst, unsigned wire, uint16_t queue, struct worker *worker)
{
	const struct port *a = &inst->ports[inst->config->wires[wire].a];
	const struct port *b = &inst->ports[inst->config->wires[wire].b];

	worker->paths[worker->n_paths++] = (struct path){.rx_port = a->id,
		.tx_port = b->id,
		.queue = queue,
		.wire = (uint16_t)wire,
		.direction = DIRECTION_A_TO_B,
		.rx_hash = a->rss,
		.clock = clock_of(inst, a),
		.cuts = port_is_af_packet(a->config)};
	worker->paths[worker->n_paths++] = (struct path){.rx_port = b->id,
		.tx_port = a->id,
		.queue = queue,
		.wire = (uint16_t)wire,
		.direction = DIRECTION_B_TO_A,
		.rx_hash = b->rss,
		.clock = clock_of(inst, b),
		.cuts = port_is_af_packet(b->config)};
}

/* Gives the last path of a worker to all workers, by rings. Their packets have the flow's hash. */
static int paths_share(
	struct instance *inst, struct worker *owner, struct path *path, uint64_t secret)
{
	unsigned n = inst->config->n_workers;

	path->rings = rx_rings_create(owner->index, n, secret);
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

/* Assigns each queue of each wire to a worker; wires with few queues begin at different workers. */
static int paths_assign(struct instance *inst)
{
	const struct config *config = inst->config;
	unsigned n = config->n_workers;
	uint64_t secret;
	int ret = 0;

	randombytes_buf(&secret, sizeof(secret));
	for (unsigned i = 0; i < config->n_wires; i++) {
		uint16_t queues = inst->ports[config->wires[i].a].queues;

		for (uint16_t q = 0; ret == 0 && q < queues; q++) {
			struct worker *owner = &inst->workers[wire_queue_owner(i, q, n)];

			paths_add(inst, i, q, owner);
			if (!wire_distributed(inst, &config->wires[i]))
				continue;
			ret = paths_share(inst, owner, &owner->paths[owner->n_paths - 2], secret);
			if (ret == 0)
				ret = paths_share(
					inst, owner, &owner->paths[owner->n_paths - 1], secret);
		}
	}
	return ret;
}

static int memory_start(struct instance *inst)
{
	const struct config *config = inst->config;
	unsigned n = config->n_workers;
	size_t n_paths = (size_t)config->n_wires * n * 2;
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
		worker->beat = bypasses_beat(inst, i);
		worker->landed = &inst->landed;
		worker->stuck = &inst->stuck;
		worker->n_workers = n;
		ret = worker_init(
			worker, inst->slots.capacity, inst->n_policies, config_waiting(config));
		if (ret == 0)
			worker->paths = calloc(n_paths + 1, sizeof(struct path));
		if (ret == 0 && !worker->paths)
			ret = -ENOMEM;
	}
	if (ret == 0)
		ret = paths_assign(inst);
	if (ret == 0)
		ret = engine_memory_alloc(inst);
	if (ret)
		memory_stop(inst);
	return ret;
}

static void log_denied(uid_t uid, const char *command, uint64_t n)
{
	event(COMMAND_DENIED, event_count("uid", uid), event_word("command", command),
		event_count("times", n));
}

static int telemetry_start(struct instance *inst)
{
	static const struct telemetry_command *const tables[] = {telemetry_ethdev, show_commands};
	struct telemetry_options options = {
		.path = inst->config->control_socket,
		.tables = tables,
		.n_tables = RTE_DIM(tables),
		.context = inst,
		.now_ns = control_now,
		.budget_ns = TELEMETRY_BUDGET_NS,
		.denied = log_denied,
	};
	const struct complaint_sink to = complaint_sink_of(stderr);
	int ret = socket_groups_find(inst->config, &options, &to);

	if (ret)
		return ret;
	ret = telemetry_listen(&options, &inst->telemetry);
	if (ret)
		event(SOCKET_FAILED, event_word("path", options.path),
			event_word("why", strerror(-ret)));
	return ret;
}

static void telemetry_stop(struct instance *inst)
{
	telemetry_close(inst->telemetry);
	explain_stop(inst);
	tap_session_stop(inst);
}

/*
 * Stops the workers. Sleeps until they have ended: rte_eal_wait_lcore() would spin, and under
 * SCHED_FIFO a worker on the same CPU could never end. Leaves workers running after STOP_NS.
 */
static void wait_for_workers(struct instance *inst)
{
	const struct timespec moment = {0, 1000000};
	uint64_t began = control_now();

	__atomic_store_n(&inst->stop, true, __ATOMIC_RELAXED);
	waits_wake(inst);
	for (unsigned i = 0; i < inst->config->n_workers; i++) {
		const struct worker *worker = &inst->workers[i];

		while (rte_eal_get_lcore_state(worker->lcore) == RUNNING &&
			control_now() - began < STOP_NS)
			nanosleep(&moment, NULL);
		if (rte_eal_get_lcore_state(worker->lcore) != RUNNING)
			continue;
		event(WORKER_ABANDONED, event_count("worker", i), event_count("cpu", worker->cpu));
		inst->abandoned = true;
	}
}

static int limits_start(struct instance *inst)
{
	tsc_clock_start(&inst->clock, &inst->began);
	if (inst->clock.doubt)
		event(TSC_DOUBTED, event_word("why", inst->clock.doubt));
	renewal_start(inst);
	kernel_lines_publish_time(inst);
	return publish_first(inst);
}

/* Published limits are freed with the memory; state that was taken over stays. */
static void nothing_to_stop(struct instance *inst)
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

/* Parts of a policy; each is prepared after those above it. */
static const struct policy_part *const parts[] = {&shares_part, &delays_part, &credit_part,
	&lines_part, &kernel_part, &trial_part, &placing_part, NULL};

static uint64_t reload_next(const struct instance *inst)
{
	return reload_finishing(inst) ? control_now() + RELOAD_REST_NS : reload_due_ns(inst);
}

static bool reload_run(struct instance *inst, uint64_t now_ns)
{
	(void)now_ns;
	reload_advance(inst);
	return false;
}

static void reload_hang_up(struct instance *inst, uid_t uid)
{
	reload_request(inst, "SIGHUP", uid);
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

static uint64_t events_due(const struct instance *inst)
{
	(void)inst;
	return events_next();
}

static bool events_turn(struct instance *inst, uint64_t now_ns)
{
	(void)inst;
	events_review(now_ns);
	return false;
}

/* Tasks of a turn of the control loop, in this order. */
static const struct task tasks[] = {
	{.name = "gossip",
		.fd = gossip_fd,
		.read = gossip_take,
		.next_ns = gossip_next,
		.run = gossip_run},
	{.name = "reload",
		.fd = reload_fd,
		.next_ns = reload_next,
		.run = reload_run,
		.hang_up = reload_hang_up},
	{.name = "group", .fd = group_fd, .next_ns = group_next, .run = group_run},
	{.name = "timed",
		.fd = timed_fd,
		.read = timed_read,
		.next_ns = timed_next,
		.run = timed_run},
	{.name = "limiter", .next_ns = limiter_task_next, .run = limiter_task_run},
	{.name = "ledger", .fd = commit_fd, .next_ns = commit_next, .run = ledger_run},
	{.name = "totals", .next_ns = credits_next, .run = credits_look},
	{.name = "etcd", .fd = etcd_share_fd, .next_ns = etcd_share_next, .run = etcd_share_look},
	{.name = "news", .publish = limiter_task_publish},
	{.name = "placement", .next_ns = placings_next, .run = placement_run},
	{.name = "links", .fd = links_fd, .next_ns = links_next, .run = links_run},
	{.name = "offloads",
		.fd = interfaces_fd,
		.next_ns = interfaces_next,
		.run = interfaces_run},
	{.name = "lengths",
		.fd = lengths_fd,
		.read = lengths_read,
		.next_ns = lengths_next,
		.run = lengths_run},
	{.name = "watch", .next_ns = watch_next, .run = watch_run},
	{.name = "busy", .next_ns = busy_next, .slack_ns = SLACK_NS, .run = busy_run},
	{.name = "bypass", .next_ns = bypasses_next, .slack_ns = SLACK_NS, .run = bypasses_run},
	{.name = "losses", .next_ns = losses_next, .slack_ns = SLACK_NS, .run = losses_run},
	{.name = "queues", .next_ns = queues_next, .slack_ns = SLACK_NS, .run = queues_run},
	{.name = "totals watch",
		.next_ns = watch_totals_next,
		.slack_ns = SLACK_NS,
		.run = watch_totals},
	{.name = "events", .next_ns = events_due, .run = events_turn},
	{.name = "waits", .rest = waits_wake},
};

/* Requests end immediately, but a lookup of a name can take seconds. */
static void etcd_settle(struct instance *inst, const struct timespec *until)
{
	(void)until;
	etcd_share_stop(inst);
}

/*
 * Modules start in this order and stop in reverse. Clients of the socket wait until packets flow. A
 * failed step undoes its own changes, and instance_stop() those of the steps before it. So a failed
 * start leaves the machine unchanged. At a stop, `settle` first ends operations that wait for a
 * disk or another machine, also in reverse, while packets still flow; all of them have SETTLE_S
 * from the signal. If a worker cannot be ended, the memory that it uses is not freed.
 */
static const struct module {
	const char *name;
	int (*start)(struct instance *inst);
	void (*stop)(struct instance *inst);
	void (*settle)(struct instance *inst, const struct timespec *until);
	bool used; /* by workers */
} modules[] = {
	{"classifier", classifier_start, classifier_stop, NULL, true},
	{"offloads", interfaces_start, interfaces_stop, NULL, false},
	{"bypass", bypasses_start, bypasses_stop, bypasses_settle, true},
	{"ports", ports_start, ports_stop, NULL, true},
	{"links", links_start, links_stop, NULL, false},
	{"watch", watch_start, watch_stop, NULL, false},
	{"busy", busy_start, busy_stop, NULL, false},
	{"losses", losses_start, losses_stop, NULL, false},
	{"memory", memory_start, memory_stop, NULL, true},
	{"waits", waits_start, waits_stop, NULL, true},
	{"lengths", lengths_start, lengths_stop, NULL, false},
	{"delays", delays_start, delays_stop, NULL, true},
	{"group", group_start, group_stop, group_settle, false},
	{"ledger", commit_start, commit_stop, commit_settle, false},
	{"limiter", limiter_task_start, limiter_task_stop, NULL, false},
	{"timed", timed_start, timed_stop, NULL, false},
	{"gossip", gossip_start, gossip_stop, NULL, false},
	{"etcd", etcd_share_start, etcd_share_stop, etcd_settle, false},
	{"totals", credits_start, credits_stop, NULL, true},
	{"placement", placings_start, placings_stop, NULL, true},
	{"limits", limits_start, nothing_to_stop, NULL, true},
	{"reload", reload_start, reload_stop, reload_settle, true},
	{"workers", launch_workers, wait_for_workers, NULL, false},
	{"telemetry", telemetry_start, telemetry_stop, NULL, false},
	/* The last: a failure after it would leave an open wire. */
	{"take-over", bypasses_take_over, nothing_to_stop, NULL, false},
};

/* Modules below this are up before any worker runs. */
#define PREPARED (RTE_DIM(modules) - 3)

/* Returns -ECANCELED if a signal ends the start. */
static int cancel_start(struct instance *inst)
{
	sigset_t pending;
	int number;

	/* Both are blocked, for the control loop, which does not run yet. */
	sigpending(&pending);
	number = sigismember(&pending, SIGTERM)  ? SIGTERM
		 : sigismember(&pending, SIGINT) ? SIGINT
						 : 0;
	if (number == 0)
		return 0;
	event(STOPPING, event_word("signal", strsignal(number)));
	instance_stop(inst);
	if (inst->leaked == 0)
		event(STOPPED);
	return -ECANCELED;
}

/* In a build for tests the step that the environment names fails, or hangs. */
static int start_fault(const char *module)
{
#ifdef WEIR_START_FAULTS
	const char *wanted = getenv("WEIR_START_FAULT");

	if (wanted && strcmp(wanted, module) == 0)
		return -EIO;
	while (wanted && wanted[0] == '!' && strcmp(wanted + 1, module) == 0)
		pause();
#endif
	(void)module;
	return 0;
}

static int start_modules(struct instance *inst, unsigned n)
{
	const struct config *config = inst->config;

	inst->began = tsc_clock_read();
	inst->parts = parts;
	inst->policies = config->policies;
	inst->n_policies = config->n_policies;
	inst->failed_step = "devices";
	if (shape_mbuf_register())
		return -ENOMEM;
	if (eal_find_ports(config, inst->port_ids))
		return -ENODEV;
	for (; inst->started < n; inst->started++) {
		const struct module *module = &modules[inst->started];
		int ret = start_fault(module->name);

		if (cancel_start(inst))
			return -ECANCELED;
		if (ret == 0)
			ret = module->start(inst);
		if (ret) {
			inst->failed_step = module->name;
			event(NOT_STARTED, event_word("module", module->name),
				event_word("why", strerror(-ret)));
			instance_stop(inst);
			return ret;
		}
	}
	inst->failed_step = NULL;
	inst->has_started = n == RTE_DIM(modules);
	return 0;
}

int instance_start(struct instance *inst, struct config *config, const char *file,
	struct kept *kept, struct notify *notify)
{
	*inst = (struct instance){.config = config,
		.live_gossip = &config->gossip,
		.file = file,
		.kept = kept,
		.state_directory = kept ? kept->directory : NULL,
		.notify = notify};
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

/* Called only while the workers run. */
static void settle_modules(struct instance *inst)
{
	struct timespec until;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += SETTLE_S;
	for (unsigned i = inst->started; i > 0; i--)
		if (modules[i - 1].settle)
			modules[i - 1].settle(inst, &until);
}

void instance_stop(struct instance *inst)
{
	if (inst->started == RTE_DIM(modules))
		settle_modules(inst);
	while (inst->started > 0) {
		const struct module *module = &modules[--inst->started];

		if (!inst->abandoned || !module->used)
			module->stop(inst);
	}
}
