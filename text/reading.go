// This file reads the images of prompts.

package text

import (
	"container/list"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"

	"github.com/avoformer/avoformer/fault"
	"github.com/avoformer/avoformer/internal/check"
	"github.com/avoformer/avoformer/internal/pyjson"
	"github.com/avoformer/avoformer/internal/regular"
	"github.com/avoformer/avoformer/models"
	"github.com/avoformer/avoformer/text/internal/vision"
)

// imageReader makes soft tokens of image files.
type imageReader struct {
	images
	placeholder string // the token that stands for an image in a prompt
	// spelled is the text of an image, for models whose templates write only begin, the first token
	// of it: its edges become tokens together with the text around it. "": templates write the
	// placeholder.
	begin, spelled string
	recent         recentImages
}

// An imageRead is what a prompt has for an image: soft tokens, between tokens of the text.
type imageRead struct {
	around [][]int     // before each part of the image, and after the last
	rows   []int       // of each part
	across []int       // columns of each part, for positions with axes; else 0
	soft   [][]float32 // of each part, [rows, D], once they are computed
}

// tokens returns the number of tokens.
func (r *imageRead) tokens() (n int) {
	for _, ids := range r.around {
		n += len(ids)
	}
	for _, rows := range r.rows {
		n += rows
	}
	return n
}

// bytes returns the memory of the soft tokens.
func (r *imageRead) bytes() (n int) {
	for _, x := range r.soft {
		n += 4 * len(x)
	}
	return n
}

// newImageReader returns the reader of images of a folder; nil if its model was opened without its
// encoder of images.
func newImageReader(f *base) (*imageReader, error) {
	if f.model.Images == nil {
		return nil, nil
	}
	all, err := processorConfig(f)
	if err != nil {
		return nil, err
	}
	file, config, err := imageConfig(f.fsys, all)
	if err != nil {
		return nil, err
	}
	p, err := vision.NewProcessor(config)
	if err != nil {
		return nil, check.InFile(file, fault.ErrConfig, err)
	}
	if err := fits(f, all, p, file); err != nil {
		return nil, err
	}
	for _, w := range p.Warnings {
		f.warning(file + ": " + w)
	}
	placeholder, ok := f.tokenizer.Token(f.model.Images.Token)
	if !ok {
		return nil, check.Errorf(fault.ErrConfig, "the tokenizer lacks token %d, which stands for images", f.model.Images.Token)
	}
	r := &imageReader{images: images{f, p, vision.NewDecoder(f.options.MaxPixels)}, placeholder: placeholder}
	if !p.Spelled() {
		return r, nil
	}
	r.begin, ok = f.tokenizer.Token(f.model.Images.Begin)
	end, found := f.tokenizer.Token(f.model.Images.End)
	if !ok || !found {
		return nil, check.Errorf(fault.ErrConfig, "the tokenizer lacks token %d or %d, which are around images", f.model.Images.Begin, f.model.Images.End)
	}
	r.spelled = "\n\n" + r.begin + placeholder + end + "\n\n"
	return r, nil
}

// spell returns a prompt with some images as it is tokenized.
func (r *imageReader) spell(prompt string, images int) string {
	if r == nil || images == 0 || r.spelled == "" {
		return prompt
	}
	return strings.ReplaceAll(prompt, r.begin, r.spelled)
}

// processorFile is the configuration of all that a model reads.
const processorFile = "processor_config.json"

// processorConfig returns the text of that file, or what a file of the model says in its place; nil
// if there is none.
func processorConfig(f *base) ([]byte, error) {
	if said := f.model.Images.Processor; said != nil {
		return said, nil
	}
	text, err := regular.ReadFile(f.fsys, processorFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, check.InFile(processorFile, fault.ErrFolder, err)
	}
	return text, nil
}

