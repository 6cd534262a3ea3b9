/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 *
 * Random operations and merges at several replicas of a set. A model of each replica, a table of
 * the maximum of each field, has the result of each call and the content of each set.
 */
#include "check.h"
#include "scope.h"

#include "base/hash.h"
#include "base/prng.h"
#include "base/wire.h"
#include "members/members.h"

END_POINTER(members_destroy, struct members *)

#define REPLICAS 8
#define MODELED  512

/* The first two have the same id. */
static const char *const names[] = {
	"gwzx", "16cd", "a", "l1", "l2", "L2", "edge-7.fra_1", "b", "zz", "l10"};

struct versioned {
	uint32_t version;
	bool has_key;
	struct member_address address;
	uint8_t key[MEMBER_KEY];
};

struct fact {
	unsigned name;
	uint64_t born;
	enum member_state state;
	struct versioned said;
};

/* The model of one replica, in no order. */
struct model {
	struct fact facts[MODELED];
	unsigned n;
};

struct replicas {
	struct prng prng;
	unsigned n;
	struct members *sets[REPLICAS];
	struct model models[REPLICAS];
};

/* Compares field by field, in the order of bytes on the wire. */
static int compare_said(const struct versioned *a, const struct versioned *b)
{
	int differ;

	if (a->version != b->version)
		return a->version < b->version ? -1 : 1;
	if (a->has_key != b->has_key)
		return a->has_key ? 1 : -1;
	if (a->address.family != b->address.family)
		return a->address.family < b->address.family ? -1 : 1;
	differ = memcmp(a->address.bytes, b->address.bytes, sizeof(a->address.bytes));
	if (differ)
		return differ;
	if (a->address.port != b->address.port)
		return a->address.port < b->address.port ? -1 : 1;
	return memcmp(a->key, b->key, sizeof(a->key));
}

static struct fact *find_fact(struct model *model, unsigned name, uint64_t born)
{
	for (unsigned i = 0; i < model->n; i++)
		if (model->facts[i].name == name && model->facts[i].born == born)
			return &model->facts[i];
	return NULL;
}

static bool merge_fact(struct model *model, const struct fact *fact)
{
	struct fact *ours = find_fact(model, fact->name, fact->born);
	bool changed = !ours;

	if (!ours) {
		assert_true(model->n < MODELED);
		ours = &model->facts[model->n++];
		*ours = *fact;
	}
	if (fact->state > ours->state) {
		ours->state = fact->state;
		changed = true;
	}
	if (fact->said.version > 0 && compare_said(&fact->said, &ours->said) > 0) {
		ours->said = fact->said;
		changed = true;
	}
	return changed;
}

static uint32_t id_of(unsigned name)
{
	return name_hash(names[name]);
}

/* Returns true if fact a comes before b among the entries of one id. */
static bool is_before(const struct fact *a, const struct fact *b)
{
	if (a->born != b->born)
		return a->born < b->born;
	return strcmp(names[a->name], names[b->name]) < 0;
}

/* Returns the fact that counts for an id, or NULL; *others have not left, either. */
static struct fact *counting(struct model *model, uint32_t id, unsigned *others)
{
	struct fact *counts = NULL;

	*others = 0;
	for (unsigned i = 0; i < model->n; i++) {
		struct fact *fact = &model->facts[i];

		if (id_of(fact->name) != id || fact->state == MEMBER_LEFT)
			continue;
		*others += counts != NULL;
		if (!counts || is_before(fact, counts))
			counts = fact;
	}
	return counts;
}

static struct member_address some_address(struct prng *prng)
{
	struct member_address address = {.family = prng_below(prng, 2) ? 4 : 6};

	address.port = (uint16_t)(7946 + prng_below(prng, 2));
	for (unsigned i = 0; i < (address.family == 4 ? 4 : 16); i++)
		address.bytes[i] = (uint8_t)prng_below(prng, 3);
	return address;
}

static struct versioned some_said(struct prng *prng)
{
	struct versioned said = {
		.address = some_address(prng), .has_key = prng_below(prng, 2) == 1};

	if (said.has_key)
		memset(said.key, (int)prng_below(prng, 3), sizeof(said.key));
	return said;
}

static struct member_entry entry_of(const struct fact *fact)
{
	struct member_entry entry = {.born = fact->born, .state = fact->state};

