/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Maps packets to policies. The most specific match wins, among all matches of all policies. An
 * operator can work out the order without a tool. The longest destination prefix comes first, then
 * the longest source prefix. Between equals, these decide in turn: a named VLAN; a named DSCP; a
 * named protocol; the narrower range of destination ports, then of source ports. The last are a
 * named wire, a named direction and the place in the file.
 *
 * Control builds a classifier (it allocates; EAL must be up; no lcore is needed). Workers read it.
 * It never changes: control builds a new one and exchanges the pointer.
 */
#ifndef WEIR_CLASSIFY_CLASSIFY_H
#define WEIR_CLASSIFY_CLASSIFY_H

#include <stdint.h>

#include "packet/parse.h"
#include "policy/policy.h"

/*
 * Packets that the parser does not fully understand have unknown fields (packet->unknown). Such a
 * packet gets the strictest policy that could match it. A policy could match if all fields but the
 * unknown ones match. In the order above, the search ends at the first policy that needs no unknown
 * field, because no later one would be reached. Between equally strict policies, the more specific
 * one wins.
 *
 * Strictness depends on the action first. Dropping or delaying nonconforming packets is stricter
 * than marking them, which is stricter than counting only. With equal actions, the stricter policy
 * is the one whose limit takes longer to earn the cost of one packet of 1500 bytes: 12000 bits, one
 * packet, or one flow. A packet that cannot begin a flow costs nothing at a limit of flows, so such
 * a policy is the least strict of its kind. The limit is the configured one of all limiters
 * together; with "per", that of one source. The limit of a total is its average per second over its
 * period (30 days for a month or without a period), plus the rate that passes beyond it.
 *
 * If the addresses are unknown (PACKET_UNKNOWN_ADDRESS), the outermost headers decide which
 * policies could match. If there is none, the packet is refused.
 */

#define CLASSIFY_LINE 64         /* bytes per policy that a caller can prefetch, see frames.h */
#define CLASSIFY_NONE UINT32_MAX /* no policy: the packet passes untouched */

struct classifier;

/*
 * Creates a classifier. Returns 0, -ENOMEM, or -E2BIG for more than 2 million matches. socket: NUMA
 * node or -1. Memory: 64 bytes per match, 12 per policy; IPv4 prefixes as in fib4.h, once for
 * destinations and once for sources; 45 to 65 bytes per IPv6 prefix, and the same per marker
 * (lpm6.h). Any thread, also one outside EAL.
 */
int classifier_create(
	const struct policy *policies, unsigned n_policies, int socket, struct classifier **out);

/* classifier_create(), except that the answer for policy i is answers[i], which is below 2^30. */
int classifier_create_as(const struct policy *policies, const uint32_t *answers,
	unsigned n_policies, int socket, struct classifier **out);

/*
 * Sets the action for packets that are not fully parsed. Default: UNPARSED_STRICT. Control, before
 * a worker sees the classifier.
 */
void classifier_set_unparsed(struct classifier *classifier, enum unparsed_action action);

/*
 * Sets the wires (a bit each) that drop packets without a policy, except protocols between the two
 * ends of a link, packet_is_of_link(). Default: none. Control, before a worker sees the classifier.
 */
void classifier_set_drops(struct classifier *classifier, uint32_t wires);
uint32_t classifier_drops(const struct classifier *classifier);

void classifier_destroy(struct classifier *classifier);

/*
 * Finds the policy of each of n parsed packets, at most 64. For frames that are not parsed,
 * frames.h is faster. policies[i] is an index or CLASSIFY_NONE. All packets were received on one
 * wire in one direction. data[i] is the start of packet i; packets[i].src_off and dst_off are
 * offsets in it. Returns a bitmap of packets to drop: they have no policy, and either are not fully
 * parsed or their wire drops packets without a policy. Worker lcores; no lock, no allocation.
 */
uint64_t classify_burst(const struct classifier *classifier, unsigned wire,
	enum direction direction, const struct packet *packets, const uint8_t *const *data,
	unsigned n, uint32_t *policies);

#endif
