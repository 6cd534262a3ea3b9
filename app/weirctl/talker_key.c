/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "talker_key.h"

#include <arpa/inet.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "field.h"

#define ADDRESS   16
#define MAC       6
#define NO_VLAN   0xffff
#define TEXT_MOST 64

enum family { FAMILY_MAC, FAMILY_IPV4 = 4, FAMILY_IPV6 = 6 };

/* Contents of a struct talker_key. */
struct parts {
	uint8_t source[ADDRESS], destination[ADDRESS];
	uint16_t vlan, ethertype, source_port, destination_port;
	uint8_t protocol, family;
	uint8_t rest[6]; /* 0 */
};

_Static_assert(sizeof(struct parts) == sizeof(struct talker_key), "a key is all of its parts");

bool talker_by(const char *text, struct talker_by *by)
{
	const char *slash = strchr(text, '/');
	size_t len = slash ? (size_t)(slash - text) : strlen(text);
	char *end;

	*by = (struct talker_by){.bits4 = 32, .bits6 = 128};
	if (strcmp(text, "flow") == 0)
		by->source = by->destination = by->ports = true;
	else if (len == strlen("source") && strncmp(text, "source", len) == 0)
		by->source = true;
	else if (len == strlen("destination") && strncmp(text, "destination", len) == 0)
		by->destination = true;
	else
		return false;
	if (!slash)
		return true;
	by->bits4 = (unsigned)strtoul(slash + 1, &end, 10);
	by->bits6 = 2 * by->bits4;
	return slash[1] >= '0' && slash[1] <= '9' && !*end && by->bits4 >= 1 && by->bits4 <= 32;
}

const char *talker_by_head(const char *text)
{
	if (text && strcmp(text, "flow") == 0)
		return "FLOW";
	return text && text[0] == 'd' ? "DESTINATION" : "SOURCE";
}

static void cut_address(uint8_t address[ADDRESS], unsigned bits)
{
	for (unsigned i = 0; i < ADDRESS; i++, bits -= bits < 8 ? bits : 8)
		address[i] &= bits < 8 ? (uint8_t)(0xff00u >> bits) : 0xff;
}

/* Parses an address and keeps its counted bits; returns its family. */
static enum family take_address(
	const char *text, const struct talker_by *by, uint8_t address[ADDRESS])
{
	if (text && inet_pton(AF_INET, text, address) == 1) {
		cut_address(address, by->bits4);
		return FAMILY_IPV4;
	}
	if (text && inet_pton(AF_INET6, text, address) == 1) {
		cut_address(address, by->bits6);
		return FAMILY_IPV6;
	}
	for (unsigned i = 0; text && *text && i < MAC; i++) {
		char *end;

		address[i] = (uint8_t)strtoul(text, &end, 16);
		text = *end ? end + 1 : end;
	}
	return FAMILY_MAC;
}

void talker_key_of(const json_t *packet, const struct talker_by *by, struct talker_key *key)
{
	const char *source = json_string_value(json_object_get(packet, "source"));
	const char *destination = json_string_value(json_object_get(packet, "destination"));
	const json_t *vlan = json_object_get(packet, "vlan");
	struct parts parts = {
		.vlan = json_is_integer(vlan) ? (uint16_t)json_integer_value(vlan) : NO_VLAN};

	if (by->source)
		parts.family = (uint8_t)take_address(source, by, parts.source);
	if (by->destination)
		parts.family = (uint8_t)take_address(destination, by, parts.destination);
	if (by->ports) {
		parts.protocol = (uint8_t)field_number(packet, "protocol");
		parts.source_port = (uint16_t)field_number(packet, "source_port");
		parts.destination_port = (uint16_t)field_number(packet, "destination_port");
		parts.ethertype = (uint16_t)field_number(packet, "ethertype");
	}
	memcpy(key, &parts, sizeof(*key));
}

/* Writes an address, with a prefix length if not all bits count. */
static void write_address(char text[TEXT_MOST], const struct parts *parts, const uint8_t *address,
	const struct talker_by *by)
{
	unsigned bits = parts->family == FAMILY_IPV4 ? by->bits4 : by->bits6;
	unsigned all = parts->family == FAMILY_IPV4 ? 32 : 128;
	size_t used;

	if (parts->family == FAMILY_MAC) {
		snprintf(text, TEXT_MOST, "%02x:%02x:%02x:%02x:%02x:%02x", address[0], address[1],
			address[2], address[3], address[4], address[5]);
		return;
	}
	inet_ntop(parts->family == FAMILY_IPV4 ? AF_INET : AF_INET6, address, text, TEXT_MOST);
	used = strlen(text);
	if (bits < all)
		snprintf(text + used, TEXT_MOST - used, "/%u", bits);
}

/* "192.0.2.1:53", "[2001:db8::1]:53", or the address alone. */
static void write_end(char text[TEXT_MOST], const char *address, unsigned port)
{
	const bool six = port && strchr(address, ':') != NULL;

	if (port)
		snprintf(text, TEXT_MOST, "%s%.46s%s:%u", six ? "[" : "", address, six ? "]" : "",
			port);
	else
		snprintf(text, TEXT_MOST, "%.46s", address);
}

static void write_protocol(char text[TEXT_MOST], const struct parts *parts)
{
	static const struct {
		unsigned number;
		const char *name;
	} names[] = {{1, "icmp"}, {6, "tcp"}, {17, "udp"}, {47, "gre"}, {50, "esp"}, {58, "icmp6"},
		{132, "sctp"}};

	if (parts->family == FAMILY_MAC)
		snprintf(text, TEXT_MOST, "0x%04x", parts->ethertype);
	else
		snprintf(text, TEXT_MOST, "%u", parts->protocol);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (parts->family != FAMILY_MAC && names[i].number == parts->protocol)
			snprintf(text, TEXT_MOST, "%s", names[i].name);
}

static json_t *number_or_null(unsigned number)
{
	return number ? json_integer((json_int_t)number) : json_null();
}

static json_t *flow_json(const struct parts *parts, const char *source, const char *destination)
{
	char from[TEXT_MOST], to[TEXT_MOST], protocol[TEXT_MOST];

	write_end(from, source, parts->source_port);
	write_end(to, destination, parts->destination_port);
	write_protocol(protocol, parts);
	return json_pack("{s:o, s:s, s:s, s:s, s:o, s:o}", "talker",
		json_sprintf("%s > %s %s", from, to, protocol), "source", source, "destination",
		destination, "protocol", protocol, "source_port",
		number_or_null(parts->source_port), "destination_port",
		number_or_null(parts->destination_port));
}

json_t *talker_key_json(const struct talker_key *key, const struct talker_by *by)
{
	char source[TEXT_MOST], destination[TEXT_MOST];
	struct parts parts;
	json_t *json;

	memcpy(&parts, key, sizeof(parts));
	write_address(source, &parts, parts.source, by);
	write_address(destination, &parts, parts.destination, by);
	if (by->ports)
		json = flow_json(&parts, source, destination);
	else if (by->source)
		json = json_pack("{s:s, s:s}", "talker", source, "source", source);
	else
		json = json_pack("{s:s, s:s}", "talker", destination, "destination", destination);
	json_object_set_new(
		json, "vlan", parts.vlan == NO_VLAN ? json_null() : json_integer(parts.vlan));
	return json;
}
