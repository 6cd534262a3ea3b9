/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A worker's turn. Each received packet of any length is sent or counted. An idle worker
 * sleeps. Ports from the first fragment of a datagram are kept for later bursts.
 */
#include "instance_world.h"
#include "scope.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include <rte_ethdev.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_pause.h>
#include <rte_rcu_qsbr.h>

#include "base/time.h"
#include "classify/classify.h"
#include "config/load.h"
#include "distribute.h"
#include "engine/profile.h"
#include "event.h"
#include "fault.h"
#include "flow/flow_sample.h"
#include "limit_ring.h"
#include "packet/fragment.h"
#include "police/extended.h"
#include "policy/kind.h"
#include "policy/trial.h"
#include "rx_rings.h"
#include "rx_wait.h"
#include "specimen.h"
#include "steering.h"
#include "shape/shape.h"
#include "tap.h"
#include "worker.h"
#include "worker_data.h"
#include "tick.h"

END_POINTER(config_free, struct config *)
END_POINTER(tap_destroy, struct tap *)

#define POLICY "{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '100Gbit/s'}"

/* An IPv4 datagram of UDP over Ethernet, and the offsets of its lengths and fragment fields. */
#define HEADERS     42
#define IP_AT       14
#define IP_BYTES    16
#define IP_ID       18
#define IP_PART     20
#define IP_FROM     26
#define IP_SUM      24
#define PLAIN_FRAME 66
#define PLAIN_IP    52
#define FIRST_IS    0x2000
#define SECOND_IS   4 /* offset after the first fragment, in units of 8 bytes */

static const uint8_t headers[HEADERS] = {0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 2, 8, 0, /* Ethernet */
	0x45, 0, 0, 0, 0, 7, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,         /* IPv4 */
	0, 9, 0, 53, 0, 30, 0, 0};                                                 /* UDP */

/* Packets that replace those of the device. */
struct made {
	uint16_t frame, ip, part; /* bytes of both, and the fragment word */
	uint8_t id;               /* first byte of the datagrams' IDs */
	uint16_t n;               /* most packets of a burst; the rest is removed */
	uint16_t every;           /* one packet in this many; the others are short */
};

static uint16_t make_frames(uint16_t port, uint16_t queue, struct rte_mbuf **mbufs, uint16_t n,
	uint16_t most, void *context)
{
	const struct made *made = context;

	(void)queue;
	(void)most;
	for (uint16_t i = 0; i < n; i++) {
		struct rte_mbuf *m = mbufs[i];
		uint8_t *data = rte_pktmbuf_mtod(m, uint8_t *);
		bool plain = i % made->every;
		uint16_t ip = plain ? PLAIN_IP : made->ip, sum;

		memcpy(data, headers, HEADERS);
		data[IP_BYTES] = (uint8_t)(ip >> 8);
		data[IP_BYTES + 1] = (uint8_t)ip;
		data[IP_ID] = made->id;
		data[IP_ID + 1] = (uint8_t)i;
		data[IP_FROM] = (uint8_t)(port + 1);
		data[IP_PART] = (uint8_t)(made->part >> 8);
		data[IP_PART + 1] = (uint8_t)made->part;
		sum = rte_ipv4_cksum((const struct rte_ipv4_hdr *)(data + IP_AT));
		memcpy(data + IP_SUM, &sum, sizeof(sum));
		m->data_len = plain ? PLAIN_FRAME : made->frame;
		m->pkt_len = m->data_len;
	}
	for (uint16_t i = made->n; i < n; i++)
		rte_pktmbuf_free(mbufs[i]);
	return RTE_MIN(n, made->n);
}

struct made_world {
	struct instance_world w;
	struct worker *worker;
	struct made made;
	const struct rte_eth_rxtx_callback *callbacks[2];
	uint16_t ports[2];
};

