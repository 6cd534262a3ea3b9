/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits that hold for a while, of a whole box: a schedule's, and an operator's, which is on the
 * disk before it holds, comes back after a start, and ends by itself.
 */
#include "instance_world.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "brain.h"
#include "clock.h"
#include "overrides.h"
#include "store/store.h"
#include "timed.h"
#include "wall.h"

#define PATIENCE_MS 60000
#define MBIT        UINT64_C(1000000)

#define ALWAYS "{'days': 'daily', 'from': '00:00', 'to': '24:00', 'limit': '2Mbit/s'}"
#define PLAIN  "{'name': 'plain', 'match': {'vlan': 1}, 'limit': '1Mbit/s', 'burst': '10kB'}"
#define DAILY                                                         \
	"{'name': 'daily', 'match': {'vlan': 2}, 'limit': '1Mbit/s'," \
	" 'schedule': {'zone': 'UTC', 'entries': [" ALWAYS "]}}"
#define COUNTED "{'name': 'count', 'match': {'vlan': 3}, 'limit': '60/min', 'count': 'packets'}"

struct timed_world {
	struct instance_world w;
	char top[32], store[64], more[128];
};

static void open_box(struct timed_world *t)
{
	instance_world_open_more(&t->w, t->more, PLAIN ", " DAILY ", " COUNTED);
}

static void open_timed(struct timed_world *t)
{
	*t = (struct timed_world){.top = "/tmp/weir-timed-XXXXXX"};
	assert_non_null(mkdtemp(t->top));
	snprintf(t->store, sizeof(t->store), "%s/store", t->top);
	snprintf(t->more, sizeof(t->more), "'ledger': {'store': '%s'}, ", t->store);
	open_box(t);
}

static void close_timed(struct timed_world *t)
{
	char command[64];

	instance_world_close(&t->w);
	snprintf(command, sizeof(command), "rm -r %s", t->top);
	assert_int_equal(system(command), 0);
}

static struct override override_of(const char *policy, const char *terms, int64_t until)
{
	struct override override = {.until = until, .uid = 7};

	snprintf(override.policy, sizeof(override.policy), "%s", policy);
	snprintf(override.terms, sizeof(override.terms), "%s", terms);
	return override;
}

/* What is said of it, "" if it is taken. */
static const char *give(struct timed_world *t, const struct override *override)
{
	static char said[512];
	FILE *err = fmemopen(said, sizeof(said), "w");
	int ret;

	memset(said, 0, sizeof(said));
	ret = timed_override(&t->w.inst, override, err);
	fclose(err);
	assert_int_equal(ret == 0, said[0] == '\0');
	return said;
}

static const char *take_back(struct timed_world *t, const char *policy)
{
	static char said[512];
	FILE *err = fmemopen(said, sizeof(said), "w");
	int ret;

	memset(said, 0, sizeof(said));
	ret = timed_override_off(&t->w.inst, policy, 8, err);
	fclose(err);
	assert_int_equal(ret == 0, said[0] == '\0');
	return said;
}

/* It is on the disk; and looked at. */
static void await_saved(struct timed_world *t)
{
	struct pollfd fd = {.fd = timed_fd(&t->w.inst), .events = POLLIN};

	assert_true(timed_last_request(&t->w.inst).saving);
	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	timed_read(&t->w.inst);
	assert_false(timed_last_request(&t->w.inst).saving);
	timed_run(&t->w.inst, control_now());
}

static uint64_t limit_now(const struct timed_world *t, unsigned policy)
{
	struct limiter_view view;

	limiter_view(t->w.inst.limiter, policy, &view);
	assert_int_equal(
		timed_of(&t->w.inst, policy).terms.limit_bps, (uint64_t)(view.effective_limit * 8));
	return timed_of(&t->w.inst, policy).terms.limit_bps;
}

static int64_t in(int64_t seconds)
{
	return (int64_t)time(NULL) + seconds;
}

