/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Makes the sets of members of all limiters equal, by messages over gossip.
 */
#include "members/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/wire.h"

#define EXCHANGE_WANTED 0x01

/* The entries to send to one peer; each set has bits by the number of an entry. */
struct exchange_pass {
	unsigned n, room; /* entries, and bits in each set */
	unsigned n_due;
	uint64_t *held; /* the peer has the same content */
	uint64_t *due;  /* to be sent in this round; never also held */
};

struct exchange_peer {
	unsigned index; /* in the roster */
	bool watched, speaks;
	bool answer;   /* the peer wants one */
	bool reported; /* `digest` is that of its set */
	uint64_t digest;
	uint64_t sent_ns;  /* the last message that was no answer; 0: none */
	uint64_t pause_ns; /* after the present round */
	uint64_t next_ns;
	uint64_t base;             /* the peer has all entries with `changed` up to this */
	struct exchange_pass pass; /* empty while the digests are equal, or it has not reported */
};

struct exchange {
	unsigned n, self;
	struct members *members;
	uint64_t every_ns;
	uint64_t serial;             /* all peers' passes include the changes up to this */
	struct exchange_peer *peers; /* by index; watched ones and senders of messages */
	unsigned n_peers, peers_room;
	unsigned next; /* place of the peer that gets the next message */
	unsigned sent; /* messages since the last tick */
	struct exchange_counters counters;
};

static inline bool peer_is_equal(const struct exchange *e, const struct exchange_peer *p)
{
	return p->reported && p->digest == members_digest(e->members);
}

/* Frees the pass, and notes that the peer has all entries that have changed up to `base`. */
static void pass_end(struct exchange_peer *p, uint64_t base)
{
	free(p->pass.held);
	free(p->pass.due);
	p->pass = (struct exchange_pass){0};
	p->base = base;
}

static int make_room(struct exchange_pass *pass, unsigned n)
{
	unsigned words = bitmap_words(n - 1), old = pass->room / 64;
	uint64_t *bits;

	if (n <= pass->room)
		return 0;
	words = words < 2 * old ? 2 * old : words;
	bits = realloc(pass->held, words * sizeof(*bits));
	if (!bits)
		return -ENOMEM;
	pass->held = bits;
	bits = realloc(pass->due, words * sizeof(*bits));
	if (!bits)
		return -ENOMEM;
	pass->due = bits;
	for (unsigned w = old; w < words; w++)
		pass->held[w] = pass->due[w] = 0;
	pass->room = 64 * words;
	return 0;
}

static void pass_set_due(struct exchange_pass *pass, uint32_t number)
{
	pass->n_due += !bitmap_has(pass->due, number);
	bitmap_set(pass->due, number);
	bitmap_clear(pass->held, number);
}

/*
 * Begins the pass of a peer, or extends it with new entries, which are due. Returns 0 or -ENOMEM:
 * then nothing is due, and the next pass is longer than needed.
 */
static int pass_extend(const struct exchange *e, struct exchange_peer *p)
{
	struct exchange_pass *pass = &p->pass;
	unsigned n = members_count(e->members);

	if (n > 0 && make_room(pass, n)) {
		pass_end(p, 0);
		return -ENOMEM;
	}
	for (; pass->n < n; pass->n++)
		if (members_numbered(e->members, pass->n)->changed <= p->base)
			bitmap_set(pass->held, pass->n);
		else
			pass_set_due(pass, pass->n);
	return 0;
}

int exchange_create(const struct exchange_params *params, struct exchange **out)
{
	struct exchange *e;

	if (params->self >= params->n || params->every_ns > EXCHANGE_REST_NS)
		return -EINVAL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->n = params->n;
	e->self = params->self;
	e->members = params->members;
	e->every_ns = params->every_ns ? params->every_ns : EXCHANGE_EVERY_NS;
	e->serial = members_serial(e->members);
	*out = e;
	return 0;
}

void exchange_destroy(struct exchange *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < e->n_peers; i++)
		pass_end(&e->peers[i], 0);
	free(e->peers);
	free(e);
}

