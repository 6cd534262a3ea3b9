/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "config/value_keys.h"

#include <errno.h>
#include <string.h>

#include "policy/value.h"

#define EXPECTED_PREFIX "a prefix such as \"192.0.2.0/24\" or \"2001:db8::/32\""

void read_name(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);

	if (text == NULL || !name_valid(text))
		reader_expected(reader, path, EXPECTED_NAME);
	else
		memcpy(key_field(key, base), text, strlen(text) + 1);
}

void read_ip_prefix(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	struct prefix prefix = {0};
	int rc = json_is_string(value) ? prefix_parse(json_string_value(value), &prefix) : -EINVAL;
	char text[PREFIX_TEXT_MAX];

	if (rc == -EDOM)
		reader_expected(reader, path, "no host bits, as in \"%s\"",
			prefix_format(&prefix, text, sizeof(text)));
	else if (rc < 0)
		reader_expected(reader, path, EXPECTED_PREFIX);
	else
		memcpy(key_field(key, base), &prefix, sizeof(prefix));
}

void read_count(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct quantity_range *range = key->detail;
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value))
		read_quantity(reader, path, value, key, base);
	else if (number < (json_int_t)range->min || number > (json_int_t)range->max)
		reader_expected(reader, path, "%s", range->words);
	else
		key_store(key, base, (uint64_t)number);
}

void read_marked_choice(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	key_store(key, base, CHOICE_REFUSED);
	read_choice(reader, path, value, key, base);
}
