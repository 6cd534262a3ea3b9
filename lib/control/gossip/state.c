/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The estimator of groups up to about a hundred: for every policy and every limiter the newest
 * record. Datagrams carry replaceable versioned state, and a sum is over newest values, not over
 * increments. So a datagram lost, late, repeated or overtaken does no lasting harm.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "gossip/estimator.h"
#include "gossip/mesh.h"

/*
 * Unchanged own records that a peer's turn carries, at least: all of them are repeated, within
 * REFRESH_TURNS turns.
 */
#define REFRESH       8
#define REFRESH_TURNS 256

/* Records examined for each that is refreshed, if many are not present. */
#define REFRESH_LOOKS 4

/*
 * Other limiters of which a datagram carries only the tick. These ticks show that a limiter is
 * alive to one that its own datagrams do not reach. For that a few seconds are soon enough.
 */
#define TICKS_ALONE 2

/* Nanoseconds. No limiter's ticks are shorter, unless ours are. */
#define TICK_LEAST (10 * MS_NS)

/* A change of this share of a value is sent immediately; a smaller one waits for its refresh. */
#define CHANGED_ENOUGH (1.0f / 64)

/* A demand that changes by less than this, in bytes per second, also waits: it fades. */
#define CHANGED_LEAST 1.0f

/*
 * Datagrams to one peer a tick, if one does not hold all its news. A socket with default settings
 * buffers as many from a few peers together. The rest waits for the peer's next turn, which
 * continues where this one ended.
 */
#define TURN_DATAGRAMS 32

#define WORD_BITS 64

/*
 * A record that others report must have a version newer than `outdated_version`: the origin's own
 * reports have replaced those up to it.
 */
struct state_entry {
	uint32_t version, outdated_version;
	float demand, weight;
	bool present;
	bool relayed;  /* received from others, not from its origin */
	uint8_t fresh; /* datagrams that are still to carry it */
};

/* Announced values of a record of ours. */
struct announced {
	float demand, weight; /* when last marked to be sent */
	uint32_t turn;        /* in which it was last sent */
};

/*
 * Our news for each peer, one bit a policy: `once` has records that were never sent, `again` those
 * sent once, which are repeated because datagrams are lost. The others have sent records that
 * possibly did not arrive, see estimator.h. The words of all peers for 64 policies are adjacent,
 * because a change is news to all.
 */
struct pending {
	uint64_t once, again;
	uint64_t gathered, waiting;
};

/* The datagrams to one peer in this tick. */
struct send_turn {
	unsigned to, datagrams; /* datagrams: how many more are allowed */
	uint32_t number;
	unsigned words;     /* words of pending, still to be examined */
	uint64_t bits;      /* still to be written of the present word */
	unsigned refresh;   /* records still to be refreshed */
	unsigned looks;     /* records still to be examined for that */
	bool begun, unsent; /* unsent: there was no room for all */
};

struct state {
	struct mesh mesh;
	struct state_entry *entries; /* n_policies rows of n */
	struct announced *announced; /* n_policies */
	struct pending *pending;     /* n_words rows of n */
	unsigned n_words;
	unsigned *word_at, *refresh_at; /* n: where a peer's next turn continues */
	uint64_t *relayed;              /* n rows of n_words: a bit for each fresh entry */
	bool *alive;                    /* n: at the last tick */
	struct echo *echoes;            /* n */
	struct send_turn turn;
	unsigned relay_at; /* where the next datagram continues */
};

static struct state_entry *entry_of(const struct gossip *g, unsigned policy, unsigned origin)
{
	const struct state *s = g->own;

	return &s->entries[(size_t)policy * g->roster->n + origin];
}

static struct pending *pending_of(const struct gossip *g, unsigned word, unsigned peer)
{
	const struct state *s = g->own;

	return &s->pending[(size_t)word * g->roster->n + peer];
}

static uint64_t *relayed_of(const struct gossip *g, unsigned origin)
{
	const struct state *s = g->own;

	return &s->relayed[(size_t)origin * s->n_words];
}

