/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Frames in several segments, through all steps of a packet. A frame cut anywhere, even within its
 * headers, is charged, marked, delayed, dropped and sent like the frame in one segment. The
 * net_ring ports return the frames that they get: a frame that the worker moves from `a` to `b`
 * arrives at `a` again in the same turn. Only one direction has policies.
 */
#include "check.h"

#include <time.h>

#include <rte_eal.h>
#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include <sodium.h>

#include "base/layer2.h"
#include "config/load.h"
#include "packet/parse.h"
#include "shape/shape.h"
#include "start.h"
#include "totals.h"
#include "worker.h"

#define FRAME_MOST 1600
#define L2         14
#define UDP        8
#define PAYLOAD    60
#define EXTENSIONS 160 /* bytes; the ports must still be found after these */
#define DSCP       10
#define MTU        1500

/*
 * These buckets hold one packet and earn an eighth of one a day, so the second packet certainly
 * exceeds.
 */
#define ONCE     "'limit': '5/d', 'count': 'packets', 'burst': 1, 'allocator': 'central'"
#define OPEN     "'limit': '10Gbit/s', 'burst': '100MB', 'allocator': 'central'"
#define TO(port) "'match': {'direction': 'a-to-b', 'proto': 'udp', 'dst-port': " port "}, "

enum { PASSED, DROPPED, DSCP_MARKED, ECN_MARKED, SHAPED, POLICIES };

#define PORT_OF(policy) (1000 + (policy))

static const char text[] =
	"{'limiter': 'chains', 'workers': [0], 'idle': 'poll',"
	" 'ports': {'a': {'device': 'net_ring0'}, 'b': {'device': 'net_ring1'}},"
	" 'wires': [{'name': 'w', 'a': 'a', 'b': 'b'}],"
	" 'control': {'socket': '/tmp/weir-chains.sock'}," /* which is never opened */
	" 'policies': ["
	"{'name': 'pass', " TO("1000") OPEN "},"
					    "{'name': 'drop', " TO("1001") ONCE
	"},"
	"{'name': 'dscp', " TO("1002") ONCE ", 'action': 'mark', 'mark': 10},"
					    "{'name': 'ecn', " TO("1003") ONCE
	", 'action': 'mark', 'mark': 'ecn'},"
	"{'name': 'shape', " TO("1004") "'limit': '80Mbit/s', 'burst': '2kB', 'action': 'shape',"
					" 'allocator': 'central'}]}";

static struct instance inst;
static struct config *config;

static int start(void **state)
{
	const char *args[] = {"chains", "--no-huge", "-m", "256", "--no-pci", "--no-telemetry",
		"--no-shconf", "--log-level=1", "--lcores=(0-1)@0", "--vdev=net_ring0",
		"--vdev=net_ring1"};
	char json[sizeof(text)];

	memcpy(json, text, sizeof(text));
	for (char *c = json; *c; c++)
		if (*c == '\'')
			*c = '"';
	if (sodium_init() < 0 || rte_eal_init((int)(COUNT(args)), (char **)(uintptr_t)args) < 0 ||
		config_parse(json, strlen(json), "chains", stderr, &config) ||
		instance_prepare(&inst, config, NULL))
		return -1;
	worker_begin(&inst.workers[0]);
	return 0;
}

static int stop(void **state)
{
	worker_end(&inst.workers[0]);
	instance_stop(&inst);
	config_free(config);
	return inst.leaked ? -1 : 0;
}

struct frame {
	uint8_t bytes[FRAME_MOST];
	unsigned len, l3_end;
};

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static uint16_t sum_of(const uint8_t *at, unsigned len)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < len; i += 2)
		sum += (uint32_t)at[i] << 8 | at[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

static void put_udp(struct frame *f, unsigned at, unsigned policy)
{
	put16(f->bytes + at, 4242);
	put16(f->bytes + at + 2, PORT_OF(policy));
	put16(f->bytes + at + 4, UDP + PAYLOAD);
	for (unsigned i = 0; i < PAYLOAD; i++)
		f->bytes[at + UDP + i] = (uint8_t)i;
	f->len = at + UDP + PAYLOAD;
}

static struct frame frame_v4(unsigned policy, unsigned tags)
{
	struct frame f = {.bytes = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2}};
	unsigned l3 = L2 + 4 * tags;
	uint8_t *ip = f.bytes + l3;

	for (unsigned i = 0; i < tags; i++)
		memcpy(f.bytes + 12 + 4 * i, (const uint8_t[]){0x81, 0, 0, 7}, 4);
	put16(f.bytes + l3 - 2, 0x0800);
	ip[0] = 0x45;
	ip[1] = 2; /* ECT(0) */
	put16(ip + 2, 20 + UDP + PAYLOAD);
	ip[8] = 64;
	ip[9] = 17;
	memcpy(ip + 12, (const uint8_t[]){192, 0, 2, 1, 192, 0, 2, 2}, 8);
	put16(ip + 10, sum_of(ip, 20));
	f.l3_end = l3 + 20;
	put_udp(&f, f.l3_end, policy);
	return f;
}

