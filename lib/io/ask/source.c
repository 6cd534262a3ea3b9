/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 The Weir authors
 */
#include "ask/source.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Longest request in bytes. */
#define REQUEST_MAX 4096

/* Room for the name of a member in a path. */
#define MEMBER_MAX 64

const json_t *member_at(const json_t *json, const char *path)
{
	while (json && *path) {
		size_t len = strcspn(path, ".");
		char member[MEMBER_MAX];

		snprintf(member, sizeof(member), "%.*s", (int)len, path);
		json = json_object_get(json, member);
		path += len + (path[len] == '.');
	}
	return json_is_null(json) ? NULL : json;
}

/* Returns -ENOENT in place of 0 for an answer of null, which is released. */
static int no_null(int ret, json_t **value)
{
	if (ret == 0 && json_is_null(*value)) {
		json_decref(*value);
		ret = -ENOENT;
	}
	if (ret)
		*value = NULL;
	return ret;
}

int source_get(struct source *source, const char *request, json_t **value)
{
	return no_null(source->ask(source, request, value), value);
}

int source_get_of(struct source *source, const char *command, const char *name, json_t **value)
{
	char request[REQUEST_MAX];

	*value = NULL;
	if (snprintf(request, sizeof(request), "%s,%s", command, name) >= (int)sizeof(request))
		return -ENOENT;
	return source_get(source, request, value);
}

/* Writes the request for the page that starts at `next`: its parameters are the name and that. */
static int write_page_request(const struct pages *pages, char request[REQUEST_MAX])
{
	char start[24] = "";
	int n;

	if (pages->next)
		snprintf(start, sizeof(start), ",%lld", (long long)pages->next);
	n = snprintf(request, REQUEST_MAX, "%s%s%s%s", pages->command, pages->name ? "," : "",
		pages->name ? pages->name : "", start);
	return n < REQUEST_MAX ? 0 : -ENOENT;
}

int pages_send(struct pages *pages)
{
	char request[REQUEST_MAX];
	int ret = write_page_request(pages, request);

	if (ret == 0)
		ret = pages->source->send(pages->source, request);
	pages->sent = ret == 0;
	return ret;
}

int pages_take(struct pages *pages, json_t **page)
{
	struct source *source = pages->source;
	json_int_t start = pages->next;
	char request[REQUEST_MAX];
	int ret = write_page_request(pages, request);

	*page = NULL;
	if (ret == 0)
		ret = pages->sent ? no_null(source->receive(source, request, page), page)
				  : source_get(source, request, page);
	pages->sent = false;
	pages->next = json_integer_value(json_object_get(*page, "next"));
	if (pages->next == 0 || pages->next > start)
		return ret;
	json_decref(*page); /* a page that leads back would cause an endless loop */
	*page = NULL;
	return -EBADMSG;
}

int source_list(struct source *source, const char *command, const char *name, const char *what,
	json_t **listing)
{
	struct pages pages = {.source = source, .command = command, .name = name};
	json_t *page;
	int ret = pages_take(&pages, listing);

	if (ret == 0 && !json_is_array(json_object_get(*listing, what)))
		ret = -EBADMSG;
	while (ret == 0 && pages.next) {
		ret = pages_take(&pages, &page);
		if (ret == 0 && json_array_extend(json_object_get(*listing, what),
					json_object_get(page, what)))
			ret = -EBADMSG;
		json_decref(page);
	}
	if (ret == 0) {
		json_object_set_new(*listing, "next", json_null());
		return 0;
	}
	json_decref(*listing);
	*listing = NULL;
	return ret;
}

int source_each(struct source *source, const char *listing, const char *what, const char *command,
	json_t **array)
{
	json_t *names, *name, *value;
	int ret = source_list(source, listing, NULL, what, &names);
	size_t i;

	*array = ret ? NULL : json_array();
	json_array_foreach (json_object_get(names, what), i, name) {
		ret = json_is_string(name)
			      ? source_get_of(source, command, json_string_value(name), &value)
			      : -EBADMSG;
		if (ret == 0)
			json_array_append_new(*array, value);
		else if (ret != -ENOENT)
			break;
		ret = 0;
	}
	json_decref(names);
	return ret;
}
