/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The saved record of a ledger, and the commit after which statements to neighbours can contain a
 * change (see ledger_save()). A record is numbers of eight bytes, big-endian:
 *
 *   magic and version, n_edges, share, spent, balance, epoch, most, count, word;
 *   of each of LEDGER_LIVES previous lives epoch, count, word;
 *   of each edge granted, promised, locked, received, inherited, least epoch, and of the
 *   neighbour its epoch, and the count and word of its life (bit 32 of the word: unproven);
 *   the sum of all bytes before it (FNV-1a, 64 bits, to which each single byte matters).
 *
 * That is version 3, with added edges. Without these the version is 2, so that earlier releases
 * read it. Version 1 ended the first line with the epoch, had no lives, and nothing of the
 * neighbour.
 *
 * Nothing else that neighbours reported is in it: it would be too old to use.
 */
#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/wire.h"
#include "ledger/ledger_private.h"
#include "ledger/ledger.h"

static_assert(sizeof(struct ledger_statement) == LEDGER_STATEMENT_BYTES, "and nothing else");

void ledger_statement_write(const struct ledger_statement *s, uint8_t buf[LEDGER_STATEMENT_BYTES])
{
	const uint64_t numbers[] = {s->epoch, s->stamp, s->granted, s->promised, s->received,
		s->echo_epoch, s->echo_stamp, s->least_epoch, s->count, s->known_count};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		buf = wire_put64(buf, numbers[i]);
	wire_put32(wire_put32(buf, s->word), s->known_word);
}

void ledger_statement_unstamp(uint8_t buf[LEDGER_STATEMENT_BYTES])
{
	memset(buf + offsetof(struct ledger_statement, stamp), 0, sizeof(uint64_t));
	memset(buf + offsetof(struct ledger_statement, echo_stamp), 0, sizeof(uint64_t));
}

int ledger_statement_read(struct ledger_statement *s, const uint8_t *buf, size_t len)
{
	uint64_t *const numbers[] = {&s->epoch, &s->stamp, &s->granted, &s->promised, &s->received,
		&s->echo_epoch, &s->echo_stamp, &s->least_epoch, &s->count, &s->known_count};

	if (len != LEDGER_STATEMENT_BYTES)
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		buf = wire_get64(buf, numbers[i]);
	wire_get32(wire_get32(buf, &s->word), &s->known_word);
	return statement_plausible(s) ? 0 : -EBADMSG;
}

#define MAGIC    UINT64_C(0x576569724c656400) /* "WeirLed" and the version */
#define NEWEST   3                            /* version with added edges */
#define FIXED    (9 + 3 * LEDGER_LIVES)
#define PER_EDGE 9
#define CHECKSUM 1

#define LIFE_UNPROVEN (UINT64_C(1) << 32)

#define FIXED_1    6
#define PER_EDGE_1 6

static uint64_t record_checksum(const uint8_t *bytes, size_t len)
{
	uint64_t sum = HASH64_BASIS;

	for (size_t i = 0; i < len; i++)
		sum = hash64_step(sum, bytes[i]);
	return sum;
}

static size_t size_of(uint32_t n_edges)
{
	return ((size_t)n_edges * PER_EDGE + FIXED + CHECKSUM) * sizeof(uint64_t);
}

static size_t size_of_1(uint32_t n_edges)
{
	return ((size_t)n_edges * PER_EDGE_1 + FIXED_1 + CHECKSUM) * sizeof(uint64_t);
}

size_t ledger_record_size(const struct ledger *l)
{
	return size_of(l->n_edges);
}

static void write_ledger_record(const struct ledger *l, uint8_t *record)
{
	uint8_t *at = record;

	at = wire_put64(at, MAGIC | (l->n_edges > l->n_first ? NEWEST : NEWEST - 1));
	at = wire_put64(at, l->n_edges);
	at = wire_put64(at, l->share);
	at = wire_put64(at, l->spent);
	at = wire_put64(at, (uint64_t)l->balance);
	at = wire_put64(at, l->epoch);
	at = wire_put64(at, l->most);
	at = wire_put64(at, l->saved_count);
	at = wire_put64(at, l->word);
	for (unsigned i = 0; i < LEDGER_LIVES; i++)
		at = wire_put64(wire_put64(wire_put64(at, l->lives[i].epoch), l->lives[i].count),
			l->lives[i].word);
	for (uint32_t i = 0; i < l->n_edges; i++) {
		const struct ledger_edge *e = &l->edges[i];

		at = wire_put64(at, e->now.granted);
		at = wire_put64(at, e->now.promised);
		at = wire_put64(at, edge_lock(e));
		at = wire_put64(at, e->received);
		at = wire_put64(at, e->inherited);
		at = wire_put64(at, e->now.least_epoch);
		at = wire_put64(at, e->reported.epoch);
		at = wire_put64(at, e->life.count);
		at = wire_put64(at, e->life.word | (e->life.unproven ? LIFE_UNPROVEN : 0));
	}
	wire_put64(at, record_checksum(record, (size_t)(at - record)));
}

static bool edge_valid(const struct ledger_edge *e)
{
	return e->now.granted <= e->now.promised && e->now.promised <= e->locked &&
	       e->locked <= LEDGER_MOST && e->received <= LEDGER_MOST &&
	       e->inherited <= e->received && e->now.least_epoch <= LEDGER_MOST &&
	       e->reported.epoch <= LEDGER_MOST && e->life.count <= LEDGER_MOST;
}