/* One worker has both paths. */
static void open_made(struct made_world *m, const char *policies)
{
	instance_world_open(&m->w, policies);
	m->w.pieces += 2; /* DPDK keeps removed callbacks */
	m->worker = &m->w.inst.workers[0];
	m->made = (struct made){.frame = PLAIN_FRAME, .ip = PLAIN_IP, .n = BURST, .every = 1};
	for (unsigned i = 0; i < 2; i++) {
		m->ports[i] = m->worker->paths[i].rx_port;
		m->callbacks[i] = rte_eth_add_rx_callback(
			m->ports[i], m->worker->paths[i].queue, make_frames, &m->made);
		assert_non_null(m->callbacks[i]);
	}
}

static void close_made(struct made_world *m)
{
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rte_eth_remove_rx_callback(
					 m->ports[i], m->worker->paths[i].queue, m->callbacks[i]),
			0);
	instance_world_close(&m->w);
}

/*
 * Packets longer than the largest frame, or truncated, are dropped and counted. The rest of the
 * burst passes.
 */
TEST(test_altered)
{
	static const struct {
		uint16_t frame, ip, every;
		bool cuts; /* the port checks for truncated packets */
		unsigned oversize, truncated;
	} rows[] = {
		{1514, 1500, 1, true, 0, 0},
		{1514, 1501, 1, true, 0, BURST},
		{1514, 1501, 1, false, 0, 0},
		{1514, 1501, 4, true, 0, BURST / 4},
		{1530, 1500, 1, false, BURST, 0},
		{1530, 1500, 8, false, BURST / 8, 0},
		{1530, 1600, 8, true, BURST / 8, 0},
		{66, 52, 1, true, 0, 0},
		{66, 53, 1, true, 0, BURST},
	};

	for (size_t i = 0; i < COUNT(rows); i++) {
		const struct worker_counters *c;
		struct made_world m;

		open_made(&m, POLICY);
		c = &m.worker->counters;
		m.made.frame = rows[i].frame;
		m.made.ip = rows[i].ip;
		m.made.every = rows[i].every;
		for (unsigned p = 0; p < m.worker->n_paths; p++) {
			m.worker->paths[p].frame_max = m.worker->paths[p].tagged_max = 1518;
			m.worker->paths[p].cuts = rows[i].cuts;
		}
		instance_world_turn(&m.w, 0);
		assert_int_equal(c->rx_packets, 2 * BURST);
		assert_int_equal(c->dropped[DROP_OVERSIZE], 2 * rows[i].oversize);
		assert_int_equal(c->dropped[DROP_TRUNCATED], 2 * rows[i].truncated);
		assert_int_equal(c->tx_packets + c->dropped[DROP_LIMIT],
			2 * (BURST - rows[i].oversize - rows[i].truncated));
		assert_true(c->dropped[DROP_LIMIT] == 0);
		assert_int_equal(instance_world_totals(&m.w, 0).passed_packets,
			BURST - rows[i].oversize - rows[i].truncated);
		close_made(&m);
	}
}

/* A capture contains these packets too, with the drop reason. */
TEST(test_altered_is_seen)
{
	ENDED_BY(close_made) struct made_world m;
	ENDED_BY(tap_destroy_at) struct tap *tap;

	open_made(&m, POLICY);
	tap = tap_create(0, 1000, false, 0, tick_hz());
	assert_non_null(tap);
	tap->until = tick_now() + 3600 * tick_hz();
	tap->examined.ticks = 0;
	tap->reason = DROP_OVERSIZE;
	m.worker->tap = tap;
	for (unsigned p = 0; p < m.worker->n_paths; p++)
		m.worker->paths[p].frame_max = m.worker->paths[p].tagged_max = 63;
	instance_world_turn(&m.w, 0);
	assert_int_equal(m.worker->counters.dropped[DROP_OVERSIZE], 2 * BURST);
	assert_int_equal(tap->n_taken, 2 * BURST);
	m.worker->tap = NULL;
}