	strcpy(entry.name, names[fact->name]);
	entry.id = id_of(fact->name);
	entry.version = fact->said.version;
	entry.address = fact->said.address;
	entry.has_key = fact->said.has_key;
	memcpy(entry.public_key, fact->said.key, sizeof(fact->said.key));
	return entry;
}

static bool entry_is(const struct member_entry *entry, const struct fact *fact)
{
	struct versioned said = {
		.version = entry->version, .address = entry->address, .has_key = entry->has_key};

	memcpy(said.key, entry->public_key, sizeof(said.key));
	return strcmp(entry->name, names[fact->name]) == 0 && entry->born == fact->born &&
	       entry->state == fact->state && entry->id == id_of(fact->name) &&
	       compare_said(&said, &fact->said) == 0;
}

static struct fact *fact_of(struct model *model, const struct member_entry *entry)
{
	for (unsigned name = 0; name < COUNT(names); name++)
		if (strcmp(names[name], entry->name) == 0)
			return find_fact(model, name, entry->born);
	return NULL;
}

/* Checks the last membership of an id that has ended: the first one in the list of changes. */
static void check_ended(const struct members *m, struct model *model, uint32_t id)
{
	const struct member_entry *ended = members_ended(m, id);
	uint32_t i = members_newest(m);
	unsigned others;

	while (i != MEMBERS_NONE && members_numbered(m, i)->id != id)
		i = members_older(m, i);
	if (i == MEMBERS_NONE || counting(model, id, &others))
		assert_null(ended);
	else
		assert_ptr_equal(ended, members_numbered(m, i));
}

/* Checks the iterator over present members, and the search by name. */
static void check_present(const struct members *m, struct model *model)
{
	const struct member_entry *entry;
	unsigned position = 0, others, twins = 0, seen = 0, present = 0;
	uint32_t before = 0;

	while ((entry = members_present(m, &position))) {
		assert_true(seen == 0 || entry->id > before);
		assert_ptr_equal(counting(model, entry->id, &others), fact_of(model, entry));
		before = entry->id;
		seen++;
	}
	for (unsigned name = 0; name < COUNT(names); name++) {
		struct fact *fact = counting(model, id_of(name), &others);

		check_ended(m, model, id_of(name));
		entry = members_find(m, names[name]);
		if (fact && fact->name == name) {
			assert_true(entry && entry_is(entry, fact));
			present++;
			twins += others;
		} else {
			assert_null(entry);
		}
	}
	assert_int_equal(seen, present);
	entry = members_twice(m);
	assert_int_equal(entry != NULL, twins > 0);
	if (entry) {
		struct fact *fact = fact_of(model, entry);

		assert_ptr_not_equal(counting(model, entry->id, &others), fact);
		assert_int_not_equal(fact->state, MEMBER_LEFT);
	}
}

static void check_set(const struct members *m, struct model *model)
{
	uint64_t changed = UINT64_MAX;
	unsigned listed = 0;

	assert_int_equal(members_count(m), model->n);
	for (unsigned i = 0; i < model->n; i++) {
		const struct fact *fact = fact_of(model, members_at(m, i));

		assert_true(fact && entry_is(members_at(m, i), fact));
		assert_true(i == 0 || member_compare(members_at(m, i - 1), members_at(m, i)) < 0);
	}
	for (uint32_t i = members_newest(m); i != MEMBERS_NONE; i = members_older(m, i)) {
		const struct member_entry *entry = members_numbered(m, i);

		assert_true(entry->changed < changed);
		assert_int_equal(members_number(m, entry), i);
		changed = entry->changed;
		listed++;
	}
	assert_int_equal(listed, model->n);
	check_present(m, model);
}

static void seed_both(struct replicas *r, struct members *m, struct model *model, unsigned name)
{
	struct versioned said = some_said(&r->prng);
	struct fact fact = {name, member_first_born(names[name]), MEMBER_IN, said};
	struct fact *ours = find_fact(model, name, fact.born);

	assert_int_equal(
		members_seed(m, names[name], &said.address, said.has_key ? said.key : NULL), 0);
	if (!ours)
		merge_fact(model, &fact);
	else if (ours->state == MEMBER_IN && ours->said.version == 0)
		ours->said = said;
}

