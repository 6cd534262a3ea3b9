/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The draws from etcd: their size, their time, and the effect of each answer. The clock, the
 * limiter, the store and etcd are simulated here instead of being linked.
 */
#include "check.h"

#include <sys/stat.h>

#include "base/time.h"
#include "clock.h"
#include "commit.h"
#include "credits.h"
#include "etcd_share.h"
#include "etcd_world.h"
#include "event.h"
#include "instance.h"

#define POLICIES 10
#define TOTAL    UINT64_C(100000000)
#define CHUNK    UINT64_C(65536)
#define PLENTY   TOTAL
#define BEGIN_NS (1000 * SECOND_NS)
#define EPOCH    77

static struct config config;
static struct policy policies[POLICIES];
static struct instance inst;

static struct {
	uint64_t now, step; /* the clock, and the time that a reading takes */
	bool store, root, no_budget;
	struct quota_view views[POLICIES];
	/* Arguments of limiter_set_share(). */
	unsigned shares, share_policy;
	uint64_t share, share_ns;
	int share_error;
	unsigned events;
	enum event_id event;
	char fields[512]; /* fields of the last event */
} fake;

uint64_t control_now(void)
{
	fake.now += fake.step;
	return fake.now;
}

void event_say(enum event_id id, const struct event_field *fields)
{
	fake.events++;
	fake.event = id;
	fake.fields[0] = '\0';
	for (size_t at = 0; fields->name; fields++)
		at += (size_t)snprintf(fake.fields + at, sizeof(fake.fields) - at,
			fields->word ? "%s=%s;" : "%s=%s%u;", fields->name,
			fields->word ? fields->word : "", (unsigned)fields->count);
}

bool commit_view(const struct instance *i, struct commit_view *view)
{
	assert_ptr_equal(i, &inst);
	*view = (struct commit_view){.epoch = EPOCH};
	return fake.store;
}

bool instance_budget(const struct instance *i, unsigned policy, struct quota_view *view)
{
	assert_ptr_equal(i, &inst);
	*view = fake.views[policy];
	return !fake.no_budget;
}

const struct budget *limiter_budget(const struct limiter *limiter)
{
	return NULL;
}

bool budget_is_root(const struct budget *b)
{
	return fake.root;
}

int limiter_set_share(struct limiter *limiter, unsigned policy, uint64_t share, uint64_t now_ns)
{
	fake.shares++;
	fake.share_policy = policy;
	fake.share = share;
	fake.share_ns = now_ns;
	return fake.share_error;
}

/* Starts with n policies p0, p1, …, whose quotas are drawn from etcd. */
static void begin_share(unsigned n)
{
	memset(&fake, 0, sizeof(fake));
	etcd_world = (struct etcd_world){0};
	memset(&config, 0, sizeof(config));
	memset(&inst, 0, sizeof(inst));
	memset(policies, 0, sizeof(policies));
	fake.now = BEGIN_NS;
	fake.store = fake.root = true;
	for (unsigned i = 0; i < n; i++) {
		snprintf(policies[i].name, sizeof(policies[i].name), "p%u", i);
		policies[i].drawn = true;
		policies[i].total = TOTAL;
		policies[i].chunk = CHUNK;
		policies[i].count = COUNT_BYTES;
		fake.views[i] = (struct quota_view){.period = 7, .remaining = PLENTY};
	}
	strcpy(config.limiter, "me");
	config.gossip.n_roster = 3;
	config.ledger.etcd[0] = (char *)(uintptr_t) "http://here:1";
	config.ledger.n_etcd = 1;
	strcpy(config.ledger.etcd_prefix, "/weir");
	strcpy(config.ledger.etcd_ca, "ca");
	strcpy(config.ledger.etcd_key, "key");
	inst.config = &config;
	inst.policies = policies;
	inst.n_policies = n;
	inst.engine.frame = 1500;
	assert_int_equal(etcd_share_start(&inst), 0);
	assert_int_equal(etcd_share_budgets(&inst), n);
}

