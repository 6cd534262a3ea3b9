/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Makes dry runs of random packets under random policies of all kinds. The result is that of a
 * worker which then really handles the packet, and the dry run changes no state.
 */
#include "instance_world.h"

#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "base/expiry.h"
#include "base/prng.h"
#include "credits.h"
#include "clock.h"
#include "commit.h"
#include "rx_burst.h"
#include "fault.h"
#include "leases_end.h"
#include "police/coloured.h"
#include "police/extended.h"
#include "police/shaped.h"
#include "publish.h"
#include "dry_run.h"
#include "shape_steps.h"
#include "specimen.h"
#include "worker_data.h"

#define PACKETS  10000 /* enough to produce each reason */
#define SETS     20
#define POLICIES 14
#define FRAME    2000

struct world {
	struct instance_world *w;
	struct prng prng;
	struct specimen *specimen;
	struct rx_burst *burst;
	struct rte_mempool *pool;
	uint8_t frame[FRAME];
	uint32_t len;
	unsigned seen[DRY_RUN_WAIT + 1][DROP_REASONS + 1];
	char policies[8192];
};

static struct rte_mempool *pool;

/* Returns one of several texts. */
#define PICK(prng, ...) pick(prng, (const char *const[]){__VA_ARGS__, NULL})

static const char *pick(struct prng *prng, const char *const *texts)
{
	unsigned n = 0;

	while (texts[n])
		n++;
	return texts[prng_below(prng, n)];
}

/* All kinds of policies, without their matches. */
static const char *const kinds[] = {
	"'limit': '8Mbit/s', 'burst': '3kB'",
	"'limit': '1Gbit/s', 'burst': '60kB', 'accounting': 'wire'",
	"'limit': '1Mbit/s', 'burst': '5kB', 'accounting': 'l2', 'meter': 'gcra'",
	"'limit': '8Mbit/s', 'burst': '5kB', 'action': 'mark'",
	"'limit': '8Mbit/s', 'burst': '5kB', 'action': 'mark', 'mark': 10",
	"'limit': '1Mbit/s', 'burst': '5kB', 'action': 'count'",
	"'count': 'packets', 'limit': '100/s', 'burst': 10",
	"'count': 'flows', 'limit': '20/s', 'burst': 5",
	"'count': 'flows', 'limit': '2/s', 'burst': 2, 'per': 'src', 'sources': 1024",
	"'limit': '8kbit/s', 'burst': '2kB', 'per': 'src', 'sources': 1024",
	"'limit': '8kbit/s', 'burst': '2kB', 'per': 'src', 'sources': 1024, 'action': 'mark'",
	"'limit': '8kbit/s', 'burst': '2kB', 'per': 'src', 'sources': 1024, 'action': 'count'",
	"'limit': '8kbit/s', 'window': '1s', 'meter': 'fixed-window', 'per': 'src/24', 'sources': 1024",
	"'limit': '8kbit/s', 'window': '1s', 'meter': 'hybrid', 'per': 'src', 'sources': 1024",
	"'limit': '8Mbit/s', 'window': '1s', 'meter': 'hybrid'",
	"'limit': '8Mbit/s', 'meter': 'random-drop'",
	"'limit': '8Mbit/s', 'burst': '30kB', 'meter': 'phantom', 'classes': {'by': 'flow', 'n': 16}",
	"'limit': '8Mbit/s', 'burst': '30kB', 'meter': 'phantom', 'classes': {'by': 'dscp'}",
	"'limit': '8Mbit/s', 'burst': '3kB', 'action': 'shape', 'shape': {'delay': '5ms'}",
	("'limit': '8Mbit/s', 'burst': '3kB', 'action': 'shape', 'shape': {'delay': '300ms', "
	 "'drop': 'codel', 'target': '1ms', 'interval': '10ms', 'ecn': true}"),
	"'limit': '100kbit/s', 'burst': '3kB', 'action': 'shape', 'shape': {'queue': '4kB'}",
	("'limit': '4Mbit/s', 'burst': '3kB', 'meter': 'trtcm', 'peak': {'limit': '8Mbit/s', "
	 "'burst': '5kB'}, 'colours': {'aware': true, 'yellow': {'mark': 12}, 'red': 'drop'}"),
	("'limit': '4Mbit/s', 'burst': '3kB', 'meter': 'trtcm-4115', 'excess': {'limit': "
	 "'4Mbit/s', 'burst': '3kB'}, 'colours': {'green': {'mark': 10}, 'red': {'mark': 'ecn'}}"),
	("'count': 'packets', 'limit': '100/s', 'burst': 10, 'meter': 'srtcm', 'colours': "
	 "{'red': 'count'}"),
	"'allocator': 'quota', 'total': '50MB', 'limit': '100kbit/s', 'period': '24h'",
	"'allocator': 'quota', 'total': '50MB', 'period': '24h'",
	"'allocator': 'quota', 'total': '100k', 'count': 'packets', 'period': '24h', 'action': 'count'",
};

