/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The updates that control sends to the XDP data plane, here a model in plain memory. The tests
 * cover the policies that its CPUs decide, and the contents of their lines and books. They also
 * cover the state that a process inherits from the previous one, and the events of packets that
 * bypassed Weir.
 */
#include "check.h"
#include "scope.h"

#include <rte_dev.h>
#include <rte_eal.h>

#include <sodium.h>

#include "base/expiry.h"
#include "base/time.h"
#include "limiter_task.h"
#include "bypasses.h"
#include "config/load.h"
#include "event.h"
#include "flow/flow_sample.h"
#include "gossip_socket.h"
#include "kernel_lines.h"
#include "meter/shared_bucket.h"
#include "plane.h"
#include "plane_maps.h"
#include "police/policy_state.h"
#include "policy_txn.h"
#include "show.h"
#include "start.h"
#include "tick.h"
#include "totals.h"
#include "worker.h"

#define CPUS     2
#define SLOTS    4096
#define SAMPLES  4 /* requested by control; the first entries of PLANE_SAMPLES */
#define PREVIOUS 3

struct plane {
	struct policy_state lines[CPUS][SLOTS];
	struct shared_bucket buckets[3 * SLOTS];
	struct flow_sample samples[CPUS][SAMPLES];
	struct plane_book books[SLOTS];
	struct plane_previous previous[PREVIOUS];
	unsigned generation[PREVIOUS], renewed;
	uint64_t there[PREVIOUS]; /* bytes in its bucket */
	uint64_t rate[PREVIOUS];  /* rate that is left for the previous program */
	unsigned n_previous, awaited;
	const char *refused; /* the fault of previous maps */
	bool unknown_never;
	uint8_t ending[CPUS][SLOTS];
	const struct policy *terms[CPUS][SLOTS];
	const struct classifier *published;
	int publishes, told_time;
	struct shared_bucket_profile
		when_told; /* the first bucket at the last update of the time */
	uint64_t allowed_when_told;
	struct {
		uint64_t until, span;
	} lease, membership;
} plane;

/* The XDP program of the ports. */
struct bypass {
	uint32_t beats[4];
	bool past[2]; /* ports with a bypass */
	struct bypass_past now, before;
	unsigned room_slots, took_over, left, closed, removed;
	int open_error, take_over_error;
} bypass;

int bypass_check(const struct config *config, const struct complaint_sink *to)
{
	(void)config, (void)to;
	return 0;
}

int bypass_open(const struct config *config, const struct bypass_room *room,
	const struct complaint_sink *to, struct bypass **out)
{
	(void)config, (void)to;
	bypass.room_slots = room->slots;
	assert_true(room->lines >= 32768);
	*out = bypass.open_error ? NULL : &bypass;
	return bypass.open_error;
}

int bypass_take_over(struct bypass *b)
{
	assert_int_equal(
		plane.awaited, 0); /* the kept programs are settled, not the previous ones */
	b->took_over++;
	return b->take_over_error;
}

int bypass_pin_again(struct bypass *b)
{
	return 0;
}

struct plane *bypass_plane(const struct bypass *b)
{
	return &plane;
}

void bypass_close(struct bypass *b)
{
	if (b)
		b->closed++;
}

uint32_t *bypass_beat(struct bypass *b, unsigned worker)
{
	return &b->beats[worker];
}

void bypass_leave(struct bypass *b)
{
	b->left++;
}

struct bypass_past bypass_past(const struct bypass *b, unsigned port)
{
	assert_true(b->past[port]);
	return b->now;
}

void bypass_set_frame(struct bypass *b, unsigned port, uint32_t bytes)
{
	(void)b, (void)port, (void)bytes;
}

struct bypass_past bypass_before(const struct bypass *b, unsigned port)
{
	assert_true(b->past[port]);
	return b->before;
}

bool bypass_has(const struct bypass *b, unsigned port)
{
	return b->past[port];
}

bool bypass_is_inherited(const struct bypass *b, unsigned port)
{
	return b->past[port];
}

bool bypass_find_own(const struct config *config, unsigned port, bool *served)
{
	*served = port == 0;
	return true;
}

void bypass_remove_left(const struct config *config)
{
	bypass.removed++;
}

unsigned plane_cpus(const struct plane *p)
{
	return CPUS;
}

struct policy_state *plane_lines(struct plane *p, unsigned cpu)
{
	return p->lines[cpu];
}

struct shared_bucket *plane_buckets(struct plane *p)
{
	return p->buckets;
}

struct flow_sample *plane_sample_of(struct plane *p, unsigned cpu, unsigned sample)
{
	assert_in_range(sample, 0, SAMPLES - 1);
	return &p->samples[cpu][sample];
}

void plane_hold(struct plane *p, unsigned cpu, uint32_t slot, uint32_t sample)
{
	p->lines[cpu][slot].bucket.last = sample == PLANE_UNSAMPLED ? PLANE_HELD
								    : PLANE_SAMPLED + sample;
}

void plane_leave(struct plane *p, unsigned cpu, uint32_t slot, bool never)
{
	p->lines[cpu][slot].bucket.last = never ? PLANE_WORKERS_ALONE : PLANE_WORKERS;
}

void plane_set_terms(struct plane *p, unsigned cpu, uint32_t slot, const struct policy *policy)
{
	p->terms[cpu][slot] = policy;
}

void plane_set_ending(struct plane *p, unsigned cpu, uint32_t slot, uint8_t ending)
{
	p->ending[cpu][slot] = ending;
}

uint8_t plane_ending(const struct plane *p, unsigned cpu, uint32_t slot)
{
	return p->ending[cpu][slot];
}