static bool look_now(void)
{
	return etcd_share_look(&inst, fake.now);
}

static bool look_later(uint64_t ns)
{
	fake.now += ns;
	return look_now();
}

/* Answers about policy pN in the present period. */
static void add_answer(unsigned policy, int result)
{
	etcd_world_add((char[]){'p', (char)('0' + policy), '\0'}, 7, result);
}

static void answer_units(unsigned policy, uint64_t total, uint64_t drawn, uint64_t left)
{
	etcd_world_add_units((char[]){'p', (char)('0' + policy), '\0'}, 7, total, drawn, left);
}

static void check_draw(unsigned i, const char *budget, uint64_t period, uint64_t units)
{
	assert_true(i < etcd_world.n_draws);
	assert_string_equal(etcd_world.draws[i].budget, budget);
	assert_int_equal(etcd_world.draws[i].period, period);
	assert_int_equal(etcd_world.draws[i].total, TOTAL);
	assert_int_equal(etcd_world.draws[i].units, units);
}

static void check_state(enum etcd_share_state state, const char *why)
{
	struct etcd_share_view view;

	assert_true(etcd_share_view(&inst, &view));
	assert_int_equal(view.state, state);
	assert_string_equal(view.why, why);
}

static void check_event(unsigned n, enum event_id id, const char *fields)
{
	assert_int_equal(fake.events, n);
	assert_int_equal(fake.event, id);
	assert_string_equal(fake.fields, fields);
}

/* Starts with one policy and a first answer of etcd, before any draw. */
static void begin_known(void)
{
	begin_share(1);
	assert_false(look_now());
	answer_units(0, TOTAL, 300, TOTAL - 300);
	assert_true(look_now());
	etcd_world.n_draws = fake.events = fake.shares = 0;
}

static void end_share(void)
{
	unsigned closed = etcd_world.closed, opened = etcd_world.opened;

	etcd_share_stop(&inst);
	assert_null(inst.etcd_share);
	assert_int_equal(etcd_world.closed, closed + opened);
}

TEST(test_without)
{
	struct budget_shares none = {0};
	struct etcd_share_view view;
	struct budget_share_view share;

	begin_share(1);
	end_share();
	config.ledger.n_etcd = 0;
	assert_int_equal(etcd_share_start(&inst), 0);
	assert_null(inst.etcd_share);
	assert_false(etcd_share_view(&inst, &view));
	assert_false(etcd_share_budget_of(&inst, 0, &share));
	assert_int_equal(etcd_share_budgets(&inst), 0);
	assert_int_equal(etcd_share_fd(&inst), -1);
	assert_true(etcd_share_next(&inst) == UINT64_MAX);
	assert_false(look_now());
	etcd_share_exchange(&inst, &none);
	etcd_share_stop(&inst);
	/* Without policies of etcd there are no requests. */
	begin_share(2);
	end_share();
	policies[0].drawn = policies[1].drawn = false;
	assert_int_equal(etcd_share_start(&inst), 0);
	assert_true(etcd_share_next(&inst) == UINT64_MAX);
	assert_false(look_now());
	assert_int_equal(etcd_world.opened, 0);
	end_share();
	/* Only policies of etcd have a budget. */
	for (unsigned drawn = 0; drawn < 2; drawn++) {
		policies[drawn].drawn = true;
		policies[!drawn].drawn = false;
		assert_int_equal(etcd_share_start(&inst), 0);
		assert_int_equal(etcd_share_budgets(&inst), 1);
		assert_true(etcd_share_budget_of(&inst, drawn, &share));
		assert_int_equal(share.policy, drawn);
		assert_false(etcd_share_budget_of(&inst, !drawn, &share));
		end_share();
	}
}

struct heard {
	char place[64], found[256], remedy[256];
	bool absent;
	unsigned n;
};