static int state_create(struct gossip *g, uint64_t now_ns)
{
	size_t m = (size_t)g->policies->n + 1, n = g->roster->n;
	struct state *s = calloc(1, sizeof(*s));

	g->own = s;
	if (!s)
		return -ENOMEM;
	s->n_words = (unsigned)((m + WORD_BITS - 1) / WORD_BITS);
	s->entries = calloc(m * n, sizeof(*s->entries));
	s->announced = calloc(m, sizeof(*s->announced));
	s->pending = calloc(s->n_words * n, sizeof(*s->pending));
	s->relayed = calloc(s->n_words * n, sizeof(*s->relayed));
	s->word_at = calloc(n, sizeof(*s->word_at));
	s->refresh_at = calloc(n, sizeof(*s->refresh_at));
	s->alive = calloc(n, sizeof(*s->alive));
	s->echoes = calloc(n, sizeof(*s->echoes));
	if (!s->entries || !s->announced || !s->pending || !s->relayed || !s->word_at ||
		!s->refresh_at || !s->alive || !s->echoes)
		return -ENOMEM;
	if (enforced_create(g, now_ns))
		return -ENOMEM;
	return mesh_create(&s->mesh, g, now_ns);
}

static void free_rows(struct state *s)
{
	free(s->entries);
	free(s->announced);
	free(s->pending);
	free(s->relayed);
}

/* Frees the state with a place for each limiter, except for `announced`. */
static void free_places(struct state *s)
{
	mesh_destroy(&s->mesh);
	free(s->entries);
	free(s->pending);
	free(s->relayed);
	free(s->word_at);
	free(s->refresh_at);
	free(s->alive);
	free(s->echoes);
}

static void state_destroy(struct gossip *g)
{
	struct state *s = g->own;

	enforced_destroy(g);
	if (!s)
		return;
	free_places(s);
	free(s->announced);
	free(s);
}

/*
 * Returns true if every limiter sends to every other in each tick. Otherwise others relay news,
 * which compensates losses. Then an echo does not show which limiter delivered our tick.
 */
static bool sends_all(const struct gossip *g)
{
	return g->roster->n - 1 <= g->branching;
}

/* Returns how many datagrams relay a record: a rumour spreads to N in about log2(N) rounds. */
static uint8_t relay_fresh(const struct gossip *g)
{
	unsigned rounds = 1;

	for (unsigned n = g->roster->n; n > 1; n >>= 1)
		rounds++;
	rounds *= g->branching;
	return (uint8_t)(rounds < UINT8_MAX ? rounds : UINT8_MAX);
}

static bool state_changed_enough(float from, float to)
{
	return fabsf(to - from) > CHANGED_ENOUGH * fmaxf(from, to);
}

/* Marks all our records as news to a peer that has none, or received nothing from us for long. */
static void mark_peer(struct gossip *g, unsigned peer)
{
	struct state *s = g->own;

	for (unsigned w = 0; w < s->n_words; w++)
		*pending_of(g, w, peer) = (struct pending){.once = UINT64_MAX};
	s->echoes[peer] = (struct echo){0};
}

static void state_set(struct gossip *g, unsigned policy, float demand, float weight)
{
	struct state *s = g->own;
	struct state_entry *own = entry_of(g, policy, g->self);
	struct announced *announced = &s->announced[policy];

	if (own->present && own->demand == demand && own->weight == weight)
		return;
	if (!own->present || state_changed_enough(announced->weight, weight) ||
		(state_changed_enough(announced->demand, demand) &&
			fabsf(announced->demand - demand) >= CHANGED_LEAST)) {
		struct pending *row = pending_of(g, policy / WORD_BITS, 0);
		uint64_t bit = UINT64_C(1) << policy % WORD_BITS;

		/* Our record of the policy is news to all peers. */
		estimator_looks(g, g->roster->n);
		for (unsigned i = 0; i < g->roster->n; i++) {
			row[i].once |= bit;
			row[i].again &= ~bit;
		}
		announced->demand = demand;
		announced->weight = weight;
	}
	own->present = true;
	own->version = g->tick + 1; /* the record is sent in the next tick */
	own->demand = demand;
	own->weight = weight;
}

static struct datagram_record record_of(
	const struct gossip *g, unsigned policy, const struct state_entry *entry)
{
	return (struct datagram_record){
		.policy = g->policies->ids[policy],
		.version = entry->version,
		.demand = entry->demand,
		.weight = entry->weight,
	};
}

static void write_own_record(struct gossip *g, struct cursor *cursor, unsigned policy)
{
	struct state *s = g->own;
	struct datagram_record record = record_of(g, policy, entry_of(g, policy, g->self));

	datagram_write_record(cursor, &record);
	s->announced[policy].turn = s->turn.number;
}