static void add_both(struct replicas *r, struct members *m, struct model *model, unsigned name)
{
	struct versioned said = some_said(&r->prng);
	struct fact fact = {name, member_first_born(names[name]), MEMBER_IN, said};
	uint64_t random = prng_next(&r->prng) % 8;
	unsigned others;
	int want = 0;

	fact.said.version = 1;
	for (unsigned i = 0; i < model->n; i++)
		if (model->facts[i].name == name)
			fact.born = random;
	if (counting(model, id_of(name), &others))
		want = -EEXIST;
	else if (find_fact(model, name, fact.born))
		want = -EINVAL;
	else
		merge_fact(model, &fact);
	assert_int_equal(
		members_add(m, names[name], &said.address, said.has_key ? said.key : NULL, random),
		want);
}

static void remove_both(struct replicas *r, struct members *m, struct model *model, unsigned name)
{
	bool dead = prng_below(&r->prng, 2);
	unsigned others;
	struct fact *counts = counting(model, id_of(name), &others);
	int want = -ENOENT;

	for (unsigned i = 0; i < model->n; i++) {
		struct fact *fact = &model->facts[i];

		if (fact->name != name || fact->state == MEMBER_LEFT)
			continue;
		fact->state = fact == counts && !dead ? MEMBER_LEAVING : MEMBER_LEFT;
		want = 0;
	}
	assert_int_equal(members_remove(m, names[name], dead), want);
}

static void leave_both(struct members *m, struct model *model, unsigned name)
{
	int want = -ENOENT;

	for (unsigned i = 0; i < model->n; i++)
		if (model->facts[i].name == name && model->facts[i].state == MEMBER_LEAVING) {
			model->facts[i].state = MEMBER_LEFT;
			want = 0;
		}
	assert_int_equal(members_left(m, names[name]), want);
}

static void move_both(struct replicas *r, struct members *m, struct model *model, unsigned name)
{
	struct member_address address = some_address(&r->prng);
	unsigned others;
	struct fact *fact = counting(model, id_of(name), &others);
	bool here = fact && fact->name == name;
	struct versioned said;

	assert_int_equal(members_move(m, names[name], &address), here ? 0 : -ENOENT);
	if (!here)
		return;
	said = fact->said;
	said.address = address;
	if (compare_said(&said, &fact->said) == 0)
		return;
	said.version++;
	fact->said = said;
}

static void merge_both(struct replicas *r, struct members *m, struct model *model, unsigned name)
{
	struct fact fact = {name, prng_below(&r->prng, 4), prng_below(&r->prng, MEMBER_STATES),
		some_said(&r->prng)};
	struct member_entry entry;

	fact.said.version = prng_below(&r->prng, 3);
	entry = entry_of(&fact);
	assert_int_equal(members_merge(m, &entry), merge_fact(model, &fact));
}

static void act(struct replicas *r, unsigned i)
{
	unsigned name = prng_below(&r->prng, COUNT(names));
	struct members *m = r->sets[i];
	struct model *model = &r->models[i];

	switch (prng_below(&r->prng, 6)) {
	case 0:
		seed_both(r, m, model, name);
		break;
	case 1:
		add_both(r, m, model, name);
		break;
	case 2:
		remove_both(r, m, model, name);
		break;
	case 3:
		leave_both(m, model, name);
		break;
	case 4:
		move_both(r, m, model, name);
		break;
	default:
		merge_both(r, m, model, name);
	}
}

/* Merges a random part of one set into another, in a random order and with repeats. */
static void merge_part(struct replicas *r, unsigned from, unsigned to)
{
	unsigned n = members_count(r->sets[from]), times = n ? prng_below(&r->prng, 2 * n) : 0;

	for (; times > 0; times--) {
		struct member_entry entry = *members_at(r->sets[from], prng_below(&r->prng, n));
		struct fact *fact = fact_of(&r->models[from], &entry);

		assert_int_equal(
			members_merge(r->sets[to], &entry), merge_fact(&r->models[to], fact));
	}
}

/* Merges all sets into a new one, in a random order, and returns its digest. */
static uint64_t digest_of_all(struct replicas *r)
{
	struct model model = {.n = 0};
	ENDED_BY(members_destroy_at) struct members *all = NULL;
	unsigned first = prng_below(&r->prng, r->n);

	assert_int_equal(members_create(&all), 0);
	for (unsigned k = 0; k < r->n; k++) {
		unsigned from = (first + k) % r->n, n = members_count(r->sets[from]);
		unsigned start = n ? prng_below(&r->prng, n) : 0;

		for (unsigned i = 0; i < n; i++) {
			unsigned at = (start + i * 7919) % n;

			assert_true(members_merge(all, members_at(r->sets[from], at)) >= 0);
		}
		for (unsigned i = n; i > 0; i--)
			assert_true(members_merge(all, members_at(r->sets[from], i - 1)) >= 0);
		for (unsigned i = 0; i < r->models[from].n; i++)
			merge_fact(&model, &r->models[from].facts[i]);
	}
	check_set(all, &model);
	return members_digest(all);
}

