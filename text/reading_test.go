package text

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/tftest"
	"github.com/avoformer/avoformer/models"
)

const (
	readingFolders = "../models/testdata/images/" // models that read images, and what transformers answers
	readingFolder  = readingFolders + "gemma4"
)

// readingCase is a chat about images.
type readingCase struct {
	folder   string
	Images   []string
	Messages json.RawMessage
	Tokens   int // of the prompt
	Text     string
}

func readingCases(t *testing.T, folder string) (cases []readingCase) {
	t.Helper()
	tftest.NoError(t, json.Unmarshal(tftest.Must(os.ReadFile(filepath.Join(folder, "expected.json")))(t), &cases))
	for i := range cases {
		cases[i].folder = folder
	}
	return cases
}

// files returns the images of a case.
func (c *readingCase) files(t *testing.T) (files [][]byte) {
	t.Helper()
	for _, name := range c.Images {
		files = append(files, tftest.Must(os.ReadFile(filepath.Join(c.folder, name)))(t))
	}
	return files
}

func openReading(t *testing.T, folder string, o Options) *Generator {
	t.Helper()
	o.Model.Images = true
	return tftest.Must(OpenGenerator(folder, o))(t)
}

// answerTo returns the answer to a case.
func answerTo(t *testing.T, g *Generator, c readingCase, files [][]byte) (Piece, error) {
	t.Helper()
	prompt := tftest.Must(g.Prompt(c.Messages, PromptOptions{}))(t)
	return Collect(g.ContinuePrompt(t.Context(), prompt, GenerateOptions{MaxTokens: 10, Images: files}))
}

// TestReadImages: answers to chats about images are transformers'. Two images of equally many
// tokens share no more of a history than what is in front of them, and the same image a second time
// shares all.
func TestReadImages(t *testing.T) {
	t.Parallel()
	for name, shares := range map[string][2][]int{ // a.png, b.png after a.png, a.png and c.png after a.png; then each after itself
		"gemma3": {{0, 16, 32}, {32, 32, 64}}, "gemma4": {{0, 16, 64}, {96, 96, 144}}, "idefics3": {{0, 16, 64}, {80, 80, 128}}, "lfm2_vl": {{0, 16, 48}, {64, 64, 80}},
		"qwen3_5": {{0, 0, 0, 0}, {0, 0, 0, 0}}, // states are those after a whole text: see TestReadNextTurn
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cases := readingCases(t, readingFolders+name)
			g := openReading(t, readingFolders+name, Options{})
			if !g.ReadsImages() {
				t.Error("no images are read")
			}
			for round, least := range shares {
				for i, c := range cases {
					p, err := answerTo(t, g, c, c.files(t))
					if err != nil || p.Text != c.Text || p.Usage.Prompt != c.Tokens {
						t.Errorf("%v: %q after %d tokens, %v, want %q after %d", c.Images, p.Text, p.Usage.Prompt, err, c.Text, c.Tokens)
					}
					if p.Usage.Shared > c.Tokens || p.Usage.Shared < least[i] || round == 0 && i == 1 && p.Usage.Shared > 32 {
						t.Errorf("%v in round %d: %d shared tokens, want at least %d", c.Images, round, p.Usage.Shared, least[i])
					}
				}
			}
			c, tokens := cases[2], 0
			for _, file := range c.files(t) {
				tokens += tftest.Must(g.ImageTokens(file))(t)
			}
			prompt := tftest.Must(g.Prompt(c.Messages, PromptOptions{}))(t)
			if n := len(tftest.Must(g.PromptTokens(prompt, GenerateOptions{Images: c.files(t)}))(t)); n+tokens != c.Tokens {
				t.Errorf("%d tokens of text and %d of images, want %d", n, tokens, c.Tokens)
			}
		})
	}
}

