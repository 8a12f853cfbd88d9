#!/bin/bash
# Expected, but not written down before it was tried: a number beyond 65504 becomes infinite in a column of Float16, as in numpy, whichever number it is.
# Found: apache-arrow for JavaScript stores 70000 as 2.13, and 100000 as 3.05. Numbers with more than 20 bits of mantissa become infinite. Below, numbers
# that are halfway between two float16 are rounded away from zero, and not to even.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts apache-arrow@21.2.0
cat > finding.js <<'JS'
import { Float16, tableFromIPC, tableToIPC, Table, vectorFromArray } from "apache-arrow";
import { readFileSync } from "fs";

const version = JSON.parse(readFileSync("node_modules/apache-arrow/package.json")).version;
const stored = (x) => tableFromIPC(tableToIPC(new Table({ x: vectorFromArray([x], new Float16()) }))).getChild("x").get(0);
for (const x of [65504, 65520, 70000, 100000, -70000, 70000.1, 1 + 2 ** -11]) console.log("apache-arrow", version, x, "is stored as", stored(x));
if (stored(70000) === Infinity && stored(100000) === Infinity) {
	console.log("the behaviour has changed");
	process.exit(1);
}
JS
node finding.js
