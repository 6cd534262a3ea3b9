/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What survives a restart, and when what was decided may be told. A record is numbers of eight
 * bytes, big-endian:
 *
 *   magic and version, n_edges, share, spent, balance, epoch;
 *   of each edge granted, promised, locked, received, inherited, least epoch;
 *   the sum of all bytes before it (FNV-1a, 64 bits, to which each single byte matters).
 *
 * What neighbours have said last is not in it: it would be too old to go by.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/wire.h"
#include "ledger/ledger_private.h"

#define MAGIC    UINT64_C(0x576569724c656401) /* "WeirLed" and the version, 1 */
#define FIXED    6
#define PER_EDGE 6
#define CHECKSUM 1

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
	at = wire_put64(at, l->next_epoch);
	for (uint32_t i = 0; i < l->n_edges; i++) {
		const struct ledger_edge *e = &l->edges[i];

		at = wire_put64(at, e->now.granted);
		at = wire_put64(at, e->now.promised);
		at = wire_put64(at, edge_lock(e));
		at = wire_put64(at, e->received);
		at = wire_put64(at, e->inherited);
		at = wire_put64(at, e->now.least_epoch);
	}
	wire_put64(at, record_checksum(record, (size_t)(at - record)));
}

static bool edge_valid(const struct ledger_edge *e)
{
	return e->now.granted <= e->now.promised && e->now.promised <= e->locked &&
	       e->locked <= LEDGER_MOST && e->received <= LEDGER_MOST &&
	       e->inherited <= e->received && e->now.least_epoch <= LEDGER_MOST;
}

/* Reads the edges and checks the books: what is held is what came in and has not gone. */
static bool read_edge_records(struct ledger *l, const uint8_t *at)
{
	__int128 balance = (__int128)l->share - l->spent;

	for (uint32_t i = 0; i < l->n_edges; i++) {
		struct ledger_edge *e = &l->edges[i];

		at = wire_get64(at, &e->now.granted);
		at = wire_get64(at, &e->now.promised);
		at = wire_get64(at, &e->locked);
		at = wire_get64(at, &e->received);
		at = wire_get64(at, &e->inherited);
		at = wire_get64(at, &e->now.least_epoch);
		if (!edge_valid(e))
			return false;
		edge_commit_all(e, &(struct ledger_terms){
					   e->now.granted, e->now.promised, e->now.least_epoch});
		balance += (__int128)e->received - e->now.granted;
	}
	return balance == l->balance && balance <= (int64_t)LEDGER_MOST;
}

static bool read_record(struct ledger *l, const uint8_t *record)
{
	const size_t sum_at = size_of(l->n_edges) - sizeof(uint64_t);
	uint64_t magic, n_edges, balance, epoch, sum;
	const uint8_t *at = record;

	wire_get64(record + sum_at, &sum);
	at = wire_get64(at, &magic);
	at = wire_get64(at, &n_edges);
	at = wire_get64(at, &l->share);
	at = wire_get64(at, &l->spent);
	at = wire_get64(at, &balance);
	at = wire_get64(at, &epoch);
	if (sum != record_checksum(record, sum_at) || magic != MAGIC || n_edges != l->n_edges)
		return false;
	if (l->share > LEDGER_MOST || l->spent > LEDGER_MOST || epoch >= LEDGER_MOST)
		return false;
	l->balance = (int64_t)balance;
	l->dirty = l->epoch <= epoch;
	l->epoch = l->next_epoch = max_u64(l->epoch, epoch + 1);
	return read_edge_records(l, at);
}

int ledger_restore(const struct ledger_params *params, const void *record, size_t len,
	uint64_t now_ns, struct ledger **out)
{
	struct ledger *l;
	int ret;

	if (params->recovering || len != size_of(params->n_edges))
		return -EINVAL;
	ret = ledger_create(params, now_ns, &l);
	if (ret)
		return ret;
	if (!read_record(l, record)) {
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
	l->saved_epoch = l->next_epoch;
	l->saving = true;
	l->dirty = false;
	if (record)
		write_ledger_record(l, record);
	if (len)
		*len = ledger_record_size(l);
	return 0;
}

/* Under another epoch no echo counts that was of the one before. */
static void begin_epoch(struct ledger *l, uint64_t epoch)
{
	l->epoch = epoch;
	for (uint32_t i = 0; i < l->n_edges; i++)
		l->edges[i].leased_ns = l->edges[i].mark = 0;
}

void ledger_committed(struct ledger *l)
{
	if (!l->saving)
		return;
	l->saving = false;
	for (uint32_t i = 0; i < l->n_edges; i++)
		l->edges[i].committed = l->edges[i].saved;
	if (l->saved_epoch != l->epoch)
		begin_epoch(l, l->saved_epoch);
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
