/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "senders.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sighting {
	struct sockaddr_storage address; /* the kernel clears its padding */
	uint64_t seen_ns;                /* time of the newest datagram; 0: none */
};

struct senders {
	struct sighting (*of)[2]; /* n_roster */
};

int senders_create(unsigned n_roster, struct senders **out)
{
	struct senders *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return -ENOMEM;
	s->of = calloc(n_roster, sizeof(*s->of));
	if (s->of)
		return 0;
	senders_destroy(s);
	*out = NULL;
	return -ENOMEM;
}

void senders_destroy(struct senders *s)
{
	if (!s)
		return;
	free(s->of);
	free(s);
}

static bool is_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	return memcmp(a, b,
		       a->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						: sizeof(struct sockaddr_in)) == 0;
}

void senders_note(
	struct senders *s, unsigned limiter, const struct sockaddr_storage *from, uint64_t now_ns)
{
	struct sighting *of = s->of[limiter];
	unsigned k = of[1].seen_ns < of[0].seen_ns;

	for (unsigned i = 0; i < 2; i++)
		if (of[i].seen_ns && is_same(&of[i].address, from))
			k = i;
	of[k] = (struct sighting){.address = *from, .seen_ns = now_ns};
}

const char *senders_write(
	const struct senders *s, unsigned limiter, uint64_t now_ns, char text[SENDERS_TEXT])
{
	char address[ADDRESS_TEXT_MAX];
	size_t len = 0;

	snprintf(text, SENDERS_TEXT, "an unknown address");
	for (unsigned i = 0; s && i < 2; i++) {
		const struct sighting *one = &s->of[limiter][i];

		if (one->seen_ns && now_ns - one->seen_ns < SENDERS_RECENT_NS)
			len += (size_t)snprintf(text + len, SENDERS_TEXT - len, "%s%s",
				len ? " and " : "",
				address_format(&one->address, address, sizeof(address)));
	}
	return text;
}