// fits returns an error unless the model takes the pixels that p makes, and prompts have what p
// writes around them. file is that of p, and all the text of processor_config.json.
func fits(f *base, all []byte, p *vision.Processor, file string) error {
	const of, usual = processorFile, 169 // transformers' default
	config := struct {
		Length  int   `json:"image_seq_len"`            // of Idefics 3
		Tokens  int   `json:"image_seq_length"`         // of Gemma 3
		Special *bool `json:"use_image_special_tokens"` // of LFM2-VL
	}{Length: usual, Tokens: 256}
	var err error
	if all != nil {
		err = pyjson.Unmarshal(all, &config)
	}
	if err == nil && config.Special != nil && !*config.Special {
		err = errors.New("use_image_special_tokens: false: not supported")
	}
	if err != nil {
		return check.InFile(of, fault.ErrConfig, err)
	}
	if known := f.model.Images.Processors; !slices.Contains(known, p.Class) {
		return check.InFile(file, fault.ErrConfig, fmt.Errorf("image_processor_type: %sImageProcessor, the model takes the pixels of one of %v", p.Class, known))
	}
	if p.Spelled() {
		w, h := p.Size()
		rows, err := f.model.Images.Rows(h, w)
		if err != nil {
			return check.InFile(file, fault.ErrConfig, fmt.Errorf("size: %v", err))
		}
		if config.Tokens != rows {
			return check.InFile(of, fault.ErrConfig, fmt.Errorf("image_seq_length: %d, the model makes %d tokens of an image", config.Tokens, rows))
		}
		return nil
	}
	square, tile := p.Square(), p.Tile()
	if tile == 0 {
		if rows, err := f.model.Images.Rows(square, square); err != nil || rows != 1 {
			return check.InFile(file, fault.ErrConfig, fmt.Errorf("tokens of %d x %d pixels: not those of the model", square, square))
		}
		return nil
	}
	rows, err := f.model.Images.Rows(tile, tile)
	if err != nil {
		return check.InFile(file, fault.ErrConfig, fmt.Errorf("max_image_size: %v", err))
	}
	if config.Length != rows {
		return check.InFile(of, fault.ErrConfig, fmt.Errorf("image_seq_len: %d, the model makes %d tokens of %d x %d pixels", config.Length, rows, tile, tile))
	}
	return nil
}

// imageConfig returns the configuration of a folder's images, and its file: a part of all, the text
// of processor_config.json, or the file of images alone.
func imageConfig(fsys fs.FS, all []byte) (file string, config []byte, err error) {
	file = processorFile
	var parts struct {
		Images json.RawMessage `json:"image_processor"`
	}
	if all != nil {
		if err := pyjson.Unmarshal(all, &parts); err != nil {
			return file, nil, check.InFile(file, fault.ErrConfig, err)
		}
	}
	if parts.Images != nil {
		return file, parts.Images, nil
	}
	file = "preprocessor_config.json"
	if config, err = regular.ReadFile(fsys, file); err != nil {
		return file, nil, check.InFile(file, fault.ErrFolder, err)
	}
	return file, config, nil
}

// read puts images into a prompt: the placeholder of each becomes as many as the image has soft
// tokens, between the tokens around the parts of an image.
func (g *Generator) read(ctx context.Context, prompt []int, files [][]byte) ([]int, []models.Soft, error) {
	r := g.reader
	if r != nil && slices.ContainsFunc(prompt, func(t int) bool { return slices.Contains(r.model.Images.Videos, t) }) {
		return nil, nil, check.Errorf(fault.ErrInput, "a prompt with a video: only images are read")
	}
	if len(files) == 0 {
		return prompt, nil, nil
	}
	if r == nil {
		return nil, nil, errNoReader(len(files))
	}
	token := r.model.Images.Token
	places := 0
	for _, t := range prompt {
		if t == token {
			places++
		}
	}
	if places != len(files) {
		return nil, nil, check.Errorf(fault.ErrInput, "%d images for a prompt with places for %d", len(files), places)
	}
	var all []int
	var soft []models.Soft
	number := 0
	for _, t := range prompt {
		if t != token {
			all = append(all, t)
			continue
		}
		read, err := r.image(ctx, number, files[number], len(all))
		if err != nil {
			return nil, nil, err
		}
		number++
		for i, x := range read.soft {
			all = append(all, read.around[i]...)
			soft = append(soft, models.Soft{At: len(all), X: x, Across: read.across[i]})
			all = append(all, slices.Repeat([]int{token}, read.rows[i])...)
		}
		all = append(all, read.around[len(read.soft)]...)
	}
	return all, soft, nil
}

// image reads the image file at a number, after a prompt of some tokens.
func (r *imageReader) image(ctx context.Context, number int, file []byte, before int) (*imageRead, error) {
	digest := sha256.Sum256(file)
	if read := r.recent.get(digest); read != nil {
		return read, nil
	}
	read, err := r.compute(ctx, file, before)
	if err != nil && ctx.Err() == nil {
		return nil, &InputError{number, err}
	}
	if err != nil {
		return nil, err
	}
	r.recent.add(digest, read)
	return read, nil
}

