/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Reports about a port whose device puts many flows on one of its queues, by the flows that workers
 * saw.
 */
#include "instance_world.h"
#include "scope.h"

#include "base/time.h"
#include "event.h"
#include "packet/parse.h"
#include "losses.h"

/*
 * Sets the number of flows that a worker saw at its queue of port `a`, which has the worker's
 * number.
 */
static void see_flows(struct instance_world *w, unsigned worker, unsigned flows)
{
	for (unsigned i = 0; i < w->inst.workers[worker].n_paths; i++) {
		struct path *path = &w->inst.workers[worker].paths[i];

		if (path->rx_port == w->inst.ports[0].id)
			path->flows = (UINT64_C(1) << flows) - 1;
	}
}

TEST(test_rows)
{
	static const struct {
		const char *name;
		unsigned flows[INSTANCE_WORKERS], used;
		bool said;
	} rows[] = {
		{"nothing comes", {0, 0}, 0, false},
		{"a few flows on one queue", {23, 0}, 1, false},
		{"many on one queue", {24, 0}, 1, true},
		{"many on the other", {0, 40}, 1, true},
		{"many on one, one on the other", {40, 1}, 2, false},
		{"many on both", {30, 30}, 2, false},
	};
	uint64_t now = 1000 * SECOND_NS;

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t since;

		printf("%s\n", rows[i].name);
		WORLD(w, "");
		assert_int_equal(w->inst.ports[0].queues, INSTANCE_WORKERS);
		for (unsigned n = 0; n < INSTANCE_WORKERS; n++)
			see_flows(w, n, rows[i].flows[n]);
		since = events_number();
		assert_false(queues_run(&w->inst, now));
		assert_false(queues_run(&w->inst, now + SECOND_NS)); /* reported once */
		assert_int_equal(events_number() - since, rows[i].said);
		assert_int_equal(queues_used(&w->inst, 0), rows[i].used);
		assert_int_equal(queues_used(&w->inst, 1), 0);
	}
}

/* Checks run once a second. A port with one queue has no report. */
TEST(test_looks)
{
	const uint64_t now = 1000 * SECOND_NS;
	uint64_t since;
	WORLD(w, "");

	assert_false(queues_run(&w->inst, now));
	since = events_number();
	see_flows(w, 0, 63);
	assert_false(queues_run(&w->inst, now + SECOND_NS - 1));
	assert_int_equal(queues_next(&w->inst), now + SECOND_NS);
	assert_int_equal(events_number(), since);
	w->inst.ports[0].queues = 1;
	assert_false(queues_run(&w->inst, now + SECOND_NS));
	assert_int_equal(queues_next(&w->inst), now + 2 * SECOND_NS);
	assert_int_equal(events_number(), since);
	w->inst.ports[0].queues = 2;
	assert_false(queues_run(&w->inst, now + 2 * SECOND_NS));
	assert_int_equal(events_number(), since + 1);
}

TEST(test_words)
{
	json_t *said;
	WORLD(w, "");

	see_flows(w, 0, 63);
	assert_false(queues_run(&w->inst, 1000 * SECOND_NS));
	assert_int_equal(queues_next(&w->inst), 1001 * SECOND_NS);
	said = events_get(events_number() - 1);
	assert_string_equal(json_string_value(json_object_get(said, "event")), "queues_unused");
	assert_string_equal(json_string_value(json_object_get(said, "port")), "a");
	assert_int_equal(json_integer_value(json_object_get(said, "used")), 1);
	assert_int_equal(json_integer_value(json_object_get(said, "queues")), 2);
	json_decref(said);
}

/* Frames of one flow set one bit for each worker. */
TEST(test_seen_by_workers)
{
	WORLD(w, "");

	assert_int_equal(queues_used(&w->inst, 0), 0);
	instance_world_turn(w, 1);
	assert_int_equal(queues_used(&w->inst, 0), 1);
	instance_world_turn_all(w);
	assert_int_equal(queues_used(&w->inst, 0), 2);
	assert_int_equal(queues_used(&w->inst, 1), 2);
	for (unsigned i = 0; i < 100; i++)
		instance_world_turn_all(w);
	assert_int_equal(__builtin_popcountll(w->inst.workers[0].paths[0].flows), 1);
}

/* Similar packets set as many bits as random hashes would: 40.5 on average. */
TEST(test_bits)
{
	struct path path = {.flows = 0};

	for (uint8_t i = 0; i < 64; i++) {
		const uint8_t frame[34] = {[12] = 8,
			[14] = 0x45,
			[17] = 20,
			[23] = 17,
			[26] = 10,
			[29] = i,
			[30] = 10,
			[33] = 1};
		struct packet packet;

		packet_parse(frame, sizeof(frame), &packet);
		path_see(&path, packet_hash(&packet, frame));
	}
	assert_in_range(__builtin_popcountll(path.flows), 30, 52);
}

TEST_GROUP(instance_world_start, instance_world_stop)
