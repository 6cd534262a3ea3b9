/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "json/read.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "json/printable.h"
#include "json/suggest.h"
#include "json/unknown.h"
#include "json/vocabulary.h"

bool key_is_remark(const char *name)
{
	return same_word(name, "note") || same_word(name, "$schema");
}

static bool is_note(const json_t *value)
{
	const json_t *line;
	size_t i;

	json_array_foreach (value, i, line) {
		if (!json_is_string(line))
			return false;
	}
	return json_is_string(value) || json_is_array(value);
}

void read_remark(struct reader *reader, const struct json_path *path, const json_t *value)
{
	if (strcmp(path->key, "note") == 0 && !is_note(value))
		reader_report(reader, path, MESSAGE(NOTE_TYPE));
	else if (strcmp(path->key, "note") != 0 && !json_is_string(value))
		reader_report(reader, path, MESSAGE(SCHEMA_TYPE));
}

const struct key *key_find(const struct key *keys, const char *name)
{
	while (keys->name != NULL && !same_word(keys->name, name))
		keys++;
	return keys;
}

bool reader_has(const struct reader *reader, const struct json_path *object, const char *key)
{
	return json_object_get(json_path_find(reader->root, object), key) != NULL;
}

/* Puts each member in its key's place, and reports unknown keys. */
static void sort_members(struct reader *reader, const struct json_path *path, json_t *object,
	const struct key *keys, json_t *members[KEYS_MOST])
{
	const char *name;
	json_t *member;

	json_object_foreach (object, name, member) {
		struct json_path at = {.parent = path, .key = name};
		const struct key *key = key_find(keys, name);

		if (key_is_remark(name))
			read_remark(reader, &at, member);
		else if (key->name == NULL)
			report_unknown_key(reader, &at, keys);
		else
			members[key - keys] = member;
	}
}

/* Looks up the members in the table: an object has few of its table's keys. */
void read_keys(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *keys, void *base)
{
	json_t *members[KEYS_MOST];
	size_t n = 0;

	if (!json_is_object(value)) {
		reader_report(reader, path, MESSAGE(NOT_OBJECT));
		return;
	}
	for (; keys[n].name != NULL; n++) {
		assert(n < KEYS_MOST);
		members[n] = NULL;
	}
	sort_members(reader, path, value, keys, members);
	for (size_t i = 0; i < n; i++) {
		struct json_path at = {.parent = path, .key = keys[i].name};

		if (members[i] != NULL || keys[i].required)
			keys[i].read(reader, &at, members[i], &keys[i], base);
	}
}

static void preset_key(struct reader *reader, const struct key *key, void *base)
{
	const struct json_path at = {.key = key->name};
	json_t *value = json_loads(key->preset, JSON_DECODE_ANY, NULL);

	if (value != NULL)
		key->read(reader, &at, value, key, base);
	else
		reader->no_memory = true;
	json_decref(value);
}

void keys_preset(struct reader *reader, const struct key *keys, void *base)
{
	for (const struct key *key = keys; key->name != NULL; key++) {
		if (key->read == read_object)
			keys_preset(reader, key->detail, key_field(key, base));
		else if (key->preset != NULL)
			preset_key(reader, key, base);
	}
}

const struct key *key_inside(const struct key *key, bool *is_array)
{
	*is_array = key->array || key->read == read_list;
	if (key->read == read_object)
		return key->detail;
	return key->read == read_list ? ((const struct list *)key->detail)->keys : key->keys;
}

void *key_field(const struct key *key, const void *base)
{
	return (char *)(uintptr_t)base + key->offset;
}

bool key_is_same(const struct key *key, const void *a, const void *b)
{
	if (key->same != NULL)
		return key->same(key, a, b);
	return memcmp(key_field(key, a), key_field(key, b), key->size) == 0;
}

void key_store(const struct key *key, void *base, uint64_t value)
{
	uint8_t value8 = (uint8_t)value;
	uint16_t value16 = (uint16_t)value;
	uint32_t value32 = (uint32_t)value;
	const void *from = key->size == 1   ? (const void *)&value8
			   : key->size == 2 ? (const void *)&value16
			   : key->size == 4 ? (const void *)&value32
					    : (const void *)&value;

	memcpy(key_field(key, base), from, key->size);
}

void read_object(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	read_keys(reader, path, value, key->detail, key_field(key, base));
}

void *list_allocate(struct reader *reader, const struct json_path *path, const struct key *key,
	void *base, size_t n)
{
	const struct list *list = key->detail;
	unsigned count = (unsigned)n;
	void *elements;

	if (n > list->max) {
		reader_report(reader, path, MESSAGE(LIST_TOO_LONG), list->max, n);
		return NULL;
	}
	elements = calloc(n > 0 ? n : 1, list->size);
	if (elements == NULL) {
		reader->no_memory = true;
		return NULL;
	}
	memcpy(key_field(key, base), &elements, sizeof(elements));
	memcpy((char *)base + list->count_offset, &count, sizeof(count));
	if (n > 0 && list->init != NULL)
		list->init(elements);
	if (n > 0 && list->keys != NULL)
		keys_preset(reader, list->keys, elements);
	/* Copies the first element, because reading the defaults again takes long. */
	for (size_t i = 1; i < n; i++)
		memcpy((char *)elements + i * list->size, elements, list->size);
	return elements;
}

