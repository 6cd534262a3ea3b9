/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "import/subscribers.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "import/list.h"
#include "import/network.h"
#include "json/suggest.h"
#include "policy/config.h"
#include "policy/units.h"
#include "policy/value.h"

#define LIMIT_LEAST UINT64_C(8000)
#define LIMIT_MOST  UINT64_C(400000000000)
#define BURST_MOST  (UINT64_C(4) << 30)
#define WEIGHT_MOST 1000
#define PREFIX_MOST 30

bool import_prefix_valid(const char *prefix)
{
	return name_valid(prefix) && strlen(prefix) <= PREFIX_MOST;
}

/* --- what is wrong ---------------------------------------------------------------------------- */

static void refuse_field(struct subscriber_list *list, enum column column, const char *found,
	const char *expected, const char *remedy)
{
	list_refuse_at(list, list->row.line, column, found, expected, remedy);
}

/* --- fields ----------------------------------------------------------------------------------- */

/* Without the blanks around it. False: it is too long, which is said. */
static bool take_text(struct subscriber_list *list, enum column column, char text[LIST_TEXT_MOST])
{
	const char *field = columns_field(&list->columns, &list->row, column);
	size_t len;

	field += strspn(field, " \t");
	len = strlen(field);
	while (len > 0 && strchr(" \t", field[len - 1]) != NULL)
		len--;
	text[0] = '\0';
	if (len >= LIST_TEXT_MOST) {
		refuse_field(list, column, field, "at most 63 characters", NULL);
		return false;
	}
	memcpy(text, field, len);
	text[len] = '\0';
	return true;
}

static void set_policy_key(
	struct subscriber_list *list, json_t *policy, const char *key, json_t *value)
{
	list->no_memory |= json_object_set_new(policy, key, value) < 0;
}

/* LibreQoS writes numbers of Mbit/s. 0, or what the parser says. */
static int parse_rate(const struct subscriber_list *list, const char *text, uint64_t *bps)
{
	size_t whole = strspn(text, "0123456789"), rest = whole;

	if (!list->columns.libreqos)
		return units_parse_rate(text, bps);
	if (text[rest] == '.')
		rest += 1 + strspn(text + rest + 1, "0123456789");
	if (whole == 0 || rest == whole + 1 || text[rest] != '\0')
		return -EINVAL;
	return network_rate(strtod(text, NULL), bps);
}

/* As a rate of a limit: what is meant by another one is one, too. */
static int parse_limit(const char *text, uint64_t *bps)
{
	int ret = units_parse_rate(text, bps);

	return ret == 0 && (*bps < LIMIT_LEAST || *bps > LIMIT_MOST) ? -ERANGE : ret;
}

/* False: it is refused; else 0 bit/s is none. */
static bool take_rate(
	struct subscriber_list *list, enum column column, uint64_t least, uint64_t *bps)
{
	char text[LIST_TEXT_MOST], remedy[SUGGEST_REMEDY_MAX];
	const char *meant = NULL;

	*bps = 0;
	if (!take_text(list, column, text))
		return false;
	if (text[0] == '\0' && least == 0)
		return true;
	if (parse_rate(list, text, bps) == 0 && *bps >= least && *bps <= LIMIT_MOST &&
		(*bps == 0 || *bps >= LIMIT_LEAST))
		return true;
	if (!list->columns.libreqos)
		meant = suggest_quantity(parse_limit, text, remedy);
	refuse_field(list, column, text,
		list->columns.libreqos ? "Mbit/s from 0.008 to 400000 such as 25 or 2.5"
				       : "8kbit/s to 400Gbit/s such as \"25Mbit/s\"",
		meant);
	return false;
}

static void put_rate(struct subscriber_list *list, json_t *policy, const char *key, uint64_t bps)
{
	char text[UNITS_TEXT_MAX];

	set_policy_key(list, policy, key, json_string(units_format_rate(bps, text, sizeof(text))));
}

static void put_burst(struct subscriber_list *list, json_t *policy)
{
	char text[LIST_TEXT_MOST];
	uint64_t bytes = 0;

	if (!take_text(list, COLUMN_BURST, text) || text[0] == '\0')
		return;
	if (units_parse_size(text, &bytes) < 0 || bytes == 0 || bytes > BURST_MOST)
		refuse_field(
			list, COLUMN_BURST, text, "a size of 1B to 4GiB such as \"64kB\"", NULL);
	set_policy_key(list, policy, "burst", json_string(text));
}

static void put_weight(struct subscriber_list *list, json_t *policy)
{
	char text[LIST_TEXT_MOST], *end;
	long weight;

	if (!take_text(list, COLUMN_WEIGHT, text) || text[0] == '\0')
		return;
	weight = strtol(text, &end, 10);
	if (*end != '\0' || weight < 1 || weight > WEIGHT_MOST)
		refuse_field(list, COLUMN_WEIGHT, text, "a whole number from 1 to 1000", NULL);
	set_policy_key(list, policy, "weight", json_integer(weight));
}