/* A turn without packets is counted and followed by a sleep. A turn with packets is not. */
TEST(test_idle)
{
	const struct worker_counters *c;
	ENDED_BY(close_made) struct made_world m;
	uint64_t turn;

	open_made(&m, POLICY);
	c = &m.worker->counters;
	turn = m.worker->turn;
	m.made.n = 0;
	m.worker->own.idle_since = tick_now();
	instance_world_turn(&m.w, 0);
	instance_world_turn(&m.w, 0);
	assert_int_equal(c->empty_polls, 2);
	assert_int_equal(c->sleeps, 2);
	assert_int_equal(c->bursts + c->rx_packets, 0);
	assert_int_equal(m.worker->turn, turn + 2);
	m.made.n = 1;
	instance_world_turn(&m.w, 0);
	assert_int_equal(c->empty_polls, 2);
	assert_int_equal(c->sleeps, 2);
	assert_int_equal(c->bursts, 2);
	assert_int_equal(c->rx_packets, 2);
	assert_int_equal(c->tx_packets, 2);
	m.made.n = 0;
	m.worker->idle = IDLE_POLL;
	instance_world_turn(&m.w, 0);
	assert_int_equal(c->empty_polls, 3);
	assert_int_equal(c->sleeps, 2);
	m.worker->idle = IDLE_SLEEP;
}

/*
 * A sleep lasts at most half the idle time. It is at most one millisecond, and four after an idle
 * second. An idle worker wakes up no more often than necessary.
 */
TEST(test_sleeps)
{
	static const struct {
		uint64_t quiet_ns, sleep_ns;
	} rows[] = {
		{0, 50000},
		{100 * 1000, 50000},
		{100 * 1000 + 2, 50001},
		{MS_NS, MS_NS / 2},
		{2 * MS_NS - 2, MS_NS - 1},
		{2 * MS_NS, MS_NS},
		{256 * MS_NS, MS_NS},
		{256 * MS_NS + 256, MS_NS + 1},
		{512 * MS_NS, 2 * MS_NS},
		{1024 * MS_NS - 256, 4 * MS_NS - 1},
		{1024 * MS_NS, 4 * MS_NS},
		{3600 * SECOND_NS, 4 * MS_NS},
		{UINT64_MAX, 4 * MS_NS},
	};

	for (size_t i = 0; i < COUNT(rows); i++)
		assert_int_equal(idle_sleep_ns(rows[i].quiet_ns), rows[i].sleep_ns);
	for (uint64_t quiet = 1; quiet < 4 * SECOND_NS; quiet += 1 + quiet / 64)
		assert_true(idle_sleep_ns(quiet) <= idle_sleep_ns(quiet + 1 + quiet / 64));
}

#define RESTS 20

/* Duration of the sleep that the last turn requested; while `on`, the worker does not sleep. */
static struct {
	bool on;
	uint64_t ns;
} nap;

int nanosleep(const struct timespec *rest, struct timespec *left)
{
	if (!nap.on)
		return (int)syscall(SYS_nanosleep, rest, left);
	nap.ns = (uint64_t)rest->tv_sec * SECOND_NS + (uint64_t)rest->tv_nsec;
	return 0;
}

/* A turn of a worker that has been idle for this time. */
static void turn_after(struct made_world *m, uint64_t quiet_ns)
{
	m->worker->own.idle_since = tick_now() - quiet_ns / 1000 * m->worker->ticks_per_us;
	instance_world_turn(&m->w, 0);
}

/* Returns the worker's idle time. */
static uint64_t quiet_so_far(const struct made_world *m)
{
	uint64_t ticks = tick_now() - m->worker->own.idle_since;

	return ticks / m->worker->ticks_per_us * 1000;
}

