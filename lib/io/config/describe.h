/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Describes a configuration in words. Private to this room, except config_describe(). Each function
 * writes whole lines to out.
 */
#ifndef WEIR_CONFIG_DESCRIBE_H
#define WEIR_CONFIG_DESCRIBE_H

#include "policy/config.h"

/* Describes the effect of this configuration on a limiter (`weir --check`). */
void config_describe(const struct config *config, FILE *out);

/*
 * Write a part of the limit, or units in the policy's unit, into buf (UNITS_TEXT_MAX); return buf.
 */
char *format_limit(const struct policy *policy, unsigned parts, char *buf, size_t size);
char *format_units(const struct policy *policy, uint64_t units, char *buf, size_t size);

/* Returns the quantity that a rate or a quota counts, for comparison with another meter. */
const char *counting_words(const struct policy *policy);

/* Writes a part of a line, such as "is dropped". */
void describe_action(const struct policy *policy, FILE *out);

/* Describes the place where sources are decided, for a policy with an objective. */
void describe_place(const struct config *config, const struct policy *policy, FILE *out);

/* Describe the guarantee of a limit over n limiters, and this limiter's share. */
void describe_guarantee(const struct policy *policy, unsigned n, FILE *out);
void describe_share(const struct policy *policy, unsigned n, FILE *out);

/* Describes a quota: its total, and the traffic that passes after it is spent. */
void describe_quota(const struct policy *policy, unsigned n, FILE *out);

/* Describes the treatment of a wire's packets that match no policy. */
void describe_otherwise(const struct config *config, const struct wire *wire, FILE *out);

/* Describes the treatment of a wire's packets while Weir does not run. */
void describe_fail(const struct config *config, const struct wire *wire, FILE *out);

/* Describes "ledger", if any policy needs it. */
void describe_ledger(const struct config *config, FILE *out);

#endif
