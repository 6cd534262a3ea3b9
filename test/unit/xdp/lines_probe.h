/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Shared by lines_probe.bpf.c and its user.
 */
#ifndef WEIR_TEST_LINES_PROBE_H
#define WEIR_TEST_LINES_PROBE_H

#include "plane_facts.h"

struct lines_probe {
	__u32 wire, direction; /* in: where the frame was received */
	__u32 parsed;          /* out: enum plane_parsed */
	__u32 answer;
	struct plane_facts facts;
};

#endif
