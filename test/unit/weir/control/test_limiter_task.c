/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Two limiters of a group of three. Each has its socket, and the test sets their clock.
 */
#include "show_world.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/hash.h"
#include "base/time.h"
#include "control_clock.h"
#include "base/wire.h"
#include "limiter_task.h"
#include "config/load.h"
#include "delays.h"
#include "differs.h"
#include "event.h"
#include "gossip/datagram.h"
#include "gossip_socket.h"
#include "publish.h"
#include "show.h"
#include "tick.h"
#include "worker_data.h"

#define STEP_NS (10 * MS_NS)
#define TIMEOUT SECOND_NS
#define BOTH(limit, burst)                                                    \
	"{'name': 'soft', 'match': {'direction': 'a-to-b'}, 'limit': '" limit \
	"', 'burst': '" burst "'}"
#define LIMIT(limit) BOTH(limit, "20MB")

#define NAMED(name, vlan) \
	"{'name': '" name "', 'match': {'vlan': " vlan "}, 'limit': '1Mbit/s', 'allocator': 'fps'}"

struct pair {
	struct instance_world w;
	struct config *config;
	struct instance other;
	bool other_is_up;
	uint64_t since; /* number of the next event */
};

/* Addresses of this process only, because other processes run the same test. */
static char *group_of(const char *roster_more)
{
	unsigned id = (unsigned)getpid();
	char *text;

	if (asprintf(&text,
		    "'gossip': {'listen': '127.%1$u.%2$u.83:7946', 'insecure': true, "
		    "'timeout': '1s', 'roster': ["
		    "{'name': 'test', 'address': '127.%1$u.%2$u.83:7946'}, "
		    "{'name': 'peer', 'address': '127.%1$u.%2$u.84:7946'}%3$s]}, ",
		    1 + id / 254 % 254, 1 + id % 254, roster_more) < 0)
		abort();
	return text;
}

static void start_other(struct pair *pair)
{
	pair->config->gossip.self = 1;
	pair->config->gossip.listen = pair->config->gossip.roster[1].address;
	strcpy(pair->config->limiter, "peer");
	assert_int_equal(instance_prepare(&pair->other, pair->config, instance_world_ports()), 0);
	pair->other_is_up = true;
}

static void open_other(struct pair *pair, const char *more, const char *policies)
{
	pair->config = instance_world_config(more, policies);
	start_other(pair);
}

static void close_other(struct pair *pair)
{
	instance_stop(&pair->other);
	config_free(pair->config);
	pair->other_is_up = false;
}

/* Adds limiters to the roster that do not run. */
static void open_group(
	struct pair *pair, const char *roster_more, const char *ours, const char *theirs)
{
	char *more = group_of(roster_more);

	clock_ns = 1000 * SECOND_NS;
	instance_world_open_more(&pair->w, more, ours);
	open_other(pair, more, theirs);
	pair->since = events_number();
	free(more);
}

static void open_pair(struct pair *pair, const char *ours, const char *theirs)
{
	open_group(pair, "", ours, theirs);
}

static void close_pair(struct pair *pair)
{
	if (pair->other_is_up)
		close_other(pair);
	instance_world_close(&pair->w);
}

static void step_box(struct instance *inst)
{
	gossip_take(inst);
	assert_false(limiter_task_run(inst, clock_ns));
}

/* Both limiters run for this time, or only the first one. */
static void pass_time(struct pair *pair, uint64_t for_ns, bool other)
{
	for (uint64_t end = clock_ns + for_ns; clock_ns < end;) {
		clock_ns += STEP_NS;
		step_box(&pair->w.inst);
		if (other)
			step_box(&pair->other);
		instance_world_turn_all(&pair->w);
	}
}

static json_t *next_said(struct pair *pair)
{
	while (pair->since < events_number()) {
		json_t *row = events_get(pair->since++);
		const char *name = json_string_value(json_object_get(row, "event"));

		if (strncmp(name, "tsc_", 4) != 0) /* depends on the machine */
			return row;
		json_decref(row);
	}
	return NULL;
}

