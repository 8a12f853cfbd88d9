#!/usr/bin/awk -f
# checkasm.awk: summarize the output of the tests of make checkasm with -v, or print
# all of it if one fails.
{ all = all $0 "\n" }
/^=== RUN +TestCatalog\/.*\// { n = split($3, part, "/"); tier = part[n] }
/catalog_test.go:[0-9]+: [0-9]+ calls/ { kernels[tier]++; calls[tier] += $(NF - 1) }
/^ *--- PASS: TestBroken\// { broken++ }
/^ *--- FAIL|^FAIL|^panic:/ { failed = 1 }
END {
	if (failed) {
		printf "%s", all
		exit 1
	}
	if (!broken || !length(kernels)) {
		printf "%scheckasm: nothing ran\n", all
		exit 1
	}
	printf "%s: the self-test caught %d broken kernels\n", what, broken
	for (t in kernels) printf "%s: %s: %d kernels right in %d calls between guard pages\n", what, t, kernels[t], calls[t]
}
