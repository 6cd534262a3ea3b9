/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Replies about the running configuration and its changes, and requests for a change: of a limiter
 * without records, with simulated records, or with its own.
 */
#include <poll.h>

#include "base/time.h"
#include "scope.h"
#include "config/load.h"
#include "kept.h"
#include "reload.h"
#include "show_world.h"

#define POLICY      "{'name': 'a', 'match': {'direction': 'a-to-b'}, 'limit': '1Gbit/s'}"
#define PATIENCE_MS 60000
#define ROUNDS_MOST 100

#define EXPECT(w, rows) show_expect_rows(w, rows, COUNT(rows))

#define UNKEPT "{'refused': '*started without --state*', 'busy': false}"

/* Checks the replies of a limiter without a state directory. */
static void expect_of_file(const struct show_row *rows, size_t n)
{
	WORLD(w, POLICY);

	w->inst.file = w->file;
	assert_int_equal(reload_start(&w->inst), 0);
	show_expect_rows(w, rows, n);
}

#define EXPECT_OF_FILE(rows) expect_of_file(rows, COUNT(rows))

/* Without a state directory there is nothing to show, and the file alone can be in force. */
TEST(test_nothing_is_kept)
{
	static const struct show_row rows[] = {
		{"/weir/change", NULL,
			"{'state': 'idle', 'directory': null, 'last': null, 'peers_differ': null}"},
		{"/weir/running", NULL, NULL},
		{"/weir/history", NULL, NULL},
		{"/weir/history", "0", NULL},
		{"/weir/apply", NULL, UNKEPT},
		{"/weir/apply", "86400", UNKEPT},
		{"/weir/policy_change", "{}", UNKEPT},
		{"/weir/confirm", NULL, UNKEPT},
		{"/weir/rollback", NULL, UNKEPT},
		{"/weir/rollback", "7", UNKEPT},
	};

	EXPECT_OF_FILE(rows);
}

#define NO_SECONDS "{'refused': '*expected 1 to 86400 seconds*'}"
#define NO_NUMBER  "{'refused': '*expected the number of a configuration*'}"
#define NO_OBJECT  "{'refused': '*expected an edit, or an array of them*'}"

/* A parameter that is no number or no object is rejected at the start. */
TEST(test_parameters)
{
	static const struct show_row rows[] = {
		{"/weir/apply", "86401", NO_SECONDS},
		{"/weir/apply", "-1", NO_SECONDS},
		{"/weir/apply", "", NO_SECONDS},
		{"/weir/apply", "1s", NO_SECONDS},
		{"/weir/rollback", "x", NO_NUMBER},
		{"/weir/rollback", "9223372036854775808", NO_NUMBER},
		{"/weir/rollback", "99999999999999999999", NO_NUMBER},
		{"/weir/rollback", "-18446744073709551615", NO_NUMBER},
		{"/weir/rollback", "9223372036854775807", UNKEPT},
		{"/weir/policy_change", NULL, NO_OBJECT},
		{"/weir/policy_change", "[]", UNKEPT},
		{"/weir/policy_change", "[", NO_OBJECT},
		{"/weir/policy_change", "7", NO_OBJECT},
		{"/weir/policy_change", "{'a': 1}", NO_OBJECT}, /* unchanged */
		{"/weir/policy_change", "{\"a\": 1, \"a\": 2}", NO_OBJECT},
	};

	EXPECT_OF_FILE(rows);
}

static json_t *made_up_about(unsigned singles)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < singles; i++)
		json_array_append_new(list, json_pack("{s:s}", "policy", i ? "later" : "first"));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "what", "apply", "at", "noon", "user",
		"alice", "digest", "1", "file_digest", "2", "singles", list);
}

