package serve

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/text"
)

// picture returns the file of an image of many colours.
func picture(t *testing.T) []byte {
	m := image.NewRGBA(image.Rect(0, 0, 40, 36))
	for i := range m.Pix {
		m.Pix[i] = uint8(i * 7)
	}
	m.Set(3, 3, color.White)
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

type label struct {
	Label string
	Score float64
}

func sameLabels(got []label, want []text.Label) bool {
	for i := range got {
		if i >= len(want) || got[i].Label != want[i].Label || math.Abs(got[i].Score-float64(want[i].Score)) > 1e-5 {
			return false
		}
	}
	return len(got) == len(want)
}

// TestImages: images are labelled and embedded, as files and in JSON, as the pipelines do.
func TestImages(t *testing.T) {
	t.Parallel()
	file := picture(t)
	c, err := text.OpenImageClassifier(testdata+"image", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	labels, err := c.Classify(t.Context(), [][]byte{file})
	if err != nil {
		t.Fatal(err)
	}
	e, err := text.OpenImageEmbedder(testdata+"image", text.Options{})
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Embed(t.Context(), [][]byte{file})
	if err != nil {
		t.Fatal(err)
	}
	h := startedAs(t, Options{}, Model{Dir: testdata + "image"}, Model{Dir: testdata + "image", Name: "vectors", Kind: text.KindImageEmbedder})
	encoded := base64.StdEncoding.EncodeToString(file)
	answer := func(path, body string) string {
		t.Helper()
		status, answer, _ := ask(t, "POST", h.URL+path, body, "Content-Type", "image/png")
		if status != 200 {
			t.Fatal(path, status, answer)
		}
		return answer
	}
	for _, body := range []string{string(file), `{"inputs": "` + encoded + `"}`, `{"inputs": "data:image/png;base64,` + encoded + `"}`} {
		if got := answer("/models/image", body); !sameLabels(decode[[]label](t, got), labels[0]) {
			t.Errorf("%.30q: %s, want %v", body, got, labels)
		}
		if got := answer("/models/vectors", body); !near(decode[[]float32](t, got), vectors[0]) {
			t.Errorf("%.30q: %s", body, got)
		}
	}
	two := `{"inputs": ["` + encoded + `", "` + encoded + `"], "parameters": {"top_k": 2}}`
	if got := decode[[][]label](t, answer("/models/image", two)); len(got) != 2 || !sameLabels(got[1], labels[0][:2]) {
		t.Error(got)
	}
	logits, err := c.Logits(t.Context(), [][]byte{file})
	if err != nil {
		t.Fatal(err)
	}
	for function, want := range map[string]float64{"none": 1, "sigmoid": 0} {
		got := decode[[]label](t, answer("/models/image", `{"inputs": "`+encoded+`", "parameters": {"function_to_apply": "`+function+`"}}`))
		x := 0.0
		for i, name := range c.Labels() {
			if name == got[0].Label {
				x = float64(logits[0][i])
			}
		}
		if want == 0 {
			x = 1 / (1 + math.Exp(-x))
		}
		if math.Abs(got[0].Score-x) > 1e-5 {
			t.Errorf("%s: %+v, want %g", function, got, x)
		}
	}
	imageErrors(t, h.URL, encoded)
}

// imageErrors sends data that is not an image, and an image that claims more pixels than fit into
// memory.
func imageErrors(t *testing.T, url, encoded string) {
	t.Helper()
	huge := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	huge = binary.BigEndian.AppendUint32(huge, 1<<20)
	huge = binary.BigEndian.AppendUint32(huge, 1<<20)
	huge = append(huge, 8, 2, 0, 0, 0)
	huge = binary.BigEndian.AppendUint32(huge, crc32.ChecksumIEEE(huge[12:]))
	for _, c := range []struct {
		path, body string
		want       string
	}{
		{"/models/image", string(huge), "1048576 x 1048576 pixels"},
		{"/models/vectors", `{"inputs": "` + base64.StdEncoding.EncodeToString(huge) + `"}`, "1048576 x 1048576 pixels"},
		{"/models/image", "no image", "neither JPEG nor PNG"},
		{"/models/image", `{"inputs": "http://example.com/a.png"}`, "send the file"},
		{"/models/image", `{"inputs": "no base64"}`, "base64"},
		{"/models/image", `{"inputs": 7}`, "base64 of an image"},
		{"/models/image", `{"inputs": "` + encoded + `", "parameters": {"top_k": 0}}`, "top_k"},
		{"/models/image", `{"inputs": "` + encoded + `", "threshold": 1}`, "threshold"},
		{"/models/vectors", `{"inputs": "` + encoded + `", "parameters": {"top_k": 1}}`, "parameters"},
		{"/models/image", ``, "no body"},
	} {
		if status, answer, _ := ask(t, "POST", url+c.path, c.body); status != 422 || !strings.Contains(answer, c.want) {
			t.Errorf("%.60q: %d %s, want 422 with %q", c.body, status, answer, c.want)
		}
	}
	if status, answer, _ := ask(t, "POST", url+"/models/image", `{"inputs": []}`); status != 400 || !strings.Contains(answer, "no images") {
		t.Error(status, answer)
	}
}

// TestEveryKindIsReady: servers of each kind of folder become ready, after a first question to the
// model.
func TestEveryKindIsReady(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"embed", "rerank", "classify", "tokens", "generate", "translate", "transcribe", "characters", "image", "embed-late", "embed-sparse", "embed-static"} {
		s, err := New([]Model{{Dir: testdata + folder}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Wait(context.Background()); err != nil {
			t.Errorf("%s: %v", folder, err)
		}
	}
}

// TestTokenizeEmpty: an empty text has no tokens.
func TestTokenizeEmpty(t *testing.T) {
	t.Parallel()
	h := started(t, Options{}, "embed")
	for body, want := range map[string]string{`{"inputs": ""}`: `[[]]`, `{"inputs": ["", ""], "add_special_tokens": false}`: `[[],[]]`} {
		if status, answer, _ := ask(t, "POST", h.URL+"/tokenize", body); status != 200 || answer != want {
			t.Errorf("%s: %d %s, want %s", body, status, answer, want)
		}
	}
}
