/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Checks the relations of key tables (keys.h): a key can require or exclude values of another key
 * of the same object.
 */
#include "config/keys.h"

#include "config/config_messages.h"
#include <stdio.h>

#include "config/value_keys.h"

#define WORDS_SIZE 256

/* An object under check. */
struct checked {
	struct reader *reader;
	const struct json_path *path;
	json_t *object;
	const struct key *keys;
	const void *base;
};

static bool names_values(const struct key_relation *relation)
{
	return relation->values != NULL || relation->traits != 0;
}

static int choice_value(const struct key *key, const void *base)
{
	uint32_t value = 0;

	memcpy(&value, key_field(key, base), key->size);
	return (int)value;
}

/* Returns the value of a field as a word of JSON, or NULL after an error in it. */
static const char *word_of(const struct key *key, const void *base)
{
	if (key->word != NULL)
		return key->word(key, base);
	if (key->read == read_bool)
		return choice_value(key, base) ? "true" : "false";
	for (const struct choice *choice = key->detail; choice->name != NULL; choice++)
		if (choice->value == choice_value(key, base))
			return choice->name;
	return choice_value(key, base) == CHOICE_REFUSED ? NULL : "";
}

/* Returns true if the other key has one of the relation's values. */
static bool has_value(
	const struct key_relation *relation, const struct key *other, const void *base)
{
	const char *const *value = relation->values;
	const char *word;

	if (relation->traits != 0)
		return other->has(choice_value(other, base), relation->traits);
	word = word_of(other, base);
	while (*value != NULL && strcmp(*value, word) != 0)
		value++;
	return *value != NULL;
}

static const struct key_relation *find_broken(
	const struct checked *checked, const struct key *key, bool of_other);

static bool is_broken(const struct checked *checked, const struct key *key,
	const struct key_relation *relation, bool of_other)
{
	const json_t *value = json_object_get(checked->object, key->name);
	const char *own = key->read == read_bool ? json_is_true(value) ? "true" : "false"
						 : json_string_value(value);
	const bool has = json_object_get(checked->object, relation->key) != NULL;
	const struct key *other;

	if (relation->unless != NULL && own != NULL && strcmp(own, relation->unless) == 0)
		return false;
	if (!names_values(relation))
		return relation->excluded ==
		       (has || (relation->or_key != NULL &&
				       json_object_get(checked->object, relation->or_key) != NULL));
	other = key_find(checked->keys, relation->key);
	if (word_of(other, checked->base) == NULL || (!has && other->required))
		return false; /* the other key has an error of its own */
	if (!relation->excluded && has && !of_other && find_broken(checked, other, true) != NULL)
		return false;
	return has_value(relation, other, checked->base) == relation->excluded;
}

/* Returns the first relation of a key that does not hold, or NULL. */
static const struct key_relation *find_broken(
	const struct checked *checked, const struct key *key, bool of_other)
{
	const struct key_relation *relation = key->relations;

	while (relation != NULL && relation->key != NULL &&
		!is_broken(checked, key, relation, of_other))
		relation++;
	return relation != NULL && relation->key != NULL ? relation : NULL;
}

static unsigned fill_words(const struct key_relation *relation, const struct key *other,
	const void *base, const char *words[RELATION_WORDS_MOST])
{
	unsigned n = 0;

	if (relation->traits == 0) {
		while (relation->values[n] != NULL && n < RELATION_WORDS_MOST) {
			words[n] = relation->values[n];
			n++;
		}
		return n;
	}
	for (const struct choice *choice = other->detail; choice->name != NULL; choice++)
		if (n < RELATION_WORDS_MOST && other->has(choice->value, relation->traits) &&
			(base == NULL || other->fits == NULL || other->fits(base, choice->value)))
			words[n++] = choice->name;
	return n;
}

unsigned relation_words(const struct key_relation *relation, const struct key *other,
	const void *base, const char *words[RELATION_WORDS_MOST])
{
	unsigned n = fill_words(relation, other, base, words);

	return n > 0 ? n : fill_words(relation, other, NULL, words);
}

/* Writes `"meter": "gcra", "hybrid" or "phantom"`. */
static void write_values(
	const struct key *key, const char *const *words, unsigned n, char text[WORDS_SIZE])
{
	const char *quote = key->read == read_bool ? "" : "\"";
	int end = snprintf(text, WORDS_SIZE, "\"%s\": ", key->name);

	for (unsigned i = 0; i < n && end < WORDS_SIZE; i++)
		end += snprintf(text + end, WORDS_SIZE - (size_t)end, "%s%s%s%s",
			i == 0      ? ""
			: i + 1 < n ? ", "
				    : " or ",
			quote, words[i], quote);
}

/* Writes the values that the relation requires, and the key that leaves out some of them. */
static void write_required(const struct checked *checked, const struct key_relation *relation,
	const struct key *other, char text[WORDS_SIZE])
{
	const char *words[RELATION_WORDS_MOST], *all[RELATION_WORDS_MOST];
	unsigned n = relation_words(relation, other, checked->base, words);
	size_t end;

	write_values(other, words, n, text);
	if (n == relation_words(relation, other, NULL, all))
		return;
	other = key_find(checked->keys, other->fits_by);
	end = strlen(text);
	snprintf(text + end, WORDS_SIZE - end, " with \"%s\": \"%s\"", other->name,
		word_of(other, checked->base));
}

static void write_keys(const struct key_relation *relation, char text[WORDS_SIZE])
{
	if (relation->or_key != NULL)
		snprintf(text, WORDS_SIZE, "\"%s\" or \"%s\"", relation->key, relation->or_key);
	else
		snprintf(text, WORDS_SIZE, "\"%s\"", relation->key);
}

static void report_relation(
	const struct checked *checked, const struct key *key, const struct key_relation *relation)
{
	struct json_path at = {.parent = checked->path, .key = key->name};
	const struct key *other = key_find(checked->keys, relation->key);
	char text[WORDS_SIZE];

	if (!names_values(relation))
		write_keys(relation, text);
	else if (relation->excluded)
		write_values(other, &(const char *){word_of(other, checked->base)}, 1, text);
	else
		write_required(checked, relation, other, text);
	if (relation->excluded)
		reader_report(checked->reader, &at, MESSAGE(KEY_EXCLUDED), text,
			message_part(relation->remedy));
	else
		reader_report(checked->reader, &at, MESSAGE(KEY_REQUIRED), text);
}

/* Looks up the members in the table, because an object has few of its table's keys. */
static void find_members(json_t *object, const struct key *keys, const json_t *members[KEYS_MOST])
{
	const char *name;
	json_t *member;

	for (size_t i = 0; keys[i].name != NULL; i++)
		members[i] = NULL;
	json_object_foreach (object, name, member) {
		const struct key *key = key_find(keys, name);

		if (key->name != NULL)
			members[key - keys] = member;
	}
}

void keys_check(struct reader *reader, const struct json_path *path, const struct key *keys,
	const void *base)
{
	json_t *object = json_path_find(reader->root, path);
	struct checked checked = {reader, path, object, keys, base};
	const json_t *members[KEYS_MOST];

	if (!json_is_object(object))
		return;
	find_members(object, keys, members);
	for (size_t i = 0; keys[i].name != NULL; i++) {
		struct json_path at = {.parent = path, .key = keys[i].name};
		const struct key_relation *broken;

		if (members[i] == NULL)
			continue;
		broken = find_broken(&checked, &keys[i], false);
		if (broken != NULL)
			report_relation(&checked, &keys[i], broken);
		else if (keys[i].read == read_object)
			keys_check(reader, &at, keys[i].detail, key_field(&keys[i], base));
	}
}
