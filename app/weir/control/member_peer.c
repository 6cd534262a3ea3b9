/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Converts members of the group to limiters of the roster, and back.
 */
#include "gossip_socket.h"

#include <string.h>

#include <netinet/in.h>

_Static_assert(MEMBER_NAME_MAX == CONFIG_NAME_MAX && MEMBER_KEY == CONFIG_PUBLIC_KEY,
	"a member has the same name and key in both");

struct member_address member_address_of(const struct peer_config *peer)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&peer->address;
	const struct sockaddr_in *in = (const struct sockaddr_in *)&peer->address;
	struct member_address address = {.family = 4, .port = ntohs(in->sin_port)};

	if (peer->address.ss_family == AF_INET6) {
		address.family = 6;
		address.port = ntohs(in6->sin6_port);
		memcpy(address.bytes, &in6->sin6_addr, sizeof(in6->sin6_addr));
	} else {
		memcpy(address.bytes, &in->sin_addr, sizeof(in->sin_addr));
	}
	return address;
}

const uint8_t *peer_key(const struct peer_config *peer)
{
	static const uint8_t none[CONFIG_PUBLIC_KEY];

	return memcmp(peer->public_key, none, sizeof(none)) == 0 ? NULL : peer->public_key;
}

struct peer_config peer_of_member(const struct member_entry *member)
{
	struct peer_config peer = {0};
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)&peer.address;
	struct sockaddr_in *in = (struct sockaddr_in *)&peer.address;

	memcpy(peer.name, member->name, sizeof(peer.name));
	if (member->has_key)
		memcpy(peer.public_key, member->public_key, sizeof(peer.public_key));
	if (member->address.family == 6) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = htons(member->address.port);
		memcpy(&in6->sin6_addr, member->address.bytes, sizeof(in6->sin6_addr));
		peer.address_len = sizeof(*in6);
	} else {
		in->sin_family = AF_INET;
		in->sin_port = htons(member->address.port);
		memcpy(&in->sin_addr, member->address.bytes, sizeof(in->sin_addr));
		peer.address_len = sizeof(*in);
	}
	return peer;
}
