/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Rules of the same prefixes that may take the same packet: which one has it is decided otherwise
 * by RFC 8955, 5.1, than by Weir. Private to this room.
 */
#ifndef WEIR_IMPORT_FLOWSPEC_OVERLAP_H
#define WEIR_IMPORT_FLOWSPEC_OVERLAP_H

#include <stdbool.h>

#include <jansson.h>

/* The addresses of a policy that flowspec_match() has made the match of, for free(). */
char *flowspec_prefixes(const json_t *policy);

/* Whether a packet that has what both name besides may be of both. */
bool flowspec_overlap(const json_t *policy, const json_t *other);

#endif
