/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Makes a frame from its addresses, protocol and ports.
 */
#include "probe/probe.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "packet/parse.h"
#include "policy/value.h"

#define ETHER_LEN 14
#define VLAN_LEN  4
#define IPV4_LEN  20
#define IPV6_LEN  40
#define TCP_LEN   20
#define UDP_LEN   8
#define IP_FULL   1500

#define PROBE_TUPLE "SRC DST PROTO [SPORT DPORT]"

#define TCP_FLAGS_AT 13
#define TTL          64

/* The fields of the packet. */
struct tuple {
	struct prefix src, dst;
	unsigned proto, src_port, dst_port;
	int vlan, dscp;
	uint8_t flags;
};

static const struct {
	const char *name;
	uint8_t bit;
} flag_names[] = {{"fin", 1}, {"syn", 2}, {"rst", 4}, {"psh", 8}, {"ack", 16}, {"urg", 32}};

static int refuse_tuple(
	char why[PROBE_WHY], const char *what, const char *found, const char *expected)
{
	snprintf(why, PROBE_WHY, "%s: \"%.40s\": expected %s", what, found, expected);
	return -EINVAL;
}

static bool take_number(const char *text, unsigned most, unsigned *out)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || number > most)
		return false;
	*out = (unsigned)number;
	return true;
}

static int take_address(
	const char *what, const char *text, struct prefix *prefix, char why[PROBE_WHY])
{
	struct in6_addr address;

	*prefix = (struct prefix){.family = 0};
	if (inet_pton(AF_INET, text, &address) == 1) {
		prefix->family = PACKET_IPV4;
		memcpy(prefix->addr, &address, 4);
	} else if (inet_pton(AF_INET6, text, &address) == 1) {
		prefix->family = PACKET_IPV6;
		memcpy(prefix->addr, &address, 16);
	} else {
		return refuse_tuple(why, what, text, "an address such as 192.0.2.7 or 2001:db8::7");
	}
	return 0;
}

static int take_proto(struct tuple *tuple, const char *text, char why[PROBE_WHY])
{
	tuple->proto = proto_number(text);
	if (tuple->proto == 0 && !take_number(text, UINT8_MAX, &tuple->proto))
		return refuse_tuple(why, "proto", text, "a name such as \"udp\", or 0 to 255");
	return 0;
}

static int take_flags(struct tuple *tuple, const char *text, char why[PROBE_WHY])
{
	char names[40], *rest = names, *name;

	tuple->flags = 0;
	if (strlen(text) >= sizeof(names))
		return refuse_tuple(why, "flags", text, "flags such as \"syn,ack\"");
	snprintf(names, sizeof(names), "%s", text);
	while ((name = strsep(&rest, ",+")) != NULL) {
		uint8_t bit = 0;

		for (size_t i = 0; i < sizeof(flag_names) / sizeof(*flag_names); i++)
			if (strcmp(name, flag_names[i].name) == 0)
				bit = flag_names[i].bit;
		if (bit == 0)
			return refuse_tuple(why, "flags", text, "flags such as \"syn,ack\"");
		tuple->flags |= bit;
	}
	return 0;
}

static int take_option(
	struct tuple *tuple, struct probe_packet *probe, const char *word, char why[PROBE_WHY])
{
	unsigned number;
	int ret;

	if (strncmp(word, "vlan=", 5) == 0) {
		if (!take_number(word + 5, 4094, &number))
			return refuse_tuple(why, "vlan", word + 5, "0 to 4094");
		tuple->vlan = (int)number;
		return 0;
	}
	if (strncmp(word, "dscp=", 5) == 0) {
		tuple->dscp = dscp_parse(word + 5);
		if (tuple->dscp < 0 && take_number(word + 5, 63, &number))
			tuple->dscp = (int)number;
		return tuple->dscp < 0 ? refuse_tuple(why, "dscp", word + 5,
						 "0 to 63, or a name such as \"ef\"")
				       : 0;
	}
	if (strncmp(word, "flags=", 6) == 0)
		return take_flags(tuple, word + 6, why);
	ret = probe_set(probe, word, why);
	if (ret == -ENOENT)
		ret = refuse_tuple(why, "word", word,
			"vlan=, dscp=, flags=, length=, wire=, direction= or worker=");
	return ret;
}

/* Reports the first word that is missing, and the word before it. */
static int refuse_missing(const char *const *words, unsigned n, char why[PROBE_WHY])
{
	static const char *const names[] = {"SRC", "DST", "PROTO"};

	if (n == 0)
		snprintf(why, PROBE_WHY, "missing SRC: expected %s, hex BYTES or pcap FILE",
			PROBE_TUPLE);
	else
		snprintf(why, PROBE_WHY, "missing %s after %s \"%.40s\": expected %s", names[n],
			names[n - 1], words[n - 1], PROBE_TUPLE);
	return -EINVAL;
}

/* The words without an "=", which come first. */
static int take_words(
	struct tuple *tuple, const char *const *words, unsigned n, char why[PROBE_WHY])
{
	int ret;

