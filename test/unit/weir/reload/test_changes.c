/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Changes of the running configuration: one policy, several together, the file, and a whole
 * configuration in a request. A rejected change has no effect, and is logged.
 */
#include "instance_world.h"
#include "scope.h"

#include <fcntl.h>

#include "base/time.h"
#include "event.h"
#include "kept_world.h"
#include "machine_errors.h"

/* Expects one line about the last change since then: its kind and its author. */
static void expect_done(const struct kept_world *k, uint64_t since, const char *policies)
{
	const struct reload_outcome *last = reload_last_change(&k->w.inst);
	char expected[EVENT_TEXT];
	unsigned n = 0;

	snprintf(expected, sizeof(expected),
		"%s: generation %" PRIu64 ", policies: %s; %" PRIu64 " ms; requested by %s",
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

/* Changes one policy. The history has the author, the kind, the time and the previous value. */
TEST(test_one_policy)
{
	struct change_request request = limit_of("2Gbit/s");
	ENDED_BY(close_kept) struct kept_world k;
	const json_t *changed;
	uint64_t since;

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
}

/* A policy that is longer than its part of a line in the history. */
#define TURN(from, to) "{'days': 'daily', 'from': '" from "', 'to': '" to "', 'limit': '2Gbit/s'}"
#define LONG                                                                                      \
	"{'name': 'long', 'match': {'vlan': 3}, 'limit': '1Gbit/s', 'schedule': {'zone': 'UTC', " \
	"'entries': [" TURN("00:00", "01:00") ", " TURN("02:00", "03:00") ", " TURN(              \
		"04:00", "05:00") ", " TURN("06:00", "07:00") ", " TURN("08:00",                  \
		"09:00") ", " TURN("10:00", "11:00") ", " TURN("12:00",                           \
		"13:00") ", " TURN("14:00", "15:00") "]}}"

static void expect_change(const struct kept_world *k, const char *old, const char *new)
{
	const json_t *changed = json_array_get(line(k, "changes"), 0);
	const char *was = json_string_value(json_object_get(changed, "old"));
	const char *is = json_string_value(json_object_get(changed, "new"));

	assert_string_equal(was ? was : "", old);
	assert_string_equal(is ? is : "", new);
}

/* Long values are left out of the list, and so are changes after the first ones. */
TEST(test_large_changes)
{
	char policies[4096] = A("1Gbit/s");
	ENDED_BY(close_kept) struct kept_world k;

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
}

/* Adds a policy of this many bytes as JSON. */
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

/* The outcome of a change stays in memory until a number of later ones has ended. */
TEST(test_outcomes)
{
	struct change_request request;
	uint64_t first, wrong;
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	request = limit_of("2Gbit/s");
	assert_int_equal(change(&k, &request), 0);
	first = k.serial;
	assert_ptr_equal(reload_change_of(&k.w.inst, first), reload_last_change(&k.w.inst));
	assert_null(reload_change_of(&k.w.inst, first + 1));
	assert_null(reload_change_of(&k.w.inst, 0));
	request = limit_of("2Gbat/s");
	assert_int_not_equal(change(&k, &request), 0);
	wrong = k.serial;
	for (unsigned i = 0; i < RELOAD_OUTCOMES - 1; i++) {
		request = limit_of(i % 2 ? "2Gbit/s" : "3Gbit/s");
		assert_int_equal(change(&k, &request), 0);
	}
	assert_int_equal(reload_change_of(&k.w.inst, first)->error, 0);
	assert_int_equal(reload_change_of(&k.w.inst, first)->changed, 1);
	assert_int_equal(reload_change_of(&k.w.inst, wrong)->error, -EINVAL);
	assert_non_null(strstr(reload_change_of(&k.w.inst, wrong)->messages, "2Gbat/s"));
	request = limit_of("4Gbit/s");
	assert_int_equal(change(&k, &request), 0);
	assert_null(reload_change_of(&k.w.inst, first));
	assert_non_null(reload_change_of(&k.w.inst, wrong));
}

/* A value of the largest length is listed, and one byte more is not. */
TEST(test_longest_value)
{
	char policies[2048];
	ENDED_BY(close_kept) struct kept_world k;
	const json_t *added;

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

/* Several policies change together: one record, one line of the history, one step back. */
TEST(test_many_policies)
{
	struct change_request back = request_of(CHANGE_ROLLBACK);
	ENDED_BY(close_kept) struct kept_world k;
	uint64_t running;

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
	/* The next change applies to the running configuration. */
	expect_edits(&k, "[" SET("b", "5Gbit/s") "]", 0, 0, 1);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	/* A policy that was added and removed leaves no record. */
	expect_edits(&k,
		"[{\"do\":\"add\",\"name\":\"n\",\"keys\":{\"match.vlan\":9,"
		"\"limit\":\"1Gbit/s\"}}]",
		1, 0, 0);
	expect_words(&k, "3 changed singly");
	expect_edits(&k, "[" REMOVE("n") "]", 0, 1, 0);
	expect_words(&k, "2 changed singly");
	/* Single changes stay on top of a new file. */
	reload_to(&k, A("1Gbit/s") ", {'name': 'c', 'match': {'vlan': 3}, 'limit': '1Gbit/s'}");
	assert_int_equal(k.w.inst.n_policies, 3);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	assert_int_equal(k.w.inst.policies[2].limit_bps, 5 * GBIT);
}

/* Edits that restore the policies of the file make it the file again, also in replies. */
TEST(test_file_restored)
{
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	expect_edits(&k, "[" SET("a", "2Gbit/s") "]", 0, 0, 1);
	assert_true(kept_differs(k.w.inst.kept));
	expect_edits(&k, "[" SET("a", "1Gbit/s") "]", 0, 0, 1);
	assert_false(kept_differs(k.w.inst.kept));
	expect_words(&k, "the file; 1 changed singly");
}

/* One mistake among good edits: nothing has changed, on disk or in force. */
TEST(test_many_refused)
{
	static const struct {
		const char *edits, *said;
	} rows[] = {
		{"[" SET("a", "2Gbit/s") "," SET("x", "2Gbit/s") "]", "edits[1]: policy \"x\": "},
		{"[" SET("a", "2Gbit/s") "," ADD_B("2Gbit") "]",
			"edits[1]: policy \"b\": limit: \"2Gbit\": expected"},
		{"[" ADD_B("1Gbit/s") "," REMOVE("a") "," SET("a", "1Gbit/s") "]",
			"edits[2]: policy \"a\": "},
		{"[" SET("a", "2Gbit/s") ",7]", "edits[1]: 7: "},
		{"[]", "edits: none"},
	};
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	for (size_t i = 0; i < COUNT(rows); i++) {
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
}

/* The digest is that of the file at its last reading, however often it is written. */
TEST(test_file_again)
{
	static const char *const files[] = {A("7Gbit/s"), A("8Gbit/s"), A("7Gbit/s")};
	char digests[3][CHANGE_DIGEST_MAX];
	ENDED_BY(close_kept) struct kept_world k;

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
}

/* The digest of a rejected file is recorded, too. */
TEST(test_file_refused)
{
	struct change_request request = request_of(CHANGE_RELOAD);
	char good[CHANGE_DIGEST_MAX];
	const char *noted;
	ENDED_BY(close_kept) struct kept_world k;

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
}

/* A rejected change has no effect, and the log reports it. */
TEST(test_refused)
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
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	for (size_t i = 0; i < COUNT(rows); i++) {
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
	assert_true(change(&k, &request) < 0); /* no configuration before the first */
	request = request_of(CHANGE_APPLY);
	assert_true(change(&k, &request) < 0); /* without a descriptor */
	request = limit_of("2Gbit/s");
	assert_int_equal(ask(&k, &request), 0);
	request = limit_of("3Gbit/s");
	assert_int_equal(ask(&k, &request), -EAGAIN);
	settle(&k);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
}

/* Users are shown by name, or by number without a name; without a user there is no name. */
TEST(test_requesters)
{
	static const struct {
		int64_t uid;
		const char *user, *name;
	} rows[] = {
		{0, "root", "root (uid 0)"},
		{4000000001, "uid 4000000001", "uid 4000000001"},
		{-1, NULL, NULL},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
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

/* A whole configuration in memory that no process can alter during the reading. */
TEST(test_apply)
{
	struct change_request request = request_of(CHANGE_APPLY);
	ENDED_BY(close_kept) struct kept_world k;
	ENDED_BY(free_at) char *text;

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
}

/* A change in force logs its warnings. */
TEST(test_warned)
{
	struct change_request request = edit_of(
		"{\"do\":\"set\",\"name\":\"a\",\"keys\":{\"burst\":\"2kB\"}}");
	static const char text[] = "policy: warning: policy \"a\": burst: \"2kB\": ";
	uint64_t since = events_number();
	ENDED_BY(close_kept) struct kept_world k;
	unsigned n = 0;

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
}

static unsigned count_rows(uint64_t since, const char *event)
{
	unsigned n = 0;

	for (; since < events_number(); since++) {
		json_t *row = events_get(since);

		n += strcmp(json_string_value(json_object_get(row, "event")), event) == 0;
		json_decref(row);
	}
	return n;
}

/* A warning that stays over changes of others is logged once, and once when it has ended. */
TEST(test_standing_warning)
{
	struct change_request request = edit_of(
		"{\"do\":\"set\",\"name\":\"a\",\"keys\":{\"burst\":\"2kB\"}}");
	uint64_t since = events_number();
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	reload_to(&k, A("1Gbit/s") ", " B);
	assert_int_equal(change(&k, &request), 0);
	for (unsigned i = 0; i < 5; i++) {
		request = edit_of(i % 2 ? "{\"do\":\"set\",\"name\":\"b\",\"keys\":{\"limit\":"
					  "\"2Gbit/s\"}}"
					: "{\"do\":\"set\",\"name\":\"b\",\"keys\":{\"limit\":"
					  "\"3Gbit/s\"}}");
		assert_int_equal(change(&k, &request), 0);
		assert_int_equal(count_rows(since, "change_warning"), 1);
		assert_int_equal(count_rows(since, "change_warning_ended"), 0);
	}
	request = edit_of("{\"do\":\"set\",\"name\":\"a\",\"keys\":{\"burst\":\"40MB\"}}");
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(count_rows(since, "change_warning"), 1);
	assert_int_equal(count_rows(since, "change_warning_ended"), 1);
}

/* Single changes remain at a reload, except if the file has another policy of that name. */
TEST(test_carried)
{
	struct change_request request = limit_of("2Gbit/s");
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	assert_int_equal(change(&k, &request), 0);
	reload_to(&k, A("1Gbit/s") ", " B);
	assert_int_equal(k.w.inst.n_policies, 2);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	expect_words(&k, "; the file differs; 1 changed singly");
	reload_to(&k, A("4Gbit/s") ", " B); /* the file is newer, and a warning reports it */
	assert_int_equal(k.w.inst.policies[0].limit_bps, 4 * GBIT);
	assert_non_null(strstr(
		reload_last_change(&k.w.inst)->messages, "policy \"a\": the file has a newer one"));
	assert_false(kept_differs(k.w.inst.kept));
	assert_int_equal(json_array_size(json_object_get(k.w.inst.kept->about, "singles")), 0);
	request = limit_of("5Gbit/s");
	assert_int_equal(change(&k, &request), 0);
	reload_to(&k, A("5Gbit/s") ", " B); /* the file has the change now */
	assert_int_equal(k.w.inst.policies[0].limit_bps, 5 * GBIT);
	assert_string_equal(reload_last_change(&k.w.inst)->messages, "");
	assert_false(kept_differs(k.w.inst.kept));
	assert_int_equal(json_array_size(json_object_get(k.w.inst.kept->about, "singles")), 0);
}

#define BELOW_A "{'name': 'b', 'match': {'vlan': 2}, 'limit': '1Gbit/s', 'parent': 'a'}"

/* A file that is valid alone, but not with the single changes, has no effect. */
TEST(test_carried_wrong)
{
	struct change_request request = edit_of("{\"do\":\"remove\",\"name\":\"a\"}");
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	reload_to(&k, A("1Gbit/s") ", " B);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.n_policies, 1);
	instance_world_write(&k.w, A("1Gbit/s") ", " BELOW_A);
	request = request_of(CHANGE_RELOAD);
	expect_refused(
		&k, &request, "changes made by \"weirctl policy\": policy \"b\": parent: \"a\"");
	assert_string_equal(k.w.inst.policies[0].name, "b");
	assert_int_equal(k.w.inst.kept->confirm.running, 3);
}

/* Writes the file with a group that this machine does not have. */
static void write_with_group(struct kept_world *k, const char *policies)
{
	ENDED_BY(free_at) char *text = NULL;
	FILE *file;
	char *at;

	instance_world_write(&k->w, policies);
	text = text_of_file(k);
	at = strstr(text, "\"control\": {");
	assert_non_null(at);
	at = strchr(at, '{') + 1;
	file = fopen(k->w.file, "w");
	assert_non_null(file);
	fprintf(file, "%.*s\"group\": \"no such group\", %s", (int)(at - text), text, at);
	fclose(file);
}

/*
 * A refusal begins with its reason, although the file also has a warning: in the messages, in the
 * log, and at a start.
 */
TEST(test_reason_first)
{
	static const char policies[] =
		"{'name': 'a', 'match': {'direction': 'a-to-b'}, 'limit': '1Gbit/s', "
		"'burst': '2kB'}";
	struct change_request request = request_of(CHANGE_RELOAD);
	ENDED_BY(close_kept) struct kept_world k;
	uint64_t since;
	const char *said;
	json_t *row;

	open_kept(&k);
	write_with_group(&k, policies);
	since = events_number();
	expect_refused(&k, &request, "burst");
	said = reload_last(&k.w.inst)->messages;
	assert_in_range(strstr(said, "control.group: ") - said, 0, strcspn(said, "\n"));
	assert_true(strstr(said, "warning: ") > strchr(said, '\n'));
	assert_int_equal(count_rows(since, "reload_error"), 1);
	assert_int_equal(count_rows(since, "reload_warning"), 1);
	row = events_from(&since);
	said = json_string_value(json_object_get(row, "text"));
	assert_non_null(strstr(said, "control.group: "));
	json_decref(row);
	forget(&k);
	choose(&k, NULL);
	said = k.w.inst.kept->refused;
	assert_in_range(strstr(said, "control.group: ") - said, 0, strcspn(said, "\n"));
	assert_non_null(strstr(said, "burst"));
}

/* A request must have a sealed descriptor with the right content; otherwise the error has both. */
TEST(test_sent_wrong)
{
	static const struct {
		enum change_kind kind;
		const char *text;
		int seals;
		const char *said;
	} rows[] = {
		{CHANGE_APPLY, "{}", F_SEAL_SHRINK,
			"expected a sealed descriptor of the new configuration"},
		{CHANGE_APPLY, "{}", F_SEAL_WRITE,
			"expected a sealed descriptor of the new configuration"},
		{CHANGE_APPLY, "", F_SEAL_SHRINK | F_SEAL_WRITE,
			"expected a sealed descriptor of the new configuration"},
		{CHANGE_POLICY, "{}", F_SEAL_SHRINK,
			"expected a sealed descriptor of policy changes"},
		{CHANGE_APPLY, "[]", F_SEAL_SHRINK | F_SEAL_WRITE,
			"the new configuration: expected a JSON object"},
		{CHANGE_APPLY, "{\n{", F_SEAL_SHRINK | F_SEAL_WRITE, " at line 2, column 1"},
		{CHANGE_APPLY, "{\"a\": 1,\n \"a\": 2}", F_SEAL_SHRINK | F_SEAL_WRITE,
			"expected JSON: duplicate object key near '\"a\"' at line 2, column 4"},
		{CHANGE_POLICY, "{", F_SEAL_SHRINK | F_SEAL_WRITE,
			"policy changes: expected JSON: "},
		{CHANGE_APPLY, "{}", F_SEAL_SHRINK | F_SEAL_WRITE, "the new configuration: "},
		{CHANGE_POLICY, "{\"do\":\"remove\",\"name\":\"x\"}", F_SEAL_SHRINK | F_SEAL_WRITE,
			"\"x\""},
	};
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct change_request request = request_of(rows[i].kind);

		request.fd = sealed(rows[i].text, rows[i].seals);
		expect_refused(&k, &request, rows[i].said);
		assert_int_equal(reload_last_change(&k.w.inst)->error, -EINVAL);
		assert_string_equal(json_string_value(line(&k, "messages")),
			reload_last_change(&k.w.inst)->messages);
		expect_words(&k, "the file");
	}
}

/* A request of the largest size, and one byte more, which is not read. */
TEST(test_sent_large)
{
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	for (unsigned more = 0; more < 2; more++) {
		struct change_request request = request_of(CHANGE_APPLY);

		request.fd = sealed("[", 0);
		assert_int_equal(ftruncate(request.fd, READER_FILE_MAX + more), 0);
		assert_int_equal(fcntl(request.fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
		expect_refused(&k, &request,
			more ? "expected a sealed descriptor of the new configuration"
			     : "the new configuration: expected JSON: ");
	}
}

/* Changes of policies can be sent as a file, too. */
TEST(test_sent_policy)
{
	struct change_request request = request_of(CHANGE_POLICY);
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	request.fd = sealed(SET("a", "2Gbit/s"), F_SEAL_SHRINK | F_SEAL_WRITE);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	expect_words(&k, "; the file differs; 1 changed singly");
}

/* The history has the first bytes of the messages. */
TEST(test_long_messages)
{
	char text[8192] = "[" SET("a", "2Gbit/s");
	struct change_request request;
	ENDED_BY(close_kept) struct kept_world k;
	const char *kept;

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
}

TEST_GROUP(instance_world_start, instance_world_stop)
