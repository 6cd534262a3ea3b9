/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Changes of what runs, of a box that keeps what was good: one policy, an undo, a confirmation, and
 * what a start runs after each. The thread that reads and saves is real; control and both workers
 * are the test.
 */
#include "instance_world.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "change/keep.h"
#include "clock.h"
#include "config/load.h"
#include "event.h"
#include "kept.h"
#include "reload.h"
#include "requester.h"

#define A(limit) "{'name': 'a', 'match': {'direction': 'a-to-b'}, 'limit': '" limit "'}"
#define B        "{'name': 'b', 'match': {'vlan': 2}, 'limit': '1Gbit/s'}"
#define GBIT     UINT64_C(1000000000)

#define PATIENCE_MS 60000
#define ROUNDS_MOST 100

struct kept_world {
	struct instance_world w;
	char directory[32];
	char *said; /* by the start */
	size_t size;
	uint64_t serial; /* of the last change */
	int chosen;      /* what kept_choose() said */
	struct config *config;
};

/* What a start would run now. */
static void choose(struct kept_world *k, const char *policies)
{
	FILE *err = open_memstream(&k->said, &k->size);

	if (policies)
		instance_world_write(&k->w, policies);
	assert_int_equal(kept_open(k->directory, err, &k->w.inst.kept), 0);
	k->chosen = kept_choose(k->w.inst.kept, k->w.file, err, &k->config);
	fclose(err);
}

/* The end of a process, however it came. */
static void forget(struct kept_world *k)
{
	reload_stop(&k->w.inst);
	kept_close(k->w.inst.kept);
	k->w.inst.kept = NULL;
	config_free(k->config);
	k->config = NULL;
	free(k->said);
	k->said = NULL;
}

/* All that has been begun, and that follows by itself, is over. */
static void settle(struct kept_world *k)
{
	struct instance *inst = &k->w.inst;

	for (unsigned i = 0; i < ROUNDS_MOST; i++) {
		struct pollfd fd = {.fd = reload_fd(inst), .events = POLLIN};
		bool busy = strcmp(reload_state(inst), "reading") == 0 ||
			    strcmp(reload_state(inst), "saving") == 0;

		if (busy)
			assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		instance_world_turn_all(&k->w);
		reload_advance(inst);
		if (strcmp(reload_state(inst), "idle") == 0 && !inst->kept->start)
			return;
	}
	fail_msg("it does not come to an end: %s", reload_state(inst));
}

static void open_kept(struct kept_world *k)
{
	*k = (struct kept_world){.directory = "/tmp/weir-change-XXXXXX"};
	assert_non_null(mkdtemp(k->directory));
	instance_world_open(&k->w, A("1Gbit/s"));
	choose(k, NULL);
	assert_int_equal(k->chosen, 0);
	k->w.inst.file = k->w.file;
	assert_int_equal(reload_start(&k->w.inst), 0);
	settle(k);
	assert_int_equal(k->w.inst.kept->confirm.running, 1);
	assert_int_equal(k->w.inst.kept->confirm.good, 1);
}

/* The box goes before what it keeps. */
static void close_kept(struct kept_world *k)
{
	struct kept *kept = k->w.inst.kept;
	char command[64];

	instance_world_close(&k->w);
	kept_close(kept);
	config_free(k->config);
	free(k->said);
	snprintf(command, sizeof(command), "rm -r %s", k->directory);
	assert_int_equal(system(command), 0);
}

static struct change_request request_of(enum change_kind kind)
{
	return (struct change_request){
		.kind = kind, .uid = getuid(), .gid = getgid(), .pid = getpid(), .fd = -1};
}

/* Begins it; why it is refused at once, or 0. */
static int ask(struct kept_world *k, struct change_request *request)
{
	return reload_change(&k->w.inst, request, &k->serial);
}

/* And waits for its end: 0 or why it was refused. */
static int change(struct kept_world *k, struct change_request *request)
{
	const struct reload_outcome *last;

	assert_int_equal(ask(k, request), 0);
	settle(k);
	last = reload_last_change(&k->w.inst);
	assert_non_null(last);
	assert_int_equal(last->serial, k->serial);
	assert_int_equal(last->kept_error, 0);
	return last->error;
}

static struct change_request edit_of(const char *text)
{
	struct change_request request = request_of(CHANGE_POLICY);

	request.edit = json_loads(text, 0, NULL);
	assert_non_null(request.edit);
	return request;
}

static struct change_request limit_of(const char *limit)
{
	char text[128];

	snprintf(text, sizeof(text), "{\"do\":\"set\",\"name\":\"a\",\"keys\":{\"limit\":\"%s\"}}",
		limit);
	return edit_of(text);
}

static const json_t *line(const struct kept_world *k, const char *key)
{
	const json_t *history = k->w.inst.kept->history;

	return json_object_get(json_array_get(history, json_array_size(history) - 1), key);
}

static void expect_words(const struct kept_world *k, const char *expected)
{
	char words[256];

	kept_words(k->w.inst.kept, words, sizeof(words));
	if (!strstr(words, expected))
		fail_msg("got \"%s\", expected \"%s\"", words, expected);
}

/* It was said once since then that the last change is in force, what it was, and by whom. */
static void expect_done(const struct kept_world *k, uint64_t since, const char *policies)
{
	const struct reload_outcome *last = reload_last_change(&k->w.inst);
	char expected[EVENT_TEXT];
	unsigned n = 0;

	snprintf(expected, sizeof(expected),
		"%s: generation %" PRIu64 ", policies: %s; %" PRIu64 " ms; it was asked for by %s",
		last->what, k->w.inst.publisher.current->generation, policies,
		(uint64_t)(last->took_ns / MS_NS), last->who);
	for (; since < events_number(); since++) {
		json_t *row = events_get(since);

		if (strcmp(json_string_value(json_object_get(row, "event")), "change_done") == 0) {
			assert_string_equal(
				json_string_value(json_object_get(row, "text")), expected);
			n++;
		}
		json_decref(row);
	}
	assert_int_equal(n, 1);
}

/* One policy is another; who, what and when is said, and so is what was before. */
static void test_one_policy(void **state)
{
	struct change_request request = limit_of("2Gbit/s");
	struct kept_world k;
	const json_t *changed;
	uint64_t since;

	(void)state;
	open_kept(&k);
	since = events_number();
	expect_words(&k, "the file");
	assert_false(kept_differs(k.w.inst.kept));
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	expect_done(&k, since, "0 added, 0 removed, 1 changed, 0 unchanged");
	assert_int_equal(k.w.inst.kept->confirm.running, 2);
	assert_int_equal(k.w.inst.kept->confirm.good, 2);
	assert_true(kept_differs(k.w.inst.kept));
	expect_words(&k, "; the file differs; 1 changed singly");
	assert_string_equal(json_string_value(line(&k, "what")), "policy");
	assert_int_equal(json_integer_value(line(&k, "uid")), getuid());
	assert_int_equal(json_integer_value(line(&k, "pid")), getpid());
	assert_int_equal(json_integer_value(line(&k, "from")), 1);
	assert_int_equal(json_integer_value(line(&k, "to")), 2);
	assert_true(json_is_true(line(&k, "ok")));
	assert_int_equal(json_integer_value(line(&k, "n_changes")), 1);
	changed = json_array_get(line(&k, "changes"), 0);
	assert_string_equal(json_string_value(json_object_get(changed, "old")), "1Gbit/s");
	assert_string_equal(json_string_value(json_object_get(changed, "new")), "2Gbit/s");
	/* "2026-11-23T01:18:00Z" */
	assert_int_equal(strlen(json_string_value(line(&k, "at"))), 20);
	assert_int_equal(json_string_value(line(&k, "at"))[10], 'T');
	assert_true(k.w.inst.kept->running_file >= 0);
	close_kept(&k);
}

