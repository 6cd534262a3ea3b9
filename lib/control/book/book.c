/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The book that one limiter keeps of the totals that a group shares: rates that move (the room
 * conserve) or units that are spent (the room budget).
 */
#include "book/book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/wire.h"
#include "book/book_private.h"

/* Epochs of ledgers in one start: one that is forgotten and comes again needs another. */
#define EPOCH_BITS 20

/* --- edges ------------------------------------------------------------------------------------ */

/* Members at the start. */
struct book_roster {
	struct book_member *members;
	unsigned n;
	uint32_t *founders;
	unsigned n_founders;
	struct record_names names; /* in the record that names most added edges */
};

static void roster_free(struct book_roster *r)
{
	free(r->members);
	free(r->founders);
}

/* A record prevails over the roster. That of a joiner has all founders. */
static bool member_has_joined(const struct book_roster *r, const struct book_member *member)
{
	for (unsigned i = 0; i < r->names.n; i++)
		if (record_name(&r->names, i).id == member->id)
			return i >= r->names.n_founders;
	return member->joined || r->names.n_founders > 0;
}

/* Finds the record that names most edges. */
static struct record_names most_names(const struct book_params *params)
{
	struct record_names most = {0};

	for (unsigned i = 0; i < params->n_records; i++) {
		struct record_names names = record_names(&params->records[i]);

		if (names.n > most.n)
			most = names;
	}
	return most;
}

/* Copies the roster, and separates the founders. */
static int roster_read(struct book_roster *r, const struct book_params *params)
{
	r->names = most_names(params);
	r->n = params->members ? params->n_members : params->overlay.n;
	r->members = calloc((size_t)r->n + 1, sizeof(*r->members));
	r->founders = calloc((size_t)r->n + r->names.n + 1, sizeof(*r->founders));
	if (!r->members || !r->founders)
		return -ENOMEM;
	for (unsigned i = 0; i < r->n; i++) {
		struct book_member *member = &r->members[i];

		*member = params->members ? params->members[i]
					  : (struct book_member){.id = params->overlay.ids[i]};
		member->joined = member_has_joined(r, member);
		if (!member->joined && r->names.n_founders == 0)
			r->founders[r->n_founders++] = member->id;
	}
	for (; r->n_founders < r->names.n_founders; r->n_founders++)
		r->founders[r->n_founders] = record_name(&r->names, r->n_founders).id;
	return 0;
}

/* Returns the edge to a member, or n_edges. An added edge leads to one membership. */
static unsigned find_edge(const struct book *book, const struct book_member *member)
{
	unsigned e = 0;

	while (e < book->n_edges &&
		(book->links[e].id != member->id ||
			(e >= book->n_first && book->links[e].born != member->born)))
		e++;
	return e;
}

/* Adds a link, for which there is room. */
static void add_link(struct book *book, const struct book_member *member)
{
	book->links[book->n_edges++] = (struct book_link){
		.peer = BOOK_NO_PEER, .id = member->id, .born = member->born};
}

/* Finds the members at the ends of the links. */
static void bind_links(
	struct book *book, unsigned *edge_of, const struct book_member *members, unsigned n)
{
	for (unsigned e = 0; e < book->n_edges; e++)
		book->links[e].peer = BOOK_NO_PEER;
	for (unsigned i = 0; i < n; i++) {
		unsigned e = find_edge(book, &members[i]);

		edge_of[i] = e < book->n_edges ? e : BOOK_NO_PEER;
		if (e < book->n_edges)
			book->links[e].peer = i;
	}
	book->edge_of = edge_of;
	book->n_roster = n;
}

