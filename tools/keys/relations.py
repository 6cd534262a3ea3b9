# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 The Weir authors
"""Relations of a key to other keys of its object, as sentences and as rules of a JSON schema.

`weir --keys` prints them as objects. `keys` has the other key, or two that are equally good.
`values` has the values of it that count. `excluded` is false for a required key.
`unless` is a value of the key itself without this relation.
"""

import json
import re


def alternatives(words):
    """Returns "a, b or c"."""
    return " or ".join(([", ".join(words[:-1])] if words[1:] else []) + words[-1:])


def relations_of(table, row):
    """Returns the relations of a key, without those that a required key has too."""
    above = row["path"].rpartition(".")[0]
    found = row.get("relations", [])
    implied = [one for relation in found if not relation["excluded"]
               for key in relation["keys"]
               for one in table.rows[f"{above}.{key}" if above else key].get("relations", [])]
    return [one for one in found if not (one["excluded"] and one in implied)]


def other_words(relation):
    """Returns the other key, or the members that count, as text."""
    if "values" not in relation:
        return alternatives([f"`{key}`" for key in relation["keys"]])
    first, *rest = [json.dumps(value) for value in relation["values"]]
    return alternatives([f"`{json.dumps(relation['keys'][0])}: {first}`",
                         *(f"`{value}`" for value in rest)])


def sentences(table, row):
    """Returns the relations of a key in words, without a full stop; or nothing."""
    found = []
    for excluded, start, between in ((False, "Only with", " and "), (True, "Not with", " or ")):
        mine = [one for one in relations_of(table, row) if one["excluded"] == excluded]
        except_for = {json.dumps(one["unless"]) for one in mine if "unless" in one}
        if mine:
            found.append(f"{start} {between.join(map(other_words, mine))}" + "".join(
                f", unless it is `{word}`" for word in except_for))
    return ". ".join(found)


def usual_values(row):
    """Returns the values that a missing key can have."""
    if "default" in row:
        return [row["default"]]
    return re.findall(r'`"([^"`]+)"`', row.get("default_words", ""))


def value_rule(values):
    """Returns the schema of a few values."""
    return {"const": values[0]} if len(values) == 1 else {"enum": values}


def unless(row, relation, node):
    """Returns a rule that does not hold for one value of the key itself."""
    if "unless" not in relation:
        return node
    name = row["path"].rpartition(".")[2]
    return {"anyOf": [{"properties": {name: {"const": relation["unless"]}}}, node]}


def rule(table, row, relation):
    """Returns the schema of an object in which one relation holds."""
    above = row["path"].rpartition(".")[0]
    key = relation["keys"][0]
    if "values" not in relation:
        there = [{"required": [one]} for one in relation["keys"]]
        node = there[0] if len(there) == 1 else {"anyOf": there}
        node = {"not": node} if relation["excluded"] else node
        return unless(row, relation, node)
    usual = usual_values(table.rows[f"{above}.{key}" if above else key])
    good = [value for value in usual if (value in relation["values"]) != relation["excluded"]]
    values = value_rule(relation["values"])
    node = {"required": [key]} if usual and not good else {}
    node["properties"] = {key: {"not": values} if relation["excluded"] else values}
    return unless(row, relation, node)


def join(rules):
    """Returns one schema for all of several."""
    whole = {}
    for one in rules:
        if set(one) & set(whole):
            return {"allOf": rules}
        whole.update(one)
    return whole


def dependencies(table, rows, more):
    """Returns "dependencies" for the keys of an object: of their relations and of other rules."""
    found = {}
    for row in rows:
        name = row["path"].rpartition(".")[2]
        rules = [rule(table, row, relation) for relation in relations_of(table, row)]
        rules += [more[name]] if name in more else []
        if rules:
            whole = join(rules)
            found[name] = whole["required"] if list(whole) == ["required"] else whole
    return found
