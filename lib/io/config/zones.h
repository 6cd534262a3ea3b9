/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Private to this room: the zones that schedules name, from tzdata's folder.
 */
#ifndef WEIR_CONFIG_ZONES_H
#define WEIR_CONFIG_ZONES_H

#include "json/read.h"
#include "policy/config.h"

#define EXPECTED_ZONE "a time zone such as \"Europe/Berlin\" or \"UTC\""

/* Sets the zone of each schedule, and reads each zone once; reports missing ones. */
void zones_complete(struct reader *reader, struct config *config);
void zones_free(struct config *config);

#endif