	if (n > 0 && take_address("src", words[0], &tuple->src, why))
		return -EINVAL;
	if (n < 3)
		return refuse_missing(words, n, why);
	if (n > 5)
		return refuse_tuple(why, "word", words[5], PROBE_TUPLE);
	ret = take_address("dst", words[1], &tuple->dst, why);
	if (ret == 0)
		ret = take_proto(tuple, words[2], why);
	if (ret)
		return ret;
	if (tuple->src.family != tuple->dst.family)
		return refuse_tuple(why, "dst", words[1], "an address of the source's family");
	if (n > 3 && !proto_has_ports((uint8_t)tuple->proto))
		return refuse_tuple(
			why, "sport", words[3], "no ports, because the protocol has none");
	if (n > 3 && !take_number(words[3], UINT16_MAX, &tuple->src_port))
		return refuse_tuple(why, "sport", words[3], "0 to 65535");
	if (n > 4 && !take_number(words[4], UINT16_MAX, &tuple->dst_port))
		return refuse_tuple(why, "dport", words[4], "0 to 65535");
	return 0;
}

static void put_word(uint8_t *at, unsigned value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

static void put_ipv4(const struct tuple *tuple, uint32_t ip_len, uint8_t *ip)
{
	uint32_t sum = 0;

	ip[0] = 0x45;
	ip[1] = (uint8_t)(tuple->dscp << 2);
	put_word(ip + 2, ip_len);
	ip[8] = TTL;
	ip[9] = (uint8_t)tuple->proto;
	memcpy(ip + 12, tuple->src.addr, 4);
	memcpy(ip + 16, tuple->dst.addr, 4);
	for (unsigned at = 0; at < IPV4_LEN; at += 2)
		sum += (uint32_t)ip[at] << 8 | ip[at + 1];
	while (sum >> 16)
		sum = (sum & UINT16_MAX) + (sum >> 16);
	put_word(ip + 10, ~sum & UINT16_MAX);
}

static void put_ipv6(const struct tuple *tuple, uint32_t ip_len, uint8_t *ip)
{
	put_word(ip, 0x6000 | (unsigned)tuple->dscp << 6);
	put_word(ip + 4, ip_len - IPV6_LEN);
	ip[6] = (uint8_t)tuple->proto;
	ip[7] = TTL;
	memcpy(ip + 8, tuple->src.addr, 16);
	memcpy(ip + 24, tuple->dst.addr, 16);
}

static uint32_t put_transport(const struct tuple *tuple, uint32_t payload, uint8_t *at)
{
	if (!proto_has_ports((uint8_t)tuple->proto))
		return 0;
	put_word(at, tuple->src_port);
	put_word(at + 2, tuple->dst_port);
	if (tuple->proto != IPPROTO_TCP) {
		put_word(at + 4, payload);
		return UDP_LEN;
	}
	at[12] = TCP_LEN / 4 << 4;
	at[TCP_FLAGS_AT] = tuple->flags;
	return TCP_LEN;
}

static uint32_t put_ether(const struct tuple *tuple, bool v6, uint8_t *frame)
{
	static const uint8_t macs[] = {
		2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}; /* locally administered */
	uint32_t at = sizeof(macs);

	memcpy(frame, macs, sizeof(macs));
	if (tuple->vlan >= 0) {
		put_word(frame + at, 0x8100);
		put_word(frame + at + 2, (unsigned)tuple->vlan);
		at += VLAN_LEN;
	}
	put_word(frame + at, v6 ? 0x86dd : 0x0800);
	return at + 2;
}

static int make_frame(struct probe_packet *probe, const struct tuple *tuple, char why[PROBE_WHY])
{
	bool v6 = tuple->src.family == PACKET_IPV6;
	uint32_t l2 = put_ether(tuple, v6, probe->frame), header = v6 ? IPV6_LEN : IPV4_LEN;
	uint32_t len = probe->len ? probe->len : l2 + IP_FULL;
	uint32_t ip_len = len > l2 ? len - l2 : 0;
	char text[16];

	probe->bytes = l2 + header;
	probe->bytes += put_transport(tuple, ip_len - header, probe->frame + probe->bytes);
	probe->len = len;
	if (len < probe->bytes) {
		snprintf(text, sizeof(text), "%u", len);
		return refuse_tuple(why, "length", text, "room for the headers");
	}
	if (v6)
		put_ipv6(tuple, ip_len, probe->frame + l2);
	else
		put_ipv4(tuple, ip_len, probe->frame + l2);
	return 0;
}

int probe_tuple(
	struct probe_packet *probe, const char *const *words, unsigned n, char why[PROBE_WHY])
{
	struct tuple tuple = {.vlan = -1, .flags = 2};
	unsigned first = 0;
	int ret;

	while (first < n && strchr(words[first], '=') == NULL)
		first++;
	ret = take_words(&tuple, words, first, why);
	for (unsigned i = first; ret == 0 && i < n; i++)
		ret = take_option(&tuple, probe, words[i], why);
	return ret ? ret : make_frame(probe, &tuple, why);
}
