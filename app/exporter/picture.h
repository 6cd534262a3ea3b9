/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The data that the page shows: all limiters together, each limiter, and one policy at a time.
 * Rates are differences between two rounds. Only page/weir.js reads this JSON.
 */
#ifndef WEIR_EXPORTER_PICTURE_H
#define WEIR_EXPORTER_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "boxes.h"

struct picture;

/* Returns NULL without memory. */
struct picture *picture_new(void);
void picture_free(struct picture *picture);

/* Takes ownership of a round. Rates are since the previous one. */
void picture_take(struct picture *picture, struct boxes *boxes);

/* Returns the last round, or NULL. Borrowed. */
struct boxes *picture_boxes(const struct picture *picture);

/* Forgets all but the last round: there are no rates until the next one. */
void picture_forget(struct picture *picture);

/* Returns whether there is a previous round. */
bool picture_has_rates(const struct picture *picture);

/*
 * Returns the page's overview of the limiters without their policies: "limiters", "drops" by reason
 * and "peers". Rates are since `before`, which can be NULL.
 */
json_t *overview_json(const struct boxes *now, const struct boxes *before);

/* Returns limiters, drops by reason, peers, and policies that drop. */
json_t *picture_group(struct picture *picture);

/* Returns one policy at each limiter, also at those that only peers report. null: none has it. */
json_t *picture_policy(struct picture *picture, const char *name);

/*
 * Returns the policy to show: the one that drops most, otherwise the one that passes most,
 * otherwise the first. NULL: none.
 */
const char *picture_choice(struct picture *picture);

/* Returns whether the policy drops now. */
bool picture_is_dropping(struct picture *picture, const char *name);

/* Returns policies whose names contain the words, in any case. The first drops most. */
json_t *picture_find(struct picture *picture, const char *words, size_t most);

#endif