/* A policy whose text is longer than what a line of the history has of it. */
#define TURN(from, to) "{'days': 'daily', 'from': '" from "', 'to': '" to "', 'limit': '2Gbit/s'}"
#define LONG                                                                                      \
	"{'name': 'long', 'match': {'vlan': 3}, 'limit': '1Gbit/s', 'schedule': {'zone': 'UTC', " \
	"'entries': [" TURN("00:00", "01:00") ", " TURN("02:00", "03:00") ", " TURN(              \
		"04:00", "05:00") ", " TURN("06:00", "07:00") ", " TURN("08:00",                  \
		"09:00") ", " TURN("10:00", "11:00") ", " TURN("12:00",                           \
		"13:00") ", " TURN("14:00", "15:00") "]}}"

static void reload_to(struct kept_world *k, const char *policies)
{
	struct change_request request = request_of(CHANGE_RELOAD);

	instance_world_write(&k->w, policies);
	assert_int_equal(change(k, &request), 0);
}

static void expect_change(const struct kept_world *k, const char *old, const char *new)
{
	const json_t *changed = json_array_get(line(k, "changes"), 0);
	const char *was = json_string_value(json_object_get(changed, "old"));
	const char *is = json_string_value(json_object_get(changed, "new"));

	assert_string_equal(was ? was : "", old);
	assert_string_equal(is ? is : "", new);
}

/* Long values are not listed, whether they come or go, nor more than so many changes. */
static void test_large_changes(void **state)
{
	char policies[4096] = A("1Gbit/s");
	struct kept_world k;

	(void)state;
	open_kept(&k);
	reload_to(&k, A("1Gbit/s") ", " LONG);
	expect_change(&k, "", "...");
	reload_to(&k, A("1Gbit/s"));
	expect_change(&k, "...", "");
	for (unsigned i = 0; i < 20; i++)
		snprintf(policies + strlen(policies), sizeof(policies) - strlen(policies),
			", {'name': 'p%u', 'match': {'vlan': %u}, 'limit': '1Gbit/s'}", i, i + 10);
	reload_to(&k, policies);
	assert_int_equal(json_integer_value(line(&k, "n_changes")), 20);
	assert_int_equal(json_array_size(line(&k, "changes")), 16);
	close_kept(&k);
}

/* A policy that has so many bytes as JSON. */
static void add_policy(char *policies, size_t room, unsigned bytes)
{
	char match[1024] = "", name[64];
	unsigned rest;

	for (unsigned i = 0; i < 32; i++)
		snprintf(match + strlen(match), sizeof(match) - strlen(match), "%s{'vlan':%u}",
			i ? "," : "", 1000 + i);
	rest = bytes -
	       (unsigned)(strlen("{'name':'','match':[],'limit':'1Gbit/s'}") + strlen(match));
	assert_in_range(rest, 1, sizeof(name) - 1);
	memset(name, 'n', rest);
	name[rest] = '\0';
	snprintf(policies, room, A("1Gbit/s") ", {'name':'%s','match':[%s],'limit':'1Gbit/s'}",
		name, match);
}

/* What has so many bytes is listed as it is, and what has one more is not. */
static void test_longest_value(void **state)
{
	char policies[2048];
	struct kept_world k;
	const json_t *added;

	(void)state;
	open_kept(&k);
	add_policy(policies, sizeof(policies), 512);
	reload_to(&k, policies);
	added = json_array_get(line(&k, "changes"), 0);
	assert_int_equal(json_dumpb(json_object_get(added, "new"), NULL, 0, JSON_COMPACT), 512);
	add_policy(policies, sizeof(policies), 513);
	reload_to(&k, policies);
	assert_int_equal(json_integer_value(line(&k, "n_changes")), 2);
	for (size_t i = 0; i < 2; i++) {
		const char *new = json_string_value(
			json_object_get(json_array_get(line(&k, "changes"), i), "new"));

		assert_true(!new || strcmp(new, "...") == 0);
	}
	close_kept(&k);
}

#define ADD_B(limit) \
	"{\"do\":\"add\",\"name\":\"b\",\"keys\":{\"match.vlan\":2,\"limit\":\"" limit "\"}}"
#define SET(name, limit) "{\"do\":\"set\",\"name\":\"" name "\",\"keys\":{\"limit\":\"" limit "\"}}"
#define REMOVE(name)     "{\"do\":\"remove\",\"name\":\"" name "\"}"

static void expect_edits(
	struct kept_world *k, const char *edits, unsigned added, unsigned removed, unsigned changed)
{
	struct change_request request = edit_of(edits);
	const struct reload_outcome *last;

	assert_int_equal(change(k, &request), 0);
	last = reload_last_change(&k->w.inst);
	assert_int_equal(last->added, added);
	assert_int_equal(last->removed, removed);
	assert_int_equal(last->changed, changed);
}

/* Several policies are others at once: one record, one line of the history, one step back. */
static void test_many_policies(void **state)
{
	struct change_request back = request_of(CHANGE_ROLLBACK);
	struct kept_world k;
	uint64_t running;

	(void)state;
	open_kept(&k);
	expect_edits(&k, "[" ADD_B("1Gbit/s") "," SET("a", "2Gbit/s") "," SET("b", "3Gbit/s") "]",
		1, 0, 1);
	running = k.w.inst.kept->confirm.running;
	assert_int_equal(k.w.inst.n_policies, 2);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	assert_int_equal(k.w.inst.policies[1].limit_bps, 3 * GBIT);
	assert_string_equal(json_string_value(line(&k, "what")), "policy");
	assert_int_equal(json_integer_value(line(&k, "n_changes")), 2);
	expect_words(&k, "2 changed singly");
	expect_edits(&k, "[" REMOVE("a") "," SET("b", "4Gbit/s") "]", 0, 1, 1);
	assert_int_equal(k.w.inst.n_policies, 1);
	assert_int_equal(k.w.inst.kept->confirm.running, running + 1);
	assert_int_equal(change(&k, &back), 0);
	assert_int_equal(k.w.inst.n_policies, 2);
	assert_int_equal(k.w.inst.policies[1].limit_bps, 3 * GBIT);
	/* Whatever runs now is what the next is made on. */
	expect_edits(&k, "[" SET("b", "5Gbit/s") "]", 0, 0, 1);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	/* What comes and goes is not remembered. */
	expect_edits(&k,
		"[{\"do\":\"add\",\"name\":\"n\",\"keys\":{\"match.vlan\":9,"
		"\"limit\":\"1Gbit/s\"}}]",
		1, 0, 0);
	expect_words(&k, "3 changed singly");
	expect_edits(&k, "[" REMOVE("n") "]", 0, 1, 0);
	expect_words(&k, "2 changed singly");
	/* What was changed so is on top of the file. */
	reload_to(&k, A("1Gbit/s") ", {'name': 'c', 'match': {'vlan': 3}, 'limit': '1Gbit/s'}");
	assert_int_equal(k.w.inst.n_policies, 3);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	assert_int_equal(k.w.inst.policies[2].limit_bps, 5 * GBIT);
	close_kept(&k);
}

/* Edits that come to what the file has make it the file again, also to whoever is asked. */
static void test_file_restored(void **state)
{
	struct kept_world k;

	(void)state;
	open_kept(&k);
	expect_edits(&k, "[" SET("a", "2Gbit/s") "]", 0, 0, 1);
	assert_true(kept_differs(k.w.inst.kept));
	expect_edits(&k, "[" SET("a", "1Gbit/s") "]", 0, 0, 1);
	assert_false(kept_differs(k.w.inst.kept));
	expect_words(&k, "the file; 1 changed singly");
	close_kept(&k);
}

