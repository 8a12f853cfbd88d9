package grammar

import (
	"strings"
	"sync"
)

// This file has the formats of strings and numbers. Any other format is treated as an annotation.

// formatPattern composes a pattern. parts has pairs of a name and a pattern, then the whole
// pattern. A name in angle brackets stands for its pattern.
func formatPattern(parts ...string) string {
	replace := make([]string, len(parts)-1)
	all := parts[len(parts)-1]
	for i := 0; i+1 < len(parts); i += 2 {
		replace[i], replace[i+1] = "<"+parts[i]+">", "(?:"+parts[i+1]+")"
	}
	for range len(parts) {
		before := all
		if all = strings.NewReplacer(replace...).Replace(all); all == before {
			break
		}
	}
	return "^(?:" + all + ")$"
}

const (
	hexadecimal  = `[0-9A-Fa-f]`
	offsetOfTime = `(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])`
	timeOfDay    = `([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?` + offsetOfTime
	leapYear     = `([0-9]{2}(0[48]|[2468][048]|[13579][26])|([02468][048]|[13579][26])00)`
	fullDate     = `([0-9]{4}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|02-(0[1-9]|1[0-9]|2[0-8]))|` +
		leapYear + `-02-29)`
	byteOfIP = `(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])`
	ipv4     = byteOfIP + `(\.` + byteOfIP + `){3}`

	// A label of a host name has up to 63 characters, no hyphen at its ends, and no two hyphens at
	// its third and fourth place, which mark names in other scripts. A host name has up to 253
	// characters, and so has each form of the format hostname.
	alphanumeric = `[A-Za-z0-9]`
	hyphenated   = `[A-Za-z0-9-]`
	labelBegin   = alphanumeric + `(` + hyphenated + `{0,2}` + alphanumeric + `|` + hyphenated + `(` + alphanumeric + hyphenated + `|-` + alphanumeric + `)` + hyphenated
	firstLabel   = labelBegin + `{0,58}` + alphanumeric + `)?`
	otherLabel   = labelBegin + `{0,56}` + alphanumeric + `)?`
	shortLabel   = labelBegin + `{0,8}` + alphanumeric + `)?`
	mailAtom     = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]"
)

// ipv6Parts are the parts of an IPv6 address as RFC 3986 defines it.
var ipv6Parts = []string{
	"h", hexadecimal + "{1,4}", "ip4", ipv4, "end", "<h>:<h>|<ip4>",
	"ip6", "(<h>:){6}<end>|::(<h>:){5}<end>|<h>?::(<h>:){4}<end>|((<h>:){0,1}<h>)?::(<h>:){3}<end>|((<h>:){0,2}<h>)?::(<h>:){2}<end>|" +
		"((<h>:){0,3}<h>)?::<h>:<end>|((<h>:){0,4}<h>)?::<end>|((<h>:){0,5}<h>)?::<h>|((<h>:){0,6}<h>)?::",
}

// uriPattern returns the pattern of a URI (RFC 3986) or an IRI (RFC 3987). letters are further
// characters that need no escape, and private those that need none only in queries.
func uriPattern(letters, private, form string) string {
	return formatPattern(append(append([]string{}, ipv6Parts...),
		"u", `[A-Za-z0-9._~!$&'()*+,;=`+letters+`-]|%`+hexadecimal+`{2}`,
		"p", `<u>|[:@]`,
		"query", `(<p>|[/?`+private+`])*`,
		"host", `\[(<ip6>|v`+hexadecimal+`+\.[A-Za-z0-9._~!$&'()*+,;=:-]+)\]|<u>*`,
		"place", `((<u>|:)*@)?<host>(:[0-9]*)?`,
		"path", `(/<p>*)*`,
		"tail", `(\?<query>)?(#(<p>|[/?])*)?`,
		"uri", `[A-Za-z][A-Za-z0-9+.-]*:(//<place><path>|/(<p>+<path>)?|<p>+<path>|)<tail>`,
		"relative", `(//<place><path>|/(<p>+<path>)?|(<u>|@)+<path>|)<tail>`,
		form)...)
}