/* A worker sleeps for this time by its own clock. */
TEST(test_rests)
{
	static const uint64_t quiet[] = {0, MS_NS, 4 * SECOND_NS};
	ENDED_BY(close_made) struct made_world m;
	uint64_t least;

	open_made(&m, POLICY);
	m.made.n = 0;
	nap.on = true;
	for (size_t i = 0; i < COUNT(quiet); i++) {
		nap.ns = 0;
		turn_after(&m, quiet[i]);
		least = idle_sleep_ns(quiet[i] - RTE_MIN(quiet[i], 1000u)); /* rounding of a tick */
		assert_in_range(nap.ns, least, idle_sleep_ns(quiet_so_far(&m)));
		assert_int_equal(m.worker->counters.sleeps, i + 1);
	}
	nap.on = false;
}

/* On an idle wire, a waiting packet still leaves when it is due: one each millisecond. */
TEST(test_wakes_when_due)
{
	ENDED_BY(close_made) struct made_world m;
	uint64_t sent, longest = 0;

	open_made(&m, "{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '400kbit/s', "
		      "'burst': '100B', 'action': 'shape', 'shape': {'delay': '10s'}}");
	instance_world_turn(&m.w, 0);
	instance_world_turn(&m.w, 0);
	m.made.n = 0;
	nap.ns = 0;
	nap.on = true;
	sent = m.worker->counters.tx_packets;
	while (m.worker->counters.tx_packets < sent + RESTS) {
		turn_after(&m, 3600 * SECOND_NS);
		longest = RTE_MAX(nap.ns, longest);
	}
	nap.on = false;
	print_message("would sleep for %u us at most\n", (unsigned)(longest / 1000));
	assert_true(m.worker->counters.sleeps > 0);
	assert_true(longest < 2 * MS_NS); /* below the longest sleep of four */
}

/* Control, which publishes limits while a worker sleeps. */
struct teller {
	struct worker *worker;
	uint32_t slot;
	uint64_t rate;     /* rate of the last limit */
	bool asleep, done; /* asleep: it slept throughout; atomics */
	pthread_t thread;
};

#define TOLD (3 * 16 + 1) /* more than a worker takes before three bursts */

static bool sleeps_now(const struct worker *w)
{
	return __atomic_load_n(&w->publisher->rcu->qsbr_cnt[w->index].cnt, __ATOMIC_ACQUIRE) ==
	       __RTE_QSBR_CNT_THR_OFFLINE;
}

static void *tell_sleeper(void *context)
{
	struct teller *teller = context;
	struct limit_profile profile = {.policy = teller->slot,
		.kind = METER_TOKEN_BUCKET,
		.sample_shift = POLICE_UNSAMPLED};
	bool all = true;

	while (!sleeps_now(teller->worker) && !__atomic_load_n(&teller->done, __ATOMIC_RELAXED))
		rte_pause();
	for (unsigned i = 0; i < TOLD; i++) {
		profile.meter.bucket.rate = ++teller->rate;
		all &= limit_ring_send(&teller->worker->limit_ring, &profile);
	}
	teller->asleep = all && sleeps_now(teller->worker);
	__atomic_store_n(&teller->done, true, __ATOMIC_RELEASE);
	return NULL;
}

/* Runs turns until control has published. Returns true if the worker slept throughout. */
static bool is_told_asleep(struct made_world *m, struct teller *teller)
{
	teller->done = false;
	assert_int_equal(pthread_create(&teller->thread, NULL, tell_sleeper, teller), 0);
	for (unsigned i = 0; i < 100 && !__atomic_load_n(&teller->done, __ATOMIC_ACQUIRE); i++)
		turn_after(m, 3600 * SECOND_NS);
	__atomic_store_n(&teller->done, true, __ATOMIC_RELEASE);
	pthread_join(teller->thread, NULL);
	return teller->asleep;
}

/* Control does not wait for a sleeping worker. After its sleep the worker uses the newest limit. */
TEST(test_told_asleep)
{
	const struct policy_state *line;
	ENDED_BY(close_made) struct made_world m;
	struct teller teller;
	unsigned tries = 0;

	open_made(&m, "{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '100Gbit/s', "
		      "'action': 'count'}");
	m.made.n = 0;
	teller = (struct teller){.worker = m.worker, .slot = m.w.inst.slots.of[0]};
	while (!is_told_asleep(&m, &teller))
		assert_true(tries++ < 20); /* the host ran other tasks */
	assert_true(limit_ring_is_taken(&m.worker->limit_ring));
	line = &m.worker->policies[teller.slot];
	assert_int_equal(line->other->profile.bucket.rate, teller.rate);
}

