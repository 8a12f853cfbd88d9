package main

import "regexp"

// A habit is a kind of phrase that readers have to read twice.
type habit struct {
	name    string
	pattern *regexp.Regexp
	fine    *regexp.Regexp // matches phrases, with the twenty bytes before them, that are right; nil: no phrase is
	instead string
}

var habits = []habit{
	{"who as a noun", re(`(?i)\b(?:for|to|from|with|by|than|of|in|and|after|wakes|tells) who\b`), nil,
		`name who it is: "callers that", "the process that"`},
	{"Who as a subject", re(`(?:^|[.;:] )Who (?:[^.?]|\.\w)*\.(?: |$)`), nil, `name who it is: "a worker that", "the caller"`},
	{"is no", re(`(?i)[\w%"'\]]+ (?:is|are|was|were) no \w+`), re(`(?i)\bthere (?:is|are|was|were) no|\bno (?:longer|more|less|fewer|matter|different|better|worse|other|one|need|further|larger|smaller|faster|slower|later|greater|higher|lower|wider|deeper|closer)$`),
		`"is not a"`},
	{"is none", re(`(?:is|are|was|were) none\b`), re(`(?i)\bthere (?:is|are|was|were) none|tool_choice is none|are none where there`), `"is not one", "there are none", "means none"`},
	{"a little others", re(`(?i)\b(?:a little|a bit|somewhat|quite) others?\b`), nil, `"slightly different"`},
	{"others without a noun", re(`(?i)\b(?:like|of|for|from|with|by|than) others\b`), nil, `name them: "other callers", "the other files"`},
	{"alone for only", re(`(?i)\b(?:tested|used|needed|supported|found|read|built|for|in|on) (?:\w+ )?(?:training|inference|tests?|qemu|Linux|Unix|Windows|amd64|arm64|x86|NEON|CPUs?|AVX2|AVX512|Go|prompts?|files|weights|decoders|encoders|images|texts) alone\b`), nil,
		`"only", before what it limits`},
	{"so at the end", re(`(?i)\b\w+ so[.;,:)]`), re(`(?i)\b(?:says?|said|saying|tells?|told|if|even|or|do|does|did|done|doing|and|is|be|not|why|think|more|less|just) so.$`),
		`"in this way", "like this"`},
	{"beforehand", re(`(?i)\bbeforehand\b`), nil, `"before", "by default", "from the start"`},
	{"open for concurrent use", re(`(?i)\bopen for concurrent use\b`), nil, `"safe for concurrent use"`},
	{"some more than", re(`(?i)\bsome (?:more|less|fewer) than\b`), nil, `"a little more than"`},
	{"the like", re(`(?i)\b(?:and|or|nor|do|does|did) the like\b`), nil, `"and similar files", "the same"`},
	{"to it that", re(`(?i)\bto it that\b`), nil, `"makes sure that", "verifies that"`},
	{"tells without a listener", re(`(?i)\btells (?:what|how|whether|which|where|why|when|that|if|of)\b`), nil, `"says", "reports", "prints"`},
	{"stands in", re(`(?i)\bstands? (?:in \w+|there|before|behind|after|below|above|beside)\b`), re(`(?i)\bstands? in for$`), `"is in", "comes before"`},
	{"what is more", re(`(?i)\bwhat is more\b`), nil, `"the rest", "more"`},
	{"is of use", re(`(?i)\b(?:is|are|be) of use\b`), nil, `"is useful"`},
	{"to be had", re(`(?i)\bto be had\b`), nil, `"available"`},
	{"as ever", re(`(?i)\bas ever\b`), nil, `"as usual", "as before"`},
	{"not any more", re(`(?i)\bnot (?:[\w-]+ ){0,3}any more\b`), nil, `"no longer", "must not be used again"`},
	{"so, and the verb before the subject", re(`(?:[;:.,] |^)[Ss]o (?:is|are|do|does|become|becomes) (?:the|those|its|their|a|an|all)\b`), nil,
		`"X and Y are", "the same is true of"`},
	{"which X tells", re(`(?i)\bwhich (?:[\w.]+ ){1,4}tells?\b`), re(`(?i)tell apart$|which (?:\w+ )*to tell$`), `"X reports it", "which X returns"`},
	{"but for", re(`(?i)\bbut for (?:the|a|an|its|those|what|some)\b`), nil, `"except for"`},
	{"goes on", re(`(?i)\b(?:go|goes|going|went) on (?:with|from|to|after)\b`), nil, `"continues"`},
	{"sooner", re(`(?i)\bsooner\b`), nil, `"faster", "earlier"`},
	{"for itself", re(`(?i)\bfor (?:it|them)sel(?:f|ves)\b`), re(`(?i)speaks? for itself$`), `"separately", "its own"`},
	{"none such", re(`(?i)\bnone such\b`), nil, `repeat the noun: "no such image"`},
	{"by way of", re(`(?i)\bby way of\b`), nil, `"through", "with"`},
	{"nothing but", re(`(?i)\bnothing but\b`), nil, `"only"`},
	{"a matter of", re(`(?i)\b(?:is|are|was|be|,) a matter of\b`), nil, `name what decides: "chance decides which", "it affects only speed"`},
	{"everybody for things", re(`(?i)\beverybody(?: (?:who|found|is|was|held|in|has)|'s)\b|\b(?:of|with|by|and) everybody\b`), nil, `name them: "all libraries", "all engines"`},
	{"all else stopped", re(`(?i)\ball else (?:on|stopped|is stopped)\b`), nil, `"everything else"`},
	{"whereof", re(`(?i)\bwhereof\b`), nil, `"of which", or a new sentence`},
	{"the lock is held", re(`(?i)\bthe lock is held\b`), nil, `"the caller holds the lock"`},
	{"in the place of", re(`(?i)\bin the place of\b`), nil, `"in place of", "replaces"`},
	{"outside of", re(`(?i)\boutside of\b`), nil, `"outside"`},
	{"without further ado", re(`(?i)\bfurther ado\b`), nil, "leave it out"},
}

func re(s string) *regexp.Regexp { return regexp.MustCompile(s) }
