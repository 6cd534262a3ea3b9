/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the page shows: the limiters together and each, and one policy at a time, with rates, which
 * are the differences of two gatherings. What it writes is read by page/weir.js alone.
 */
#ifndef WEIR_EXPORTER_PICTURE_H
#define WEIR_EXPORTER_PICTURE_H

#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "boxes.h"

struct picture;

/* NULL without memory. */
struct picture *picture_new(void);
void picture_free(struct picture *picture);

/* Takes over what was gathered; rates are those since what was taken before. */
void picture_take(struct picture *picture, struct boxes *boxes);

/* What was taken last, or NULL. Borrowed. */
struct boxes *picture_boxes(const struct picture *picture);

/* Forgets all but that: there are no rates until something else is taken. */
void picture_forget(struct picture *picture);

/* Whether something was taken before that, too. */
bool picture_has_rates(const struct picture *picture);

/* Limiters, drops by reason, peers, and who is held back. */
json_t *picture_group(struct picture *picture);

/* One policy at each limiter, those included of which there is only gossip; null: nobody has it. */
json_t *picture_policy(struct picture *picture, const char *name);

/* Which policy to look at: what drops most, else passes most, else is the first; NULL: none. */
const char *picture_choice(struct picture *picture);

/* Whether the policy drops now. */
bool picture_is_dropping(struct picture *picture, const char *name);

/* Policies whose names have the words in them, in any case: those that drop most first. */
json_t *picture_find(struct picture *picture, const char *words, size_t most);

#endif
