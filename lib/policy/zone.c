/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "policy/zone.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/wire.h"
#include "policy/zone_rule.h"

/*
 * A file has two blocks, each with a header: one of 32-bit times, for old readers, and one of
 * 64-bit times. The rule follows, between two newlines.
 */
#define HEADER    44
#define AT_COUNTS 20
#define TYPE      6 /* bytes: offset (4), is it summer time (1), index of its name (1) */
#define RULE_MAX  128

/* No zone had 1,000 transitions in a thousand years. The index of a type is one byte. */
#define TIMES_MOST 2000
#define TYPES_MOST 256

/* No offset is more than a week. */
#define OFFSET_MOST (7 * 86400)

struct transition {
	int64_t at;
	int32_t offset_s; /* from then on */
};

struct zone {
	char name[ZONE_NAME_MAX];
	char text[RULE_MAX]; /* the rule as text */
	bool ruled;
	struct zone_rule rule;
	int32_t first_s; /* before the first transition */
	unsigned n;
	struct transition transitions[];
};

/* Numbers of entries in a block, in the order of the header. */
struct counts {
	uint32_t utc, standard, leaps, times, types, chars;
};

bool zone_name_valid(const char *name)
{
	size_t len = strlen(name);
	char before = '/';

	if (len == 0 || len >= ZONE_NAME_MAX || name[len - 1] == '/')
		return false;
	for (const char *at = name; *at; before = *at++)
		if (!isalnum((unsigned char)*at) && !strchr("_+-", *at) &&
			(*at != '/' || before == '/'))
			return false;
	return true;
}

static int read_header(const uint8_t *at, size_t len, struct counts *counts)
{
	if (len < HEADER || memcmp(at, "TZif", 4) != 0 || at[4] < '2')
		return -EINVAL;
	at = wire_get32(at + AT_COUNTS, &counts->utc);
	at = wire_get32(at, &counts->standard);
	at = wire_get32(at, &counts->leaps);
	at = wire_get32(at, &counts->times);
	at = wire_get32(at, &counts->types);
	wire_get32(at, &counts->chars);
	if (counts->times > TIMES_MOST || counts->types > TYPES_MOST || counts->types == 0 ||
		counts->chars > ZONE_FILE_MAX || counts->leaps > ZONE_FILE_MAX ||
		counts->utc > TYPES_MOST || counts->standard > TYPES_MOST)
		return -EINVAL;
	return 0;
}

static size_t block_bytes(const struct counts *c, size_t time)
{
	return c->times * (time + 1) + c->types * TYPE + c->chars + c->leaps * (time + 4) +
	       c->standard + c->utc;
}

static int read_offset(const uint8_t *types, uint32_t n, unsigned type, int32_t *out)
{
	uint32_t value;

	if (type >= n)
		return -EINVAL;
	wire_get32(types + (size_t)type * TYPE, &value);
	*out = (int32_t)value;
	return *out < -OFFSET_MOST || *out > OFFSET_MOST ? -EINVAL : 0;
}

/* Reads the block of 64-bit times. The caller has checked its length. */
static int read_transitions(struct zone *zone, const uint8_t *at, const struct counts *counts)
{
	const uint8_t *kinds = at + (size_t)counts->times * 8, *types = kinds + counts->times;
	int ret = read_offset(types, counts->types, 0, &zone->first_s);

	for (uint32_t i = 0; ret == 0 && i < counts->times; i++) {
		struct transition *next = &zone->transitions[i];
		uint64_t time;

		at = wire_get64(at, &time);
		next->at = (int64_t)time;
		ret = read_offset(types, counts->types, kinds[i], &next->offset_s);
		if (i > 0 && next->at <= next[-1].at)
			ret = -EINVAL;
	}
	zone->n = counts->times;
	return ret;
}

