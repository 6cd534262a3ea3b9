/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A reload from the request to its end. Reloads run one at a time, events report their results, and
 * a stop can interrupt them anywhere. The reading thread is real. The test plays control and both
 * workers.
 */
#include "instance_world.h"
#include "scope.h"
#include "control_clock.h"

#include <poll.h>

#include <sys/stat.h>

#include "event.h"
#include "manager.h"
#include "notify/notify.h"
#include "base/time.h"
#include "clock.h"
#include "gossip/keyring.h"
#include "limiter/aggregate.h"
#include "reload.h"

#define A(limit) "{'name': 'a', 'match': {'direction': 'a-to-b'}, 'limit': '" limit "'}"
#define B        "{'name': 'b', 'match': {'vlan': 2}, 'limit': '1Gbit/s'}"

#define PATIENCE_MS 60000

/* A limiter that was started with its file. */
#define FILE_WORLD(w) OPEN_WORLD(w, file_world_begin, A("1Gbit/s"))

static void add_file(struct instance_world *w)
{
	w->inst.file = w->file;
	assert_int_equal(reload_start(&w->inst), 0);
}

static struct instance_world *file_world_begin(const struct world_options *options)
{
	struct instance_world *w = instance_world_begin(options);

	add_file(w);
	return w;
}

/* Waits until the thread has read the file, and continues the reload. */
static void await_read(struct instance_world *w)
{
	struct pollfd fd = {.fd = reload_fd(&w->inst), .events = POLLIN};

	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	reload_advance(&w->inst);
}

static void finish_reload(struct instance_world *w)
{
	for (unsigned i = 0; i < 4 && reload_finishing(&w->inst); i++) {
		instance_world_turn_all(w);
		reload_advance(&w->inst);
	}
	assert_false(reload_finishing(&w->inst));
}

static uint64_t current_generation(const struct instance_world *w)
{
	return w->inst.publisher.current->generation;
}

TEST_WITH(test_no_file, wait_long, NULL)
{
	WORLD(w, A("1Gbit/s"));

	assert_null(reload_request(&w->inst, "test", 0));
	assert_int_equal(reload_fd(&w->inst), -1);
	assert_string_equal(reload_state(&w->inst), "idle");
	assert_null(reload_last(&w->inst));
	reload_advance(&w->inst);
}

TEST_WITH(test_from_request_to_end, wait_long, NULL)
{
	const struct reload_outcome *last;
	FILE_WORLD(w);

	last = reload_last(&w->inst);
	assert_false(last->known);
	instance_world_write(w, A("2Gbit/s") ", " B);
	assert_string_equal(reload_request(&w->inst, "test", 0), "started");
	assert_string_equal(reload_state(&w->inst), "reading");
	await_read(w);
	assert_string_equal(reload_state(&w->inst), "finishing");
	assert_int_equal(current_generation(w), 2);
	assert_true(last->known && last->error == 0 && last->took_ns > 0 && last->when.tv_sec > 0);
	assert_int_equal(last->added, 1);
	assert_int_equal(last->removed, 0);
	assert_int_equal(last->changed, 1);
	assert_int_equal(last->unchanged, 0);
	assert_non_null(last->messages);
	finish_reload(w);
	assert_string_equal(reload_state(&w->inst), "idle");
	assert_int_equal(w->inst.policies[0].limit_bps, 2000000000);
}

/* All requests during a reload cause one further reload, which reads the file again. */
TEST_WITH(test_asked_meanwhile, wait_long, NULL)
{
	FILE_WORLD(w);

	instance_world_write(w, A("2Gbit/s"));
	assert_string_equal(reload_request(&w->inst, "test", 0), "started");
	for (unsigned i = 0; i < 3; i++)
		assert_string_equal(reload_request(&w->inst, "test", 0), "queued");
	await_read(w);
	assert_string_equal(reload_request(&w->inst, "test", 0), "queued");
	instance_world_write(w, A("3Gbit/s"));
	finish_reload(w);
	assert_string_equal(reload_state(&w->inst), "reading");
	await_read(w);
	finish_reload(w);
	assert_string_equal(reload_state(&w->inst), "idle");
	assert_int_equal(w->inst.policies[0].limit_bps, 3000000000);
	assert_int_equal(current_generation(w), 3);
}

