/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Repeats unchanged statements by digests. Accounts are in buckets by their ids. Both ends of an
 * edge keep a sum of hashes for each bucket. The sender sums the entries that it sent last, the
 * receiver the entries that it received last. A digest has the sums of some buckets. If a sum is
 * equal at the receiver, it renews the accounts of that bucket. Otherwise it requests the entries.
 * A bucket is in a digest only if none of its accounts has anything new.
 *
 * A digest is a head (book/book.c) and, big-endian:
 *
 *       17      1  binary logarithm of the number of buckets, B
 *       18      8  stamp, and
 *       26      8  echo: the oldest stamp that was received last of one of these accounts
 *       34      2  bucket, and
 *       36      8  sum; and so on
 *
 * A request is a head and the buckets, two bytes each, of DIGEST_BUCKETS.
 */
#include <errno.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/hash.h"
#include "base/math.h"
#include "base/wire.h"
#include "conserve/conserve_private.h"
#include "ledger/ledger.h"

/* Most accounts of a bucket on average. If one has news, all of them are sent as entries. */
#define BUCKET_ACCOUNTS 16

/* Rounds after which control checks an account again that no event has marked. */
#define SWEEP 8

/* Leases after which a settled account without a lease is sent again, if it is in no digest. */
#define SETTLED_LEASES 2

static uint64_t hash_bytes(const uint8_t *at, size_t len)
{
	uint64_t hash = HASH64_BASIS, word;

	for (; len >= sizeof(word); len -= sizeof(word)) {
		at = wire_get64(at, &word);
		hash ^= word;
		hash = splitmix64_next(&hash);
	}
	while (len-- > 0)
		hash = hash64_step(hash, *at++);
	return splitmix64_next(&hash);
}

static uint64_t hash_settled(const struct conserve *c, const struct rate_account *a, unsigned edge)
{
	struct ledger_statement statement = ledger_settled(a->ledger, edge);
	struct rate_terms terms = rate_own_terms(c, a);
	uint8_t buf[LEDGER_STATEMENT_BYTES + RATE_TERMS_BYTES];

	/* The neighbour needs this count only after a new start, which also changes the word. */
	statement.known_count = 0;
	ledger_statement_write(&statement, buf);
	rate_write_terms(&terms, buf + LEDGER_STATEMENT_BYTES);
	return hash_bytes(buf, sizeof(buf));
}

void digest_sent(struct conserve *c, struct rate_account *a, unsigned edge, uint64_t entry)
{
	struct rate_edge *e = &a->edges[edge];

	c->links[edge].sent[a->bucket] += entry - e->sent_hash;
	e->sent_hash = entry;
	e->settled_hash = hash_settled(c, a, edge);
}

void digest_received(struct conserve *c, struct rate_account *a, unsigned edge, uint64_t entry)
{
	struct rate_edge *e = &a->edges[edge];

	c->links[edge].received[a->bucket] += entry - e->received_hash;
	e->received_hash = entry;
}

uint64_t digest_entry(const uint8_t *entry)
{
	uint8_t copy[CONSERVE_ENTRY];

	memcpy(copy, entry, sizeof(copy));
	copy[CONSERVE_AT_FLAGS] &= (uint8_t)~CONSERVE_ANSWER;
	ledger_statement_unstamp(copy + CONSERVE_AT_STATEMENT);
	return hash_bytes(copy, sizeof(copy));
}

/* A bucket of a coarser division is a range of the finest one. */
struct digest_range digest_range(unsigned bucket, unsigned bits)
{
	return (struct digest_range){
		bucket << (DIGEST_BITS - bits), (bucket + 1) << (DIGEST_BITS - bits)};
}

uint64_t digest_sum(const uint64_t *sums, struct digest_range range)
{
	uint64_t sum = 0;

	for (unsigned b = range.first; b < range.end; b++)
		sum += sums[b];
	return sum;
}

void digest_tick(struct conserve *c)
{
	struct digest_round *round = &c->round;
	/* Without promises there is no lease to renew. */
	unsigned renewals = c->promises ? RENEWALS : RENEWALS / 2;
	uint64_t ticks = max_u64(
		c->params.lease_ns / max_u64(renewals * c->params.repeat_ns, 1), 1);
	unsigned n;

	round->bits = 0;
	while (round->bits < DIGEST_BITS && c->book.n > (unsigned)BUCKET_ACCOUNTS << round->bits)
		round->bits++;
	n = 1U << round->bits;
	round->swept += round->first + round->n >= n;
	round->first = (round->first + round->n) % n;
	round->owed += n;
	round->n = min_u32((unsigned)(round->owed / ticks), n);
	round->owed %= ticks;
	for (unsigned i = 0; i < round->n; i++) {
		unsigned bucket = (round->first + i) % n;
		struct digest_range range = digest_range(bucket, round->bits);
		struct rate_account *a;

		if ((bucket + round->swept) % SWEEP != 0)
			continue;
		for (unsigned b = range.first; b < range.end; b++)
			TAILQ_FOREACH(a, &c->buckets[b], next_in_bucket)
			{
				rate_stir(c, a);
			}
	}
	for (unsigned e = 0; e < c->book.n_edges; e++)
		c->links[e].digest = round->n > 0;
}

static bool is_settled(const struct conserve *c, const struct rate_account *a, unsigned edge)
{
	const struct rate_edge *e = &a->edges[edge];

	return !e->due && !e->apart && !e->sent_asks && e->sent_hash != 0 && !a->waits &&
	       c->book.links[edge].doubt != BOOK_TWICE && ledger_received_stamp(a->ledger, edge) &&
	       !rate_is_unconfirmed(a, edge) && e->settled_hash == hash_settled(c, a, edge);
}

