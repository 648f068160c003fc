#!/bin/bash
# The JSON Schema that policy schema prints, by a validator that is not ours: it takes every policy
# that policy check takes, and refuses what is wrong in its keys, types, words and ranges.
# shellcheck source=../lib/tap.sh
. "$(dirname "$0")/../lib/tap.sh"

python=
for candidate in python3 /usr/bin/python3; do
	if "$candidate" -c 'import jsonschema, yaml; jsonschema.Draft7Validator' 2>/dev/null; then
		python=$candidate
		break
	fi
done
if [ -z "$python" ]; then
	skip "the schema by a validator" "python3-jsonschema and python3-yaml are not installed"
	done_testing
	exit
fi

export HERMES_LAUNCH_STATE=$TMP/state
host_policies "$TMP/nowhere"
"$LAUNCH" policy schema >"$TMP/schema.json"
cp "$ROOT"/tests/golden/policy/*.yaml "$ROOT"/examples/*.yaml "$ROOT"/examples/policies/*.yaml "$TMP/policy/"
chmod 600 "$TMP"/policy/*
cd "$TMP/policy" || exit 1
"$LAUNCH" policy show demo.yaml >shown.yaml
is "what is shown is one of them" $? 0

# What our own reader says: one line "FILE CODE..." for each
for file in *.yaml; do
	printf '%s' "$file"
	"$LAUNCH" policy check --format json "$file" 2>/dev/null |
		sed -n 's/.*"severity":"error","code":"\([^"]*\)".*/ \1/p' | tr -d '\n'
	echo
done >"$TMP/ours"

# Which of our codes a schema can know of, too.
out=$("$python" - "$TMP/schema.json" "$TMP/ours" <<'P' 2>&1
import json, sys, jsonschema, yaml

schema = json.load(open(sys.argv[1]))
jsonschema.Draft7Validator.check_schema(schema)
print("schema: is one")
assert schema["$schema"] == "http://json-schema.org/draft-07/schema#"


# What another draft has is no error to a validator: it is passed over, and everything is taken.
known = {"$schema", "$ref", "definitions", "title", "description", "type", "enum", "const", "anyOf", "allOf",
         "required", "properties", "additionalProperties", "propertyNames", "minProperties", "maxProperties",
         "items", "minItems", "maxItems", "uniqueItems", "minimum", "maximum", "minLength", "maxLength", "pattern"}


def look(here, path):
    if isinstance(here, bool) or not here:
        return
    for unknown in set(here) - known:
        print("keyword:", path, unknown)
    if "$ref" in here and len(here) > 1:
        print("keyword:", path, "beside a reference")
    if "$ref" in here and here["$ref"].rpartition("/")[2] not in schema["definitions"]:
        print("keyword:", path, here["$ref"])
    for key in ("properties", "definitions"):
        for name, below in here.get(key, {}).items():
            look(below, path + "/" + name)
    for key in ("items", "additionalProperties", "propertyNames"):
        look(here.get(key, {}), path + "/" + key)
    for key in ("anyOf", "allOf"):
        for below in here.get(key, []):
            look(below, path + "/" + key)


look(schema, "")
validator = jsonschema.Draft7Validator(schema)
# Capabilities have names in any case and with or without CAP_; a YAML 1.1 reader has made a truth
# value of "no", and 64 of 0100, before a schema sees them.
hidden = {"capability.yaml", "norway.yaml", "octal.yaml"}
structural = {"HLP-03", "HLP-04", "HLP-05", "HLP-10", "HLP-11", "HLP-13"}
taken = refused = 0
for line in open(sys.argv[2]):
    name, *codes = line.split()
    try:
        value = yaml.safe_load(open(name, encoding="utf-8"))
    except Exception:
        continue
    valid = validator.is_valid(value)
    if not codes and not valid:
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        print("not taken:", name, error.json_path, error.message[:200])
    elif not codes:
        taken += 1
    elif structural & set(codes) and valid and name not in hidden:
        print("not refused:", name, codes)
    elif structural & set(codes):
        refused += 1
print("taken", taken, "refused", refused)
P
)
like "the schema is one of draft-07" "$out" '^schema: is one$'
unlike "it uses what that draft has, and nothing beside a reference" "$out" '^keyword:|Error'
unlike "every good policy is taken" "$out" '^not taken'
unlike "every wrong key, type and word is refused" "$out" '^not refused'
read -r _ taken _ refused <<<"$(grep '^taken' <<<"$out")"
if [ "${taken:-0}" -ge 15 ] && [ "${refused:-0}" -ge 25 ]; then
	pass "there were many of both"
else
	fail "there were many of both" "$out"
fi
for key in $(sed -n 's/^POLICY_FIELD([A-Z_]*,[[:space:]]*"\([^"]*\)".*/\1/p' "$ROOT/policy/fields.def"); do
	"$python" - "$TMP/schema.json" "$key" <<'P' || printf '%s\n' "$key"
import json, sys
here = json.load(open(sys.argv[1]))
for part in sys.argv[2].split("."):
    here = here.get("properties") or next(x for x in here["anyOf"] if "properties" in x)["properties"]
    here = here[part]
P
done >"$TMP/absent" 2>/dev/null
is "every key of the table is in it" "$(cat "$TMP/absent")" ""

done_testing