/* Returns name and fields of the next event, such as "peer_lost fra 1/3"; "" if there is none. */
static const char *next_words(struct pair *pair)
{
	static char words[1024];
	json_t *row = next_said(pair);
	const json_t *things = json_object_get(row, "things");
	const json_t *limiters = json_object_get(row, "limiters");
	int n = 0;

	words[0] = '\0';
	if (row)
		n = snprintf(words, sizeof(words), "%s %s",
			json_string_value(json_object_get(row, "event")),
			json_string_value(json_object_get(row, "peer")));
	if (things)
		snprintf(words + n, sizeof(words) - (size_t)n, ": %s", json_string_value(things));
	if (limiters)
		snprintf(words + n, sizeof(words) - (size_t)n, " 1/%d",
			(int)json_integer_value(limiters));
	json_decref(row);
	return words;
}

/* NULL expects no further event. */
static void expect_said(struct pair *pair, const char *words)
{
	assert_string_equal(next_words(pair), words ? words : "");
}

/* Expects two events in any order, because each limiter writes its own. */
static void expect_both(struct pair *pair, const char *one, const char *another)
{
	const char *words = next_words(pair);
	bool first = strcmp(words, one) == 0;

	if (!first && strcmp(words, another) != 0)
		fail_msg("event \"%s\", expected \"%s\" or \"%s\"", words, one, another);
	expect_said(pair, first ? another : one);
}

static double local_limit(const struct instance *inst)
{
	struct limiter_view view;

	limiter_view(inst->limiter, 0, &view);
	return view.local_limit;
}

static double number_at(const json_t *json, const char *key)
{
	assert_true(json_is_number(json_object_get(json, key)));
	return json_number_value(json_object_get(json, key));
}

/* A stalled peer is lost after the timeout. It is active again when it continues. */
TEST(test_peers)
{
	ENDED_BY(close_pair) struct pair pair;

	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("8Gbit/s"));
	pass_time(&pair, 2 * SECOND_NS, true);
	expect_both(&pair, "peer_heard peer", "peer_heard test");
	expect_said(&pair, NULL);
	/* All traffic arrives here, so the other limiter has almost no share of the limit. */
	assert_true(local_limit(&pair.w.inst) > 0.9e9);
	assert_true(local_limit(&pair.other) < 0.1e9);
	pass_time(&pair, TIMEOUT / 2, false);
	expect_said(&pair, NULL);
	pass_time(&pair, TIMEOUT, false);
	expect_said(&pair, "peer_lost peer 1/2");
	expect_said(&pair, NULL);
	assert_near(local_limit(&pair.w.inst), 0.5e9, 1);
	pass_time(&pair, SECOND_NS, true);
	expect_said(&pair, "peer_heard peer");
	expect_said(&pair, NULL);
}

/* The loss of one peer causes no event of another peer. */
TEST(test_third_peer)
{
	ENDED_BY(close_pair) struct pair pair;

	open_group(&pair, ", {'name': 'third', 'address': '127.5.3.85:7946'}", LIMIT("8Gbit/s"),
		LIMIT("8Gbit/s"));
	pass_time(&pair, 4 * SECOND_NS + SECOND_NS / 2, true);
	expect_both(&pair, "peer_heard peer", "peer_heard test");
	expect_said(&pair, NULL);
	pass_time(&pair, SECOND_NS, true);
	expect_both(&pair, "peer_differs third: no gossip", "peer_differs third: no gossip");
	expect_said(&pair, NULL);
	pass_time(&pair, TIMEOUT + TIMEOUT / 2, false);
	expect_said(&pair, "peer_lost peer 1/3");
	expect_said(&pair, NULL);
}

/* The shares that the other limiter shows are the measurements that this one has sent. */
TEST(test_shares)
{
	struct limiter_view view;
	ENDED_BY(close_pair) struct pair pair;
	const json_t *limiters;
	json_t *reply;

	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("8Gbit/s"));
	show_expect(show_ask(&pair.w, "/weir/shares", "soft"),
		"{'limiters': [{'name': 'test', 'self': true, 'demand_bps': 0, 'weight': 0.0}, "
		"{'name': 'peer', 'self': false}], '...': 0}");
	pass_time(&pair, 2 * SECOND_NS, true);
	limiter_view(pair.w.inst.limiter, 0, &view);
	reply = show_shares("soft", &pair.other);
	limiters = json_object_get(reply, "limiters");
	assert_near(number_at(json_array_get(limiters, 0), "demand_bps") / 8, view.demand,
		view.demand / 10);
	assert_near(
		number_at(json_array_get(limiters, 0), "weight"), view.weight, view.weight / 10);
	assert_true(view.demand > 1000);
	show_expect(json_incref(json_array_get(limiters, 1)),
		"{'name': 'peer', 'self': true, '...': 0}");
	json_decref(reply);
}