struct expiry *plane_lease(struct plane *p)
{
	return (struct expiry *)&p->lease;
}

struct expiry *plane_membership(struct plane *p)
{
	return (struct expiry *)&p->membership;
}

void plane_leave_unknown(struct plane *p, bool never)
{
	p->unknown_never = never;
}

int plane_look_back(const struct plane *p, unsigned i, struct plane_previous *previous)
{
	if (i >= p->n_previous)
		return -ENOENT;
	*previous = p->previous[i];
	return 0;
}

unsigned plane_n_current(const struct plane *p)
{
	unsigned n = 0;

	for (unsigned i = 0; i < p->n_previous; i++)
		n = p->previous[i].current && p->generation[i] >= n ? p->generation[i] + 1 : n;
	return n;
}

const char *plane_refused(const struct plane *p)
{
	return p->refused;
}

void plane_begin_books(struct plane *p)
{
	assert_true(p->awaited > 0); /* their counts stay from here on */
	p->renewed++;
}

uint64_t plane_take_half(struct plane *p, unsigned i, uint64_t rate)
{
	uint64_t half = p->there[i] / 2;

	p->rate[i] = rate;
	p->there[i] -= half;
	return half;
}

void plane_forget_previous(struct plane *p)
{
	p->n_previous = 0;
}

uint64_t plane_take_all(struct plane *p, unsigned i)
{
	uint64_t all = p->there[i];

	p->there[i] = 0;
	return all;
}

struct plane_book *plane_book(struct plane *p, uint32_t slot)
{
	return &p->books[slot];
}

void plane_await_previous(void)
{
	plane.awaited++;
}

void plane_set_time(struct plane *p, uint64_t ns, uint64_t tick, uint64_t hz)
{
	assert_ptr_equal(p, &plane);
	(void)ns, (void)tick, (void)hz;
	p->told_time++;
	p->when_told = shared_bucket_read(&p->buckets[0]);
	p->allowed_when_told = p->buckets[0].state.allow_at;
}

int plane_publish(struct plane *p, const struct classifier *classifier)
{
	p->published = classifier;
	return p->publishes;
}

static struct config *config_of(const char *more, const char *policies)
{
	struct config *config = NULL;
	char *text;

	assert_true(asprintf(&text,
			    "{'limiter': 'test', 'workers': [0, 1], 'idle': 'sleep', %s"
			    "'ports': {'a': {'device': 'net_null0'}, 'b': {'device': 'net_null1'}},"
			    "'wires': [{'name': 'w', 'a': 'a', 'b': 'b'}],"
			    "'control': {'socket': '/tmp/weir-kernel-lines.sock'},"
			    "'policies': [%s]}",
			    more, policies) > 0);
	for (char *c = text; *c; c++)
		if (*c == '\'')
			*c = '"';
	assert_int_equal(config_parse(text, strlen(text), "test", stderr, &config), 0);
	free(text);
	return config;
}

/* A thousand bytes a second. The bucket earns a few of them during the test. */
#define LIMIT(name, burst, more, match)                                                           \
	"{'name': '" name "', 'limit': '8kbit/s', 'burst': '" burst "', " more "'match': {" match \
	"}}"
#define SOFT   LIMIT("soft", "50kB", "", "'direction': 'a-to-b'")
#define EVEN   LIMIT("even", "50kB", "'allocator': 'static', ", "'dst': '10.0.0.0/8'")
#define COUNTS LIMIT("counts", "1kB", "'action': 'count', ", "'dst': '10.0.0.0/8'")
#define TRIED  LIMIT("tried", "50kB", "'trial': {'limit': '16kbit/s'}, ", "'direction': 'a-to-b'")
#define WAITS  LIMIT("waits", "1kB", "'action': 'shape', ", "'direction': 'b-to-a'")

static void open_plane_more(
	struct instance *inst, struct config **config, const char *more, const char *policies)
{
	*config = config_of(more, policies);
	memset(inst, 0, sizeof(*inst));
	/* A closed limiter leaves nothing in the plane. */
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null0", ""), 0);
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null1", ""), 0);
	assert_int_equal(instance_prepare(inst, *config, NULL), 0);
	assert_ptr_equal(inst->plane, &plane);
	assert_int_equal(inst->engine.n_cpus, CPUS);
	assert_in_range(bypass.room_slots, inst->slots.capacity, SLOTS);
}

static void open_plane(struct instance *inst, struct config **config, const char *policies)
{
	open_plane_more(inst, config, "", policies);
}

/* A group of two limiters, at an address of this process only. */
static void open_of_two(struct instance *inst, struct config **config, const char *policies)
{
	unsigned id = (unsigned)getpid();
	ENDED_BY(free_at) char *text;

	assert_true(asprintf(&text,
			    "'gossip': {'listen': '127.%1$u.%2$u.93:7946', 'insecure': true, "
			    "'timeout': '2s', 'roster': ["
			    "{'name': 'test', 'address': '127.%1$u.%2$u.93:7946'}, "
			    "{'name': 'peer', 'address': '127.%1$u.%2$u.94:7946'}]}, ",
			    1 + id / 254 % 254, 1 + id % 254) > 0);
	open_plane_more(inst, config, text, policies);
}

static void close_plane(struct instance *inst, struct config *config)
{
	unsigned closed = bypass.closed;

	instance_stop(inst);
	assert_int_equal(bypass.closed, closed + 1);
	assert_null(inst->plane);
	config_free(config);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_null0"), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_null1"), 0);
}

static int forget_before(void **state)
{
	memset(&plane, 0, sizeof(plane));
	memset(&bypass, 0, sizeof(bypass));
	return 0;
}

