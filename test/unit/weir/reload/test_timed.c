/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Limits for a time, in a whole limiter: schedules and overrides. An override is on the disk before
 * it is in force. It is restored at a start, and ends by itself.
 */
#include "instance_world.h"
#include "scope.h"
#include "control_clock.h"

#include <poll.h>
#include <time.h>

#include "base/time.h"
#include "limiter_task.h"
#include "clock.h"
#include "event.h"
#include "policy/zone.h"
#include "timed.h"
#include "store/store.h"
#include "wall.h"

#define PATIENCE_MS 60000
#define MBIT        UINT64_C(1000000)

#define ALWAYS "{'days': 'daily', 'from': '00:00', 'to': '24:00', 'limit': '2Mbit/s'}"
#define PLAIN  "{'name': 'plain', 'match': {'vlan': 1}, 'limit': '1Mbit/s', 'burst': '10kB'}"
#define DAILY                                                         \
	"{'name': 'daily', 'match': {'vlan': 2}, 'limit': '1Mbit/s'," \
	" 'schedule': {'zone': 'UTC', 'entries': [" ALWAYS "]}}"
#define COUNTED "{'name': 'count', 'match': {'vlan': 3}, 'limit': '60/min', 'count': 'packets'}"

/* The wall clock of a test, in seconds; 0: the limiter's own. */
static int64_t wall_s;

int64_t __real_limiter_wall_s(const struct limiter *limiter, uint64_t now_ns);
int64_t __wrap_limiter_wall_s(const struct limiter *limiter, uint64_t now_ns);

int64_t __wrap_limiter_wall_s(const struct limiter *limiter, uint64_t now_ns)
{
	return wall_s ? wall_s : __real_limiter_wall_s(limiter, now_ns);
}

/* A time this many ns from now, by the limiter's clock even if that is wrong; 0: now. */
static uint64_t exact_ns;

bool __real_timekeeper_time(const struct timekeeper *c, uint64_t now_ns, uint64_t *time_ns);
bool __wrap_timekeeper_time(const struct timekeeper *c, uint64_t now_ns, uint64_t *time_ns);

bool __wrap_timekeeper_time(const struct timekeeper *c, uint64_t now_ns, uint64_t *time_ns)
{
	*time_ns = exact_ns;
	return exact_ns || __real_timekeeper_time(c, now_ns, time_ns);
}

struct timed_world {
	struct instance_world w;
	char top[32], store[64], more[128];
};

#define FIRM                                                                           \
	"{'name': 'firm', 'match': {'vlan': 4}, 'limit': '1Gbit/s', 'burst': '10MB', " \
	"'guarantee': 'hard'}"

static void open_box(struct timed_world *t)
{
	instance_world_open_more(&t->w, t->more, PLAIN ", " DAILY ", " COUNTED);
}

static void make_timed_top(struct timed_world *t)
{
	*t = (struct timed_world){.top = "/tmp/weir-timed-XXXXXX"};
	assert_non_null(mkdtemp(t->top));
	snprintf(t->store, sizeof(t->store), "%s/store", t->top);
	snprintf(t->more, sizeof(t->more), "'ledger': {'store': '%s'}, ", t->store);
}