/* A missing key file is an error, and the preparation leaves nothing allocated. */
TEST(test_not_started)
{
	ENDED_BY(free_at) char *more = group_of("");
	struct pair pair = {0};

	pair.config = instance_world_config(more, LIMIT("8Gbit/s"));
	pair.config->gossip.n_key_files = 1;
	strcpy(pair.config->gossip.key_files[0], "/none/of/them");
	assert_int_equal(
		instance_prepare(&pair.other, pair.config, instance_world_ports()), -ENOENT);
	assert_null(pair.other.limiter_task);
	config_free(pair.config);
}

/* Both limiters report a config mismatch once, and once that it has ended. */
TEST(test_differing)
{
	ENDED_BY(close_pair) struct pair pair;
	ENDED_BY(free_at) char *more = group_of("");

	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("16Gbit/s"));
	pass_time(&pair, 6 * SECOND_NS, true);
	expect_both(&pair, "peer_heard peer", "peer_heard test");
	expect_both(&pair, "peer_differs peer: limit of soft", "peer_differs test: limit of soft");
	expect_said(&pair, NULL);
	close_other(&pair);
	open_other(&pair, more, LIMIT("8Gbit/s"));
	pass_time(&pair, 6 * SECOND_NS, true);
	expect_said(&pair, "peer_heard test");
	expect_said(&pair, "peer_agrees peer");
	expect_said(&pair, NULL);
}

/* Expects the alarm of a peer that differs for longer than the reloads of a group take. */
static void expect_alarm(struct pair *pair, const char *first)
{
	uint64_t since_ns = differs_of(&pair->w.inst, 1, clock_ns).since_ns;
	char expected[512];

	pair->w.inst.differs_alarm_ns = clock_ns - since_ns + 1;
	show_expect(show_ask(&pair->w, "/weir/health", NULL), "{'alarms': [], '...': 0}");
	pair->w.inst.differs_alarm_ns--;
	snprintf(expected, sizeof(expected),
		"{'alarms': ['peer differs for %.0f s: %s'], '...': 0}",
		(double)(clock_ns - since_ns) / SECOND_NS, first);
	show_expect(show_ask(&pair->w, "/weir/health", NULL), expected);
}

/* Both sides name the differing keys of a policy, and the policies that only one side has. */
TEST(test_names)
{
	static const struct {
		const char *ours, *theirs, *here, *there, *first, *shown;
	} rows[] = {
		{BOTH("8Gbit/s", "20MB"), BOTH("9Gbit/s", "30MB"), "limit, burst of soft",
			"limit, burst of soft", "limit, burst of soft", "'limit, burst of soft'"},
		{LIMIT("8Gbit/s"), LIMIT("8Gbit/s") ", " NAMED("more", "1"),
			"presence of a policy that is not here (ee230973adaa6873)",
			"presence of more",
			"presence of a policy that is not here (ee230973adaa6873)",
			"'presence of a policy that is not here (ee230973adaa6873)'"},
		{LIMIT("8Gbit/s") ", " NAMED("a", "1") ", " NAMED("b", "2"), LIMIT("8Gbit/s"),
			"presence of a; presence of b",
			"presence of a policy that is not here (27c35e6e9373877f); presence of a "
			"policy that is not here (96172b4c53372cd1)",
			"presence of a", "'presence of a', 'presence of b'"},
		{LIMIT("8Gbit/s") ", " NAMED("a", "1") ", " NAMED("b", "2") ", " NAMED("c", "3"),
			LIMIT("8Gbit/s"), "presence of a; presence of b; and more",
			"presence of a policy that is not here (27c35e6e9373877f); presence of a "
			"policy that is not here (96172b4c53372cd1); and more",
			"presence of a", "'presence of a', 'presence of b', '1 more'"},
	};
	char here[512], there[512];
	struct pair pair;

	for (size_t i = 0; i < COUNT(rows); i++) {
		open_pair(&pair, rows[i].ours, rows[i].theirs);
		pass_time(&pair, 5 * SECOND_NS, true);
		expect_both(&pair, "peer_heard peer", "peer_heard test");
		snprintf(here, sizeof(here), "peer_differs peer: %s", rows[i].here);
		snprintf(there, sizeof(there), "peer_differs test: %s", rows[i].there);
		expect_both(&pair, here, there);
		expect_said(&pair, NULL);
		snprintf(here, sizeof(here),
			"{'peers': [{'differs': [%s], 'differs_ms': '*', '...': 0}], '...': 0}",
			rows[i].shown);
		show_expect(show_ask(&pair.w, "/weir/peers", "1"), here);
		show_expect(show_ask(&pair.w, "/weir/config", NULL),
			"{'peers_differ': ['peer'], '...': 0}");
		expect_alarm(&pair, rows[i].first);
		close_pair(&pair);
	}
}