static void take_complaint(void *context, const struct complaint *complaint)
{
	struct heard *heard = context;

	heard->n++;
	heard->absent = complaint->absent;
	snprintf(heard->place, sizeof(heard->place), "%s", complaint->place);
	snprintf(heard->found, sizeof(heard->found), "%s", complaint->found);
	snprintf(heard->remedy, sizeof(heard->remedy), "%s",
		complaint->remedy ? complaint->remedy : "none");
}

static void check_password_of(const char *path, uid_t user, const char *remedy, bool absent)
{
	struct heard heard = {0};
	const struct complaint_sink to = {take_complaint, &heard};
	char text[256];

	snprintf(config.ledger.etcd_password_file, sizeof(config.ledger.etcd_password_file), "%s",
		path);
	etcd_world.password_error = -EACCES;
	assert_int_equal(etcd_share_check(&config.ledger, user, &to), -EACCES);
	assert_int_equal(heard.n, 1);
	assert_string_equal(heard.place, "ledger.etcd.password_file");
	snprintf(text, sizeof(text), "no use of %.100s", path);
	assert_string_equal(heard.found, text);
	assert_string_equal(heard.remedy, remedy);
	assert_int_equal(heard.absent, absent);
	etcd_world.password_error = 0;
	assert_int_equal(etcd_share_check(&config.ledger, user, &to), 0);
	assert_int_equal(heard.n, 1);
}

/* Reports the problem of the password file, and the command that fixes it if there is one. */
TEST(test_password)
{
	char path[] = "/tmp/weir-etcd-share-XXXXXX", remedy[128];
	int fd = mkstemp(path);
	uid_t mine = geteuid();

	assert_true(fd >= 0);
	begin_share(1);
	strcpy(config.ledger.etcd_user, "anna");
	assert_int_equal(fchmod(fd, 0600), 0);
	check_password_of(path, mine, "none", false);
	snprintf(remedy, sizeof(remedy), "chmod 600 %s", path);
	assert_int_equal(fchmod(fd, 0640), 0);
	check_password_of(path, mine, remedy, false);
	assert_int_equal(fchmod(fd, 0604), 0);
	check_password_of(path, mine, remedy, false);
	if (mine == 0) {
		check_password_of(path, 12345, remedy, false); /* a file of root is accepted */
		assert_int_equal(fchown(fd, 12346, (gid_t)-1), 0);
	}
	snprintf(remedy, sizeof(remedy), "chown 12345 %s", path);
	check_password_of(path, 12345, remedy, false);
	check_password_of("/tmp", mine, "none", false);
	close(fd);
	unlink(path);
	snprintf(remedy, sizeof(remedy), "install -m 600 /dev/stdin %s", path);
	check_password_of(path, mine, remedy, true);
	check_password_of("/dev/null/file", mine, "none", false);
	/* An unusable file prevents the start. Without a user no file is needed. */
	end_share();
	etcd_world.password_error = -EACCES;
	assert_int_equal(etcd_share_start(&inst), -EACCES);
	assert_null(inst.etcd_share);
	config.ledger.etcd_user[0] = '\0';
	assert_int_equal(etcd_share_start(&inst), 0);
	end_share();
}

/* The connection is retried at growing intervals, and one event reports this. */
TEST(test_open_later)
{
	static const unsigned waits_ms[] = {250, 500, 1000, 2000, 4000, 4000};

	begin_share(1);
	fake.store = false;
	assert_true(etcd_share_next(&inst) == 0);
	assert_false(look_now());
	check_event(1, EVENT_ETCD_AWAY, "why=No such file or directory;");
	fake.store = true;
	etcd_world.open_error = -EINVAL;
	for (size_t i = 0; i < COUNT(waits_ms); i++) {
		check_state(DRAW_AWAY, i ? strerror(EINVAL) : strerror(ENOENT));
		assert_false(look_later(waits_ms[i] * MS_NS - 1));
		etcd_world.open_error = i == 5 ? 0 : -EINVAL;
		assert_int_equal(etcd_world.opened, 0);
		assert_int_equal(etcd_share_fd(&inst), -1);
		assert_false(look_later(1));
	}
	assert_int_equal(fake.events, 1);
	assert_int_equal(etcd_world.opened, 1);
	assert_int_equal(etcd_share_fd(&inst), ETCD_WORLD_FD);
	assert_int_equal(etcd_world.n_draws, 1);
	answer_units(0, TOTAL, 0, TOTAL);
	assert_true(look_now());
	check_event(2, EVENT_ETCD_ANSWERS, "how=answers again;");
	check_state(DRAW_CONNECTED, "");
	end_share();
}

