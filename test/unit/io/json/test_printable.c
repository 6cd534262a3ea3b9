/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Random texts: control characters and direction marks are escaped, and no others.
 */
#include "check.h"

#include "base/prng.h"
#include "json/printable.h"
#include "json/read.h"

#define TEXTS 20000

/* The oracle: first and last code of each range. */
static const uint32_t controls[][2] = {
	{0x01, 0x1f}, {0x7f, 0x9f}, {0x200e, 0x200f}, {0x202a, 0x202e}, {0x2066, 0x2069}};

static bool is_control(uint32_t code)
{
	for (size_t i = 0; i < COUNT(controls); i++)
		if (code >= controls[i][0] && code <= controls[i][1])
			return true;
	return false;
}

static char *put_code(char *at, uint32_t code)
{
	if (code < 0x80) {
		*at++ = (char)code;
	} else if (code < 0x800) {
		*at++ = (char)(0xc0 | code >> 6);
		*at++ = (char)(0x80 | (code & 0x3f));
	} else if (code < 0x10000) {
		*at++ = (char)(0xe0 | code >> 12);
		*at++ = (char)(0x80 | (code >> 6 & 0x3f));
		*at++ = (char)(0x80 | (code & 0x3f));
	} else {
		*at++ = (char)(0xf0 | code >> 18);
		*at++ = (char)(0x80 | (code >> 12 & 0x3f));
		*at++ = (char)(0x80 | (code >> 6 & 0x3f));
		*at++ = (char)(0x80 | (code & 0x3f));
	}
	return at;
}

/* A code at or near the end of a range, or any other one. */
static uint32_t random_code(struct prng *prng)
{
	uint32_t near = controls[prng_below(prng, 5)][prng_below(prng, 2)], code;

	if (prng_below(prng, 2) == 0)
		return near + (uint32_t)prng_below(prng, 3) - (near > 1);
	code = 1 + (uint32_t)prng_below(prng, prng_below(prng, 2) ? 0x2100 : 0x10ffff);
	return code >= 0xd800 && code < 0xe000 ? 'x' : code;
}

TEST(test_texts)
{
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned i = 0; i < TEXTS; i++) {
		char text[64], want[160], *at = text, *to = want, *got;
		bool clean = true;

		for (unsigned n = (unsigned)prng_below(&prng, 12); n > 0; n--) {
			uint32_t code = random_code(&prng);

			at = put_code(at, code);
			if (is_control(code))
				to += sprintf(to, "\\u%04x", (unsigned)code);
			else
				to = put_code(to, code);
			clean &= !is_control(code);
		}
		*at = *to = '\0';
		got = printable_copy(text, "\\u");
		assert_string_equal(got, want);
		assert_int_equal(text_printable(text), clean);
		free(got);
	}
}
