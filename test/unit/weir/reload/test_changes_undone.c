/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Changes that are undone: by a rollback, or without a confirmation in time.
 */
#include "instance_world.h"
#include "scope.h"

#include "base/prng.h"
#include "base/time.h"
#include "clock.h"
#include "kept_world.h"

/* Back to the previous configuration, to an older one, and forward again. */
TEST(test_rollback)
{
	struct change_request request = limit_of("2Gbit/s");
	ENDED_BY(close_kept) struct kept_world k;

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
}

/* A change without a confirmation is undone, and until then no other is accepted. */
TEST(test_undone)
{
	struct change_request request = limit_of("2Gbit/s");
	struct confirm *confirm;
	ENDED_BY(close_kept) struct kept_world k;

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
	confirm->until_ns = control_now(); /* an hour later */
	reload_advance(&k.w.inst);
	settle(&k);
	assert_int_equal(k.w.inst.policies[0].limit_bps, GBIT);
	assert_string_equal(json_string_value(line(&k, "what")), "undo");
	assert_false(confirm_waits(confirm));
	assert_int_equal(confirm->running, 1);
}

/* A confirmation makes it the last good one; a rollback undoes it. */
TEST(test_confirmed)
{
	struct change_request request = limit_of("2Gbit/s");
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	request.within_ns = 3600 * SECOND_NS;
	assert_int_equal(change(&k, &request), 0);
	reload_request(&k.w.inst, "test", getuid()); /* the file has no effect meanwhile */
	settle(&k);
	assert_int_equal(reload_last(&k.w.inst)->error, -EBUSY);
	assert_true(reload_last(&k.w.inst)->superseded); /* the file is not the reason */
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
}

/* A change is not confirmed if the process ends before. */
TEST(test_ends_unconfirmed)
{
	struct change_request request = limit_of("2Gbit/s");
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	request.within_ns = 3600 * SECOND_NS;
	assert_int_equal(change(&k, &request), 0);
	forget(&k);
	choose(&k, NULL);
	assert_int_equal(k.config->policies[0].limit_bps, GBIT);
	assert_int_equal(
		json_integer_value(json_object_get(k.w.inst.kept->start, "not_confirmed")), 2);
}

/* A rollback to a configuration that is not kept, and one to a damaged record. */
TEST(test_nothing_to_go_back_to)
{
	struct change_request request = request_of(CHANGE_ROLLBACK);
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	expect_refused(&k, &request, "nothing to roll back to: ");
	request.number = 99;
	expect_refused(&k, &request,
		"configuration 99 is not kept: \"weirctl rollback\" takes 1; \"weirctl history\"");
	assert_int_equal(json_integer_value(line(&k, "back_to")), 99);
	reload_to(&k, A("2Gbit/s"));
	reload_to(&k, A("3Gbit/s"));
	damage(&k, "0000000001.good.json");
	request.number = 1;
	expect_refused(&k, &request,
		"configuration 1 is damaged on the disk: \"weirctl rollback\" takes 3 2 1; ");
	request.number = 0; /* the previous one, which is intact */
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.policies[0].limit_bps, 2 * GBIT);
}

/* A failed undo is repeated after ten seconds; the change stays in force until then. */
TEST(test_undone_later)
{
	struct change_request request = limit_of("2Gbit/s");
	struct confirm *confirm;
	ENDED_BY(close_kept) struct kept_world k;
	uint64_t now;

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
	assert_string_equal(reload_state(&k.w.inst), "idle"); /* too early */
	request = request_of(CHANGE_CONFIRM);                 /* an operator might still want it */
	assert_int_equal(change(&k, &request), 0);
	assert_true(reload_due_ns(&k.w.inst) == UINT64_MAX);
}

/* During a trial only its confirmation or its end is accepted, and other changes get a reason. */
TEST(test_waits_for_word)
{
	struct change_request request = limit_of("2Gbit/s");
	ENDED_BY(close_kept) struct kept_world k;

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
}

/* The limit that must be in force, and the one that a start would run. */
struct waited {
	unsigned running, good;
	bool waits;
};

#define LIMITS 3
#define STEPS  60

static void apply_limit(
	struct kept_world *k, char *const texts[], unsigned limit, bool within, struct waited *w)
{
	struct change_request request = request_of(CHANGE_APPLY);

	request.fd = sealed(texts[limit], F_SEAL_SHRINK | F_SEAL_WRITE);
	request.within_ns = within ? 3600 * SECOND_NS : 0;
	if (w->waits) {
		assert_int_equal(ask(k, &request), -EBUSY);
		return;
	}
	assert_int_equal(change(k, &request), 0);
	w->running = limit;
	w->waits = within;
	if (!within)
		w->good = limit;
}

/* Ends the wait by a confirmation, a rollback or the time. */
static void end_wait(struct kept_world *k, uint32_t how, struct waited *w)
{
	struct change_request request = request_of(how == 0 ? CHANGE_CONFIRM : CHANGE_ROLLBACK);

	if (!w->waits) {
		request.kind = CHANGE_CONFIRM;
		assert_int_equal(ask(k, &request), -EALREADY);
		return;
	}
	if (how < 2) {
		assert_int_equal(change(k, &request), 0);
	} else {
		k->w.inst.kept->confirm.until_ns = control_now();
		reload_advance(&k->w.inst);
		settle(k);
	}
	w->waits = false;
	if (how == 0)
		w->good = w->running;
	else
		w->running = w->good;
}

