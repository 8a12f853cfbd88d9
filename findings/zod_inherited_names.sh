#!/bin/bash
# Guess: what z.fromJSONSchema makes of a schema accepts what the schema accepts, and refuses the rest: it is an error where zod cannot.
# Found: an object without its optional property is refused where the name is one that every object of JavaScript inherits, such as constructor. Without a
# word, minItems and maxItems count only next to items, and a required property only if "properties" names it.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts zod@4.6.7
cat > finding.js <<'JS'
import { z } from "zod";

const named = name => ({ type: "object", properties: { [name]: { type: "string" } } });
let changed = false;
for (const [schema, value, right, found] of [
  [named("driver"), {}, true, true],
  [named("constructor"), {}, true, false],
  [named("constructor"), { constructor: "Tyrrell" }, true, true],
  [{ type: "array", items: {}, maxItems: 1 }, [1, 2], false, false],
  [{ type: "array", maxItems: 1 }, [1, 2], false, true],
  [{ type: "array", minItems: 2 }, [1], false, true],
  [{ ...named("driver"), required: ["driver"] }, {}, false, false],
  [{ ...named("driver"), required: ["year"] }, {}, false, true],
]) {
  const got = z.fromJSONSchema(schema).safeParse(value).success;
  console.log(`zod 4.6.7: ${JSON.stringify(value)} for ${JSON.stringify(schema)} is ${got}, by the specification ${right}`);
  changed ||= got !== found;
}
if (changed) {
  console.error("the behaviour has changed");
  process.exit(1);
}
JS
node finding.js
