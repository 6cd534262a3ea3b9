/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "typed_time.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "policy/units.h"

/* Returns 0 for a number alone, which is then in ns. */
static int parse_bare(const char *text, uint64_t *ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (text[strspn(text, "0123456789.e")] || end == text || *end ||
		seconds > (double)UINT32_MAX)
		return -1;
	*ns = (uint64_t)llround(seconds * (double)SECOND_NS);
	return 0;
}

static int parse_typed(const char *text, enum typed_unit unit, uint64_t *ns)
{
	if (unit == TYPED_UNIT_OPTIONAL && parse_bare(text, ns) == 0)
		return 0;
	return units_parse_duration(text, ns);
}

double typed_time(const char *text, enum typed_unit unit)
{
	uint64_t ns;

	return parse_typed(text, unit, &ns) ? NAN : (double)ns / SECOND_NS;
}

unsigned long typed_seconds(const char *text, enum typed_unit unit, unsigned long most)
{
	uint64_t ns;

	if (parse_typed(text, unit, &ns) || ns % SECOND_NS || ns / SECOND_NS > most)
		return 0;
	return (unsigned long)(ns / SECOND_NS);
}