/* One mistake among good edits: nothing has changed, on disk or in force. */
static void test_many_refused(void **state)
{
	static const struct {
		const char *edits, *said;
	} rows[] = {
		{"[" SET("a", "2Gbit/s") "," SET("x", "2Gbit/s") "]", "edits[1].name: \"x\": "},
		{"[" SET("a", "2Gbit/s") "," ADD_B("2Gbit") "]",
			"the policies with these:1: policies[1] \"b\".limit: \"2Gbit\": expected"},
		{"[" ADD_B("1Gbit/s") "," REMOVE("a") "," SET("a", "1Gbit/s") "]",
			"edits[2].name: \"a\": "},
		{"[" SET("a", "2Gbit/s") ",7]", "edits[1]: 7: "},
		{"[]", "edits: none"},
	};
	struct kept_world k;

	(void)state;
	open_kept(&k);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t running = k.w.inst.kept->confirm.running;
		struct change_request request = edit_of(rows[i].edits);

		assert_int_equal(change(&k, &request), -EINVAL);
		if (!strstr(reload_last_change(&k.w.inst)->messages, rows[i].said))
			fail_msg("%s: %s", rows[i].edits, reload_last_change(&k.w.inst)->messages);
		assert_int_equal(k.w.inst.kept->confirm.running, running);
		assert_int_equal(k.w.inst.n_policies, 1);
		assert_int_equal(k.w.inst.policies[0].limit_bps, GBIT);
		expect_words(&k, "the file");
	}
	expect_edits(&k, "[" SET("a", "2Gbit/s") "]", 0, 0, 1);
	close_kept(&k);
}

/* What was noted of the file is what it held then, however often it is written. */
static void test_file_again(void **state)
{
	static const char *const files[] = {A("7Gbit/s"), A("8Gbit/s"), A("7Gbit/s")};
	char digests[3][CHANGE_DIGEST_MAX];
	struct kept_world k;

	(void)state;
	open_kept(&k);
	for (unsigned i = 0; i < 3; i++) {
		struct change_request again = limit_of("9Gbit/s");
		const json_t *about;

		instance_world_write(&k.w, files[i]);
		expect_edits(&k, "[" SET("a", "2Gbit/s") "]", 0, 0, 1);
		about = k.w.inst.kept->about;
		snprintf(digests[i], sizeof(digests[i]), "%s",
			json_string_value(json_object_get(about, "file_digest")));
		assert_int_equal(change(&k, &again), 0);
		about = k.w.inst.kept->about;
		assert_string_equal(
			json_string_value(json_object_get(about, "file_digest")), digests[i]);
	}
	assert_string_not_equal(digests[0], digests[1]);
	assert_string_equal(digests[0], digests[2]);
	close_kept(&k);
}

/* A file that is refused is noted as what it holds, all the same. */
static void test_file_refused(void **state)
{
	struct change_request request = request_of(CHANGE_RELOAD);
	char good[CHANGE_DIGEST_MAX];
	const char *noted;
	struct kept_world k;

	(void)state;
	open_kept(&k);
	expect_edits(&k, "[" SET("a", "2Gbit/s") "]", 0, 0, 1);
	noted = json_string_value(json_object_get(k.w.inst.kept->about, "file_digest"));
	snprintf(good, sizeof(good), "%s", noted);
	instance_world_write(&k.w, A("3Gbat/s"));
	assert_int_equal(change(&k, &request), -EINVAL);
	expect_edits(&k, "[" SET("a", "4Gbit/s") "]", 0, 0, 1);
	noted = json_string_value(json_object_get(k.w.inst.kept->about, "file_digest"));
	assert_int_equal(strlen(noted), strlen(good));
	assert_string_not_equal(noted, good);
	close_kept(&k);
}

/* What is refused changes nothing, and is said. */
static void test_refused(void **state)
{
	static const struct {
		const char *edit, *said;
	} rows[] = {
		{"{\"do\":\"set\",\"name\":\"nobody\",\"keys\":{\"limit\":\"2Gbit/s\"}}", "nobody"},
		{"{\"do\":\"set\",\"name\":\"a\",\"keys\":{\"limit\":\"2Gbat/s\"}}", "2Gbat/s"},
		{"{\"do\":\"remove\",\"name\":\"b\"}", "b"},
		{"{\"do\":\"add\",\"name\":\"a\",\"keys\":{\"limit\":\"2Gbit/s\"}}", "a"},
	};
	struct change_request request;
	struct kept_world k;

	(void)state;
	open_kept(&k);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		request = edit_of(rows[i].edit);
		assert_true(change(&k, &request) < 0);
		assert_non_null(strstr(reload_last_change(&k.w.inst)->messages, rows[i].said));
		assert_true(json_is_false(line(&k, "ok")));
		assert_int_equal(json_integer_value(line(&k, "to")), 1);
		assert_int_equal(k.w.inst.policies[0].limit_bps, GBIT);
		assert_int_equal(k.w.inst.kept->confirm.running, 1);
	}
	request = request_of(CHANGE_CONFIRM);
	assert_int_equal(ask(&k, &request), -EALREADY);
	request = request_of(CHANGE_ROLLBACK);
	assert_true(change(&k, &request) < 0); /* nothing was before the first */
	request = request_of(CHANGE_APPLY);
	assert_true(change(&k, &request) < 0); /* no descriptor came along */
	request = limit_of("2Gbit/s");
	assert_int_equal(ask(&k, &request), 0);
	request = limit_of("3Gbit/s");
	assert_int_equal(ask(&k, &request), -EAGAIN);
	settle(&k);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	close_kept(&k);
}

static void test_nothing_is_kept(void **state)
{
	struct change_request request = limit_of("2Gbit/s");
	struct instance_world w;
	uint64_t serial;

	(void)state;
	instance_world_open(&w, A("1Gbit/s"));
	w.file[0] = '/';
	w.inst.file = w.file;
	assert_int_equal(reload_start(&w.inst), 0);
	assert_int_equal(reload_change(&w.inst, &request, &serial), -ENOSYS);
	instance_world_close(&w);
}

/* Back to what was before, to one of before that, and forward again. */
static void test_rollback(void **state)
{
	struct change_request request = limit_of("2Gbit/s");
	struct kept_world k;

	(void)state;
	open_kept(&k);
	assert_int_equal(change(&k, &request), 0);
	request = limit_of("3Gbit/s");
	assert_int_equal(change(&k, &request), 0);
	request = request_of(CHANGE_ROLLBACK);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	assert_int_equal(json_integer_value(line(&k, "back_to")), 2);
	request = request_of(CHANGE_ROLLBACK);
	request.number = 1;
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.policies[0].limit_bps, GBIT);
	assert_false(kept_differs(k.w.inst.kept));
	request.number = 99;
	assert_true(change(&k, &request) < 0);
	close_kept(&k);
}

/* What nobody confirms in time is undone; and meanwhile nothing else is changed. */
static void test_undone(void **state)
{
	struct change_request request = limit_of("2Gbit/s");
	struct confirm *confirm;
	struct kept_world k;

	(void)state;
	open_kept(&k);
	confirm = &k.w.inst.kept->confirm;
	assert_true(reload_due_ns(&k.w.inst) == UINT64_MAX);
	request.within_ns = 3600 * SECOND_NS;
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(json_integer_value(line(&k, "confirm_within_s")), 3600);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	assert_int_equal(confirm->running, 2);
	assert_int_equal(confirm->good, 1);
	assert_in_range(reload_due_ns(&k.w.inst), control_now() + 3000 * SECOND_NS,
		control_now() + 3600 * SECOND_NS);
	request = limit_of("3Gbit/s");
	assert_int_equal(ask(&k, &request), -EBUSY);
	confirm->until_ns = control_now(); /* it is an hour later */
	reload_advance(&k.w.inst);
	settle(&k);
	assert_int_equal(k.w.inst.policies[0].limit_bps, GBIT);
	assert_string_equal(json_string_value(line(&k, "what")), "undo");
	assert_false(confirm_waits(confirm));
	assert_int_equal(confirm->running, 1);
	close_kept(&k);
}