static void open_timed(struct timed_world *t)
{
	make_timed_top(t);
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

/* Returns the messages about it; "": it was accepted. */
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

/* Waits until the disk has it, and then runs the limiter. */
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

TEST_WITH(test_schedule, wait_long, NULL)
{
	uint64_t began = control_now();
	ENDED_BY(close_timed) struct timed_world t;
	struct timed_view view;

	open_timed(&t);
	assert_int_equal(timed_count(&t.w.inst), 1);
	assert_int_equal(timed_policy(&t.w.inst, 0), 1);
	assert_int_equal(timed_count_by(&t.w.inst, TIMED_SCHEDULE), 1);
	assert_int_equal(timed_count_by(&t.w.inst, TIMED_OVERRIDE), 0);
	view = timed_of(&t.w.inst, 1);
	assert_true(view.is_timed && view.known && view.zone);
	assert_int_equal(view.by, TIMED_SCHEDULE);
	assert_int_equal(view.uid, 0); /* no user has set it */
	assert_int_equal(limit_now(&t, 1), 2 * MBIT);
	view = timed_of(&t.w.inst, 0);
	assert_false(view.is_timed);
	assert_int_equal(view.by, TIMED_PLAIN);
	assert_int_equal(limit_now(&t, 0), MBIT);
	/* Another look changes nothing. */
	assert_in_range(
		timed_next(&t.w.inst), began + SECOND_NS / 2, control_now() + SECOND_NS / 2);
	assert_false(timed_run(&t.w.inst, control_now() - SECOND_NS));
	assert_false(timed_run(&t.w.inst, timed_next(&t.w.inst)));
}

/* An override is in force once it is on the disk, over the schedule, until it is taken back. */
TEST_WITH(test_override, wait_long, NULL)
{
	struct override override = override_of("plain", "{\"limit\": \"5Mbit/s\"}", in(3600));
	ENDED_BY(close_timed) struct timed_world t;
	struct timed_view view;

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
	assert_string_equal(take_back(&t, "daily"),
		"policy \"daily\" has no override: see \"weirctl limits\"\n");
	assert_string_equal(timed_last_request(&t.w.inst).error, "");
}

/* The first override of a limiter where no limit depends on the time. */
TEST_WITH(test_override_alone, wait_long, NULL)
{
	static const char *const policies[] = {PLAIN, PLAIN ", " FIRM};
	struct override override = override_of("plain", "{\"limit\": \"5Mbit/s\"}", in(2));

	for (size_t i = 0; i < COUNT(policies); i++) {
		ENDED_BY(close_timed) struct timed_world t;

		make_timed_top(&t);
		assert_int_equal(store_create(t.store, (struct store_identity){0}), 0);
		instance_world_open_more(&t.w, t.more, policies[i]);
		assert_string_equal(give(&t, &override), "");
		await_saved(&t);
		assert_int_equal(limit_now(&t, 0), 5 * MBIT);
		override.until = in(2);
	}
}

TEST_WITH(test_over_a_start, wait_long, NULL)
{
	struct override override = override_of("plain", "{\"limit\": \"5Mbit/s\"}", in(3600));
	struct overrides list;
	ENDED_BY(close_timed) struct timed_world t;

	open_timed(&t);
	assert_string_equal(give(&t, &override), "");
	await_saved(&t);
	instance_world_close(&t.w);
	open_box(&t);
	assert_int_equal(limit_now(&t, 0), 5 * MBIT);
	assert_int_equal(timed_of(&t.w.inst, 0).by, TIMED_OVERRIDE);
	instance_world_close(&t.w);
	/* An override has no effect after its end, or if the policy can no longer have it. */
	assert_int_equal(overrides_load(t.store, &list), 0);
	list.list[0].until = in(-1);
	override = override_of("count", "{\"limit\": \"5Mbit/s\"}", in(3600));
	assert_int_equal(overrides_put(&list, &override), 0);
	assert_int_equal(overrides_save(t.store, &list), 0);
	open_box(&t);
	assert_int_equal(limit_now(&t, 0), MBIT);
	assert_int_equal(timed_of(&t.w.inst, 2).by, TIMED_PLAIN);
}

/* An override ends by itself, and is removed. */
TEST_WITH(test_ends, wait_long, NULL)
{
	struct override override = override_of("plain", "{\"limit\": \"5Mbit/s\"}", in(2));
	const struct timespec moment = {.tv_nsec = 50 * MS_NS};
	ENDED_BY(close_timed) struct timed_world t;

	open_timed(&t);
	assert_string_equal(give(&t, &override), "");
	await_saved(&t);
	while (in(0) <= override.until) {
		nanosleep(&moment, NULL);
		timed_run(&t.w.inst, control_now());
	}
	timed_run(&t.w.inst, timed_next(&t.w.inst));
	assert_int_equal(limit_now(&t, 0), MBIT);
	assert_string_equal(take_back(&t, "plain"),
		"policy \"plain\" has no override: see \"weirctl limits\"\n");
}

TEST_WITH(test_refused, wait_long, NULL)
{
	static const struct {
		const char *policy, *terms;
		int64_t lasts;
		const char *said;
	} rows[] = {
		{"nobody", "{\"limit\": \"5Mbit/s\"}", 60,
			"policy \"nobody\": no such policy: see "},
		{"plain", "{\"limit\": \"5Mbit/s\"}", -1, "until: expected a time in the future\n"},
		{"plain", "{\"limit\": \"5Mbat/s\"}", 60, "5Mbat/s"},
		{"count", "{\"limit\": \"5Mbit/s\"}", 60, "5Mbit/s"},
	};
	ENDED_BY(close_timed) struct timed_world t;

	open_timed(&t);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct override override = override_of(
			rows[i].policy, rows[i].terms, in(rows[i].lasts));
		const char *said = give(&t, &override);

		if (!strstr(said, rows[i].said))
			fail_msg("row %zu: %s", i, said);
	}
	assert_int_equal(timed_last_request(&t.w.inst).number, 0);
	assert_true(timed_last_request(&t.w.inst).error[0] == '\0');
	instance_world_close(&t.w);
	/* Without a record there is no override in force. */
	snprintf(t.more, sizeof(t.more), "'ledger': {'store': '/proc/none/store'}, ");
	open_box(&t);
	assert_string_equal(give(&t, &(struct override){.policy = "plain",
					     .terms = "{\"limit\": \"5Mbit/s\"}",
					     .until = in(60)}),
		"");
	await_saved(&t);
	assert_non_null(strstr(timed_last_request(&t.w.inst).error, "/proc/none/store: No such"));
	assert_int_equal(limit_now(&t, 0), MBIT);
}

