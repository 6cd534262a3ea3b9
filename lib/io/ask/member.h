/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#ifndef WEIR_ASK_MEMBER_H
#define WEIR_ASK_MEMBER_H

#include <jansson.h>

/*
 * What a path of members leads to, from the outermost: "dropped.packets". NULL when it is not there,
 * or null. Borrowed.
 */
const json_t *member_at(const json_t *json, const char *path);

#endif
