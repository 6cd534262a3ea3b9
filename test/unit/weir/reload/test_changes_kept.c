/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What is kept of changes, and what a start runs by it: also where records are damaged or cannot be
 * written, or where nothing is kept.
 */
#include "instance_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "change/keep.h"
#include "config/load.h"
#include "event.h"
#include "kept_world.h"

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

/* How often it is said since then that a change is refused, and by what words of the change. */
static unsigned refusals_said(uint64_t since, const char *what)
{
	char text[96];

	snprintf(text, sizeof(text), "%s refused; nothing has changed", what);
	return times_said(since, text);
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
		": cannot read the running configuration: Bad message: changes made with "
		"\"weirctl policy\" are lost\n"));
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

/* A directory stands where records are written, so that none can be; its path is for rmdir(). */
static void take_place(const struct kept_world *k, char path[96])
{
	snprintf(path, 96, "%s/new", k->directory);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* In force, and not kept: what was changed singly stays on top of it. */
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

/* One policy was changed singly, and then another file came that could not be kept. */
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
 * What runs is nowhere on the disk, which was full: it is remembered, with what was changed singly,
 * until it can be kept. What is refused meanwhile keeps nothing, and nobody is told that it has.
 */
static void test_running_is_not_kept(void **state)
{
	struct change_request request;
	struct kept_world k;
	char path[96];

	(void)state;
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
	close_kept(&k);
}

/* The next change of one policy keeps the rest as well. */
static void test_edit_of_what_is_not_kept(void **state)
{
	struct change_request request;
	struct kept_world k;
	char path[96];

	(void)state;
	open_unkept(&k, path);
	assert_int_equal(rmdir(path), 0);
	request = limit_of("3Gbit/s");
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(json_integer_value(line(&k, "n_changes")), 1);
	assert_null(k.w.inst.kept->trouble);
	assert_int_equal(k.w.inst.n_policies, 2);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 3 * GBIT);
	expect_number(&k, 3);
	close_kept(&k);
}

/* And there is a way back, to what was kept last. */
static void test_back_from_what_is_not_kept(void **state)
{
	struct change_request request = request_of(CHANGE_ROLLBACK);
	struct kept_world k;
	char path[96];

	(void)state;
	open_unkept(&k, path);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.n_policies, 1);
	assert_int_equal(json_integer_value(line(&k, "back_to")), 2);
	close_kept(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_kept),
		cmocka_unit_test(test_starts),
		cmocka_unit_test(test_two_of_one_directory),
		cmocka_unit_test(test_kept_already),
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
		cmocka_unit_test(test_running_is_not_kept),
		cmocka_unit_test(test_edit_of_what_is_not_kept),
		cmocka_unit_test(test_back_from_what_is_not_kept),
	};

	return cmocka_run_group_tests(tests, instance_world_start, instance_world_stop);
}