/* An address of this process only, because other processes run the same test. */
#define GROUP                                                              \
	"'gossip': {'listen': '127.%1$u.%2$u.82:7946', 'insecure': true, " \
	"'timeout': '500ms', 'roster': ["                                  \
	"{'name': 'test', 'address': '127.%1$u.%2$u.82:7946'}%3$s]}, "     \
	"'ledger': {'store': '%4$s', 'lease': '2s', 'promise': 0}, "
#define PEER  ", {'name': 'peer', 'address': '127.%u.%u.83:7946'}"
#define TOTAL "{'name': 'total', 'match': {'vlan': 5}, 'allocator': 'quota', 'total': '1GB'}"

/* Waits until the limiter, without a message from a peer, uses its own clock. */
static void await_time(struct timed_world *t)
{
	const struct timespec moment = {.tv_nsec = 10 * MS_NS};
	struct instance *inst = &t->w.inst;

	for (unsigned i = 0; limiter_wall_s(inst->limiter, control_now()) == TIME_UNKNOWN; i++) {
		assert_true(i < PATIENCE_MS / 10);
		limiter_task_run(inst, control_now());
		wall_look(inst);
		nanosleep(&moment, NULL);
	}
}

/* Returns the messages about an override in a limiter with or without a peer. */
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
	if (peer && strcmp(policy, "plain") == 0) /* the peer's clock might be another */
		assert_non_null(strstr(give(&t, &override), "clock is not set: try again"));
	await_time(&t);
	said = give(&t, &override);
	if (!said[0])
		await_saved(&t);
	close_timed(&t);
	return said;
}

#define FIRM_REFUSAL  "policy \"firm\" cannot have an override: it is a hard limit. "
#define TOTAL_REFUSAL "policy \"total\" cannot have an override: it has a quota: change "

/* One limiter of a group cannot override a hard limit, and none can override a quota. */
TEST_WITH(test_refused_kinds, wait_long, NULL)
{
	assert_string_equal(give_of_group(true, "plain"), "");
	assert_string_equal(give_of_group(false, "firm"), "");
	assert_non_null(strstr(give_of_group(true, "firm"), FIRM_REFUSAL));
	assert_non_null(strstr(give_of_group(true, "total"), TOTAL_REFUSAL));
	assert_non_null(strstr(give_of_group(false, "total"), TOTAL_REFUSAL));
}

/* Returns the hash that peers compare to detect a different override; 0: none. */
static uint64_t told_of(struct timed_world *t, unsigned policy)
{
	struct limiter_policy limits[3] = {0};
	struct timed_list *list = NULL;

	assert_int_equal(timed_plan(&t->w.inst, t->w.inst.policies, 3, limits, &list), 0);
	timed_list_free(list);
	return limits[policy].override;
}

/* Any other number in an override is another limit. The same limit with another end is equal. */
TEST_WITH(test_told, wait_long, NULL)
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
	enum { ROWS = COUNT(rows) };
	uint64_t told[ROWS];
	ENDED_BY(close_timed) struct timed_world t;

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
	assert_int_equal(told_of(&t, 1), 0); /* the schedule comes from the file */
	assert_string_equal(take_back(&t, "plain"), "");
	await_saved(&t);
	assert_int_equal(told_of(&t, 0), 0);
	assert_int_equal(told_of(&t, 2), told[ROWS - 1]);
}