/* Confirmed, it is the last good one; or somebody undoes it. */
static void test_confirmed(void **state)
{
	struct change_request request = limit_of("2Gbit/s");
	struct kept_world k;

	(void)state;
	open_kept(&k);
	request.within_ns = 3600 * SECOND_NS;
	assert_int_equal(change(&k, &request), 0);
	reload_request(&k.w.inst, "test", getuid()); /* meanwhile the file does not count */
	settle(&k);
	assert_int_equal(reload_last(&k.w.inst)->error, -EBUSY);
	request = request_of(CHANGE_CONFIRM);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.kept->confirm.good, 2);
	assert_false(confirm_waits(&k.w.inst.kept->confirm));
	request = limit_of("3Gbit/s");
	request.within_ns = 3600 * SECOND_NS;
	assert_int_equal(change(&k, &request), 0);
	request = request_of(CHANGE_ROLLBACK);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	assert_false(confirm_waits(&k.w.inst.kept->confirm));
	forget(&k);
	choose(&k, NULL); /* also after a start */
	assert_int_equal(k.config->policies[0].limit_bps, 2 * GBIT);
	close_kept(&k);
}

/* A process that ends meanwhile has not confirmed it. */
static void test_ends_unconfirmed(void **state)
{
	struct change_request request = limit_of("2Gbit/s");
	struct kept_world k;

	(void)state;
	open_kept(&k);
	request.within_ns = 3600 * SECOND_NS;
	assert_int_equal(change(&k, &request), 0);
	forget(&k);
	choose(&k, NULL);
	assert_int_equal(k.config->policies[0].limit_bps, GBIT);
	assert_int_equal(
		json_integer_value(json_object_get(k.w.inst.kept->start, "not_confirmed")), 2);
	close_kept(&k);
}

/* What a start runs, of the file as it is then and of what was changed singly before. */
static void test_starts(void **state)
{
	struct change_request request = limit_of("2Gbit/s");
	struct kept_world k;

	(void)state;
	open_kept(&k);
	assert_int_equal(change(&k, &request), 0);
	forget(&k);
	choose(&k, A("1Gbit/s")); /* as it was */
	assert_int_equal(k.config->policies[0].limit_bps, 2 * GBIT);
	assert_null(k.w.inst.kept->document);
	assert_int_equal(k.w.inst.kept->confirm.running, 2);
	assert_int_equal(k.w.inst.kept->confirm.good, 2);
	assert_true(k.w.inst.kept->running_file >= 0);
	expect_words(&k, "; the file differs; 1 changed singly");
	forget(&k);
	choose(&k, A("1Gbit/s") ", " B); /* another, which does not overrule the change */
	assert_int_equal(k.config->n_policies, 2);
	assert_int_equal(k.config->policies[0].limit_bps, 2 * GBIT);
	assert_non_null(k.w.inst.kept->document);
	forget(&k);
	choose(&k, A("4Gbit/s")); /* one that does */
	assert_int_equal(k.config->policies[0].limit_bps, 4 * GBIT);
	forget(&k);
	choose(&k, A("4Gbat/s")); /* and one that is none */
	assert_int_equal(k.chosen, 0);
	assert_int_equal(k.config->policies[0].limit_bps, 2 * GBIT);
	assert_non_null(strstr(k.said, "4Gbat/s"));
	assert_non_null(strstr(k.said, "what runs is the last good configuration"));
	assert_non_null(strstr(k.w.inst.kept->refused, "4Gbat/s"));
	expect_words(&k, "the last good one, of 20");
	close_kept(&k);
}

/* A directory is one limiter's; another one runs, and keeps nothing. */
static void test_two_of_one_directory(void **state)
{
	struct kept *other;
	struct kept_world k;
	char *said = NULL;
	size_t size;
	FILE *err = open_memstream(&said, &size);

	(void)state;
	open_kept(&k);
	assert_int_equal(kept_open(k.directory, err, &other), 0);
	fclose(err);
	assert_null(other);
	assert_non_null(strstr(said, "another limiter has it: nothing is kept"));
	free(said);
	close_kept(&k);
}

