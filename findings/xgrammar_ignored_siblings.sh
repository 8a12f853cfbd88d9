#!/bin/bash
# Guess: a schema with a required property that "properties" does not name refuses an object without it. (What comes with $ref, enum and anyOf was
# expected to hold too, but that was not written down before it was tried.)
# Found: XGrammar drops all of it without a warning, so a constrained model may write objects without the property and numbers out of bounds. Version 0.2.9 for
# Python does the same; this script runs the smaller build for JavaScript, which node loads as CommonJS alone.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts @mlc-ai/web-xgrammar@0.1.27
cp node_modules/@mlc-ai/web-xgrammar/lib/index.js xgrammar.cjs
cat > finding.js <<'JS'
import { createRequire } from "module";

const { Grammar, Testings } = createRequire(import.meta.url)("./xgrammar.cjs");
let changed = false;
for (const [schema, text, found] of [
	[{ type: "object", properties: { b: {} }, required: ["b"] }, "{}", false], // as it should be
	[{ type: "integer", minimum: 3, maximum: 12 }, "13", false],
	[{ type: "object", required: ["b"] }, "{}", true],
	[{ $defs: { p: { type: "integer", minimum: 1 } }, $ref: "#/$defs/p", maximum: 5 }, "9", true],
	[{ type: "string", enum: ["a", 1] }, "1", true],
	[{ type: "integer", minimum: 5, anyOf: [{ maximum: 10 }, { maximum: 20 }] }, "3", true],
]) {
	const grammar = await Grammar.fromJSONSchema(JSON.stringify(schema), true, -1, undefined, false);
	const got = await Testings.isGrammarAcceptString(grammar, text);
	console.log("web-xgrammar 0.1.27:", JSON.stringify(schema), got ? "accepts" : "refuses", text, "which is not valid");
	changed = changed || got !== found;
}
if (changed) {
	console.log("the behaviour has changed");
}
process.exit(changed ? 1 : 0);
JS
node finding.js