/*
 * After a start the limiter requests its earlier draws: of one budget until etcd answers, then of
 * all.
 */
TEST(test_first_answers)
{
	struct budget_share_view view;

	begin_share(3);
	assert_false(look_now());
	assert_string_equal(etcd_world.params, "1 http://here:1 /weir me 77 2000 ca - key - -");
	assert_int_equal(etcd_world.n_draws, 1);
	check_draw(0, "p0", 7, 0);
	check_state(DRAW_CONNECTING, "");
	view = etcd_share_budget(&inst, 0);
	assert_string_equal(view.name, "p0");
	assert_true(view.asked && !view.known);
	assert_int_equal(view.total, TOTAL);
	assert_int_equal(view.left, TOTAL);
	assert_false(etcd_share_budget(&inst, 1).asked);
	assert_true(etcd_share_next(&inst) == fake.now + 50 * MS_NS);
	assert_false(look_later(50 * MS_NS));
	assert_int_equal(etcd_world.n_draws, 1);
	answer_units(0, 2 * TOTAL, 300, TOTAL - 5);
	etcd_world.answers[0].logged_in = true;
	assert_true(look_later(1));
	check_event(1, EVENT_ETCD_ANSWERS, "how=answers;");
	check_state(DRAW_CONNECTED, "");
	assert_int_equal(fake.shares, 1);
	assert_int_equal(fake.share_policy, 0);
	assert_int_equal(fake.share, 300);
	assert_true(fake.share_ns == fake.now);
	assert_true(etcd_share_budget_of(&inst, 0, &view));
	assert_true(view.known && !view.asked && view.error == 0 && view.period == 7);
	assert_int_equal(view.total, 2 * TOTAL);
	assert_int_equal(view.drawn, 300);
	assert_int_equal(view.left, TOTAL - 5);
	assert_true(view.as_of_ns == fake.now);
	assert_int_equal(etcd_world.n_draws, 3); /* the others, in turn from the next one on */
	check_draw(1, "p2", 7, 0);
	check_draw(2, "p1", 7, 0);
	/* Answers about a removed policy or another period are ignored. */
	add_answer(9, 0);
	answer_units(1, TOTAL, 4, TOTAL);
	etcd_world.answers[1].period = 6;
	assert_false(look_now());
	assert_int_equal(fake.shares, 1);
	assert_false(etcd_share_budget(&inst, 1).known);
	end_share();
}

TEST(test_logged_in)
{
	struct etcd_share_view view;

	begin_share(1);
	look_now();
	for (unsigned i = 0; i < 2; i++) {
		answer_units(0, TOTAL, 300, TOTAL);
		etcd_world.answers[0].logged_in = i == 0;
		assert_int_equal(look_now(), i == 0);
		assert_true(etcd_share_view(&inst, &view));
		assert_int_equal(view.logged_in, i == 0);
		look_later(10 * SECOND_NS); /* repeats the request */
		assert_int_equal(etcd_world.n_draws, 2 + i);
	}
	assert_int_equal(fake.shares, 1); /* an unchanged answer has no effect */
	end_share();
}

