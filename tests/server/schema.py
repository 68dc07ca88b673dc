"""The part of JSON Schema that server/schemas.json uses, strictly: unknown keywords are errors."""

import re

KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", "anyOf", "$ref",
         "description", "minimum", "maximum", "minLength", "maxLength", "pattern", "maxItems", "format",
         "default"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
WHEN = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def resolve(schema, document):
    if "$ref" not in schema:
        return schema
    at = document
    for part in schema["$ref"].removeprefix("#/").split("/"):
        at = at[part]
    return at


def errors(value, schema, document, where="$"):
    """Everything that is wrong, as sentences."""
    schema = resolve(schema, document)
    for key in set(schema) - KNOWN:
        yield f"{where}: the schema has '{key}', which is not understood"
    if "anyOf" in schema:
        found = [list(errors(value, one, document, where)) for one in schema["anyOf"]]
        if all(found):
            yield min(found, key=len)[0]
        return
    names = schema.get("type", [])
    names = [names] if isinstance(names, str) else names
    if names and not any(is_type(value, name) for name in names):
        yield f"{where}: {value!r:.80} is no {' or '.join(names)}"
        return
    if "enum" in schema and value is not None and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if isinstance(value, str):
        if schema.get("format") == "date-time" and not WHEN.fullmatch(value):
            yield f"{where}: {value!r} is no time"
        if "pattern" in schema and not re.search(schema["pattern"], value):
            yield f"{where}: {value!r} is not of the form {schema['pattern']}"
    if isinstance(value, int) and value < schema.get("minimum", value):
        yield f"{where}: {value} is less than {schema['minimum']}"
    if isinstance(value, dict):
        yield from object_errors(value, schema, document, where)
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from errors(item, schema.get("items", {}), document, f"{where}[{index}]")


def object_errors(value, schema, document, where):
    properties = schema.get("properties", {})
    for key in schema.get("required", []):
        if key not in value:
            yield f"{where}: '{key}' is missing"
    for key, item in value.items():
        rest = schema.get("additionalProperties", {})
        if key in properties:
            yield from errors(item, properties[key], document, f"{where}.{key}")
        elif rest is False:
            yield f"{where}: '{key}' is not described"
        elif rest is not True:
            yield from errors(item, rest, document, f"{where}.{key}")