/* A worker is stalled. The others use the new configuration, and the state names that worker. */
TEST_WITH(test_held_up, wait_long, NULL)
{
	FILE_WORLD(w);

	stuck_mark(&w->inst.stuck.now, 1, true);
	instance_world_write(w, A("2Gbit/s") ", " B);
	assert_string_equal(reload_request(&w->inst, "test", 0), "started");
	assert_int_equal(reload_waits_for(&w->inst), -1);
	await_read(w);
	assert_int_equal(reload_waits_for(&w->inst), 1);
	instance_world_turn(w, 0);
	reload_advance(&w->inst);
	assert_true(reload_finishing(&w->inst));
	assert_int_equal(w->inst.policies[0].limit_bps, 2000000000);
	assert_int_equal(w->inst.workers[0].generation, 2);
	assert_string_equal(reload_request(&w->inst, "test", 0), "queued");
	stuck_mark(&w->inst.stuck.by_far, 1, true);
	stuck_mark(&w->inst.stuck.now, 0, true); /* only for a moment */
	assert_int_equal(reload_waits_for(&w->inst), 1);
	w->inst.stuck = (struct stuck){0};
	assert_int_equal(reload_waits_for(&w->inst), -1);
	finish_reload(w);
	assert_string_equal(reload_state(&w->inst), "reading"); /* the queued reload */
	await_read(w);
	finish_reload(w);
	assert_string_equal(reload_state(&w->inst), "idle");
	stuck_mark(&w->inst.stuck.now, 0, true);
	assert_int_equal(reload_waits_for(&w->inst), -1); /* nothing is under way */
}

TEST_WITH(test_refused, wait_long, NULL)
{
	const struct reload_outcome *last;
	FILE_WORLD(w);

	last = reload_last(&w->inst);
	instance_world_write(w, A("2Gbit/s") ", {'name': 'x', 'limit': '1Gbit'}");
	reload_request(&w->inst, "test", 0);
	await_read(w);
	assert_string_equal(reload_state(&w->inst), "idle");
	assert_true(last->known && last->error < 0);
	assert_non_null(strstr(last->messages, "policies[1] \"x\".limit: "));
	assert_int_equal(w->inst.policies[0].limit_bps, 1000000000);
	assert_int_equal(current_generation(w), 1);
	/* The next reload works although it changes nothing. */
	instance_world_write(w, A("1000Mbit/s"));
	assert_string_equal(reload_request(&w->inst, "test", 0), "started");
	await_read(w);
	assert_string_equal(reload_state(&w->inst), "idle");
	assert_int_equal(last->error, 0);
	assert_int_equal(last->unchanged, 1);
	assert_null(strstr(last->messages, "policies[1]"));
	assert_int_equal(current_generation(w), 1);
}

/* A stop during reading, after it or during the commit releases everything. */
TEST_WITH(test_cut_short, wait_long, NULL)
{
	for (unsigned cut = 0; cut < 3; cut++) {
		struct pollfd fd = {.events = POLLIN};
		FILE_WORLD(w);

		instance_world_write(w, A("2Gbit/s") ", " B);
		assert_string_equal(reload_request(&w->inst, "test", 0), "started");
		fd.fd = reload_fd(&w->inst);
		if (cut > 0)
			assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		if (cut > 1)
			reload_advance(&w->inst);
		assert_string_equal(reload_state(&w->inst), cut > 1 ? "finishing" : "reading");
	}
}

/* The last message to the service manager, if there is one. */
static void expect_told(struct manager *manager, const char *words)
{
	char last[sizeof(manager->heard)] = "";
	const char *text;

	while ((text = manager_hear(manager)))
		strcpy(last, text);
	if (!strstr(last, words))
		fail_msg("\"%s\" is not in: %s", words, last);
}