/* The datagram of an unknown sender is counted for no peer. */
TEST(test_stranger)
{
	const uint8_t datagram[64] = {99}; /* a version without a format */
	ENDED_BY(free_at) char *group = group_of(""), *more;
	const struct gossip *gossip;
	struct sockaddr_in from;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	clock_ns = 1000 * SECOND_NS;
	assert_true(asprintf(&more, "'gossip': {'sources': 'any', %s",
			    group + strlen("'gossip': {")) > 0);
	WORLD(w, LIMIT("8Gbit/s"), .more = more);
	memcpy(&from, &w->config->gossip.roster[1].address, sizeof(from));
	from.sin_addr.s_addr += htonl(1);
	from.sin_port = 0;
	assert_int_equal(bind(fd, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(
		sendto(fd, datagram, sizeof(datagram), 0,
			(struct sockaddr *)&w->config->gossip.listen, w->config->gossip.listen_len),
		sizeof(datagram));
	gossip = limiter_gossip(w->inst.limiter);
	while (gossip_counters(gossip)->verdict[GOSSIP_VERSION] == 0)
		gossip_take(&w->inst);
	assert_int_equal(gossip_counters(gossip)->verdict[GOSSIP_VERSION], 1);
	for (unsigned i = 0; i < w->config->gossip.n_roster; i++)
		assert_int_equal(refusals_of(w->inst.gossip->refusals, i)->n, 0);
	close(fd);
}

/* A difference of the group that a reload cannot change is reported too. */
TEST(test_group_differs)
{
	struct differs differs;
	ENDED_BY(close_pair) struct pair pair;
	ENDED_BY(free_at) char *more = group_of("");

	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("8Gbit/s"));
	close_other(&pair);
	pair.config = instance_world_config(more, LIMIT("8Gbit/s"));
	pair.config->gossip.timeout_ns *= 2;
	start_other(&pair);
	pass_time(&pair, 3 * SECOND_NS, true);
	differs = differs_of(&pair.w.inst, 1, clock_ns);
	assert_int_equal(differs.named, 1);
	assert_string_equal(differs.text[0], "gossip timeout");
	assert_int_equal(differs.others, 0);
	assert_true(differs.fixed);
	assert_in_range(differs.since_ns, 1000 * SECOND_NS, clock_ns);
	pair.w.inst.differs_alarm_ns = UINT64_MAX;
	show_expect(show_ask(&pair.w, "/weir/health", NULL),
		"{'alarms': ['*gossip timeout*'], '...': 0}");
}

/* Runs a turn that is due. */
static void look_at_clock(struct pair *pair)
{
	clock_ns += SECOND_NS;
	step_box(&pair->w.inst);
}

static unsigned count_said(struct pair *pair, const char *event)
{
	unsigned n = 0;

	for (; pair->since < events_number(); pair->since++) {
		json_t *row = events_get(pair->since);

		n += strcmp(json_string_value(json_object_get(row, "event")), event) == 0;
		json_decref(row);
	}
	return n;
}

/* A number of the only new event with this name. */
static double said_number(struct pair *pair, const char *event, const char *key)
{
	double number = NAN;
	unsigned n = 0;

	for (; pair->since < events_number(); pair->since++) {
		json_t *row = events_get(pair->since);

		if (strcmp(json_string_value(json_object_get(row, "event")), event) == 0) {
			number = json_number_value(json_object_get(row, key));
			n++;
		}
		json_decref(row);
	}
	assert_int_equal(n, 1);
	return number;
}

static struct shared_bucket *bucket_of(const struct instance *inst)
{
	return &inst->engine.shared_buckets[inst->slots.of[0]];
}

/* The tokens of a bucket whose burst takes many seconds to fill. */
static int64_t tokens_of(const struct instance *inst)
{
	const struct shared_bucket_profile profile = shared_bucket_read(bucket_of(inst));
	struct gcra_profile limit = shared_bucket_limit(&profile);
	struct gcra_now instant = gcra_now(&limit, tick_now());

	return gcra_tokens(&bucket_of(inst)->state, &instant);
}

static int64_t half_of_burst(const struct instance *inst)
{
	return (int64_t)(shared_bucket_read(bucket_of(inst)).burst / 2);
}

/* Fills the bucket, like a long time without traffic. */
static void fill_bucket(const struct instance *inst)
{
	const struct shared_bucket_profile profile = shared_bucket_read(bucket_of(inst));

	bucket_of(inst)->state.allow_at = shared_bucket_time(bucket_of(inst), tick_now()) -
					  profile.burst;
}

/* A jump of the TSC is an event. Buckets start again only if it was set back. */
TEST(test_clocks)
{
	ENDED_BY(close_pair) struct pair pair;
	struct instance *inst = &pair.w.inst;
	struct tsc_clock *clock = &inst->clock;

	open_pair(&pair, LIMIT("8Mbit/s"), LIMIT("8Mbit/s"));
	pass_time(&pair, 3 * SECOND_NS, false);
	fill_bucket(inst);
	look_at_clock(&pair);
	assert_int_equal(count_said(&pair, "tsc_jumped"), 0);
	assert_true(tokens_of(inst) > half_of_burst(inst));
	clock->last.ns -= SECOND_NS; /* simulates a TSC that stood still for a second */
	look_at_clock(&pair);
	assert_near(said_number(&pair, "tsc_jumped", "ms"), (double)clock->jumped_ns / 1e6, 1e-3);
	assert_int_equal(clock->set_back, 0);
	assert_true(tokens_of(inst) > half_of_burst(inst));
	clock->last.tsc += clock->hz;
	look_at_clock(&pair);
	assert_near(said_number(&pair, "tsc_set_back", "ms"), (double)clock->jumped_ns / 1e6, 1e-3);
	assert_int_equal(clock->set_back, 1);
	assert_true(tokens_of(inst) < half_of_burst(inst));
}

/* All limits get a better measurement of the TSC rate. */
TEST(test_refined)
{
	ENDED_BY(close_pair) struct pair pair;
	struct instance *inst = &pair.w.inst;
	uint64_t rate;

	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("8Gbit/s"));
	pass_time(&pair, STEP_NS, false);
	inst->clock.first.ns -= 10 * SECOND_NS; /* makes the new measurement the right one */
	inst->clock.first.tsc -= 10 * inst->clock.hz;
	inst->clock.hz += inst->clock.hz / 10000;
	publish_all_later(inst);
	assert_true(publish_rest(inst));
	rate = shared_bucket_read(bucket_of(inst)).rate;
	count_said(&pair, "");
	clock_ns = limiter_next(inst->limiter);
	inst->clock.doubted = false;
	inst->clock.refine_ns = 1;
	inst->clock.last = tsc_clock_read(); /* no time for a jump of a busy virtual machine */
	step_box(inst);
	assert_near(said_number(&pair, "tsc_refined", "mhz"), (double)inst->clock.hz / 1e6, 1e-3);
	assert_true(shared_bucket_read(bucket_of(inst)).rate > rate);
}

