/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "ask/source.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>

/* Longest request in bytes. */
#define REQUEST_MAX 4096

int source_get(struct source *source, const char *request, json_t **value)
{
	int ret = source->ask(source, request, value);

	if (ret == 0 && json_is_null(*value)) {
		json_decref(*value);
		ret = -ENOENT;
	}
	if (ret)
		*value = NULL;
	return ret;
}

int source_get_of(struct source *source, const char *command, const char *name, json_t **value)
{
	char request[REQUEST_MAX];

	*value = NULL;
	if (snprintf(request, sizeof(request), "%s,%s", command, name) >= (int)sizeof(request))
		return -ENOENT;
	return source_get(source, request, value);
}

/* Appends a page's members. Returns 0, with the start of the next page (0: none), or -EBADMSG. */
static int take_page(json_t *all, const json_t *page, const char *what, json_int_t *next)
{
	const json_t *members = json_object_get(page, what), *more = json_object_get(page, "next");
	json_int_t before = *next;

	if (!json_is_array(members))
		return -EBADMSG;
	if (json_array_extend(all, (json_t *)members))
		return -ENOMEM;
	*next = json_integer_value(more);
	/* A page that leads back would cause an endless loop. */
	return *next && *next <= before ? -EBADMSG : 0;
}

/* Requests the page that begins at `start`. */
static int get_page(struct source *source, const char *command, const char *name, json_int_t start,
	json_t **page)
{
	char parameters[REQUEST_MAX];

	if (start == 0 && !name)
		return source_get(source, command, page);
	if (start == 0)
		return source_get_of(source, command, name, page);
	snprintf(parameters, sizeof(parameters), "%s%s%lld", name ? name : "", name ? "," : "",
		(long long)start);
	return source_get_of(source, command, parameters, page);
}

static int follow_pages(struct source *source, const char *command, const char *name,
	const char *what, json_t *all, json_int_t next)
{
	while (next) {
		json_t *page;
		int ret = get_page(source, command, name, next, &page);

		if (ret)
			return ret;
		ret = take_page(all, page, what, &next);
		json_decref(page);
		if (ret)
			return ret;
	}
	return 0;
}

int source_list(struct source *source, const char *command, const char *name, const char *what,
	json_t **listing)
{
	json_t *all = json_array();
	json_int_t next = 0;
	int ret = get_page(source, command, name, 0, listing);

	if (ret == 0)
		ret = take_page(all, *listing, what, &next);
	if (ret == 0)
		ret = follow_pages(source, command, name, what, all, next);
	if (ret) {
		json_decref(*listing);
		json_decref(all);
		*listing = NULL;
		return ret;
	}
	json_object_set_new(*listing, what, all);
	json_object_set_new(*listing, "next", json_null());
	return 0;
}

static int ask_each(
	struct source *source, const char *command, const json_t *names, size_t most, json_t *array)
{
	const json_t *name;
	size_t i;

	json_array_foreach (names, i, name) {
		json_t *value;
		int ret;

		if (json_array_size(array) == most)
			break;
		if (!json_is_string(name))
			return -EBADMSG;
		ret = source_get_of(source, command, json_string_value(name), &value);
		if (ret && ret != -ENOENT)
			return ret;
		if (ret == 0)
			json_array_append_new(array, value);
	}
	return 0;
}

/* Sends the command for each name of a listing. */
static int each_of(struct source *source, const char *listing, const char *what,
	const char *command, size_t most, json_t **array)
{
	json_t *names;
	int ret = source_list(source, listing, NULL, what, &names);

	*array = NULL;
	if (ret)
		return ret;
	*array = json_array();
	ret = ask_each(source, command, json_object_get(names, what), most, *array);
	json_decref(names);
	return ret;
}

int source_each(struct source *source, const char *command, size_t most, json_t **array)
{
	return each_of(source, "/weir/policies", "policies", command, most, array);
}

int source_each_listed(struct source *source, const char *command, const char *what, json_t **array)
{
	return each_of(source, command, what, command, SIZE_MAX, array);
}