/* The root draws for the group. Other limiters and recovering ones draw nothing. */
TEST(test_sizes)
{
	static const struct {
		uint64_t pace, remaining, chunk, units;
		bool packets, other, recovering, undated, absent;
	} rows[] = {
		{.remaining = 49152, .chunk = CHUNK, .units = CHUNK - 49152},
		{.remaining = 49153, .chunk = CHUNK},
		{.pace = 20000000, .chunk = CHUNK, .units = 200000},
		{.units = 6000}, /* four of the largest packets */
		{.units = 4, .packets = true},
		{.remaining = 4500, .units = 1500},
		{.remaining = 4501},
		{.chunk = CHUNK, .other = true},
		{.chunk = CHUNK, .recovering = true},
		{.chunk = CHUNK, .undated = true},
		{.chunk = CHUNK, .absent = true},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		begin_known();
		policies[0].chunk = rows[i].chunk;
		policies[0].count = rows[i].packets ? COUNT_PACKETS : COUNT_BYTES;
		fake.root = !rows[i].other;
		fake.no_budget = rows[i].absent;
		fake.views[0].pace = rows[i].pace;
		fake.views[0].remaining = rows[i].remaining;
		fake.views[0].recovering = rows[i].recovering;
		fake.views[0].undated = rows[i].undated;
		assert_false(look_later(50 * MS_NS));
		if (etcd_world.n_draws != (rows[i].units > 0))
			fail_msg("row %zu: %u draws", i, etcd_world.n_draws);
		if (rows[i].units)
			check_draw(0, "p0", 7, rows[i].units);
		assert_true(etcd_share_next(&inst) == fake.now + (rows[i].pace ? 5 : 50) * MS_NS);
		end_share();
	}
}

/*
 * Draws are bounded by the quota in force and the remaining units. If nothing remains, the next
 * draw waits.
 */
TEST(test_dry)
{
	begin_known();
	fake.views[0].remaining = 0;
	look_later(50 * MS_NS);
	check_draw(0, "p0", 7, CHUNK);
	answer_units(0, TOTAL, 300 + CHUNK, 80000);
	assert_true(look_now());
	assert_int_equal(fake.share, 300 + CHUNK);
	check_draw(1, "p0", 7, 10000);
	answer_units(0, 300000, 310 + CHUNK, 0);
	assert_true(look_now());
	assert_int_equal(etcd_world.n_draws, 2);
	look_later(2000 * MS_NS - 1);
	assert_int_equal(etcd_world.n_draws, 2);
	look_later(50 * MS_NS);
	assert_int_equal(etcd_world.n_draws, 3);
	check_draw(2, "p0", 7, 6000);
	/* A new period starts immediately with the whole quota. */
	answer_units(0, 300000, 310 + CHUNK, 0);
	assert_false(look_now());
	fake.views[0].period = 8;
	look_later(50 * MS_NS);
	assert_int_equal(etcd_world.n_draws, 4);
	check_draw(3, "p0", 8, 6000);
	assert_int_equal(etcd_share_budget(&inst, 0).left, 300000);
	assert_int_equal(etcd_share_budget(&inst, 0).drawn, 0);
	assert_int_equal(etcd_share_budget(&inst, 0).period, 8);
	end_share();
}

/* A limiter also draws if its traffic waits for units, a root sooner than others. */
TEST(test_waits)
{
	for (unsigned root = 0; root < 2; root++) {
		uint64_t patience = (root ? 100 : 1000) * MS_NS;

		(void)state;
		begin_known();
		fake.root = root;
		fake.views[0].waiting = true;
		fake.views[0].balance = -5;
		fake.views[0].prepaid = 36;
		look_later(50 * MS_NS);
		assert_true(etcd_share_next(&inst) == fake.now + 5 * MS_NS);
		look_later(patience - 1);
		assert_int_equal(etcd_world.n_draws, 0);
		look_later(5 * MS_NS);
		assert_int_equal(etcd_world.n_draws, 1);
		check_draw(0, "p0", 7, CHUNK - 36);
		/*
		 * After units arrived the wait starts again. Units held by the group count again.
		 */
		answer_units(0, TOTAL, 364, TOTAL - 364);
		fake.views[0].balance = 64;
		assert_true(look_now());
		look_later(patience - 1);
		assert_int_equal(etcd_world.n_draws, 1);
		fake.views[0].waiting = false;
		look_later(50 * MS_NS);
		assert_int_equal(etcd_world.n_draws, 1);
		fake.views[0].waiting = true;
		look_later(50 * MS_NS);
		look_later(patience);
		assert_int_equal(etcd_world.n_draws, 2);
		check_draw(1, "p0", 7, CHUNK - 64 - 36);
		end_share();
	}
}