/* Writes one word's records; returns true if all are written. */
static bool write_word(struct gossip *g, struct cursor *cursor, unsigned word, uint16_t *n)
{
	struct state *s = g->own;
	struct pending *pending = pending_of(g, word, s->turn.to);

	if (s->turn.bits)
		echo_gather(&s->echoes[s->turn.to], g->tick);
	for (; s->turn.bits; s->turn.bits &= s->turn.bits - 1) {
		unsigned policy = word * WORD_BITS + (unsigned)__builtin_ctzll(s->turn.bits);
		uint64_t bit = s->turn.bits & -s->turn.bits;

		if (policy < g->policies->n && entry_of(g, policy, g->self)->present) {
			if (cursor_left(cursor) < DATAGRAM_RECORD)
				return false;
			write_own_record(g, cursor, policy);
			(*n)++;
		}
		pending->again = (pending->again & ~bit) | (pending->once & bit);
		pending->once &= ~bit;
		pending->gathered |= bit;
	}
	return true;
}

/* Writes the news to the peer; returns true if all of it is written. */
static bool write_state_news(struct gossip *g, struct cursor *cursor, uint16_t *n)
{
	struct state *s = g->own;
	struct send_turn *turn = &s->turn;
	unsigned *at = &s->word_at[turn->to];

	while (turn->words > 0) {
		if (!write_word(g, cursor, *at, n))
			return false;
		*at = *at + 1 < s->n_words ? *at + 1 : 0;
		if (--turn->words > 0) {
			const struct pending *pending = pending_of(g, *at, turn->to);

			turn->bits = pending->once | pending->again;
		}
	}
	return true;
}

/* Writes a few records that are no news; returns true if those of this turn are written. */
static bool write_refresh(struct gossip *g, struct cursor *cursor, uint16_t *n)
{
	struct state *s = g->own;
	struct send_turn *turn = &s->turn;
	unsigned *at = &s->refresh_at[turn->to];

	for (; turn->refresh > 0 && turn->looks > 0; turn->looks--) {
		unsigned policy = *at;

		if (entry_of(g, policy, g->self)->present &&
			s->announced[policy].turn != turn->number) {
			if (cursor_left(cursor) < DATAGRAM_RECORD)
				return false;
			write_own_record(g, cursor, policy);
			turn->refresh--;
			(*n)++;
		}
		*at = policy + 1 < g->policies->n ? policy + 1 : 0;
	}
	return true;
}

static void begin_turn(struct gossip *g, unsigned to)
{
	struct state *s = g->own;
	unsigned n = g->policies->n, refresh = (n + REFRESH_TURNS - 1) / REFRESH_TURNS;
	const struct pending *pending = pending_of(g, s->word_at[to], to);

	refresh = refresh > REFRESH ? refresh : REFRESH;
	s->turn = (struct send_turn){
		.to = to,
		.datagrams = TURN_DATAGRAMS,
		.number = s->turn.number + 1,
		.words = s->n_words,
		.bits = pending->once | pending->again,
		.refresh = refresh,
		.looks = n < REFRESH_LOOKS * refresh ? n : REFRESH_LOOKS * refresh,
		.begun = true,
	};
}

/* Returns true if a version is impossible: later than the tick that begins after `tick`. */
static bool ahead_of(uint32_t version, uint32_t tick)
{
	return serial_newer(version, tick + 1);
}

static uint16_t write_relayed(struct gossip *g, struct cursor *cursor, unsigned origin)
{
	struct state *s = g->own;
	uint64_t *relayed = relayed_of(g, origin);
	uint16_t n = 0;

	for (unsigned w = 0; w < s->n_words && cursor_left(cursor) >= DATAGRAM_RECORD; w++) {
		for (uint64_t bits = relayed[w]; bits && cursor_left(cursor) >= DATAGRAM_RECORD;
			bits &= bits - 1) {
			unsigned policy = w * WORD_BITS + (unsigned)__builtin_ctzll(bits);
			struct state_entry *entry = entry_of(g, policy, origin);
			struct datagram_record record = record_of(g, policy, entry);

			if (ahead_of(record.version, s->mesh.peers[origin].tick))
				continue; /* from others, and its origin's tick is not as far */
			if (--entry->fresh == 0)
				relayed[w] &= ~(bits & -bits);
			datagram_write_record(cursor, &record);
			n++;
		}
	}
	return n;
}