static uint32_t slot_of(const struct instance *inst, unsigned policy)
{
	return inst->slots.of[policy];
}

/* The line itself, which the program reads and other CPUs write. */
static uint64_t place_of(unsigned cpu, uint32_t slot)
{
	return plane.lines[cpu][slot].bucket.last;
}

/* A policy with a trial has lines, but workers decide it, with a trial from the start or later. */
TEST_WITH(test_trial, forget_before, NULL)
{
	struct config *config, *untried = config_of("", SOFT);
	struct instance inst;

	open_plane(&inst, &config, TRIED ", " EVEN);
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		assert_int_equal(place_of(cpu, slot_of(&inst, 0)), PLANE_WORKERS);
		assert_int_equal(place_of(cpu, slot_of(&inst, 1)), PLANE_HELD);
	}
	assert_true(inst.engine.slots[slot_of(&inst, 0)].kernel);
	inst.policies = untried->policies;
	kernel_part.change(&inst, 0);
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(place_of(cpu, slot_of(&inst, 0)), PLANE_HELD);
	inst.policies = config->policies;
	kernel_part.change(&inst, 0);
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(place_of(cpu, slot_of(&inst, 0)), PLANE_WORKERS);
	config_free(untried);
	close_plane(&inst, config);
}

/* While workers are away, the plane drops their packets of an enforced hard limit. */
TEST_WITH(test_never, forget_before, NULL)
{
	static const struct {
		enum guarantee guarantee;
		enum action action;
		bool never;
	} rows[] = {
		{GUARANTEE_SOFT, ACTION_DROP, false}, {GUARANTEE_HARD, ACTION_DROP, true},
		{GUARANTEE_HARD, ACTION_MARK, true},
		{GUARANTEE_HARD, ACTION_COUNT, false}, /* because the limiter runs in shadow */
	};
	struct instance inst;
	struct config *config;

	open_plane(&inst, &config, TRIED);
	for (unsigned i = 0; i < COUNT(rows); i++) {
		config->policies[0].guarantee = rows[i].guarantee;
		config->policies[0].action = rows[i].action;
		kernel_part.change(&inst, 0);
		assert_int_equal(place_of(1, slot_of(&inst, 0)),
			rows[i].never ? PLANE_WORKERS_ALONE : PLANE_WORKERS);
		kernel_lines_publish(&inst);
		assert_int_equal(plane.unknown_never, rows[i].never);
	}
	config->policies[0].guarantee = GUARANTEE_SOFT;
	config->policies[0].action = ACTION_DROP;
	close_plane(&inst, config);
}

/* The CPUs decide a policy with one bucket, which has a line, a book and terms. Workers shape. */
TEST_WITH(test_who_decides, forget_before, NULL)
{
	struct instance inst;
	struct config *config;

	open_plane(&inst, &config, SOFT ", " WAITS ", " COUNTS);
	assert_ptr_equal(plane.published, inst.classifier);
	assert_false(plane.unknown_never);
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		const struct policy_state *line = &plane.lines[cpu][slot_of(&inst, 0)];

		assert_int_equal(place_of(cpu, slot_of(&inst, 0)), PLANE_HELD);
		assert_int_equal(place_of(cpu, slot_of(&inst, 1)), PLANE_WORKERS);
		assert_int_equal(place_of(cpu, slot_of(&inst, 2)), PLANE_HELD);
		assert_string_equal(plane.terms[cpu][slot_of(&inst, 2)]->name, "counts");
		assert_int_equal(police_flags(line) & POLICE_TCP_ONLY, 0);
		assert_true(police_flags(line) & POLICE_SIMPLE);
		assert_null(inst.engine.workers[2 + cpu].samples[slot_of(&inst, 0)]);
	}
	assert_string_equal(plane.books[slot_of(&inst, 0)].name, "soft");
	assert_string_equal(plane.books[slot_of(&inst, 1)].name, "waits");
	assert_true(inst.engine.slots[slot_of(&inst, 0)].kernel);
	assert_false(inst.engine.slots[slot_of(&inst, 1)].kernel);
	close_plane(&inst, config);
}

/* Before the limit of a slot changes, each CPU respects the earlier end of both limits. */
TEST_WITH(test_ending, forget_before, NULL)
{
	const struct limiter_view view = {.limit = 1000, .local_limit = 1000, .ending = 20};
	struct limit_profile told = {0};
	struct instance inst;
	struct config *config;
	uint32_t slot;

	open_plane(&inst, &config, SOFT ", " WAITS);
	told.policy = slot = slot_of(&inst, 0);
	config->policies[0].guarantee = GUARANTEE_HARD;
	plane.ending[0][slot] = 10;
	plane.ending[1][slot] = 30;
	kernel_lines_before(&inst, 0, &view);
	assert_int_equal(plane.ending[0][slot], 20);
	assert_int_equal(plane.ending[1][slot], 30);
	for (unsigned cpu = 0; cpu < CPUS; cpu++) {
		kernel_lines_set_limit(&inst, cpu, &told);
		assert_int_equal(plane.ending[cpu][slot], 20);
		assert_int_equal(kernel_lines_soft_ending(&inst)[slot], 0); /* not soft */
	}
	kernel_lines_before(&inst, 1, &view); /* decided by workers */
	assert_int_equal(plane.ending[0][slot_of(&inst, 1)], 0);
	assert_ptr_equal(kernel_lines_lease(&inst), &plane.lease);
	config->policies[0].guarantee = GUARANTEE_SOFT;
	close_plane(&inst, config);
}

