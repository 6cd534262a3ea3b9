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

static int create_links(struct book *book, const uint32_t *ids)
{
	unsigned n = book->overlay->n;

	book->links = calloc((size_t)book->n_edges + 1, sizeof(*book->links));
	book->edge_of = calloc(n, sizeof(*book->edge_of));
	book->index_of = calloc(n, sizeof(*book->index_of));
	if (!book->links || !book->edge_of || !book->index_of)
		return -ENOMEM;
	for (unsigned i = 0; i < n; i++) {
		unsigned position = overlay_position(book->overlay, ids[i]);
		unsigned e = overlay_edge_to(book->overlay, book->position, position);

		book->index_of[position] = i;
		book->edge_of[i] = e;
		if (e < book->n_edges)
			book->links[e].peer = i;
	}
	return 0;
}

int book_open(struct book *book, const struct book_params *params)
{
	const uint32_t *ids = params->overlay.ids;
	const struct overlay_edge *edges;
	int ret;

	if (params->self >= params->overlay.n || params->timeout_ns == 0 || params->epoch == 0 ||
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
	ret = overlay_create(&params->overlay, &book->overlay);
	if (ret)
		return ret;
	book->position = overlay_position(book->overlay, ids[params->self]);
	book->n_edges = book->overlay->n_edges[book->position];
	edges = overlay_edges(book->overlay, book->position);
	book->fingerprint = hash64_step(HASH64_BASIS, book->overlay->ids[book->position]);
	for (unsigned e = 0; e < book->n_edges; e++)
		book->fingerprint = hash64_step(
			book->fingerprint, book->overlay->ids[edges[e].peer]);
	return create_links(book, ids);
}

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
	return peer < book->overlay->n ? book->edge_of[peer] : book->n_edges;
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
	uint8_t *body = account_write_head(book, account);
	size_t len;
	int ret = book->ops->save(book, account, body, &len);

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
