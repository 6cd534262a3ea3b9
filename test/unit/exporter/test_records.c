/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The records that a collector gets of limiters' counters: nothing twice, nothing that was not
 * counted, and nothing left out.
 */
#include "check.h"
#include "scope.h"

#include "answer_of.h"
#include "base/wire.h"
#include "records.h"

#define REFRESH_MS 60000
#define BEGAN      UINT64_C(1700000000000)
#define NAMES_MOST 1100

/*
 * A collector that accepts all datagrams of version 9, and maps records to names by the name
 * records.
 */
struct collector {
	size_t longest;
	unsigned datagrams, records, templates, names;
	bool deaf;
	uint32_t domain, sequence;
	char limiter[64];
	uint64_t start_ms, end_ms; /* times of the last record */
	struct told {
		uint32_t application;
		char name[64], description[32];
		uint64_t passed, passed_units, dropped, dropped_units;
		uint8_t status; /* status of the last dropped record */
	} told[NAMES_MOST];
	unsigned n_told;
};

static struct told *find_told(struct collector *collector, uint32_t application)
{
	for (unsigned i = 0; i < collector->n_told; i++)
		if (collector->told[i].application == application)
			return &collector->told[i];
	assert_true(collector->n_told < NAMES_MOST);
	collector->told[collector->n_told].application = application;
	return &collector->told[collector->n_told++];
}

static void take_name(struct collector *collector, const uint8_t *at)
{
	struct told *told = find_told(collector, read_be32(at + 4));

	collector->names++;
	memcpy(told->name, at + 8, sizeof(told->name));
	memcpy(told->description, at + 72, sizeof(told->description));
}

static void take_record(struct collector *collector, const uint8_t *at, bool units, uint64_t boot)
{
	uint64_t more = units ? read_be64(at) : 0, packets = read_be64(at += units ? 8 : 0);
	struct told *told = find_told(collector, read_be32(at + 17));

	collector->records++;
	collector->start_ms = boot + read_be32(at + 8);
	collector->end_ms = boot + read_be32(at + 12);
	assert_true(collector->start_ms <= collector->end_ms);
	assert_true(told->name[0]); /* its name came before */
	assert_true(packets || more);
	if (at[16] == 64) {
		told->passed += packets;
		told->passed_units += more;
	} else {
		told->dropped += packets;
		told->dropped_units += more;
		told->status = at[16];
	}
}

/* Reads the records of one set; returns how many. */
static unsigned take_set(
	struct collector *collector, unsigned set, const uint8_t *at, size_t n, uint64_t boot)
{
	static const size_t bytes[] = {29, 21, 29, 104, 68};
	unsigned records = 0;

	if (set < 256) {
		collector->templates += set == 0 ? 3 : 1;
		return set == 0 ? 3 : 1;
	}
	assert_true(set - 256 < COUNT(bytes) && collector->templates >= 5);
	for (size_t each = bytes[set - 256]; n >= each; n -= each, at += each, records++)
		if (set == 260)
			memcpy(collector->limiter, at + 4, sizeof(collector->limiter));
		else if (set == 259)
			take_name(collector, at);
		else
			take_record(collector, at, set != 257, boot);
	assert_true(n < 4);
	return records;
}

static bool take_datagram(void *context, const uint8_t *bytes, size_t n)
{
	struct collector *collector = context;
	uint64_t boot = (uint64_t)read_be32(bytes + 8) * 1000 - read_be32(bytes + 4);
	unsigned records = 0;
	size_t length;

	collector->datagrams++;
	collector->longest = n > collector->longest ? n : collector->longest;
	assert_int_equal(read_be16(bytes), 9);
	collector->sequence = read_be32(bytes + 12);
	collector->domain = read_be32(bytes + 16);
	if (collector->deaf)
		return false;
	for (size_t at = 20; at < n; at += length) {
		length = read_be16(bytes + at + 2);
		assert_true(length > 4 && length % 4 == 0 && at + length <= n);
		records += take_set(
			collector, read_be16(bytes + at), bytes + at + 4, length - 4, boot);
	}
	assert_int_equal(read_be16(bytes + 2), records);
	return true;
}

/* --- limiters --------------------------------------------------------------------------------- */

/*
 * A limiter with policies p0, p1, … whose counters are these, times the policy's number plus one.
 */
struct world {
	unsigned n, passed, dropped, tx_full, unmatched, of_nobody;
	const char *count, *limit, *waiting, *name;
	double uptime_s;
	bool down, mute, cut; /* does not answer; without policies; leaves some out */
};