/* A change of the sampling updates only the sampling in a line. */
TEST_WITH(test_sampled, forget_before, NULL)
{
	struct instance inst;
	struct config *config;
	uint32_t slot;

	open_plane(&inst, &config, SOFT);
	slot = slot_of(&inst, 0);
	for (uint8_t shift = 2; shift <= POLICE_UNSAMPLED; shift++) {
		const struct limit_profile told = {.policy = slot, .sample_shift = shift};
		const struct policy_state *line = &plane.lines[1][slot];
		const unsigned flags = police_flags(line), accounting = police_accounting(line);

		kernel_lines_set_limit(&inst, 1, &told);
		assert_int_equal(police_shift(line), shift);
		assert_int_equal(police_flags(line), flags);
		assert_int_equal(police_accounting(line), accounting);
	}
	close_plane(&inst, config);
}

/* A soft limit ends at 1/N if it is above that and the peers divide it differently. */
TEST_WITH(test_soft_ending, forget_before, NULL)
{
	static const struct {
		unsigned policy;
		double limit, local;
		uint8_t ending;
	} rows[] = {
		{0, 1000, 1000, 128},
		{0, 1000, 501, 1},
		{0, 1000, 500, 0},
		{0, 1000, 400, 0},
		{0, 1000, 0, 0},
		{0, 1000, 750, 85},
		{1, 1000, 1000, 0},
		/* A few packets a second, and fewer than one. */
		{0, 10, 10, 128},
		{0, 1, 0.9, 114},
		{0, 0.01, 0.01, 128},
		{0, 0.01, 0.005, 0},
		/* Parts for 250 and for 16384 limiters are above 0. */
		{0, 8, 1000, 254},
		{0, 1, 8192, 254},
		{0, 125e9, 125e9, 128},
	};
	struct instance inst;
	struct config *config;

	open_of_two(&inst, &config, SOFT ", " EVEN);
	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct limiter_view view = {
			.limit = rows[i].limit, .local_limit = rows[i].local, .ending = 77};
		const struct limit_profile told = {.policy = slot_of(&inst, rows[i].policy)};
		const uint8_t *soft = &kernel_lines_soft_ending(&inst)[told.policy], was = *soft;

		kernel_lines_before(&inst, rows[i].policy, &view);
		assert_int_equal(*soft, was > rows[i].ending ? was : rows[i].ending);
		kernel_lines_set_limit(&inst, 0, &told);
		assert_int_equal(plane.ending[0][told.policy], rows[i].ending);
		assert_int_equal(*soft, rows[i].ending);
	}
	close_plane(&inst, config);
}

/* The share lasts while the peers count this limiter as active after its last message. */
TEST_WITH(test_membership, forget_before, NULL)
{
	struct instance inst;
	struct config *config;
	uint64_t ticks, lease;

	open_of_two(&inst, &config, SOFT);
	lease = plane.lease.until;
	assert_int_equal(plane.membership.until, 0);
	assert_true(plane.membership.span == UINT64_MAX);
	ticks = 2 * inst.clock.hz;
	for (uint64_t tick = 1000; tick < 3000; tick += 1000) {
		kernel_lines_spoke(&inst, tick);
		assert_in_range(plane.membership.until, tick + ticks - ticks / 500,
			tick + ticks - ticks / 2000);
		assert_int_equal(plane.membership.span, 2 * ticks);
	}
	assert_int_equal(plane.lease.until, lease);
	close_plane(&inst, config);
}

/* Runs ticks for half a second. Returns true if the membership was written. */
static bool speaks(struct instance *inst)
{
	plane.membership.span = UINT64_MAX;
	for (unsigned i = 0; i < 50; i++, usleep(10000))
		assert_false(limiter_task_run(inst, UINT64_MAX));
	return plane.membership.span != UINT64_MAX;
}

/* A message that did not leave the socket does not count, for example with the interface down. */
TEST_WITH(test_unspoken, forget_before, NULL)
{
	struct instance inst;
	struct config *config;
	int fd;

	open_of_two(&inst, &config, SOFT);
	fd = inst.gossip->fd;
	inst.gossip->fd = -1;
	assert_false(speaks(&inst));
	assert_true(inst.gossip->send_errors > 0);
	inst.gossip->fd = fd;
	assert_true(speaks(&inst));
	close_plane(&inst, config);
}

/* A limiter that is alone stays active. */
TEST_WITH(test_alone, forget_before, NULL)
{
	const struct limiter_view view = {.limit = 1000, .local_limit = 1000};
	struct instance inst;
	struct config *config;

	open_plane(&inst, &config, SOFT);
	kernel_lines_spoke(&inst, 1000);
	assert_true(plane.membership.span == UINT64_MAX);
	kernel_lines_before(&inst, 0, &view);
	assert_int_equal(plane.ending[0][slot_of(&inst, 0)], 0);
	close_plane(&inst, config);
}

static uint64_t level_at(const struct instance *inst, uint32_t slot, uint64_t tick)
{
	return shared_bucket_level(&inst->engine.shared_buckets[slot], tick);
}

static uint64_t level_of(const struct instance *inst, uint32_t slot)
{
	return level_at(inst, slot, tick_now());
}

/* Expects this rate in bytes/s over the second after a tick, however long the test has taken. */
static void check_earned(const struct instance *inst, uint32_t slot, uint64_t tick, unsigned rate)
{
	uint64_t level = level_at(inst, slot, tick);

	assert_in_range(level_at(inst, slot, tick + tick_hz()) - level, rate - 1, rate + 1);
}