TEST(test_alone)
{
	begin_known();
	fake.root = false;
	fake.views[0].waiting = true;
	look_later(50 * MS_NS);
	look_later(1000 * MS_NS);
	assert_int_equal(etcd_world.n_draws, 1);
	answer_units(0, TOTAL, 400, TOTAL);
	fake.views[0].waiting = false;
	assert_true(look_now());
	fake.views[0].remaining = 0;
	look_later(9900 * MS_NS); /* for a time it draws like a root */
	assert_int_equal(etcd_world.n_draws, 2);
	check_draw(1, "p0", 7, CHUNK);
	answer_units(0, TOTAL, 500, TOTAL);
	fake.views[0].remaining = PLENTY;
	assert_true(look_now());
	fake.views[0].remaining = 0;
	look_later(100 * MS_NS);
	assert_int_equal(etcd_world.n_draws, 2);
	end_share();
}

/* Values are refreshed after ten seconds, or later in a large group. */
TEST(test_refresh)
{
	static const struct {
		unsigned roster;
		uint64_t ns;
	} rows[] = {{3, 10 * SECOND_NS}, {500, 10 * SECOND_NS}, {501, 501 * 20 * MS_NS}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		begin_known();
		config.gossip.n_roster = rows[i].roster;
		look_later(rows[i].ns - 1);
		assert_int_equal(etcd_world.n_draws, 0);
		look_later(50 * MS_NS);
		assert_int_equal(etcd_world.n_draws, 1);
		check_draw(0, "p0", 7, 0);
		/* A refresh that finds no remaining units does not delay a draw. */
		answer_units(0, TOTAL, 300, 0);
		fake.views[0].remaining = 0;
		assert_false(look_now());
		assert_int_equal(etcd_world.n_draws, 2);
		check_draw(1, "p0", 7, 6000);
		end_share();
	}
}

/* An error of one budget is reported, and delays only that budget. */
TEST(test_budget_errors)
{
	static const struct {
		int result;
		unsigned wait_ms;
		bool said;
	} rows[] = {{-EAGAIN, 50, false}, {-EPERM, 5000, true}, {-EPROTO, 5000, true}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		char why[32], fields[64];

		begin_known();
		fake.views[0].remaining = 0;
		look_later(50 * MS_NS);
		snprintf(why, sizeof(why), "error %d", -rows[i].result);
		snprintf(fields, sizeof(fields), "quota=p0;why=%s;", why);
		for (unsigned k = 0; k < 2; k++) {
			add_answer(0, rows[i].result);
			assert_false(look_now());
			assert_int_equal(fake.events, rows[i].said);
			if (rows[i].said)
				check_event(1, EVENT_ETCD_REFUSED, fields);
			check_state(DRAW_CONNECTED, why);
			assert_int_equal(etcd_share_budget(&inst, 0).error, rows[i].result);
			look_later(rows[i].wait_ms * MS_NS - 1);
			assert_int_equal(etcd_world.n_draws, 1 + k);
			look_later(50 * MS_NS);
			assert_int_equal(etcd_world.n_draws, 2 + k);
		}
		answer_units(0, TOTAL, 301, TOTAL);
		assert_true(look_now());
		assert_int_equal(etcd_share_budget(&inst, 0).error, 0);
		add_answer(9, rows[i].result); /* its policy was removed */
		look_now();
		assert_int_equal(fake.events, rows[i].said);
		end_share();
	}
}