/* Makes the links of the overlay, then those that records name, then those of other joiners. */
static int create_links(struct book *book, const struct book_roster *r, unsigned self)
{
	const bool joined = r->members[self].joined;
	unsigned *edge_of = calloc((size_t)r->n + 1, sizeof(*edge_of));

	book->links = calloc((size_t)book->n_first + r->names.n + r->n + 1, sizeof(*book->links));
	book->index_of = calloc((size_t)book->overlay->n + 1, sizeof(*book->index_of));
	if (!edge_of || !book->links || !book->index_of) {
		free(edge_of);
		return -ENOMEM;
	}
	for (unsigned e = 0; e < book->n_first; e++) {
		unsigned peer = overlay_edges(book->overlay, book->position)[e].peer;

		add_link(book, &(struct book_member){.id = book->overlay->ids[peer]});
	}
	for (unsigned i = 0; i < r->names.n; i++)
		add_link(book, &(const struct book_member){record_name(&r->names, i).id, true,
				       record_name(&r->names, i).born});
	/* A joiner has edges to the founders first, and without a record to all. */
	for (unsigned pass = 0; pass < 2; pass++) {
		for (unsigned i = 0; i < r->n; i++) {
			const struct book_member *member = &r->members[i];

			if (i != self && member->joined == pass && (joined || pass) &&
				find_edge(book, member) == book->n_edges)
				add_link(book, member);
		}
		if (pass == 0 && joined)
			book->n_named = r->n_founders;
	}
	bind_links(book, edge_of, r->members, r->n);
	for (unsigned i = 0; i < r->n; i++)
		if (!r->members[i].joined)
			book->index_of[overlay_position(book->overlay, r->members[i].id)] = i;
	return 0;
}

/* Returns true if each founder has an edge to all others. */
static bool overlay_is_full(const struct overlay *overlay)
{
	for (unsigned p = 0; p < overlay->n; p++)
		if (overlay->degree[p] != overlay->n - 1)
			return false;
	return true;
}

static int create_edges(
	struct book *book, const struct book_params *params, const struct book_roster *r)
{
	const struct book_member *own = &r->members[params->self];
	struct overlay_params overlay = params->overlay;
	int ret;

	overlay.ids = r->founders;
	overlay.n = r->n_founders;
	ret = overlay_create(&overlay, &book->overlay);
	if (ret)
		return ret;
	if ((r->names.n > 0 || r->n_founders < r->n) && !book->ops->add_edge)
		return -ENOTSUP;
	book->position = own->joined ? book->overlay->n : overlay_position(book->overlay, own->id);
	book->fingerprint = hash64_step(HASH64_BASIS, own->id);
	if (!own->joined)
		book->n_first = book->overlay->n_edges[book->position];
	ret = create_links(book, r, params->self);
	if (ret)
		return ret;
	for (unsigned e = 0; e < book->n_first; e++)
		book->fingerprint = hash64_step(book->fingerprint, book->links[e].id);
	return book->n_edges > book->n_first && !overlay_is_full(book->overlay) ? -ENOTSUP : 0;
}

int book_open(struct book *book, const struct book_params *params)
{
	struct book_roster r = {0};
	unsigned n = params->members ? params->n_members : params->overlay.n;
	int ret;

	if (params->self >= n || params->timeout_ns == 0 || params->epoch == 0 ||
		params->epoch >> (62 - EPOCH_BITS) != 0)
		return -EINVAL;
	*book = (struct book){
		.ops = params->ops,
		.timeout_ns = params->timeout_ns,
		.next_epoch = params->epoch << EPOCH_BITS,
		.recovering = params->recovering,
		.has_store = params->n_records > 0,
		.identity = params->identity,
		.word = params->word,
	};
	TAILQ_INIT(&book->changed);
	ret = roster_read(&r, params);
	if (ret == 0)
		ret = create_edges(book, params, &r);
	roster_free(&r);
	return ret;
}

bool book_misses_member(const struct book *book)
{
	for (unsigned e = book->n_first; e < book->n_edges; e++)
		if (book->links[e].peer == BOOK_NO_PEER)
			return true;
	return false;
}

/* Returns the number of joiners without an edge, or -ENOTSUP; see book_regroup(). */
static int count_new(
	const struct book *book, const struct book_member *members, unsigned n, unsigned self)
{
	unsigned bound = 0, present = 0, added = 0;

	for (unsigned e = 0; e < book->n_edges; e++)
		bound += book->links[e].peer != BOOK_NO_PEER;
	for (unsigned i = 0; i < n; i++) {
		unsigned e = find_edge(book, &members[i]);

		if (i == self)
			continue;
		if (e < book->n_edges)
			present += book->links[e].peer != BOOK_NO_PEER;
		else if (!members[i].joined)
			return -ENOTSUP;
		else
			added++;
	}
	if (present != bound || book->n_edges + added > EDGES_MOST ||
		(added > 0 && (!book->ops->add_edge || !overlay_is_full(book->overlay))))
		return -ENOTSUP;
	return (int)added;
}