/* Reads the rule between newlines. An empty one gives no information after the last transition. */
static int read_rule(struct zone *zone, const uint8_t *at, size_t len)
{
	const uint8_t *end = len > 1 && at[0] == '\n' ? memchr(at + 1, '\n', len - 1) : NULL;
	size_t n = end ? (size_t)(end - at - 1) : 0;

	if (!end || n >= sizeof(zone->text) || memchr(at, '\0', n + 1))
		return -EINVAL;
	memcpy(zone->text, at + 1, n);
	zone->ruled = n > 0;
	return zone->ruled ? zone_rule_parse(zone->text, &zone->rule) : 0;
}

/* Parses the file after the first block. */
static int parse_second(const uint8_t *at, size_t len, const char *name, struct zone **out)
{
	struct counts counts;
	int ret = read_header(at, len, &counts);
	struct zone *zone;

	if (ret || counts.leaps || block_bytes(&counts, 8) > len - HEADER)
		return -EINVAL;
	zone = calloc(1, sizeof(*zone) + counts.times * sizeof(zone->transitions[0]));
	if (!zone)
		return -ENOMEM;
	at += HEADER;
	len -= HEADER;
	snprintf(zone->name, sizeof(zone->name), "%s", name);
	ret = read_transitions(zone, at, &counts);
	if (ret == 0)
		ret = read_rule(zone, at + block_bytes(&counts, 8), len - block_bytes(&counts, 8));
	if (ret)
		zone_free(zone);
	else
		*out = zone;
	return ret;
}

int zone_parse(const uint8_t *bytes, size_t len, const char *name, struct zone **out)
{
	struct counts counts;
	size_t first;

	*out = NULL;
	if (read_header(bytes, len, &counts))
		return -EINVAL;
	first = HEADER + block_bytes(&counts, 4);
	return first > len ? -EINVAL : parse_second(bytes + first, len - first, name, out);
}

void zone_free(struct zone *zone)
{
	free(zone);
}

const char *zone_name(const struct zone *zone)
{
	return zone->name;
}

/* Returns the index of the first transition later than a time, or n. */
static unsigned next_transition(const struct zone *zone, int64_t unix_s)
{
	unsigned low = 0, high = zone->n;

	while (low < high) {
		unsigned middle = low + (high - low) / 2;

		if (zone->transitions[middle].at <= unix_s)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct zone_span zone_at(const struct zone *zone, int64_t unix_s)
{
	unsigned next = next_transition(zone, unix_s);
	struct zone_span span = {.until = ZONE_NEVER};

	if (next == zone->n && zone->ruled) {
		span.offset_s = zone_rule_at(&zone->rule, unix_s, &span.until);
		return span;
	}
	span.offset_s = next > 0 ? zone->transitions[next - 1].offset_s : zone->first_s;
	if (next < zone->n)
		span.until = zone->transitions[next].at;
	return span;
}

char *zone_format(const struct zone *zone, int64_t unix_s, char *buf)
{
	int32_t offset_s = zone ? zone_at(zone, unix_s).offset_s : 0;
	time_t local = (time_t)(unix_s + offset_s);
	unsigned ahead = (unsigned)(offset_s < 0 ? -offset_s : offset_s);
	struct tm tm;
	size_t len;

	if (!gmtime_r(&local, &tm)) {
		snprintf(buf, ZONE_TEXT_MAX, "-");
		return buf;
	}
	len = strftime(buf, ZONE_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &tm);
	if (zone)
		snprintf(buf + len, ZONE_TEXT_MAX - len, "%c%02u:%02u", offset_s < 0 ? '-' : '+',
			ahead / 3600, ahead / 60 % 60);
	else
		snprintf(buf + len, ZONE_TEXT_MAX - len, "Z");
	return buf;
}

uint64_t zone_digest(const struct zone *zone)
{
	uint64_t hash = hash64_step(HASH64_BASIS, name_hash(zone->name));

	hash = hash64_step(hash, name_hash(zone->text));
	return hash ? hash : 1;
}
