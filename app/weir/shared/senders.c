/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Addresses from which limiters of the roster send.
 */
#include "senders.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sighting {
	struct sockaddr_storage address; /* the kernel clears its padding */
	uint64_t seen_ns;                /* time of the newest datagram; 0: none */
};

struct sender {
	struct sighting of[2];
	unsigned last;                     /* index of the newest datagram's address */
	unsigned turns;                    /* datagrams from another address than the one before */
	uint64_t turned_ns[SENDERS_TURNS]; /* times of the newest; a ring */
};

struct senders {
	struct sender *each; /* n_roster */
};

int senders_create(unsigned n_roster, struct senders **out)
{
	struct senders *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return -ENOMEM;
	s->each = calloc(n_roster, sizeof(*s->each));
	if (s->each)
		return 0;
	senders_destroy(s);
	*out = NULL;
	return -ENOMEM;
}

void senders_destroy(struct senders *s)
{
	if (!s)
		return;
	free(s->each);
	free(s);
}

static bool is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return memcmp(a, b,
		       a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						: sizeof(struct sockaddr_in)) == 0;
}

bool senders_note(
	struct senders *s, unsigned limiter, const struct sockaddr_storage *from, uint64_t now_ns)
{
	struct sender *sender = &s->each[limiter];
	struct sighting *of = sender->of;
	bool were_two = senders_two(s, limiter, now_ns);
	unsigned k = of[1].seen_ns < of[0].seen_ns;

	for (unsigned i = 0; i < 2; i++)
		if (of[i].seen_ns && is_same(&of[i].address, from))
			k = i;
	if (of[sender->last].seen_ns && !is_same(&of[sender->last].address, from))
		sender->turned_ns[sender->turns++ % SENDERS_TURNS] = now_ns;
	of[k] = (struct sighting){.address = *from, .seen_ns = now_ns};
	sender->last = k;
	return !were_two && senders_two(s, limiter, now_ns);
}

bool senders_two(const struct senders *s, unsigned limiter, uint64_t now_ns)
{
	const struct sender *sender = &s->each[limiter];

	return sender->turns >= SENDERS_TURNS &&
	       now_ns - sender->turned_ns[sender->turns % SENDERS_TURNS] < SENDERS_TURNS_NS;
}

const char *senders_write(
	const struct senders *s, unsigned limiter, uint64_t now_ns, char text[SENDERS_TEXT])
{
	char address[ADDRESS_TEXT_MAX];
	size_t len = 0;

	snprintf(text, SENDERS_TEXT, "an unknown address");
	for (unsigned i = 0; s && i < 2; i++) {
		const struct sighting *one = &s->each[limiter].of[i];

		if (one->seen_ns && now_ns - one->seen_ns < SENDERS_RECENT_NS)
			len += (size_t)snprintf(text + len, SENDERS_TEXT - len, "%s%s",
				len ? " and " : "",
				address_format(&one->address, address, sizeof(address)));
	}
	return text;
}