int book_regroup_begin(struct book *book, const struct book_member *members, unsigned n,
	unsigned self, struct book_regrouping *regrouping)
{
	int added = count_new(book, members, n, self), ret = 0;

	*regrouping = (struct book_regrouping){0};
	if (added < 0)
		return added;
	regrouping->edge_of = calloc((size_t)n + 1, sizeof(unsigned));
	regrouping->links = calloc(
		(size_t)book->n_edges + (unsigned)added + 1, sizeof(struct book_link));
	if (!regrouping->edge_of || !regrouping->links)
		ret = -ENOMEM;
	if (ret == 0 && added > 0) {
		ret = book->ops->make_room(book, book->n_edges + (unsigned)added);
		accounts_sort(book->by_id, book->accounts, book->n);
	}
	if (ret)
		book_regroup_cancel(regrouping);
	return ret;
}

void book_regroup_cancel(const struct book_regrouping *regrouping)
{
	free(regrouping->edge_of);
	free(regrouping->links);
}

void book_regroup_commit(struct book *book, const struct book_regrouping *regrouping,
	const struct book_member *members, unsigned n, unsigned self, uint64_t now_ns)
{
	memcpy(regrouping->links, book->links, book->n_edges * sizeof(*book->links));
	free(book->links);
	free(book->edge_of);
	book->links = regrouping->links;
	for (unsigned i = 0; i < n; i++)
		if (i != self && find_edge(book, &members[i]) == book->n_edges) {
			add_link(book, &members[i]);
			book->ops->add_edge(book, now_ns);
		}
	bind_links(book, regrouping->edge_of, members, n);
	for (unsigned i = 0; i < n; i++) {
		unsigned position = overlay_position(book->overlay, members[i].id);

		if (position < book->overlay->n)
			book->index_of[position] = i;
	}
}

int book_regroup(struct book *book, const struct book_member *members, unsigned n, unsigned self,
	uint64_t now_ns)
{
	struct book_regrouping regrouping;
	int ret = book_regroup_begin(book, members, n, self, &regrouping);

	if (ret == 0)
		book_regroup_commit(book, &regrouping, members, n, self, now_ns);
	return ret;
}

/* --- accounts --------------------------------------------------------------------------------- */

static int compare_records(const void *a, const void *b)
{
	uint64_t x = ((const struct book_record *)a)->id;
	uint64_t y = ((const struct book_record *)b)->id;

	return (x > y) - (x < y);
}

static int fill_policies(struct book *book, const struct book_params *params, uint64_t now_ns)
{
	size_t size = sizeof(*params->records);
	int ret = 0;

	if (params->n_records > 0)
		qsort(params->records, params->n_records, size, compare_records);
	for (; ret == 0 && book->n < params->n_policies; book->n += ret == 0) {
		const void *policy = row_at(book, params->policies, book->n);
		struct book_record key = {.id = row_name(policy).id}, *record = NULL;

		if (params->n_records > 0)
			record = bsearch(
				&key, params->records, params->n_records, size, compare_records);
		ret = book->ops->check(book, NULL, policy);
		if (ret == 0)
			ret = account_open(book, policy, record, now_ns, &book->accounts[book->n]);
	}
	book->n_policies = book->n;
	return ret;
}

/* Policies that are gone have records only. */
static int fill_gone(struct book *book, const struct book_params *params, uint64_t now_ns)
{
	int ret = 0;

	for (unsigned i = 0; ret == 0 && i < params->n_records; i++) {
		const struct book_record *record = &params->records[i];

		if (accounts_find(book->by_id, book->n_policies, record->id))
			continue;
		ret = account_open(book, NULL, record, now_ns, &book->accounts[book->n]);
		book->n += ret == 0;
	}
	return ret;
}