/* Each parent level; a level has no packets of its own. */
static const char *const levels =
	"{'name': 'link', 'limit': '16Mbit/s', 'burst': '9kB'}, "
	"{'name': 'plan', 'parent': 'link', 'limit': '8Mbit/s', 'burst': '5kB'}, "
	"{'name': 'lax', 'parent': 'link', 'limit': '8Mbit/s', 'burst': '5kB', 'action': 'count'}, "
	"{'name': 'hint', 'parent': 'link', 'limit': '4Mbit/s', 'burst': '5kB', 'action': 'mark'}, "
	"{'name': 'month', 'parent': 'link', 'allocator': 'quota', 'total': '50MB', "
	"'limit': '1Mbit/s', 'period': '24h'}, "
	"{'name': 'year', 'parent': 'link', 'allocator': 'quota', 'total': '50MB', 'period': '24h'}, ";
static const char *const low_kinds[] = {
	"'parent': 'plan', 'limit': '8Mbit/s', 'burst': '3kB'",
	"'parent': 'lax', 'limit': '8Mbit/s', 'burst': '3kB', 'action': 'mark'",
	"'parent': 'plan', 'limit': '80kbit/s', 'burst': '3kB', 'per': 'src', 'sources': 1024",
	"'parent': 'lax', 'limit': '80kbit/s', 'burst': '3kB', 'per': 'src', 'action': 'count'",
	"'parent': 'hint', 'limit': '8Mbit/s', 'burst': '3kB', 'action': 'count'",
	"'parent': 'month', 'limit': '8Mbit/s', 'burst': '3kB'",
	"'parent': 'year', 'limit': '8Mbit/s', 'burst': '3kB'",
	"'parent': 'year', 'limit': '80kbit/s', 'burst': '3kB', 'per': 'src/24'",
	("'parent': 'plan', 'allocator': 'quota', 'total': '50MB', 'limit': '1Mbit/s', "
	 "'period': '24h'"),
	"'parent': 'plan', 'limit': '8Mbit/s', 'burst': '3kB', 'action': 'shape'",
	("'parent': 'lax', 'limit': '8Mbit/s', 'burst': '3kB', 'action': 'shape', 'shape': "
	 "{'delay': '300ms', 'drop': 'codel', 'target': '1ms', 'interval': '10ms'}"),
};

#define KINDS     (COUNT(kinds))
#define LOW_KINDS (COUNT(low_kinds))

