/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The records of changes, and the configuration that a start runs because of them. Records are also
 * damaged, cannot be written, or do not exist.
 */
#include "instance_world.h"
#include "scope.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "change/keep.h"
#include "config/load.h"
#include "event.h"
#include "kept_world.h"

TEST(test_nothing_is_kept)
{
	struct change_request request = limit_of("2Gbit/s");
	uint64_t serial;
	WORLD(w, A("1Gbit/s"));

	w->file[0] = '/';
	w->inst.file = w->file;
	assert_int_equal(reload_start(&w->inst), 0);
	assert_int_equal(reload_change(&w->inst, &request, &serial), -ENOSYS);
}

/* A start runs the present file with the earlier single changes. */
TEST(test_starts)
{
	struct change_request request = limit_of("2Gbit/s");
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	assert_int_equal(change(&k, &request), 0);
	forget(&k);
	choose(&k, A("1Gbit/s")); /* unchanged */
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
	choose(&k, A("4Gbit/s")); /* a new file */
	assert_int_equal(k.config->policies[0].limit_bps, 4 * GBIT);
	forget(&k);
	choose(&k, A("4Gbat/s")); /* an invalid file */
	assert_int_equal(k.chosen, 0);
	assert_int_equal(k.config->policies[0].limit_bps, 2 * GBIT);
	assert_non_null(strstr(k.said, "4Gbat/s"));
	assert_non_null(strstr(k.said, "the last good configuration runs"));
	assert_non_null(strstr(k.w.inst.kept->refused, "4Gbat/s"));
	expect_words(&k, "the last good one, of 20");
}

/* A directory belongs to one limiter. Another one runs, and keeps no records. */
TEST(test_two_of_one_directory)
{
	struct kept *other;
	ENDED_BY(close_kept) struct kept_world k;
	ENDED_BY(free_at) char *said = NULL;
	size_t size;
	FILE *err = open_memstream(&said, &size);

	open_kept(&k);
	assert_int_equal(kept_open(k.directory, err, &other), 0);
	fclose(err);
	assert_null(other);
	assert_non_null(strstr(said, "another limiter has it: nothing is kept"));
}

/* The running configuration and the newest good record have this number. */
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
 * A change without a difference makes no record, because sixteen of them would remove all others.
 * Each of these makes one: another configuration, another file, or another single change.
 */
TEST(test_kept_already)
{
	struct change_request request;
	ENDED_BY(close_kept) struct kept_world k;
	ENDED_BY(free_at) char *text;

	open_kept(&k);
	reload_to(&k, A("1Gbit/s"));
	expect_number(&k, 1);
	assert_int_equal(json_integer_value(line(&k, "n_changes")), 0);
	instance_world_write(&k.w, A("2Gbit/s"));
	text = text_of_file(&k);
	instance_world_write(&k.w, A("1Gbit/s"));
	apply(&k, text); /* only the running configuration differs */
	expect_number(&k, 2);
	apply(&k, text);
	expect_number(&k, 2);
	reload_to(&k, A("2Gbit/s")); /* the file alone is another */
	expect_number(&k, 3);
	assert_false(kept_differs(k.w.inst.kept));
	reload_to(&k, A("2Gbit/s"));
	expect_number(&k, 3);
	request = limit_of("2Gbit/s"); /* the same limit, but as a single change */
	assert_int_equal(change(&k, &request), 0);
	expect_number(&k, 4);
	expect_words(&k, "; 1 changed singly");
	request = limit_of("2Gbit/s");
	assert_int_equal(change(&k, &request), 0);
	expect_number(&k, 4);
}

/* Counts log lines about rejected changes since then, by the kind of the change. */
static unsigned refusals_said(uint64_t since, const char *what)
{
	char text[96];

	snprintf(text, sizeof(text), "%s refused; nothing has changed", what);
	return times_said(since, text);
}

/*
 * The directory is gone. A reload is in force with a warning that it is not kept; changes that
 * would exist only in memory are rejected.
 */
