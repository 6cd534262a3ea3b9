/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include <errno.h>
#include <stdlib.h>

#include "base/bitmap.h"
#include "members/exchange_private.h"

void pass_end(struct exchange_peer *p, uint64_t base)
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

int pass_extend(const struct exchange *e, struct exchange_peer *p)
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

void pass_set_held(struct exchange_pass *pass, uint32_t number)
{
	pass->n_due -= bitmap_has(pass->due, number);
	bitmap_clear(pass->due, number);
	bitmap_set(pass->held, number);
}

void pass_set_due(struct exchange_pass *pass, uint32_t number)
{
	pass->n_due += !bitmap_has(pass->due, number);
	bitmap_set(pass->due, number);
	bitmap_clear(pass->held, number);
}

void pass_again(struct exchange_pass *pass)
{
	for (unsigned i = 0; i < pass->n; i++)
		if (!bitmap_has(pass->held, i))
			pass_set_due(pass, i);
}
