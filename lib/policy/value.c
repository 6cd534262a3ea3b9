/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/value.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <arpa/inet.h>
#include <net/if.h>

#include "policy/config.h"

#define DECIMAL       "0123456789"
#define HEXADECIMAL   DECIMAL "abcdefABCDEF"
#define LOWER         "abcdefghijklmnopqrstuvwxyz"
#define UPPER         "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DEVICE_ID_MAX 63 /* RTE_DEV_NAME_MAX_LEN less its terminator */

bool name_valid(const char *name)
{
	size_t len = strlen(name);

	return len > 0 && len < CONFIG_NAME_MAX && strspn(name, LOWER UPPER DECIMAL "_.-") == len;
}

size_t device_id_length(const char *device)
{
	return strcspn(device, ",");
}

/*
 * Skips `least` to `most` characters of a set. Returns NULL if there are too few or too many, or if
 * text is NULL.
 */
static const char *skip_chars(const char *text, const char *set, size_t least, size_t most)
{
	size_t n = text != NULL ? strspn(text, set) : 0;

	return text != NULL && n >= least && n <= most ? text + n : NULL;
}

/* Matches domain (four digits; more behind some bridges), bus, device, function. */
static bool is_pci(const char *device)
{
	const char *at = skip_chars(device, HEXADECIMAL, 4, 8);

	at = skip_chars(skip_chars(at, ":", 1, 1), HEXADECIMAL, 2, 2);
	at = skip_chars(skip_chars(at, ":", 1, 1), HEXADECIMAL, 2, 2);
	at = skip_chars(skip_chars(at, ".", 1, 1), "01234567", 1, 1);
	return at != NULL && (*at == ',' || *at == '\0');
}

static bool is_vdev_name(const char *device)
{
	const char *at = device;

	if (strncmp(device, "net_", strlen("net_")) != 0)
		return false;
	at = skip_chars(at + strlen("net_"), LOWER UPPER DECIMAL "_", 1, DEVICE_ID_MAX);
	return at != NULL && (*at == ',' || *at == '\0');
}

/* Matches "xdp:" and a name that the kernel allows for an interface. */
static bool is_xdp(const char *device)
{
	size_t len;

	if (strncmp(device, "xdp:", strlen("xdp:")) != 0)
		return false;
	device += strlen("xdp:");
	len = strlen(device);
	return len > 0 && len < IFNAMSIZ && strpbrk(device, "/:,") == NULL;
}

bool device_valid(const char *device)
{
	size_t len = strlen(device);

	for (size_t i = 0; i < len; i++) {
		if (device[i] <= ' ' || device[i] > '~')
			return false;
	}
	return len < CONFIG_DEVICE_MAX && device_id_length(device) <= DEVICE_ID_MAX &&
	       (is_pci(device) || is_vdev_name(device) || is_xdp(device));
}

/* Copies the host of host:port or [host]:port and finds the port; false if it has another form. */
static bool split_address(const char *text, char *host, size_t size, const char **port)
{
	bool bracket = *text == '[';
	const char *end = strchr(text, bracket ? ']' : ':');
	const char *start = text + bracket;

	if (end == NULL || (size_t)(end - start) >= size)
		return false;
	memcpy(host, start, (size_t)(end - start));
	host[end - start] = '\0';
	end += bracket;
	*port = end + 1;
	return *end == ':';
}

static int port_parse(const char *text, in_port_t *out)
{
	const char *end = skip_chars(text, DECIMAL, 1, 5);
	unsigned long port = strtoul(text, NULL, 10);

	if (end == NULL || *end != '\0' || port == 0 || port > UINT16_MAX)
		return -EINVAL;
	*out = htons((uint16_t)port);
	return 0;
}

int address_parse(const char *text, struct sockaddr_storage *address, socklen_t *len)
{
	char host[INET6_ADDRSTRLEN];
	struct in6_addr ip6;
	struct in_addr ip;
	const char *port_text;
	in_port_t port;

	if (!split_address(text, host, sizeof(host), &port_text) ||
		port_parse(port_text, &port) < 0)
		return -EINVAL;
	if (*text != '[' && inet_pton(AF_INET, host, &ip) == 1) {
		memset(address, 0, sizeof(*address));
		*(struct sockaddr_in *)address = (struct sockaddr_in){
			.sin_family = AF_INET, .sin_addr = ip, .sin_port = port};
		*len = sizeof(struct sockaddr_in);
	} else if (*text == '[' && inet_pton(AF_INET6, host, &ip6) == 1) {
		memset(address, 0, sizeof(*address));
		*(struct sockaddr_in6 *)address = (struct sockaddr_in6){
			.sin6_family = AF_INET6, .sin6_addr = ip6, .sin6_port = port};
		*len = sizeof(struct sockaddr_in6);
	} else {
		return -EINVAL;
	}
	return 0;
}