/* The service manager shows the running configuration, or the refusal of the last reload. */
TEST_WITH(test_manager_is_told, wait_long, NULL)
{
	ENDED_BY(manager_close) struct manager manager;

	manager_open(&manager, false, NULL);
	FILE_WORLD(w);
	assert_int_equal(notify_open(&w->inst.notify), 0);
	instance_world_write(w, A("2Gbit/s") ", " B);
	assert_string_equal(reload_request(&w->inst, "test", 0), "started");
	expect_told(&manager, "RELOADING=1");
	await_read(w);
	finish_reload(w);
	expect_told(&manager, "STATUS=running: 2 policies, generation 2");
	instance_world_write(w, A("2Gbit"));
	assert_string_equal(reload_request(&w->inst, "test", 0), "started");
	await_read(w);
	expect_told(&manager, "STATUS=running; the last reload was refused: ");
	notify_close(w->inst.notify);
	w->inst.notify = NULL;
}

/* Counts the new events with this name and copies the text of the last one. */
static unsigned count_said(uint64_t since, const char *name, char text[EVENT_TEXT])
{
	unsigned n = 0;

	text[0] = '\0';
	for (uint64_t number = since; number < events_number(); number++) {
		json_t *said = events_get(number);

		if (strcmp(json_string_value(json_object_get(said, "event")), name) == 0) {
			snprintf(text, EVENT_TEXT, "%s",
				json_string_value(json_object_get(said, "text")));
			n++;
		}
		json_decref(said);
	}
	return n;
}

/* Expects one event whose text has these parts, separated by '|', in their order; NULL: none. */
static void expect_event(uint64_t since, const char *name, const char *expected)
{
	char text[EVENT_TEXT], parts[EVENT_TEXT];
	const char *at = text;
	char *rest;

	unsigned n = count_said(since, name, text);

	if (n != (expected ? 1 : 0))
		fail_msg("%s: %u times, the last: %s", name, n, text);
	snprintf(parts, sizeof(parts), "%s", expected ? expected : "");
	for (char *part = strtok_r(parts, "|", &rest); part; part = strtok_r(NULL, "|", &rest)) {
		at = strstr(at, part);
		if (!at)
			fail_msg("%s lacks \"%s\": %s", name, part, text);
		at += strlen(part);
	}
}

/* An event reports each request, its user and its state. */
TEST_WITH(test_asking_is_said, wait_long, NULL)
{
	uint64_t since;
	WORLD(w, A("1Gbit/s"));

	since = events_number();
	assert_null(reload_request(&w->inst, "SIGHUP", 4000000001));
	expect_event(since, "reload_asked", "SIGHUP: |there is no file|uid 4000000001");
	add_file(w);
	instance_world_write(w, A("2Gbit/s"));
	since = events_number();
	reload_request(&w->inst, "a client", 7);
	expect_event(since, "reload_asked", "a client: reload started|uid 7");
	since = events_number();
	reload_request(&w->inst, "a client", 8);
	expect_event(since, "reload_asked", "a client: reload queued|uid 8");
	await_read(w);
	stuck_mark(&w->inst.stuck.now, 1, true);
	since = events_number();
	reload_request(&w->inst, "a client", 9);
	expect_event(since, "reload_asked", "a client: reload queued|worker 1 (CPU 1)|uid 9");
	w->inst.stuck = (struct stuck){0};
	finish_reload(w);
	await_read(w);
	finish_reload(w);
}