static struct frame frame_v6(unsigned policy, unsigned extensions)
{
	struct frame f = {.bytes = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x86, 0xdd}};
	uint8_t *ip = f.bytes + L2;

	ip[0] = 0x60;
	ip[1] = 0x20; /* ECT(0) */
	put16(ip + 4, extensions + UDP + PAYLOAD);
	ip[6] = extensions ? 60 : 17;
	ip[7] = 64;
	ip[8] = ip[24] = 0x20;
	if (extensions) {
		ip[40] = 17;
		ip[41] = (uint8_t)(extensions / 8 - 1);
		ip[42] = 1; /* PadN */
		ip[43] = (uint8_t)(extensions - 4);
	}
	f.l3_end = L2 + 40;
	put_udp(&f, f.l3_end + extensions, policy);
	return f;
}

/* Segments end at each of these offsets, which ascend; 0 ends the list. */
static struct rte_mbuf *chain_of(const struct frame *f, const unsigned *cuts)
{
	struct rte_mbuf *head = NULL;

	for (unsigned from = 0, to; from < f->len; from = to) {
		struct rte_mbuf *m = rte_pktmbuf_alloc(inst.ports[0].pool);

		to = *cuts ? *cuts++ : f->len;
		assert_non_null(m);
		memcpy(rte_pktmbuf_append(m, (uint16_t)(to - from)), f->bytes + from, to - from);
		if (head)
			assert_int_equal(rte_pktmbuf_chain(head, m), 0);
		else
			head = m;
	}
	return head;
}

struct outcome {
	struct policy_totals counts[POLICIES];
	uint64_t rx, unmatched, dropped[DROP_REASONS];
	bool came;
	uint8_t bytes[FRAME_MOST];
	unsigned len;
};

static void read_counts(struct outcome *out)
{
	const struct worker_counters *c = &inst.workers[0].counters;

	for (unsigned p = 0; p < POLICIES; p++)
		out->counts[p] = instance_policy_totals(&inst, inst.slots.of[p]);
	memcpy(out->dropped, c->dropped, sizeof(out->dropped));
	out->unmatched = c->unmatched_packets;
	out->rx = c->rx_packets;
}

/* Subtracts an array of words from another. */
static void subtract(void *after, const void *before, size_t size)
{
	uint64_t *a = after;
	const uint64_t *b = before;

	for (size_t i = 0; i < size / sizeof(*a); i++)
		a[i] -= b[i];
}

/* One frame passes through the limiter. */
static struct outcome send_chain(struct rte_mbuf *chain)
{
	struct outcome before, after = {0};
	struct rte_mbuf *m;

	read_counts(&before);
	assert_int_equal(rte_eth_tx_burst(inst.ports[0].id, 0, &chain, 1), 1);
	worker_turn(&inst.workers[0]);
	/* A waiting packet is due within microseconds. Then it arrives again as well. */
	for (unsigned i = 0; i < 1000 && shaper_waits(inst.workers[0].shaper); i++) {
		nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
		worker_turn(&inst.workers[0]);
	}
	after.came = rte_eth_rx_burst(inst.ports[0].id, 0, &m, 1) == 1;
	read_counts(&after);
	subtract(after.counts, before.counts, sizeof(after.counts));
	subtract(after.dropped, before.dropped, sizeof(after.dropped));
	after.unmatched -= before.unmatched;
	after.rx -= before.rx;
	if (after.came) {
		const uint8_t *data = rte_pktmbuf_read(m, 0, m->pkt_len, after.bytes);

		after.len = m->pkt_len;
		if (data != after.bytes)
			memcpy(after.bytes, data, after.len);
		rte_pktmbuf_free(m);
	}
	return after;
}