#define LONGEST_NS    (25 * MS_NS)
#define KERNEL_SIGSET 8 /* bytes */

/* Publications of control while a worker waits. */
enum publishing {
	PUBLISH_NOTHING,
	PUBLISH_LIMIT,
	PUBLISH_SNAPSHOT,
	PUBLISH_SPECIMEN,
	PUBLISH_STOP,
	PUBLISHINGS
};

/* The last wait of the worker, if `on`. It returns after control has called worker_wake(). */
static struct {
	bool on, called;
	uint64_t ns;
	struct made_world *m;
	enum publishing what;
	uint64_t rate;
	bool woken; /* control has ended the wait */
	struct specimen specimen;
} wait_of;

static void publish_limit(struct worker *w)
{
	struct limit_profile profile = {.policy = wait_of.m->w.inst.slots.of[0],
		.kind = METER_TOKEN_BUCKET,
		.sample_shift = POLICE_UNSAMPLED};

	profile.meter.bucket.rate = ++wait_of.rate;
	assert_true(limit_ring_send(&w->limit_ring, &profile));
}

static void publish_snapshot(struct publisher *publisher)
{
	struct snapshot *next = publisher_take(publisher);
	uint64_t generation;

	assert_non_null(next);
	generation = next->generation;
	*next = *publisher->current;
	next->next = NULL;
	next->generation = generation;
	publisher_publish(publisher, next);
}

static void publish_something(enum publishing what)
{
	struct worker *w = wait_of.m->worker;

	switch (what) {
	case PUBLISH_LIMIT:
		publish_limit(w);
		break;
	case PUBLISH_SNAPSHOT:
		publish_snapshot(&wait_of.m->w.inst.publisher);
		break;
	case PUBLISH_SPECIMEN:
		wait_of.specimen = (struct specimen){.len = PLAIN_FRAME};
		specimen_ask(w, &wait_of.specimen);
		break;
	case PUBLISH_STOP:
		wait_of.m->w.inst.stop = true;
		break;
	default:
		break;
	}
}

int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *most, const sigset_t *signals)
{
	struct timespec left = *most; /* the kernel writes to it */

	if (!wait_of.on)
		return (int)syscall(SYS_ppoll, fds, n, &left, signals, KERNEL_SIGSET);
	wait_of.called = true;
	wait_of.ns = (uint64_t)most->tv_sec * SECOND_NS + (uint64_t)most->tv_nsec;
	assert_true(sleeps_now(wait_of.m->worker)); /* quiescent */
	publish_something(wait_of.what);
	worker_wake(wait_of.m->worker);
	wait_of.woken = !rx_wait_is_announced(wait_of.m->worker->wait);
	left = (struct timespec){0};
	return (int)syscall(SYS_ppoll, fds, n, &left, signals, KERNEL_SIGSET);
}

static void open_waiting(struct made_world *m, const char *policies, int sockets[2])
{
	open_made(m, policies);
	m->made.n = 0;
	assert_int_equal(pipe(sockets), 0);
	assert_int_equal(rx_wait_create(sockets, 1, LONGEST_NS, &m->worker->wait), 0);
	memset(&wait_of, 0, sizeof(wait_of));
	wait_of.m = m;
	wait_of.on = nap.on = true;
}

static void close_waiting(struct made_world *m, int sockets[2])
{
	wait_of.on = nap.on = false;
	rx_wait_destroy(m->worker->wait);
	m->worker->wait = NULL;
	close(sockets[0]);
	if (sockets[1] >= 0)
		close(sockets[1]);
	close_made(m);
}