/* The running configuration with all members, and one page of many names. */
TEST(test_runs)
{
	char directory[] = "/state", refused[] = "one\ntwo\n", trouble[] = "no space";
	struct kept kept = {.directory = directory,
		.confirm = {.running = 4, .good = 3},
		.about = made_up_about(2),
		.running_file = -1};
	char expected[512];
	json_t *reply;
	WORLD(w, POLICY);

	w->inst.file = w->file;
	w->inst.kept = &kept;
	snprintf(expected, sizeof(expected),
		"{'state': 'idle', 'directory': '/state', 'file': '%s', 'runs': {'words': "
		"'apply of noon by alice; the file differs; 2 changed singly', 'number': 4, "
		"'what': 'apply', 'at': 'noon', 'user': 'alice', 'differs': true, 'n_singles': 2, "
		"'singles': ['first', 'later']}, 'last_good': 3, 'unconfirmed': null, "
		"'refused': null, 'not_kept': null, 'last': null, 'peers_differ': null}",
		w->file);
	show_expect(show_ask(w, "/weir/change", NULL), expected);
	assert_null(show_ask(w, "/weir/running", NULL));
	kept.running_file = 0;
	snprintf(expected, sizeof(expected), "{'number': 4, 'file': '%s'}", w->file);
	show_expect(show_ask(w, "/weir/running", NULL), expected);
	kept.refused = refused;
	kept.trouble = trouble;
	kept.confirm.until_ns = control_now() + 100 * SECOND_NS;
	show_expect(show_ask(w, "/weir/change", NULL),
		"{'refused': ['one', 'two'], 'not_kept': 'no space', 'unconfirmed': {'left_s': '*'}, "
		"'...': 0}");
	reply = show_ask(w, "/weir/change", NULL);
	assert_near(
		json_real_value(json_object_get(json_object_get(reply, "unconfirmed"), "left_s")),
		70, 30);
	json_decref(reply);
	json_decref(kept.about);
	kept.about = made_up_about(40);
	reply = show_ask(w, "/weir/change", NULL);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(reply, "runs"), "n_singles")),
		40);
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(reply, "runs"), "singles")), 32);
	json_decref(reply);
	json_decref(kept.about);
	w->inst.kept = NULL;
	w->inst.file = NULL;
}

static json_t *history_of(unsigned n, size_t size)
{
	json_t *history = json_array();
	char words[20000];

	memset(words, 'x', sizeof(words));
	words[size] = '\0';
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(history, json_pack("{s:i, s:s}", "n", (int)i, "w", words));
	return history;
}

/*
 * Pages of the history, the newest first. Each line is there once, and each page has at least one,
 * however long.
 */
TEST(test_history)
{
	static const struct {
		unsigned n;
		size_t size;
		unsigned pages, first; /* number of pages, and of the first one's lines */
	} rows[] = {{0, 0, 1, 0}, {1, 10, 1, 1}, {12, 984, 1, 12}, {13, 984, 2, 12},
		{12, 985, 2, 11}, {3, 13000, 3, 1}, {256, 84, 3, 118}};
	struct kept kept = {.running_file = -1};
	WORLD(w, POLICY);

	w->inst.kept = &kept;
	for (size_t r = 0; r < COUNT(rows); r++) {
		unsigned seen = 0, pages = 0;
		char params[24] = "0";
		const json_t *next;
		json_t *page;

		kept.history = history_of(rows[r].n, rows[r].size);
		do {
			const json_t *lines;
			json_t *line;
			size_t i;

			page = show_ask(w, "/weir/history", seen ? params : NULL);
			lines = json_object_get(page, "lines");
			json_array_foreach (lines, i, line)
				assert_int_equal(json_integer_value(json_object_get(line, "n")),
					rows[r].n - 1 - seen++);
			if (pages++ == 0)
				assert_int_equal(json_array_size(lines), rows[r].first);
			next = json_object_get(page, "next");
			if (json_is_integer(next))
				assert_int_equal(json_integer_value(next), seen);
			snprintf(params, sizeof(params), "%u", seen);
			json_decref(page);
		} while (seen < rows[r].n);
		assert_int_equal(pages, rows[r].pages);
		show_expect(show_ask(w, "/weir/history", params), "{'lines': [], 'next': null}");
		snprintf(params, sizeof(params), "%u", seen + 1);
		assert_null(show_ask(w, "/weir/history", params));
		json_decref(kept.history);
	}
	w->inst.kept = NULL;
}