/* Writes one section; returns false if it would have only a tick, and that is not wanted. */
static bool write_section(struct gossip *g, struct cursor *cursor, unsigned origin, bool alone)
{
	const struct state *s = g->own;
	const struct peer *peer = &s->mesh.peers[origin];
	struct datagram_section section = {peer->id, peer->epoch, peer->tick, 0};
	struct cursor begin = *cursor;

	datagram_write_section(cursor, &section);
	section.n_records = write_relayed(g, cursor, origin);
	if (section.n_records == 0 && !alone) {
		*cursor = begin;
		return false;
	}
	datagram_write_section(&begin, &section);
	return true;
}

/* Writes sections about other limiters while there is room; each gets its turn. */
static void write_sections(struct gossip *g, struct cursor *cursor, unsigned to)
{
	struct state *s = g->own;
	unsigned n = g->roster->n, alone = TICKS_ALONE, origin = s->relay_at;

	for (unsigned i = 0; i < n; i++, origin = (origin + 1) % n) {
		uint8_t *at = cursor->at;

		estimator_looks(g, 1);
		if (cursor_left(cursor) < DATAGRAM_SECTION + DATAGRAM_RECORD)
			break;
		if (origin == g->self || origin == to || !s->mesh.peers[origin].alive ||
			!write_section(g, cursor, origin, alone > 0))
			continue;
		if (alone > 0 && cursor->at == at + DATAGRAM_SECTION) {
			alone--;
			s->relay_at = (origin + 1) % n;
		}
	}
	if (cursor_left(cursor) < DATAGRAM_SECTION + DATAGRAM_RECORD)
		s->relay_at = origin;
}

static void state_forget(struct gossip *g, unsigned origin)
{
	struct state *s = g->own;

	for (unsigned i = 0; i < g->policies->n; i++)
		*entry_of(g, i, origin) = (struct state_entry){0};
	memset(relayed_of(g, origin), 0, s->n_words * sizeof(*s->relayed));
	mark_peer(g, origin);
	g->all_news = true;
}

/* A report about the origin at one of its ticks, by itself or by another limiter. */
struct gossip_word {
	unsigned sender, origin;
	uint32_t tick;
};

/* Returns true if the origin itself sent the report, in its newest tick. */
static bool is_own_word(const struct gossip *g, const struct gossip_word *report)
{
	const struct state *s = g->own;

	return report->sender == report->origin &&
	       report->tick == s->mesh.peers[report->origin].own_tick;
}

static bool entry_is(const struct state_entry *entry, const struct datagram_record *record)
{
	return entry->present && entry->version == record->version &&
	       entry->demand == record->demand && entry->weight == record->weight;
}

/*
 * The newest report by the origin itself prevails over all earlier reports. Among reports by others
 * and late ones, the newest version prevails.
 */
static bool record_replaces(const struct gossip *g, const struct gossip_word *report,
	const struct state_entry *entry, const struct datagram_record *record)
{
	if (!entry->present)
		return true;
	if (is_own_word(g, report))
		return entry->relayed || !entry_is(entry, record);
	return serial_newer(record->version, entry->version) &&
	       serial_newer(record->version, entry->outdated_version);
}

/*
 * Notes that the origin has sent its record itself. Reports by others count only if they are newer,
 * and a contradicted report cannot return.
 */
static void note_own_word(struct state_entry *entry, const struct gossip_word *report,
	const struct datagram_record *record)
{
	if (!entry->present || serial_newer(report->tick, entry->outdated_version))
		entry->outdated_version = report->tick;
	if (entry->present && entry->relayed && !entry_is(entry, record) &&
		serial_newer(entry->version, entry->outdated_version))
		entry->outdated_version = entry->version;
}

static void set_entry(struct gossip *g, unsigned policy, const struct gossip_word *report,
	const struct datagram_record *record)
{
	struct state_entry *entry = entry_of(g, policy, report->origin);
	uint8_t fresh = entry_is(entry, record) ? entry->fresh : relay_fresh(g);

	if (!entry->present || entry->demand != record->demand || entry->weight != record->weight)
		estimator_news(g, policy);
	if (!entry->present) {
		/*
		 * A peer that sends its first record of a policy might just have got the policy,
		 * and have dropped our earlier record of it. So ours is news to it.
		 */
		pending_of(g, policy / WORD_BITS, report->origin)->once |= UINT64_C(1)
									   << policy % WORD_BITS;
	}
	if (fresh)
		relayed_of(g, report->origin)[policy / WORD_BITS] |= UINT64_C(1)
								     << policy % WORD_BITS;
	*entry = (struct state_entry){
		.version = record->version,
		.outdated_version = entry->present || is_own_word(g, report)
					    ? entry->outdated_version
					    : record->version,
		.demand = record->demand,
		.weight = record->weight,
		.present = true,
		.relayed = report->sender != report->origin,
		.fresh = fresh,
	};
}

