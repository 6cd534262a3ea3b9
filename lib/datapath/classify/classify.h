/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Packet → policy. The most specific match wins, whichever of its policy's it is; and what "most
 * specific" means is an order that an operator can do in the head: the longest destination prefix;
 * among equals the longest source prefix; then a named VLAN; then a named DSCP; then a named
 * protocol; then the narrower range of destination ports, then of source ports; then a named wire;
 * then a named direction; then the first in the file.
 *
 * Built by control (allocates; EAL must be up; no lcore is needed), read by workers, never changed
 * in between: another one is built aside and exchanged by its pointer.
 */
#ifndef WEIR_CLASSIFY_CLASSIFY_H
#define WEIR_CLASSIFY_CLASSIFY_H

#include <stdint.h>

#include "packet/parse.h"
#include "policy/policy.h"

/*
 * Where the parser does not understand a packet wholly (packet->unknown), something that policies
 * ask for is not known. "Could match" are those policies that match by all that is known, in the
 * order above, down to the first that asks for nothing else: no later one would be reached. The
 * strictest of these is its policy; between equals, the more specific.
 *
 * Strictness: what drops, or lets wait, what does not conform is stricter than what marks, and that
 * than what only counts. Among these, the stricter is that whose limit takes longer to earn back
 * what one packet of 1500 bytes costs: 12000 bits, one packet, or one flow. A packet that can begin
 * no flow costs a limit of flows nothing, and such a policy is the least strict of its kind. The
 * limit is that of the configuration, over all limiters; with "per" that of one source; of a total
 * what it allows a second in its period (30 days, if it has none or is a month), and what passes
 * beyond it.
 *
 * Where not even the addresses are known (PACKET_UNKNOWN_ADDRESS), policies that could match are
 * those of the outermost headers; if there is none, the packet is refused.
 */

#define CLASSIFY_LINE 64         /* bytes that a caller may have of each policy, see frames.h */
#define CLASSIFY_NONE UINT32_MAX /* no policy: the packet passes untouched */

struct classifier;

/*
 * Returns 0, -ENOMEM, or -E2BIG for more than 2 million matches. socket: NUMA node or -1. A match
 * takes 64 bytes, and a policy 12; IPv4 prefixes take what fib4.h says, for destinations and for
 * sources; an IPv6 prefix takes 45 to 65 bytes, and its markers too (lpm6.h). Any thread, also one
 * that is none of EAL's.
 */
int classifier_create(
	const struct policy *policies, unsigned n_policies, int socket, struct classifier **out);

/* classifier_create(), but that the answer for policy i is answers[i], below 2^30, and not i. */
int classifier_create_as(const struct policy *policies, const uint32_t *answers,
	unsigned n_policies, int socket, struct classifier **out);

/*
 * What becomes of packets that are not understood; UNPARSED_STRICT unless this is said. Control,
 * before a worker sees the classifier.
 */
void classifier_set_unparsed(struct classifier *classifier, enum unparsed_action action);

/*
 * Wires, a bit each, on which packets that no policy takes do not pass, but for what the ends of a
 * link say to each other (packet/of_link.h); none unless this is said. Control, before a worker
 * sees the classifier.
 */
void classifier_set_drops(struct classifier *classifier, uint32_t wires);
uint32_t classifier_drops(const struct classifier *classifier);

void classifier_destroy(struct classifier *classifier);

/*
 * The policy of each of n (at most 64) packets that are parsed already; frames.h has the fast way
 * for those that are not. An index, or CLASSIFY_NONE. All received on one wire in one direction.
 * data[i] is the start of packet i, where packets[i].src_off and dst_off point into. Returns those
 * that are not to pass, a bit each: they have no policy, and are not understood, or their wire's
 * default is to drop them. Worker lcores; no lock, no allocation.
 */
uint64_t classify_burst(const struct classifier *classifier, unsigned wire,
	enum direction direction, const struct packet *packets, const uint8_t *const *data,
	unsigned n, uint32_t *policies);

#endif
