/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "ledger/statement.h"

#include <assert.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/wire.h"
#include "ledger/ledger_private.h"

static_assert(sizeof(struct ledger_statement) == LEDGER_STATEMENT_BYTES, "and nothing else");

void ledger_statement_write(const struct ledger_statement *s, uint8_t buf[LEDGER_STATEMENT_BYTES])
{
	const uint64_t numbers[] = {s->epoch, s->stamp, s->granted, s->promised, s->received,
		s->echo_epoch, s->echo_stamp, s->least_epoch, s->count, s->known_count};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		buf = wire_put64(buf, numbers[i]);
	wire_put32(wire_put32(buf, s->word), s->known_word);
}

void ledger_statement_unstamp(uint8_t buf[LEDGER_STATEMENT_BYTES])
{
	memset(buf + offsetof(struct ledger_statement, stamp), 0, sizeof(uint64_t));
	memset(buf + offsetof(struct ledger_statement, echo_stamp), 0, sizeof(uint64_t));
}

int ledger_statement_read(struct ledger_statement *s, const uint8_t *buf, size_t len)
{
	uint64_t *const numbers[] = {&s->epoch, &s->stamp, &s->granted, &s->promised, &s->received,
		&s->echo_epoch, &s->echo_stamp, &s->least_epoch, &s->count, &s->known_count};

	if (len != LEDGER_STATEMENT_BYTES)
		return -EBADMSG;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		buf = wire_get64(buf, numbers[i]);
	wire_get32(wire_get32(buf, &s->word), &s->known_word);
	return statement_plausible(s) ? 0 : -EBADMSG;
}