static int sealed(const char *text, int seals)
{
	int fd = memfd_create("configuration", MFD_ALLOW_SEALING | MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* The file as text, which is a configuration. */
static char *text_of_file(const struct kept_world *k)
{
	char *text = calloc(1, 65536);
	FILE *file = fopen(k->w.file, "r");

	assert_non_null(file);
	assert_true(fread(text, 1, 65535, file) > 0);
	fclose(file);
	return text;
}

/* By the name that the system has, or else by the number; who is nobody is not named. */
static void test_requesters(void **state)
{
	static const struct {
		int64_t uid;
		const char *user, *name;
	} rows[] = {
		{0, "root", "root (uid 0)"},
		{4000000001, "uid 4000000001", "uid 4000000001"},
		{-1, NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		json_t *line = history_line("what", rows[i].uid, 7, 8);
		const char *user = json_string_value(json_object_get(line, "user"));
		char name[REQUESTER_BYTES];

		assert_int_equal(json_integer_value(json_object_get(line, "gid")), 7);
		assert_int_equal(json_integer_value(json_object_get(line, "pid")), 8);
		assert_int_equal(!user, !rows[i].user);
		assert_int_equal(!json_object_get(line, "uid"), !rows[i].user);
		if (user) {
			assert_string_equal(user, rows[i].user);
			requester_name((uid_t)rows[i].uid, name);
			assert_string_equal(name, rows[i].name);
		}
		json_decref(line);
	}
}

/* A whole configuration, that nobody can alter while it is read. */
static void test_apply(void **state)
{
	struct change_request request = request_of(CHANGE_APPLY);
	struct kept_world k;
	char *text;

	(void)state;
	open_kept(&k);
	instance_world_write(&k.w, A("5Gbit/s") ", " B);
	text = text_of_file(&k);
	request.fd = sealed(text, F_SEAL_SHRINK);
	assert_true(change(&k, &request) < 0);
	request.fd = sealed(text, F_SEAL_WRITE);
	assert_true(change(&k, &request) < 0);
	request.fd = sealed("[]", F_SEAL_SHRINK | F_SEAL_WRITE);
	assert_true(change(&k, &request) < 0);
	request.fd = sealed("", F_SEAL_SHRINK | F_SEAL_WRITE);
	assert_true(change(&k, &request) < 0);
	assert_int_equal(k.w.inst.n_policies, 1);
	instance_world_write(&k.w, A("1Gbit/s"));
	request.fd = sealed(text, F_SEAL_SHRINK | F_SEAL_WRITE);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.n_policies, 2);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 5 * GBIT);
	expect_words(&k, "apply of 20");
	reload_request(&k.w.inst, "test", getuid());
	settle(&k);
	assert_int_equal(k.w.inst.n_policies, 1); /* the file counts again */
	expect_words(&k, "the file");
	free(text);
	close_kept(&k);
}

/* The number that runs, and of the newest that is kept: they are the same. */
static void expect_number(const struct kept_world *k, uint64_t number)
{
	assert_int_equal(k->w.inst.kept->confirm.running, number);
	assert_int_equal(k->w.inst.kept->confirm.good, number);
	assert_int_equal(keep_good_below(k->w.inst.kept->keep, UINT64_MAX), number);
	assert_int_equal(json_integer_value(line(k, "to")), number);
	assert_true(json_is_true(line(k, "ok")));
}

static void apply(struct kept_world *k, const char *text)
{
	struct change_request request = request_of(CHANGE_APPLY);

	request.fd = sealed(text, F_SEAL_SHRINK | F_SEAL_WRITE);
	assert_int_equal(change(k, &request), 0);
}

/*
 * What changes nothing of what is kept is not kept again, or sixteen of it would push out all that
 * one could go back to. What changes any one thing is: what runs, the file, or what was changed
 * singly.
 */
static void test_kept_already(void **state)
{
	struct change_request request;
	struct kept_world k;
	char *text;

	(void)state;
	open_kept(&k);
	reload_to(&k, A("1Gbit/s"));
	expect_number(&k, 1);
	assert_int_equal(json_integer_value(line(&k, "n_changes")), 0);
	instance_world_write(&k.w, A("2Gbit/s"));
	text = text_of_file(&k);
	instance_world_write(&k.w, A("1Gbit/s"));
	apply(&k, text); /* what runs alone is another */
	expect_number(&k, 2);
	apply(&k, text);
	expect_number(&k, 2);
	reload_to(&k, A("2Gbit/s")); /* the file alone is another */
	expect_number(&k, 3);
	assert_false(kept_differs(k.w.inst.kept));
	reload_to(&k, A("2Gbit/s"));
	expect_number(&k, 3);
	request = limit_of("2Gbit/s"); /* as it is: but now by somebody's word */
	assert_int_equal(change(&k, &request), 0);
	expect_number(&k, 4);
	expect_words(&k, "; 1 changed singly");
	request = limit_of("2Gbit/s");
	assert_int_equal(change(&k, &request), 0);
	expect_number(&k, 4);
	free(text);
	close_kept(&k);
}

/* How often something was said since then that begins with these words. */
static unsigned times_said(uint64_t since, const char *text)
{
	unsigned n = 0;

	for (; since < events_number(); since++) {
		json_t *row = events_get(since);
		const char *words = json_string_value(json_object_get(row, "text"));

		n += words && strncmp(words, text, strlen(text)) == 0;
		json_decref(row);
	}
	return n;
}

/* How often it is said since then that a change is refused, and by what words of the change. */
static unsigned refusals_said(uint64_t since, const char *what)
{
	char text[96];

	snprintf(text, sizeof(text), "%s refused; nothing has changed", what);
	return times_said(since, text);
}

/* Refused, by something that was said, and what runs is what ran. */
static void expect_refused(struct kept_world *k, struct change_request *request, const char *said)
{
	const struct reload_outcome *last;
	unsigned n = k->w.inst.n_policies;
	uint64_t limit = k->w.inst.policies[0].limit_bps;

	assert_int_equal(ask(k, request), 0);
	settle(k);
	last = reload_last_change(&k->w.inst);
	assert_true(last->error < 0);
	if (!strstr(last->messages, said))
		fail_msg("got \"%s\", expected \"%s\"", last->messages, said);
	assert_int_equal(k->w.inst.n_policies, n);
	assert_int_equal(k->w.inst.policies[0].limit_bps, limit);
}

/* What was in doubt about a change that is in force is said as a warning. */
static void test_warned(void **state)
{
	struct change_request request = edit_of(
		"{\"do\":\"set\",\"name\":\"a\",\"keys\":{\"burst\":\"2kB\"}}");
	static const char text[] = "policy: the policies with this one:1: warning: policies[0] "
				   "\"a\".burst: \"2kB\": ";
	uint64_t since = events_number();
	struct kept_world k;
	unsigned n = 0;

	(void)state;
	open_kept(&k);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(times_said(since, text), 1);
	for (; since < events_number(); since++) {
		json_t *row = events_get(since);

		n += strcmp(json_string_value(json_object_get(row, "event")), "change_warning") ==
		     0;
		json_decref(row);
	}
	assert_int_equal(n, 1);
	close_kept(&k);
}

/* What was changed singly stays when the file is read again, unless the file has its own by now. */
static void test_carried(void **state)
{
	struct change_request request = limit_of("2Gbit/s");
	struct kept_world k;

	(void)state;
	open_kept(&k);
	assert_int_equal(change(&k, &request), 0);
	reload_to(&k, A("1Gbit/s") ", " B);
	assert_int_equal(k.w.inst.n_policies, 2);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	expect_words(&k, "; the file differs; 1 changed singly");
	reload_to(&k, A("4Gbit/s") ", " B); /* it is the newer one, and that is said */
	assert_int_equal(k.w.inst.policies[0].limit_bps, 4 * GBIT);
	assert_non_null(strstr(reload_last_change(&k.w.inst)->messages,
		"policy \"a\": the file has another one by now"));
	assert_false(kept_differs(k.w.inst.kept));
	assert_int_equal(json_array_size(json_object_get(k.w.inst.kept->about, "singles")), 0);
	request = limit_of("5Gbit/s");
	assert_int_equal(change(&k, &request), 0);
	reload_to(&k, A("5Gbit/s") ", " B); /* somebody has put it into the file */
	assert_int_equal(k.w.inst.policies[0].limit_bps, 5 * GBIT);
	assert_string_equal(reload_last_change(&k.w.inst)->messages, "");
	assert_false(kept_differs(k.w.inst.kept));
	assert_int_equal(json_array_size(json_object_get(k.w.inst.kept->about, "singles")), 0);
	close_kept(&k);
}

#define BELOW_A "{'name': 'b', 'match': {'vlan': 2}, 'limit': '1Gbit/s', 'parent': 'a'}"

/* A file that is good by itself, but not with what was changed singly, changes nothing. */
static void test_carried_wrong(void **state)
{
	struct change_request request = edit_of("{\"do\":\"remove\",\"name\":\"a\"}");
	struct kept_world k;

	(void)state;
	open_kept(&k);
	reload_to(&k, A("1Gbit/s") ", " B);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.n_policies, 1);
	instance_world_write(&k.w, A("1Gbit/s") ", " BELOW_A);
	request = request_of(CHANGE_RELOAD);
	expect_refused(&k, &request, "the file with what was changed singly");
	assert_string_equal(k.w.inst.policies[0].name, "b");
	assert_int_equal(k.w.inst.kept->confirm.running, 3);
	close_kept(&k);
}

/*
 * Somebody has taken the directory away. What is in the file runs, and that it is not kept is said;
 * what would be nowhere else does not.
 */
static void test_directory_is_gone(void **state)
{
	uint64_t since = events_number();
	struct change_request request;
	struct kept_world k;
	char command[64], *text;

	(void)state;
	open_kept(&k);
	text = text_of_file(&k);
	snprintf(command, sizeof(command), "rm -r %s", k.directory);
	assert_int_equal(system(command), 0);
	request = limit_of("2Gbit/s");
	expect_refused(&k, &request, "it is not kept");
	instance_world_write(&k.w, A("3Gbit/s"));
	request = request_of(CHANGE_APPLY);
	free(text);
	text = text_of_file(&k);
	request.fd = sealed(text, F_SEAL_SHRINK | F_SEAL_WRITE);
	expect_refused(&k, &request, ": it is not kept");
	assert_int_equal(refusals_said(since, "policy") + refusals_said(since, "apply"), 2);
	assert_int_equal(k.w.inst.kept->confirm.running, 1);
	assert_int_equal(k.w.inst.policies[0].limit_bps, GBIT);
	request = request_of(CHANGE_RELOAD);
	assert_int_equal(ask(&k, &request), 0);
	settle(&k);
	assert_int_equal(reload_last_change(&k.w.inst)->error, 0);
	assert_non_null(strstr(reload_last_change(&k.w.inst)->messages, "warning: "));
	assert_non_null(strstr(reload_last_change(&k.w.inst)->messages, ": it is not kept"));
	assert_int_equal(reload_last_change(&k.w.inst)->kept_error, -ENOENT);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 3 * GBIT);
	assert_int_equal(k.w.inst.kept->confirm.running, 0);
	assert_non_null(k.w.inst.kept->trouble);
	assert_int_equal(mkdir(k.directory, 0700), 0);
	free(text);
	close_kept(&k);
}