/* A burst of a thousand bytes and a rate of a thousand bytes/s, in frames of 50 bytes. */
#define SLOW(action)                                                                    \
	"{'name': 'slow', 'limit': '8kbit/s', 'burst': '1kB', 'action': '" action "', " \
	"'match': {'direction': 'a-to-b'}}"
#define DEPTH 20 /* frames */

/* Returns the number of conforming packets in one turn of a worker. */
static uint64_t conform_in_turn(struct instance *inst, unsigned worker)
{
	struct policy_totals before = instance_policy_totals(inst, slot_of(inst, 0)), after;
	uint64_t all, over;

	worker_turn(&inst->workers[worker]);
	worker_finish(&inst->workers[worker]);
	after = instance_policy_totals(inst, slot_of(inst, 0));
	over = after.over_packets - before.over_packets;
	all = after.passed_packets - before.passed_packets + after.dropped_packets -
	      before.dropped_packets;
	assert_int_equal(all, BURST);
	return after.passed_packets - before.passed_packets - over;
}

/* Workers use the bucket of the CPUs for each action. A lease ends for both. */
TEST_WITH(test_workers_borrow, forget_before, NULL)
{
	static const struct {
		const char *policy;
		bool ended; /* the unreserved share is 0 */
	} rows[] = {{SLOW("drop"), false}, {SLOW("count"), false}, {SLOW("count"), true}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		uint64_t began = tick_now(), conform, earned;
		struct instance inst;
		struct config *config;

		open_plane(&inst, &config, rows[i].policy);
		for (unsigned w = 0; rows[i].ended && w < 2; w++) {
			inst.workers[w].ending[slot_of(&inst, 0)] = UINT8_MAX;
			expiry_init(&inst.workers[w].expiry, 1, 2); /* long ago */
		}
		conform = conform_in_turn(&inst, 0);
		assert_true(rows[i].ended ? conform == 0 : conform >= DEPTH - 1);
		conform += conform_in_turn(&inst, 1);
		earned = (tick_now() - began) * DEPTH / inst.clock.hz + 1;
		assert_true(conform <= (rows[i].ended ? 0 : DEPTH + earned));
		close_plane(&inst, config);
	}
}

/* Returns true if frames conform a fifth of a second after the bucket was empty. */
static bool conform_later(struct instance *inst)
{
	(void)conform_in_turn(inst, 0);
	usleep(200000);
	return conform_in_turn(inst, 0) > 0;
}

/* Only control stalls for longer than the timeout of the peers. Workers slow down like CPUs. */
TEST_WITH(test_workers_silent, forget_before, NULL)
{
	const struct limiter_view view = {.limit = 1000, .local_limit = 125000};
	uint64_t now = tick_now();
	struct instance inst;
	struct config *config;

	open_of_two(&inst, &config, SLOW("drop"));
	assert_true(conform_later(&inst));
	plane.membership.until = now;
	plane.membership.span = tick_hz();
	assert_true(conform_later(&inst)); /* has its half without an end */
	kernel_lines_before(&inst, 0, &view);
	assert_false(conform_later(&inst));
	plane.membership.until = tick_now() + tick_hz() / 2;
	assert_true(conform_later(&inst)); /* the peers received a message again */
	plane.membership.until = tick_now() + 100 * tick_hz();
	assert_true(conform_later(&inst)); /* the clock was set back, unnoticed */
	plane.membership.until = now;
	assert_false(conform_later(&inst));
	kernel_part.remove(&inst, slot_of(&inst, 0));
	assert_int_equal(inst.workers[0].soft_ending[slot_of(&inst, 0)], 0);
	assert_int_equal(
		level_of(&inst, slot_of(&inst, 0)), 0); /* the next process has not started */
	close_plane(&inst, config);
}

static void leave_previous(unsigned i, const char *name, uint64_t units, uint64_t held)
{
	struct plane_previous *previous = &plane.previous[i];

	*previous = (struct plane_previous){.held = held, .current = true};
	plane.generation[i] = 0;
	strcpy(previous->book.name, name);
	previous->book.passed_packets = 1;
	previous->book.passed_bytes = 2;
	previous->book.dropped_packets = 3;
	previous->book.dropped_bytes = 4;
	previous->book.over_packets = 5;
	previous->book.over_bytes = 6;
	plane.there[i] = units;
	plane.n_previous = i + 1;
}

static void check_inherited(const struct instance *inst, uint32_t slot, unsigned times)
{
	const struct policy_totals *before = &inst->carried_over[slot].before;

	assert_int_equal(before->passed_packets, times);
	assert_int_equal(before->passed_bytes, 2 * times);
	assert_int_equal(before->dropped_packets, 3 * times);
	assert_int_equal(before->dropped_bytes, 4 * times);
	assert_int_equal(before->over_packets, 5 * times);
	assert_int_equal(before->over_bytes, 6 * times);
	assert_int_equal(plane.books[slot].over_bytes, 6 * times);
}

static uint64_t rate_of(const struct instance *inst, uint32_t slot)
{
	return shared_bucket_read(&inst->engine.shared_buckets[slot]).rate;
}

/* The tick of the last change of the limit. */
static uint64_t since_of(const struct instance *inst, uint32_t slot)
{
	return shared_bucket_read(&inst->engine.shared_buckets[slot]).since;
}

/*
 * A policy inherits by name. While two programs draw, even forever, it gets half of the bucket and
 * of the limit. Then it gets the rest, the bytes of the previous CPUs and the books. A policy
 * without a namesake, or one that workers decide, keeps its state.
 */