/* A worker that is stalled for long causes one event in a reload, and one when it runs. */
TEST_WITH(test_waiting_is_said, wait_long, NULL)
{
	char expected[EVENT_TEXT];
	uint64_t since;
	FILE_WORLD(w);

	for (unsigned worker = 0; worker < 2; worker++) {
		snprintf(expected, sizeof(expected), "reload: |worker %u (CPU %u) is stalled",
			worker, worker);
		instance_world_write(w, worker ? A("3Gbit/s") : A("2Gbit/s"));
		since = events_number();
		stuck_mark(&w->inst.stuck.now, worker, true);
		stuck_mark(&w->inst.stuck.by_far, worker, true);
		reload_advance(&w->inst);
		expect_event(since, "reload_waits", NULL); /* nothing is under way */
		w->inst.stuck.by_far = 0;
		reload_request(&w->inst, "test", 0);
		await_read(w);
		instance_world_turn(w, !worker);
		reload_advance(&w->inst);
		expect_event(since, "reload_waits", NULL); /* the worker can run soon */
		stuck_mark(&w->inst.stuck.by_far, worker, true);
		for (unsigned i = 0; i < 3; i++)
			reload_advance(&w->inst);
		expect_event(since, "reload_waits", expected);
		expect_event(since, "reload_over", NULL);
		w->inst.stuck = (struct stuck){0};
		finish_reload(w);
		expect_event(since, "reload_over", "reload: |previous configuration");
	}
	instance_world_write(w, A("4Gbit/s")); /* no worker is stalled */
	since = events_number();
	reload_request(&w->inst, "test", 0);
	await_read(w);
	finish_reload(w);
	expect_event(since, "reload_waits", NULL);
	expect_event(since, "reload_over", NULL);
}

#define P(n, limit) "{'name': 'p" #n "', 'match': {'vlan': 1" #n "}, 'limit': '" limit "'}"
#define STAY        P(0, "1Gbit/s") ", " P(1, "1Gbit/s") ", " P(2, "1Gbit/s") ", " P(3, "1Gbit/s")

/* The counts of added, removed, changed and unchanged policies are right in each place. */
TEST_WITH(test_numbers, wait_long, NULL)
{
	const struct reload_outcome *last;
	uint64_t since;
	json_t *said;
	WORLD(w, STAY ", " P(4, "1Gbit/s") ", " P(5, "1Gbit/s") ", " P(6, "1Gbit/s"));

	w->inst.file = w->file;
	assert_int_equal(reload_start(&w->inst), 0);
	instance_world_write(w, STAY ", " P(6, "2Gbit/s") ", " P(7, "1Gbit/s") ", " P(
					8, "1Gbit/s") ", " P(9, "1Gbit/s"));
	since = events_number() + 1; /* the first line is the request */
	reload_request(&w->inst, "test", getuid());
	await_read(w);
	last = reload_last(&w->inst);
	assert_int_equal(last->added, 3);
	assert_int_equal(last->removed, 2);
	assert_int_equal(last->changed, 1);
	assert_int_equal(last->unchanged, 4);
	assert_int_equal(last->serial, 1);
	assert_string_equal(last->what, "reload");
	assert_string_equal(last->messages, "");
	said = events_get(since);
	assert_string_equal(json_string_value(json_object_get(said, "event")), "reload_done");
	assert_int_equal(json_integer_value(json_object_get(said, "generation")), 2);
	assert_int_equal(json_integer_value(json_object_get(said, "added")), 3);
	assert_int_equal(json_integer_value(json_object_get(said, "removed")), 2);
	assert_int_equal(json_integer_value(json_object_get(said, "changed")), 1);
	assert_int_equal(json_integer_value(json_object_get(said, "unchanged")), 4);
	assert_int_equal(json_integer_value(json_object_get(said, "ms")), last->took_ns / 1000000);
	assert_string_equal(json_string_value(json_object_get(said, "who")), last->who);
	json_decref(said);
	finish_reload(w);
}