char *address_format(const struct sockaddr_storage *address, char *buf, size_t size)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;
	char host[INET6_ADDRSTRLEN];

	if (address->ss_family == AF_INET6)
		snprintf(buf, size, "[%s]:%u",
			inet_ntop(AF_INET6, &in6->sin6_addr, host, sizeof(host)),
			ntohs(in6->sin6_port));
	else
		snprintf(buf, size, "%s:%u", inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host)),
			ntohs(in->sin_port));
	return buf;
}

bool address_is_any(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET6)
		return IN6_IS_ADDR_UNSPECIFIED(&((const struct sockaddr_in6 *)address)->sin6_addr);
	return ((const struct sockaddr_in *)address)->sin_addr.s_addr == INADDR_ANY;
}

bool address_is_loopback(const struct sockaddr_storage *address)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET)
		return ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
	return address->ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

bool address_is_one_host(const struct sockaddr_storage *address)
{
	in_addr_t ip;

	if (address->ss_family == AF_INET6)
		return !IN6_IS_ADDR_MULTICAST(&((const struct sockaddr_in6 *)address)->sin6_addr);
	ip = ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr);
	return !IN_MULTICAST(ip) && ip != INADDR_BROADCAST;
}

static int prefix_length_parse(const char *text, unsigned bits, uint8_t *out)
{
	const char *end = skip_chars(text, DECIMAL, 1, 3);
	unsigned long length = strtoul(text, NULL, 10);

	if (end == NULL || *end != '\0' || length > bits)
		return -EINVAL;
	*out = (uint8_t)length;
	return 0;
}

int prefix_parse(const char *text, struct prefix *out)
{
	const char *slash = strchr(text, '/');
	bool ipv6 = strchr(text, ':') != NULL;
	struct prefix prefix = {.family = ipv6 ? 6 : 4};
	unsigned bytes = ipv6 ? 16 : 4;
	char host[INET6_ADDRSTRLEN];
	bool host_bits = false;

	if (slash == NULL || (size_t)(slash - text) >= sizeof(host))
		return -EINVAL;
	memcpy(host, text, (size_t)(slash - text));
	host[slash - text] = '\0';
	if (inet_pton(ipv6 ? AF_INET6 : AF_INET, host, prefix.addr) != 1 ||
		prefix_length_parse(slash + 1, bytes * 8, &prefix.length) < 0)
		return -EINVAL;
	for (unsigned i = prefix.length / 8; i < bytes; i++) {
		uint8_t keep = i == prefix.length / 8 ? (uint8_t)(0xff00 >> prefix.length % 8) : 0;

		host_bits |= (prefix.addr[i] & (uint8_t)~keep) != 0;
		prefix.addr[i] &= keep;
	}
	*out = prefix;
	return host_bits ? -EDOM : 0;
}

char *prefix_format(const struct prefix *prefix, char *buf, size_t size)
{
	int family = prefix->family == 6 ? AF_INET6 : AF_INET;
	char host[INET6_ADDRSTRLEN];

	if (prefix->family == 0)
		snprintf(buf, size, "any");
	else
		snprintf(buf, size, "%s/%u", inet_ntop(family, prefix->addr, host, sizeof(host)),
			prefix->length);
	return buf;
}

/* Parses one port and sets *end behind its text; returns 0 if there is none. */
static uint16_t port_number_parse(const char *text, const char **end)
{
	unsigned long number;

	*end = skip_chars(text, DECIMAL, 1, 5);
	number = *end != NULL && *text != '0' ? strtoul(text, NULL, 10) : 0;
	return number <= UINT16_MAX ? (uint16_t)number : 0;
}