static void take_record(
	struct gossip *g, const struct gossip_word *report, const struct datagram_record *record)
{
	unsigned policy = id_table_find(g->policies, record->policy);
	struct state_entry *entry;

	if (policy == g->policies->n) {
		g->counters.unknown_policy++;
		return;
	}
	if (ahead_of(record->version, report->tick) ||
		!estimator_plausible(g, 1, record->demand, record->weight)) {
		estimator_implausible(g, report->sender);
		return;
	}
	entry = entry_of(g, policy, report->origin);
	if (is_own_word(g, report))
		note_own_word(entry, report, record);
	if (record_replaces(g, report, entry, record))
		set_entry(g, policy, report, record);
}

static void take_records(
	struct gossip *g, struct cursor *cursor, unsigned n, const struct gossip_word *report)
{
	for (unsigned i = 0; i < n; i++) {
		struct datagram_record record;

		datagram_read_record(cursor, &record);
		if (report->origin < g->roster->n)
			take_record(g, report, &record);
	}
}

/* Checks a section about another limiter, notes its tick; returns true if its records count. */
static bool take_section(
	struct gossip *g, unsigned sender, const struct datagram_section *section, uint64_t now_ns)
{
	unsigned origin = roster_find(g->roster, section->origin);
	uint64_t least = g->tick_ns < TICK_LEAST ? g->tick_ns : TICK_LEAST;
	struct state *s = g->own;
	struct peer *peer;

	if (origin == g->roster->n || origin == g->self || origin == sender || section->epoch == 0)
		return false;
	peer = &s->mesh.peers[origin];
	/* Reports by others can introduce a peer; only the peer itself can report its restart. */
	if (!peer->known)
		estimator_accept(g, origin, section->epoch, section->tick, now_ns);
	if (peer->epoch != section->epoch)
		return false;
	if (!peer_can_be_at(peer, section->tick, now_ns, mesh_timeout_ns(g), least)) {
		estimator_implausible(g, sender);
		return false;
	}
	peer_note_reported_tick(peer, section->tick, now_ns);
	return true;
}

/*
 * Ends the wait for an echo. missing: the waiting news becomes news again. advance: gathered news
 * waits next.
 */
static void follow_news(struct gossip *g, unsigned peer, bool missing, bool advance)
{
	struct state *s = g->own;

	for (unsigned w = 0; w < s->n_words; w++) {
		struct pending *pending = pending_of(g, w, peer);

		if (missing)
			pending->once |= pending->waiting;
		pending->waiting = advance ? pending->gathered : 0;
		if (advance)
			pending->gathered = 0;
	}
}

static void take_echo(struct gossip *g, const struct datagram_body *body, unsigned from)
{
	struct state *s = g->own;
	struct echo *echo = &s->echoes[from];
	enum echo_verdict verdict;
	bool advance;

	if (!sends_all(g) || body->echo_epoch != g->epoch || serial_newer(body->echo_tick, g->tick))
		return;
	verdict = echo_take(echo, body->echo_tick);
	advance = echo_advance(echo, g->tick);
	if (verdict != ECHO_WAIT || advance)
		follow_news(g, from, verdict == ECHO_MISSING, advance);
}

static void state_take(struct gossip *g, struct cursor cursor, const struct datagram_body *body,
	unsigned from, uint64_t now_ns)
{
	struct gossip_word own_report = {.sender = from, .origin = from, .tick = body->tick};

	take_echo(g, body, from);
	take_records(g, &cursor, body->n_records, &own_report);
	while (cursor_left(&cursor) > 0) {
		struct datagram_section section;
		struct gossip_word report = {.sender = from, .origin = g->roster->n};

		datagram_read_section(&cursor, &section);
		if (section.origin == g->roster->ids[from]) {
			enforced_take(g, &cursor, &section, body, from, now_ns);
			continue;
		}
		report.tick = section.tick;
		if (take_section(g, from, &section, now_ns))
			report.origin = roster_find(g->roster, section.origin);
		take_records(g, &cursor, section.n_records, &report);
	}
}

