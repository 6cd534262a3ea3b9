/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The filter of taps, their counters, and the time until when they are read, by requests. The test
 * sets the clock.
 */
#include "show_world.h"
#include "scope.h"

#include "base/time.h"
#include "control_clock.h"
#include "show.h"
#include "tap.h"
#include "tap_session.h"
#include "telemetry/server.h"
#include "tick.h"

#define POLICIES                                                                \
	"{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '1Mbit/s'}, " \
	"{'name': 'q', 'match': {'direction': 'b-to-a'}, 'limit': '1Mbit/s'}"
#define ANY TAP_ANY

/* Ends the session, and lets workers stop using it. */
static void end_session(struct instance_world *w)
{
	tap_session_stop(&w->inst);
	instance_world_turn_all(w);
	tap_session_stop(&w->inst);
	assert_null(w->inst.tap_session);
}

/* Begins a session. Returns its number as a parameter, valid until the next call. */
static const char *begin(struct instance_world *w, const char *path, const char *wish)
{
	json_t *reply = show_ask(w, path, wish);
	static char number[24];

	assert_true(json_is_integer(json_object_get(reply, path + strlen("/weir/"))));
	snprintf(number, sizeof(number), "%d",
		(int)json_integer_value(json_object_get(reply, path + strlen("/weir/"))));
	json_decref(reply);
	return number;
}

/* Expects this filter in all taps. */
static void expect_wanted(struct instance_world *w, const char *wish, uint32_t slot,
	uint32_t reason, uint32_t verdict)
{
	begin(w, "/weir/capture", wish);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		const struct tap *tap = w->inst.workers[i].tap;

		assert_int_equal(tap->slot, slot);
		assert_int_equal(tap->reason, reason);
		assert_int_equal(tap->verdict, verdict);
	}
	end_session(w);
}

TEST(test_wanted)
{
	static const char *const verdicts[] = {"pass", "drop", "mark", "count", "wait"};
	char wish[64];
	WORLD(w, POLICIES);

	expect_wanted(w, NULL, ANY, ANY, ANY);
	expect_wanted(w, "policy=q", w->inst.slots.of[1], ANY, ANY);
	expect_wanted(w, "policy=-", TAP_NO_POLICY, ANY, ANY);
	for (unsigned r = 0; r < DROP_REASONS; r++) {
		snprintf(wish, sizeof(wish), "reason=%s", drop_reason_name(r));
		expect_wanted(w, wish, ANY, r, ANY);
	}
	for (unsigned v = 0; v < TAP_VERDICTS; v++) {
		snprintf(wish, sizeof(wish), "policy=p reason=%s", verdicts[v]);
		expect_wanted(w, wish, w->inst.slots.of[0], ANY, v);
	}
}

/* Returns the ticks between two captured packets. */
static uint64_t pace_of(struct instance_world *w, const char *wish)
{
	uint64_t ticks;

	begin(w, "/weir/capture", wish);
	ticks = w->inst.workers[1].tap->taken.ticks;
	assert_int_equal(w->inst.workers[0].tap->taken.ticks, ticks);
	end_session(w);
	return ticks;
}

/* Returns the ticks in which 32 packets are sampled. */
static double round_of(struct instance_world *w, const char *wish)
{
	uint64_t ticks;

	begin(w, "/weir/talkers", wish);
	ticks = w->inst.workers[1].tap->sample.round;
	assert_int_equal(w->inst.workers[0].tap->sample.round, ticks);
	end_session(w);
	return (double)ticks;
}

/*
 * By default a capture takes 1000 packets per second of each worker, and a random sample 2000 of
 * all.
 */
TEST(test_rates)
{
	WORLD(w, POLICIES);

	w->inst.clock.hz = 1000000000;
	assert_int_equal(pace_of(w, NULL), 1000000);
	assert_int_equal(pace_of(w, "rate=1"), 1000000000);
	assert_int_equal(pace_of(w, "rate=100000"), 10000);
	assert_near(round_of(w, NULL), round_of(w, "rate=2000"), 0);
	assert_near(round_of(w, "rate=2000"), 10 * round_of(w, "rate=20000"), 100);
	assert_near(round_of(w, "rate=2"), 1000 * round_of(w, "rate=2000"), 10000);
	assert_near(round_of(w, "rate=1"), round_of(w, "rate=2"), 0); /* at least one */
}

static void count_in_taps(struct instance_world *w)
{
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
		struct tap *tap = w->inst.tap_session->taps[i];

		tap->n_examined = 100 + i;
		tap->n_skipped = 200 + i;
		tap->n_taken = 300 + i;
		tap->n_limited = 400 + i;
		tap->n_lost = 500 + i;
	}
}