/*
 * A record has no place, and nothing else is the matter: who asked for the reload, and who looks at
 * the box, is told why what runs is not kept, until it is.
 */
static void test_record_has_no_place(void **state)
{
	struct change_request request = request_of(CHANGE_RELOAD);
	uint64_t since = events_number();
	struct kept_world k;
	char path[96], text[128];

	(void)state;
	open_kept(&k);
	snprintf(path, sizeof(path), "%s/new", k.directory);
	assert_int_equal(mkdir(path, 0700), 0); /* where records are written */
	instance_world_write(&k.w, A("3Gbit/s"));
	assert_int_equal(ask(&k, &request), 0);
	settle(&k);
	assert_int_equal(reload_last_change(&k.w.inst)->error, 0);
	assert_int_equal(reload_last_change(&k.w.inst)->kept_error, -EISDIR);
	assert_string_equal(k.w.inst.kept->trouble, strerror(EISDIR));
	snprintf(text, sizeof(text), "%s: what runs, and who has changed it, is kept again",
		k.directory);
	assert_int_equal(times_said(since, text), 0);
	assert_int_equal(rmdir(path), 0);
	request = request_of(CHANGE_RELOAD);
	assert_int_equal(change(&k, &request), 0);
	assert_null(k.w.inst.kept->trouble);
	assert_int_equal(times_said(since, text), 1);
	request = request_of(CHANGE_RELOAD);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(times_said(since, text), 1); /* it was kept before, too */
	close_kept(&k);
}

/* A byte of a record is another one, as a disk may have it. */
static void damage(const struct kept_world *k, const char *name)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", k->directory, name);
	fd = open(path, O_WRONLY);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, "?", 1, lseek(fd, 0, SEEK_END) - 4), 1);
	close(fd);
}

/* A record that cannot be believed is passed over, for the newest below it that can. */
static void test_damaged(void **state)
{
	struct change_request request;
	struct kept_world k;

	(void)state;
	open_kept(&k);
	request = limit_of("2Gbit/s");
	assert_int_equal(change(&k, &request), 0);
	request = limit_of("3Gbit/s");
	assert_int_equal(change(&k, &request), 0);
	forget(&k);
	choose(&k, A("4Gbat/s"));
	assert_int_equal(k.chosen, 0);
	assert_int_equal(k.config->policies[0].limit_bps, 3 * GBIT);
	forget(&k);
	damage(&k, "0000000003.good.json");
	choose(&k, NULL);
	assert_int_equal(k.chosen, 0);
	assert_int_equal(k.config->policies[0].limit_bps, 2 * GBIT);
	assert_non_null(strstr(k.said, "configuration 3: damaged: the one before it is taken"));
	forget(&k);
	damage(&k, "0000000002.good.json");
	damage(&k, "0000000001.good.json");
	choose(&k, NULL);
	assert_true(k.chosen < 0);
	assert_null(k.config);
	close_kept(&k);
}

/* Where the record of what runs cannot be read any more the file is what there is: that is said. */
static void test_carried_unknown(void **state)
{
	struct change_request request = limit_of("2Gbit/s");
	struct kept_world k;

	(void)state;
	open_kept(&k);
	assert_int_equal(change(&k, &request), 0);
	k.w.inst.kept->configuration_of = 0; /* as after a start */
	damage(&k, "0000000002.good.json");
	reload_to(&k, A("1Gbit/s") ", " B);
	assert_int_equal(k.w.inst.policies[0].limit_bps, GBIT);
	assert_non_null(strstr(reload_last_change(&k.w.inst)->messages,
		": what runs is not kept there: Bad message: if anything was changed singly, it is "
		"gone\n"));
	reload_to(&k, A("1Gbit/s"));
	assert_string_equal(reload_last_change(&k.w.inst)->messages, "");
	close_kept(&k);
}

/* A box that is rather to stop than to run what was before does so, and says why. */
static void test_stops_when_refused(void **state)
{
	struct kept_world k;

	(void)state;
	open_kept(&k);
	k.w.more = "'on_refused': 'stop', ";
	reload_to(&k, A("2Gbit/s"));
	forget(&k);
	choose(&k, A("3Gbit/s"));
	assert_int_equal(k.chosen, 0);
	forget(&k);
	choose(&k, A("4Gbat/s"));
	assert_true(k.chosen < 0);
	assert_null(k.config);
	assert_non_null(strstr(k.said, "4Gbat/s"));
	assert_non_null(strstr(k.said, "says \"on_refused\": \"stop\""));
	close_kept(&k);
}

/* Words that tell what runs, of an `about` that is made up; so many bytes there are for them. */
static void expect_kept_words(
	const char *about, const char *refused, size_t room, bool differs, const char *expected)
{
	struct kept kept = {.about = about ? json_loads(about, 0, NULL) : NULL,
		.refused = (char *)(uintptr_t)refused};
	char words[256];

	assert_int_equal(!kept.about, !about);
	memset(words, 'x', sizeof(words));
	kept_words(&kept, words, room);
	assert_string_equal(words, expected);
	assert_int_equal(words[room], 'x');
	assert_int_equal(kept_differs(&kept), differs);
	json_decref(kept.about);
}

#define SAME  "\"digest\": \"1\", \"file_digest\": \"1\""
#define OTHER "\"digest\": \"1\", \"file_digest\": \"2\""
#define MADE  "\"what\": \"apply\", \"at\": \"2026\""

static void test_words(void **state)
{
	(void)state;
	expect_kept_words(NULL, NULL, 255, false, "the file");
	expect_kept_words("{" MADE ", " SAME "}", NULL, 255, false, "the file");
	expect_kept_words("{" MADE ", " SAME ", \"singles\": [1, 2]}", NULL, 255, false,
		"the file; 2 changed singly");
	expect_kept_words(
		"{" MADE ", " OTHER "}", NULL, 255, true, "apply of 2026; the file differs");
	expect_kept_words("{" MADE ", " OTHER ", \"user\": \"eve\", \"singles\": []}", NULL, 255,
		true, "apply of 2026 by eve; the file differs");
	expect_kept_words("{" MADE ", " OTHER ", \"singles\": [1]}", NULL, 255, true,
		"apply of 2026; the file differs; 1 changed singly");
	expect_kept_words("{" MADE ", \"file_digest\": \"2\"}", NULL, 255, true,
		"apply of 2026; the file differs");
	expect_kept_words("{" MADE ", " SAME "}", "why", 255, false,
		"the last good one, of 2026: the file is refused");
	/* As many of them as there is room for. */
	expect_kept_words("{" MADE ", " SAME ", \"singles\": [1]}", NULL, 12, false, "the file; 1");
	expect_kept_words("{" MADE ", " SAME ", \"singles\": [1]}", NULL, 5, false, "the ");
}

