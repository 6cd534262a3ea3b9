/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A packet of a policy that is below others (policy/kind.h, policy_has_parent()): a client in a
 * customer in a link.
 */
#include "police/lineage.h"

#include "source/source_table.h"

void police_lineage_source(
	struct lineage *lineage, const struct packet *packet, const uint8_t *data, uint64_t now)
{
	struct policy_state *leaf = lineage->levels[0];
	struct policy_extended *other = leaf->other;
	unsigned bits = police_source_bits(leaf, packet);

	lineage->at = gcra_now(&other->profile.gcra, now);
	lineage->source = &other->meter.gcra;
	if (bits)
		lineage->source = source_table_meter(other->sources, &other->profile,
			source_hash(other->sources, data + packet->src_off, packet->family, bits),
			now);
}