int port_range_parse(const char *text, struct port_range *out)
{
	struct port_range range;
	const char *end;

	range.first = port_number_parse(text, &end);
	if (range.first == 0)
		return -EINVAL;
	range.last = *end == '-' ? port_number_parse(end + 1, &end) : range.first;
	if (range.last < range.first || *end != '\0')
		return -EINVAL;
	*out = range;
	return 0;
}

char *port_range_format(const struct port_range *range, char *buf, size_t size)
{
	if (range->first == 0)
		snprintf(buf, size, "any");
	else if (range->first == range->last)
		snprintf(buf, size, "%u", range->first);
	else
		snprintf(buf, size, "%u-%u", range->first, range->last);
	return buf;
}

int source_parse(const char *text, unsigned *bits)
{
	static const char src[] = "src";
	const char *number = text + strlen(src) + 1;
	uint8_t length;

	if (strncmp(text, src, strlen(src)) != 0)
		return -EINVAL;
	if (text[strlen(src)] == '\0') {
		*bits = 0;
		return 0;
	}
	if (number[-1] != '/' || *number == '0' ||
		prefix_length_parse(number, SOURCE_V6_BITS, &length) < 0)
		return -EINVAL;
	*bits = length;
	return 0;
}

const char *direction_name(enum direction direction)
{
	static const char *const names[] = {
		[DIRECTION_ANY] = "any",
		[DIRECTION_A_TO_B] = "a-to-b",
		[DIRECTION_B_TO_A] = "b-to-a",
	};

	return names[direction];
}

const char *accounting_name(enum accounting accounting)
{
	static const char *const names[] = {
		[ACCOUNTING_L2] = "l2",
		[ACCOUNTING_L3] = "l3",
		[ACCOUNTING_WIRE] = "wire",
	};

	return names[accounting];
}

static const struct {
	const char *name;
	uint8_t number;
} protos[] = {
	{"icmp", IPPROTO_ICMP},
	{"tcp", IPPROTO_TCP},
	{"udp", IPPROTO_UDP},
	{"dccp", IPPROTO_DCCP},
	{"gre", IPPROTO_GRE},
	{"esp", IPPROTO_ESP},
	{"icmpv6", IPPROTO_ICMPV6},
	{"sctp", IPPROTO_SCTP},
	{"udplite", IPPROTO_UDPLITE},
};

#define PROTOS (sizeof(protos) / sizeof(protos[0]))

const char *proto_name(uint8_t proto)
{
	for (unsigned i = 0; i < PROTOS; i++)
		if (protos[i].number == proto)
			return protos[i].name;
	return NULL;
}

uint8_t proto_number(const char *name)
{
	for (unsigned i = 0; i < PROTOS; i++)
		if (strcmp(protos[i].name, name) == 0)
			return protos[i].number;
	return 0;
}

int cpu_list_parse(const char *text, unsigned most, unsigned *out, unsigned max)
{
	unsigned n = 0;

	do {
		const char *end = skip_chars(text, DECIMAL, 1, 4);
		unsigned long first = strtoul(text, NULL, 10), last = first;

		if (end != NULL && *end == '-') {
			last = strtoul(end + 1, NULL, 10);
			end = skip_chars(end + 1, DECIMAL, 1, 4);
		}
		if (end == NULL || first > last || last > most || last - first >= max - n)
			return -EINVAL;
		text = end;
		for (; first <= last; first++)
			out[n++] = (unsigned)first;
	} while (*text++ == ',' && n < max);
	return text[-1] == '\0' ? (int)n : -EINVAL;
}

/* Class selectors are 8 times their number; assured forwarding adds twice its drop precedence. */
int dscp_parse(const char *text)
{
	static const struct {
		const char *name;
		int dscp;
	} names[] = {{"be", 0}, {"df", 0}, {"le", 1}, {"va", 44}, {"ef", 46}};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcasecmp(text, names[i].name) == 0)
			return names[i].dscp;
	}
	if (strncasecmp(text, "cs", 2) == 0 && text[2] >= '0' && text[2] <= '7' && text[3] == '\0')
		return 8 * (text[2] - '0');
	if (strncasecmp(text, "af", 2) == 0 && text[2] >= '1' && text[2] <= '4' && text[3] >= '1' &&
		text[3] <= '3' && text[4] == '\0')
		return 8 * (text[2] - '0') + 2 * (text[3] - '0');
	return -EINVAL;
}