static bool is_same_model(struct model *a, struct model *b)
{
	if (a->n != b->n)
		return false;
	for (unsigned i = 0; i < a->n; i++) {
		struct fact *other = find_fact(b, a->facts[i].name, a->facts[i].born);

		if (!other || other->state != a->facts[i].state ||
			other->said.version != a->facts[i].said.version)
			return false;
		if (other->said.version > 0 && compare_said(&other->said, &a->facts[i].said))
			return false;
	}
	return true;
}

/* Digests are equal if and only if the models are. */
static void check_digests(struct replicas *r)
{
	for (unsigned i = 0; i < r->n; i++)
		for (unsigned k = 0; k < i; k++)
			assert_int_equal(members_digest(r->sets[i]) == members_digest(r->sets[k]),
				is_same_model(&r->models[i], &r->models[k]));
}

static void run_replicas(struct replicas *r, unsigned steps)
{
	for (unsigned step = 0; step < steps; step++) {
		unsigned i = prng_below(&r->prng, r->n), k = prng_below(&r->prng, r->n);
		uint64_t digest = members_digest(r->sets[i]);
		uint64_t serial = members_serial(r->sets[i]);

		if (prng_below(&r->prng, 4) == 0)
			merge_part(r, i, k);
		else
			act(r, i);
		check_set(r->sets[i], &r->models[i]);
		check_set(r->sets[k], &r->models[k]);
		if (i != k && digest != members_digest(r->sets[i]))
			assert_int_not_equal(serial, members_serial(r->sets[i]));
	}
}

TEST(test_replicas)
{
	struct replicas *r = test_calloc(1, sizeof(*r));

	for (uint64_t seed = 1; seed <= ROUNDS(300); seed++) {
		prng_seed(&r->prng, seed);
		r->n = 1 + prng_below(&r->prng, REPLICAS);
		for (unsigned i = 0; i < r->n; i++) {
			r->models[i].n = 0;
			assert_int_equal(members_create(&r->sets[i]), 0);
		}
		run_replicas(r, 10 + prng_below(&r->prng, 80));
		check_digests(r);
		assert_int_equal(digest_of_all(r), digest_of_all(r));
		for (unsigned i = 0; i < r->n; i++)
			members_destroy(r->sets[i]);
	}
	test_free(r);
}

/* A name that was removed comes again under another identity. */
TEST(test_comes_again)
{
	const struct member_address address = {4, {10, 0, 0, 1}, 7946};
	ENDED_BY(members_destroy_at) struct members *m = NULL;

	assert_int_equal(members_create(&m), 0);
	assert_int_equal(members_add(m, "l1", &address, NULL, 99), 0);
	assert_int_equal(members_find(m, "l1")->born, member_first_born("l1"));
	assert_int_equal(members_add(m, "l1", &address, NULL, 99), -EEXIST);
	assert_int_equal(members_left(m, "l1"), -ENOENT);
	assert_int_equal(members_remove(m, "l1", false), 0);
	assert_int_equal(members_find(m, "l1")->state, MEMBER_LEAVING);
	assert_int_equal(members_add(m, "l1", &address, NULL, 99), -EEXIST);
	assert_int_equal(members_left(m, "l1"), 0);
	assert_null(members_find(m, "l1"));
	assert_int_equal(members_seed(m, "l1", &address, NULL), 0);
	assert_null(members_find(m, "l1"));
	assert_int_equal(members_add(m, "l1", &address, NULL, 99), 0);
	assert_int_equal(members_find(m, "l1")->born, 99);
	assert_int_equal(members_remove(m, "l1", true), 0);
	assert_int_equal(members_add(m, "l1", &address, NULL, 99), -EINVAL);
	assert_int_equal(members_remove(m, "l1", true), -ENOENT);
	assert_int_equal(members_move(m, "l1", &address), -ENOENT);
}

