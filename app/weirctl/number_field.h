/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The numbers of a policy (numbers/number_table.h) as columns of lists and rows of detail views.
 */
#ifndef WEIR_WEIRCTL_NUMBER_FIELD_H
#define WEIR_WEIRCTL_NUMBER_FIELD_H

#include "field.h"
#include "numbers/policy_number.h"

/* The column of a number in a list of policies, with its head in the table. */
struct field number_field(enum policy_number_id number);

/* The rate of a counter of packets, "passed_pps": its head is empty, next to the rate in units. */
extern const struct field number_pps_fields[POLICY_NUMBER_ROWS];

/* Adds a table: the numbers of one policy, with their labels. 0 or -ENOMEM. */
int numbers_detail(const json_t *policy, struct view *view);

/*
 * Converts a row of /weir/policy_stats, with the names of its columns, to the members that
 * /weir/policy has. An object has only its own name there: "parent" is a text.
 */
json_t *numbers_of_row(const json_t *row);

#endif
