// Images in prompts.

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
	recent recentImages
}

// newImageReader is that of a folder; nil if its model was opened without its encoder of images.
func newImageReader(f *base) (*imageReader, error) {
	if f.model.Images == nil {
		return nil, nil
	}
	file, config, err := imageConfig(f.fsys)
	if err != nil {
		return nil, err
	}
	p, err := vision.NewProcessor(config)
	if err != nil {
		return nil, check.InFile(file, fault.ErrConfig, err)
	}
	if h, w := f.model.Images.Size(); p.Square() != h || p.Square() != w {
		return nil, check.InFile(file, fault.ErrConfig, fmt.Errorf("tokens of %d x %d pixels, the model has some of %d x %d", p.Square(), p.Square(), w, h))
	}
	for _, w := range p.Warnings {
		f.warning(file + ": " + w)
	}
	return &imageReader{images: images{f, p, vision.NewDecoder(f.options.MaxPixels)}}, nil
}

// imageConfig returns the configuration of a folder's images, and its file: that of all that the model reads, or that of images alone.
func imageConfig(fsys fs.FS) (file string, config []byte, err error) {
	file = "processor_config.json"
	all, err := regular.ReadFile(fsys, file)
	if err == nil {
		var parts struct {
			Images json.RawMessage `json:"image_processor"`
		}
		if err := pyjson.Unmarshal(all, &parts); err != nil {
			return file, nil, check.InFile(file, fault.ErrConfig, err)
		}
		if parts.Images != nil {
			return file, parts.Images, nil
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return file, nil, check.InFile(file, fault.ErrFolder, err)
	}
	file = "preprocessor_config.json"
	if config, err = regular.ReadFile(fsys, file); err != nil {
		return file, nil, check.InFile(file, fault.ErrFolder, err)
	}
	return file, config, nil
}

// read puts images into a prompt: the placeholder of each becomes as many as the image has soft tokens, between the tokens that begin and end an
// image.
func (g *Generator) read(ctx context.Context, prompt []int, files [][]byte) ([]int, []models.Soft, error) {
	if len(files) == 0 {
		return prompt, nil, nil
	}
	r := g.reader
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
	for _, t := range prompt {
		if t != token {
			all = append(all, t)
			continue
		}
		x, err := r.soft(ctx, len(soft), files[len(soft)], len(all))
		if err != nil {
			return nil, nil, err
		}
		all = append(all, r.model.Images.Begin)
		soft = append(soft, models.Soft{At: len(all), X: x})
		all = append(all, slices.Repeat([]int{token}, len(x)/r.model.Images.Dim())...)
		all = append(all, r.model.Images.End)
	}
	return all, soft, nil
}

// soft returns the soft tokens of the image file at a number, after a prompt of some tokens.
func (r *imageReader) soft(ctx context.Context, number int, file []byte, before int) ([]float32, error) {
	digest := sha256.Sum256(file)
	if x := r.recent.get(digest); x != nil {
		return x, nil
	}
	var x []float32
	_, err := r.queue.Each(ctx, 1, func(ws *models.Workspace, _ int) error {
		return r.encode(ws, file, before, &x)
	})
	if err != nil && ctx.Err() == nil {
		return nil, &InputError{number, err}
	}
	if err != nil {
		return nil, err
	}
	r.recent.add(digest, x)
	return x, nil
}

// pixels returns the pixels of an image file, [3, h, w], and the number of its soft tokens.
func (r *imageReader) pixels(file []byte) (pixels []float32, w, h, rows int, err error) {
	err = r.decoder.Use(file, func(picture *vision.RGB) (err error) {
		pixels, w, h, err = r.processor.Pixels(picture)
		return err
	})
	if err != nil {
		return nil, 0, 0, 0, err
	}
	if rows, err = r.model.Images.Rows(h, w); err != nil {
		return nil, 0, 0, 0, fmt.Errorf("%w: %w", fault.ErrImage, err)
	}
	return pixels, w, h, rows, nil
}

// ImageTokens returns the number of tokens that the file of an image adds to a prompt that has its placeholder, without computing what they
// are. Errors are those of [Generator.Generate] with the file as the only one of [GenerateOptions].Images.
func (g *Generator) ImageTokens(file []byte) (int, error) {
	if g.reader == nil {
		return 0, errNoReader(1)
	}
	const markers = 1 // a token before and one after the image, less the placeholder
	if x := g.reader.recent.get(sha256.Sum256(file)); x != nil {
		return len(x)/g.model.Images.Dim() + markers, nil
	}
	_, _, _, rows, err := g.reader.pixels(file)
	if err != nil {
		return 0, &InputError{0, err}
	}
	return rows + markers, nil
}

func errNoReader(files int) error {
	return check.Option("Images", files, "the model reads none, or was opened without models.Options.Images")
}

// encode sets x to the soft tokens of an image file, unless the prompt has no room for them.
func (r *imageReader) encode(ws *models.Workspace, file []byte, before int, x *[]float32) error {
	pixels, w, h, rows, err := r.pixels(file)
	if err != nil {
		return err
	}
	if r.limit > 0 && before+rows >= r.limit {
		return fmt.Errorf("%w: an image of %d tokens after a prompt of %d in a context of %d", fault.ErrTooLong, rows, before, r.limit)
	}
	y := make([]float32, rows*r.model.Images.Dim())
	if err := r.model.Images.EncodeImages(ws, y, pixels, 1, h, w); err != nil {
		return err
	}
	*x = y
	return check.Finite(y)
}

// recentImages are the soft tokens of images that were read last: each turn of a chat has those of the turns before.
type recentImages struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]*list.Element // of recentImage
	order list.List                           // the last one that was asked for is in front
	bytes int
}

type recentImage struct {
	digest [sha256.Size]byte
	x      []float32
}

// mostRecent bounds the bytes of the soft tokens that are kept.
const mostRecent = 64 << 20

func (r *recentImages) get(digest [sha256.Size]byte) []float32 {
	r.mu.Lock()
	defer r.mu.Unlock()
	e := r.known[digest]
	if e == nil {
		return nil
	}
	r.order.MoveToFront(e)
	return e.Value.(recentImage).x
}

func (r *recentImages) add(digest [sha256.Size]byte, x []float32) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[[sha256.Size]byte]*list.Element{}
	}
	if r.known[digest] != nil {
		return
	}
	r.known[digest] = r.order.PushFront(recentImage{digest, x})
	for r.bytes += 4 * len(x); r.bytes > mostRecent; {
		last := r.order.Remove(r.order.Back()).(recentImage)
		delete(r.known, last.digest)
		r.bytes -= 4 * len(last.x)
	}
}
