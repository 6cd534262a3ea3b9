/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "config/value_keys.h"

#include "config/config_messages.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "json/suggest.h"
#include "policy/value.h"

#define EXPECTED_PREFIX "a prefix such as \"192.0.2.0/24\" or \"2001:db8::/32\""

void read_name(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);

	if (text == NULL || !name_valid(text))
		reader_report(reader, path, MESSAGE(WRONG_NAME));
	else
		memcpy(key_field(key, base), text, strlen(text) + 1);
}

/*
 * Suggests a single host for an address without a length, and the longest length if it is too long.
 */
static const char *prefix_remedy(const json_t *value, char remedy[SUGGEST_REMEDY_MAX])
{
	const char *text = json_is_string(value) ? json_string_value(value) : "";
	unsigned bits = strchr(text, ':') != NULL ? 128 : 32;
	int address = (int)strcspn(text, "/");
	char meant[PREFIX_TEXT_MAX];
	struct prefix prefix;

	if (snprintf(meant, sizeof(meant), "%.*s/%u", address, text, bits) >= (int)sizeof(meant) ||
		prefix_parse(meant, &prefix) < 0)
		return NULL;
	if (text[address] == '\0')
		return suggest_remedy(meant, remedy);
	if (strspn(text + address + 1, "123456789") == 0 ||
		strtoul(text + address + 1, NULL, 10) <= bits)
		return NULL;
	snprintf(remedy, SUGGEST_REMEDY_MAX, "a prefix of IPv%u has at most %u bits", prefix.family,
		bits);
	return remedy;
}

static const char *mapped_remedy(const struct prefix *prefix, char remedy[SUGGEST_REMEDY_MAX])
{
	struct prefix meant = {.family = 4, .length = (uint8_t)(prefix->length - 96)};
	char text[PREFIX_TEXT_MAX];

	memcpy(meant.addr, prefix->addr + 12, 4);
	return suggest_remedy(prefix_format(&meant, text, sizeof(text)), remedy);
}

void read_ip_prefix(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	/* ::ffff:0:0/96 and longer prefixes of it exist only in programs, never in a packet. */
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	struct prefix prefix = {0};
	int rc = json_is_string(value) ? prefix_parse(json_string_value(value), &prefix) : -EINVAL;
	const bool is_mapped = rc == 0 && prefix.family == 6 && prefix.length >= 96 &&
			       memcmp(prefix.addr, mapped, sizeof(mapped)) == 0;
	char text[PREFIX_TEXT_MAX], remedy[SUGGEST_REMEDY_MAX];

	if (is_mapped)
		reader_report(reader, path, MESSAGE(PREFIX_MAPPED),
			message_part(mapped_remedy(&prefix, remedy)));
	else if (rc == -EDOM)
		reader_report(reader, path, MESSAGE(PREFIX_HOST_BITS),
			prefix_format(&prefix, text, sizeof(text)));
	else if (rc < 0)
		reader_report(reader, path, MESSAGE(WRONG_PREFIX),
			message_part(prefix_remedy(value, remedy)));
	else
		memcpy(key_field(key, base), &prefix, sizeof(prefix));
}

int dscp_of_value(const json_t *value)
{
	json_int_t number = json_integer_value(value);

	if (json_is_string(value))
		return dscp_parse(json_string_value(value));
	return json_is_integer(value) && number >= 0 && number <= DSCP_MAX ? (int)number : -EINVAL;
}

/* Parses digits without leading zeros. */
int dscp_of_key(const char *text)
{
	char *end;
	unsigned long dscp = strtoul(text, &end, 10);
	bool plain = text[0] >= '0' && text[0] <= '9' && (text[0] != '0' || text[1] == '\0');

	if (dscp_parse(text) >= 0)
		return dscp_parse(text);
	return plain && *end == '\0' && dscp <= DSCP_MAX ? (int)dscp : -EINVAL;
}

void read_mark(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	int dscp = dscp_of_value(value), *mark = key_field(key, base);

	if (text != NULL && strcmp(text, "ecn") == 0)
		*mark = MARK_ECN;
	else if (dscp >= 0)
		*mark = dscp;
	else
		reader_report(reader, path, MESSAGE(WRONG_MARK), DSCP_MAX);
}

void read_count(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct quantity_range *range = key->detail;
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value))
		read_quantity(reader, path, value, key, base);
	else if (number < (json_int_t)range->min || number > (json_int_t)range->max)
		reader_report(reader, path, MESSAGE(OUT_OF_RANGE), range->words);
	else
		key_store(key, base, (uint64_t)number);
}

void read_marked_choice(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	key_store(key, base, CHOICE_REFUSED);
	read_choice(reader, path, value, key, base);
}