/* A tick reads the times that packets waited before the counts of workers reach 2^32. */
TEST(test_delays_seen)
{
	const char *waits = "{'name': 'waits', 'match': {'direction': 'a-to-b'}, "
			    "'limit': '8Mbit/s', 'action': 'shape'}";
	ENDED_BY(close_pair) struct pair pair;
	struct instance *inst = &pair.w.inst;
	uint32_t slot;

	open_pair(&pair, waits, waits);
	slot = inst->slots.of[0];
	worker_shape(&inst->workers[1], slot)->delay.bins[7] = 5;
	look_at_clock(&pair);
	assert_int_equal(inst->delays->slots[slot].sums[1].bins[7], 5);
}

static uint64_t next_work(const struct instance *inst)
{
	return RTE_MIN(limiter_next(inst->limiter), limiter_next_look(inst->limiter));
}

/* Pending limits are published between ticks. The loop wakes for them after a minimum pause. */
TEST(test_rest)
{
	ENDED_BY(close_pair) struct pair pair;
	struct instance *inst = &pair.w.inst;

	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("8Gbit/s"));
	pass_time(&pair, 2 * SECOND_NS, true);
	clock_ns = limiter_task_next(inst);
	assert_int_equal(clock_ns, next_work(inst));
	assert_false(limiter_task_run(inst, clock_ns));
	assert_true(next_work(inst) > clock_ns + MS_NS);
	assert_int_equal(limiter_task_next(inst), next_work(inst));
	publish_all_later(inst);
	assert_int_equal(limiter_task_next(inst), clock_ns + MS_NS);
	assert_false(limiter_task_run(inst, clock_ns));
	assert_true(publish_is_done(inst));
	assert_int_equal(limiter_task_next(inst), next_work(inst));
	clock_ns = next_work(inst) - 1;
	publish_all_later(inst);
	assert_int_equal(limiter_task_next(inst), clock_ns + 1);
}