/* A worker pauses up to a time without packets and then waits. After a failure it pauses again. */
TEST(test_waits_when_quiet)
{
	unsigned waits = 0, pauses = 0;
	struct made_world m;
	int sockets[2];

	open_waiting(&m, POLICY, sockets);
	for (unsigned i = 0; i < ROUNDS(2000); i++) {
		uint64_t quiet = (uint64_t)random() % (UINT64_C(1) << random() % 36), after;

		wait_of.called = false;
		nap.ns = 0;
		turn_after(&m, quiet);
		after = quiet_so_far(&m);
		assert_int_not_equal(wait_of.called, nap.ns > 0);
		if (quiet >= WAIT_AFTER_NS + 1000) { /* a tick's rounding */
			assert_true(wait_of.called);
			assert_int_equal(wait_of.ns, LONGEST_NS);
		} else if (after < WAIT_AFTER_NS) {
			assert_false(wait_of.called);
		}
		waits += wait_of.called;
		pauses += nap.ns > 0;
		assert_int_equal(m.worker->counters.sleeps, waits + pauses);
	}
	assert_true(waits > 0 && pauses > 0);
	close(sockets[1]);
	sockets[1] = -1;
	turn_after(&m, SECOND_NS);
	for (unsigned i = 0; i < 10; i++) {
		wait_of.called = false;
		turn_after(&m, SECOND_NS);
		assert_false(wait_of.called);
	}
	close_waiting(&m, sockets);
}

#define COUNTED                                                                  \
	"{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '100Gbit/s', " \
	"'action': 'count'}"

/* Control ends a wait for each thing that the worker must take, and only then. */
TEST(test_control_ends_a_wait)
{
	struct made_world m;
	const struct policy_state *line;
	int sockets[2];

	open_waiting(&m, COUNTED, sockets);
	line = &m.worker->policies[m.w.inst.slots.of[0]];
	for (unsigned i = 0; i < ROUNDS(800); i++) {
		wait_of.what = i == 0 ? PUBLISH_NOTHING : (enum publishing)(random() % PUBLISHINGS);
		wait_of.called = false;
		turn_after(&m, SECOND_NS);
		assert_true(wait_of.called);
		assert_int_equal(wait_of.woken, wait_of.what != PUBLISH_NOTHING);
		assert_true(limit_ring_is_taken(&m.worker->limit_ring));
		if (wait_of.what == PUBLISH_LIMIT)
			assert_int_equal(line->other->profile.bucket.rate, wait_of.rate);
		m.w.inst.stop = false;
		wait_of.what = PUBLISH_NOTHING;
		turn_after(&m, SECOND_NS);
		assert_int_equal(
			m.worker->own.view.generation, m.w.inst.publisher.current->generation);
		assert_null(m.worker->asked);
		assert_false(wait_of.woken);
	}
	close_waiting(&m, sockets);
}

/* A worker that finds something published after its announcement does not wait. */
TEST(test_published_before_a_wait)
{
	struct made_world m;
	int sockets[2];

	open_waiting(&m, POLICY, sockets);
	m.w.inst.stop = true; /* the loop checks before its turn, which is already running */
	turn_after(&m, SECOND_NS);
	assert_false(wait_of.called);
	assert_false(rx_wait_is_announced(m.worker->wait));
	m.w.inst.stop = false;
	turn_after(&m, SECOND_NS);
	assert_true(wait_of.called);
	close_waiting(&m, sockets);
}

/* A packet of a queue leaves when it is due, as with pauses. */
TEST(test_waits_until_due)
{
	struct made_world m;
	uint64_t sent, longest = 0;
	int sockets[2];

	open_waiting(&m,
		"{'name': 'p', 'match': {'direction': 'a-to-b'}, 'limit': '400kbit/s', "
		"'burst': '100B', 'action': 'shape', 'shape': {'delay': '10s'}}",
		sockets);
	m.made.n = BURST;
	instance_world_turn(&m.w, 0);
	instance_world_turn(&m.w, 0);
	m.made.n = 0;
	sent = m.worker->counters.tx_packets;
	while (m.worker->counters.tx_packets < sent + RESTS) {
		turn_after(&m, 3600 * SECOND_NS);
		longest = RTE_MAX(wait_of.ns, longest);
	}
	assert_true(wait_of.called);
	assert_true(longest < 2 * MS_NS); /* a packet takes about one at this limit */
	close_waiting(&m, sockets);
}