/* Returns the log lines about policies and overrides since then. */
static const char *said_since(uint64_t since)
{
	static char lines[4096];

	lines[0] = '\0';
	for (; since < events_number(); since++) {
		json_t *said = events_get(since);
		const char *text;

		text = json_string_value(json_object_get(said, "text"));
		if (strncmp(text, "policy ", 7) == 0 || strncmp(text, "overrides: ", 11) == 0)
			strcat(strcat(lines, text), "\n");
		json_decref(said);
	}
	return lines;
}

/* Sets or removes an override, and returns its log lines. */
static const char *said_of(struct timed_world *t, const struct override *given, const char *back)
{
	uint64_t since = events_number();

	assert_string_equal(given ? give(t, given) : take_back(t, back), "");
	await_saved(t);
	return said_since(since);
}

#define MIDNIGHT INT64_C(1767571200) /* 2026-01-05T00:00:00Z */
#define HOUR     INT64_C(3600)

/* The log has the user of each override, then the limit in force, its reason and its end. */
TEST_WITH(test_said, wait_long, NULL)
{
	struct override override = override_of(
		"plain", "{\"limit\": \"5Mbit/s\"}", MIDNIGHT + 9 * HOUR);
	ENDED_BY(close_timed) struct timed_world t;

	wall_s = MIDNIGHT + 8 * HOUR;
	open_timed(&t);
	assert_string_equal(said_of(&t, &override, NULL),
		"policy plain: override by uid 7: {\"limit\": \"5Mbit/s\"} until "
		"2026-01-05T09:00:00Z\n"
		"policy plain: limit 5Mbit/s by override, until 2026-01-05T09:00:00Z\n");
	assert_string_equal(said_of(&t, NULL, "plain"),
		"policy plain: its override was taken back by uid 8\n"
		"policy plain: limit 1Mbit/s by configuration, until for good\n");
	override = override_of("count", "{\"limit\": \"120/h\"}", MIDNIGHT + 10 * HOUR);
	assert_string_equal(said_of(&t, &override, NULL),
		"policy count: override by uid 7: {\"limit\": \"120/h\"} until "
		"2026-01-05T10:00:00Z\n"
		"policy count: limit 120/h by override, until 2026-01-05T10:00:00Z\n");
	override = override_of("daily", "{\"limit\": \"3Mbit/s\"}", MIDNIGHT + 10 * HOUR);
	said_of(&t, &override, NULL);
	assert_string_equal(said_of(&t, NULL, "daily"),
		"policy daily: its override was taken back by uid 8\n"
		"policy daily: limit 2Mbit/s by schedule, until for good\n");
	/* An equal limit again changes nothing. */
	override = override_of("count", "{\"limit\": \"120/h\"}", MIDNIGHT + 11 * HOUR);
	assert_string_equal(said_of(&t, &override, NULL),
		"policy count: override by uid 7: {\"limit\": \"120/h\"} until "
		"2026-01-05T11:00:00Z\n");
	assert_int_equal(timed_of(&t.w.inst, 2).until, MIDNIGHT + 11 * HOUR);
	instance_world_close(&t.w);
	snprintf(t.more, sizeof(t.more), "'ledger': {'store': '/proc/none/store'}, ");
	open_box(&t);
	assert_string_equal(said_of(&t, &override, NULL),
		"policy count: request of uid 7 has no effect: cannot save it in /proc/none/store: "
		"No such file or directory\n");
	wall_s = 0;
}

#define HALF                                                                                 \
	"{'name': 'half', 'match': {'vlan': 2}, 'limit': '1Mbit/s',"                         \
	" 'schedule': {'zone': 'UTC', 'entries': [{'days': 'daily', 'from': '08:00', 'to': " \
	"'20:00', 'limit': '2Mbit/s'}]}}"