static void test_schedule(void **state)
{
	struct timed_world t;
	struct timed_view view;

	(void)state;
	open_timed(&t);
	assert_int_equal(timed_count(&t.w.inst), 1);
	assert_int_equal(timed_policy(&t.w.inst, 0), 1);
	assert_int_equal(timed_count_by(&t.w.inst, TIMED_SCHEDULE), 1);
	assert_int_equal(timed_count_by(&t.w.inst, TIMED_OVERRIDE), 0);
	view = timed_of(&t.w.inst, 1);
	assert_true(view.is_timed && view.known && view.zone);
	assert_int_equal(view.by, TIMED_SCHEDULE);
	assert_int_equal(limit_now(&t, 1), 2 * MBIT);
	view = timed_of(&t.w.inst, 0);
	assert_false(view.is_timed);
	assert_int_equal(view.by, TIMED_PLAIN);
	assert_int_equal(limit_now(&t, 0), MBIT);
	/* It is looked at again, and nothing turns. */
	assert_in_range(timed_next(&t.w.inst), 1, control_now() + SECOND_NS / 2);
	assert_false(timed_run(&t.w.inst, control_now() - SECOND_NS));
	assert_false(timed_run(&t.w.inst, timed_next(&t.w.inst)));
	close_timed(&t);
}

/* It holds when it is on the disk, over the schedule's, until it is taken back. */
static void test_override(void **state)
{
	struct override override = override_of("plain", "{\"limit\": \"5Mbit/s\"}", in(3600));
	struct timed_world t;
	struct timed_view view;

	(void)state;
	open_timed(&t);
	assert_int_equal(timed_fd(&t.w.inst), -1);
	assert_int_equal(timed_last_request(&t.w.inst).number, 0);
	assert_string_equal(give(&t, &override), "");
	assert_int_equal(timed_last_request(&t.w.inst).number, 1);
	assert_int_equal(limit_now(&t, 0), MBIT);
	assert_non_null(strstr(give(&t, &override), "another override is being saved"));
	await_saved(&t);
	view = timed_of(&t.w.inst, 0);
	assert_int_equal(limit_now(&t, 0), 5 * MBIT);
	assert_int_equal(view.by, TIMED_OVERRIDE);
	assert_int_equal(view.until, override.until);
	assert_int_equal(view.uid, 7);
	assert_int_equal(timed_count_by(&t.w.inst, TIMED_OVERRIDE), 1);
	override = override_of("daily", "{\"limit\": \"6Mbit/s\", \"burst\": \"20kB\"}", in(60));
	assert_string_equal(give(&t, &override), "");
	await_saved(&t);
	assert_int_equal(limit_now(&t, 1), 6 * MBIT);
	assert_int_equal(timed_of(&t.w.inst, 1).terms.burst_bytes, 20000);
	assert_string_equal(take_back(&t, "daily"), "");
	await_saved(&t);
	assert_int_equal(limit_now(&t, 1), 2 * MBIT);
	assert_int_equal(limit_now(&t, 0), 5 * MBIT);
	assert_string_equal(take_back(&t, "daily"), "daily: no override\n");
	assert_string_equal(timed_last_request(&t.w.inst).error, "");
	close_timed(&t);
}

static void test_over_a_start(void **state)
{
	struct override override = override_of("plain", "{\"limit\": \"5Mbit/s\"}", in(3600));
	struct overrides list;
	struct timed_world t;

	(void)state;
	open_timed(&t);
	assert_string_equal(give(&t, &override), "");
	await_saved(&t);
	instance_world_close(&t.w);
	open_box(&t);
	assert_int_equal(limit_now(&t, 0), 5 * MBIT);
	assert_int_equal(timed_of(&t.w.inst, 0).by, TIMED_OVERRIDE);
	instance_world_close(&t.w);
	/* One that has ended since does not hold; nor one that the policy cannot have any more. */
	assert_int_equal(overrides_load(t.store, &list), 0);
	list.list[0].until = in(-1);
	override = override_of("count", "{\"limit\": \"5Mbit/s\"}", in(3600));
	assert_int_equal(overrides_put(&list, &override), 0);
	assert_int_equal(overrides_save(t.store, &list), 0);
	open_box(&t);
	assert_int_equal(limit_now(&t, 0), MBIT);
	assert_int_equal(timed_of(&t.w.inst, 2).by, TIMED_PLAIN);
	close_timed(&t);
}