/* The newest lines are in memory, the oldest of them first. */
static void test_history(void **state)
{
	struct kept kept = {.history = json_array()};

	(void)state;
	for (unsigned i = 0; i < KEPT_HISTORY + 2; i++) {
		kept_remember(&kept, json_integer(i));
		assert_int_equal(
			json_array_size(kept.history), i < KEPT_HISTORY ? i + 1 : KEPT_HISTORY);
	}
	assert_int_equal(json_integer_value(json_array_get(kept.history, 0)), 2);
	assert_int_equal(json_integer_value(json_array_get(kept.history, KEPT_HISTORY - 1)),
		KEPT_HISTORY + 1);
	json_decref(kept.history);
}

/* A group whose key is in a file that is not there; as are those that this directory never has. */
#define KEYLESS                                                                          \
	"'gossip': {'listen': '127.9.9.9:7946', 'key_file': '/nowhere/key', 'roster': [" \
	"{'name': 'test', 'address': '127.9.9.9:7946'}, {'name': 'peer', 'address': "    \
	"'127.9.9.8:7946'}]}, "

/* Where nothing is kept the file is what runs, or nothing does: with the reason on `err`. */
static void test_unkept(void **state)
{
	static const struct {
		const char *more, *policies;
		int error;
		const char *said;
	} rows[] = {
		{"", A("3Gbit/s"), 0, NULL},
		{"", A("3Gbit"), -EINVAL, "policies[0] \"a\".limit: \"3Gbit\": expected"},
		{KEYLESS, A("3Gbit/s"), -ENOKEY, "gossip.key_file"},
		{"", NULL, -ENOENT, "No such file or directory"},
	};
	struct kept_world k = {0};

	(void)state;
	instance_world_open(&k.w, A("1Gbit/s"));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		FILE *err = open_memstream(&k.said, &k.size);
		struct kept *kept = (struct kept *)&k;

		k.w.more = rows[i].more;
		if (rows[i].policies)
			instance_world_write(&k.w, rows[i].policies);
		else
			unlink(k.w.file);
		assert_int_equal(kept_open(NULL, err, &kept), 0);
		assert_null(kept);
		assert_int_equal(kept_choose(kept, k.w.file, err, &k.config), rows[i].error);
		fclose(err);
		if (rows[i].error == 0) {
			assert_int_equal(k.config->policies[0].limit_bps, 3 * GBIT);
			assert_string_equal(k.said, "");
		} else if (!strstr(k.said, rows[i].said))
			fail_msg("%zu: %s", i, k.said);
		config_free(k.config);
		k.config = NULL;
		free(k.said);
		kept_close(kept);
	}
	instance_world_close(&k.w);
}

/* A key that is not there is the file's fault, and the last good one's as well if that names it. */
static void test_key_is_gone(void **state)
{
	char refused[160];
	struct kept_world k;

	(void)state;
	open_kept(&k);
	reload_to(&k, A("2Gbit/s"));
	forget(&k);
	k.w.more = KEYLESS;
	choose(&k, A("3Gbit/s"));
	assert_int_equal(k.chosen, 0);
	assert_int_equal(k.config->policies[0].limit_bps, 2 * GBIT);
	assert_int_equal(k.w.inst.kept->confirm.running, 2);
	assert_int_equal(k.w.inst.kept->confirm.good, 2);
	assert_true(k.w.inst.kept->running_file >= 0);
	assert_non_null(strstr(k.said, "gossip.key_file"));
	snprintf(refused, sizeof(refused),
		"weir: %s: refused: what runs is the last good configuration, of 20", k.w.file);
	assert_non_null(strstr(k.said, refused));
	forget(&k);
	k.w.more = "";
	close_kept(&k);
}

/* A record is written as if somebody had applied it: the file is as it is, and what runs is not. */
static void record(struct kept_world *k, const char *more, const char *policies)
{
	struct keep *keep = k->w.inst.kept->keep;
	json_t *about = json_deep_copy(k->w.inst.kept->about), *configuration;
	uint64_t number;
	char *text;

	k->w.more = more;
	instance_world_write(&k->w, policies);
	text = text_of_file(k);
	configuration = json_loads(text, 0, NULL);
	assert_non_null(configuration);
	json_object_set_new(about, "digest", json_string("another"));
	json_object_set_new(about, "singles", json_pack("[s]", "of another"));
	assert_int_equal(keep_write(keep, about, configuration, &number), 0);
	assert_int_equal(keep_confirm(keep, number), 0);
	json_decref(configuration);
	json_decref(about);
	free(text);
	k->w.more = "";
}

/* Where the record of what ran will not do on this machine any more the file runs, and it alone. */
static void test_record_will_not_do(void **state)
{
	struct kept_world k;

	(void)state;
	open_kept(&k);
	record(&k, KEYLESS, A("2Gbit/s"));
	forget(&k);
	choose(&k, A("1Gbit/s"));
	assert_int_equal(k.chosen, 0);
	assert_int_equal(k.config->policies[0].limit_bps, GBIT);
	assert_non_null(strstr(k.said, "the last good configuration"));
	assert_non_null(strstr(k.said, "gossip.key_file"));
	assert_null(k.w.inst.kept->refused);
	assert_int_equal(k.w.inst.kept->confirm.running, 0); /* it has yet to be kept */
	assert_non_null(k.w.inst.kept->document);
	assert_false(kept_differs(k.w.inst.kept));
	expect_words(&k, "the file");
	assert_int_equal(json_array_size(json_object_get(k.w.inst.kept->about, "singles")), 0);
	close_kept(&k);
}

/* What is sent is sealed, and is what was asked for; else it is said what it is not. */
static void test_sent_wrong(void **state)
{
	static const struct {
		enum change_kind kind;
		const char *text;
		int seals;
		const char *said;
	} rows[] = {
		{CHANGE_APPLY, "{}", F_SEAL_SHRINK,
			"expected a sealed descriptor of a configuration"},
		{CHANGE_APPLY, "{}", F_SEAL_WRITE,
			"expected a sealed descriptor of a configuration"},
		{CHANGE_APPLY, "", F_SEAL_SHRINK | F_SEAL_WRITE,
			"expected a sealed descriptor of a configuration"},
		{CHANGE_POLICY, "{}", F_SEAL_SHRINK,
			"expected a sealed descriptor of changes of policies"},
		{CHANGE_APPLY, "[]", F_SEAL_SHRINK | F_SEAL_WRITE,
			"what was sent is no JSON object"},
		{CHANGE_APPLY, "{\n{", F_SEAL_SHRINK | F_SEAL_WRITE, " at line 2, column 1"},
		{CHANGE_APPLY, "{\"a\": 1,\n \"a\": 2}", F_SEAL_SHRINK | F_SEAL_WRITE,
			"what was sent is no JSON: duplicate object key near '\"a\"' at line 2, column 4"},
		{CHANGE_POLICY, "{", F_SEAL_SHRINK | F_SEAL_WRITE, "what was sent is no JSON: "},
		{CHANGE_APPLY, "{}", F_SEAL_SHRINK | F_SEAL_WRITE, "what is to be applied"},
		{CHANGE_POLICY, "{\"do\":\"remove\",\"name\":\"x\"}", F_SEAL_SHRINK | F_SEAL_WRITE,
			"\"x\""},
	};
	struct kept_world k;

	(void)state;
	open_kept(&k);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct change_request request = request_of(rows[i].kind);

		request.fd = sealed(rows[i].text, rows[i].seals);
		expect_refused(&k, &request, rows[i].said);
		assert_int_equal(reload_last_change(&k.w.inst)->error, -EINVAL);
		assert_string_equal(json_string_value(line(&k, "messages")),
			reload_last_change(&k.w.inst)->messages);
		expect_words(&k, "the file");
	}
	close_kept(&k);
}

