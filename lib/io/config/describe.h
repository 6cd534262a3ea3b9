/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * What a configuration means, in words, and the parts of that, which are private to this room. Each
 * writes whole lines to out.
 */
#ifndef WEIR_CONFIG_DESCRIBE_H
#define WEIR_CONFIG_DESCRIBE_H

#include "policy/config.h"

/* Says in words what a limiter with this configuration would do (`weir --check`). */
void config_describe(const struct config *config, FILE *out);

/* One of so many parts of its limit; its units: in the policy's unit, into buf (UNITS_TEXT_MAX). */
char *format_limit(const struct policy *policy, unsigned parts, char *buf, size_t size);
char *format_units(const struct policy *policy, uint64_t units, char *buf, size_t size);

/* What a rate or a total counts, for people who compare it with another meter. */
const char *counting_words(const struct policy *policy);

/* "is dropped", in the middle of a line. */
void describe_action(const struct policy *policy, FILE *out);

/* Where its sources are decided, of a policy that has an objective. */
void describe_place(const struct config *config, const struct policy *policy, FILE *out);

/* What holds of a limit over n limiters, and what of it is here. */
void describe_guarantee(const struct policy *policy, unsigned n, FILE *out);
void describe_share(const struct policy *policy, unsigned n, FILE *out);

/* A quota: its total, and what passes then. */
void describe_quota(const struct policy *policy, unsigned n, FILE *out);

/* What becomes of a wire's packets that no policy takes. */
void describe_otherwise(const struct config *config, const struct wire *wire, FILE *out);

/* What becomes of a wire's packets while Weir is away. */
void describe_fail(const struct config *config, const struct wire *wire, FILE *out);

/* "ledger", if any policy needs it. */
void describe_ledger(const struct config *config, FILE *out);

#endif