/* Runs until all work, and the work that follows from it, has ended. */
static void settle(struct instance_world *w)
{
	for (unsigned i = 0; i < ROUNDS_MOST; i++) {
		struct pollfd fd = {.fd = reload_fd(&w->inst), .events = POLLIN};
		const char *now = reload_state(&w->inst);

		if (strcmp(now, "reading") == 0 || strcmp(now, "saving") == 0)
			assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		instance_world_turn_all(w);
		reload_advance(&w->inst);
		if (strcmp(reload_state(&w->inst), "idle") == 0 && !w->inst.kept->start)
			return;
	}
	fail_msg("it does not come to an end");
}

#define ADD         "{\"do\":\"add\",\"name\":\"b\",\"keys\":{\"limit\":\"1Gbit/s\",\"match.vlan\":7}}"
#define EDIT(limit) "{\"do\":\"set\",\"name\":\"a\",\"keys\":{\"limit\":\"" limit "\"}}"

/*
 * Changes that start, and the reasons for rejected ones. The first change is the record of the
 * start.
 */
TEST(test_changes)
{
	char directory[] = "/tmp/weir-show-change-XXXXXX", command[64];
	struct config *config;
	struct instance_world w;
	struct kept *kept;

	assert_non_null(mkdtemp(directory));
	instance_world_open(&w, POLICY);
	assert_int_equal(kept_open(directory, stderr, &kept), 0);
	assert_int_equal(kept_choose(kept, w.file, stderr, &config), 0);
	w.inst.kept = kept;
	w.inst.file = w.file;
	assert_int_equal(reload_start(&w.inst), 0);
	settle(&w);
	show_expect(show_ask(&w, "/weir/confirm", NULL),
		"{'refused': '*no change waits for its confirmation: only*', 'busy': false}");
	show_expect(show_ask(&w, "/weir/policy_change", EDIT("2Gbit/s")), "{'started': 2}");
	show_expect(show_ask(&w, "/weir/policy_change", EDIT("3Gbit/s")),
		"{'refused': 'another change is under way', 'busy': true}");
	settle(&w);
	show_expect(show_ask(&w, "/weir/change", NULL),
		"{'last': {'serial': 2, 'what': 'policy', 'ok': true, 'at': '*', 'took_ms': '*', "
		"'added': 0, 'removed': 0, 'changed': 1, 'unchanged': 0, 'not_kept': null, "
		"'messages': []}, 'last_good': 2, '...': 0}");
	show_expect(show_ask(&w, "/weir/policy_change", EDIT("x")), "{'started': 3}");
	settle(&w);
	show_expect(show_ask(&w, "/weir/change", NULL),
		"{'last': {'serial': 3, 'ok': false, '...': 0}, '...': 0}");
	show_expect(show_ask(&w, "/weir/policy_change", "[" ADD "," EDIT("3Gbit/s") "]"),
		"{'started': 4}");
	settle(&w);
	show_expect(show_ask(&w, "/weir/change", NULL),
		"{'last': {'serial': 4, 'what': 'policy', 'ok': true, 'added': 1, 'removed': 0, "
		"'changed': 1, 'unchanged': 0, '...': 0}, '...': 0}");
	show_expect(show_ask(&w, "/weir/rollback", "1"), "{'started': 5}");
	settle(&w);
	show_expect(show_ask(&w, "/weir/change", NULL),
		"{'last': {'serial': 5, 'what': 'rollback', 'ok': true, '...': 0}, '...': 0}");
	kept->confirm.until_ns = UINT64_MAX;
	show_expect(show_ask(&w, "/weir/policy_change", EDIT("3Gbit/s")),
		"{'refused': 'a change waits for its confirmation: weirctl confirm, or weirctl "
		"rollback', 'busy': false}");
	kept->confirm.until_ns = 0;
	instance_world_close(&w);
	kept_close(kept);
	config_free(config);
	snprintf(command, sizeof(command), "rm -r %s", directory);
	assert_int_equal(system(command), 0);
}

TEST_GROUP(instance_world_start, instance_world_stop)
