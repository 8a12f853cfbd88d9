package doctags

import (
	"errors"
	"strings"
	"testing"
)

const place = "<loc_1><loc_22><loc_333><loc_499>"

// TestMarkdown has each element. The texts are written by hand beside what docling-core 2 exports,
// except that it names no language of code and pads tables.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{
		"headings": {"<doctag><page_header>" + place + "Head</page_header><title>" + place + "A title</title><section_header_level_1>1. First</section_header_level_1><section_header_level_5>Deep</section_header_level_5><page_footer>7</page_footer></doctag>",
			"# A title\n\n## 1. First\n\n###### Deep\n"},
		"texts":     {"<text>" + place + "Some a_b &amp; x < y,\nand *more*.</text><footnote># 1</footnote><text>2. not a list</text><text> </text>", "Some a\\_b &amp;amp; x &lt; y, and \\*more\\*.\n\n\\# 1\n\n2\\. not a list\n"},
		"lists":     {"<unordered_list><list_item>" + place + "one</list_item><list_item>two</list_item></unordered_list><ordered_list><list_item>eins</list_item><list_item>zwei</list_item></ordered_list><text>after</text>", "- one\n- two\n\n1. eins\n2. zwei\n\nafter\n"},
		"nested":    {"<unordered_list><list_item>one<ordered_list><list_item>a</list_item><list_item>b</list_item></ordered_list></list_item><list_item>two</list_item></unordered_list>", "- one\n    1. a\n    2. b\n- two\n"},
		"table":     {"<otsl>" + place + "<ched>Name<ched>Size<lcel><nl><rhed>a<fcel>1<fcel>2<nl><ucel><ecel><fcel>x|y<nl><caption>" + place + "Table 1: sizes</caption></otsl>", "Table 1: sizes\n\n| Name | Size | Size |\n| --- | --- | --- |\n| a | 1 | 2 |\n| a |  | x\\|y |\n"},
		"ragged":    {"<otsl><fcel>a<nl><fcel>b<fcel>c<nl><nl></otsl><otsl></otsl>", "| a |  |\n| --- | --- |\n| b | c |\n"},
		"in a cell": {"<otsl><fcel>see <formula>x_1</formula><fcel><text>t_1</text><nl></otsl>", "| see $x_1$ | t\\_1 |\n| --- | --- |\n"},
		"formula":   {"<formula>" + place + " a ^ { 2 } = b _ { 1 } < c</formula><formula> </formula>", "$$a ^ { 2 } = b _ { 1 } < c$$\n"},
		"inline":    {"<inline><text>where</text><formula>x_1</formula><text>is</text><code>f(`x`)</code></inline>", "where $x_1$ is `` f(`x`) ``\n"},
		"code":      {"<code>" + place + "<_Python_>def f(x):\n    return x < 1 and \"<nl>\"\n<caption>Listing</caption></code><code><_unknown_>a ``` b</code>", "Listing\n\n```python\ndef f(x):\n    return x < 1 and \"<nl>\"\n```\n\n````\na ``` b\n````\n"},
		"picture":   {"<picture>" + place + "<line_chart><caption>" + place + "Figure 2</caption></picture><chart><otsl><fcel>1<nl></otsl></chart>", "Figure 2\n\n<!-- image -->\n\n| 1 |\n| --- |\n\n<!-- image -->\n"},
		"boxes":     {"<checkbox_selected>yes</checkbox_selected><checkbox_unselected>no</checkbox_unselected>", "- [x] yes\n- [ ] no\n"},
		"cut":       {"<doctag><text>first</text><otsl><fcel>a<fcel>b<nl><fcel>c", "first\n\n| a | b |\n| --- | --- |\n| c |\n"},
		"cut tag":   {"<text>a<lo", "a&lt;lo\n"},
		"no tags":   {"Only a text.", "Only a text.\n"},
		"unknown":   {"<text>a <b>bold</b> </text></otsl><fcel>", "a &lt;b&gt;bold&lt;/b&gt;\n\n&lt;fcel&gt;\n"},
		"pages":     {"<text>one</text><page_break><text>two</text>", "one\n\ntwo\n"},
		"nothing":   {"<doctag></doctag>", ""},
		"further":   {"<unordered_list><list_item>one<ordered_list><list_item>a</list_item></ordered_list>two</list_item><list_item>three</list_item></unordered_list>", "- one\n    1. a\n\n    two\n- three\n"},
		"in a text": {"<text>x<picture></picture>y</text><unordered_list><list_item>a<otsl><fcel>1<nl></otsl>b</list_item></unordered_list>", "x\n\n<!-- image -->\n\ny\n\n- a\n\n| 1 |\n| --- |\n\nb\n"},
	} {
		want := strings.NewReplacer("&gt;", ">").Replace(c[1])
		if got := Markdown(c[0]); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
		for _, size := range []int{1, 3, 7} {
			if got := inPieces(t, c[0], size); got != want {
				t.Errorf("%s in pieces of %d: %q, want %q", name, size, got, want)
			}
		}
	}
}

