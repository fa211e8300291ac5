package classifier

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"plimsoll/internal/charset"
	"plimsoll/internal/images"
	"plimsoll/internal/platform"
	"plimsoll/internal/service/classifier/onnx"
)

// The models with names.
const (
	cnnModel   = "cnn"
	smallModel = "small"
)

// small is the model that comes with plimsoll: train.py beside it made it.
//
//go:embed small/small.onnx
var small []byte

// cnnSum is the SHA-256 of the model cnn as it was converted.
const cnnSum = "2576f3b6599b2c98977ac64d4052726a8d4b6304e7ed4a957be8c4e8953e3e13"

const (
	leastDigits = 16 // of a hash in a study
	shownDigits = 16
	mostModel   = 256 << 20 // bytes of a model's file
)

// named is a model as a study names it.
type named struct {
	name string // cnn, small or a path
	sum  string // the first digits of the SHA-256 of its file; empty for one that comes with plimsoll
}

func parseModel(text string) (named, error) {
	switch text {
	case smallModel:
		return named{name: text}, nil
	case cnnModel:
		return named{text, cnnSum}, nil
	}
	at := strings.LastIndex(text, "@")
	if at < 0 {
		return named{}, fmt.Errorf("model %q is neither %s nor %s, nor a path with a hash, as /models/resnet20.onnx@0123456789abcdef: add the first 16 digits or more that sha256sum prints", text, cnnModel, smallModel)
	}
	n := named{text[:at], strings.ToLower(text[at+1:])}
	if len(n.sum) < leastDigits || len(n.sum) > 2*sha256.Size || !charset.Only(n.sum, charset.Hex) {
		return named{}, fmt.Errorf("model %q: %q is no SHA-256 of %d digits or more: use those that sha256sum prints", text, text[at+1:], leastDigits)
	}
	if !path.IsAbs(n.name) {
		return named{}, fmt.Errorf("model %q: must be the absolute path of a file on the machine of the service", text)
	}
	return n, nil
}

// file is the path of the model on a machine; empty for one that comes with plimsoll.
func (n named) file(ctx context.Context, m platform.Machine) (string, error) {
	switch n.name {
	case smallModel:
		return "", nil
	case cnnModel:
		folder, err := locate(ctx, m)
		return path.Join(folder, cnnFile), err
	}
	return n.name, nil
}

// read reads the model's file on a machine.
func (n named) read(ctx context.Context, m platform.Machine) ([]byte, error) {
	file, err := n.file(ctx, m)
	if err != nil || file == "" {
		return small, err
	}
	data, err := m.ReadFile(ctx, file)
	if errors.Is(err, fs.ErrNotExist) && n.name == cnnModel {
		return nil, fmt.Errorf("model cnn is not in %s: fetch it with plimsoll service classifier fetch (package %s of PyPI), or use model small", path.Dir(file), cnnPackage)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("model %s does not exist on machine %s", file, m.Name())
	}
	if err != nil {
		return nil, fmt.Errorf("read model %s: %w", file, err)
	}
	return data, nil
}

// model is a model whose hash is right.
type model struct {
	named
	hash   string // SHA-256 of the file
	data   []byte
	parsed *onnx.Model
	input  images.Input
	layout onnx.Layout
	batch  int // images at once; 0 for any number
}

// open checks the hash of a model, and that it classifies images of the right shape.
func (n named) open(data []byte) (model, error) {
	sum := sha256.Sum256(data)
	m := model{named: n, hash: hex.EncodeToString(sum[:]), data: data}
	if !strings.HasPrefix(m.hash, n.sum) {
		return m, fmt.Errorf("model %s has the SHA-256 %s instead of %s: it is another file than the study names", n.name, m.hash[:max(shownDigits, len(n.sum))], n.sum)
	}
	if len(data) > mostModel {
		return m, fmt.Errorf("model %s has %d bytes: the most is %d", n.name, len(data), mostModel)
	}
	var err error
	if m.parsed, err = onnx.Parse(data); err == nil {
		m.layout, m.batch, err = m.parsed.Classifies(images.Side, images.Depth, images.Classes)
	}
	if err != nil {
		return m, fmt.Errorf("model %s does not classify the images of CIFAR-10: %w", n.name, err)
	}
	m.input = images.Pixels
	if kind, given := m.parsed.Metadata["plimsoll.input"]; given {
		m.input = images.Input(kind)
	}
	if !m.input.Known() {
		return m, fmt.Errorf("model %s computes with %q: the metadata plimsoll.input must be %s, %s or %s", n.name, m.input, images.Pixels, images.Unit, images.Centred)
	}
	return m, nil
}

// fits checks that an engine with its settings can compute the model.
func (m model) fits(s Settings) error {
	if m.batch > 0 && m.batch != s.Batch {
		return fmt.Errorf("model %s takes %d images at once, and batch is %d: set classifier.batch to %d, or export the model with a free number", m.name, m.batch, s.Batch, m.batch)
	}
	if m.batch > 1 {
		return fmt.Errorf("model %s takes exactly %d images at once: export it with a free number", m.name, m.batch)
	}
	if s.Engine != goEngine {
		return nil
	}
	_, err := m.network()
	return err
}

func (m model) network() (*onnx.Network, error) {
	if m.layout != onnx.PixelByPixel {
		return nil, fmt.Errorf("model %s takes planes of colours, which the Go engine does not: use engine onnxruntime", m.name)
	}
	n, err := m.parsed.Network()
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", m.name, err)
	}
	return n, nil
}

// setting is the model as a study names it, with the hash of the file that was read.
func (m model) setting() string {
	if path.IsAbs(m.name) {
		return m.name + "@" + m.hash[:max(leastDigits, len(m.sum))]
	}
	return m.name
}