/* While a policy matches ports, later fragments match the policy of their first one. */
TEST(test_fragments)
{
	ENDED_BY(close_made) struct made_world m;

	open_made(&m,
		"{'name': 'p', 'match': {'proto': 'udp', 'dst-port': '53'}, 'limit': '100Gbit/s'}");
	assert_non_null(m.worker->fragments);
	m.made.n = 1; /* so that no datagram evicts another */
	m.made.part = SECOND_IS;
	instance_world_turn(&m.w, 0);
	assert_int_equal(m.worker->fragments->unknown, 2);
	m.made.id++; /* for these datagrams the first fragment comes first */
	m.made.part = FIRST_IS;
	instance_world_turn(&m.w, 0);
	assert_int_equal(m.worker->fragments->first, 2);
	m.made.part = SECOND_IS;
	instance_world_turn(&m.w, 0);
	assert_int_equal(m.worker->fragments->found, 2);
	assert_int_equal(m.worker->fragments->unknown, 2);
	assert_true(instance_world_totals(&m.w, 0).passed_packets >= 4);
}

/* The seeds of random drops and of source tables differ between workers, and between starts. */
TEST(test_own_secrets)
{
	static const char policies[] =
		"{'name': 'random', 'match': {'direction': 'a-to-b'}, 'limit': '1Mbit/s', "
		"'meter': 'random-drop'}, "
		"{'name': 'sources', 'match': {'direction': 'b-to-a'}, 'limit': '1Mbit/s', "
		"'per': 'src/64', 'sources': 1024, 'allocator': 'static'}";
	uint64_t luck[2][INSTANCE_WORKERS];
	struct source_key keys[2][INSTANCE_WORKERS];
	struct instance_world w;

	for (unsigned start = 0; start < 2; start++) {
		instance_world_open(&w, policies);
		for (unsigned i = 0; i < INSTANCE_WORKERS; i++) {
			const struct policy_state *states = w.inst.workers[i].policies;
			const uint32_t *slots = w.inst.slots.of;

			luck[start][i] = states[slots[0]].other->meter.drop.state;
			keys[start][i] = states[slots[1]].other->sources->key;
			assert_true(luck[start][i] != luck[0][0] || start + i == 0);
			if (start + i > 0)
				assert_memory_not_equal(
					&keys[start][i], &keys[0][0], sizeof(keys[0][0]));
		}
		instance_world_close(&w);
	}
}

/*
 * Bytes that all policies use in addition to their lines, trials included, and bytes of waiting
 * packets.
 */
TEST(test_bytes)
{
#define TABLE(name, vlan, sources, more)                                         \
	"{'name': '" name "', 'match': {'vlan': " vlan "}, 'limit': '1Gbit/s', " \
	"'per': 'src', 'sources': " sources more "}"
	const struct policy *policies;
	struct policy trial;
	size_t sum;
	WORLD(w,
		TABLE("a", "1", "1024", "") ", " TABLE("b", "2", "4096",
			", 'trial': {'limit': '1Mbit/s'}") ", "
							   "{'name': 'c', 'match': {'vlan': 3}, 'limit': '1Mbit/s'}");

	policies = w->inst.policies;
	assert_int_equal(worker_bytes(policies, 0, 1000), shaper_bytes(1000));
	assert_int_equal(worker_bytes(policies, 0, 4000), shaper_bytes(4000));
	sum = shaper_bytes(1000) + policy_extended_bytes(&policies[0]);
	assert_int_equal(worker_bytes(policies, 1, 1000), sum);
	trial = policy_trial(&policies[1]);
	assert_true(policy_extended_bytes(&trial) > policy_extended_bytes(&policies[0]));
	sum += policy_extended_bytes(&policies[1]) + policy_extended_bytes(&trial);
	assert_int_equal(worker_bytes(policies, 2, 1000), sum);
	assert_int_equal(
		worker_bytes(policies, 3, 1000), sum); /* a plain one needs only its line */
}

