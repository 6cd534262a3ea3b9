/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What the files that show the box as JSON share: pages, and a policy's units.
 */
#ifndef WEIR_APP_SHOW_JSON_H
#define WEIR_APP_SHOW_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "base/time.h"
#include "policy/config.h"

struct box;

static inline json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* Milliseconds since then, or null. */
static inline json_t *age_ms(bool known, uint64_t then, uint64_t now)
{
	return known ? integer((now - then) / MS_NS) : json_null();
}

/* A page's first index: absent is 0; false for anything but digits, which is no page. */
bool show_page_start(const char *params, unsigned *start);

/* Where a listing is: "next" is the parameter of the next page, or null. Takes `items`. */
json_t *show_page(const char *what, json_t *items, unsigned start, unsigned total);

/* Index of the policy in force, or n_policies. */
unsigned show_find(const struct box *box, const char *name);

/* "bytes", "packets" or "flows". */
const char *show_counting(enum counting count);

/*
 * A rate of the policy's: NAME_bps, or NAME_per_s of packets or flows. Given in units a second; NAN
 * is null.
 */
void show_rate(json_t *json, const struct policy *policy, const char *name, double rate);

/* A number of its units: NAME_bytes, or NAME. */
void show_units(json_t *json, const struct policy *policy, const char *name, uint64_t units);

#endif
