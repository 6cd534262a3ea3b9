/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Prints the tables of keys, for the schema and the manual (tools/keys).
 */
#include "config/key_table.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include <jansson.h>

#include "allocate/allocate.h"
#include "allocate/gdrl.h"
#include "config/keys.h"
#include "config/value_keys.h"
#include "json/vocabulary.h"
#include "policy/units.h"

#define PATH_MOST 256

static const char *change_word(const struct key *key)
{
	switch (key->change) {
	case KEY_FIXED:
	case KEY_ELEMENTS:
		return "restart";
	case KEY_LIVE:
	case KEY_KIND:
	case POLICY_MATCH:
	case POLICY_TERMS:
		return "in force";
	case POLICY_ADDED:
		return "another policy";
	case POLICY_RESTARTS:
		return "policy begins again";
	default:
		return NULL; /* the rows inside, or the key that holds this object, have one */
	}
}

static const char *quantity_word(const struct quantity_range *range)
{
	return range->parse == units_parse_time   ? "time"
	       : range->parse == units_parse_size ? "size"
	       : range->parse == units_parse_rate ? "rate"
						  : "number";
}

static json_t *choice_words(const struct choice *choices)
{
	json_t *words = json_array();

	for (const struct choice *choice = choices; choice->name != NULL; choice++)
		json_array_append_new(words, json_string(choice->name));
	return words;
}

/*
 * Returns the type of a row whose reader is in json/read.h, with its parameters. NULL: another
 * reader.
 */
static json_t *type_of(const struct key *key)
{
	const struct quantity_range *quantity = key->detail;
	const struct integer_range *integer = key->detail;
	const struct real_range *real = key->detail;
	const struct list *list = key->detail;
	const bool is_choice = key->read == read_choice || key->read == read_marked_choice ||
			       (key->form != NULL && strcmp(key->form, "choice") == 0);

	if (key->read == read_bool)
		return json_pack("{s:s}", "type", "boolean");
	if (key->read == read_name)
		return json_pack("{s:s}", "type", "name");
	if (key->read == read_object)
		return json_pack("{s:s}", "type", "object");
	if (key->read == read_integer)
		return json_pack("{s:s, s:I, s:I}", "type", "integer", "min",
			(json_int_t)integer->min, "max", (json_int_t)integer->max);
	if (key->read == read_real)
		return json_pack("{s:s, s:f, s:f, s:b}", "type", "real", "min", real->min, "max",
			real->max, "below", real->below);
	if (key->read == read_quantity || key->read == read_count)
		return json_pack("{s:s, s:s, s:I, s:I}", "type", quantity_word(quantity), "range",
			quantity->words, "min", (json_int_t)quantity->min, "max",
			(json_int_t)quantity->max);
	if (key->read == read_list)
		return json_pack("{s:s, s:i}", "type", "list", "max", (int)list->max);
	if (is_choice)
		return json_pack(
			"{s:s, s:o}", "type", "choice", "values", choice_words(key->detail));
	if (key->read == read_text || (key->form != NULL && strcmp(key->form, "text") == 0))
		return json_pack("{s:s, s:s, s:i}", "type", "text", "what", key->expected, "bytes",
			(int)key->size - 1);
	return key->form != NULL ? json_pack("{s:s}", "type", key->form) : NULL;
}

static void add_words(json_t *row, const struct key *key)
{
	const struct vocabulary_entry *entry = key->value_words;
	json_t *words = entry != NULL ? json_object() : NULL;

	json_object_set_new(row, "also", json_string(key->also));
	if (key->heading != NULL)
		json_object_set_new(row, "heading", json_string(key->heading));
	for (; entry != NULL && entry->name != NULL; entry++)
		json_object_set_new(words, entry->name, json_string(entry->words));
	if (words != NULL)
		json_object_set_new(row, "values_also", words);
}

/* Adds the values of the other key: true or false as such, others as words. */
static void add_values(json_t *entry, const struct key_relation *relation, const struct key *other)
{
	const char *words[RELATION_WORDS_MOST];
	unsigned n = relation_words(relation, other, NULL, words);
	json_t *values = json_array();

	for (unsigned i = 0; i < n; i++)
		json_array_append_new(values, other->read == read_bool
						      ? json_boolean(words[i][0] == 't')
						      : json_string(words[i]));
	json_object_set_new(entry, "values", values);
}

static void add_relations(json_t *row, const struct key *key, const struct key *keys)
{
	json_t *relations = key->relations != NULL ? json_array() : NULL;

	for (const struct key_relation *relation = key->relations;
		relation != NULL && relation->key != NULL; relation++) {
		json_t *entry = json_pack(
			"{s:[s], s:b}", "keys", relation->key, "excluded", relation->excluded);

		if (relation->or_key != NULL)
			json_array_append_new(
				json_object_get(entry, "keys"), json_string(relation->or_key));
		if (relation->values != NULL || relation->traits != 0)
			add_values(entry, relation, key_find(keys, relation->key));
		if (relation->unless != NULL)
			json_object_set_new(entry, "unless",
				key->read == read_bool ? json_false()
						       : json_string(relation->unless));
		json_array_append_new(relations, entry);
	}
	if (relations != NULL)
		json_object_set_new(row, "relations", relations);
}

static int print_row(const struct key *key, const struct key *keys, const char *path, FILE *out)
{
	json_t *row = type_of(key);
	int rc;

	if (row == NULL)
		return -ENOMEM;
	json_object_set_new(row, "path", json_string(path));
	json_object_set_new(row, "required", json_boolean(key->required && key->usual == NULL));
	json_object_set_new(row, "meaning", json_string(key->help));
	if (key->preset != NULL)
		json_object_set_new(row, "default", json_loads(key->preset, JSON_DECODE_ANY, NULL));
	if (key->usual != NULL)
		json_object_set_new(row, "default_words", json_string(key->usual));
	if (change_word(key) != NULL)
		json_object_set_new(row, "reload", json_string(change_word(key)));
	if (key->group != NULL)
		json_object_set_new(row, "group", json_string(key->group));
	if (key->secret)
		json_object_set_new(row, "secret", json_true());
	/* lib/control defines the names of allocators and indicators. */
	if (key->form != NULL && strcmp(key->form, "allocator") == 0)
		json_object_set_new(row, "names", json_string(allocator_names()));
	if (key->form != NULL && strcmp(key->form, "indicator") == 0)
		json_object_set_new(row, "names", json_string(gdrl_indicator_names()));
	add_words(row, key);
	add_relations(row, key, keys);
	rc = json_dumpf(row, out, JSON_COMPACT | JSON_SORT_KEYS);
	fputc('\n', out);
	json_decref(row);
	return rc < 0 ? -EIO : 0;
}

static int print_rows(const struct key *keys, const char *above, FILE *out)
{
	for (const struct key *key = keys; key->name != NULL; key++) {
		char path[PATH_MOST];
		bool is_array;
		const struct key *inside = key_inside(key, &is_array);
		int rc;

		snprintf(path, sizeof(path), "%s%s%s", above, *above ? "." : "", key->name);
		rc = print_row(key, keys, path, out);
		if (rc == 0 && inside != NULL)
			rc = print_rows(inside, path, out);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int config_print_keys(FILE *out)
{
	return print_rows(config_keys, "", out);
}
