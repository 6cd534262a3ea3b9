/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Changes that are undone: by a rollback, or without a confirmation in time.
 */
#include "instance_world.h"
#include "scope.h"

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

TEST_GROUP(instance_world_start, instance_world_stop)