/* As large as a file may be, and a byte more: which is not even read. */
static void test_sent_large(void **state)
{
	struct kept_world k;

	(void)state;
	open_kept(&k);
	for (unsigned more = 0; more < 2; more++) {
		struct change_request request = request_of(CHANGE_APPLY);

		request.fd = sealed("[", 0);
		assert_int_equal(ftruncate(request.fd, READER_FILE_MAX + more), 0);
		assert_int_equal(fcntl(request.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
		expect_refused(&k, &request,
			more ? "expected a sealed descriptor of a configuration"
			     : "what was sent is no JSON: ");
	}
	close_kept(&k);
}

/* Changes of policies may be sent as a file, too. */
static void test_sent_policy(void **state)
{
	struct change_request request = request_of(CHANGE_POLICY);
	struct kept_world k;

	(void)state;
	open_kept(&k);
	request.fd = sealed(SET("a", "2Gbit/s"), F_SEAL_SHRINK | F_SEAL_WRITE);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	expect_words(&k, "; the file differs; 1 changed singly");
	close_kept(&k);
}

/* There is only so much to go back to, and what is not there is named. */
static void test_nothing_to_go_back_to(void **state)
{
	struct change_request request = request_of(CHANGE_ROLLBACK);
	struct kept_world k;

	(void)state;
	open_kept(&k);
	expect_refused(&k, &request,
		"there is no configuration 0 to go back to: No such file or directory\n");
	request.number = 99;
	expect_refused(&k, &request,
		"there is no configuration 99 to go back to: No such file or directory\n");
	assert_int_equal(json_integer_value(line(&k, "back_to")), 99);
	reload_to(&k, A("2Gbit/s"));
	reload_to(&k, A("3Gbit/s"));
	damage(&k, "0000000001.good.json");
	request.number = 1;
	expect_refused(&k, &request, "there is no configuration 1 to go back to: Bad message\n");
	request.number = 0; /* the one before, which is whole */
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	close_kept(&k);
}

/* What cannot be undone is tried again in ten seconds, and runs until then. */
static void test_undone_later(void **state)
{
	struct change_request request = limit_of("2Gbit/s");
	struct confirm *confirm;
	struct kept_world k;
	uint64_t now;

	(void)state;
	open_kept(&k);
	confirm = &k.w.inst.kept->confirm;
	request.within_ns = 3600 * SECOND_NS;
	assert_int_equal(change(&k, &request), 0);
	damage(&k, "0000000001.good.json");
	now = control_now();
	confirm->until_ns = now;
	reload_advance(&k.w.inst);
	settle(&k);
	assert_string_equal(reload_last_change(&k.w.inst)->what, "undo");
	assert_int_equal(reload_last_change(&k.w.inst)->error, -EBADMSG);
	assert_string_equal(reload_last_change(&k.w.inst)->messages,
		"the last good configuration: Bad message\n");
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	assert_true(confirm_waits(confirm));
	assert_in_range(
		reload_due_ns(&k.w.inst), now + 10 * SECOND_NS, control_now() + 10 * SECOND_NS);
	reload_advance(&k.w.inst);
	assert_string_equal(reload_state(&k.w.inst), "idle"); /* it is not time yet */
	request = request_of(CHANGE_CONFIRM);                 /* somebody may still want it so */
	assert_int_equal(change(&k, &request), 0);
	assert_true(reload_due_ns(&k.w.inst) == UINT64_MAX);
	close_kept(&k);
}

/* While one waits for its confirmation nothing but that, or its end, is taken; it is said. */
static void test_waits_for_word(void **state)
{
	struct change_request request = limit_of("2Gbit/s");
	struct kept_world k;

	(void)state;
	open_kept(&k);
	request.within_ns = 3600 * SECOND_NS;
	assert_int_equal(change(&k, &request), 0);
	instance_world_write(&k.w, A("4Gbit/s"));
	reload_request(&k.w.inst, "test", getuid());
	settle(&k);
	assert_int_equal(reload_last_change(&k.w.inst)->error, -EBUSY);
	assert_string_equal(reload_last_change(&k.w.inst)->messages,
		"a change waits for its confirmation: weirctl confirm, or weirctl rollback\n");
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	close_kept(&k);
}

/* What runs is nowhere on the disk: there is nothing that one policy could be another of. */
static void test_running_is_not_kept(void **state)
{
	struct change_request request = request_of(CHANGE_RELOAD);
	char command[64], said[128];
	struct kept_world k;

	(void)state;
	open_kept(&k);
	snprintf(command, sizeof(command), "rm -r %s", k.directory);
	assert_int_equal(system(command), 0);
	instance_world_write(&k.w, A("3Gbit/s"));
	assert_int_equal(ask(&k, &request), 0);
	settle(&k);
	assert_int_equal(k.w.inst.kept->confirm.running, 0);
	assert_int_equal(mkdir(k.directory, 0700), 0);
	request = limit_of("2Gbit/s");
	snprintf(said, sizeof(said), "%s: what runs is not kept there: No such file or directory\n",
		k.directory);
	expect_refused(&k, &request, said);
	close_kept(&k);
}

/* The history has so much of what was said of a change. */
static void test_long_messages(void **state)
{
	char text[8192] = "[" SET("a", "2Gbit/s");
	struct change_request request;
	struct kept_world k;
	const char *kept;

	(void)state;
	open_kept(&k);
	for (unsigned i = 0; i < 20; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			",{\"do\":\"add\",\"name\":\"n%u\",\"keys\":{\"match.vlan\":%u,"
			"\"limit\":\"1Gbit\"}}",
			i, i + 10);
	strcat(text, "]");
	request = edit_of(text);
	assert_int_equal(change(&k, &request), -EINVAL);
	kept = json_string_value(line(&k, "messages"));
	assert_true(strlen(reload_last_change(&k.w.inst)->messages) > 1000);
	assert_int_equal(strlen(kept), 1000);
	assert_memory_equal(reload_last_change(&k.w.inst)->messages, kept, 1000);
	close_kept(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_policy),
		cmocka_unit_test(test_large_changes),
		cmocka_unit_test(test_longest_value),
		cmocka_unit_test(test_many_policies),
		cmocka_unit_test(test_file_restored),
		cmocka_unit_test(test_many_refused),
		cmocka_unit_test(test_file_again),
		cmocka_unit_test(test_file_refused),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_nothing_is_kept),
		cmocka_unit_test(test_rollback),
		cmocka_unit_test(test_undone),
		cmocka_unit_test(test_confirmed),
		cmocka_unit_test(test_ends_unconfirmed),
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_two_of_one_directory),
		cmocka_unit_test(test_requesters),
		cmocka_unit_test(test_apply),
		cmocka_unit_test(test_kept_already),
		cmocka_unit_test(test_warned),
		cmocka_unit_test(test_carried),
		cmocka_unit_test(test_carried_wrong),
		cmocka_unit_test(test_directory_is_gone),
		cmocka_unit_test(test_record_has_no_place),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_carried_unknown),
		cmocka_unit_test(test_stops_when_refused),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_history),
		cmocka_unit_test(test_unkept),
		cmocka_unit_test(test_key_is_gone),
		cmocka_unit_test(test_record_will_not_do),
		cmocka_unit_test(test_sent_wrong),
		cmocka_unit_test(test_sent_large),
		cmocka_unit_test(test_sent_policy),
		cmocka_unit_test(test_nothing_to_go_back_to),
		cmocka_unit_test(test_undone_later),
		cmocka_unit_test(test_waits_for_word),
		cmocka_unit_test(test_running_is_not_kept),
		cmocka_unit_test(test_long_messages),
	};

	return cmocka_run_group_tests(tests, instance_world_start, instance_world_stop);
}