TEST(test_directory_is_gone)
{
	uint64_t since = events_number();
	struct change_request request;
	ENDED_BY(close_kept) struct kept_world k;
	char command[64], *text;

	open_kept(&k);
	text = text_of_file(&k);
	snprintf(command, sizeof(command), "rm -r %s", k.directory);
	assert_int_equal(system(command), 0);
	request = limit_of("2Gbit/s");
	expect_refused(&k, &request, "the configuration is not kept");
	instance_world_write(&k.w, A("3Gbit/s"));
	request = request_of(CHANGE_APPLY);
	free(text);
	text = text_of_file(&k);
	request.fd = sealed(text, F_SEAL_SHRINK | F_SEAL_WRITE);
	expect_refused(&k, &request, ": the configuration is not kept");
	assert_int_equal(refusals_said(since, "policy") + refusals_said(since, "apply"), 2);
	assert_int_equal(k.w.inst.kept->confirm.running, 1);
	assert_int_equal(k.w.inst.policies[0].limit_bps, GBIT);
	request = request_of(CHANGE_RELOAD);
	assert_int_equal(ask(&k, &request), 0);
	settle(&k);
	assert_int_equal(reload_last_change(&k.w.inst)->error, 0);
	assert_non_null(strstr(reload_last_change(&k.w.inst)->messages, "warning: "));
	assert_non_null(
		strstr(reload_last_change(&k.w.inst)->messages, ": the configuration is not kept"));
	assert_int_equal(reload_last_change(&k.w.inst)->kept_error, -ENOENT);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 3 * GBIT);
	assert_int_equal(k.w.inst.kept->confirm.running, 0);
	assert_non_null(k.w.inst.kept->trouble);
	assert_int_equal(mkdir(k.directory, 0700), 0);
	free(text);
}

/*
 * Only a record finds no room. The reload and the health of the limiter report the reason until it
 * is kept.
 */
TEST(test_record_has_no_place)
{
	struct change_request request = request_of(CHANGE_RELOAD);
	uint64_t since = events_number();
	ENDED_BY(close_kept) struct kept_world k;
	char path[96], text[128];

	open_kept(&k);
	snprintf(path, sizeof(path), "%s/new", k.directory);
	assert_int_equal(mkdir(path, 0700), 0); /* where records are written */
	instance_world_write(&k.w, A("3Gbit/s"));
	assert_int_equal(ask(&k, &request), 0);
	settle(&k);
	assert_int_equal(reload_last_change(&k.w.inst)->error, 0);
	assert_int_equal(reload_last_change(&k.w.inst)->kept_error, -EISDIR);
	assert_string_equal(k.w.inst.kept->trouble, strerror(EISDIR));
	snprintf(text, sizeof(text), "%s: changes and their authors are recorded again",
		k.directory);
	assert_int_equal(times_said(since, text), 0);
	assert_int_equal(rmdir(path), 0);
	request = request_of(CHANGE_RELOAD);
	assert_int_equal(change(&k, &request), 0);
	assert_null(k.w.inst.kept->trouble);
	assert_int_equal(times_said(since, text), 1);
	request = request_of(CHANGE_RELOAD);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(times_said(since, text), 1); /* the previous one was kept, too */
}

/* A damaged record is skipped for the newest valid one below it. */
TEST(test_damaged)
{
	struct change_request request;
	ENDED_BY(close_kept) struct kept_world k;

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
}

/*
 * Without a readable record of the running configuration, the file is used and a warning reports
 * it.
 */
TEST(test_carried_unknown)
{
	struct change_request request = limit_of("2Gbit/s");
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	assert_int_equal(change(&k, &request), 0);
	k.w.inst.kept->configuration_of = 0; /* like after a start */
	damage(&k, "0000000002.good.json");
	reload_to(&k, A("1Gbit/s") ", " B);
	assert_int_equal(k.w.inst.policies[0].limit_bps, GBIT);
	assert_non_null(strstr(reload_last_change(&k.w.inst)->messages,
		": cannot read the running configuration: Bad message: changes made with "
		"\"weirctl policy\" are lost\n"));
	reload_to(&k, A("1Gbit/s"));
	assert_string_equal(reload_last_change(&k.w.inst)->messages, "");
}

/* With "on_refused": "stop" the limiter ends with the reason, and runs no earlier configuration. */
TEST(test_stops_when_refused)
{
	ENDED_BY(close_kept) struct kept_world k;

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
	assert_non_null(strstr(k.said, "has \"on_refused\": \"stop\""));
}

/* Words about the running configuration, from a made-up `about`, in a buffer of each size. */
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

TEST(test_words)
{
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
	/* Names until the buffer is full. */
	expect_kept_words("{" MADE ", " SAME ", \"singles\": [1]}", NULL, 12, false, "the file; 1");
	expect_kept_words("{" MADE ", " SAME ", \"singles\": [1]}", NULL, 5, false, "the ");
}