/* Returns the place of the first peer at an index or after it. */
static unsigned place_of(const struct exchange *e, unsigned index)
{
	unsigned low = 0, high = e->n_peers;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (e->peers[middle].index < index)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Returns the state of a peer, or NULL. */
static struct exchange_peer *exchange_find(const struct exchange *e, unsigned index)
{
	unsigned at = place_of(e, index);

	return at < e->n_peers && e->peers[at].index == index ? &e->peers[at] : NULL;
}

/* Returns the state of a peer, added if there is none; NULL: out of memory. Others can move. */
static struct exchange_peer *exchange_get(struct exchange *e, unsigned index)
{
	unsigned at = place_of(e, index);

	if (at < e->n_peers && e->peers[at].index == index)
		return &e->peers[at];
	if (e->n_peers == e->peers_room) {
		unsigned room = e->peers_room ? 2 * e->peers_room : 8;
		struct exchange_peer *peers = realloc(e->peers, room * sizeof(*peers));

		if (!peers)
			return NULL;
		e->peers = peers;
		e->peers_room = room;
	}
	memmove(e->peers + at + 1, e->peers + at, (e->n_peers - at) * sizeof(*e->peers));
	e->n_peers++;
	e->peers[at] = (struct exchange_peer){.index = index, .pause_ns = e->every_ns};
	return &e->peers[at];
}

/* Makes the pauses of a peer short again, because its set or ours has changed. */
static void peer_hurry(const struct exchange *e, struct exchange_peer *p)
{
	uint64_t next_ns = p->sent_ns ? p->sent_ns + e->every_ns : 0;

	p->pause_ns = e->every_ns;
	if (p->next_ns > next_ns)
		p->next_ns = next_ns;
}

void exchange_watch(struct exchange *e, unsigned peer, bool watched)
{
	struct exchange_peer *p = exchange_find(e, peer);

	if (peer == e->self || peer >= e->n || (!watched && !p))
		return;
	p = exchange_get(e, peer);
	if (!p || p->watched == watched) /* without memory it is watched the next time */
		return;
	p->watched = watched;
	peer_hurry(e, p);
}

static int compare_indices(const void *a, const void *b)
{
	unsigned x = ((const struct exchange_peer *)a)->index;
	unsigned y = ((const struct exchange_peer *)b)->index;

	return x < y ? -1 : x > y;
}

void exchange_regroup(struct exchange *e, unsigned n, unsigned self, const unsigned *to)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < e->n_peers; i++) {
		struct exchange_peer *p = &e->peers[i];

		p->index = to[p->index];
		if (p->index < n)
			e->peers[kept++] = *p;
		else
			pass_end(p, 0);
	}
	e->n_peers = kept;
	if (kept > 0)
		qsort(e->peers, kept, sizeof(*e->peers), compare_indices);
	e->next = 0;
	e->n = n;
	e->self = self;
}

void exchange_restarted(struct exchange *e, unsigned peer)
{
	struct exchange_peer *p = exchange_find(e, peer);

	if (!p)
		return;
	pass_end(p, 0);
	*p = (struct exchange_peer){.index = peer, .watched = p->watched, .pause_ns = e->every_ns};
}

/* Adds the changes of the set since the last call to all passes. */
static void exchange_note_changes(struct exchange *e)
{
	const struct members *m = e->members;

	if (members_serial(m) == e->serial)
		return;
	for (unsigned i = 0; i < e->n_peers; i++) {
		struct exchange_peer *p = &e->peers[i];
		uint32_t at = members_newest(m);

		peer_hurry(e, p);
		if (p->pass.n == 0 || pass_extend(e, p))
			continue;
		for (; at != MEMBERS_NONE && members_numbered(m, at)->changed > e->serial;
			at = members_older(m, at))
			pass_set_due(&p->pass, at);
	}
	e->serial = members_serial(m);
}

bool exchange_confirmed(const struct exchange *e, unsigned peer)
{
	const struct exchange_peer *p = exchange_find(e, peer);

	return p && peer_is_equal(e, p);
}

bool exchange_speaks(const struct exchange *e, unsigned peer)
{
	const struct exchange_peer *p = exchange_find(e, peer);

	return p && p->speaks;
}

struct exchange_counters exchange_counters(const struct exchange *e)
{
	return e->counters;
}

/* --- receive ---------------------------------------------------------------------------------- */

/* Reads messages: checks all of a message, then accepts its content. */

static bool entries_valid(const uint8_t *at, const uint8_t *end)
{
	struct member_entry entry;
	size_t len;

	for (; at < end; at += len) {
		len = member_read(&entry, at, (size_t)(end - at));
		if (len == 0)
			return false;
	}
	return true;
}

static void merge_entries(struct exchange *e, const uint8_t *at, const uint8_t *end)
{
	struct member_entry entry;

	while (at < end) {
		int ret;

		at += member_read(&entry, at, (size_t)(end - at));
		ret = members_merge(e->members, &entry);
		e->counters.merged += ret > 0;
		e->counters.refused += ret < 0;
	}
}

/* Notes that the peer has the entries in its message. */
static void note_held(
	struct exchange *e, struct exchange_pass *pass, const uint8_t *at, const uint8_t *end)
{
	struct member_entry entry;

	while (at < end) {
		uint32_t number;

		at += member_read(&entry, at, (size_t)(end - at));
		number = members_number(e->members, &entry);
		if (number == MEMBERS_NONE)
			continue; /* refused */
		if (member_equal(members_numbered(e->members, number), &entry)) {
			pass->n_due -= bitmap_has(pass->due, number);
			bitmap_clear(pass->due, number);
			bitmap_set(pass->held, number);
		} else {
			pass_set_due(pass, number);
		}
	}
}