TEST_WITH(test_adopt, forget_before, NULL)
{
	struct instance inst;
	struct config *config;
	uint64_t rate;
	uint32_t slot;

	open_plane(&inst, &config, WAITS ", " SOFT);
	slot = slot_of(&inst, 1);
	rate = rate_of(&inst, slot);
	leave_previous(0, "waits", 1000, 1000);
	leave_previous(1, "soft", 20000, 300);
	leave_previous(2, "nobody", 1000, 1000);
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		plane.lines[cpu][slot].bucket.tokens = 1 << 20;
	kernel_lines_adopt(&inst);
	assert_int_equal(level_at(&inst, slot, since_of(&inst, slot)), 10000);
	check_earned(&inst, slot, since_of(&inst, slot), 500);
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(plane.lines[cpu][slot].bucket.tokens, 0);
	check_inherited(&inst, slot, 0); /* its program can still count */
	assert_int_equal(plane.there[1], 10000);
	assert_int_equal(plane.rate[1], rate / 2);
	assert_int_equal(rate_of(&inst, slot), rate / 2);
	plane.there[1] -= 400; /* passed by the previous program in that time */
	kernel_lines_settle(&inst);
	assert_int_equal(plane.awaited, 1);
	check_inherited(&inst, slot, 1);
	assert_int_equal(rate_of(&inst, slot), rate);
	assert_in_range(level_at(&inst, slot, since_of(&inst, slot)), 19900, 29900);
	check_earned(&inst, slot, since_of(&inst, slot), 1000);
	assert_int_equal(plane.there[0], 1000);
	assert_int_equal(plane.there[2], 1000);
	check_inherited(
		&inst, slot_of(&inst, 0), 1); /* first decided in the kernel, now by workers */
	close_plane(&inst, config);
}

/* Maps of another layout cannot be read: a burst might have just passed, so none is there. */
TEST_WITH(test_other_layout, forget_before, NULL)
{
	struct instance inst;
	struct config *config;
	uint64_t rate;
	uint32_t slot;

	open_plane(&inst, &config, SOFT);
	slot = slot_of(&inst, 0);
	rate = rate_of(&inst, slot);
	plane.refused = "have another layout";
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		plane.lines[cpu][slot].bucket.tokens = 1 << 20;
	assert_true(level_of(&inst, slot) > 10000);
	kernel_lines_adopt(&inst);
	assert_true(level_of(&inst, slot) < 100);
	for (unsigned cpu = 0; cpu < CPUS; cpu++)
		assert_int_equal(plane.lines[cpu][slot].bucket.tokens, 0);
	kernel_lines_settle(&inst);
	assert_int_equal(rate_of(&inst, slot), rate);
	plane.refused = NULL;
	close_plane(&inst, config);
}

/* An interrupted reload left two policies of one name. The policy inherits from both. */
TEST_WITH(test_adopt_two, forget_before, NULL)
{
	struct instance inst;
	struct config *config;
	uint64_t rate;
	uint32_t slot;

	open_plane(&inst, &config, SOFT);
	slot = slot_of(&inst, 0);
	rate = rate_of(&inst, slot);
	leave_previous(0, "soft", 2000, 10);
	leave_previous(1, "nobody", 1000, 1000);
	leave_previous(2, "soft", 4000, 20);
	kernel_lines_adopt(&inst);
	check_inherited(&inst, slot, 0);
	assert_int_equal(rate_of(&inst, slot), rate / 2);
	kernel_lines_settle(&inst);
	check_inherited(&inst, slot, 2);
	assert_int_equal(rate_of(&inst, slot), rate);
	assert_in_range(level_of(&inst, slot), 6030, 6030 + 5000);
	kernel_lines_settle(&inst);
	assert_int_equal(rate_of(&inst, slot), rate);
	close_plane(&inst, config);
}

/*
 * Starts that were killed left three generations. Each that has a program earns a third, like this
 * process. The one without a program only has counts, which are in the books before the takeover.
 */
TEST_WITH(test_adopt_generations, forget_before, NULL)
{
	struct instance inst;
	struct config *config;
	uint64_t rate;
	uint32_t slot;

	open_plane(&inst, &config, SOFT);
	slot = slot_of(&inst, 0);
	rate = rate_of(&inst, slot);
	for (unsigned i = 0; i < PREVIOUS; i++) {
		leave_previous(i, "soft", 3000, 100);
		plane.generation[i] = i;
		plane.previous[i].current = i < 2;
	}
	kernel_lines_adopt(&inst);
	check_inherited(&inst, slot, 1);
	assert_int_equal(rate_of(&inst, slot), rate / 3);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(plane.there[i], 1500);
		assert_int_equal(plane.rate[i], rate / 3);
	}
	assert_int_equal(plane.there[2], 3000);
	kernel_lines_settle(&inst);
	assert_int_equal(plane.renewed, 1);
	check_inherited(&inst, slot, 3);
	assert_int_equal(rate_of(&inst, slot), rate);
	assert_in_range(level_of(&inst, slot), 6200, 6200 + 5000);
	assert_int_equal(plane.there[2], 3000);
	close_plane(&inst, config);
}

/* A policy inherits at most one burst, because its limit can be lower now. */
TEST_WITH(test_adopt_at_most, forget_before, NULL)
{
	const struct shared_bucket *shared;
	struct instance inst;
	struct config *config;

	open_plane(&inst, &config, SOFT);
	leave_previous(0, "soft", 1000000, 0);
	kernel_lines_adopt(&inst);
	shared = &inst.engine.shared_buckets[slot_of(&inst, 0)];
	assert_int_equal(
		level_of(&inst, slot_of(&inst, 0)), shared_bucket_read(shared).burst >> GCRA_SHIFT);
	assert_in_range(level_of(&inst, slot_of(&inst, 0)), 40000,
		50000); /* without the bytes in the lines */
	close_plane(&inst, config);
}