/* Writes a match of random fields and few addresses. No two are equal. */
static void write_match(struct prng *prng, unsigned i, char *text, size_t room)
{
	char *end = text;

#define ADD(...) (end += snprintf(end, room - (size_t)(end - text), __VA_ARGS__))
	bool v6 = prng_percent(prng, 30);

	ADD("'vlan': %u", i % 3 ? 100 + prng_below(prng, 2) : 200 + i);
	if (i % 3 == 1) /* most have none */
		end = text;
	if (prng_percent(prng, 60))
		ADD("%s'dst': '%s'", end > text ? ", " : "",
			v6 ? PICK(prng, "2001:db8::/32", "2001:db8:1::/48", "::/0")
			   : PICK(prng, "10.1.0.0/16", "10.1.1.0/24", "10.1.1.7/32", "0.0.0.0/0"));
	if (prng_percent(prng, 40))
		ADD("%s'src': '%s'", end > text ? ", " : "",
			v6 ? PICK(prng, "2001:db8:2::/48", "2001:db8::/32")
			   : PICK(prng, "10.2.0.0/16", "10.2.1.0/24"));
	if (prng_percent(prng, 40))
		ADD("%s'proto': '%s'", end > text ? ", " : "", PICK(prng, "tcp", "udp"));
	if (prng_percent(prng, 20))
		ADD("%s'dst-port': '%s'", end > text ? ", " : "", PICK(prng, "53", "1-1024"));
	if (prng_percent(prng, 10))
		ADD("%s'dscp': %u", end > text ? ", " : "", prng_below(prng, 3));
	if (prng_percent(prng, 10))
		ADD("%s'direction': 'a-to-b'", end > text ? ", " : "");
	*end = '\0';
#undef ADD
}

static bool is_new_match(char matches[][256], unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (strcmp(matches[i], matches[n]) == 0)
			return false;
	return true;
}

/*
 * Writes random policies. In half of the sets one matches all remaining packets. `below` adds
 * parents.
 */
static void write_policies(struct world *world, bool below)
{
	static char matches[POLICIES][256];
	struct prng *prng = &world->prng;
	size_t at = 0, room = sizeof(world->policies);
	unsigned n = 0, tries = 0;

	if (below)
		at = (size_t)snprintf(world->policies, room, "%s", levels);
	while (n < POLICIES && tries++ < 1000) {
		write_match(prng, n, matches[n], sizeof(matches[n]));
		if (n == 0 && prng_percent(prng, 50))
			matches[0][0] = '\0';
		if (!is_new_match(matches, n))
			continue;
		at += (size_t)snprintf(world->policies + at, room - at,
			"%s{'name': 'p%u', 'match': {%s}, %s}", n ? ", " : "", n, matches[n],
			below ? low_kinds[n < LOW_KINDS ? n : prng_below(prng, LOW_KINDS)]
			      : kinds[prng_below(prng, KINDS)]);
		n++;
	}
}

