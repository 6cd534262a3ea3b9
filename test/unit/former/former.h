/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A limiter's gossip as the release before has it, which speaks format 1 alone: a stored build, to
 * be laid beside that of today. Aborts when memory is out.
 */
#ifndef WEIR_TEST_FORMER_H
#define WEIR_TEST_FORMER_H

#include <stddef.h>
#include <stdint.h>

#include "group/roster.h"

#pragma GCC visibility push(default)

struct former;

/* As struct gossip_params; an estimator's number is the same in both. */
struct former_params {
	const struct roster *roster;
	unsigned self, n_policies;
	const uint32_t *policies;
	const uint8_t *key; /* the group's, or NULL */
	uint64_t epoch, seed;
	unsigned branching, datagram_max, estimator;
	uint64_t tick_ns, timeout_ns;
};

struct former *former_create(const struct former_params *params, uint64_t now_ns);
void former_destroy(struct former *former);
void former_set(struct former *former, unsigned policy, double demand, double weight);
void former_tick(struct former *former, uint64_t now_ns);
size_t former_send(struct former *former, uint8_t *buf, unsigned *peer);

/* The name of its verdict. */
const char *former_receive(struct former *former, uint64_t now_ns, uint8_t *buf, size_t len);

/* Seals a message of its own format, whose bytes stand at FORMER_MESSAGE of buf. */
#define FORMER_MESSAGE 28
size_t former_message(struct former *former, uint8_t *buf, size_t len, unsigned to);

unsigned former_alive(const struct former *former);
double former_weight(const struct former *former, unsigned policy, unsigned *lost);

#pragma GCC visibility pop

#endif