static struct member_entry usual_entry(void)
{
	struct member_entry entry = {.name = "l1",
		.id = name_hash("l1"),
		.born = 7,
		.address = {4, {10, 0, 0, 1}, 7946}};

	return entry;
}

TEST(test_invalid_entries)
{
	ENDED_BY(members_destroy_at) struct members *m = NULL;
	struct member_entry wrong[10];
	struct member_address odd = {5, {0}, 1};
	char longest[MEMBER_NAME_MAX + 1];

	assert_int_equal(members_create(&m), 0);
	for (unsigned i = 0; i < COUNT(wrong); i++)
		wrong[i] = usual_entry();
	wrong[0].id++;
	wrong[1].state = MEMBER_STATES;
	wrong[2].address.family = 0;
	wrong[3].address.bytes[4] = 1;
	wrong[4].public_key[31] = 1;
	strcpy(wrong[5].name, "");
	strcpy(wrong[6].name, "l 1");
	strcpy(wrong[7].name, "l\xc3\xbc");
	memset(wrong[8].name, 'a', MEMBER_NAME_MAX);
	wrong[9].address.family = 16;
	for (unsigned i = 0; i < COUNT(wrong); i++) {
		if (i >= 5 && i < 8)
			wrong[i].id = name_hash(wrong[i].name);
		assert_int_equal(members_merge(m, &wrong[i]), -EINVAL);
	}
	memset(longest, 'a', MEMBER_NAME_MAX);
	longest[MEMBER_NAME_MAX] = '\0';
	assert_int_equal(members_seed(m, longest, &wrong[0].address, NULL), -EINVAL);
	assert_int_equal(members_add(m, longest, &wrong[0].address, NULL, 1), -EINVAL);
	assert_int_equal(members_add(m, "l1", &odd, NULL, 1), -EINVAL);
	assert_int_equal(members_count(m), 0);
	assert_int_equal(members_seed(m, longest + 1, &wrong[0].address, NULL), 0);
	assert_int_equal(members_move(m, longest + 1, &odd), -EINVAL);
	assert_int_equal(members_find(m, longest + 1)->version, 0);
}

TEST(test_full)
{
	ENDED_BY(members_destroy_at) struct members *m = NULL;
	struct member_entry entry = usual_entry();
	uint64_t digest;

	assert_int_equal(members_create(&m), 0);
	for (unsigned i = 0; i < MEMBERS_MOST; i++) {
		entry.born = (i * UINT64_C(7919)) % MEMBERS_MOST;
		assert_int_equal(members_merge(m, &entry), 1);
	}
	digest = members_digest(m);
	entry.born = MEMBERS_MOST;
	assert_int_equal(members_merge(m, &entry), -ENOSPC);
	assert_int_equal(members_add(m, "l2", &entry.address, NULL, 1), -ENOSPC);
	assert_int_equal(members_seed(m, "l2", &entry.address, NULL), -ENOSPC);
	assert_int_equal(members_digest(m), digest);
	assert_int_equal(members_count(m), MEMBERS_MOST);
	entry.born = 5;
	entry.state = MEMBER_LEAVING;
	assert_int_equal(members_merge(m, &entry), 1);
	assert_int_equal(members_numbered(m, members_newest(m))->born, 5);
}

TEST(test_last_version)
{
	ENDED_BY(members_destroy_at) struct members *m = NULL;
	struct member_entry entry = usual_entry();

	assert_int_equal(members_create(&m), 0);
	entry.version = UINT32_MAX;
	assert_int_equal(members_merge(m, &entry), 1);
	assert_int_equal(members_move(m, "l1", &entry.address), 0);
	entry.address.port++;
	assert_int_equal(members_move(m, "l1", &entry.address), -EOVERFLOW);
}

