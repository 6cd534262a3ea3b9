/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Random values written as text: byte for byte like telemetry_text() of a tree with the same
 * values, also in buffers that are too short.
 */
#include "telemetry/json_text.h"

#include "check.h"

#include <float.h>

#include "telemetry/telemetry_server.h"

#define VALUES_MOST 12
#define TEXT_MOST   4096

static uint64_t random_bits(void)
{
	return (uint64_t)mrand48() << 40 ^ (uint64_t)mrand48() << 20 ^ (uint64_t)mrand48();
}

/* Returns an integer, often near a power of ten or two, or at an end of the range. */
static int64_t random_integer(void)
{
	static const int64_t ends[] = {
		0, 1, -1, 9, 10, 99, 100, -10, INT64_MAX, INT64_MIN, INT64_MIN + 1};

	if (lrand48() % 4 == 0)
		return ends[(size_t)lrand48() % (COUNT(ends))];
	return (int64_t)(random_bits() >> lrand48() % 64);
}

static double random_real(void)
{
	static const double ends[] = {0, -0.0, 0.1, 1e15, 1e15 - 1, -1e15, 1e16, 0.5, 1e-7, DBL_MAX,
		DBL_MIN, -1.667, 999999999999999.5, NAN, INFINITY, -INFINITY};
	double value;

	switch (lrand48() % 4) {
	case 0:
		return ends[(size_t)lrand48() % (COUNT(ends))];
	case 1:
		return (double)random_integer();
	case 2:
		return round(drand48() * 1e9) / 1000;
	default:
		value = ldexp(drand48() - 0.5, (int)(lrand48() % 2000) - 1000);
		return value;
	}
}

/* Mostly plain text; otherwise with characters to escape, UTF-8, or invalid bytes. */
static const char *random_string(char text[16])
{
	static const char others[] = "\"\\/\x01\x1f\x7f\n\t\xc3\xa9\xff";
	size_t n = (size_t)lrand48() % 15;

	for (size_t i = 0; i < n; i++)
		text[i] = (char)(' ' + lrand48() % 95);
	if (lrand48() % 3 == 0)
		for (size_t i = 0; i < n; i++)
			if (lrand48() % 3 == 0)
				text[i] = others[(size_t)lrand48() % (sizeof(others) - 1)];
	text[n] = '\0';
	return text;
}

/* Adds a random value to both. */
static json_t *add_random(struct json_text *text)
{
	int64_t integer = random_integer();
	double real = random_real();
	char string[16];
	json_t *value;

	switch (lrand48() % 5) {
	case 0:
		json_text_null(text);
		return json_null();
	case 1:
		json_text_integer(text, integer);
		return json_integer(integer);
	case 2:
		json_text_real(text, real);
		value = json_real(real);
		break;
	case 3:
		json_text_string(text, random_string(string));
		value = json_string(string);
		break;
	default:
		value = json_pack("{s:[i, b]}", "member", (int)integer, (int)(integer & 1));
		json_text_value(text, json_incref(value));
	}
	return value ? value : json_null();
}

/* An object with an array in it, as a tree and as text. */
static json_t *add_all(struct json_text *text)
{
	json_t *object = json_object(), *array = json_array();
	unsigned n = (unsigned)lrand48() % VALUES_MOST;

	json_text_open(text, '{');
	json_text_key(text, "first");
	json_object_set_new(object, "first", add_random(text));
	json_text_key(text, "all");
	json_text_open(text, '[');
	for (unsigned i = 0; i < n; i++)
		json_array_append_new(array, add_random(text));
	json_text_close(text, ']');
	json_text_close(text, '}');
	json_object_set_new(object, "all", array);
	return object;
}

TEST(test_like_a_tree)
{
	for (long seed = 0; seed < ROUNDS(20000); seed++) {
		char bytes[TEXT_MOST];
		struct json_text text = json_text_in(bytes, sizeof(bytes));
		json_t *object;
		char *expected;

		srand48(seed);
		object = add_all(&text);
		expected = telemetry_text(object);
		assert_non_null(expected);
		assert_false(text.full);
		assert_int_equal(text.at[-1], ',');
		text.at[-1] = '\0';
		if (strcmp(bytes, expected) != 0)
			fail_msg("seed %ld: got %s, expected %s", seed, bytes, expected);
		free(expected);
		json_decref(object);
	}
}

/* In every buffer that is too short the text is full, and no byte after the buffer changes. */
TEST(test_full)
{
	for (long seed = 0; seed < ROUNDS(400); seed++) {
		char bytes[TEXT_MOST], whole[TEXT_MOST];
		struct json_text text = json_text_in(whole, sizeof(whole));
		size_t n;

		srand48(seed);
		json_decref(add_all(&text));
		n = json_text_bytes(&text);
		for (size_t room = 0; room <= n; room++) {
			memset(bytes, '#', sizeof(bytes));
			text = json_text_in(bytes, room);
			srand48(seed);
			json_decref(add_all(&text));
			assert_int_equal(text.full, room < n);
			for (size_t i = room; i < sizeof(bytes); i++)
				assert_int_equal(bytes[i], '#');
			if (room == n)
				assert_memory_equal(bytes, whole, n);
		}
	}
}