static void put_word(struct subscriber_list *list, json_t *policy, enum column column,
	const char *key, const char *words)
{
	char text[LIST_TEXT_MOST], word[SUGGEST_WORD_MAX], remedy[SUGGEST_REMEDY_MAX];
	const char *meant;

	if (!take_text(list, column, text) || text[0] == '\0')
		return;
	meant = suggest_of_list(words, text, word);
	if (meant == NULL || strcmp(meant, text) != 0)
		refuse_field(list, column, text, words, suggest_remedy(meant, remedy));
	set_policy_key(list, policy, key, json_string(text));
}

static void put_note(struct subscriber_list *list, json_t *policy)
{
	const char *field = columns_field(&list->columns, &list->row, COLUMN_NOTE);

	if (field[0] != '\0')
		set_policy_key(list, policy, "note", json_string(field));
}

/* --- addresses -------------------------------------------------------------------------------- */

/* LibreQoS's own pages have 10.120.00.254: numbers are decimal there. */
static void strip_zeros(char *text)
{
	char *to = text;

	for (const char *from = text; *from != '\0'; from++) {
		bool begins = from == text || from[-1] == '.';

		while (begins && from[0] == '0' && from[1] >= '0' && from[1] <= '9')
			from++;
		*to++ = *from;
	}
	*to = '\0';
}

/* One address is a prefix of all its bits. */
static bool parse_address(const char *text, struct prefix *prefix, char remedy[SUGGEST_REMEDY_MAX])
{
	char whole[LIST_TEXT_MOST + 8], meant[PREFIX_TEXT_MAX];
	int ret;

	remedy[0] = '\0';
	snprintf(whole, sizeof(whole), "%s%s", text,
		strchr(text, '/') != NULL   ? ""
		: strchr(text, ':') != NULL ? "/128"
					    : "/32");
	ret = prefix_parse(whole, prefix);
	if (ret == -EDOM)
		suggest_remedy(prefix_format(prefix, meant, sizeof(meant)), remedy);
	return ret == 0;
}

/* Weir refuses two policies of one address; here all but the first can be left out. */
static void claim_address(
	struct subscriber_list *list, enum column column, const char *name, const char *address)
{
	const json_t *owner = json_object_get(list->owners, address);
	const char *other = json_string_value(json_object_get(owner, "name"));
	char remedy[CONFIG_NAME_MAX + 40];

	if (other == NULL) {
		list->no_memory |= json_object_set_new(list->owners, address,
					   json_pack("{s:s, s:i}", "name", name, "line",
						   (int)list->row.line)) < 0;
	} else if (strcmp(other, name) != 0) {
		snprintf(remedy, sizeof(remedy), "%s in line %d has it, too", other,
			(int)json_integer_value(json_object_get(owner, "line")));
		refuse_field(list, column, address, "an address of its own", remedy);
	}
}

/* One that is refused leaves a null, so that nobody says besides that there is none. */
static void add_address(struct subscriber_list *list, enum column column, const char *name,
	json_t *addresses, char *text)
{
	char words[PREFIX_TEXT_MAX], remedy[SUGGEST_REMEDY_MAX];
	struct prefix prefix;
	bool good;

	if (list->columns.libreqos && strchr(text, ':') == NULL)
		strip_zeros(text);
	good = parse_address(text, &prefix, remedy);

	if (!good)
		refuse_field(list, column, text,
			"addresses such as 192.0.2.7, 2001:db8:7::/48, with no host bits",
			remedy[0] != '\0' ? remedy : NULL);
	else if (list->terms->skip_bad)
		claim_address(list, column, name, prefix_format(&prefix, words, sizeof(words)));
	list->no_memory |= json_array_append_new(addresses,
				   good ? json_string(prefix_format(&prefix, words, sizeof(words)))
					: json_null()) < 0;
}

/* LibreQoS divides them by commas. */
static void add_addresses(
	struct subscriber_list *list, enum column column, const char *name, json_t *addresses)
{
	static const char between[] = " \t\r\n;,";
	const char *at = columns_field(&list->columns, &list->row, column);

	for (at += strspn(at, between); *at != '\0'; at += strspn(at, between)) {
		size_t len = strcspn(at, between);
		char text[LIST_TEXT_MOST];

		snprintf(text, sizeof(text), "%.*s",
			(int)(len < LIST_TEXT_MOST ? len : LIST_TEXT_MOST - 1), at);
		add_address(list, column, name, addresses, text);
		at += len;
	}
}

/* --- names ------------------------------------------------------------------------------------ */