int book_fill(struct book *book, const struct book_params *params, uint64_t now_ns)
{
	size_t room = (size_t)params->n_policies + params->n_records + 1;
	int ret;

	book->accounts = calloc(room, sizeof(struct book_account *));
	book->by_id = calloc(room, sizeof(struct book_account *));
	if (!book->accounts || !book->by_id)
		return -ENOMEM;
	if (params->proof_ns > 0 && book->n_edges > 0)
		book->proof_until_ns = now_ns + params->proof_ns;
	ret = fill_policies(book, params, now_ns);
	accounts_sort(book->by_id, book->accounts, book->n);
	if (ret == 0)
		ret = fill_gone(book, params, now_ns);
	if (!accounts_sort(book->by_id, book->accounts, book->n) && ret == 0)
		ret = -EINVAL;
	for (unsigned i = 0; i < book->n; i++)
		book->accounts[i]->index = i;
	return ret;
}

void book_close(struct book *book)
{
	for (unsigned i = 0; i < book->n; i++)
		account_close(book, book->accounts[i]);
	free(book->accounts);
	free(book->by_id);
	free(book->links);
	free(book->edge_of);
	free(book->index_of);
	free(book->record);
	free(book->forgotten);
	overlay_destroy(book->overlay);
}

void book_closes(struct book *book, enum book_closure closure)
{
	book->closes = closure;
	book->closures++;
	book->proof_until_ns = 0;
}

unsigned book_edge(const struct book *book, unsigned peer)
{
	unsigned edge = peer < book->n_roster ? book->edge_of[peer] : BOOK_NO_PEER;

	return edge == BOOK_NO_PEER ? book->n_edges : edge;
}

void book_note_received(struct book *book, unsigned edge, uint64_t now_ns)
{
	book->links[edge].received_ns = now_ns;
	book->links[edge].alive = true;
}

bool book_alive(const struct book *book, unsigned edge, uint64_t now_ns)
{
	const struct book_link *link = &book->links[edge];

	return link->alive &&
	       (now_ns < link->received_ns || now_ns - link->received_ns < book->timeout_ns);
}

void book_find_silent(struct book *book, uint64_t now_ns)
{
	for (unsigned e = 0; e < book->n_edges; e++)
		book->links[e].alive = book_alive(book, e, now_ns);
}

/* --- identity --------------------------------------------------------------------------------- */

#define DIGITS      (BOOK_IDENTITY_TEXT - 1)
#define WORD_DIGITS (DIGITS / 2)

static void write_word(uint64_t word, char *text)
{
	for (int i = WORD_DIGITS - 1; i >= 0; i--, word >>= 4)
		text[i] = "0123456789abcdef"[word & 15];
}

void book_identity_write(struct book_identity identity, char text[BOOK_IDENTITY_TEXT])
{
	write_word(identity.high, text);
	write_word(identity.low, text + WORD_DIGITS);
	text[DIGITS] = '\0';
}

/* Returns false if one is no digit. */
static bool read_word(const char *text, uint64_t *word)
{
	static const char digits[] = "0123456789abcdefABCDEF";

	*word = 0;
	for (unsigned i = 0; i < WORD_DIGITS; i++) {
		const char *at = text[i] ? strchr(digits, text[i]) : NULL;
		uint64_t digit = at ? (uint64_t)(at - digits) : 0;

		if (!at)
			return false;
		*word = *word << 4 | (digit < 16 ? digit : digit - 6);
	}
	return true;
}

bool book_identity_read(const char *text, struct book_identity *identity)
{
	return strlen(text) == DIGITS && read_word(text, &identity->high) &&
	       read_word(text + WORD_DIGITS, &identity->low) && book_identity_known(*identity);
}

/* --- head ------------------------------------------------------------------------------------- */

/* The ledger of a message. Its head is the kind and the identity, big-endian. */

uint8_t *book_write_head(const struct book *book, uint8_t kind, uint8_t *at)
{
	*at++ = kind;
	return wire_put64(wire_put64(at, book->identity.high), book->identity.low);
}

/*
 * Finds the identity that all neighbours with one have sent; returns false as long as that is not
 * clear.
 */
