/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A time zone, as tzdata's compiled files describe it (TZif, RFC 8536): how far its clocks are
 * ahead of UTC at any moment. The C library knows zones only through TZ, one for the whole process,
 * which is why they are read here. What comes behind a file's transitions is by the rule at its end
 * (a TZ string of POSIX), so that a file from today answers for all years to come. Times are Unix
 * time, without leap seconds. Pure; any thread.
 */
#ifndef WEIR_POLICY_ZONE_H
#define WEIR_POLICY_ZONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ZONE_NAME_MAX 64 /* bytes of a name, with the terminator */
#define ZONE_NEVER    INT64_MAX

/* Bytes of a file of tzdata; the largest one has less than 4 KiB. */
#define ZONE_FILE_MAX (256U << 10)

struct zone;

/*
 * Whether it may be the name of a zone, "Europe/Berlin": letters, digits, "_", "-", "+" and one "/"
 * after another, so that it leads to no file elsewhere.
 */
bool zone_name_valid(const char *name);

/*
 * Reads the contents of a file. 0 and a zone for zone_free(); -EINVAL: it is none, or one with leap
 * seconds, or of the first version, which ends in 2037; -ENOMEM.
 */
int zone_parse(const uint8_t *bytes, size_t len, const char *name, struct zone **out);
void zone_free(struct zone *zone);

const char *zone_name(const struct zone *zone);

/* For how long a zone is by so many seconds ahead of UTC. */
struct zone_span {
	int32_t offset_s;
	int64_t until; /* later than the time asked for; it may be the same offset from then on */
};

struct zone_span zone_at(const struct zone *zone, int64_t unix_s);

/* "2026-11-23T18:00:00+01:00", in UTC without a zone, into buf (at least ZONE_TEXT_MAX). */
#define ZONE_TEXT_MAX 40
char *zone_format(const struct zone *zone, int64_t unix_s, char *buf);

/* A hash of its name and of the rule that holds in the years to come. Never 0. */
uint64_t zone_digest(const struct zone *zone);

#endif