void read_list(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct list *list = key->detail;
	char *elements;
	size_t i;
	json_t *element;

	if (!json_is_array(value)) {
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected, "");
		return;
	}
	elements = list_allocate(reader, path, key, base, json_array_size(value));
	if (elements == NULL)
		return;
	json_array_foreach (value, i, element) {
		struct json_path at = {.parent = path, .index = i};

		read_keys(reader, &at, element, list->keys, elements + i * list->size);
	}
}

void read_integer(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct integer_range *range = key->detail;
	json_int_t number = json_integer_value(value);

	if (!json_is_integer(value) || number < range->min || number > range->max)
		reader_report(reader, path, MESSAGE(INTEGER_RANGE), range->min, range->max);
	else
		key_store(key, base, (uint64_t)number);
}

void read_quantity(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct quantity_range *range = key->detail;
	uint64_t number = 0;
	const char *text = json_string_value(value);
	int rc = text != NULL ? range->parse(text, &number) : -EINVAL;
	char remedy[SUGGEST_REMEDY_MAX];

	if (rc == -EINVAL)
		reader_report(reader, path, MESSAGE(WRONG_VALUE), key->expected,
			message_part(text != NULL ? suggest_quantity(range->parse, text, remedy)
						  : NULL));
	else if (rc == -EDOM)
		reader_report(reader, path, MESSAGE(NOT_MULTIPLE), range->base);
	else if (rc == -ERANGE || number < range->min || number > range->max)
		reader_report(reader, path, MESSAGE(OUT_OF_RANGE), range->words);
	else
		key_store(key, base, number);
}

/* Returns the choice that the text is another word for, or the nearest by spelling, or NULL. */
static const char *find_meant(const struct reader *reader, const struct json_path *path,
	const struct choice *choices, const char *text)
{
	const char *word = reader_meant(reader, path, text);
	struct suggestion meant = {0};

	for (unsigned i = 0; choices[i].name != NULL; i++) {
		if (word != NULL && strcmp(word, choices[i].name) == 0)
			return word;
		suggest_offer(&meant, text, choices[i].name);
	}
	return meant.word;
}

static void expected_choice(struct reader *reader, const struct json_path *path,
	const struct choice *choices, const char *text)
{
	char names[128] = "", remedy[SUGGEST_REMEDY_MAX];
	size_t len = 0;

	for (unsigned i = 0; choices[i].name != NULL && len < sizeof(names); i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s\"%s\"",
			i > 0 ? " or " : "", choices[i].name);
	reader_report(reader, path, MESSAGE(WRONG_CHOICE), names,
		message_part(suggest_remedy(find_meant(reader, path, choices, text), remedy)));
}

/* Returns the present word for one of earlier versions, with a warning; other texts unchanged. */
static const char *present_word(struct reader *reader, const struct json_path *path,
	const struct vocabulary_entry *previous, const char *text)
{
	for (; previous != NULL && previous->name != NULL; previous++) {
		if (strcmp(text, previous->words) != 0)
			continue;
		reader_report(reader, path, MESSAGE(WORD_RENAMED), previous->name);
		return previous->name;
	}
	return text;
}

void read_choice(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);

	if (text != NULL)
		text = present_word(reader, path, key->previous, text);
	for (const struct choice *choice = key->detail; choice->name != NULL; choice++) {
		if (text != NULL && strcmp(text, choice->name) == 0) {
			key_store(key, base, (uint64_t)choice->value);
			return;
		}
	}
	expected_choice(reader, path, key->detail, text != NULL ? text : "");
}

void read_real(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const struct real_range *range = key->detail;
	double number = json_number_value(value);

	if (!json_is_number(value) || number < range->min || number > range->max ||
		(range->below && number >= range->max))
		reader_report(reader, path, MESSAGE(NUMBER_RANGE), range->min,
			range->below ? "less than " : "", range->max);
	else
		memcpy(key_field(key, base), &number, sizeof(number));
}

bool text_printable(const char *text)
{
	uint32_t code;

	while (*text != '\0' && printable_control(text, &code) == 0)
		text++;
	return *text == '\0';
}

void read_text(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	const char *text = json_string_value(value);
	size_t len = text != NULL ? strlen(text) : 0;

	if (len == 0 || len >= key->size || !text_printable(text))
		reader_report(reader, path, MESSAGE(TEXT_LENGTH), key->expected, key->size - 1);
	else
		memcpy(key_field(key, base), text, len + 1);
}

void read_bool(struct reader *reader, const struct json_path *path, json_t *value,
	const struct key *key, void *base)
{
	bool truth = json_is_true(value);

	if (!json_is_boolean(value))
		reader_report(reader, path, MESSAGE(NOT_BOOL));
	else
		memcpy(key_field(key, base), &truth, sizeof(truth));
}