static bool neighbours_agree(const struct book *book, struct book_identity *identity)
{
	*identity = (struct book_identity){0};
	for (unsigned e = 0; e < book->n_edges; e++) {
		const struct book_link *link = &book->links[e];

		if (!link->has_reported)
			return false;
		if (!book_identity_known(link->peer_identity))
			continue;
		if (book_identity_known(*identity) &&
			!book_identity_equal(*identity, link->peer_identity))
			return false;
		*identity = link->peer_identity;
	}
	return book_identity_known(*identity);
}

int book_read_head(
	struct book *book, unsigned edge, uint8_t kind, const uint8_t *message, size_t len)
{
	struct book_link *link = &book->links[edge];
	struct book_identity agreed;

	if (len < BOOK_HEAD || message[0] != kind)
		return -EBADMSG;
	link->has_reported = true;
	wire_get64(wire_get64(message + 1, &link->peer_identity.high), &link->peer_identity.low);
	if (!book_identity_known(book->identity) && neighbours_agree(book, &agreed))
		book->identity = agreed;
	if (!book_identity_known(book->identity) || !book_identity_known(link->peer_identity))
		return -ESTALE;
	if (book_identity_equal(book->identity, link->peer_identity))
		return 0;
	link->foreign++;
	return -ESTALE;
}

void book_invalid(struct book *book, unsigned edge)
{
	book->links[edge].invalid++;
}

/* --- commit ----------------------------------------------------------------------------------- */

/*
 * Commits all accounts that need it together: one request to the disk in a round, however many have
 * changed.
 */

void book_changed(struct book *book, struct book_account *account)
{
	if (account->changed || !book->ops->unsaved(book, account))
		return;
	account->changed = true;
	TAILQ_INSERT_TAIL(&book->changed, account, next_changed);
}

bool book_unsaved(const struct book *book)
{
	return !TAILQ_EMPTY(&book->changed) || book->n_forgotten > 0;
}

static int account_save(
	struct book *book, struct book_account *account, book_write write, void *context)
{
	int ret = account_record_room(book, account);
	uint8_t *body;
	size_t len;

	if (ret)
		return ret;
	body = account_write_head(book, account);
	ret = book->ops->save(book, account, body, &len);
	if (ret)
		return ret;
	account->saving = account->stored = true;
	if (!write)
		return 0;
	return write(context, account->id, book->record, (size_t)(body - book->record) + len);
}

int book_save(struct book *book, book_write write, void *context)
{
	struct book_account *account;
	int ret = 0;

	if (book->n_saving > 0 || book->n_forgetting > 0)
		return -EBUSY;
	/* Before the others: one of them may have begun again with such an id. */
	while (ret == 0 && book->n_forgetting < book->n_forgotten) {
		uint64_t id = book->forgotten[book->n_forgetting++];

		ret = write ? write(context, id, NULL, 0) : 0;
	}
	for (account = TAILQ_FIRST(&book->changed); ret == 0 && account;
		account = TAILQ_NEXT(account, next_changed)) {
		book->n_saving++;
		ret = account_save(book, account, write, context);
	}
	if (ret < 0) {
		book_save_failed(book);
		return ret;
	}
	return book->n_saving > 0 || book->n_forgetting > 0 ? 0 : -EAGAIN;
}

/* Accounts that have changed since wait again, after the others. */
static void end_commit_round(struct book *book, bool durable)
{
	if (durable && book->n_forgetting > 0) {
		book->n_forgotten -= book->n_forgetting;
		memmove(book->forgotten, book->forgotten + book->n_forgetting,
			book->n_forgotten * sizeof(*book->forgotten));
	}
	book->n_forgetting = 0;
	book->has_store |= durable;
	for (; book->n_saving > 0; book->n_saving--) {
		struct book_account *account = TAILQ_FIRST(&book->changed);

		TAILQ_REMOVE(&book->changed, account, next_changed);
		account->saving = account->changed = false;
		book->ops->committed(book, account, durable);
		book_changed(book, account);
	}
}

void book_committed(struct book *book)
{
	end_commit_round(book, true);
}

void book_save_failed(struct book *book)
{
	end_commit_round(book, false);
}
