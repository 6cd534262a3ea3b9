/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Messages about names in requests that do not exist, with the nearest name that does.
 */
#include "unknown_name.h"

#include <stdio.h>
#include <string.h>

#include "json/suggest.h"

#define SHOWN_MOST 64 /* bytes of a name in a message */
#define WIRES_MOST 4  /* wires in a message */

const char *unknown_policy(
	const struct policy *policies, unsigned n, const char *name, char why[UNKNOWN_NAME_MAX])
{
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion near = {0};

	for (unsigned i = 0; i < n; i++)
		suggest_offer(&near, name, policies[i].name);
	snprintf(why, UNKNOWN_NAME_MAX, "policy \"%.*s\": no such policy: %s", SHOWN_MOST, name,
		suggest_remedy(near.word, remedy) ? remedy : "see \"weirctl policies\"");
	return why;
}

const char *unknown_wire(const struct config *config, const char *name, char why[UNKNOWN_NAME_MAX])
{
	char remedy[SUGGEST_REMEDY_MAX];
	struct suggestion near = {0};
	int len;

	for (unsigned i = 0; i < config->n_wires; i++)
		suggest_offer(&near, name, config->wires[i].name);
	len = snprintf(why, UNKNOWN_NAME_MAX, "wire \"%.*s\": no such wire: %s", SHOWN_MOST, name,
		suggest_remedy(near.word, remedy) ? remedy : "expected a name such as");
	for (unsigned i = 0; !near.word && i < config->n_wires && i < WIRES_MOST; i++)
		if (len < UNKNOWN_NAME_MAX)
			len += snprintf(why + len, (size_t)(UNKNOWN_NAME_MAX - len), "%s \"%s\"",
				i ? "," : "", config->wires[i].name);
	return why;
}