static bool records_valid(struct cursor *cursor, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		struct datagram_record record;

		datagram_read_record(cursor, &record);
		if (cursor->failed || !estimator_rate_valid(record.demand) ||
			!estimator_rate_valid(record.weight))
			return false;
	}
	return true;
}

static bool state_check(
	const struct gossip *g, struct cursor cursor, const struct datagram_body *body)
{
	(void)g;
	if (!records_valid(&cursor, body->n_records))
		return false;
	while (cursor_left(&cursor) > 0) {
		struct datagram_section section;

		datagram_read_section(&cursor, &section);
		if (cursor.failed || !records_valid(&cursor, section.n_records))
			return false;
	}
	return true;
}

static struct gossip_sum state_sum(const struct gossip *g, unsigned policy)
{
	const struct state *s = g->own;
	struct gossip_sum sum = {0};

	estimator_looks(g, g->roster->n);
	for (unsigned i = 0; i < g->roster->n; i++) {
		const struct state_entry *entry = entry_of(g, policy, i);

		if (i == g->self)
			continue;
		if (!s->mesh.peers[i].alive || !entry->present) {
			sum.lost++;
			continue;
		}
		sum.weight += entry->weight;
		sum.demand += entry->demand;
	}
	return sum;
}

static bool state_reported_sum(
	const struct gossip *g, unsigned policy, unsigned peer, struct gossip_sum *values)
{
	const struct state *s = g->own;
	const struct state_entry *entry = entry_of(g, policy, peer);

	*values = (struct gossip_sum){.weight = entry->weight, .demand = entry->demand};
	return s->mesh.peers[peer].alive && entry->present;
}

static void state_tick(struct gossip *g, uint64_t now_ns)
{
	struct state *s = g->own;

	bool changed = mesh_tick(&s->mesh, g, now_ns);

	enforced_tick(g, now_ns);
	s->turn.begun = false;
	if (!changed)
		return;
	estimator_looks(g, g->roster->n);
	for (unsigned i = 0; i < g->roster->n; i++) {
		bool alive = s->mesh.peers[i].alive;

		if (alive == s->alive[i])
			continue;
		s->alive[i] = alive;
		g->all_news = true;
		if (alive)
			mark_peer(g, i);
	}
}

static unsigned state_next(struct gossip *g)
{
	struct state *s = g->own;
	unsigned to;

	if (s->turn.begun && s->turn.unsent && s->turn.datagrams > 0)
		return s->turn.to;
	to = mesh_next(&s->mesh, g);
	if (to < g->roster->n)
		begin_turn(g, to);
	return to;
}

static uint16_t state_write(struct gossip *g, struct cursor *cursor, unsigned to, uint8_t version)
{
	struct state *s = g->own;
	uint16_t n = 0;

	(void)version; /* the formats are alike here */
	s->turn.unsent = !write_state_news(g, cursor, &n) || !write_refresh(g, cursor, &n);
	s->turn.datagrams--;
	if (!sends_all(g) && !s->turn.unsent)
		write_sections(g, cursor, to);
	if (!s->turn.unsent)
		enforced_write(g, cursor, to);
	return n;
}

static struct peer *state_find(const struct gossip *g, unsigned index)
{
	struct state *s = g->own;

	return &s->mesh.peers[index];
}

static struct peer *state_admit(struct gossip *g, unsigned index, uint64_t now_ns)
{
	(void)now_ns;
	return state_find(g, index);
}

static unsigned state_alive(const struct gossip *g)
{
	const struct state *s = g->own;

	return s->mesh.n_active;
}

static unsigned state_silent(const struct gossip *g)
{
	const struct state *s = g->own;

	return mesh_n_silent(&s->mesh, g);
}

/* Returns 0: limiters relay records, but each decides by itself which peers are active. */
static uint64_t state_spread(const struct gossip *g)
{
	(void)g;
	return 0;
}

static bool state_has_record(const struct gossip *g, unsigned policy)
{
	return entry_of(g, policy, g->self)->present;
}