/* The counts of the CPUs move to the new slot once, whether CPUs or workers decide there. */
TEST_WITH(test_moves, forget_before, NULL)
{
	struct instance inst;
	struct config *config;
	uint32_t from, to;

	open_plane(&inst, &config, SOFT ", " WAITS ", " EVEN);
	from = slot_of(&inst, 0);
	for (unsigned i = 1; i < 3; i++) {
		to = slot_of(&inst, i);
		plane.books[from] = (struct plane_book){.name = "soft", .passed_packets = 100};
		plane.books[to].passed_packets = 7;
		for (unsigned cpu = 0; cpu < CPUS; cpu++) {
			struct policy_state *line = &plane.lines[cpu][from];

			line->packets = 10;
			line->dropped_packets = 4;
			line->bytes = 1000;
			line->dropped_bytes = 400;
			line->over = (struct police_over){2, 200};
		}
		(void)instance_slot_totals(&inst, from);
		kernel_part.moved(&inst, from, to);
		assert_string_equal(plane.books[from].name, "");
		assert_int_equal(plane.books[to].passed_packets, 107 + CPUS * 6);
		assert_int_equal(plane.books[to].passed_bytes, CPUS * 600);
		assert_int_equal(plane.books[to].dropped_packets, CPUS * 4);
		assert_int_equal(plane.books[to].dropped_bytes, CPUS * 400);
		assert_int_equal(plane.books[to].over_packets, CPUS * 2);
		assert_int_equal(plane.books[to].over_bytes, CPUS * 200);
	}
	close_plane(&inst, config);
}

/* The module exchanges and keeps programs, and an event reports their errors. */
TEST_WITH(test_take_over, forget_before, NULL)
{
	struct instance inst;
	struct config *config;
	uint64_t since;

	open_plane(&inst, &config, SOFT);
	since = events_number();
	assert_int_equal(bypasses_take_over(&inst), 0);
	assert_int_equal(events_number() - since, 0);
	assert_int_equal(bypass.took_over, 1);
	assert_int_equal(plane.awaited, 1);
	plane.awaited = 0;
	leave_previous(0, "soft", 2000, 10);
	bypass.take_over_error = -EPERM;
	assert_int_equal(bypasses_take_over(&inst), -EPERM);
	assert_int_equal(events_number() - since, 1);
	assert_int_equal(plane.there[0], 1000); /* the previous programs continue */
	assert_int_equal(plane.awaited, 0);
	bypass.take_over_error = 0;
	close_plane(&inst, config);
}

/* Expects this event, with this text field unless key is NULL. */
static void expect_event(uint64_t number, const char *name, const char *key, const char *value)
{
	json_t *said = events_get(number);

	assert_string_equal(json_string_value(json_object_get(said, "event")), name);
	if (key)
		assert_string_equal(json_string_value(json_object_get(said, key)), value);
	json_decref(said);
}

/* Expects this number in a field of an event. */
static void expect_number(uint64_t number, const char *key, double value)
{
	json_t *said = events_get(number);

	assert_near(json_number_value(json_object_get(said, key)), value, 1e-9);
	json_decref(said);
}

/* An event reports a classifier that does not fit or that the kernel refuses. */
TEST_WITH(test_publish_fails, forget_before, NULL)
{
	static const struct {
		int error;
		const char *words;
	} rows[] = {
		{0, NULL},
		{-E2BIG,
			"it has more lines than there is room for until a restart, which makes more"},
		{-ENOMEM, "Cannot allocate memory"},
	};
	struct instance inst;
	struct config *config;

	open_plane(&inst, &config, SOFT);
	for (unsigned i = 0; i < 3; i++) {
		uint64_t since = events_number();

		plane.publishes = rows[i].error;
		kernel_lines_publish(&inst);
		assert_int_equal(events_number() - since, rows[i].words != NULL);
		if (rows[i].words)
			expect_event(since, "plane_failed", "why", rows[i].words);
	}
	close_plane(&inst, config);
}

/* A program that cannot be loaded fails the start and leaves nothing behind. */
TEST_WITH(test_not_opened, forget_before, NULL)
{
	struct config *config = config_of("", SOFT);
	struct instance inst = {0};

	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null0", ""), 0);
	assert_int_equal(rte_eal_hotplug_add("vdev", "net_null1", ""), 0);
	bypass.open_error = -EPERM;
	assert_int_equal(instance_prepare(&inst, config, NULL), -EPERM);
	assert_null(inst.bypasses);
	assert_null(inst.plane);
	config_free(config);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_null0"), 0);
	assert_int_equal(rte_eal_hotplug_remove("vdev", "net_null1"), 0);
}

static void run_bypasses(struct instance *inst, uint64_t now_ns, unsigned events, bool used)
{
	uint64_t since = events_number();

	assert_false(bypasses_run(inst, now_ns));
	assert_int_equal(events_number() - since, events);
	assert_int_equal(bypasses_are_used(inst, 0), used);
	assert_false(bypasses_are_used(inst, 1));
}

/*
 * The TSC stopped, was set back, or is ahead: the kernel gets the new time first. Nothing waits for
 * the bytes that its CPUs took by the old time, and a hard limit passes nothing in between.
 */