/* Each entry is read as it was written, from just enough bytes; the longest one fits its bound. */
TEST(test_bytes_of_an_entry)
{
	uint8_t bytes[MEMBER_BYTES_MOST], least = UINT8_MAX, most = 0;
	struct prng prng;

	prng_seed(&prng, 1);
	for (unsigned round = 0; round < ROUNDS(20000); round++) {
		struct versioned said = some_said(&prng);
		struct fact fact = {prng_below(&prng, COUNT(names)), prng_next(&prng),
			prng_below(&prng, MEMBER_STATES), said};
		struct member_entry entry = entry_of(&fact), again;
		size_t len;

		if (round % 5 == 0) {
			memset(entry.name, 'x', MEMBER_NAME_MAX - 1);
			entry.id = name_hash(entry.name);
		}
		entry.version = (uint32_t)prng_next(&prng);
		len = member_write(&entry, bytes, sizeof(bytes));
		assert_true(len >= MEMBER_BYTES_LEAST && len <= MEMBER_BYTES_MOST);
		least = len < least ? (uint8_t)len : least;
		most = len > most ? (uint8_t)len : most;
		assert_int_equal(member_write(&entry, bytes, len - 1), 0);
		assert_int_equal(member_read(&again, bytes, len - 1), 0);
		assert_int_equal(member_read(&again, bytes, sizeof(bytes)), len);
		assert_int_equal(member_compare(&entry, &again), 0);
		assert_true(member_equal(&entry, &again) && again.id == entry.id);
		assert_int_equal(member_hash(&entry), member_hash(&again));
	}
	assert_int_equal(least, MEMBER_BYTES_LEAST);
	assert_int_equal(most, MEMBER_BYTES_MOST);
}

static struct members *some_set(struct prng *prng, unsigned n)
{
	struct members *m;

	assert_int_equal(members_create(&m), 0);
	for (unsigned i = 0; i < n; i++) {
		struct fact fact = {prng_below(prng, COUNT(names)), prng_next(prng),
			prng_below(prng, MEMBER_STATES), some_said(prng)};
		struct member_entry entry = entry_of(&fact);

		assert_int_equal(members_merge(m, &entry), 1);
	}
	return m;
}

/* Returns the bytes of a set with a wrong part, but the right hash. */
static void fix_hash(uint8_t *buf, size_t len)
{
	wire_put64(buf + len - 8, member_hash_bytes(buf, len - 8));
}

static void check_damage(struct prng *prng, uint8_t *buf, size_t len)
{
	struct members *m = NULL;

	for (size_t bit = 0; bit < 8 * len; bit++) {
		buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(members_decode(buf, len, &m), -EBADMSG);
		buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(members_decode(buf, cut, &m), -EBADMSG);
	/* With the right hash: another number of entries, another format, another magic. */
	buf[13]++;
	fix_hash(buf, len);
	assert_int_equal(members_decode(buf, len, &m), -EBADMSG);
	buf[13] -= 2;
	fix_hash(buf, len);
	assert_int_equal(members_decode(buf, len, &m), -EBADMSG);
	buf[13]++;
	buf[9]++;
	fix_hash(buf, len);
	assert_int_equal(members_decode(buf, len, &m), -EPROTONOSUPPORT);
	buf[9] -= 2;
	fix_hash(buf, len);
	assert_int_equal(members_decode(buf, len, &m), -EBADMSG);
	buf[9]++;
	buf[0]++;
	fix_hash(buf, len);
	assert_int_equal(members_decode(buf, len, &m), -EBADMSG);
	buf[0]--;
	for (unsigned round = 0; round < 200; round++) {
		buf[14 + prng_below(prng, (uint32_t)len - 22)] = (uint8_t)prng_next(prng);
		fix_hash(buf, len);
		m = NULL;
		if (members_decode(buf, len, &m) == 0)
			members_destroy(m);
		else
			assert_null(m);
	}
}

TEST(test_file)
{
	struct prng prng;

	prng_seed(&prng, 2);
	for (unsigned n = 0; n < ROUNDS(40); n++) {
		ENDED_BY(members_destroy_at) struct members *m = some_set(&prng, n);
		ENDED_BY(members_destroy_at) struct members *again = NULL;
		size_t len = members_bytes(m);
		uint8_t *buf = test_malloc(len);
		uint32_t i, k;

		members_encode(m, buf);
		assert_int_equal(members_decode(buf, len, &again), 0);
		assert_int_equal(members_digest(again), members_digest(m));
		assert_int_equal(members_count(again), n);
		i = members_newest(m);
		k = members_newest(again);
		for (; i != MEMBERS_NONE; i = members_older(m, i), k = members_older(again, k)) {
			const struct member_entry *a = members_numbered(m, i);
			const struct member_entry *b = members_numbered(again, k);

			assert_true(member_compare(a, b) == 0 && member_equal(a, b));
		}
		if (n > 0)
			check_damage(&prng, buf, len);
		test_free(buf);
	}
}
