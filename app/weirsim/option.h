/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the commands of weirsim say of an option that makes no sense.
 */
#ifndef WEIRSIM_OPTION_H
#define WEIRSIM_OPTION_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The number that `text` is, from least to most, which is all that it may hold. False, and said on
 * standard error, if it is none: `--seeds: "x": expected 1 to 100`.
 */
bool option_number(
	const char *name, const char *text, uint64_t least, uint64_t most, uint64_t *out);

#endif
