/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rejected datagrams from the address of each limiter of the roster.
 */
#include "refusals.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>

#include "base/time.h"

/* After this time without a rejection, the next one begins a new series. */
#define REFUSALS_APART_NS (10 * SECOND_NS)

struct refusals {
	const struct gossip_config *config;
	struct refusal *of;   /* n_roster */
	unsigned *by_address; /* n_roster: indices, by address and then by index */
};

/* Gets the bytes of a host's address. Returns their number. */
static size_t host_bytes(const struct sockaddr_storage *address, const void **bytes)
{
	if (address->ss_family == AF_INET6) {
		*bytes = &((const struct sockaddr_in6 *)address)->sin6_addr;
		return sizeof(struct in6_addr);
	}
	*bytes = &((const struct sockaddr_in *)address)->sin_addr;
	return sizeof(struct in_addr);
}

static in_port_t port_of(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)address)->sin6_port
					      : ((const struct sockaddr_in *)address)->sin_port;
}

static int compare_hosts(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const void *left, *right;
	size_t len = host_bytes(a, &left);

	if (a->ss_family != b->ss_family)
		return a->ss_family < b->ss_family ? -1 : 1;
	host_bytes(b, &right);
	return memcmp(left, right, len);
}

static int compare_by_address(const void *a, const void *b, void *context)
{
	const struct gossip_config *config = context;
	unsigned left = *(const unsigned *)a, right = *(const unsigned *)b;
	int order = compare_hosts(&config->roster[left].address, &config->roster[right].address);

	return order ? order : left < right ? -1 : left > right;
}

int refusals_create(const struct gossip_config *config, struct refusals **out)
{
	struct refusals *r = calloc(1, sizeof(*r));

	*out = r;
	if (!r)
		return -ENOMEM;
	r->config = config;
	r->of = calloc(config->n_roster, sizeof(*r->of));
	r->by_address = calloc(config->n_roster, sizeof(*r->by_address));
	if (!r->of || !r->by_address) {
		refusals_destroy(r);
		*out = NULL;
		return -ENOMEM;
	}
	for (unsigned i = 0; i < config->n_roster; i++)
		r->by_address[i] = i;
	qsort_r(r->by_address, config->n_roster, sizeof(*r->by_address), compare_by_address,
		(void *)(uintptr_t)config);
	return 0;
}

void refusals_destroy(struct refusals *r)
{
	if (!r)
		return;
	free(r->of);
	free(r->by_address);
	free(r);
}

bool refusals_count(unsigned verdict)
{
	return verdict == REFUSED_SOURCE || verdict == GOSSIP_VERSION ||
	       verdict == GOSSIP_UNSEALED || verdict == GOSSIP_NO_KEY || verdict == GOSSIP_FORGED;
}

/* Returns the first index in by_address[] whose address is not less than this one. */
static unsigned place_of(const struct refusals *r, const struct sockaddr_storage *from)
{
	unsigned low = 0, high = r->config->n_roster;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (compare_hosts(&r->config->roster[r->by_address[middle]].address, from) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

unsigned refusals_source(
	const struct refusals *r, const struct sockaddr_storage *from, unsigned named)
{
	const struct peer_config *roster = r->config->roster;
	unsigned n = r->config->n_roster, found = n;

	if (named < n && compare_hosts(&roster[named].address, from) == 0)
		return named;
	for (unsigned place = place_of(r, from); place < n; place++) {
		unsigned i = r->by_address[place];

		if (compare_hosts(&roster[i].address, from) != 0)
			break;
		if (found == n || port_of(&roster[i].address) == port_of(from))
			found = i;
	}
	return found;
}

void refusals_note(
	struct refusals *r, unsigned peer, unsigned verdict, uint64_t spoke_ns, uint64_t now_ns)
{
	struct refusal *refusal = &r->of[peer];

	if (refusal->n++ == 0 || spoke_ns >= refusal->since_ns ||
		now_ns - refusal->last_ns >= REFUSALS_APART_NS)
		refusal->since_ns = now_ns;
	refusal->last_ns = now_ns;
	refusal->verdict = verdict;
}

void refusals_keep(struct refusals *r, unsigned peer, const struct refusal *before)
{
	r->of[peer] = *before;
}

const struct refusal *refusals_of(const struct refusals *r, unsigned peer)
{
	return &r->of[peer];
}

const char *refusal_name(const struct refusal *refusal)
{
	if (refusal->n == 0)
		return NULL;
	return refusal->verdict == REFUSED_SOURCE ? "wrong_source"
						  : gossip_verdict_name(refusal->verdict);
}