/* Control looks at buckets while there is traffic, if any policy lends tokens. */
TEST(test_looks)
{
#define LENDS(limit, more) \
	"{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '" limit "'" more "}"
	static const struct {
		const char *policies;
		bool looks;
	} rows[] = {
		{LENDS("8Gbit/s", ", 'burst': '20MB'"), true},
		{LENDS("8Gbit/s", ", 'allocator': 'static'"), false},
		{LENDS("1000000/s", ", 'count': 'packets'"), false},
		{LENDS("8Gbit/s", ", 'allocator': 'static'") ", " NAMED("q", "7"), true},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct pair pair;

		open_pair(&pair, rows[i].policies, rows[i].policies);
		pass_time(&pair, SECOND_NS, true);
		assert_int_equal(
			limiter_next_look(pair.w.inst.limiter) < UINT64_MAX, rows[i].looks);
		pass_time(&pair, 10 * SECOND_NS, true); /* idle */
		close_pair(&pair);
	}
}

static int socket_of(const struct peer_config *peer)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&peer->address, peer->address_len), 0);
	return fd;
}

static void post(const struct pair *pair, int fd, const uint8_t *datagram, size_t len)
{
	const struct peer_config *to = &pair->w.config->gossip.roster[0];

	assert_int_equal(sendto(fd, datagram, len, 0, (const struct sockaddr *)&to->address,
				 to->address_len),
		len);
}

/* A rejected datagram is counted for the peer of its source address, by its kind only. */
TEST(test_refused)
{
	uint8_t datagram[DATAGRAM_MIN] = {0};
	const struct refusal *refusal;
	struct pair pair;
	int fd;

	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("8Gbit/s"));
	close_other(&pair);
	fd = socket_of(&pair.w.config->gossip.roster[1]);
	refusal = refusals_of(pair.w.inst.gossip->refusals, 1);
	wire_put32(datagram + DATAGRAM_SENDER, name_hash("peer"));
	datagram[0] = 0xff;
	gossip_take(&pair.w.inst);
	assert_int_equal(refusal->n, 0);
	post(&pair, fd, datagram, sizeof(datagram));
	gossip_take(&pair.w.inst);
	assert_int_equal(refusal->n, 1);
	assert_int_equal(refusal->verdict, GOSSIP_VERSION);
	assert_int_equal(refusal->last_ns, clock_ns);
	post(&pair, fd, datagram, 3); /* cut short, which is not a kind */
	gossip_take(&pair.w.inst);
	assert_int_equal(refusal->n, 1);
	clock_ns += MS_NS;
	wire_put32(datagram + DATAGRAM_SENDER, name_hash("test"));
	post(&pair, fd, datagram, sizeof(datagram));
	gossip_take(&pair.w.inst);
	assert_int_equal(refusal->n, 2);
	assert_int_equal(refusal->verdict, REFUSED_SOURCE);
	assert_int_equal(refusal->last_ns, clock_ns);
	assert_int_equal(pair.w.inst.gossip->wrong_source, 1);
	close(fd);
	instance_world_close(&pair.w);
}

static uint64_t count_messages(const struct instance *inst)
{
	return gossip_counters(limiter_gossip(inst->limiter))->verdict[GOSSIP_MESSAGE];
}

/* Limits that a message changed are published immediately, the rest later. */
TEST(test_messages)
{
	ENDED_BY(close_pair) struct pair pair;
	struct instance *inst = &pair.w.inst;
	bool told = false;

	open_pair(&pair, LIMIT("8Gbit/s"), LIMIT("16Gbit/s"));
	pass_time(&pair, SECOND_NS, true);
	for (unsigned i = 0; i < 400; i++) {
		uint64_t messages = count_messages(inst);

		clock_ns += STEP_NS;
		step_box(&pair.other);
		publish_all_later(inst);
		gossip_take(inst);
		assert_int_equal(publish_is_done(inst), count_messages(inst) > messages);
		told |= publish_is_done(inst);
		assert_false(limiter_task_run(inst, clock_ns));
	}
	assert_true(told);
}

TEST_GROUP(instance_world_start, instance_world_stop)
