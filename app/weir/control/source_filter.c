/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Builds the filter program of the gossip socket, by which the kernel drops datagrams from unknown
 * addresses (gossip_socket.h). The addresses are sorted by their last 32 bits, and the program is a
 * binary search for these. A leaf compares a few of them as a whole. Control.
 */
#include "gossip_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <netinet/in.h>

#define LEAF       4
#define WORDS_MOST 4

#define IPV4_SOURCE 12 /* in a header */
#define IPV6_SOURCE 8

struct source_words {
	uint32_t word[WORDS_MOST]; /* in host order, the last first */
};

struct filter_program {
	struct sock_filter *code;
	unsigned n, words; /* instructions; words of an address */
	unsigned source;   /* offset of the address in the header */
};

static void emit_code(struct filter_program *p, uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (p->n < SOURCE_FILTER_MOST)
		p->code[p->n] = (struct sock_filter){code, jt, jf, k};
	p->n++;
}

/* Loads the word of the source that is `back` words before its last. */
static void emit_load(struct filter_program *p, unsigned back)
{
	emit_code(p, BPF_LD | BPF_W | BPF_ABS,
		(uint32_t)SKF_NET_OFF + p->source + 4 * (p->words - 1 - back), 0, 0);
}

/* Accepts a datagram from one of the addresses, all words of which are the same. */
static void emit_leaf(struct filter_program *p, const struct source_words *sorted, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (i > 0 && p->words > 1)
			emit_load(p, 0);
		for (unsigned w = 0; w < p->words; w++) {
			/* instructions after this comparison */
			unsigned left = 2 * (p->words - 1 - w) + 1;

			if (w > 0)
				emit_load(p, w);
			emit_code(
				p, BPF_JMP | BPF_JEQ | BPF_K, sorted[i].word[w], 0, (uint8_t)left);
		}
		emit_code(p, BPF_RET | BPF_K, UINT32_MAX, 0, 0);
	}
	emit_code(p, BPF_RET | BPF_K, 0, 0, 0);
}

/*
 * The addresses below the middle follow directly, the others after them. That is too far for a
 * comparison, whose jump is one byte. Addresses with the same last word stay together.
 */
static void emit_search(struct filter_program *p, const struct source_words *sorted, unsigned n)
{
	unsigned middle = n / 2, jump;

	while (middle > 0 && sorted[middle - 1].word[0] == sorted[middle].word[0])
		middle--;
	if (n <= LEAF || middle == 0) {
		emit_leaf(p, sorted, n);
		return;
	}
	emit_code(p, BPF_JMP | BPF_JGE | BPF_K, sorted[middle].word[0], 0, 1);
	jump = p->n;
	emit_code(p, BPF_JMP | BPF_JA, 0, 0, 0);
	emit_search(p, sorted, middle);
	if (jump < SOURCE_FILTER_MOST)
		p->code[jump].k = p->n - jump - 1;
	emit_search(p, sorted + middle, n - middle);
}

static int compare_sources(const void *a, const void *b)
{
	const struct source_words *x = a, *y = b;

	for (unsigned w = 0; w < WORDS_MOST; w++)
		if (x->word[w] != y->word[w])
			return x->word[w] < y->word[w] ? -1 : 1;
	return 0;
}

static int read_source(const struct sockaddr_storage *address, struct source_words *out)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
	uint32_t words[WORDS_MOST];

	*out = (struct source_words){0};
	if (address->ss_family == AF_INET) {
		out->word[0] = ntohl(v4->sin_addr.s_addr);
		return 0;
	}
	if (address->ss_family != AF_INET6 || IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		return -EAFNOSUPPORT;
	memcpy(words, &v6->sin6_addr, sizeof(words));
	for (unsigned w = 0; w < WORDS_MOST; w++)
		out->word[w] = ntohl(words[WORDS_MOST - 1 - w]);
	return 0;
}

/* Lists the addresses, of one family, of the members that have left last. Returns their number. */
static unsigned list_ended(const struct members *m, unsigned family, struct source_words *out)
{
	unsigned n = 0;

	for (uint32_t i = members_newest(m); i != MEMBERS_NONE && n < SOURCE_FILTER_ENDED;
		i = members_older(m, i)) {
		const struct member_entry *entry = members_numbered(m, i);
		struct peer_config peer;

		if (entry->state != MEMBER_LEFT || entry->address.family != family)
			continue;
		peer = peer_of_member(entry);
		n += read_source(&peer.address, &out[n]) == 0;
	}
	return n;
}

/*
 * Lists the addresses of the other limiters, each once. Returns their number or a negative errno.
 */
static int list_sources(
	const struct gossip_config *gossip, const struct members *members, struct source_words *out)
{
	unsigned family = gossip->listen.ss_family == AF_INET6 ? 6 : 4;
	unsigned n = members ? list_ended(members, family, out) : 0, kept = 0;

	for (unsigned i = 0; i < gossip->n_roster; i++) {
		int ret = i == gossip->self ? 0 : read_source(&gossip->roster[i].address, &out[n]);

		if (ret)
			return ret;
		n += i != gossip->self;
	}
	qsort(out, n, sizeof(*out), compare_sources);
	for (unsigned i = 0; i < n; i++)
		if (kept == 0 || compare_sources(&out[kept - 1], &out[i]) != 0)
			out[kept++] = out[i];
	return (int)kept;
}

int source_filter_build(
	const struct gossip_config *gossip, const struct members *members, struct sock_filter *code)
{
	bool v6 = gossip->listen.ss_family == AF_INET6;
	struct filter_program p = {.code = code,
		.words = v6 ? WORDS_MOST : 1,
		.source = v6 ? IPV6_SOURCE : IPV4_SOURCE};
	struct source_words *sources = calloc(
		gossip->n_roster + SOURCE_FILTER_ENDED, sizeof(*sources));
	int n = sources ? list_sources(gossip, members, sources) : -ENOMEM;

	if (n > 0) {
		/* A socket of IPv6 can also receive IPv4. */
		emit_code(&p, BPF_LD | BPF_B | BPF_ABS, (uint32_t)SKF_NET_OFF, 0, 0);
		emit_code(&p, BPF_ALU | BPF_RSH | BPF_K, 4, 0, 0);
		emit_code(&p, BPF_JMP | BPF_JEQ | BPF_K, v6 ? 6 : 4, 1, 0);
		emit_code(&p, BPF_RET | BPF_K, 0, 0, 0);
		emit_load(&p, 0);
		emit_search(&p, sources, (unsigned)n);
	}
	free(sources);
	if (n < 0)
		return n;
	return p.n > SOURCE_FILTER_MOST ? -E2BIG : (int)p.n;
}
