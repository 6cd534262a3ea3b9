/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A flow specification and its actions as a policy. Private to this room.
 */
#ifndef WEIR_IMPORT_FLOWSPEC_RULE_H
#define WEIR_IMPORT_FLOWSPEC_RULE_H

#include <stdint.h>

#include "import/flowspec_match.h"
#include "policy/config.h"

/*
 * What is done with the rule's packets: by the attributes of the update, as exabgp writes them. 0,
 * and the keys of a policy but for its name and match in *policy, and in *strictness the bit/s that
 * pass; -EINVAL and why; -ENOMEM.
 */
int flowspec_actions(
	const json_t *attributes, json_t **policy, uint64_t *strictness, char why[FLOWSPEC_WHY]);

/* The bit/s that a policy made so passes, as *strictness above. */
uint64_t flowspec_passes(const json_t *policy);

/* The name that the rule's policy has everywhere: of what it matches, and nothing else. */
void flowspec_name(const json_t *rule, bool ipv6, const char *prefix, char name[CONFIG_NAME_MAX]);

#endif
