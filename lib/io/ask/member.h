/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_ASK_MEMBER_H
#define WEIR_ASK_MEMBER_H

#include <jansson.h>

/*
 * Returns the value at a path of members such as "dropped.packets", the outermost first. NULL if it
 * is missing or null. Borrowed.
 */
const json_t *member_at(const json_t *json, const char *path);

#endif
