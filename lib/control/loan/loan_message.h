/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * The messages of loans, big-endian. Private to lib/control/loan.
 *
 *   0  LOAN_MESSAGE   1  kind   2  entries (16 bit)
 *   4  session and 8  number of the request, which an offer repeats
 *   12 round trip that the borrower has measured, microseconds; 0: none. In offers 0.
 *   16 microseconds after which the borrower accepts no offer for this request. In offers 0.
 *   20 entries: a request has 24 bytes for each policy (id, bytes wanted, room that the borrower's
 *      bucket will have after a round trip), an offer 32 (id, bytes, room, rate; see struct
 *      loan_taken)
 */
#ifndef WEIR_LOAN_LOAN_MESSAGE_H
#define WEIR_LOAN_LOAN_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "loan/loan.h"

enum loan_kind { LOAN_REQUEST = 1, LOAN_OFFER = 2 };

struct loan_entry {
	uint64_t policy;         /* id */
	struct loan_taken taken; /* rate: of an offer only */
};

struct loan_message {
	enum loan_kind kind;
	uint32_t session, number;
	uint32_t round_us, wait_us;
	unsigned n;
	struct loan_entry entries[LOAN_POLICIES];
};

/* Returns how many policies fit into any message of so many bytes, at most LOAN_POLICIES. */
unsigned loan_message_policies(size_t room);

/* Returns the length; buf has LOAN_MESSAGE_MAX bytes. */
size_t loan_message_write(const struct loan_message *message, uint8_t *buf);

/* Returns 0, or -EINVAL for bytes that are not a loan message. */
int loan_message_read(struct loan_message *message, const uint8_t *at, size_t len);

#endif
