/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "config/config_messages.h"

CONFIG_MESSAGES(MESSAGE_DEFINE)

void config_print_messages(FILE *out)
{
	static const struct message_row *const rows[] = {CONFIG_MESSAGES(MESSAGE_LISTED) NULL};

	fputs("| message | level | text |\n|---|---|---|\n", out);
	message_rows_print(json_messages, out);
	message_rows_print(rows, out);
}
