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
 * Version 1 ended the first line with the epoch, had no lives, and nothing of the neighbour.
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

#define MAGIC    UINT64_C(0x576569724c656402) /* "WeirLed" and the version, 2 */
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

	at = wire_put64(at, MAGIC);
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
static bool read_edge_records(struct ledger *l, const uint8_t *at, bool first_version)
{
	__int128 balance = (__int128)l->share - l->spent;

	for (uint32_t i = 0; i < l->n_edges; i++) {
		struct ledger_edge *e = &l->edges[i];
		uint64_t word = 0;

		at = wire_get64(at, &e->now.granted);
		at = wire_get64(at, &e->now.promised);
		at = wire_get64(at, &e->locked);
		at = wire_get64(at, &e->received);
		at = wire_get64(at, &e->inherited);
		at = wire_get64(at, &e->now.least_epoch);
		if (!first_version) {
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

static bool read_record(struct ledger *l, const uint8_t *record, bool first_version)
{
	const size_t size = first_version ? size_of_1(l->n_edges) : size_of(l->n_edges);
	const size_t sum_at = size - sizeof(uint64_t);
	uint64_t magic, n_edges, balance, epoch, most = 0, sum;
	const uint8_t *at = record;

	wire_get64(record + sum_at, &sum);
	at = wire_get64(at, &magic);
	at = wire_get64(at, &n_edges);
	at = wire_get64(at, &l->share);
	at = wire_get64(at, &l->spent);
	at = wire_get64(at, &balance);
	at = wire_get64(at, &epoch);
	if (!first_version)
		at = wire_get64(at, &most);
	if (sum != record_checksum(record, sum_at) || magic != MAGIC - first_version ||
		n_edges != l->n_edges)
		return false;
	if (l->share > LEDGER_MOST || l->spent > LEDGER_MOST || epoch >= LEDGER_MOST ||
		most > LEDGER_MOST)
		return false;
	if (first_version) /* without previous lives */
		l->lives[0] = (struct ledger_life){.epoch = epoch + 1, .word = l->word};
	else
		at = read_lives(l, epoch, at);
	ledger_raise_most(l, max_u64(most, l->share));
	l->balance = (int64_t)balance;
	l->dirty = l->epoch <= epoch || l->mute;
	l->epoch = max_u64(l->epoch, epoch + 1);
	/* A start of version 1 can have used a later epoch than that of its record. */
	l->first_epoch = first_version ? 0 : l->epoch;
	return read_edge_records(l, at, first_version);
}

int ledger_restore(const struct ledger_params *params, const void *record, size_t len,
	uint64_t now_ns, struct ledger **out)
{
	struct ledger *l;
	int ret;

	bool first_version = len == size_of_1(params->n_edges);

	if (params->recovering || (!first_version && len != size_of(params->n_edges)))
		return -EINVAL;
	ret = ledger_create(params, now_ns, &l);
	if (ret)
		return ret;
	if (!read_record(l, record, first_version)) {
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
