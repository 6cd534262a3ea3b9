/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Files of tzdata for tests: one transition or none, and a rule.
 */
#ifndef TEST_MADE_ZONE_H
#define TEST_MADE_ZONE_H

#include <string.h>

#include "base/wire.h"
#include "policy/zone.h"

struct made_zone {
	uint8_t bytes[512];
	size_t len;
};

/*
 * Writes a header of so many times and types; the version is '2' in all files that are to be read.
 */
static inline uint8_t *made_header(uint8_t *at, char version, uint32_t times, uint32_t types)
{
	memcpy(at, "TZif", 4);
	memset(at + 4, 0, 28);
	at[4] = (uint8_t)version;
	at = wire_put32(at + 32, times);
	at = wire_put32(at, types);
	return wire_put32(at, 4);
}

static inline uint8_t *made_types(uint8_t *at, uint32_t types, int32_t first_s, int32_t second_s)
{
	for (uint32_t i = 0; i < types; i++) {
		at = wire_put32(at, (uint32_t)(i ? second_s : first_s));
		*at++ = 0;
		*at++ = 0;
	}
	memcpy(at, "LMT", 4);
	return at + 4;
}

/* A zone with one offset up to a time, then another, then the rule. */
static inline struct made_zone make_zone(
	const char *rule, int64_t at_s, int32_t first_s, int32_t second_s)
{
	struct made_zone zone;
	uint8_t *at = made_types(made_header(zone.bytes, '2', 0, 1), 1, first_s, 0);

	at = made_header(at, '2', 1, 2);
	at = wire_put64(at, (uint64_t)at_s);
	*at++ = 1;
	at = made_types(at, 2, first_s, second_s);
	*at++ = '\n';
	memcpy(at, rule, strlen(rule));
	at += strlen(rule);
	*at++ = '\n';
	zone.len = (size_t)(at - zone.bytes);
	return zone;
}

#endif