// Characters beyond ASCII in identifiers of RFC 3987.
const (
	iriLetters = `\u00A0-\uD7FF\uF900-\uFDCF\uFDF0-\uFFEF\u{10000}-\u{1FFFD}\u{20000}-\u{2FFFD}\u{30000}-\u{3FFFD}\u{40000}-\u{DFFFD}\u{E1000}-\u{EFFFD}`
	iriPrivate = `\uE000-\uF8FF\u{F0000}-\u{FFFFD}\u{100000}-\u{10FFFD}`
)

var jsonPointer = `(/([^/~]|~[01])*)*`

// formats has the patterns of formats as defined in RFC 3339, 4122, 5321, 1123, 4291, 3986, 3987,
// 6570 and 6901. They exclude leap seconds and lower-case letters in times; quotes, comments and IP
// addresses in mail addresses; and labels of host names that encode other scripts.
var formats = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"date":      formatPattern(fullDate),
		"time":      formatPattern(timeOfDay),
		"date-time": formatPattern(fullDate + "T" + timeOfDay),
		"duration": formatPattern("n", `[0-9]{1,9}`, "second", "<n>S", "minute", "<n>M<second>?", "hour", "<n>H<minute>?", "time", "T(<hour>|<minute>|<second>)",
			"day", "<n>D", "month", "<n>M<day>?", "year", "<n>Y<month>?", "P((<day>|<month>|<year>)<time>?|<time>|<n>W)"),
		"uuid": formatPattern("h", hexadecimal, "<h>{8}-<h>{4}-<h>{4}-<h>{4}-<h>{12}"),
		"email": formatPattern("a", mailAtom+`{1,20}`, "l", alphanumeric+`(`+hyphenated+`{0,30}`+alphanumeric+`)?`,
			`<a>(\.<a>){0,2}@<l>(\.<l>){1,3}`),
		"idn-email": formatPattern("a", `[A-Za-z0-9!#$%&'*+/=?^_{|}~\u0080-\u{10FFFF}-]`, "c", `[A-Za-z0-9\u00A1-\u{10FFFF}]`, "l", `<c>((<c>|-){0,13}<c>)?`,
			`(<a>{1,15}|<a>{1,7}(\.<a>{1,7}){1,3})@<l>(\.<l>){1,3}`),
		"hostname":              formatPattern("f", firstLabel, "l", otherLabel, "s", shortLabel, `<f>(\.<l>){0,3}|<s>(\.<s>){4,14}`),
		"ipv4":                  formatPattern(ipv4),
		"ipv6":                  formatPattern(append(append([]string{}, ipv6Parts...), "<ip6>")...),
		"uri":                   uriPattern("", "", "<uri>"),
		"uri-reference":         uriPattern("", "", "<uri>|<relative>"),
		"iri":                   uriPattern(iriLetters, iriPrivate, "<uri>"),
		"iri-reference":         uriPattern(iriLetters, iriPrivate, "<uri>|<relative>"),
		"json-pointer":          formatPattern(jsonPointer),
		"relative-json-pointer": formatPattern(`(0|[1-9][0-9]*)(#|` + jsonPointer + `)`),
		"uri-template": formatPattern("x", `%`+hexadecimal+`{2}`, "c", `[A-Za-z0-9_]|<x>`, "name", `<c>(\.?<c>)*`, "var", `<name>(:[1-9][0-9]{0,3}|\*)?`,
			`([^\u0000-\u0020"'%<>\\^{|}\u007F-\u009F`+"`"+`]|<x>|\{[+#./;?&=,!@|]?<var>(,<var>)*\})*`),
	}
})

// otherFormats are known formats that no regular expression expresses.
var otherFormats = map[string]bool{"regex": true, "idn-hostname": true}

// numberFormats are OpenAPI's formats of integers, with their numbers of bits.
var numberFormats = map[string]struct {
	bits   uint
	signed bool
}{
	"int8": {8, true}, "int16": {16, true}, "int32": {32, true}, "int64": {64, true},
	"uint8": {8, false}, "uint16": {16, false}, "uint32": {32, false}, "uint64": {64, false},
}