static json_t *world_rows(const struct world *world)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < world->n; i++)
		json_array_append_new(rows,
			json_pack("[o, s, o, o, i, i, i, i]",
				world->name ? json_string(world->name) : json_sprintf("p%u", i),
				world->count, json_loads(world->limit, JSON_DECODE_ANY, NULL),
				json_loads(world->waiting ? world->waiting : "null",
					JSON_DECODE_ANY, NULL),
				(int)(world->passed * (i + 1)),
				(int)(world->passed * (i + 1) * 100),
				(int)(world->dropped * (i + 1)),
				(int)(world->dropped * (i + 1) * 100)));
	return rows;
}

static json_t *world_document(const struct world *world)
{
	json_t *document;

	if (world->down)
		return json_pack("{s:b, s:f}", "up", 0, "took_s", 4.0);
	document = json_pack("{s:b, s:f, s:{s:f}, s:{s:i, s:i, s:i}, s:[{s:i}], s:{s:i}, "
			     "s:[s, s, s, s, s, s, s, s]}",
		"up", 1, "took_s", 0.25, "process", "uptime_s", world->uptime_s, "drops", "limit",
		(int)world->dropped, "tx_full", (int)world->tx_full, "unmatched",
		(int)world->of_nobody, "workers", "unmatched_packets", (int)world->unmatched,
		"left_out", "policies", world->mute || world->cut ? 7 : 0, "columns", "name",
		"count", "limit_per_s", "waiting_packets", "passed_packets", "passed_units",
		"dropped_packets", "dropped_units");
	assert_non_null(document);
	if (!world->mute)
		json_object_set_new(document, "policies", world_rows(world));
	return document;
}

static struct metrics_of world_limiter(const char *name, const struct world *world)
{
	json_t *document = world_document(world);

	return (struct metrics_of){name, document, policies_of(document)};
}

/* Gathers from limiters with these names after so many seconds. */
static void take_worlds(struct records *records, struct collector *collector, double at_s,
	const struct world *worlds, unsigned n)
{
	static const char *const names[] = {"box1", "box2", "box3"};
	const struct records_time began = {
		BEGAN + (uint64_t)(at_s * 1000), 5000 + (uint64_t)(at_s * 1000)};
	const struct records_sink sink = {take_datagram, collector, 700};
	struct boxes *boxes = calloc(1, sizeof(*boxes));

	assert_non_null(boxes);
	for (unsigned i = 0; i < n; i++)
		boxes->of[i] = world_limiter(names[i], &worlds[i]);
	boxes->n = n;
	records_take(records, boxes, &began, &sink);
	boxes_free(boxes);
}

static const struct world usual = {
	.n = 2, .passed = 10, .dropped = 3, .count = "bytes", .limit = "1250000", .uptime_s = 100};

static const struct told *told_of(struct collector *collector, const char *name)
{
	static const struct told nothing;

	for (unsigned i = 0; i < collector->n_told; i++)
		if (strcmp(collector->told[i].name, name) == 0)
			return &collector->told[i];
	return &nothing;
}

static void assert_told(
	struct collector *collector, const char *name, uint64_t passed, uint64_t dropped)
{
	const struct told *told = told_of(collector, name);

	assert_int_equal(told->passed, passed);
	assert_int_equal(told->dropped, dropped);
}

struct scene {
	struct records *records;
	struct collector collector;
};

static struct scene *new_scene(void)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	scene->records = records_new(NETFLOW_V9, REFRESH_MS);
	assert_non_null(scene->records);
	return scene;
}

static void take(struct scene *scene, double at_s, const struct world *world)
{
	take_worlds(scene->records, &scene->collector, at_s, world, 1);
}

static void end_scene(struct scene *scene)
{
	records_free(scene->records);
	free(scene);
}

END_POINTER(end_scene, struct scene *)

/* --- records ---------------------------------------------------------------------------------- */

/*
 * The first reading gives only templates and the limiter's name; later ones give differences, with
 * their times.
 */
TEST(test_differences)
{
	ENDED_BY(end_scene_at) struct scene *scene = new_scene();
	struct world world = usual;

	take(scene, 0, &world);
	assert_int_equal(scene->collector.datagrams, 1);
	assert_int_equal(scene->collector.records, 0);
	assert_int_equal(scene->collector.templates, 5);
	assert_string_equal(scene->collector.limiter, "box1");
	assert_in_range(scene->collector.domain, 1, 65535);
	world.passed = 15;
	world.dropped = 4;
	world.tx_full = 6;
	world.unmatched = 8;
	world.of_nobody = 3;
	take(scene, 10, &world);
	assert_told(&scene->collector, "p0", 5, 1);
	assert_told(&scene->collector, "p1", 10, 2);
	assert_int_equal(told_of(&scene->collector, "p1")->passed_units, 1000);
	assert_int_equal(told_of(&scene->collector, "p1")->dropped_units, 200);
	assert_int_equal(told_of(&scene->collector, "p1")->status, NETFLOW_DROPPED_POLICER);
	assert_told(&scene->collector, "(tx_full)", 0, 6);
	assert_int_equal(told_of(&scene->collector, "(tx_full)")->status, NETFLOW_DROPPED_HARDWARE);
	assert_told(&scene->collector, "(unmatched)", 8, 3);
	assert_int_equal(told_of(&scene->collector, "(unmatched)")->status, NETFLOW_DROPPED_ACL);
	assert_int_equal(scene->collector.start_ms, BEGAN + 250);
	assert_int_equal(scene->collector.end_ms, BEGAN + 10250);
	assert_int_equal(scene->collector.records, 7);
}

