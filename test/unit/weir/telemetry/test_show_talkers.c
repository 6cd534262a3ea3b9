/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * /weir/talkers of a limiter with workers that the test runs. The rows stand for the counted
 * packets.
 */
#include "show_world.h"

#include "base/counter.h"
#include "show.h"
#include "tap.h"
#include "tap_session.h"
#include "telemetry/server.h"
#include "tick.h"

#define POLICY "{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '8kbit/s', 'burst': '2kB'}"
#define SHAPED                                                                                 \
	"{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '8kbit/s', 'burst': '2kB', " \
	"'action': 'shape', 'shape': {'delay': '1s', 'queue': '500B'}}"
#define TURNS 400

static void assert_says(struct instance_world *w, const char *path, const char *params,
	const char *key, const char *want)
{
	json_t *json = show_ask(w, path, params);
	const json_t *value = json_object_get(json, key);

	if (want)
		assert_string_equal(json_string_value(value), want);
	else
		assert_true(json_is_true(value));
	json_decref(json);
}

/* Begins a session with a fixed seed of its random sample. */
static void begin(struct instance_world *w, const char *wish, char number[24])
{
	json_t *json = show_ask(w, "/weir/talkers", wish);

	assert_true(json_is_integer(json_object_get(json, "talkers")));
	snprintf(number, 24, "%lld",
		(long long)json_integer_value(json_object_get(json, "talkers")));
	for (unsigned i = 0; i < w->inst.tap_session->n; i++) {
		struct tap *tap = w->inst.tap_session->taps[i];

		packet_sample_init(&tap->sample, 11 + i, 1000, tick_hz(), tick_now());
	}
	json_decref(json);
}

struct seen {
	double all, of_policy, dropped, waits, bytes, variance;
	double seen, lost;
	unsigned rows;
	bool over;
};

static size_t column_of(const json_t *page, const char *name)
{
	const json_t *column;
	size_t i;

	json_array_foreach (json_object_get(page, "columns"), i, column)
		if (strcmp(json_string_value(column), name) == 0)
			return i;
	fail_msg("no column %s", name);
	return 0;
}

/* Reads one page. Returns the number of its rows. */
static size_t read_page(struct instance_world *w, const char *number, struct seen *seen)
{
	json_t *page = show_ask(w, "/weir/talkers_read", number), *row;
	size_t i, n = json_array_size(json_object_get(page, "packets"));

	assert_non_null(page);
	json_array_foreach (json_object_get(page, "packets"), i, row) {
		double weight = json_number_value(
			json_array_get(row, column_of(page, "stands_for")));
		const char *policy = json_string_value(
			json_array_get(row, column_of(page, "policy")));
		const char *verdict = json_string_value(
			json_array_get(row, column_of(page, "verdict")));

		seen->rows++;
		seen->all += weight;
		seen->variance += weight * (weight - 1);
		seen->of_policy += policy && strcmp(policy, "p") == 0 ? weight : 0;
		seen->dropped += strcmp(verdict, "drop") == 0 ? weight : 0;
		seen->waits += strcmp(verdict, "wait") == 0 ? weight : 0;
	}
	seen->seen = json_number_value(json_object_get(page, "seen"));
	seen->lost = json_number_value(json_object_get(page, "lost"));
	seen->over = json_is_true(json_object_get(page, "over"));
	json_decref(page);
	return n;
}

/* Turns of both workers, with all rows read in between. */
static void run_turns(struct instance_world *w, const char *number, struct seen *seen)
{
	for (unsigned i = 0; i < TURNS; i++) {
		instance_world_turn_all(w);
		while (read_page(w, number, seen))
			;
	}
	assert_near(seen->lost, 0, 0);
}

static uint64_t sum_of(struct instance_world *w, size_t offset)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < INSTANCE_WORKERS; i++)
		sum += *(uint64_t *)((char *)&w->inst.workers[i].counters + offset);
	return sum;
}

#define SUM(w, member) ((double)sum_of((w), offsetof(struct worker_counters, member)))

TEST(rows_stand_for_all)
{
	struct seen seen = {0};
	char number[24];
	double off;
	WORLD(w, POLICY);

	begin(w, NULL, number);
	run_turns(w, number, &seen);
	assert_near(seen.seen, SUM(w, rx_packets), 0);
	assert_true(seen.rows < SUM(w, rx_packets) / 2);
	off = 4 * sqrt(seen.variance);
	assert_true(off < seen.seen / 2);
	assert_near(seen.all, seen.seen, off);
	assert_near(seen.all - seen.of_policy, SUM(w, unmatched_packets), off);
	assert_near(seen.dropped, SUM(w, dropped[DROP_LIMIT]), off);
	assert_near(seen.waits, 0, 0);
}

TEST(those_that_are_wanted)
{
	static const char *const wishes[] = {"policy=p seconds=60", "policy=-", "unparsed"};

	for (unsigned i = 0; i < 3; i++) {
		struct seen seen = {0};
		char number[24];
		double unmatched;
		WORLD(w, POLICY);

		begin(w, wishes[i], number);
		run_turns(w, number, &seen);
		unmatched = SUM(w, unmatched_packets);
		assert_near(seen.seen,
			i == 0   ? SUM(w, rx_packets) - unmatched
			: i == 1 ? unmatched
				 : 0,
			0);
		assert_near(seen.of_policy, i == 0 ? seen.all : 0, 0);
		assert_true((seen.rows > 0) == (i < 2));
	}
}

/* A worker with queued packets reports them; samples do not change its work. */
TEST(what_waits)
{
	struct seen seen = {0};
	char number[24];
	WORLD(w, SHAPED);

	begin(w, "policy=p", number);
	run_turns(w, number, &seen);
	assert_true(seen.waits > 0);
	assert_near(seen.dropped, SUM(w, dropped[DROP_QUEUE_FULL]), 4 * sqrt(seen.variance));
}

