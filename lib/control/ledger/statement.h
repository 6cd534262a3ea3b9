/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * A statement as bytes: its numbers in the order of struct ledger_statement, eight bytes each and
 * four for the words, big-endian. The enclosing datagram identifies sender, receiver and subject,
 * and protects it from changes. Pure; any thread.
 */
#ifndef WEIR_LEDGER_STATEMENT_H
#define WEIR_LEDGER_STATEMENT_H

#include <stddef.h>
#include <stdint.h>

#include "ledger/ledger.h"

#define LEDGER_STATEMENT_BYTES 88

void ledger_statement_write(
	const struct ledger_statement *statement, uint8_t buf[LEDGER_STATEMENT_BYTES]);

/* Sets both stamps of a written statement to 0, as in ledger_settled(). */
void ledger_statement_unstamp(uint8_t buf[LEDGER_STATEMENT_BYTES]);

/* Returns 0, or -EBADMSG: another length, or values that no ledger makes. */
int ledger_statement_read(struct ledger_statement *statement, const uint8_t *buf, size_t len);

#endif