/* The name of the client is kept, also of one without a name. */
TEST_WITH(test_who_asked, wait_long, NULL)
{
	static const struct {
		int64_t uid;
		const char *who;
	} rows[] = {{0, "root (uid 0)"}, {4000000001, "uid 4000000001"}, {-1, "nobody"}};
	FILE_WORLD(w);

	for (unsigned i = 0; i < COUNT(rows); i++) {
		const struct change_request request = {
			.kind = CHANGE_RELOAD, .uid = rows[i].uid, .gid = -1, .pid = -1, .fd = -1};

		assert_string_equal(reload_request_by(&w->inst, "test", &request), "started");
		await_read(w);
		assert_string_equal(reload_last(&w->inst)->who, rows[i].who);
		assert_int_equal(reload_last(&w->inst)->serial, i + 1);
	}
}

/* Writes a file with this number of errors, a line each. */
static void write_mistakes(struct instance_world *w, unsigned n)
{
	char policies[8192] = A("1Gbit/s");

	for (unsigned i = 0; i < n; i++) {
		size_t len = strlen(policies);

		snprintf(policies + len, sizeof(policies) - len,
			", {'name': 'x%u', 'match': {'vlan': %u}, 'limit': '1Gbit'}", i, i + 10);
	}
	instance_world_write(w, policies);
}

static unsigned count_lines(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* The log has at most twenty errors and a line about more. A client gets all of them. */
TEST_WITH(test_many_mistakes, wait_long, NULL)
{
	static const struct {
		unsigned mistakes, said;
		const char *more;
	} rows[] = {
		{1, 1, NULL},
		{20, 20, NULL},
		{21, 20, "reload: and more; see --check, or /weir/config"},
	};
	char text[EVENT_TEXT], refused[EVENT_TEXT];
	FILE_WORLD(w);

	snprintf(refused, sizeof(refused), "reload: %s refused|nothing has changed|root (uid 0)",
		w->file);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		const struct reload_outcome *last = reload_last(&w->inst);
		uint64_t since = events_number();

		write_mistakes(w, rows[i].mistakes);
		reload_request(&w->inst, "test", 0);
		await_read(w);
		assert_int_equal(last->error, -EINVAL);
		assert_int_equal(count_lines(last->messages), rows[i].mistakes);
		assert_int_equal(count_said(since, "reload_error", text), rows[i].said);
		if (!rows[i].more) { /* the complete last line */
			const char *line = last->messages + strlen(last->messages) - 1;

			while (line > last->messages && line[-1] != '\n')
				line--;
			assert_int_equal(strlen(text) + 1, strlen("reload: ") + strlen(line));
			assert_memory_equal(text, "reload: ", strlen("reload: "));
			assert_memory_equal(text + strlen("reload: "), line, strlen(line) - 1);
		}
		expect_event(since, "reload_warning", rows[i].more);
		expect_event(since, "reload_refused", refused);
		expect_event(since, "reload_done", NULL);
	}
}

/* A warning does not prevent the file from coming into force. */
TEST_WITH(test_warned, wait_long, NULL)
{
	char text[EVENT_TEXT];
	uint64_t since;
	FILE_WORLD(w);

	instance_world_write(w,
		A("2Gbit/s") ", {'name': 'b', 'match': [{'vlan': 2}, {'vlan': 2}], 'limit': '1Gbit/s'}");
	since = events_number();
	reload_request(&w->inst, "test", 0);
	await_read(w);
	assert_int_equal(reload_last(&w->inst)->error, 0);
	assert_int_equal(count_lines(reload_last(&w->inst)->messages), 1);
	assert_int_equal(count_said(since, "reload_warning", text), 1);
	assert_non_null(strstr(text, "policies[1] \"b\""));
	assert_int_equal(count_said(since, "reload_error", text), 0);
	assert_int_equal(count_said(since, "reload_done", text), 1);
	finish_reload(w);
}