/* A page is full even if only one worker has samples. Columns have the fields of the frame. */
TEST(all_of_one_worker)
{
	static const char *const values[] = {"policy", "\"p\"", "bytes", "64", "vlan", "null",
		"ethertype", "null", "source", "\"00:00:00:00:00:00\"", "destination",
		"\"00:00:00:00:00:00\"", "protocol", "null", "source_port", "null",
		"destination_port", "null", "direction", "\"a-to-b\""};
	struct seen seen = {0};
	char number[24];
	json_t *page, *row;
	WORLD(w, POLICY);

	begin(w, "policy=p", number);
	instance_world_turn(w, 1);
	page = show_ask(w, "/weir/talkers_read", number);
	row = json_array_get(json_object_get(page, "packets"), 0);
	for (size_t i = 0; i < COUNT(values); i += 2) {
		char *text = json_dumps(
			json_array_get(row, column_of(page, values[i])), JSON_ENCODE_ANY);

		if (strcmp(text, values[i + 1]) != 0)
			fail_msg("%s: %s", values[i], text);
		free(text);
	}
	json_decref(page);
	for (unsigned i = 0; i < 20; i++) {
		instance_world_turn(w, 1);
		w->inst.tap_session->first = i % 2;
		if (read_page(w, number, &seen) > 0)
			assert_int_equal(read_page(w, number, &seen), 0);
	}
	assert_true(seen.rows > 20);
}

/*
 * One session at a time, captures included. After its end another one can start when workers have
 * left it.
 */
TEST(one_at_a_time)
{
	struct seen seen = {0};
	char number[24], other[24];
	WORLD(w, POLICY);

	begin(w, "rate=100", number);
	assert_says(w, "/weir/talkers", NULL, "busy", NULL);
	assert_says(w, "/weir/capture", NULL, "busy", NULL);
	assert_null(show_ask(w, "/weir/capture_read", number));
	assert_null(show_ask(w, "/weir/capture_end", number));
	assert_null(show_ask(w, "/weir/talkers_read", "999999"));
	assert_says(w, "/weir/talkers_end", number, "ended", NULL);
	assert_null(show_ask(w, "/weir/talkers_read", number));
	assert_says(w, "/weir/talkers", NULL, "busy", NULL);
	instance_world_turn_all(w);
	begin(w, NULL, other);
	assert_string_not_equal(number, other);
	/* No client reads it. */
	w->inst.tap_session->lease_tick = tick_now();
	assert_says(w, "/weir/talkers", NULL, "busy", NULL);
	instance_world_turn_all(w);
	begin(w, "seconds=1", number);
	/* After its time the last samples are read first, and then its end. */
	instance_world_turn_all(w);
	w->inst.tap_session->end_ns = 1;
	w->inst.tap_session->end_tick = tick_now();
	assert_true(read_page(w, number, &seen) > 0 && !seen.over);
	while (read_page(w, number, &seen))
		;
	assert_true(seen.over);
}

TEST(wishes_that_make_no_sense)
{
	char number[24];
	WORLD(w, POLICY);

	assert_says(w, "/weir/talkers", "policy=q", "refused",
		"policy \"q\": no such policy: see \"weirctl policies\"");
	assert_says(
		w, "/weir/talkers", "seconds=0", "refused", "seconds: \"0\": expected 1 to 86400");
	assert_says(w, "/weir/talkers", "seconds=86401", "refused",
		"seconds: \"86401\": expected 1 to 86400");
	assert_says(w, "/weir/talkers", "rate=20001", "refused",
		"rate: \"20001\": expected 1 to 20000");
	assert_says(w, "/weir/talkers", "unparsed rate=0 policy=p", "refused",
		"rate: \"0\": expected 1 to 20000");
	assert_says(w, "/weir/talkers", "rate=1x", "refused", "rate: \"1x\": expected 1 to 20000");
	assert_says(w, "/weir/talkers", "nonsense", "refused",
		"\"nonsense\": expected policy=, unparsed, seconds= or rate=");
	assert_null(w->inst.tap_session);
	begin(w, "  rate=20000 seconds=86400", number); /* the largest values */
	assert_near(
		(double)(w->inst.tap_session->end_ns - w->inst.tap_session->began_ns), 86400e9, 0);
}

/* Rows that do not fit into a reply follow in the next one. */
TEST(more_than_a_reply)
{
	size_t rows = 0, pages = 0, n;
	char number[24];
	WORLD(w, POLICY);

	begin(w, "policy=-", number);
	for (unsigned i = 0; i < INSTANCE_WORKERS; i++) /* every packet */
		packet_sample_init(&w->inst.tap_session->taps[i]->sample, 11 + i, 100000000,
			tick_hz(), tick_now());
	for (unsigned i = 0; i < 20; i++)
		instance_world_turn_all(w);
	do {
		json_t *page = show_ask(w, "/weir/talkers_read", number);

		n = json_array_size(json_object_get(page, "packets"));
		assert_true(telemetry_length(page) <= TELEMETRY_MAX_OUTPUT);
		assert_near(json_number_value(json_object_get(page, "lost")), 0, 0);
		rows += n;
		pages += n > 0;
		json_decref(page);
	} while (n > 0);
	assert_true(pages > 1);
	assert_int_equal(rows, counter_read(&w->inst.tap_session->taps[0]->n_taken) +
				       counter_read(&w->inst.tap_session->taps[1]->n_taken));
}

TEST_GROUP(instance_world_start, instance_world_stop)