/* With the prefix, in name. False: refused. */
static bool take_name(struct subscriber_list *list, char name[CONFIG_NAME_MAX])
{
	char text[LIST_TEXT_MOST], id[LIST_TEXT_MOST];

	if (!take_text(list, COLUMN_NAME, text))
		return false;
	memcpy(id, text, sizeof(id));
	if (list->columns.libreqos)
		list_make_plain(text);
	if (text[0] != '\0' &&
		(size_t)snprintf(name, CONFIG_NAME_MAX, "%s%s", list->terms->prefix, text) <
			CONFIG_NAME_MAX &&
		name_valid(name))
		return list_claim_name(list, list->row.line, COLUMN_NAME, name, id);
	refuse_field(list, COLUMN_NAME, text,
		"A-Z a-z 0-9 _ . -, and with the prefix at most 63 characters", NULL);
	return false;
}

/* "" if there is none. False: it is not to be looked at, or refused. */
static bool take_parent_text(struct subscriber_list *list, char text[LIST_TEXT_MOST])
{
	if (list->terms->flat || !take_text(list, COLUMN_PARENT, text))
		return false;
	if (list->columns.libreqos && strcmp(text, "none") == 0)
		text[0] = '\0';
	return true;
}

static json_t *pack_parent(const struct subscriber_list *list, const char *text)
{
	return json_pack("{s:s, s:i}", "text", text, "line", (int)list->row.line);
}

/* Parents are looked for when all names are known. */
static void take_parent(struct subscriber_list *list, const char *name)
{
	char text[LIST_TEXT_MOST];

	if (take_parent_text(list, text) && text[0] != '\0')
		list->no_memory |= json_object_set_new(
					   list->parents, name, pack_parent(list, text)) < 0;
}