static void expect_same(const struct outcome *whole, const struct outcome *cut, unsigned at)
{
	for (unsigned p = 0; p < POLICIES; p++)
		if (memcmp(&whole->counts[p], &cut->counts[p], sizeof(whole->counts[p])))
			fail_msg("policy %u counts other than of one piece, cut at %u", p, at);
	for (unsigned r = 0; r < DROP_REASONS; r++)
		if (whole->dropped[r] != cut->dropped[r])
			fail_msg("%s, cut at %u", drop_reason_name(r), at);
	assert_int_equal(whole->unmatched, cut->unmatched);
	assert_int_equal(whole->came, cut->came);
	assert_int_equal(whole->len, cut->len);
	if (memcmp(whole->bytes, cut->bytes, whole->len))
		fail_msg("other bytes came out, cut at %u", at);
}

/* A mark needs the IP header in the first segment. Otherwise the frame is dropped and counted. */
static void expect_unmarkable(const struct outcome *cut, unsigned at)
{
	if (cut->came || cut->dropped[DROP_UNMARKABLE] != 1)
		fail_msg("cut at %u, it was neither marked nor dropped", at);
}

static void cut_everywhere(unsigned policy, struct frame f, bool marks)
{
	struct outcome whole = send_chain(chain_of(&f, (unsigned[]){0}));

	/* Cuts must not change the frame's policy or its size. */
	if (policy != DROPPED)
		assert_true(whole.came);
	for (unsigned at = 1; at < f.len; at++) {
		struct outcome two = send_chain(chain_of(&f, (unsigned[]){at, 0})), three;

		three = send_chain(chain_of(&f, (unsigned[]){at, at + 1 < f.len ? at + 1 : 0, 0}));
		if (marks && at < f.l3_end) {
			expect_unmarkable(&two, at);
			expect_unmarkable(&three, at);
			continue;
		}
		expect_same(&whole, &two, at);
		expect_same(&whole, &three, at);
	}
}

/* Cuts the headers into segments of one byte. */
static void cut_to_crumbs(struct frame f)
{
	struct outcome whole = send_chain(chain_of(&f, (unsigned[]){0})), crumbs;
	unsigned cuts[FRAME_MOST], n = RTE_MIN(f.len, 120u);

	for (unsigned i = 0; i < n - 1; i++)
		cuts[i] = i + 1;
	cuts[n - 1] = 0;
	crumbs = send_chain(chain_of(&f, cuts));
	expect_same(&whole, &crumbs, 1);
}

#define EACH_FRAME(policy, ...)                                                                  \
	do {                                                                                     \
		struct frame frames[] = {frame_v4(policy, 0), frame_v4(policy, 1),               \
			frame_v4(policy, 2), frame_v6(policy, 0), frame_v6(policy, EXTENSIONS)}; \
		for (unsigned i = 0; i < RTE_DIM(frames); i++) {                                 \
			struct frame f = frames[i];                                              \
			__VA_ARGS__;                                                             \
		}                                                                                \
	} while (0)

TEST(passed_and_charged)
{
	EACH_FRAME(PASSED, {
		struct outcome whole = send_chain(chain_of(&f, (unsigned[]){0}));

		assert_int_equal(whole.counts[PASSED].passed_packets, 1);
		assert_int_equal(
			whole.counts[PASSED].passed_bytes, f.len - (i < 3 ? L2 + 4 * i : L2));
		cut_everywhere(PASSED, f, false);
		cut_to_crumbs(f);
	});
}

/* Uses up the bucket's one packet before the comparison. */
TEST(dropped)
{
	EACH_FRAME(DROPPED, {
		(void)send_chain(chain_of(&f, (unsigned[]){0}));
		cut_everywhere(DROPPED, f, false);
		cut_to_crumbs(f);
	});
}

TEST(marked)
{
	for (unsigned policy = DSCP_MARKED; policy <= ECN_MARKED; policy++)
		EACH_FRAME(policy, {
			struct outcome first = send_chain(chain_of(&f, (unsigned[]){0}));
			struct outcome second = send_chain(chain_of(&f, (unsigned[]){0}));

			assert_true(first.came && second.came);
			assert_memory_not_equal(second.bytes, f.bytes, f.len);
			cut_everywhere(policy, f, true);
		});
}

TEST(made_to_wait)
{
	EACH_FRAME(SHAPED, {
		struct outcome whole = send_chain(chain_of(&f, (unsigned[]){0}));

		assert_int_equal(
			whole.counts[SHAPED].passed_bytes, f.len - (i < 3 ? L2 + 4 * i : L2));
		cut_everywhere(SHAPED, f, false);
	});
}