/* True if all accounts of the range are settled. Extends the stamps of the digest to them. */
static bool range_settled(const struct conserve *c, unsigned edge, struct digest_range range,
	uint64_t now_ns, uint64_t *stamp, uint64_t *echo)
{
	struct rate_account *a;

	for (unsigned b = range.first; b < range.end; b++)
		TAILQ_FOREACH(a, &c->buckets[b], next_in_bucket)
		{
			if (!is_settled(c, a, edge))
				return false;
			*stamp = max_u64(*stamp, ledger_next_stamp(a->ledger, edge, now_ns));
			*echo = min_u64(*echo, ledger_received_stamp(a->ledger, edge));
		}
	return true;
}

/* True if the statements renew a lease, because either end has promised the other one something. */
static bool has_lease(const struct rate_account *a, unsigned edge)
{
	struct ledger_view view = ledger_view(a->ledger, edge);

	return view.locked > view.granted || ledger_was_promised(a->ledger, edge);
}

/*
 * Sends accounts of a range that is not in the digest one by one, if they were not sent in this
 * tick. The last entry of a settled one can be lost, so it is sent again, too, but later.
 */
static void send_range(
	struct conserve *c, unsigned edge, struct digest_range range, uint64_t now_ns, bool settled)
{
	struct rate_account *a;

	for (unsigned b = range.first; b < range.end; b++)
		TAILQ_FOREACH(a, &c->buckets[b], next_in_bucket)
		{
			uint64_t since_ns = now_ns - a->edges[edge].sent_ns;
			/* The account is or was in use: a lost entry would leave an old hint. */
			const bool hints = a->edges[edge].sent_q != 0 || a->edges[edge].hinted;

			if (since_ns > c->params.repeat_ns &&
				(since_ns / SETTLED_LEASES > c->params.lease_ns || settled ||
					(hints && since_ns * 2 > c->params.lease_ns) ||
					has_lease(a, edge) || !is_settled(c, a, edge)))
				rate_stale(c, a, edge);
		}
}

static void repeat_range(struct conserve *c, unsigned edge, struct digest_range range,
	uint64_t now_ns, uint64_t stamp)
{
	struct rate_account *a;

	for (unsigned b = range.first; b < range.end; b++)
		TAILQ_FOREACH(a, &c->buckets[b], next_in_bucket)
		{
			ledger_state_again(a->ledger, edge, now_ns, stamp);
			a->edges[edge].hinted = false;
		}
}

size_t digest_write(struct conserve *c, unsigned edge, uint64_t now_ns, uint8_t *buf, size_t room)
{
	const struct digest_round *round = &c->round;
	const uint64_t received_ns = c->links[edge].received_ns;
	/* The neighbour is down. One that is up sends some messages in each lease. */
	const bool silent = now_ns > received_ns && now_ns - received_ns > c->params.lease_ns;
	uint64_t stamp = 0, echo = UINT64_MAX;
	size_t len = DIGEST_AT_SUMS;

	for (unsigned i = 0; i < round->n; i++) {
		unsigned bucket = (round->first + i) & ((1U << round->bits) - 1);
		struct digest_range range = digest_range(bucket, round->bits);
		uint64_t with_stamp = stamp, with_echo = echo;
		bool fits = len + DIGEST_SUM <= room;

		if (!fits || !range_settled(c, edge, range, now_ns, &with_stamp, &with_echo)) {
			if (!silent)
				send_range(c, edge, range, now_ns, !fits);
			continue;
		}
		stamp = with_stamp;
		echo = with_echo;
		wire_put64(wire_put16(buf + len, (uint16_t)bucket),
			digest_sum(c->links[edge].sent, range));
		len += DIGEST_SUM;
	}
	if (len == DIGEST_AT_SUMS || stamp == 0)
		return 0;
	for (size_t at = DIGEST_AT_SUMS; at < len; at += DIGEST_SUM) {
		uint16_t bucket;

		wire_get16(buf + at, &bucket);
		repeat_range(c, edge, digest_range(bucket, round->bits), now_ns, stamp);
	}
	*book_write_head(&c->book, CONSERVE_DIGEST, buf) = (uint8_t)round->bits;
	wire_put64(wire_put64(buf + DIGEST_AT_STAMP, stamp), echo);
	return len;
}

size_t digest_request(struct conserve *c, unsigned edge, uint8_t *buf, size_t room)
{
	uint64_t *missed = c->links[edge].missed;
	unsigned b = bitmap_next(missed, DIGEST_BUCKETS, 0);
	size_t len = BOOK_HEAD;

	for (; b < DIGEST_BUCKETS && len + 2 <= room; b = bitmap_next(missed, DIGEST_BUCKETS, b)) {
		bitmap_clear(missed, b);
		wire_put16(buf + len, (uint16_t)b);
		len += 2;
	}
	if (len == BOOK_HEAD)
		return 0;
	book_write_head(&c->book, CONSERVE_REQUEST, buf);
	return len;
}

int digest_requested(struct conserve *c, unsigned edge, const uint8_t *buf, size_t len)
{
	struct rate_account *a;
	uint16_t bucket;

	if ((len - BOOK_HEAD) % 2 != 0)
		return -EBADMSG;
	for (size_t at = BOOK_HEAD; at < len; at += 2) {
		wire_get16(buf + at, &bucket);
		if (bucket >= DIGEST_BUCKETS)
			return -EBADMSG;
		TAILQ_FOREACH(a, &c->buckets[bucket], next_in_bucket)
		{
			rate_stale(c, a, edge);
		}
	}
	return 0;
}