/* A limit changes at its second, and a correction of the clock does not change it back. */
TEST_WITH(test_turns, wait_long, NULL)
{
	static const struct {
		int64_t at;
		bool turns;
		enum timed_by by;
		uint64_t limit;
		int64_t until;
	} rows[] = {
		{7 * HOUR, false, TIMED_PLAIN, MBIT, 8 * HOUR},
		{8 * HOUR - 1, false, TIMED_PLAIN, MBIT, 8 * HOUR},
		{8 * HOUR, true, TIMED_SCHEDULE, 2 * MBIT, 20 * HOUR},
		{20 * HOUR - 1, false, TIMED_SCHEDULE, 2 * MBIT, 20 * HOUR},
		{20 * HOUR, true, TIMED_PLAIN, MBIT, 32 * HOUR},
		{20 * HOUR - 59, false, TIMED_PLAIN, MBIT, 32 * HOUR},
		{20 * HOUR - 60, true, TIMED_SCHEDULE, 2 * MBIT, 20 * HOUR},
		{20 * HOUR, true, TIMED_PLAIN, MBIT, 32 * HOUR},
		{TIME_UNKNOWN, false, TIMED_PLAIN, MBIT, 32 * HOUR},
		{7 * HOUR, false, TIMED_PLAIN, MBIT, 8 * HOUR},
		{44 * HOUR - 1, true, TIMED_SCHEDULE, 2 * MBIT, 44 * HOUR},
	};
	struct timed_world t = {.w.more = ""};

	wall_s = MIDNIGHT + 7 * HOUR;
	instance_world_open(&t.w, PLAIN ", " HALF);
	for (size_t i = 0; i < COUNT(rows); i++) {
		struct timed_view view;
		uint64_t since = events_number(), began = control_now();

		wall_s = rows[i].at == TIME_UNKNOWN ? TIME_UNKNOWN : MIDNIGHT + rows[i].at;
		assert_int_equal(timed_run(&t.w.inst, timed_next(&t.w.inst)), rows[i].turns);
		view = timed_of(&t.w.inst, 1);
		assert_int_equal(view.by, rows[i].by);
		assert_int_equal(limit_now(&t, 1), rows[i].limit);
		assert_int_equal(view.until, MIDNIGHT + rows[i].until);
		assert_true(view.known);
		assert_int_equal(said_since(since)[0] != '\0', rows[i].turns);
		assert_in_range(timed_next(&t.w.inst), began, control_now() + SECOND_NS / 2);
	}
	wall_s = 0;
	instance_world_close(&t.w);
}

/* The next look is at the next change of a limit, or earlier to compare the clocks. */
TEST_WITH(test_looks, wait_long, NULL)
{
	static const struct {
		uint64_t before_ns, in_ns;
	} rows[] = {
		{900 * MS_NS, 500 * MS_NS},
		{500 * MS_NS + 1, 500 * MS_NS},
		{500 * MS_NS - 1, 500 * MS_NS - 1},
		{1, 1},
		{0, 0},
	};
	struct timed_world t = {.w.more = ""};
	const int64_t turn_s = MIDNIGHT + 8 * HOUR;

	wall_s = turn_s - 1;
	instance_world_open(&t.w, PLAIN ", " HALF);
	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t began = control_now();

		exact_ns = (uint64_t)turn_s * SECOND_NS - rows[i].before_ns;
		assert_false(timed_run(&t.w.inst, timed_next(&t.w.inst)));
		assert_in_range(timed_next(&t.w.inst), began + rows[i].in_ns,
			control_now() + rows[i].in_ns);
	}
	exact_ns = 0;
	wall_s = 0;
	instance_world_close(&t.w);
}

/* Time passes between the plan of a change, its start, and the next look. */
TEST_WITH(test_turns_meanwhile, wait_long, NULL)
{
	struct timed_world t = {.w.more = ""};
	struct limiter_policy limits[2] = {0};
	struct instance *inst = &t.w.inst;
	struct timed_list *list = NULL;

	wall_s = MIDNIGHT + 36500 * 24 * HOUR + 8 * HOUR - 1; /* far from control's clock */
	instance_world_open(&t.w, PLAIN ", " HALF);
	assert_false(timed_run(inst, timed_next(inst)));
	assert_int_equal(timed_plan(inst, inst->policies, inst->n_policies, limits, &list), 0);
	assert_int_equal(limits[1].limit_bps, MBIT);
	wall_s++;
	timed_exchange(inst, &list);
	timed_list_free(list);
	assert_true(timed_run(inst, control_now()));
	assert_int_equal(limit_now(&t, 1), 2 * MBIT);
	wall_s = 0;
	instance_world_close(&t.w);
}