// inPieces is Markdown of a text that comes in pieces.
func inPieces(t testing.TB, text string, size int) string {
	t.Helper()
	var b strings.Builder
	w := NewWriter(&b)
	for len(text) > 0 {
		n := min(size, len(text))
		if _, err := w.Write([]byte(text[:n])); err != nil {
			t.Fatal(err)
		}
		text = text[n:]
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestStreams: an element is written when it ends.
func TestStreams(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	w := NewWriter(&b)
	for _, step := range [][2]string{
		{"<doctag><title>A", ""}, {"</title", ""}, {">", "# A"}, {"<unordered_list><list_item>x</list_item>", "# A\n\n- x"}, {"<list_item>y</list_item>", "# A\n\n- x\n- y"},
	} {
		if _, err := w.Write([]byte(step[0])); err != nil || b.String() != step[1] {
			t.Errorf("after %q: %q, %v, want %q", step[0], b.String(), err, step[1])
		}
	}
}

type failing struct{}

var errFull = errors.New("full")

func (failing) Write([]byte) (int, error) { return 0, errFull }

// TestFails: an error of the destination comes back.
func TestFails(t *testing.T) {
	t.Parallel()
	w := NewWriter(failing{})
	if _, err := w.Write([]byte("<text>a</text>")); !errors.Is(err, errFull) {
		t.Errorf("%v, want %v", err, errFull)
	}
	if err := w.Close(); !errors.Is(err, errFull) {
		t.Errorf("Close: %v, want %v", err, errFull)
	}
}

// TestIsTag: tags are told from other special tokens.
func TestIsTag(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"<doctag>", "</doctag>", "<otsl>", "</otsl>", "<fcel>", "<nl>", "<loc_0>", "<loc_499>", "<section_header_level_1>", "</section_header_level_1>", "<page_break>", "<_Python_>", "<_C++_>"} {
		if !IsTag(token) {
			t.Errorf("%s is not a tag", token)
		}
	}
	for _, token := range []string{"<image>", "<|im_end|>", "<end_of_utterance>", "<row_1_col_1>", "<global-img>", "</fcel>", "<loc_x>", "<section_header_level_>", "text", "<", "<>", "</>", "", "</_Python_>"} {
		if IsTag(token) {
			t.Errorf("%s is a tag", token)
		}
	}
}

// TestAmplified: little text makes no more than a multiple of Markdown.
func TestAmplified(t *testing.T) {
	t.Parallel()
	const n = 20_000
	for name, text := range map[string]string{
		"merged": "<otsl><fcel>" + strings.Repeat("x", 10*mostRepeated) + strings.Repeat("<lcel>", n), "short": "<otsl><fcel>" + strings.Repeat("x", mostRepeated) + strings.Repeat("<lcel>", n),
		"wide": "<otsl>" + strings.Repeat("<fcel>", n) + strings.Repeat("<nl><fcel>a", n), "deep": strings.Repeat("<unordered_list><list_item>a", n), "ticks": "<code>" + strings.Repeat("`", n), "open": strings.Repeat("<", n), "captions": "<picture>" + strings.Repeat("<caption>a</caption>", n),
	} {
		if got := Markdown(text); len(got) > 50*len(text) {
			t.Errorf("%s: %d bytes of %d", name, len(got), len(text))
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("<otsl><ched>a<lcel><nl><ucel><fcel>1<nl><caption>c</caption></otsl>", 3)
	f.Add("<unordered_list><list_item>a<ordered_list><list_item>b</list_item></ordered_list></list_item></unordered_list><inline><formula>x</formula></inline>", 1)
	f.Add("<code><_C_>```</code><picture><pie_chart></picture>\x00<text>`<</text>", 2)
	f.Fuzz(func(t *testing.T, text string, size int) {
		whole := Markdown(text)
		if got := inPieces(t, text, max(size, 1)); got != whole {
			t.Errorf("in pieces of %d: %q, at once %q", size, got, whole)
		}
		if len(whole) > 64*(len(text)+1) {
			t.Errorf("%d bytes of %d", len(whole), len(text))
		}
	})
}