/* A pipe is not opened, because without a writer that might never end. */
TEST_WITH(test_no_plain_file, wait_long, NULL)
{
	char text[128];
	FILE_WORLD(w);

	unlink(w->file);
	assert_int_equal(mkfifo(w->file, 0600), 0);
	reload_request(&w->inst, "test", 0);
	await_read(w);
	assert_int_equal(reload_last(&w->inst)->error, -EINVAL);
	snprintf(text, sizeof(text), "%s: no file that can be read again\n", w->file);
	assert_string_equal(reload_last(&w->inst)->messages, text);
	unlink(w->file);
	instance_world_write(w, A("2Gbit/s"));
	reload_request(&w->inst, "test", 0);
	await_read(w);
	assert_int_equal(reload_last(&w->inst)->error, 0);
	finish_reload(w);
}

/* An event reports the beginning and the end of shadow, and none reports an unchanged state. */
TEST_WITH(test_shadow, wait_long, NULL)
{
	static const struct {
		const char *more, *policies;
		bool begins, ends;
	} rows[] = {
		{"", A("2Gbit/s"), false, false},
		{"'shadow': true, ", A("2Gbit/s"), true, false},
		{"'shadow': true, ", A("3Gbit/s"), false, false},
		{"'shadow': true, ", A("3Gbit"), false, false},
		{"", A("3Gbit"), false, false}, /* refused */
		{"", A("3Gbit/s"), false, true},
		{"", A("4Gbit/s"), false, false},
	};
	FILE_WORLD(w);

	for (unsigned i = 0; i < COUNT(rows); i++) {
		uint64_t since = events_number();

		w->more = rows[i].more;
		instance_world_write(w, rows[i].policies);
		reload_request(&w->inst, "test", 0);
		await_read(w);
		finish_reload(w);
		expect_event(
			since, "shadow", rows[i].begins ? "shadow: nothing is enforced" : NULL);
		expect_event(since, "shadow_ended", rows[i].ends ? "shadow has ended" : NULL);
	}
	w->more = "";
}

/* The log has the level and the format of the file in force. A refused file changes neither. */
TEST_WITH(test_log_level, wait_long, NULL)
{
	static const struct {
		const char *more, *policies;
		enum log_level level;
		enum log_format format;
	} rows[] = {
		{"'log': {'level': 'debug'}, ", A("1Gbit/s"), LEVEL_DEBUG, FORMAT_TEXT},
		{"'log': {'format': 'json'}, ", A("2Gbit/s"), LEVEL_INFO, FORMAT_JSON},
		{"'log': {'level': 'debug'}, ", A("2Gbit"), LEVEL_INFO, FORMAT_JSON},
		{"", A("2Gbit/s"), LEVEL_INFO, FORMAT_TEXT},
	};
	FILE_WORLD(w);

	for (unsigned i = 0; i < COUNT(rows); i++) {
		w->more = rows[i].more;
		instance_world_write(w, rows[i].policies);
		reload_request(&w->inst, "test", 0);
		await_read(w);
		finish_reload(w);
		assert_int_equal(events_configured().level, rows[i].level);
		assert_int_equal(events_configured().format, rows[i].format);
	}
}

/* ---- keys of a group */

/* An address of this process only, because other processes run the same test. */
#define KEYED                                                                 \
	"'gossip': {'listen': '127.%1$u.%2$u.84:7946', 'key_files': [%3$s], " \
	"'differs_alarm': '%4$us', 'overshoot_alarm': %4$u, 'roster': ["      \
	"{'name': 'test', 'address': '127.%1$u.%2$u.84:7946'}, "              \
	"{'name': 'peer', 'address': '127.%1$u.%2$u.85:7946'}]}, "

static bool alarms_are(const struct instance *inst, unsigned number)
{
	return inst->differs_alarm_ns == number * SECOND_NS &&
	       inst->limiter->overshoot_alarm == number;
}

struct keyed {
	struct instance_world w;
	char top[32], more[1024];
	unsigned alarm_s;
};

static void put_key(const struct keyed *k, const char *name, unsigned byte)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", k->top, name);
	file = fopen(path, "w");
	assert_non_null(file);
	for (unsigned i = 0; i < 32; i++)
		fprintf(file, "%02x", byte);
	fputc('\n', file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0600), 0);
}