/* Reads the edges and checks the balance: share - spent + received - granted. */
static bool read_edge_records(struct ledger *l, uint32_t n, const uint8_t *at, unsigned version)
{
	__int128 balance = (__int128)l->share - l->spent;

	for (uint32_t i = 0; i < n; i++) {
		struct ledger_edge *e = &l->edges[i];
		uint64_t word = 0;

		at = wire_get64(at, &e->now.granted);
		at = wire_get64(at, &e->now.promised);
		at = wire_get64(at, &e->locked);
		at = wire_get64(at, &e->received);
		at = wire_get64(at, &e->inherited);
		at = wire_get64(at, &e->now.least_epoch);
		if (version > 1) {
			at = wire_get64(at, &e->reported.epoch);
			at = wire_get64(at, &e->life.count);
			at = wire_get64(at, &word);
		}
		e->life.word = (uint32_t)word;
		e->life.unproven = word & LIFE_UNPROVEN;
		if (!edge_valid(e))
			return false;
		edge_commit_all(e, &(struct ledger_terms){
					   e->now.granted, e->now.promised, e->now.least_epoch});
		balance += (__int128)e->received - e->now.granted;
	}
	return balance == l->balance && balance <= (int64_t)LEDGER_MOST;
}

/*
 * Reads the previous lives. The one that wrote the record becomes the newest, so the oldest is read
 * and dropped.
 */
static const uint8_t *read_lives(struct ledger *l, uint64_t epoch, const uint8_t *at)
{
	uint64_t word;

	at = wire_get64(wire_get64(at, &l->count), &word);
	l->saved_count = l->count;
	l->lives[0] = (struct ledger_life){epoch, l->count, (uint32_t)word};
	for (unsigned i = 1; i <= LEDGER_LIVES; i++) {
		struct ledger_life life;

		at = wire_get64(wire_get64(wire_get64(at, &life.epoch), &life.count), &word);
		life.word = (uint32_t)word;
		if (i < LEDGER_LIVES)
			l->lives[i] = life;
	}
	return at;
}

/* Returns the version of a record with possible length and sum, or 0; and its number of edges. */
static unsigned find_version(
	const struct ledger *l, const uint8_t *record, size_t len, uint32_t *n_edges)
{
	uint64_t magic, n, sum;
	unsigned version;

	if (len < 3 * sizeof(uint64_t))
		return 0;
	wire_get64(wire_get64(record, &magic), &n);
	wire_get64(record + len - sizeof(uint64_t), &sum);
	version = (unsigned)(magic & 0xff);
	*n_edges = (uint32_t)n;
	if (magic - version != MAGIC || version == 0 || version > NEWEST || n < l->n_first ||
		n > (version == NEWEST ? l->n_edges : l->n_first) ||
		len != (version == 1 ? size_of_1(*n_edges) : size_of(*n_edges)) ||
		sum != record_checksum(record, len - sizeof(uint64_t)))
		return 0;
	return version;
}

/* Edges that were added since are behind those of the record. */
static bool read_record(struct ledger *l, const uint8_t *record, size_t len)
{
	uint64_t balance, epoch, most = 0;
	const uint8_t *at = record + 2 * sizeof(uint64_t);
	uint32_t n_edges;
	const unsigned version = find_version(l, record, len, &n_edges);

	if (version == 0)
		return false;
	at = wire_get64(at, &l->share);
	at = wire_get64(at, &l->spent);
	at = wire_get64(at, &balance);
	at = wire_get64(at, &epoch);
	if (version > 1)
		at = wire_get64(at, &most);
	if (l->share > LEDGER_MOST || l->spent > LEDGER_MOST || epoch >= LEDGER_MOST ||
		most > LEDGER_MOST)
		return false;
	if (version == 1) /* without previous lives */
		l->lives[0] = (struct ledger_life){.epoch = epoch + 1, .word = l->word};
	else
		at = read_lives(l, epoch, at);
	ledger_raise_most(l, max_u64(most, l->share));
	l->balance = (int64_t)balance;
	l->dirty = l->epoch <= epoch || l->mute || n_edges < l->n_edges;
	l->epoch = max_u64(l->epoch, epoch + 1);
	/* A start of version 1 can have used a later epoch than that of its record. */
	l->first_epoch = version == 1 ? 0 : l->epoch;
	return read_edge_records(l, n_edges, at, version);
}

int ledger_restore(const struct ledger_params *params, const void *record, size_t len,
	uint64_t now_ns, struct ledger **out)
{
	struct ledger *l;
	int ret;

	if (params->recovering)
		return -EINVAL;
	ret = ledger_create(params, now_ns, &l);
	if (ret)
		return ret;
	if (!read_record(l, record, len)) {
		ledger_destroy(l);
		return -EINVAL;
	}
	*out = l;
	return 0;
}

bool ledger_uncommitted(const struct ledger *l)
{
	return l->dirty || l->saving;
}

int ledger_save(struct ledger *l, void *record, size_t *len)
{
	if (l->recovering)
		return -EAGAIN;
	if (l->saving)
		return -EBUSY;
	for (uint32_t i = 0; i < l->n_edges; i++)
		l->edges[i].saved = l->edges[i].now;
	l->saved_count++;
	l->saving = true;
	l->dirty = false;
	if (record)
		write_ledger_record(l, record);
	if (len)
		*len = ledger_record_size(l);
	return 0;
}

void ledger_committed(struct ledger *l)
{
	if (!l->saving)
		return;
	l->saving = l->mute = false;
	l->count = l->saved_count;
	for (uint32_t i = 0; i < l->n_edges; i++)
		l->edges[i].committed = l->edges[i].saved;
}

void ledger_save_failed(struct ledger *l)
{
	if (!l->saving)
		return;
	l->saving = false;
	l->dirty = true;
	for (uint32_t i = 0; i < l->n_edges; i++)
		l->edges[i].saved = l->edges[i].committed;
}