// TestProcessorsRefused: files whose pixels or texts are not those that the model was made for are
// errors that name the file.
func TestProcessorsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ model, file, text string }{
		{"idefics3", "processor_config.json", `{"image_seq_len": 10}`}, {"idefics3", "processor_config.json", `{}`}, {"idefics3", "preprocessor_config.json", `{"image_processor_type": "Idefics3ImageProcessor", "max_image_size": {"longest_edge": 20}}`},
		{"gemma3", "processor_config.json", `{"image_seq_length": 10}`}, {"gemma3", "processor_config.json", `{}`}, {"gemma3", "preprocessor_config.json", `{"image_processor_type": "Gemma3ImageProcessor"}`},
		{"gemma3", "preprocessor_config.json", `{"image_processor_type": "Gemma3ImageProcessor", "size": {"height": 24, "width": 24}, "do_pan_and_scan": true}`},
		{"gemma3", "preprocessor_config.json", `{"image_processor_type": "SiglipImageProcessor", "size": {"height": 24, "width": 24}}`},
		{"lfm2_vl", "processor_config.json", `{"use_image_special_tokens": false}`}, {"lfm2_vl", "preprocessor_config.json", `{"image_processor_type": "Lfm2VlImageProcessor"}`},
		{"gemma4", "processor_config.json", `{"image_processor": {"image_processor_type": "Gemma4ImageProcessor"}}`},
		{"lfm2_vl", "preprocessor_config.json", `{"image_processor_type": "Gemma4ImageProcessor", "patch_size": 4, "pooling_kernel_size": 2, "max_soft_tokens": 70}`},
		{"idefics3", "preprocessor_config.json", `{"image_processor_type": "Gemma4ImageProcessor", "patch_size": 4, "pooling_kernel_size": 2, "max_soft_tokens": 70}`},
		{"idefics3", "preprocessor_config.json", `{"image_processor_type": "Lfm2VlImageProcessor", "encoder_patch_size": 4, "downsample_factor": 2, "tile_size": 24}`},
	} {
		dir := t.TempDir()
		tftest.NoError(t, os.CopyFS(dir, os.DirFS(readingFolders+c.model)))
		tftest.NoError(t, os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600))
		_, err := OpenGenerator(dir, Options{Model: models.Options{Images: true}})
		if of := new(fault.Error); !errors.Is(err, fault.ErrConfig) || !errors.As(err, &of) || of.File == "" {
			t.Errorf("%s with %s: %v, want an ErrConfig of a file", c.model, c.text, err)
		}
	}
}

// TestImagesRefused: images that cannot be read are errors that say so, as are those without a
// place in the prompt.
func TestImagesRefused(t *testing.T) {
	t.Parallel()
	c := readingCases(t, readingFolder)[0]
	good := c.files(t)[0]
	huge := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x75\x30\x00\x00\x75\x30\x08\x02\x00\x00\x00") // 30000 x 30000
	g := openReading(t, readingFolder, Options{})
	for name, x := range map[string]struct {
		files [][]byte
		want  error
	}{
		"two": {[][]byte{good, good}, fault.ErrInput}, "not an image": {[][]byte{[]byte("hello")}, fault.ErrImage}, "nothing": {[][]byte{nil}, fault.ErrImage},
		"truncated": {[][]byte{good[:len(good)/2]}, fault.ErrImage}, "huge": {[][]byte{huge}, fault.ErrImage},
	} {
		if _, err := answerTo(t, g, c, x.files); !errors.Is(err, x.want) {
			t.Errorf("%s: error %v, want %v", name, err, x.want)
		}
	}
	for _, size := range [][2]int{{1, 1}, {1, 3000}, {3000, 1}} {
		var b bytes.Buffer
		tftest.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, size[0], size[1]))))
		if p, err := answerTo(t, g, c, [][]byte{b.Bytes()}); err != nil || p.Usage.Prompt > c.Tokens+10 {
			t.Errorf("an image of %v: %d tokens, %v", size, p.Usage.Prompt, err)
		}
	}
	if _, err := answerTo(t, openReading(t, readingFolder, Options{MaxPixels: 97 * 60}), c, [][]byte{good}); !errors.Is(err, fault.ErrImage) {
		t.Errorf("more pixels than MaxPixels: %v, want an ErrImage", err)
	}
	if _, err := answerTo(t, openReading(t, readingFolder, Options{MaxLength: 80}), c, [][]byte{good}); !errors.Is(err, fault.ErrTooLong) {
		t.Errorf("more tokens than MaxLength: %v, want an ErrTooLong", err)
	}
	prompt := tftest.Must(g.Prompt(c.Messages, PromptOptions{}))(t)
	if _, err := Collect(g.ContinuePrompt(t.Context(), prompt, GenerateOptions{Beams: 2, Images: [][]byte{nil}})); !errors.Is(err, fault.ErrOption) { // before images are read
		t.Errorf("a search: %v, want an ErrOption", err)
	}
	translator := tftest.Must(OpenTranslator("testdata/translate", Options{}))(t)
	if _, err := translator.Translate(t.Context(), []string{"hello"}, TranslateOptions{GenerateOptions: GenerateOptions{MaxTokens: 1, Images: [][]byte{good}}}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("a translator: %v, want an ErrOption", err)
	}
	plain := tftest.Must(OpenGenerator(readingFolder, Options{}))(t)
	if _, err := answerTo(t, plain, c, [][]byte{good}); !errors.Is(err, fault.ErrOption) || plain.ReadsImages() {
		t.Errorf("without Options.Images: %v, want an ErrOption", err)
	}
	if _, err := OpenEmbedder("testdata/embed", Options{Model: models.Options{Images: true}}); !errors.Is(err, fault.ErrOption) {
		t.Errorf("an embedder: %v, want an ErrOption", err)
	}
}