/* The counters of all workers are added up. */
TEST(test_counts)
{
	const char *number;
	WORLD(w, POLICIES);

	number = begin(w, "/weir/capture", NULL);
	count_in_taps(w);
	show_expect(show_ask(w, "/weir/capture_read", number),
		"{'packets': [], 'over': false, 'examined': 201, 'not_examined': 401, 'taken': "
		"601, 'over_rate': 801, 'lost': 1001}");
	end_session(w);
	number = begin(w, "/weir/talkers", NULL);
	count_in_taps(w);
	show_expect(show_ask(w, "/weir/talkers_read", number),
		"{'over': false, 'seconds': 0.0, 'seen': 201, 'lost': 1001, 'columns': '*', "
		"'packets': []}");
	end_session(w);
}

/* A session ends exactly after its seconds. Without seconds it does not end. */
TEST(test_seconds)
{
	const char *number;
	WORLD(w, POLICIES);

	number = begin(w, "/weir/talkers", NULL); /* five seconds by default */
	clock_ns += 1500 * MS_NS;
	show_expect(show_ask(w, "/weir/talkers_read", number),
		"{'over': false, 'seconds': 1.5, '...': 0}");
	clock_ns += 3500 * MS_NS - 1;
	show_expect(show_ask(w, "/weir/talkers_read", number), "{'over': false, '...': 0}");
	clock_ns += SECOND_NS + 1;
	show_expect(show_ask(w, "/weir/talkers_read", number),
		"{'over': true, 'seconds': 5.0, '...': 0}");
	end_session(w);
	number = begin(w, "/weir/capture", "seconds=2");
	clock_ns += 2 * SECOND_NS - 1;
	show_expect(show_ask(w, "/weir/capture_read", number), "{'over': false, '...': 0}");
	clock_ns++;
	show_expect(show_ask(w, "/weir/capture_read", number), "{'over': true, '...': 0}");
	assert_null(show_ask(w, "/weir/capture_read", number));
	end_session(w);
	number = begin(w, "/weir/capture", NULL);
	clock_ns += 1000000 * SECOND_NS;
	show_expect(show_ask(w, "/weir/capture_read", number), "{'over': false, '...': 0}");
	end_session(w);
}

/* Each read extends the session at each worker to three seconds from then. */
TEST(test_lease)
{
	static const char *const paths[][2] = {
		{"/weir/capture", "/weir/capture_read"}, {"/weir/talkers", "/weir/talkers_read"}};
	WORLD(w, POLICIES);

	for (unsigned k = 0; k < 2; k++) {
		const char *number = begin(w, paths[k][0], "seconds=60");
		uint64_t before = tick_now();

		for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
			w->inst.tap_session->taps[i]->until = 0;
		json_decref(show_ask(w, paths[k][1], number));
		for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
			assert_in_range(w->inst.tap_session->taps[i]->until,
				before + 3 * w->inst.clock.hz, tick_now() + 3 * w->inst.clock.hz);
		end_session(w);
	}
}

/* The requested number of packets is sent, from all workers in turn. Then the session ends. */
TEST(test_wanted_number)
{
	const char *number;
	WORLD(w, POLICIES);

	number = begin(w, "/weir/capture", "count=3 policy=q");
	instance_world_turn_all(w);
	show_expect(show_ask(w, "/weir/capture_read", number),
		"{'packets': [{'worker': 0, 'policy': 'q', 'direction': 'b-to-a', '...': 0}, "
		"{'worker': 1, '...': 0}, {'worker': 0, '...': 0}], 'over': true, '...': 0}");
	assert_null(show_ask(w, "/weir/capture_read", number));
	end_session(w);
}

/* A reply is filled as far as the largest packet would still fit. */
static void expect_full(struct instance_world *w, const char *wish, size_t most)
{
	const char *number = begin(w, "/weir/capture", wish);
	json_t *reply, *packets, *packet;
	size_t i, sum = 0, last = 0;

	for (i = 0; i < 3; i++)
		instance_world_turn_all(w);
	reply = show_ask(w, "/weir/capture_read", number);
	packets = json_object_get(reply, "packets");
	json_array_foreach (packets, i, packet) {
		last = telemetry_length(packet) + 1;
		sum += last;
	}
	assert_true(i > 2);
	most = most * 4 / 3 + 512;
	assert_true(sum - last + most <= TELEMETRY_MAX_OUTPUT - 512);
	assert_true(sum + most + 64 > TELEMETRY_MAX_OUTPUT - 512);
	json_decref(reply);
	end_session(w);
}

TEST(test_full)
{
	WORLD(w, POLICIES);

	expect_full(w, "rate=100000", TAP_HEADERS);
	expect_full(w, "rate=100000 whole", TAP_WHOLE);
}

TEST_GROUP(instance_world_start, instance_world_stop)