/* Moves the bits of news that peers have yet to receive, and of records to relay. */
static void remap_bits(
	const struct gossip *g, const struct remap *map, const struct state *from, struct state *to)
{
	unsigned n = g->roster->n;

	for (unsigned i = 0; i < map->n; i++) {
		unsigned old = map->from[i];

		for (unsigned p = 0; old != GOSSIP_ADDED && p < n; p++) {
			const struct pending *had =
				&from->pending[(size_t)(old / WORD_BITS) * n + p];
			struct pending *has = &to->pending[(size_t)(i / WORD_BITS) * n + p];
			const uint64_t *relayed = &from->relayed[(size_t)p * from->n_words];
			unsigned shift = i % WORD_BITS;

			has->once |= (had->once >> old % WORD_BITS & 1) << shift;
			has->again |= (had->again >> old % WORD_BITS & 1) << shift;
			has->gathered |= (had->gathered >> old % WORD_BITS & 1) << shift;
			has->waiting |= (had->waiting >> old % WORD_BITS & 1) << shift;
			to->relayed[(size_t)p * to->n_words + i / WORD_BITS] |=
				(relayed[old / WORD_BITS] >> old % WORD_BITS & 1) << shift;
		}
	}
}

static int state_update(struct gossip *g, const struct remap *map)
{
	unsigned n = g->roster->n;
	struct state *s = g->own, moved = *s;

	moved.n_words = map->n / WORD_BITS + 1;
	moved.entries = remap_rows(map, s->entries, n * sizeof(*s->entries));
	moved.announced = remap_rows(map, s->announced, sizeof(*s->announced));
	moved.pending = calloc((size_t)moved.n_words * n, sizeof(*s->pending));
	moved.relayed = calloc((size_t)moved.n_words * n, sizeof(*s->relayed));
	if (!moved.entries || !moved.announced || !moved.pending || !moved.relayed ||
		enforced_update(g, map)) {
		free_rows(&moved);
		return -ENOMEM;
	}
	remap_bits(g, map, s, &moved);
	moved.turn.begun = false;
	free_rows(s);
	*s = moved;
	memset(s->word_at, 0, n * sizeof(*s->word_at));
	memset(s->refresh_at, 0, n * sizeof(*s->refresh_at));
	return 0;
}

static bool state_regroup_alloc(
	const struct gossip *g, const struct regroup *map, const struct state *s, struct state *to)
{
	size_t relayed = s->n_words * sizeof(*s->relayed);

	to->entries = regroup_rows(g, map, s->entries, g->policies->n + 1, sizeof(*s->entries));
	to->pending = regroup_rows(g, map, s->pending, s->n_words, sizeof(*s->pending));
	to->relayed = regroup_rows(g, map, s->relayed, 1, relayed);
	to->word_at = regroup_rows(g, map, s->word_at, 1, sizeof(*s->word_at));
	to->refresh_at = regroup_rows(g, map, s->refresh_at, 1, sizeof(*s->refresh_at));
	to->alive = regroup_rows(g, map, s->alive, 1, sizeof(*s->alive));
	to->echoes = regroup_rows(g, map, s->echoes, 1, sizeof(*s->echoes));
	return mesh_regroup(&to->mesh, &s->mesh, g, map) == 0 && to->entries && to->pending &&
	       to->relayed && to->word_at && to->refresh_at && to->alive && to->echoes;
}

/* News that a turn has not sent yet stays due: the rest of the present turn ends. */
static int state_regroup(struct gossip *g, const struct regroup *map)
{
	struct state *s = g->own, moved = *s;

	moved.turn = (struct send_turn){.number = s->turn.number};
	moved.relay_at = 0;
	if (!state_regroup_alloc(g, map, s, &moved) || enforced_regroup(g, map)) {
		free_places(&moved);
		return -ENOMEM;
	}
	free_places(s);
	*s = moved;
	return 0;
}

const struct estimator estimator_state = {
	.create = state_create,
	.destroy = state_destroy,
	.set = state_set,
	.tick = state_tick,
	.next = state_next,
	.write = state_write,
	.find = state_find,
	.watched = state_find,
	.admit = state_admit,
	.forget = state_forget,
	.check = state_check,
	.take = state_take,
	.sum = state_sum,
	.reported_sum = state_reported_sum,
	.alive = state_alive,
	.silent = state_silent,
	.silence = mesh_timeout_ns,
	.spread = state_spread,
	.has_record = state_has_record,
	.update = state_update,
	.regroup = state_regroup,
	.reports_news = true,
};