static void put16(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static unsigned put_v4(struct prng *prng, uint8_t *ip, unsigned proto, unsigned len)
{
	uint32_t sum = 0;

	memset(ip, 0, 20);
	ip[0] = 0x45;
	ip[1] = (uint8_t)(prng_below(prng, 4) << 2 | prng_below(prng, 4));
	put16(ip + 2, len);
	put16(ip + 4, prng_below(prng, 8));
	if (prng_percent(prng, 15)) /* a fragment */
		put16(ip + 6, prng_percent(prng, 50) ? 0x2000 : prng_below(prng, 4));
	ip[8] = 64;
	ip[9] = (uint8_t)proto;
	ip[12] = ip[16] = 10;
	ip[13] = 2;
	ip[14] = (uint8_t)prng_below(prng, prng_percent(prng, 50) ? 2 : 256);
	ip[15] = (uint8_t)prng_below(prng, prng_percent(prng, 50) ? 4 : 256);
	ip[17] = 1;
	ip[18] = (uint8_t)prng_below(prng, 3);
	ip[19] = (uint8_t)prng_below(prng, 9);
	for (unsigned i = 0; i < 20; i += 2)
		sum += (unsigned)ip[i] << 8 | ip[i + 1];
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	put16(ip + 10, ~sum & 0xffff);
	return 20;
}

static unsigned put_v6(struct prng *prng, uint8_t *ip, unsigned proto, unsigned len)
{
	static const uint8_t prefix[] = {0x20, 1, 0x0d, 0xb8};
	bool fragment = prng_percent(prng, 15);

	memset(ip, 0, 48);
	ip[0] = 0x60 | (uint8_t)prng_below(prng, 2);
	put16(ip + 4, len - 40);
	ip[6] = fragment ? 44 : (uint8_t)proto;
	ip[7] = 64;
	memcpy(ip + 8, prefix, 4);
	memcpy(ip + 24, prefix, 4);
	ip[13] = (uint8_t)prng_below(prng, 3);
	ip[23] = (uint8_t)prng_below(prng, 200);
	ip[29] = (uint8_t)prng_below(prng, 3);
	ip[39] = (uint8_t)prng_below(prng, 3);
	if (!fragment)
		return 40;
	ip[40] = (uint8_t)proto;
	put16(ip + 42, prng_percent(prng, 50) ? 1 : prng_below(prng, 4) * 8);
	ip[47] = (uint8_t)prng_below(prng, 8);
	return 48;
}

/* Mostly valid frames; some are truncated anywhere, and a few are random bytes. */
static void make_frame(struct world *world)
{
	struct prng *prng = &world->prng;
	unsigned tags = prng_percent(prng, 3) ? 6 : prng_below(prng, 3), at = 12;
	unsigned proto = prng_percent(prng, 40) ? 6 : prng_percent(prng, 80) ? 17 : 47, ip, len;
	bool v6 = prng_percent(prng, 30);
	uint8_t *f = world->frame;

	memset(f, 0, FRAME);
	for (unsigned i = 0; i < tags; i++, at += 4) {
		put16(f + at, 0x8100);
		put16(f + at + 2, 100 + prng_below(prng, 2));
	}
	put16(f + at, prng_percent(prng, 3) ? 0x0806 : v6 ? 0x86dd : 0x0800);
	ip = at + 2;
	len = 60 + prng_below(prng, prng_percent(prng, 3) ? 1700 : 1300);
	at = ip + (v6 ? put_v6(prng, f + ip, proto, len) : put_v4(prng, f + ip, proto, len));
	put16(f + at, 1000 + prng_below(prng, 50));
	put16(f + at + 2, prng_percent(prng, 50) ? 53 : 1000 + prng_below(prng, 100));
	f[at + 12] = 0x50;
	f[at + 13] = prng_percent(prng, 50) ? 0x02 : 0x10;
	world->len = ip + len;
	if (prng_percent(prng, 3))
		world->len = 1 + prng_below(prng, world->len);
	for (unsigned i = 0; prng_percent(prng, 2) && i < world->len; i++)
		f[i] = (uint8_t)prng_below(prng, 256);
}

/* Hash of all state that packets change. */
static uint64_t sum_bytes(uint64_t sum, const void *at, size_t n)
{
	const uint64_t *words = at;

	for (size_t i = 0; i < n / sizeof(*words); i++)
		sum = (sum ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15) + 1;
	return sum;
}

static uint64_t state_sum(const struct world *world, const struct worker *w, bool all)
{
	const struct instance *inst = &world->w->inst;
	uint64_t sum = sum_bytes(0, w->policies, inst->n_policies * sizeof(*w->policies));

	sum = sum_bytes(sum, &w->counters, sizeof(w->counters));
	sum = sum_bytes(sum, &w->own, sizeof(w->own));
	if (w->shared_buckets)
		sum = sum_bytes(
			sum, w->shared_buckets, inst->n_policies * sizeof(*w->shared_buckets));
	for (unsigned i = 0; i < inst->n_policies; i++) {
		uint32_t slot = inst->slots.of[i];
		const void *memory = policy_state_memory(&w->policies[slot]);

		if (memory)
			sum = sum_bytes(sum, memory,
				all ? policy_extended_bytes(&inst->policies[i])
				    : sizeof(struct policy_extended));
		if (all && w->samples[slot])
			sum = sum_bytes(sum, w->samples[slot], sizeof(struct flow_sample));
	}
	if (all && w->fragments)
		sum = sum_bytes(sum, w->fragments, sizeof(*w->fragments));
	if (all)
		sum = sum_bytes(sum, w->shaper, shaper_bytes(shaper_most(w->shaper)));
	return sum;
}

/* Counters of a worker over all packets, for one policy. */
struct said {
	uint64_t dropped[DROP_REASONS], bytes;
	unsigned n; /* levels: the policy's own and its ancestors */
	struct {
		const struct policy_state *state;
		uint64_t over, fallback;
	} levels[POLICY_LEVELS_MOST];
};

static struct said what_is_said(const struct worker *w, uint32_t slot)
{
	struct said said = {.n = 0};
	uint32_t slots[POLICY_LEVELS_MOST];

	memcpy(said.dropped, w->counters.dropped, sizeof(said.dropped));
	if (slot == CLASSIFY_NONE)
		return said;
	said.n = lineage_of(w, slot, slots);
	for (unsigned k = 0; k < said.n; k++) {
		said.levels[k].state = &w->policies[slots[k]];
		said.levels[k].over = police_over_packets(said.levels[k].state);
		said.levels[k].fallback = police_fallback_packets(said.levels[k].state);
	}
	said.bytes = w->policies[slot].bytes;
	return said;
}

/* A green packet does not count as exceeding, marked or not. */
static void note_colour(struct dry_run_result *got, const struct worker *w)
{
	const struct policy_state *state = &w->policies[got->slot];

	got->colour = COLOURS;
	if (got->slot == CLASSIFY_NONE || !police_is_coloured(state))
		return;
	got->colour = coloured_last(state->other);
	if (got->verdict == DRY_RUN_PASS && state->other->action == ACTION_MARK)
		got->verdict = DRY_RUN_MARK;
}

/* Processes the packet with the worker itself. Returns the observed outcome. */
static struct dry_run_result really(
	struct world *world, struct worker *w, uint16_t path, uint64_t now, uint32_t expected_slot)
{
	struct said before = what_is_said(w, expected_slot), after;
	struct rte_mbuf *m = rte_pktmbuf_alloc(pool);
	struct rx_burst *burst = world->burst;
	struct dry_run_result got = {.slot = CLASSIFY_NONE};
	bool pass;

	assert_non_null(m);
	memcpy(rte_pktmbuf_append(m, (uint16_t)world->len), world->frame, world->len);
	burst->mbufs = &m;
	burst->n_held = 0;
	got.reason = dry_run_decide(w, &w->paths[path], burst, now, &pass);
	got.altered = got.reason != DROP_REASONS;
	after = what_is_said(w, expected_slot);
	got.verdict = got.altered     ? DRY_RUN_DROP
		      : pass          ? DRY_RUN_PASS
		      : burst->n_held ? DRY_RUN_WAIT
				      : DRY_RUN_DROP;
	if (!got.altered)
		got.slot = burst->frames.policy[0];
	for (unsigned r = 0; r < DROP_REASONS; r++)
		if (after.dropped[r] != before.dropped[r])
			got.reason = (enum drop_reason)r;
	note_colour(&got, w);
	for (unsigned k = 0; k < after.n; k++) {
		bool marks = police_is_extended(after.levels[k].state) &&
			     after.levels[k].state->other->action == ACTION_MARK;

		got.fallback |= after.levels[k].fallback != before.levels[k].fallback;
		if (after.levels[k].over != before.levels[k].over && got.verdict != DRY_RUN_MARK)
			got.verdict = marks ? DRY_RUN_MARK : DRY_RUN_COUNT;
	}
	got.cost = (uint32_t)(after.bytes - before.bytes);
	if (got.verdict != DRY_RUN_WAIT)
		rte_pktmbuf_free(m);
	return got;
}

static const struct policy *policy_of(const struct instance *inst, uint32_t slot)
{
	return slot == CLASSIFY_NONE ? NULL : &inst->policies[inst->slots.policy[slot]];
}

static void compare(struct world *world, unsigned round, const struct dry_run_result *said,
	const struct dry_run_result *did)
{
	if (said->verdict == did->verdict && said->reason == did->reason &&
		said->slot == did->slot && said->altered == did->altered &&
		said->cost == did->cost && said->fallback == did->fallback &&
		(said->altered || said->colour == did->colour))
		return;
	fail_msg("packet %u: said %s, reason %u, slot %u, cost %u; did %s, %u, %u, %u: %s", round,
		dry_run_verdict_name(said->verdict), said->reason, said->slot, said->cost,
		dry_run_verdict_name(did->verdict), did->reason, did->slot, did->cost,
		did->slot == CLASSIFY_NONE ? "" : policy_of(&world->w->inst, did->slot)->name);
}

static void try_packet(struct world *world, unsigned round)
{
	struct instance *inst = &world->w->inst;
	struct worker *w = &inst->workers[prng_below(&world->prng, INSTANCE_WORKERS)];
	struct specimen *s = world->specimen;
	bool all = round % 64 == 0, ended;
	struct dry_run_result said, did;
	uint64_t sum;

	if (prng_percent(&world->prng, 20))
		shape_out_due(w);
	make_frame(world);
	memset(s->frame, 0, FRAME);
	memcpy(s->frame, world->frame, world->len);
	s->len = world->len;
	s->path = (uint16_t)prng_below(&world->prng, w->n_paths);
	do { /* repeated if the lease has ended meanwhile because the host stalled */
		ended = expire_lasts(w);
		sum = state_sum(world, w, all);
		specimen_ask(w, s);
		specimen_take(w);
		assert_true(specimen_is_taken(s));
	} while (expire_lasts(w) != ended);
	assert_int_equal(dry_run(s, w, policy_of(inst, s->slot), &said), 0);
	assert_true(sum == state_sum(world, w, all));
	did = really(world, w, s->path, s->now, said.slot);
	compare(world, round, &said, &did);
	world->seen[did.verdict][did.reason]++;
}

static bool totals_are_filled(const struct instance *inst)
{
	for (unsigned i = 0; i < inst->n_policies; i++)
		if (inst->policies[i].allocator->counts_units &&
			credits_held(inst, inst->slots.of[i]) == 0)
			return false;
	return true;
}

/* Waits until quotas have bytes to give. */
static void fill_credits(struct world *world)
{
	struct instance *inst = &world->w->inst;
	uint64_t end = control_now() + 20 * SECOND;

	for (; !totals_are_filled(inst); assert_true(control_now() < end)) {
		inst->credits->next_ns = 0;
		credits_look(inst, control_now());
		commit_advance(inst);
		credits_retry(inst);
		publish(inst);
		instance_world_turn_all(world->w);
	}
}

static void world_open(struct world *world, unsigned set, const char *policies)
{
	static const char *const mores[] = {"", "'unparsed': 'drop', ", "'unparsed': 'pass', ",
		"'tunnels': {'classify': 'inner'}, "};

	world->w = stored_world_begin(
		&(struct world_options){.policies = policies, .more = mores[set % 4]});
	if (set % 5 != 0) /* otherwise quotas are used up, or empty */
		fill_credits(world);
}

static void world_close(struct world *world)
{
	instance_world_end(&world->w);
}

static struct world *world_new(uint64_t seed)
{
	struct world *world = test_calloc(1, sizeof(*world));

	prng_seed(&world->prng, seed);
	world->specimen = aligned_alloc(64, RTE_ALIGN(sizeof(*world->specimen), 64));
	world->burst = aligned_alloc(64, RTE_ALIGN(sizeof(*world->burst), 64));
	memset(world->specimen, 0, sizeof(*world->specimen));
	return world;
}

static void world_delete(struct world *world)
{
	free(world->specimen);
	free(world->burst);
	test_free(world);
}

TEST(random_packets)
{
	struct world *world = world_new(1);
	unsigned reasons = 0, verdicts = 0;

	for (unsigned set = 0; set < SETS; set++) {
		write_policies(world, set % 4 == 3);
		world_open(world, set, world->policies);
		for (unsigned i = 0; i < PACKETS / SETS; i++)
			try_packet(world, i);
		world_close(world);
	}
	for (unsigned v = 0; v <= DRY_RUN_WAIT; v++)
		for (unsigned r = 0, any = 0; r <= DROP_REASONS; r++) {
			reasons += world->seen[v][r] > 0;
			verdicts += world->seen[v][r] > 0 && !any++;
			if (world->seen[v][r] > 0)
				print_message("%-5s %-12s %u\n", dry_run_verdict_name(v),
					r < DROP_REASONS ? drop_reason_name(r) : "-",
					world->seen[v][r]);
		}
	assert_int_equal(verdicts, DRY_RUN_WAIT + 1);
	assert_true(reasons >= 10);
	world_delete(world);
}

/* Full tables of sources, in which new sources find no room. */
TEST(crowds)
{
	static const char *const policies[] = {
		"{'name': 'crowd', 'match': {}, 'limit': '8kbit/s', 'burst': '2kB', 'per': 'src', "
		"'sources': 1024}",
		"{'name': 'crowd', 'match': {}, 'limit': '8kbit/s', 'window': '100s', "
		"'meter': 'fixed-window', 'per': 'src', 'sources': 1024}",
		"{'name': 'crowd', 'match': {}, 'limit': '8kbit/s', 'window': '100s', "
		"'meter': 'hybrid', 'per': 'src', 'sources': 1024}",
	};
	struct world *world = world_new(2);

	for (unsigned set = 0; set < 3; set++) {
		struct source_table_stats stats;

		world_open(world, 0, policies[set]);
		for (unsigned i = 0; i < PACKETS; i++)
			try_packet(world, i);
		source_table_read_stats(
			police_sources(&world->w->inst.workers[0].policies[0]), &stats);
		assert_true(stats.new_sources > 500);
		world_close(world);
	}
	world_delete(world);
}

/* The worker answers in its turn. Until then the question can be withdrawn. */
TEST(asked_and_withdrawn)
{
	struct world *world = world_new(3);
	struct specimen *s = world->specimen;
	struct worker *w;

	world_open(world, 0, "{'name': 'p', 'match': {}, 'limit': '8Mbit/s'}");
	w = &world->w->inst.workers[1];
	make_frame(world);
	memcpy(s->frame, world->frame, world->len);
	s->len = world->len;
	specimen_ask(w, s);
	assert_true(specimen_withdraw(w, s));
	instance_world_turn(world->w, 1);
	assert_false(specimen_is_taken(s));
	specimen_ask(w, s);
	assert_false(specimen_is_taken(s));
	instance_world_turn(world->w, 1);
	assert_true(specimen_is_taken(s));
	assert_false(specimen_withdraw(w, s));
	assert_int_equal(s->slot, 0);
	world_close(world);
	world_delete(world);
}

/* A dry run first checks whether the worker's limits have ended. */
TEST(leases_that_ended)
{
	static const struct {
		bool over, heard_over;
	} rows[] = {{false, false}, {true, false}, {false, true}, {true, true}};

	for (size_t i = 0; i < COUNT(rows); i++) {
		struct world *world = world_new(4);
		struct specimen *s = world->specimen;
		const struct worker_own *own = &s->own;
		struct expiry membership = {.span = 3600 * rte_get_tsc_hz()};
		uint64_t past, ahead;
		struct worker *w;
		uint32_t slot;

		world_open(world, 0,
			"{'name': 'p', 'match': {}, 'limit': '1k/s', 'count': 'packets', "
			"'burst': 100, 'guarantee': 'hard'}");
		w = &world->w->inst.workers[1];
		slot = world->w->inst.slots.of[0];
		ahead = rte_get_tsc_cycles() + membership.span / 2;
		past = rte_get_tsc_cycles() - 1000;
		expiry_init(&w->expiry, rows[i].over ? past : ahead, membership.span);
		membership.until = rows[i].heard_over ? past : ahead;
		w->membership = &membership;
		w->ending[slot] = 51; /* a fifth of it */
		w->counters.expired = 0;
		memset(s->frame, 0, 64);
		s->len = 64;
		s->path = 0;
		specimen_ask(w, s);
		specimen_take(w);
		assert_true(specimen_is_taken(s));
		assert_int_equal(s->slot, slot);
		assert_int_equal(own->ended, rows[i].over ? past : 0);
		assert_int_equal(own->silent, rows[i].heard_over ? past : 0);
		assert_int_equal(s->ending, rows[i].over ? 0 : 51);
		assert_int_equal(w->counters.expired, rows[i].over);
		w->membership = NULL;
		expiry_init(&w->expiry, 0, UINT64_MAX);
		world_close(world);
		world_delete(world);
	}
}

static int start(void **state)
{
	int ret = instance_world_start(state);

	if (ret == 0)
		pool = rte_pktmbuf_pool_create(
			"dry_run", 4095, 0, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY);
	return ret ? ret : pool ? 0 : -1;
}

static int stop(void **state)
{
	rte_mempool_free(pool);
	return instance_world_stop(state);
}

/* --- allocation failures ---------------------------------------------------------------------- */

struct question {
	const struct world *world;
	const struct policy *policy;
	uint32_t slot;
};

/* Submits once and makes repeated dry runs. */
static int dry_run_it(const void *context)
{
	const struct question *question = context;
	const struct worker *w = &question->world->w->inst.workers[1];
	struct dry_run_result out;
	int ret = dry_run(question->world->specimen, w, question->policy, &out);

	if (ret == 0)
		assert_int_equal(out.slot, question->slot);
	return ret;
}

/* Without memory, a policy of any kind gets no dry run, and no memory leaks. */
TEST(no_memory)
{
	static const char *const policies[] = {
		"{'name': 'p', 'match': {}, 'limit': '8Mbit/s'}",
		"{'name': 'p', 'match': {}, 'limit': '8kbit/s', 'per': 'src', 'sources': 1024}",
		"{'name': 'p', 'match': {}, 'limit': '8Mbit/s', 'action': 'shape'}",
		"{'name': 'up', 'limit': '8Mbit/s'}, {'name': 'p', 'parent': 'up', 'match': {}, "
		"'limit': '8Mbit/s', 'action': 'shape'}",
		"{'name': 'up', 'limit': '8Mbit/s'}, {'name': 'p', 'parent': 'up', 'match': {}, "
		"'limit': '8kbit/s', 'per': 'src', 'sources': 1024}",
	};

	for (size_t i = 0; i < COUNT(policies); i++) {
		struct world *world = world_new(5);
		struct question question = {.world = world};
		unsigned last = i > 2;

		world_open(world, 0, policies[i]);
		question.policy = &world->w->inst.policies[last];
		question.slot = world->w->inst.slots.of[last];
		memset(world->specimen->frame, 0, 64);
		put16(world->specimen->frame + 12, 0x0800);
		put_v4(&world->prng, world->specimen->frame + 14, 17, 50);
		world->specimen->len = 64;
		world->specimen->path = 0;
		specimen_ask(&world->w->inst.workers[1], world->specimen);
		instance_world_turn(world->w, 1);
		assert_true(specimen_is_taken(world->specimen));
		fault_try(&(struct fault_subject){.name = policies[i],
			.run = dry_run_it,
			.argument = &question,
			.kinds = FAULT_MEMORY | FAULT_KERNEL,
			.at_least = 5});
		world->specimen->complete = false;
		assert_int_equal(dry_run_it(&question), -E2BIG);
		world_close(world);
		world_delete(world);
	}
}

TEST_GROUP(start, stop)
