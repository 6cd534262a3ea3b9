/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Frames that a device has merged or cut, and frames that are too long for the ports of the wire.
 * The worker's own thread.
 */
#ifndef WEIR_APP_ALTERED_H
#define WEIR_APP_ALTERED_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_common.h>

#include "drop/drop_reason.h"
#include "rx_burst.h"
#include "worker_data.h"

/* Returns the reason to drop a gathered frame for any policy, or DROP_REASONS. */
enum drop_reason altered_frame(const struct path *path, const struct rx_burst *burst, uint16_t i);

/* Drops and counts these frames. Gathers the others again and returns their number. */
uint16_t altered_drop(struct worker *worker, struct path *path, struct rx_burst *burst, uint16_t n);

static inline uint32_t altered_frame_max(const struct path *path)
{
	return __atomic_load_n(&path->frame_max, __ATOMIC_RELAXED);
}

/*
 * Returns false if a gathered burst has no such frame for sure. The compiler finds the longest
 * frame with vectors; a comparison for each frame would be a branch.
 */
static inline bool altered_is_possible(
	const struct path *path, const struct rx_burst *burst, uint16_t n)
{
	uint32_t longest = 0;

	if (path->cuts)
		return true;
	for (uint16_t i = 0; i < n; i++)
		longest = RTE_MAX(longest, burst->len[i]);
	return longest > altered_frame_max(path);
}

#endif
