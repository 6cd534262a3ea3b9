/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The differences between a peer and this limiter: other settings (agree/agree.h), or no datagrams
 * that can be read.
 */
#include "differs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>

#include <rte_common.h>

#include "agree/agree.h"
#include "base/time.h"
#include "gossip_socket.h"
#include "instance.h"

/* Rejected datagrams from the address of each limiter of the roster. */

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

unsigned refusals_source(
	const struct refusals *r, const struct sockaddr_storage *from, unsigned named)
{
	const struct peer_config *roster = r->config->roster;
	unsigned n = r->config->n_roster, found = n, low = 0, high = n;

	if (named < n && compare_hosts(&roster[named].address, from) == 0)
		return named;
	/* Finds the first index in by_address[] whose address is not less than this one. */
	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (compare_hosts(&roster[r->by_address[middle]].address, from) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	for (unsigned place = low; place < n; place++) {
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

/*
 * Time in which a peer that starts after this limiter can be silent, in addition to the timeout of
 * gossip.
 */
#define UNHEARD_NS (4 * SECOND_NS)

/*
 * A single datagram that does not open can be from anyone. Rejections count after they have lasted
 * for REFUSED_NS, and until REFUSED_IN after the last one.
 */
#define REFUSED_NS SECOND_NS
#define REFUSED_IN (5 * SECOND_NS)

/* Bytes of a text for the names of things; the rest is for the policy. */
#define DIFFERS_THINGS (DIFFERS_TEXT - CONFIG_NAME_MAX - 20)

static void keep_differing_since(struct differs *differs, uint64_t since_ns)
{
	if (differs->since_ns == 0 || since_ns < differs->since_ns)
		differs->since_ns = since_ns;
}

/* "limit, burst of cap": all things of one policy, or one of the group. */
static void name_difference(
	const struct instance *inst, struct agree_difference difference, struct differs *differs)
{
	bool group = difference.policy == AGREE_GROUP, fixed;
	bool here = !group && difference.policy != AGREE_NOWHERE;
	char *text = differs->text[differs->named++];
	bool absent = difference.things & AGREE_PRESENCE;
	int len = 0;

	do {
		const char *thing = limiter_thing(inst->limiter, group, &difference.things, &fixed);

		len += snprintf(
			text + len, DIFFERS_THINGS - (size_t)len, "%s%s", len ? ", " : "", thing);
		differs->fixed |= fixed;
	} while (difference.things && len < DIFFERS_THINGS);
	len = RTE_MIN(len, DIFFERS_THINGS - 1);
	/* Quotas with the same name and different periods are different quotas. */
	if (here)
		snprintf(text + len, DIFFERS_TEXT - (size_t)len, "%s of %s",
			absent && inst->policies[difference.policy].total ? " or period" : "",
			inst->policies[difference.policy].name);
	else if (!group)
		snprintf(text + len, DIFFERS_TEXT - (size_t)len,
			" of a policy that is not here (%016" PRIx64 ")", difference.id);
}

/* Returns the difference that a verdict shows, although the datagram was not read. */
static const char *refused_thing(unsigned verdict)
{
	switch (verdict) {
	case REFUSED_SOURCE:
		return "address or name: its datagrams name a limiter with another address here";
	case GOSSIP_VERSION:
		return "format: this limiter does not read its version";
	case GOSSIP_UNSEALED:
		return "key: only one of the two encrypts";
	case GOSSIP_NO_KEY:
		return "key: it encrypts with a key that is absent here";
	default:
		return "key or identity: its datagrams cannot be decrypted";
	}
}

bool differs_silent(const struct instance *inst, unsigned i, uint64_t now_ns)
{
	const struct gossip *gossip = limiter_gossip(inst->limiter);
	const struct peer *peer = gossip_peer(gossip, i);

	return i != inst->config->gossip.self && peer && !peer->proven && peer->restarts == 0 &&
	       !agree_peer(limiter_agree(inst->limiter), i).has_reported &&
	       now_ns - inst->receives_since_ns >= UNHEARD_NS + gossip_timeout(gossip);
}

/* Adds at most one text, before the others: such a peer's other differences are hidden. */
static void name_silence(
	const struct instance *inst, unsigned i, uint64_t now_ns, struct differs *differs)
{
	const struct peer *peer = gossip_peer(limiter_gossip(inst->limiter), i);
	const struct refusal *refusal = refusals_of(inst->gossip->refusals, i);
	const bool refused = refusal->n && now_ns - refusal->last_ns < REFUSED_IN &&
			     now_ns - refusal->since_ns >= REFUSED_NS &&
			     (!peer || peer->own_advanced_ns < refusal->since_ns);

	if (refused) {
		snprintf(differs->text[differs->named++], DIFFERS_TEXT, "%s",
			refused_thing(refusal->verdict));
		differs->fixed |= refusal->verdict == GOSSIP_VERSION;
		keep_differing_since(differs, refusal->since_ns);
	} else if (differs_silent(inst, i, now_ns)) {
		snprintf(differs->text[differs->named++], DIFFERS_TEXT, "no gossip");
		keep_differing_since(differs, inst->receives_since_ns);
	}
}

struct differs differs_of(const struct instance *inst, unsigned i, uint64_t now_ns)
{
	const struct agree *agree = limiter_agree(inst->limiter);
	struct differs differs = {0};
	struct agree_peer_view view;

	if (i == inst->config->gossip.self)
		return differs;
	name_silence(inst, i, now_ns, &differs);
	view = agree_peer(agree, i);
	if (view.since_ns == 0)
		return differs;
	keep_differing_since(&differs, view.since_ns);
	differs.others = view.n;
	for (unsigned k = 0; k < view.n && differs.named < DIFFERS_NAMED; k++) {
		name_difference(inst, agree_difference(agree, i, k), &differs);
		differs.others--;
	}
	differs.more = view.more;
	return differs;
}
