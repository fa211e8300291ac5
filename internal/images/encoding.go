package images

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Encoding is how an image is sent.
type Encoding string

// The encodings. Texts are lines: the label, at once followed by 3,072 numbers separated by
// blanks.
const (
	FloatText Encoding = "float-text" // numbers with six decimals, as the model takes them but for a factor of 255
	IntText   Encoding = "int-text"   // pixels
	Raw       Encoding = "raw"        // the label and the pixels, a byte each
	PNG       Encoding = "png"        // length of the rest in four bytes, big-endian; the label; a PNG file
)

// encodings are all of them.
var encodings = []Encoding{FloatText, IntText, Raw, PNG}

// names lists the encodings for messages.
func names() string {
	var all []string
	for _, e := range encodings {
		all = append(all, string(e))
	}
	return strings.Join(all, ", ")
}

// Text reports whether images are lines.
func (e Encoding) Text() bool { return e == FloatText || e == IntText }

// Known reports whether there is such an encoding.
func (e Encoding) Known() bool { return slices.Contains(encodings, e) }

// Encoder encodes the images of a set. Images in PNG are made beforehand, since that takes CPU
// time that is not the sender's in the field.
type Encoder struct {
	encoding Encoding
	input    Input
	set      []Image
	files    [][]byte
}

// NewEncoder returns an encoder for a model with the input.
func NewEncoder(e Encoding, input Input, set []Image) (*Encoder, error) {
	c := &Encoder{encoding: e, input: input, set: set}
	if e != PNG {
		return c, nil
	}
	for i := range set {
		file, err := pack(&set[i])
		if err != nil {
			return nil, fmt.Errorf("encode image %d: %w", i, err)
		}
		c.files = append(c.files, file)
	}
	return c, nil
}

// Append appends an image of the set.
func (c *Encoder) Append(buffer []byte, index int) []byte {
	i := &c.set[index]
	switch c.encoding {
	case PNG:
		file := c.files[index]
		buffer = binary.BigEndian.AppendUint32(buffer, uint32(1+len(file)))
		return append(append(buffer, i.Label), file...)
	case Raw:
		return append(append(buffer, i.Label), i.Pixels[:]...)
	case IntText:
		buffer = append(buffer, '0'+i.Label)
		for k, p := range i.Pixels {
			if k > 0 {
				buffer = append(buffer, ' ')
			}
			buffer = strconv.AppendUint(buffer, uint64(p), 10)
		}
	default:
		buffer = c.appendFloats(append(buffer, '0'+i.Label), i)
	}
	return append(buffer, '\n')
}

const million = 1_000_000

func (c *Encoder) appendFloats(buffer []byte, i *Image) []byte {
	if c.input != Centred {
		for k, p := range i.Pixels {
			if k > 0 {
				buffer = append(buffer, ' ')
			}
			buffer = append(buffer, fractions[p]...)
		}
		return buffer
	}
	m := centre()
	for k, p := range i.Pixels {
		if k > 0 {
			buffer = append(buffer, ' ')
		}
		buffer = appendSix(buffer, float64(float32(p)/255-m[k]))
	}
	return buffer
}

// fractions are the texts of 0/255 to 255/255.
var fractions = func() (all [256]string) {
	for p := range all {
		all[p] = string(appendSix(nil, float64(float32(p)/255)))
	}
	return all
}()

// appendSix appends a number between -10 and 10 with six decimals, as %f does.
func appendSix(buffer []byte, x float64) []byte {
	if math.Signbit(x) {
		buffer, x = append(buffer, '-'), -x
	}
	n := uint64(math.RoundToEven(x * million))
	buffer = append(buffer, '0'+byte(n/million), '.')
	for place := uint64(million / 10); place > 0; place /= 10 {
		buffer = append(buffer, '0'+byte(n/place%10))
	}
	return buffer
}

// pack makes a PNG file.
func pack(i *Image) ([]byte, error) {
	picture := image.NewNRGBA(image.Rect(0, 0, Side, Side))
	for k := range Side * Side {
		copy(picture.Pix[4*k:], i.Pixels[Depth*k:Depth*k+Depth])
		picture.Pix[4*k+3] = 255
	}
	var out bytes.Buffer
	err := png.Encode(&out, picture)
	return out.Bytes(), err
}

// unpack reads a PNG file of the right size.
func unpack(file, pixels []byte) error {
	about, err := png.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return err
	}
	if about.Width != Side || about.Height != Side {
		return fmt.Errorf("%d x %d pixels instead of %d x %d", about.Width, about.Height, Side, Side)
	}
	picture, err := png.Decode(bytes.NewReader(file))
	if err != nil {
		return err
	}
	return Flatten(picture, pixels)
}

// Flatten writes the pixels of a picture, row by row.
func Flatten(picture image.Image, pixels []byte) error {
	b := picture.Bounds()
	if b.Dx()*b.Dy()*Depth != len(pixels) {
		return fmt.Errorf("a picture of %d x %d pixels does not have %d bytes", b.Dx(), b.Dy(), len(pixels))
	}
	at := 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			switch p := picture.(type) {
			case *image.RGBA:
				at += copy(pixels[at:], p.Pix[p.PixOffset(x, y):][:Depth])
			case *image.NRGBA:
				at += copy(pixels[at:], p.Pix[p.PixOffset(x, y):][:Depth])
			default:
				red, green, blue, _ := picture.At(x, y).RGBA()
				at += copy(pixels[at:], []byte{byte(red >> 8), byte(green >> 8), byte(blue >> 8)})
			}
		}
	}
	return nil
}