/*
 * Random applies of a few configurations, also of the running one, and all ends of their wait. Each
 * is accepted, no directory is called broken, and a start runs the last good configuration.
 */
TEST(test_waits_of_any_change)
{
	static const char *const policies[] = {A("1Gbit/s"), A("2Gbit/s"), A("3Gbit/s")};
	struct waited w = {0};
	struct prng rng;
	char *texts[LIMITS];
	ENDED_BY(close_kept) struct kept_world k;

	open_kept(&k);
	prng_seed(&rng, 7);
	for (unsigned i = LIMITS; i-- > 0;) { /* the last one written is in force already */
		instance_world_write(&k.w, policies[i]);
		texts[i] = text_of_file(&k);
	}
	for (unsigned i = 0; i < STEPS; i++) {
		if (prng_percent(&rng, w.waits ? 20 : 80))
			apply_limit(
				&k, texts, prng_below(&rng, LIMITS), prng_percent(&rng, 75), &w);
		else
			end_wait(&k, prng_below(&rng, 3), &w);
		assert_int_equal(confirm_waits(&k.w.inst.kept->confirm), w.waits);
		assert_int_equal(k.w.inst.policies[0].limit_bps, (w.running + 1) * GBIT);
		assert_true(json_is_true(line(&k, "ok")));
		assert_null(k.w.inst.kept->trouble);
	}
	forget(&k);
	choose(&k, NULL);
	assert_int_equal(k.config->policies[0].limit_bps, (w.good + 1) * GBIT);
	for (unsigned i = 0; i < LIMITS; i++)
		free(texts[i]);
}

/* Makes a change that must succeed, and returns true if the refusal of the reload is superseded. */
static bool supersedes(struct kept_world *k, struct change_request request)
{
	assert_int_equal(change(k, &request), 0);
	return reload_last(&k->w.inst)->superseded;
}

/*
 * A refused reload needs an operator until another configuration has been applied and confirmed, or
 * an earlier one rolled back to. A single change leaves the file as wrong as it was.
 */
TEST(test_refusal_superseded)
{
	struct change_request request = request_of(CHANGE_RELOAD);
	ENDED_BY(close_kept) struct kept_world k;
	ENDED_BY(free_at) char *text;

	open_kept(&k);
	instance_world_write(&k.w, A("2Gbit/s"));
	text = text_of_file(&k);
	instance_world_write(&k.w, A("2Gbat/s"));
	for (unsigned end = 0; end < 4; end++) {
		expect_refused(&k, &request, "2Gbat/s");
		assert_false(reload_last(&k.w.inst)->superseded);
		assert_false(supersedes(&k, limit_of("3Gbit/s")));
		request = request_of(CHANGE_APPLY);
		request.fd = sealed(text, F_SEAL_SHRINK | F_SEAL_WRITE);
		request.within_ns = end < 2 ? 3600 * SECOND_NS : 0;
		if (end < 3)
			assert_int_equal(supersedes(&k, request), end == 2);
		else
			close(request.fd);
		if (end == 0)
			assert_true(supersedes(&k, request_of(CHANGE_CONFIRM)));
		else if (end == 1) /* undone */
			assert_false(supersedes(&k, request_of(CHANGE_ROLLBACK)));
		else if (end == 3)
			assert_true(supersedes(&k, request_of(CHANGE_ROLLBACK)));
		request = request_of(CHANGE_RELOAD);
	}
	instance_world_write(&k.w, A("1Gbit/s"));
	assert_int_equal(change(&k, &request), 0);
	assert_false(reload_last(&k.w.inst)->superseded);
}

/* A confirmation that the disk refuses has a reason, and the change waits on. */
TEST(test_not_confirmed)
{
	struct change_request request = limit_of("2Gbit/s");
	ENDED_BY(close_kept) struct kept_world k;
	char from[96], to[96];

	open_kept(&k);
	request.within_ns = 3600 * SECOND_NS;
	assert_int_equal(change(&k, &request), 0);
	snprintf(from, sizeof(from), "%s/0000000002.trial.json", k.directory);
	snprintf(to, sizeof(to), "%s/away", k.directory);
	assert_int_equal(rename(from, to), 0);
	request = request_of(CHANGE_CONFIRM);
	expect_refused(&k, &request,
		": cannot keep the confirmation: No such file or directory: the change still waits");
	assert_true(confirm_waits(&k.w.inst.kept->confirm));
	assert_true(json_is_false(line(&k, "ok")));
	assert_string_equal(json_string_value(line(&k, "messages")), "No such file or directory");
	assert_int_equal(rename(to, from), 0);
	assert_int_equal(change(&k, &request), 0);
	assert_int_equal(k.w.inst.kept->confirm.good, 2);
	assert_true(json_is_true(line(&k, "ok")));
}

TEST_GROUP(instance_world_start, instance_world_stop)