/* An idle limiter causes no records, only templates now and then. */
TEST(test_idle)
{
	ENDED_BY(end_scene_at) struct scene *scene = new_scene();

	for (unsigned s = 0; s <= 120; s += 10)
		take(scene, s, &usual);
	assert_int_equal(scene->collector.datagrams, 3);
	assert_int_equal(scene->collector.templates, 15);
	assert_int_equal(scene->collector.names + scene->collector.records, 0);
}

/* After a restart all counted values are new, for any values of the counters. */
TEST(test_restart)
{
	ENDED_BY(end_scene_at) struct scene *scene = new_scene();
	struct world world = usual;

	take(scene, 0, &world);
	world.passed = 2; /* lower than before */
	world.dropped = 3;
	take(scene, 10, &world);
	assert_told(&scene->collector, "p0", 2, 3);
	world.passed = 50;
	world.dropped = 9;
	world.uptime_s = 3; /* restarted, with higher counters than before */
	take(scene, 20, &world);
	assert_told(&scene->collector, "p0", 2 + 50, 3 + 9);
	assert_told(&scene->collector, "p1", 2 * (2 + 50), 2 * (3 + 9));
}

/* After a limiter did not answer, or was reloaded, its counts are sent when it answers again. */
TEST(test_silence)
{
	ENDED_BY(end_scene_at) struct scene *scene = new_scene();
	struct world world = usual;

	take(scene, 0, &world);
	world.passed = 11;
	world.down = true;
	take(scene, 10, &world);
	world.down = false;
	world.mute = true;
	take(scene, 20, &world);
	world.mute = false;
	assert_int_equal(scene->collector.records, 0);
	world.passed = 12;
	world.n = 3;
	take(scene, 30, &world);
	assert_told(&scene->collector, "p0", 2, 0);
	assert_told(&scene->collector, "p1", 4, 0);
	assert_told(&scene->collector, "p2", 36, 9);
	assert_int_equal(scene->collector.start_ms, BEGAN + 250);
}

/*
 * A new policy started after the last reading. If policies were left out, it may have existed
 * before.
 */
TEST(test_new_policies)
{
	ENDED_BY(end_scene_at) struct scene *scene = new_scene();
	struct world world = usual;

	take(scene, 0, &world);
	world.n = 3;
	take(scene, 10, &world);
	assert_told(&scene->collector, "p2", 30, 9);
	world.cut = true;
	take(scene, 20, &world);
	world.n = 4;
	take(scene, 30, &world);
	assert_told(&scene->collector, "p3", 0, 0);
	world.n = 1;
	world.cut = false;
	take(scene, 40, &world);
	world.n = 3; /* forgotten, and starts again */
	take(scene, 50, &world);
	assert_told(&scene->collector, "p1", 20, 6);
	assert_told(&scene->collector, "p2", 60, 18);
	assert_told(&scene->collector, "p0", 0, 0);
}

/* A name is sent with the first record, after a change of its limit, and again after a while. */
TEST(test_names)
{
	ENDED_BY(end_scene_at) struct scene *scene = new_scene();
	struct world world = usual;

	take(scene, 0, &world);
	for (unsigned s = 10; s <= 60; s += 10) {
		world.passed++;
		take(scene, s, &world);
	}
	assert_int_equal(scene->collector.names, 2);
	assert_string_equal(told_of(&scene->collector, "p0")->description, "10Mbit/s");
	world.passed++;
	world.limit = "125";
	take(scene, 65, &world);
	assert_int_equal(scene->collector.names, 4);
	assert_string_equal(told_of(&scene->collector, "p0")->description, "1kbit/s");
	world.passed++;
	take(scene, 130, &world);
	assert_int_equal(scene->collector.names, 6);
	assert_int_equal(scene->collector.n_told, 2);
}