TEST_WITH(test_clock, forget_before, NULL)
{
	static const struct {
		int64_t ns, ticks; /* shift of the last reading */
		enum guarantee guarantee;
		bool restarts;
	} rows[] = {
		{-10 * (int64_t)SECOND_NS, 0, GUARANTEE_SOFT, true},
		{-10 * (int64_t)SECOND_NS, 0, GUARANTEE_HARD, true},
		{0, -INT64_C(20000000000), GUARANTEE_HARD, false},
		{0, INT64_C(1) << 50, GUARANTEE_SOFT, true},
		{0, INT64_C(1) << 50, GUARANTEE_HARD, true},
	};

	for (unsigned i = 0; i < COUNT(rows); i++) {
		struct shared_bucket *shared;
		struct instance inst;
		struct config *config;
		uint64_t ahead;
		int told;

		open_plane(&inst, &config, SOFT);
		assert_int_equal(slot_of(&inst, 0), 0);
		config->policies[0].guarantee = rows[i].guarantee;
		shared = &inst.engine.shared_buckets[0];
		ahead = shared_bucket_time(shared, tick_now() + 10 * tick_hz());
		shared->state.allow_at = ahead;
		told = plane.told_time;
		inst.clock.last.ns += (uint64_t)rows[i].ns;
		inst.clock.last.tsc += (uint64_t)rows[i].ticks;
		assert_false(limiter_task_run(&inst, UINT64_MAX));
		assert_int_equal(plane.told_time, told + 1);
		assert_int_equal(plane.allowed_when_told, ahead);
		assert_int_equal(plane.when_told.burst == 0,
			rows[i].restarts && rows[i].guarantee == GUARANTEE_HARD);
		assert_true(shared_bucket_read(shared).burst > 0);
		assert_int_equal(shared->state.allow_at != ahead, rows[i].restarts);
		assert_in_range(level_at(&inst, 0, since_of(&inst, 0)), 0, 1);
		config->policies[0].guarantee = GUARANTEE_SOFT;
		close_plane(&inst, config);
	}
}

static void expect_wire_alarm(struct instance *inst, const char *text)
{
	json_t *health = show_health(NULL, inst);
	const json_t *number = json_object_get(json_object_get(health, "active"), "wire_open");

	assert_int_equal(json_integer_value(number), text[0] != '\0');
	if (text[0])
		assert_string_equal(
			json_string_value(json_array_get(json_object_get(health, "alarms"), 0)),
			text);
	json_decref(health);
}

/* Bypassing packets have an event at their beginning, and one after three seconds without any. */
TEST_WITH(test_past, forget_before, NULL)
{
	const uint64_t at = 1000 * SECOND_NS;
	struct instance inst;
	struct config *config;
	uint64_t since = events_number();
	int told;

	bypass.past[0] = true;
	bypass.before = (struct bypass_past){.packets = 7, .bytes = 70};
	open_plane(&inst, &config, SOFT);
	assert_int_equal(events_number(), since);
	assert_int_equal(bypasses_take_over(&inst), 0);
	expect_event(since, "wire_taken_over", "port", "a");
	expect_event(since + 1, "wire_was_open", "port", "a");
	expect_number(since + 1, "packets", 7);
	expect_number(since + 1, "bytes", 70);
	assert_int_equal(events_number(), since + 2);
	assert_ptr_equal(bypasses_beat(&inst, 1), &bypass.beats[1]);
	told = plane.told_time;
	run_bypasses(&inst, at, 0, false);
	assert_int_equal(bypasses_next(&inst), at + SECOND_NS);
	assert_int_equal(plane.told_time, told + 1);
	bypass.now = (struct bypass_past){.packets = 5, .bytes = 500};
	run_bypasses(&inst, at + SECOND_NS - 1, 0, false); /* too early */
	assert_int_equal(plane.told_time, told + 1);
	expect_wire_alarm(&inst, "");
	run_bypasses(&inst, at + SECOND_NS, 1, true);
	expect_wire_alarm(&inst, "port a: packets go straight to the other port, past every limit");
	expect_event(events_number() - 1, "wire_open", "port", "a");
	assert_int_equal(bypasses_past(&inst, 0).bytes, 500);
	assert_int_equal(bypasses_past(&inst, 1).bytes, 0);
	run_bypasses(&inst, at + 3 * SECOND_NS, 0, true);
	bypass.now.packets = 8;
	run_bypasses(&inst, at + 4 * SECOND_NS, 0, true);
	run_bypasses(&inst, at + 7 * SECOND_NS - 1, 0, true);
	run_bypasses(&inst, at + 8 * SECOND_NS - 1, 1, false);
	expect_event(events_number() - 1, "wire_served", "port", "a");
	expect_number(events_number() - 1, "packets", 8);
	expect_number(events_number() - 1, "seconds", 3);
	bypasses_settle(&inst, NULL);
	assert_int_equal(bypass.left, 1);
	close_plane(&inst, config);
	assert_null(bypasses_beat(&inst, 1));
	assert_true(bypasses_next(&inst) == UINT64_MAX);
	assert_int_equal(bypasses_past(&inst, 0).bytes, 0);
	assert_false(bypasses_are_used(&inst, 0));
	assert_false(bypasses_run(&inst, at + 20 * SECOND_NS));
	bypasses_settle(&inst, NULL);
	assert_int_equal(bypass.left, 1);
	assert_int_equal(bypass.removed, 0);
	assert_int_equal(bypasses_take_over(&inst), 0);
	assert_int_equal(bypass.removed, 1);
}

static int start_eal(void **state)
{
	const char *args[] = {"test", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
		"--no-shconf", "--log-level=1", "--lcores=(0-2)@0"};

	if (sodium_init() < 0)
		return -1;
	return rte_eal_init((int)(COUNT(args)), (char **)(uintptr_t)args) < 0;
}

static int stop_eal(void **state)
{
	return rte_eal_cleanup();
}

TEST_GROUP(start_eal, stop_eal)