/* It ends by itself, and is forgotten. */
static void test_ends(void **state)
{
	struct override override = override_of("plain", "{\"limit\": \"5Mbit/s\"}", in(2));
	const struct timespec moment = {.tv_nsec = 50 * MS_NS};
	struct timed_world t;

	(void)state;
	open_timed(&t);
	assert_string_equal(give(&t, &override), "");
	await_saved(&t);
	while (in(0) <= override.until) {
		nanosleep(&moment, NULL);
		timed_run(&t.w.inst, control_now());
	}
	timed_run(&t.w.inst, timed_next(&t.w.inst));
	assert_int_equal(limit_now(&t, 0), MBIT);
	assert_string_equal(take_back(&t, "plain"), "plain: no override\n");
	close_timed(&t);
}

static void test_refused(void **state)
{
	static const struct {
		const char *policy, *terms;
		int64_t lasts;
		const char *said;
	} rows[] = {
		{"nobody", "{\"limit\": \"5Mbit/s\"}", 60, "nobody: no such policy\n"},
		{"plain", "{\"limit\": \"5Mbit/s\"}", -1,
			"until: expected a time that is not over\n"},
		{"plain", "{\"limit\": \"5Mbat/s\"}", 60, "5Mbat/s"},
		{"count", "{\"limit\": \"5Mbit/s\"}", 60, "5Mbit/s"},
	};
	struct timed_world t;

	(void)state;
	open_timed(&t);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct override override = override_of(
			rows[i].policy, rows[i].terms, in(rows[i].lasts));
		const char *said = give(&t, &override);

		if (!strstr(said, rows[i].said))
			fail_msg("row %zu: %s", i, said);
	}
	assert_int_equal(timed_last_request(&t.w.inst).number, 0);
	assert_true(timed_last_request(&t.w.inst).error[0] == '\0');
	instance_world_close(&t.w);
	/* What cannot be kept does not hold. */
	snprintf(t.more, sizeof(t.more), "'ledger': {'store': '/proc/none/store'}, ");
	open_box(&t);
	assert_string_equal(give(&t, &(struct override){.policy = "plain",
					     .terms = "{\"limit\": \"5Mbit/s\"}",
					     .until = in(60)}),
		"");
	await_saved(&t);
	assert_non_null(strstr(timed_last_request(&t.w.inst).error, "/proc/none/store: No such"));
	assert_int_equal(limit_now(&t, 0), MBIT);
	close_timed(&t);
}

/* An address of this process alone, as others run the same test. */
#define GROUP                                                              \
	"'gossip': {'listen': '127.%1$u.%2$u.82:7946', 'insecure': true, " \
	"'timeout': '500ms', 'roster': ["                                  \
	"{'name': 'test', 'address': '127.%1$u.%2$u.82:7946'}%3$s]}, "     \
	"'ledger': {'store': '%4$s', 'lease': '2s', 'promise': 0}, "
#define PEER ", {'name': 'peer', 'address': '127.%u.%u.83:7946'}"
#define FIRM                                                                           \
	"{'name': 'firm', 'match': {'vlan': 4}, 'limit': '1Gbit/s', 'burst': '10MB', " \
	"'guarantee': 'conserved'}"
#define TOTAL "{'name': 'total', 'match': {'vlan': 5}, 'allocator': 'quota', 'total': '1GB'}"

/* With nobody to be heard in its time it goes by its own clock. */
static void await_time(struct timed_world *t)
{
	const struct timespec moment = {.tv_nsec = 10 * MS_NS};
	struct instance *inst = &t->w.inst;

	for (unsigned i = 0; limiter_wall_s(inst->limiter, control_now()) == TIME_UNKNOWN; i++) {
		assert_true(i < PATIENCE_MS / 10);
		brain_run(inst, control_now());
		wall_look(inst);
		nanosleep(&moment, NULL);
	}
}