/* An operator's limit is in force until its end, and is then deleted. */
TEST_WITH(test_override_ends, wait_long, NULL)
{
	struct override override = override_of(
		"plain", "{\"limit\": \"5Mbit/s\"}", MIDNIGHT + HOUR);
	ENDED_BY(close_timed) struct timed_world t;

	wall_s = MIDNIGHT;
	open_timed(&t);
	override.until = MIDNIGHT;
	assert_string_equal(give(&t, &override), "until: expected a time in the future\n");
	override.until = MIDNIGHT + 1;
	assert_string_equal(give(&t, &override), "");
	await_saved(&t);
	assert_int_equal(limit_now(&t, 0), 5 * MBIT);
	wall_s = MIDNIGHT + 1;
	assert_true(timed_run(&t.w.inst, timed_next(&t.w.inst)));
	assert_int_equal(limit_now(&t, 0), MBIT);
	assert_string_equal(take_back(&t, "plain"),
		"policy \"plain\" has no override: see \"weirctl limits\"\n");
	assert_true(timed_of(&t.w.inst, 0).is_timed); /* until the list is exchanged */
	assert_int_equal(timed_of(&t.w.inst, 0).by, TIMED_PLAIN);
	wall_s = 0;
}

/* At most OVERRIDES_MOST overrides are accepted. Replacing one is always possible. */
TEST_WITH(test_as_many_as_there_may_be, wait_long, NULL)
{
	struct override override = override_of("daily", "{\"limit\": \"5Mbit/s\"}", in(3600));
	struct overrides list = {0};
	ENDED_BY(close_timed) struct timed_world t;
	char name[16];

	open_timed(&t);
	instance_world_close(&t.w);
	for (unsigned i = 0; i < OVERRIDES_MOST; i++) {
		struct override each;

		snprintf(name, sizeof(name), i ? "p%u" : "plain", i);
		each = override_of(name, "{\"limit\": \"5Mbit/s\"}", in(3600));
		assert_int_equal(overrides_put(&list, &each), 0);
	}
	assert_int_equal(overrides_save(t.store, &list), 0);
	open_box(&t);
	assert_int_equal(limit_now(&t, 0), 5 * MBIT);
	assert_non_null(strstr(give(&t, &override),
		"64 policies have an override, which is the maximum: write limits into"));
	assert_int_equal(timed_last_request(&t.w.inst).number, 0);
	override = override_of("plain", "{\"limit\": \"6Mbit/s\"}", in(3600));
	assert_string_equal(give(&t, &override), "");
	await_saved(&t);
	assert_int_equal(limit_now(&t, 0), 6 * MBIT);
	assert_string_equal(take_back(&t, "p7"), "");
	await_saved(&t);
	override = override_of("daily", "{\"limit\": \"5Mbit/s\"}", in(3600));
	assert_string_equal(give(&t, &override), "");
	await_saved(&t);
	assert_int_equal(limit_now(&t, 1), 5 * MBIT);
}

/* An unreadable list has no effect, and the log reports it. */
TEST_WITH(test_list_damaged, wait_long, NULL)
{
	char path[128], text[256];
	ENDED_BY(close_timed) struct timed_world t;
	uint64_t since;
	FILE *file;

	open_timed(&t);
	instance_world_close(&t.w);
	assert_int_equal(overrides_save(t.store, &(struct overrides){0}), 0);
	snprintf(path, sizeof(path), "%s/overrides.json", t.store);
	file = fopen(path, "w");
	assert_non_null(file);
	fprintf(file,
		"{\"overrides\": [{\"policy\": \"plain\", \"terms\": \"{\\\"limit\\\": "
		"\\\"5Mbit/s\\\"}\", \"until\": %lld, \"uid\": 1}, {}]}",
		(long long)in(3600));
	assert_int_equal(fclose(file), 0);
	since = events_number();
	open_box(&t);
	snprintf(text, sizeof(text),
		"overrides: cannot read %s: Bad message; no override is in force\n"
		"policy daily: limit 2Mbit/s by schedule, until for good\n",
		t.store);
	assert_string_equal(said_since(since), text);
	assert_int_equal(limit_now(&t, 0), MBIT);
	assert_string_equal(take_back(&t, "plain"),
		"policy \"plain\" has no override: see \"weirctl limits\"\n");
}

TEST_GROUP(instance_world_start, instance_world_stop)
