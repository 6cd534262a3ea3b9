/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Policies whose meter gives colours (METER_COLOURS): their state on a worker in addition to struct
 * policy_extended, which has the committed bucket and the profile of both.
 */
#include "police/coloured.h"

#include <string.h>

/* The profile of each kind with colours begins here. */
static struct colour_profile *profile_of(struct policy_extended *other)
{
	return &other->profile.trtcm;
}

void coloured_init(struct policy_extended *other, const struct policy *policy, uint64_t now)
{
	struct coloured *coloured = police_coloured(other);
	const struct colours_config *colours = &policy->colours;

	*coloured = (struct coloured){.aware = colours->aware};
	for (unsigned c = 0; c < COLOURS; c++) {
		coloured->action[c] = (uint8_t)colours->actions[c].action;
		coloured->mark[c] = (int8_t)colours->actions[c].mark;
	}
	memcpy(coloured->of_dscp, colours->of_dscp, sizeof(coloured->of_dscp));
	other->coloured = true;
	colours_init(&other->meter.bucket, &coloured->second, profile_of(other), now);
}

void coloured_spend(struct policy_extended *other, uint64_t now)
{
	struct coloured *coloured = police_coloured(other);

	colours_refill(
		other->kind, &other->meter.bucket, &coloured->second, profile_of(other), now);
	other->meter.bucket.tokens = 0;
	coloured->second.tokens = 0;
}

bool coloured_passes(
	struct policy_extended *other, const struct packet *packet, uint32_t units, uint64_t now)
{
	struct coloured *coloured = police_coloured(other);
	enum colour incoming = COLOUR_GREEN, colour;

	if (coloured->aware)
		incoming = (enum colour)coloured->of_dscp[packet->dscp];
	colour = colour_packet(other->kind, &other->meter.bucket, &coloured->second,
		profile_of(other), now, units << other->unit_bits, incoming);
	counter_add(&coloured->counts[colour].packets, 1);
	counter_add(&coloured->counts[colour].bytes, units);
	coloured->colour = (uint8_t)colour;
	other->action = coloured->action[colour];
	other->mark = coloured->mark[colour];
	if (other->action != ACTION_PASS)
		return false;
	if (colour != COLOUR_GREEN)
		counter_add(&coloured->beyond, 1);
	return true;
}

enum colour coloured_last(const struct policy_extended *other)
{
	const struct coloured *coloured = (const struct coloured *)(other + 1);

	return (enum colour)coloured->colour;
}

void coloured_limit(
	struct policy_extended *other, const struct colour_profile *profile, uint64_t now)
{
	colours_change(other->kind, &other->meter.bucket, &police_coloured(other)->second,
		profile_of(other), profile, now);
}