// TestReadNextTurn: the next turn of a chat continues from the histories of the turns before, with
// the positions that their images had. Its answer is that of a generator which has computed
// nothing, and another image shares nothing.
func TestReadNextTurn(t *testing.T) {
	t.Parallel()
	folder := readingFolders + "qwen3_5"
	c := readingCases(t, folder)[0]
	g := openReading(t, folder, Options{})
	files := c.files(t)
	prompt := tftest.Must(g.PromptTokens(tftest.Must(g.Prompt(c.Messages, PromptOptions{}))(t), GenerateOptions{}))(t)
	ask := func(g *Generator, ids []int, files [][]byte) (answer []int, shared int) {
		t.Helper()
		for p, err := range g.ContinueTokens(t.Context(), ids, GenerateOptions{MaxTokens: 8, Images: files}) {
			tftest.NoError(t, err)
			for _, token := range p.Tokens {
				answer = append(answer, token.Token)
			}
			shared = p.Usage.Shared
		}
		return answer, shared
	}
	first, _ := ask(g, prompt, files)
	next := slices.Concat(prompt, first, prompt) // with the image again
	both := append(slices.Clone(files), files...)
	want, _ := ask(openReading(t, folder, Options{}), next, both)
	if got, shared := ask(g, next, both); !slices.Equal(got, want) || shared < c.Tokens {
		t.Errorf("the next turn is %v after %d shared tokens, want %v after at least %d", got, shared, want, c.Tokens)
	}
	other := tftest.Must(os.ReadFile(filepath.Join(folder, "b.png")))(t)
	want, _ = ask(openReading(t, folder, Options{}), next, [][]byte{other, files[0]})
	if got, shared := ask(g, next, [][]byte{other, files[0]}); !slices.Equal(got, want) || shared > 0 {
		t.Errorf("another image: %v after %d shared tokens, want %v", got, shared, want)
	}
}

// TestVideosRefused: a video in a prompt is an error that says so.
func TestVideosRefused(t *testing.T) {
	t.Parallel()
	g := openReading(t, readingFolders+"qwen3_5", Options{})
	if _, err := Collect(g.ContinuePrompt(t.Context(), "<|vision_start|><|video_pad|><|vision_end|>", GenerateOptions{MaxTokens: 1})); !errors.Is(err, fault.ErrInput) || !strings.Contains(err.Error(), "video") {
		t.Errorf("a video: %v, want an ErrInput that names it", err)
	}
}

// TestShapesRefused: an image whose sides differ too much is an error, as is one for which the
// context has no room.
func TestShapesRefused(t *testing.T) {
	t.Parallel()
	folder := readingFolders + "qwen3_5"
	g, c := openReading(t, folder, Options{}), readingCases(t, folder)[0]
	for _, x := range []struct {
		w, h int
		want error
	}{{1, 1, nil}, {1, 200, nil}, {200, 1, nil}, {1, 201, fault.ErrImage}, {4096, 20, fault.ErrImage}, {4096, 4096, nil}} {
		var b bytes.Buffer
		tftest.NoError(t, png.Encode(&b, image.NewGray(image.Rect(0, 0, x.w, x.h))))
		if _, err := answerTo(t, g, c, [][]byte{b.Bytes()}); !errors.Is(err, x.want) {
			t.Errorf("an image of %d x %d: %v, want %v", x.w, x.h, err, x.want)
		}
	}
	if _, err := answerTo(t, openReading(t, folder, Options{MaxLength: 40}), c, c.files(t)); !errors.Is(err, fault.ErrTooLong) {
		t.Errorf("more tokens than MaxLength: %v, want an ErrTooLong", err)
	}
}