/* The newest lines are in memory, the oldest of them first. */
TEST(test_history)
{
	struct kept kept = {.history = json_array()};

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

/* A group with a missing key file, like all key files in this directory. */
#define KEYLESS                                                                          \
	"'gossip': {'listen': '127.9.9.9:7946', 'key_file': '/nowhere/key', 'roster': [" \
	"{'name': 'test', 'address': '127.9.9.9:7946'}, {'name': 'peer', 'address': "    \
	"'127.9.9.8:7946'}]}, "

/* Without a state directory the file runs, or nothing does, with the reason on `err`. */
TEST(test_unkept)
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

	instance_world_open(&k.w, A("1Gbit/s"));
	for (size_t i = 0; i < COUNT(rows); i++) {
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

/*
 * A missing key is an error of the file, and of the last good configuration if that names it too.
 */
TEST(test_key_is_gone)
{
	char refused[160];
	ENDED_BY(close_kept) struct kept_world k;

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
		"weir: %s: refused: the last good configuration runs, of 20", k.w.file);
	assert_non_null(strstr(k.said, refused));
	forget(&k);
	k.w.more = "";
}

/* Writes a record like an apply: the file is the same, and the running configuration is not. */
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

/* If the record of the running configuration is invalid on this machine, only the file runs. */
TEST(test_record_will_not_do)
{
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	record(&k, KEYLESS, A("2Gbit/s"));
	forget(&k);
	choose(&k, A("1Gbit/s"));
	assert_int_equal(k.chosen, 0);
	assert_int_equal(k.config->policies[0].limit_bps, GBIT);
	assert_non_null(strstr(k.said, "the last good configuration"));
	assert_non_null(strstr(k.said, "gossip.key_file"));
	assert_null(k.w.inst.kept->refused);
	assert_int_equal(k.w.inst.kept->confirm.running, 0); /* not kept so far */
	assert_non_null(k.w.inst.kept->document);
	assert_false(kept_differs(k.w.inst.kept));
	expect_words(&k, "the file");
	assert_int_equal(json_array_size(json_object_get(k.w.inst.kept->about, "singles")), 0);
}

/*
 * Puts a directory in the place of new records, so that none can be written. Returns its path for
 * rmdir().
 */
static void take_place(const struct kept_world *k, char path[96])
{
	snprintf(path, 96, "%s/new", k->directory);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* A change in force without a record: single changes remain on top of it. */
static void reload_unkept(struct kept_world *k, unsigned n_policies)
{
	struct change_request request = request_of(CHANGE_RELOAD);

	assert_int_equal(ask(k, &request), 0);
	settle(k);
	assert_int_equal(reload_last_change(&k->w.inst)->error, 0);
	assert_int_equal(k->w.inst.kept->confirm.running, 0);
	assert_int_equal(k->w.inst.n_policies, n_policies);
	assert_int_equal(k->w.inst.policies[0].limit_bps, 2 * GBIT);
	assert_non_null(k->w.inst.kept->trouble);
}

/* Opens a limiter with a single change of one policy, and then loads a file that cannot be kept. */
static void open_unkept(struct kept_world *k, char path[96])
{
	struct change_request request = limit_of("2Gbit/s");

	open_kept(k);
	assert_int_equal(change(k, &request), 0);
	take_place(k, path);
	instance_world_write(&k->w, A("1Gbit/s") ", " B);
	reload_unkept(k, 2);
}

/*
 * The disk was full, and has no record of the running configuration. Memory has it with the single
 * changes until a record succeeds. A rejected change in between makes no record, and no reply
 * reports one.
 */
TEST(test_running_is_not_kept)
{
	struct change_request request;
	ENDED_BY(close_kept) struct kept_world k;
	char path[96];

	open_unkept(&k, path);
	reload_unkept(&k, 2);
	request = edit_of("{\"do\":\"remove\",\"name\":\"none\"}");
	assert_int_not_equal(change(&k, &request), 0);
	assert_non_null(k.w.inst.kept->trouble);
	request = edit_of("{\"do\":\"remove\",\"name\":\"b\"}");
	expect_refused(&k, &request, "the configuration is not kept");
	assert_int_equal(rmdir(path), 0);
	request = request_of(CHANGE_RELOAD);
	assert_int_equal(change(&k, &request), 0);
	assert_null(k.w.inst.kept->trouble);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
	expect_number(&k, 3);
	expect_words(&k, "; 1 changed singly");
	forget(&k);
	choose(&k, NULL);
	assert_int_equal(k.config->n_policies, 2);
	assert_int_equal(k.config->policies[0].limit_bps, 2 * GBIT);
}

/* The next change of one policy keeps the rest as well. */
TEST(test_edit_of_what_is_not_kept)
{
	struct change_request request;
	ENDED_BY(close_kept) struct kept_world k;
	char path[96];

	open_unkept(&k, path);
	assert_int_equal(rmdir(path), 0);
	request = limit_of("3Gbit/s");
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(json_integer_value(line(&k, "n_changes")), 1);
	assert_null(k.w.inst.kept->trouble);
	assert_int_equal(k.w.inst.n_policies, 2);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 3 * GBIT);
	expect_number(&k, 3);
}

/* A rollback leads to the last record. */
TEST(test_back_from_what_is_not_kept)
{
	struct change_request request = request_of(CHANGE_ROLLBACK);
	ENDED_BY(close_kept) struct kept_world k;
	char path[96];

	open_unkept(&k, path);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.n_policies, 1);
	assert_int_equal(json_integer_value(line(&k, "back_to")), 2);
}

TEST_GROUP(instance_world_start, instance_world_stop)