/* The number of events is limited. */
TEST(test_errors_said)
{
	begin_known();
	fake.views[0].remaining = 0;
	for (unsigned i = 0; i < 70; i++) {
		look_later(5000 * MS_NS);
		etcd_world.n_draws = 0;
		add_answer(0, i % 2 ? -EPERM : -EPROTO);
		assert_false(look_now());
		assert_int_equal(fake.events, i < 64 ? i + 1 : 64);
	}
	end_share();
}

/* While etcd is unreachable, one budget is requested, at growing intervals. */
TEST(test_away)
{
	static const unsigned waits_ms[] = {250, 500, 1000, 2000, 4000, 4000};

	begin_known();
	fake.views[0].remaining = 0;
	look_later(50 * MS_NS);
	for (size_t i = 0; i < COUNT(waits_ms); i++) {
		assert_int_equal(etcd_world.n_draws, 1 + i);
		add_answer(0, i % 2 ? -ETIMEDOUT : -ENETUNREACH);
		assert_false(look_now());
		check_event(1, EVENT_ETCD_AWAY, "why=error 101;");
		check_state(DRAW_AWAY, i % 2 ? "error 110" : "error 101");
		look_later(waits_ms[i] * MS_NS - 1);
		assert_int_equal(etcd_world.n_draws, 1 + i);
		look_later(50 * MS_NS);
	}
	answer_units(0, TOTAL, 301, TOTAL);
	fake.views[0].remaining = PLENTY;
	assert_true(look_now());
	check_event(2, EVENT_ETCD_ANSWERS, "how=answers again;");
	check_state(DRAW_CONNECTED, "");
	/*
	 * The error of a budget is still reported, and the intervals start at the shortest again.
	 */
	fake.views[0].remaining = 0;
	look_later(50 * MS_NS);
	add_answer(0, -EACCES);
	look_now();
	check_event(3, EVENT_ETCD_AWAY, "why=error 13;");
	look_later(250 * MS_NS - 1);
	assert_int_equal(etcd_world.n_draws, 8);
	look_later(50 * MS_NS);
	assert_int_equal(etcd_world.n_draws, 9);
	end_share();
}

/*
 * A fenced limiter never draws again. One event reports it, depending on whether it had been
 * connected.
 */
TEST(test_fenced)
{
	for (unsigned connected = 0; connected < 2; connected++) {
		begin_share(1);
		look_now();
		if (connected) {
			answer_units(0, TOTAL, 300, TOTAL);
			look_now();
			look_later(10 * SECOND_NS);
		}
		fake.events = etcd_world.n_draws = 0;
		add_answer(0, -ESTALE);
		assert_false(look_now());
		check_event(1, EVENT_ETCD_FENCED,
			connected ? "did=was started under the name of this limiter: this one "
				    "draws no more, and passes its remaining units;why=error 116;"
				  : "did=draws under the name of this limiter, or did with a lost "
				    "store: this one draws nothing;why=error 116;");
		check_state(DRAW_FENCED, "error 116");
		assert_true(etcd_share_next(&inst) == UINT64_MAX);
		fake.views[0].remaining = 0;
		look_later(100 * SECOND_NS);
		add_answer(0, -ESTALE);
		look_now();
		assert_int_equal(fake.events, 1);
		assert_int_equal(etcd_world.n_draws, 0);
		end_share();
	}
}

/* Units of an answer just before the fence are used. */
TEST(test_fenced_after_units)
{
	begin_share(2);
	look_now();
	answer_units(0, TOTAL, 300, TOTAL);
	fake.views[0].remaining = 0;
	assert_true(look_now());
	assert_int_equal(etcd_world.n_draws, 3);
	add_answer(0, -ESTALE); /* the second of two */
	answer_units(1, TOTAL, 5, TOTAL);
	assert_true(look_now());
	assert_int_equal(fake.shares, 2);
	check_state(DRAW_FENCED, "error 116");
	end_share();
}

