"""A JSON Schema validator for the keywords of berth's schema; other keywords are an error."""

import re

TYPES = {"string": str, "boolean": bool, "array": list, "object": dict}
SILENT = {"$schema", "$defs", "title", "description"}


def is_type(value, name):
    if name in ("number", "integer"):
        wanted = int if name == "integer" else (int, float)
        return isinstance(value, wanted) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def errors(schema, value, root=None, path="$"):
    """Errors in value, as a list of texts."""
    root = root or schema
    found = []

    def inner(part, what, where):
        found.extend(errors(part, what, root, where))

    for key, wanted in schema.items():
        if key in SILENT:
            continue
        if key == "$ref":
            inner(root["$defs"][wanted.removeprefix("#/$defs/")], value, path)
        elif key == "type":
            if not any(is_type(value, name) for name in ([wanted] if isinstance(wanted, str) else wanted)):
                found.append(f"{path}: not {wanted}")
        elif key == "enum":
            if value not in wanted:
                found.append(f"{path}: not one of {wanted}")
        elif key == "const":
            if value is not wanted:
                found.append(f"{path}: not {wanted}")
        elif key == "exclusiveMinimum":
            if is_type(value, "number") and value <= wanted:
                found.append(f"{path}: {key} {wanted}")
        elif key == "pattern":
            if isinstance(value, str) and not re.search(wanted, value):
                found.append(f"{path}: does not match {wanted}")
        elif key in ("minimum", "maximum"):
            if is_type(value, "number") and (value < wanted if key == "minimum" else value > wanted):
                found.append(f"{path}: {key} {wanted}")
        elif key in ("minItems", "maxItems", "minProperties", "maxProperties"):
            counted = isinstance(value, dict if key.endswith("Properties") else list)
            if counted and (len(value) > wanted if key.startswith("max") else len(value) < wanted):
                found.append(f"{path}: {key} {wanted}")
        elif key == "items":
            for i, item in enumerate(value if isinstance(value, list) else []):
                inner(wanted, item, f"{path}[{i}]")
        elif key == "properties":
            for name in wanted.keys() & (value.keys() if isinstance(value, dict) else set()):
                inner(wanted[name], value[name], f"{path}.{name}")
        elif key == "additionalProperties":
            for name in (value.keys() if isinstance(value, dict) else set()) - schema.get("properties", {}).keys():
                if wanted is False:
                    found.append(f"{path}.{name}: unknown")
                else:
                    inner(wanted, value[name], f"{path}.{name}")
        elif key == "required":
            found.extend(f"{path}: needs {name}" for name in wanted if isinstance(value, dict) and name not in value)
        elif key in ("oneOf", "anyOf"):
            n = sum(not errors(part, value, root, path) for part in wanted)
            if n == 0 or (key == "oneOf" and n > 1):
                found.append(f"{path}: fits {n} of {key}")
        else:
            raise ValueError(f"unknown keyword {key}")
    return found