/* What is said of another limit for a policy of a limiter that has a peer, or has none. */
static const char *give_of_group(bool peer, const char *policy)
{
	unsigned id = (unsigned)getpid(), high = 1 + id / 256 % 254, low = id % 256;
	char other[96], more[512];
	struct override override;
	struct timed_world t = {.top = "/tmp/weir-timed-XXXXXX"};
	const char *said;

	assert_non_null(mkdtemp(t.top));
	snprintf(t.store, sizeof(t.store), "%s/store", t.top);
	assert_int_equal(store_create(t.store, (struct store_identity){0}), 0);
	snprintf(other, sizeof(other), PEER, high, low);
	snprintf(more, sizeof(more), GROUP, high, low, peer ? other : "", t.store);
	instance_world_open_more(&t.w, more, PLAIN ", " FIRM ", " TOTAL);
	override = override_of(policy, "{\"limit\": \"5Mbit/s\"}", in(60));
	if (peer) /* whose clock may be another */
		assert_string_equal(
			give(&t, &override), "the limiter does not know what time it is\n");
	await_time(&t);
	said = give(&t, &override);
	if (!said[0])
		await_saved(&t);
	close_timed(&t);
	return said;
}

/* A limit that all have to have alike is not changed at one of them, nor is what is a total. */
static void test_refused_kinds(void **state)
{
	(void)state;
	assert_string_equal(give_of_group(true, "plain"), "");
	assert_string_equal(give_of_group(false, "firm"), "");
	assert_non_null(strstr(give_of_group(true, "firm"), "firm: it is conserved, and all "));
	assert_non_null(strstr(give_of_group(true, "total"), "total: it has a total, which is "));
	assert_non_null(strstr(give_of_group(false, "total"), "total: it has a total, which is "));
}

/* What peers are told of an operator's limit, of which they see whether it is the same; 0: none. */
static uint64_t told_of(struct timed_world *t, unsigned policy)
{
	struct limiter_policy limits[3] = {0};
	struct timed_list *list = NULL;

	assert_int_equal(timed_plan(&t->w.inst, t->w.inst.policies, 3, limits, &list), 0);
	timed_list_free(list);
	return limits[policy].override;
}

/* Any other number in it is another limit; the same one is the same, until when so ever. */
static void test_told(void **state)
{
	static const struct {
		const char *policy, *terms;
		unsigned index;
	} rows[] = {
		{"plain", "{\"limit\": \"5Mbit/s\"}", 0},
		{"plain", "{\"limit\": \"6Mbit/s\"}", 0},
		{"plain", "{\"limit\": \"6Mbit/s\", \"burst\": \"30kB\"}", 0},
		{"count", "{\"limit\": \"120/min\"}", 2},
		{"count", "{\"limit\": \"120/h\"}", 2},
	};
	enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
	uint64_t told[ROWS];
	struct timed_world t;

	(void)state;
	open_timed(&t);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(told_of(&t, i), 0);
	for (unsigned i = 0; i < ROWS; i++) {
		for (unsigned again = 0; again < 2; again++) {
			struct override override = override_of(
				rows[i].policy, rows[i].terms, in(3600 + again));

			assert_string_equal(give(&t, &override), "");
			await_saved(&t);
			told[i] = again ? told[i] : told_of(&t, rows[i].index);
			assert_int_equal(told_of(&t, rows[i].index), told[i]);
		}
		assert_true(told[i] != 0);
		for (unsigned k = 0; k < i; k++)
			assert_true(told[k] != told[i]);
	}
	assert_int_equal(told_of(&t, 1), 0); /* its schedule's is the file's */
	assert_string_equal(take_back(&t, "plain"), "");
	await_saved(&t);
	assert_int_equal(told_of(&t, 0), 0);
	assert_int_equal(told_of(&t, 2), told[ROWS - 1]);
	close_timed(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_schedule),
		cmocka_unit_test(test_override),
		cmocka_unit_test(test_over_a_start),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_kinds),
		cmocka_unit_test(test_told),
	};

	return cmocka_run_group_tests(tests, instance_world_start, instance_world_stop);
}