/* At most eight requests are pending. Each budget comes first in turn. */
TEST(test_at_a_time)
{
	begin_share(POLICIES);
	look_now();
	answer_units(0, TOTAL, 0, TOTAL);
	look_now();
	assert_int_equal(etcd_world.n_draws, 1 + 8);
	check_draw(1, "p1", 7, 0);
	check_draw(8, "p8", 7, 0);
	look_later(SECOND_NS);
	assert_int_equal(etcd_world.n_draws, 9);
	answer_units(1, TOTAL, 0, TOTAL);
	answer_units(2, TOTAL, 0, TOTAL);
	look_now();
	assert_int_equal(etcd_world.n_draws, 10);
	check_draw(9, "p9", 7, 0);
	end_share();
}

/* A request that is not accepted is repeated later, unless an earlier one is pending. */
TEST(test_not_asked)
{
	static const struct {
		int error;
		bool asked;
	} rows[] = {{0, true}, {-EBUSY, true}, {-EINVAL, false}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		begin_share(1);
		etcd_world.draw_error = rows[i].error;
		look_now();
		assert_int_equal(etcd_world.n_draws, 1);
		assert_int_equal(etcd_share_budget(&inst, 0).asked, rows[i].asked);
		look_later(5000 * MS_NS - 1);
		assert_int_equal(etcd_world.n_draws, 1);
		look_later(50 * MS_NS);
		assert_int_equal(etcd_world.n_draws, rows[i].asked ? 1 : 2);
		end_share();
	}
}

/* Units that the limiter rejects are reported, and requested again. */
TEST(test_not_taken)
{
	begin_share(1);
	look_now();
	answer_units(0, TOTAL, 300, TOTAL);
	fake.share_error = -EINVAL;
	assert_false(look_now());
	check_event(2, EVENT_ETCD_NOT_TAKEN, "quota=p0;units=300;why=Invalid argument;");
	assert_int_equal(etcd_share_budget(&inst, 0).error, -EINVAL);
	assert_false(etcd_share_budget(&inst, 0).known);
	look_later(5000 * MS_NS - 1);
	assert_int_equal(etcd_world.n_draws, 1);
	look_later(50 * MS_NS);
	assert_int_equal(etcd_world.n_draws, 2);
	end_share();
}

/* After a slow check the next one is later, so that checks take a bounded part of the time. */
TEST(test_look_part)
{
	uint64_t at;

	begin_known();
	fake.now += 50 * MS_NS;
	at = fake.now;
	fake.step = 2 * MS_NS; /* three of these steps are outside of the check */
	assert_false(look_now());
	assert_true(etcd_share_next(&inst) == at + UINT64_C(20) * (fake.now - at - fake.step));
	end_share();
}

/* A reload: remaining policies keep their values, by name. */
TEST(test_exchange)
{
	struct policy others[2];
	struct budget_shares shares;
	struct budget_share_view view;

	begin_share(2);
	look_now();
	answer_units(0, TOTAL, 300, TOTAL);
	look_now();
	others[0] = policies[1];
	others[1] = policies[0];
	strcpy(others[0].name, "a");
	assert_int_equal(budget_shares_prepare(others, 2, &shares), 0);
	assert_int_equal(shares.n, 2);
	etcd_share_exchange(&inst, &shares);
	inst.policies = others;
	assert_true(etcd_share_next(&inst) == 0);
	assert_int_equal(etcd_share_budgets(&inst), 2);
	assert_true(etcd_share_budget_of(&inst, 0, &view));
	assert_string_equal(view.name, "a");
	assert_false(view.known);
	assert_true(etcd_share_budget_of(&inst, 1, &view));
	assert_string_equal(view.name, "p0");
	assert_int_equal(view.policy, 1);
	assert_true(view.known && view.drawn == 300);
	budget_shares_free(&shares);
	assert_null(shares.at);
	assert_int_equal(shares.n, 0);
	/* A policy that is not drawn, and one whose name belongs to another policy. */
	strcpy(others[0].name, "z");
	assert_false(etcd_share_budget_of(&inst, 0, &view));
	strcpy(others[0].name, "p0");
	assert_false(etcd_share_budget_of(&inst, 0, &view));
	end_share();
}