/* The limit as text, and the status of drops, which differs for a queue. */
TEST(test_limits)
{
	static const struct {
		const char *count, *limit, *waiting, *want;
		unsigned status;
	} cases[] = {
		{"bytes", "0", NULL, "0bit/s", 138},
		{"bytes", "124993.75", NULL, "1Mbit/s", 138},
		{"bytes", "154321", NULL, "1.235Mbit/s", 138},
		{"bytes", "12500000000", "0", "100Gbit/s", 139},
		{"bytes", "null", NULL, "no limit", 138},
		{"packets", "0.125", NULL, "0.125 packets/s", 138},
		{"flows", "1000", "5", "1000 flows/s", 139},
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		struct scene *scene = new_scene();
		struct world world = usual;

		world.count = cases[i].count;
		world.limit = cases[i].limit;
		world.waiting = cases[i].waiting;
		take(scene, 0, &world);
		world.dropped++;
		take(scene, 10, &world);
		assert_string_equal(told_of(&scene->collector, "p0")->description, cases[i].want);
		assert_int_equal(told_of(&scene->collector, "p0")->status, cases[i].status);
		assert_int_equal(told_of(&scene->collector, "p0")->dropped_units,
			strcmp(cases[i].count, "packets") ? 100 : 0);
		end_scene(scene);
	}
}

/* Each limiter has its own domain; a policy has the same number in all. */
TEST(test_limiters)
{
	ENDED_BY(end_scene_at) struct scene *scene = new_scene();
	struct world worlds[] = {usual, usual, usual};
	struct records_counts counts[BOXES_MOST];

	take_worlds(scene->records, &scene->collector, 0, worlds, 3);
	for (unsigned i = 0; i < 3; i++)
		worlds[i].passed += i + 1;
	take_worlds(scene->records, &scene->collector, 10, worlds, 3);
	assert_told(&scene->collector, "p0", 6, 0);
	assert_int_equal(scene->collector.n_told, 2);
	assert_int_equal(records_counts(scene->records, counts), 3);
	assert_string_equal(counts[2].limiter, "box3");
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(counts[i].records, 2);
		assert_int_equal(counts[i].datagrams, 2);
		assert_int_not_equal(counts[i].domain, counts[(i + 1) % 3].domain);
	}
}

/* Many policies have their own numbers, and no datagram exceeds the size of the path. */
TEST(test_many)
{
	ENDED_BY(end_scene_at) struct scene *scene = new_scene();
	struct world world = usual;

	world.n = 1000;
	take(scene, 0, &world);
	world.passed++;
	world.dropped++;
	take(scene, 10, &world);
	assert_int_equal(scene->collector.n_told, 1000);
	assert_int_equal(scene->collector.records, 2000);
	assert_int_equal(scene->collector.sequence + 1, scene->collector.datagrams);
	assert_in_range(scene->collector.longest, 700 - 104, 700);
	assert_told(&scene->collector, "p999", 1000, 1000);
}

/*
 * A datagram that could not be sent is counted and shows as a gap in the sequence; later ones are
 * sent.
 */
TEST(test_deaf)
{
	ENDED_BY(end_scene_at) struct scene *scene = new_scene();
	struct world world = usual;
	struct records_counts counts[BOXES_MOST];

	take(scene, 0, &world);
	scene->collector.deaf = true;
	world.passed++;
	take(scene, 10, &world);
	scene->collector.deaf = false;
	world.passed++;
	take(scene, 70, &world);
	assert_told(&scene->collector, "p0", 1, 0);
	assert_int_equal(scene->collector.sequence, 2);
	assert_int_equal(records_counts(scene->records, counts), 1);
	assert_int_equal(counts[0].failed, 1);
	assert_int_equal(counts[0].datagrams, 2);
}

/* The clock is set back: no record ends before it begins. */
TEST(test_clock_back)
{
	ENDED_BY(end_scene_at) struct scene *scene = new_scene();
	struct world world = usual;
	const struct records_sink sink = {take_datagram, &scene->collector, 700};
	struct boxes boxes = {.n = 1};

	take(scene, 0, &world);
	world.passed++;
	boxes.of[0] = world_limiter("box1", &world);
	records_take(scene->records, &boxes, &(struct records_time){BEGAN - 3600000, 15000}, &sink);
	json_decref((json_t *)boxes.of[0].document);
	policy_pages_free(&boxes.of[0].policies);
	assert_told(&scene->collector, "p0", 1, 0);
	assert_int_equal(scene->collector.start_ms, BEGAN - 3600000 + 250);
	assert_int_equal(scene->collector.end_ms, BEGAN - 3600000 + 250);
}

/* Names of any length, and with any characters. */
TEST(test_strange_names)
{
	ENDED_BY(end_scene_at) struct scene *scene = new_scene();
	struct world world = usual;
	char longest[300];

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	world.n = 1;
	world.name = longest;
	take(scene, 0, &world);
	world.passed++;
	take(scene, 10, &world);
	world.name = "\xc3\xa9t\xc3\xa9";
	take(scene, 20, &world);
	assert_told(&scene->collector, "\xc3\xa9t\xc3\xa9", 11, 3);
	assert_int_equal(scene->collector.n_told, 2);
	assert_int_equal(strlen(scene->collector.told[0].name), 63);
}
