/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A flow specification as matches of a policy that take the same packets: neither more nor fewer.
 * Private to this room.
 */
#ifndef WEIR_IMPORT_FLOWSPEC_MATCH_H
#define WEIR_IMPORT_FLOWSPEC_MATCH_H

#include <stdbool.h>

#include <jansson.h>

#define FLOWSPEC_WHY          128
#define FLOWSPEC_MATCHES_MOST 64 /* of one rule */

/*
 * A match for the components that exabgp lists of a rule: 0 and a new object, or an array of them;
 * -EINVAL: no match takes just these packets, for the reason in `why`; -ENOMEM.
 */
int flowspec_match(const json_t *rule, bool ipv6, json_t **match, char why[FLOWSPEC_WHY]);

/* Whether a member of a rule is no component of it: what it is called, where it leads to. */
bool flowspec_is_remark(const char *member);

#endif
