/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Workers that wait at the sockets of their ports: which of them, and for how long at most.
 */
#include "check.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/prng.h"
#include "base/time.h"
#include "instance.h"
#include "port.h"
#include "rx_wait.h"
#include "waits.h"

#define WIRES       3
#define QUEUES      4
#define WORKERS     5
#define ROUNDS_MOST 400

/* A simulated limiter. A pipe takes the place of a queue's socket, or the queue has none. */
static struct {
	struct instance inst;
	struct config config;
	struct wire wires[WIRES];
	struct port_config port_configs[2 * WIRES];
	struct worker workers[WORKERS];
	struct path paths[WORKERS][2 * WIRES * QUEUES];
	int sockets[2 * WIRES][QUEUES][2];
	bool missing[2 * WIRES][QUEUES];
} world;

int __wrap_port_socket(const struct port *port, uint16_t queue);

int __wrap_port_socket(const struct port *port, uint16_t queue)
{
	size_t i = (size_t)(port - world.inst.ports);

	assert_in_range(i, 0, 2 * world.config.n_wires - 1);
	assert_in_range(queue, 0, QUEUES - 1);
	return world.missing[i][queue] ? -1 : world.sockets[i][queue][0];
}

static void draw_wire(struct prng *prng, unsigned i)
{
	static const char *const devices[] = {"xdp:a", "net_af_xdp0,iface=a", "net_null0"};
	const char *device = devices[prng_below(prng, 3)];

	world.wires[i] = (struct wire){.a = 2 * i,
		.b = 2 * i + 1,
		.distribute = prng_below(prng, 8) == 0,
		.fail = prng_below(prng, 2) ? FAIL_OPEN : FAIL_UNSAID,
		.fail_after_ns = (20 + prng_below(prng, 200)) * MS_NS};
	for (unsigned end = 0; end < 2; end++) {
		strcpy(world.port_configs[2 * i + end].device, device);
		for (unsigned q = 0; q < QUEUES; q++)
			world.missing[2 * i + end][q] = prng_below(prng, 16) == 0;
	}
}

/* Queue q of wire i belongs to worker (q + i) % WORKERS, in both directions. */
static void draw(struct prng *prng)
{
	world.config.n_wires = 1 + prng_below(prng, WIRES);
	world.config.idle = prng_below(prng, 8) ? IDLE_SLEEP : IDLE_POLL;
	memset(world.workers, 0, sizeof(world.workers));
	for (unsigned w = 0; w < WORKERS; w++)
		world.workers[w].paths = world.paths[w];
	for (unsigned i = 0; i < world.config.n_wires; i++) {
		draw_wire(prng, i);
		for (unsigned q = 0; q < 2 * QUEUES; q++) {
			struct worker *worker = &world.workers[(q / 2 + i) % WORKERS];

			worker->paths[worker->n_paths++] = (struct path){.wire = (uint16_t)i,
				.queue = (uint16_t)(q / 2),
				.direction = q % 2 ? DIRECTION_B_TO_A : DIRECTION_A_TO_B};
		}
	}
}

static bool is_distributed(void)
{
	for (unsigned i = 0; i < world.config.n_wires; i++)
		if (world.wires[i].distribute)
			return true;
	return false;
}

/*
 * Returns true if a worker ends its loop several times within the shortest "fail_after" of a
 * program.
 */
static bool is_short(uint64_t longest_ns)
{
	for (unsigned i = 0; i < world.config.n_wires; i++) {
		const struct wire *wire = &world.wires[i];

		if (wire_has_programs(&world.config, wire) && 3 * longest_ns > wire->fail_after_ns)
			return false;
	}
	return longest_ns > 0;
}

static bool has_all_sockets(const struct worker *worker)
{
	for (unsigned i = 0; i < worker->n_paths; i++) {
		const struct path *path = &worker->paths[i];

		if (world.missing[2 * path->wire + (path->direction == DIRECTION_B_TO_A)]
				 [path->queue])
			return false;
	}
	return true;
}

/* A packet in each queue of the worker ends its wait, and a packet in another queue does not. */
static void check_sockets(struct worker *worker)
{
	for (unsigned i = 0; i < 2 * world.config.n_wires * QUEUES; i++) {
		unsigned port = i / QUEUES, queue = i % QUEUES;
		bool ours = (queue + port / 2) % WORKERS == (unsigned)(worker - world.workers);
		char c = 0;

		assert_int_equal(write(world.sockets[port][queue][1], &c, 1), 1);
		rx_wait_announce(worker->wait);
		assert_int_equal(rx_wait(worker->wait, 1), !ours);
		assert_int_equal(read(world.sockets[port][queue][0], &c, 1), 1);
	}
}

static void test_who_waits(void **state)
{
	unsigned waiting = 0, pausing = 0;
	struct prng prng;

	(void)state;
	prng_seed(&prng, 1);
	for (unsigned round = 0; round < ROUNDS(ROUNDS_MOST); round++) {
		bool none;

		draw(&prng);
		none = is_distributed() || world.config.idle == IDLE_POLL;
		assert_int_equal(waits_start(&world.inst), 0);
		for (unsigned w = 0; w < WORKERS; w++) {
			struct worker *worker = &world.workers[w];

			assert_int_equal(worker->wait != NULL, !none && has_all_sockets(worker));
			pausing += !worker->wait;
			if (!worker->wait)
				continue;
			waiting++;
			assert_true(is_short(rx_wait_longest(worker->wait)));
			check_sockets(worker);
		}
		waits_stop(&world.inst);
		for (unsigned w = 0; w < WORKERS; w++)
			assert_null(world.workers[w].wait);
	}
	assert_true(waiting > ROUNDS(ROUNDS_MOST) / 4 && pausing > ROUNDS(ROUNDS_MOST) / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_waits),
	};

	world.config = (struct config){
		.wires = world.wires, .ports = world.port_configs, .n_workers = WORKERS};
	world.inst.config = &world.config;
	world.inst.workers = world.workers;
	for (unsigned i = 0; i < 2 * WIRES * QUEUES; i++)
		if (pipe(world.sockets[i / QUEUES][i % QUEUES]))
			return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