/* A circuit is below one node: that of its first line. */
static void compare_parents(struct subscriber_list *list, const char *name)
{
	const char *first = json_string_value(
		json_object_get(json_object_get(list->parents, name), "text"));
	char text[LIST_TEXT_MOST], words[LIST_QUOTED_MOST], expected[LIST_QUOTED_MOST + 48];

	if (!take_parent_text(list, text) || strcmp(text, first != NULL ? first : "") == 0)
		return;
	snprintf(expected, sizeof(expected), "%s, as its circuit has above, which holds",
		list_quote(first != NULL ? first : "", words));
	list_warn_at(list, list->row.line, COLUMN_PARENT, text, expected);
	if (text[0] != '\0')
		list->no_memory |= json_array_append_new(list->others, pack_parent(list, text)) < 0;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void put_rates(struct subscriber_list *list, json_t *policy)
{
	uint64_t limit, guaranteed;
	bool good = take_rate(list, COLUMN_LIMIT, LIMIT_LEAST, &limit);

	good = take_rate(list, COLUMN_GUARANTEED, 0, &guaranteed) && good;
	if (!good)
		return;
	if (guaranteed > limit)
		refuse_field(list, COLUMN_GUARANTEED,
			columns_field(&list->columns, &list->row, COLUMN_GUARANTEED),
			"no more than the limit", NULL);
	put_rate(list, policy, "limit", limit);
	if (guaranteed > 0)
		put_rate(list, policy, "guaranteed", guaranteed);
}

/* What both have not is no difference. */
static bool has_same(const json_t *policy, const json_t *other, const char *key)
{
	json_t *value = json_object_get(policy, key), *its = json_object_get(other, key);

	return value == its || json_equal(value, its);
}

/* What is not as the policy of this name has it; the first line of a circuit holds. */
static void compare_circuits(struct subscriber_list *list, json_t *former)
{
	json_t *policy = json_object();

	put_rates(list, policy);
	if (!list->is_bad &&
		!(has_same(policy, former, "limit") && has_same(policy, former, "guaranteed")))
		list_say(list, list->row.line, true,
			"other rates than its circuit has above, which hold");
	compare_parents(list, json_string_value(json_object_get(former, "name")));
	json_decref(policy);
}

static json_t *begin_policy(struct subscriber_list *list, const char *name)
{
	json_t *policy = json_pack(
		"{s:s, s:{s:[]}}", "name", name, "match", list->terms->upload ? "src" : "dst");

	if (policy == NULL)
		return NULL;
	put_rates(list, policy);
	put_note(list, policy);
	put_burst(list, policy);
	put_weight(list, policy);
	put_word(list, policy, COLUMN_ACCOUNTING, "accounting", "l3, l2, wire");
	put_word(list, policy, COLUMN_ACTION, "action", "drop, mark, count, shape");
	take_parent(list, name);
	list->no_memory |= json_array_append_new(list->out.policies, policy) < 0 ||
			   json_object_set_new(
				   list->out.lines, name, json_integer(list->row.line)) < 0;
	return policy;
}

static json_t *policy_of_line(const struct subscriber_list *list, const char *name, json_t *index)
{
	const json_t *at = json_object_get(index, name);

	return at == NULL ? NULL
			  : json_array_get(list->out.policies, (size_t)json_integer_value(at));
}

/* Leaves its policy's name, or "" if it has none. */
static void read_line(struct subscriber_list *list, json_t *index, char name[CONFIG_NAME_MAX])
{
	json_t *policy;

	name[0] = '\0';
	if (!take_name(list, name)) {
		name[0] = '\0';
		return;
	}
	policy = policy_of_line(list, name, index);
	if (policy != NULL && list->columns.libreqos)
		compare_circuits(list, policy);
	else if (policy != NULL) {
		refuse_field(list, COLUMN_NAME, name + strlen(list->terms->prefix),
			"a name of its own", NULL);
		return;
	} else {
		list->no_memory |= json_object_set_new(index, name,
					   json_integer((json_int_t)json_array_size(
						   list->out.policies))) < 0;
		policy = begin_policy(list, name);
	}
	if (policy == NULL) {
		list->no_memory = true;
		return;
	}
	add_addresses(list, COLUMN_ADDRESSES, name, list_addresses(list, policy));
	add_addresses(list, COLUMN_ADDRESSES6, name, list_addresses(list, policy));
}

static void check_fields(struct subscriber_list *list)
{
	char text[80];

	if (list->row.n == list->columns.n)
		return;
	/* LibreQoS's own example has such lines: a comment with a comma, and no quotes. */
	snprintf(text, sizeof(text), "%u columns: expected %u, as in the header", list->row.n,
		list->columns.n);
	list_say_of_line(list, list->columns.libreqos && list->row.n > list->columns.n, text);
}

/* Spreadsheets write what their machine writes. */
static bool is_text(struct subscriber_list *list)
{
	for (unsigned i = 0; i < list->row.n; i++) {
		json_t *text = json_string(list->row.field[i]);

		json_decref(text);
		if (text != NULL)
			continue;
		list_say_of_line(list, false, "expected UTF-8: save the file so");
		return false;
	}
	return true;
}

static void read_lines(struct subscriber_list *list, struct csv *csv)
{
	json_t *index = json_object();
	char name[CONFIG_NAME_MAX] = "";
	const char *why;
	int ret = csv_next(csv, &list->row, &why);

	if (ret == 1)
		ret = !is_text(list)
			      ? -EINVAL
			      : columns_find(&list->row, list->terms->upload, list->terms->file,
					list->diagnostics, &list->columns);
	else
		list_say(list, list->row.line, false,
			why != NULL ? why : "empty: expected a line that names the columns");
	if (ret < 0 || why != NULL) {
		json_decref(index);
		return;
	}
	while ((ret = csv_next(csv, &list->row, &why)) != 0) {
		list->is_bad = false;
		if (ret < 0) {
			list_say(list, list->row.line, false, why);
		} else if (is_text(list)) {
			check_fields(list);
			read_line(list, index, name);
			list_note_bad(list, name);
		}
	}
	list_settle(list);
	json_decref(index);
}

void subscribers_free(struct subscribers *subscribers)
{
	json_decref(subscribers->policies);
	json_decref(subscribers->lines);
	json_decref(subscribers->nodes);
	json_decref(subscribers->bad);
	*subscribers = (struct subscribers){0};
}

int subscribers_read(const char *text, size_t len, const struct subscribers_terms *terms,
	struct diagnostics *diagnostics, struct subscribers *out)
{
	unsigned errors = diagnostics->errors;
	struct subscriber_list list = {.terms = terms, .diagnostics = diagnostics};
	struct csv csv;
	int ret = csv_init(&csv, text, len);

	list.ids = json_object();
	list.parents = json_object();
	list.others = json_array();
	list.used = json_object();
	list.owners = json_object();
	if (terms->network != NULL)
		list.nodes = network_nodes(
			terms->network, terms->upload, terms->network_file, diagnostics);
	list.nodes_refused = terms->network != NULL && list.nodes == NULL;
	list.out = (struct subscribers){.policies = json_array(),
		.lines = json_object(),
		.nodes = json_object(),
		.bad = json_object()};
	if (ret == 0)
		read_lines(&list, &csv);
	else if (ret == -EILSEQ)
		list_say(&list, 0, false, "NUL characters: expected UTF-8");
	if (list.no_memory || ret == -ENOMEM)
		list_say(&list, 0, false, "out of memory");
	diagnostics_rest(diagnostics, terms->file);
	csv_free(&csv);
	json_decref(list.ids);
	json_decref(list.parents);
	json_decref(list.others);
	json_decref(list.nodes);
	json_decref(list.used);
	json_decref(list.owners);
	*out = list.out;
	if (diagnostics->errors == errors)
		return 0;
	subscribers_free(out);
	return -EINVAL;
}