int exchange_receive(struct exchange *e, unsigned from, const uint8_t *buf, size_t len)
{
	const uint8_t *entries = buf + EXCHANGE_HEAD, *end = buf + len;
	struct exchange_peer *p;
	uint64_t digest;
	const bool valid = from < e->n && from != e->self && len >= EXCHANGE_HEAD &&
			   buf[0] == EXCHANGE_MESSAGE && buf[1] <= EXCHANGE_WANTED &&
			   entries_valid(entries, end);

	if (!valid) {
		e->counters.rejected++;
		return -EBADMSG;
	}
	p = exchange_get(e, from);
	if (!p)
		return -ENOMEM;
	e->counters.received++;
	exchange_note_changes(e); /* by others */
	merge_entries(e, entries, end);
	exchange_note_changes(e);
	wire_get64(buf + 2, &digest);
	if (!p->reported || p->digest != digest)
		peer_hurry(e, p);
	p->speaks = p->reported = true;
	p->digest = digest;
	p->answer |= buf[1] & EXCHANGE_WANTED;
	if (peer_is_equal(e, p))
		pass_end(p, e->serial);
	else if (pass_extend(e, p) == 0)
		note_held(e, &p->pass, entries, end);
	return 0;
}

/* --- send ------------------------------------------------------------------------------------- */

/* Messages of a round are this part of the pause after it apart. */
#define ROUND_PART 16

void exchange_tick(struct exchange *e)
{
	e->sent = 0;
	exchange_note_changes(e);
}

uint64_t exchange_next(struct exchange *e, uint64_t now_ns)
{
	uint64_t next_ns = UINT64_MAX;

	exchange_note_changes(e);
	for (unsigned i = 0; i < e->n_peers; i++) {
		const struct exchange_peer *p = &e->peers[i];

		if (p->answer)
			return now_ns;
		if (p->watched && !peer_is_equal(e, p) && p->next_ns < next_ns)
			next_ns = p->next_ns;
	}
	return next_ns > now_ns ? next_ns : now_ns;
}

/* Writes the due entries that fit, the last changed ones first. */
static uint8_t *write_entries(
	const struct exchange *e, struct exchange_pass *pass, uint8_t *at, const uint8_t *end)
{
	const struct members *m = e->members;

	for (uint32_t i = members_newest(m); i != MEMBERS_NONE && pass->n_due > 0;
		i = members_older(m, i)) {
		size_t len;

		if (!bitmap_has(pass->due, i))
			continue;
		len = member_write(members_numbered(m, i), at, (size_t)(end - at));
		if (len == 0)
			break;
		bitmap_clear(pass->due, i);
		pass->n_due--;
		at += len;
	}
	return at;
}

/* Sets the time of the next message that is no answer, after the present one. */
static void plan_next(const struct exchange *e, struct exchange_peer *p, uint64_t now_ns)
{
	uint64_t apart_ns = p->pause_ns / ROUND_PART;

	p->sent_ns = now_ns;
	if (p->pass.n_due > 0) {
		p->next_ns = now_ns + (apart_ns > e->every_ns ? apart_ns : e->every_ns);
		return;
	}
	p->next_ns = now_ns + p->pause_ns;
	p->pause_ns = 2 * p->pause_ns < EXCHANGE_REST_NS ? 2 * p->pause_ns : EXCHANGE_REST_NS;
}

/* Begins a round. After many without a change it has all entries, in case `held` is wrong. */
static void begin_round(const struct exchange *e, struct exchange_peer *p)
{
	if (p->pause_ns == EXCHANGE_REST_NS)
		pass_end(p, 0);
	if (pass_extend(e, p))
		return;
	/* Entries that the peer does not have are due. */
	for (unsigned i = 0; i < p->pass.n; i++)
		if (!bitmap_has(p->pass.held, i))
			pass_set_due(&p->pass, i);
}

static size_t write_message(
	struct exchange *e, struct exchange_peer *p, uint64_t now_ns, uint8_t *buf, size_t room)
{
	bool due = p->watched && p->next_ns <= now_ns && !peer_is_equal(e, p);
	uint8_t *at = buf;

	if (!due && !p->answer)
		return 0;
	*at++ = EXCHANGE_MESSAGE;
	*at++ = due ? EXCHANGE_WANTED : 0;
	at = wire_put64(at, members_digest(e->members));
	if (p->reported && !peer_is_equal(e, p) && pass_extend(e, p) == 0) {
		if (due && p->pass.n_due == 0)
			begin_round(e, p);
		at = write_entries(e, &p->pass, at, buf + room);
	}
	if (due)
		plan_next(e, p, now_ns);
	p->answer = false;
	return (size_t)(at - buf);
}

size_t exchange_send(struct exchange *e, uint64_t now_ns, uint8_t *buf, size_t room, unsigned *peer)
{
	if (e->sent >= EXCHANGE_TICK_MOST || room < EXCHANGE_MESSAGE_MIN)
		return 0;
	exchange_note_changes(e);
	for (unsigned k = 0; k < e->n_peers; k++) {
		unsigned i = (e->next + k) % e->n_peers;
		struct exchange_peer *p = &e->peers[i];
		size_t len = write_message(e, p, now_ns, buf, room);

		if (len == 0)
			continue;
		e->sent++;
		e->counters.sent++;
		e->next = i + 1;
		*peer = p->index;
		return len;
	}
	return 0;
}