/* The first key seals. The other can be NULL. */
static void name_keys(struct keyed *k, const char *first, const char *other)
{
	unsigned id = (unsigned)getpid();
	char files[128];
	int len = snprintf(files, sizeof(files), "'%s/%s'", k->top, first);

	if (other)
		snprintf(files + len, sizeof(files) - (size_t)len, ", '%s/%s'", k->top, other);
	snprintf(k->more, sizeof(k->more), KEYED, 1 + id / 256 % 254, id % 256, files, k->alarm_s);
	k->w.more = k->more;
}

/* Reloads these policies. Returns the number of the first event. */
static uint64_t reload_keyed(struct keyed *k, const char *policies)
{
	uint64_t since = events_number();

	instance_world_write(&k->w, policies);
	reload_request(&k->w.inst, "test", 0);
	await_read(&k->w);
	finish_reload(&k->w);
	return since;
}

/* Reloads these policies and expects these events about keys. */
static void reload_keys(struct keyed *k, const char *policies, const char *one, const char *both)
{
	uint64_t since = reload_keyed(k, policies);

	expect_event(since, "gossip_key", one);
	expect_event(since, "gossip_keys", both);
}

/* An event names the key that seals, and a second accepted key. */
TEST_WITH(test_keys, wait_long, NULL)
{
	struct keyed k = {.top = "/tmp/weir-reload-XXXXXX", .alarm_s = 60};
	char both[128], one[128], command[64];
	uint32_t first, second;
	uint64_t since;

	assert_non_null(mkdtemp(k.top));
	put_key(&k, "one", 0xa1);
	put_key(&k, "two", 0xa2);
	name_keys(&k, "one", NULL);
	instance_world_open_more(&k.w, k.more, A("1Gbit/s"));
	k.w.inst.file = k.w.file;
	assert_int_equal(reload_start(&k.w.inst), 0);
	first = keyring_name(k.w.inst.keyring, true);

	reload_keys(&k, A("1Gbit/s"), NULL, NULL);
	assert_int_equal(keyring_name(k.w.inst.keyring, true), first);
	name_keys(&k, "two", NULL);
	reload_keys(&k, A("1Gbit"), NULL, NULL); /* refused */
	assert_int_equal(keyring_name(k.w.inst.keyring, true), first);

	name_keys(&k, "one", "two");
	since = reload_keyed(&k, A("1Gbit/s"));
	second = keyring_also(k.w.inst.keyring);
	assert_true(second && second != first);
	snprintf(both, sizeof(both), "gossip: |key %08x|key %08x", first, second);
	expect_event(since, "gossip_keys", both);
	expect_event(since, "gossip_key", NULL);
	reload_keys(&k, A("2Gbit/s"), NULL, NULL);
	name_keys(&k, "two", "one");
	snprintf(both, sizeof(both), "gossip: |key %08x|key %08x", second, first);
	reload_keys(&k, A("2Gbit/s"), NULL, both);
	name_keys(&k, "two", NULL);
	snprintf(one, sizeof(one), "gossip: |key %08x|only", second);
	reload_keys(&k, A("2Gbit/s"), one, NULL);
	name_keys(&k, "one", NULL);
	snprintf(one, sizeof(one), "gossip: |key %08x|only", first);
	reload_keys(&k, A("2Gbit/s"), one, NULL);

	assert_true(alarms_are(&k.w.inst, 60));
	k.alarm_s = 70;
	name_keys(&k, "one", NULL);
	reload_keys(&k, A("2Gbit"), NULL, NULL); /* refused */
	assert_true(alarms_are(&k.w.inst, 60));
	reload_keys(&k, A("2Gbit/s"), NULL, NULL);
	assert_true(alarms_are(&k.w.inst, 70));
	instance_world_close(&k.w);
	snprintf(command, sizeof(command), "rm -r %s", k.top);
	assert_int_equal(system(command), 0);
}

TEST_GROUP(instance_world_start, instance_world_stop)