/* --- allocation failures ---------------------------------------------------------------------- */

/* Adds and removes a policy, on a worker that owns a shared queue. */
static int add_and_remove(const void *argument)
{
	const struct policy *policy = argument;
	const struct limiter_view view = {.limit = 1e6, .local_limit = 1e6, .local_burst = 1e4};
	static struct worker w;
	struct path paths[2] = {{.rings = NULL}, {.rings = NULL}};
	struct limit_profile profile;
	uint64_t since;
	int ret;

	memset(&w, 0, sizeof(w));
	w.cpu = 7;
	w.paths = paths;
	w.n_paths = 2;
	assert_int_equal(
		limit_profile_init(&profile, policy, 1, &view, &(struct sampling){0}, 1, tick_hz()),
		0);
	ret = worker_init(&w, 4, 1, 1000);
	paths[1].rings = ret ? NULL : rx_rings_create(0, 2, 1);
	if (ret == 0)
		ret = paths[1].rings ? rx_rings_open(paths[1].rings, &w, 4) : -ENOMEM;
	since = events_number();
	if (ret == 0 && (ret = worker_add_policy(&w, policy, &profile)))
		assert_int_equal(events_number(), since + 1);
	if (ret == 0) {
		bool asks = policies_ask_first(policy, 1);

		assert_int_equal(w.fragments != NULL, asks);
		assert_int_equal(paths[1].rings->steering->fragments != NULL, asks);
		assert_int_equal(w.samples[1] != NULL, policy_samples_flows(policy));
		worker_remove_policy(&w, 1);
		assert_null(w.samples[1]);
	}
	worker_free(&w);
	rx_rings_destroy(paths[1].rings);
	return ret;
}

TEST(test_no_memory)
{
	ENDED_BY(config_free_at)
	struct config *config = instance_world_config("",
		"{'name': 'plain', 'match': {'vlan': 1}, 'limit': '1Mbit/s'}, "
		"{'name': 'asks', 'match': {'proto': 'udp', 'dst-port': '53'}, 'limit': '1Mbit/s'}, "
		"{'name': 'sources', 'match': {'vlan': 2}, 'limit': '1Mbit/s', 'per': 'src', "
		"'sources': 1024, 'allocator': 'static'}, "
		"{'name': 'samples', 'match': {'vlan': 3}, 'limit': '1Mbit/s', 'allocator': 'fps'}");

	for (unsigned i = 0; i < config->n_policies; i++)
		fault_try(&(struct fault_subject){.name = config->policies[i].name,
			.run = add_and_remove,
			.argument = &config->policies[i],
			.kinds = FAULT_MEMORY,
			.at_least = 10});
}

/* An event reports the policy whose tables could not be allocated, their size and the NUMA node. */
TEST(test_no_memory_is_said)
{
	uint64_t since = events_number();
	json_t *said;

	for (said = NULL; !said && since-- > 1;) {
		said = events_get(since);
		if (said && strcmp(json_string_value(json_object_get(said, "event")),
				    "policy_no_memory") != 0) {
			json_decref(said);
			said = NULL;
		}
	}
	assert_non_null(said); /* from test_no_memory() */
	assert_int_equal(json_integer_value(json_object_get(said, "cpu")), 7);
	assert_string_equal(json_string_value(json_object_get(said, "policy")), "samples");
	assert_int_equal(
		json_integer_value(json_object_get(said, "bytes")), sizeof(struct flow_sample));
	json_decref(said);
}

TEST_GROUP(instance_world_start, instance_world_stop)
