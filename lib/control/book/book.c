/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "book/book.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "book/book_private.h"

/* Epochs of ledgers in one start: one that is forgotten and comes again needs another. */
#define EPOCH_BITS 20

static uint64_t edges_fingerprint(const struct book *book)
{
	const struct overlay_edge *edges = overlay_edges(book->overlay, book->position);
	uint64_t hash = hash64_step(HASH64_BASIS, book->overlay->ids[book->position]);

	for (unsigned e = 0; e < book->n_edges; e++)
		hash = hash64_step(hash, book->overlay->ids[edges[e].peer]);
	return hash;
}

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

static bool params_valid(const struct book_params *params)
{
	return params->overlay.n > 0 && params->self < params->overlay.n &&
	       params->timeout_ns > 0 && params->epoch > 0 &&
	       params->epoch >> (62 - EPOCH_BITS) == 0;
}

int book_open(struct book *book, const struct book_params *params)
{
	const uint32_t *ids = params->overlay.ids;
	int ret;

	if (!params_valid(params))
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
	book->fingerprint = edges_fingerprint(book);
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
	book->links[edge].heard_ns = now_ns;
	book->links[edge].alive = true;
}

bool book_alive(const struct book *book, unsigned edge, uint64_t now_ns)
{
	const struct book_link *link = &book->links[edge];

	return link->alive &&
	       (now_ns < link->heard_ns || now_ns - link->heard_ns < book->timeout_ns);
}

void book_find_silent(struct book *book, uint64_t now_ns)
{
	for (unsigned e = 0; e < book->n_edges; e++)
		book->links[e].alive = book_alive(book, e, now_ns);
}