// compute reads an image file, unless the prompt has no room for it.
func (r *imageReader) compute(ctx context.Context, file []byte, before int) (*imageRead, error) {
	var picture *vision.Picture
	read := new(imageRead)
	if _, err := r.queue.Each(ctx, 1, func(*models.Workspace, int) (err error) {
		picture, err = r.picture(file, read)
		return err
	}); err != nil {
		return nil, err
	}
	if n := read.tokens(); r.limit > 0 && before+n >= r.limit {
		return nil, fmt.Errorf("%w: an image of %d tokens after a prompt of %d in a context of %d", fault.ErrTooLong, n, before, r.limit)
	}
	for _, rows := range read.rows {
		read.soft = append(read.soft, make([]float32, rows*r.model.Images.Dim()))
	}
	_, err := r.queue.Each(ctx, picture.Parts(), func(ws *models.Workspace, part int) error {
		pixels, w, h := picture.Pixels(part)
		if err := r.model.Images.EncodeImages(ws, read.soft[part], pixels, 1, h, w); err != nil {
			return err
		}
		return check.Finite(read.soft[part])
	})
	return read, err
}

// picture decodes an image file, and notes in read how many soft tokens it has, and the tokens
// around them.
func (r *imageReader) picture(file []byte, read *imageRead) (picture *vision.Picture, err error) {
	err = r.decoder.Use(file, func(m *vision.RGB) (err error) {
		picture, err = r.processor.Picture(m)
		return err
	})
	if err != nil {
		return nil, err
	}
	for part := range picture.Parts() {
		w, h := picture.Size(part)
		rows, err := r.model.Images.Rows(h, w)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", fault.ErrImage, err)
		}
		across := 0
		if side := r.model.Images.Side; side > 0 {
			across = w / side
		}
		read.rows, read.across = append(read.rows, rows), append(read.across, across)
	}
	read.around, err = r.around(picture)
	return picture, err
}

// around returns the tokens before each part of a picture, and after the last.
func (r *imageReader) around(p *vision.Picture) ([][]int, error) {
	texts := p.Texts()
	if texts == nil {
		return [][]int{{r.model.Images.Begin}, {r.model.Images.End}}, nil
	}
	e, err := r.tokenizer.Encode(strings.Join(texts, r.placeholder), plainTokens) // as a whole: what is at a text's start may depend on what is before it
	if err != nil {
		return nil, err
	}
	around := [][]int{nil}
	for _, id := range e.IDs {
		if id == r.model.Images.Token {
			around = append(around, nil)
			continue
		}
		around[len(around)-1] = append(around[len(around)-1], id)
	}
	if len(around) != len(texts) {
		return nil, check.Errorf(fault.ErrConfig, "the tokenizer makes %d placeholders for an image of %d parts", len(around)-1, p.Parts())
	}
	return around, nil
}

// ImageTokens returns the number of tokens that the file of an image adds to a prompt that has its
// placeholder, without computing what they are. Errors are those of [Generator.Generate] with the
// file as the only one of [GenerateOptions].Images.
func (g *Generator) ImageTokens(file []byte) (int, error) {
	if g.reader == nil {
		return 0, errNoReader(1)
	}
	read := g.reader.recent.get(sha256.Sum256(file))
	if read == nil {
		read = new(imageRead)
		if _, err := g.reader.picture(file, read); err != nil {
			return 0, &InputError{0, err}
		}
	}
	return read.tokens() - 1, nil // less the placeholder
}

func errNoReader(files int) error {
	return check.Option("Images", files, "the model reads none, or was opened without models.Options.Images")
}

// recentImages are the soft tokens of images that were read last: each turn of a chat has those of
// the turns before.
type recentImages struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]*list.Element // of recentImage
	order list.List                           // the last one that was asked for is in front
	bytes int
}

type recentImage struct {
	digest [sha256.Size]byte
	read   *imageRead
}

// mostRecent bounds the bytes of the soft tokens that are kept.
const mostRecent = 64 << 20

func (r *recentImages) get(digest [sha256.Size]byte) *imageRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.known[digest]
	if e == nil {
		return nil
	}
	r.order.MoveToFront(e)
	return e.Value.(recentImage).read
}

func (r *recentImages) add(digest [sha256.Size]byte, read *imageRead) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[[sha256.Size]byte]*list.Element{}
	}
	if r.known[digest] != nil {
		return
	}
	r.known[digest] = r.order.PushFront(recentImage{digest, read})
	for r.bytes += read.bytes(); r.bytes > mostRecent; {
		last := r.order.Remove(r.order.Back()).(recentImage)
		delete(r.known, last.digest)
		r.bytes -= last.read.bytes()
	}
}
