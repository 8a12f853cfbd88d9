#!/bin/bash
# Guess: the mean of a text's tokens is a vector of zeros if the mask hides all of them, as in sentence-transformers, where the count is at least 1e-9.
# Found: transformers.js divides by 0: the vector is NaN.
set -euo pipefail
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir"
echo '{"private": true, "type": "module"}' > package.json
npm install --silent --no-audit --no-fund --ignore-scripts @huggingface/transformers@4.3.2
cat > finding.js <<'JS'
import { Tensor, env, mean_pooling } from "@huggingface/transformers";

const tokens = new Tensor("float32", Float32Array.from([1, 2, 3, 4, 1, 2, 3, 4]), [2, 2, 2]);
const mask = new Tensor("int64", BigInt64Array.from([1n, 1n, 0n, 0n]), [2, 2]);
const pooled = mean_pooling(tokens, mask);
console.log("transformers.js", env.version, "means of a row with two tokens and of one without:", Array.from(pooled.data));
if (!Number.isNaN(pooled.data[2])) {
	console.log("the behaviour has changed");
	process.exit(1);
}
JS
node finding.js