/* All packets that exceed the bucket wait as chains, and all leave complete. */
TEST(many_wait)
{
	struct frame f = frame_v4(SHAPED, 0);
	struct rte_mbuf *chains[BURST], *m;
	unsigned n = 0;

	for (unsigned i = 0; i < BURST; i++)
		chains[i] = chain_of(&f, (unsigned[]){1 + i, 40 + i, 0});
	assert_int_equal(rte_eth_tx_burst(inst.ports[0].id, 0, chains, BURST), BURST);
	for (unsigned i = 0; i < 100000 && n < BURST; i++) {
		worker_turn(&inst.workers[0]);
		while (rte_eth_rx_burst(inst.ports[0].id, 0, &m, 1)) {
			uint8_t copy[FRAME_MOST];

			assert_int_equal(m->pkt_len, f.len);
			assert_memory_equal(rte_pktmbuf_read(m, 0, f.len, copy), f.bytes, f.len);
			rte_pktmbuf_free(m);
			n++;
		}
	}
	assert_int_equal(n, BURST);
	assert_false(shaper_waits(inst.workers[0].shaper));
}

/*
 * The length of a chain is that of all segments: the longest allowed one passes, and one byte more
 * does not.
 */
TEST(too_long)
{
	struct frame f = {.bytes = {2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 0x88, 0xcc}};

	for (unsigned more = 0; more < 2; more++) {
		f.len = MTU + LAYER2_MAX + more;
		for (unsigned at = 0; at < f.len; at += 61) {
			struct outcome out = send_chain(chain_of(&f, (unsigned[]){at, 0}));

			assert_int_equal(out.came, !more);
			assert_int_equal(out.dropped[DROP_OVERSIZE], more);
			assert_int_equal(out.rx, more ? 1 : 2); /* one arrives again */
		}
	}
}

/* Only the oversize packet of a burst is lost, at each position. */
TEST(too_long_among_others)
{
	struct frame f = frame_v4(PASSED, 0), longer = {.len = MTU + LAYER2_MAX + 1};

	for (unsigned where = 0; where < BURST; where++) {
		struct rte_mbuf *burst[BURST], *m;
		struct outcome before = {0}, after = {0};
		unsigned n = 0;

		for (unsigned i = 0; i < BURST; i++)
			burst[i] = chain_of(i == where ? &longer : &f, (unsigned[]){0});
		read_counts(&before);
		assert_int_equal(rte_eth_tx_burst(inst.ports[0].id, 0, burst, BURST), BURST);
		/* A full burst waits for the next poll of a queue, in both directions. */
		worker_turn(&inst.workers[0]);
		worker_turn(&inst.workers[0]);
		worker_finish(&inst.workers[0]);
		read_counts(&after);
		while (rte_eth_rx_burst(inst.ports[0].id, 0, &m, 1)) {
			assert_int_equal(m->pkt_len, f.len);
			rte_pktmbuf_free(m);
			n++;
		}
		assert_int_equal(n, BURST - 1);
		assert_int_equal(after.dropped[DROP_OVERSIZE] - before.dropped[DROP_OVERSIZE], 1);
		assert_int_equal(
			after.counts[PASSED].passed_packets - before.counts[PASSED].passed_packets,
			BURST - 1);
	}
}

/* A port that can truncate frames drops those whose IP packet is longer than the frame. */
TEST(truncated)
{
	struct worker *w = &inst.workers[0];

	for (unsigned i = 0; i < w->n_paths; i++)
		w->paths[i].cuts = true;
	EACH_FRAME(PASSED, {
		struct frame less = f, padded = f;
		struct outcome out;

		less.len--;
		padded.len += 10;
		for (unsigned at = 0; at < less.len; at += 13) {
			out = send_chain(chain_of(&less, (unsigned[]){at, 0}));
			assert_false(out.came);
			assert_int_equal(out.dropped[DROP_TRUNCATED], 1);
			assert_int_equal(out.counts[PASSED].passed_packets, 0);
			out = send_chain(chain_of(&f, (unsigned[]){at, 0}));
			assert_true(out.came);
			out = send_chain(chain_of(&padded, (unsigned[]){at, 0}));
			assert_true(out.came);
		}
	});
	for (unsigned i = 0; i < w->n_paths; i++)
		w->paths[i].cuts = false;
}

TEST_GROUP(start, stop)
