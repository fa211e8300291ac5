package images

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
)

const (
	longestLine = 128 << 10 // bytes; a line of floats has 29,500
	longestFile = 64 << 10  // bytes of an image in PNG
	lengthBytes = 4
)

// ErrEnd is the error of an empty line, which ends a stream of lines.
var ErrEnd = errors.New("the stream has ended")

// Decoder reads images as they were sent.
type Decoder struct {
	encoding Encoding
	input    Input
	pixels   [Numbers]byte
}

// NewDecoder returns a decoder for a model with the input.
func NewDecoder(e Encoding, input Input) *Decoder { return &Decoder{encoding: e, input: input} }

// Next decodes the first image of data into what the model computes with. It returns the number
// of bytes used, 0 while the image is incomplete. An error says what is wrong with the image:
// the stream cannot go on.
func (d *Decoder) Next(data []byte, numbers []float32) (label byte, used int, err error) {
	switch d.encoding {
	case Raw:
		return d.raw(data, numbers)
	case PNG:
		return d.file(data, numbers)
	}
	end := bytes.IndexByte(data[:min(len(data), longestLine)], '\n')
	switch {
	case end < 0 && len(data) >= longestLine:
		return 0, 0, fmt.Errorf("a line of more than %d bytes", longestLine)
	case end < 0:
		return 0, 0, nil
	}
	line := bytes.TrimSuffix(data[:end], []byte("\r"))
	if len(line) == 0 {
		return 0, end + 1, ErrEnd
	}
	if label, err = labelOf(line[0]); err == nil {
		err = d.line(line[1:], numbers[:Numbers])
	}
	return label, end + 1, err
}

// labelOf is the class of a digit.
func labelOf(digit byte) (byte, error) {
	if digit < '0' || digit > '9' {
		return 0, fmt.Errorf("the label is %q instead of a digit", digit)
	}
	return digit - '0', nil
}

func (d *Decoder) raw(data []byte, numbers []float32) (label byte, used int, err error) {
	if len(data) <= Numbers {
		return 0, 0, nil
	}
	if data[0] >= Classes {
		return 0, 0, fmt.Errorf("the label is %d instead of 0 to %d", data[0], Classes-1)
	}
	d.input.Fill(numbers, data[1:])
	return data[0], 1 + Numbers, nil
}

func (d *Decoder) file(data []byte, numbers []float32) (label byte, used int, err error) {
	if len(data) < lengthBytes {
		return 0, 0, nil
	}
	size := int(binary.BigEndian.Uint32(data))
	switch {
	case size < 2 || size > longestFile:
		return 0, 0, fmt.Errorf("an image in PNG of %d bytes: at most %d", size, longestFile)
	case len(data) < lengthBytes+size:
		return 0, 0, nil
	}
	data = data[lengthBytes : lengthBytes+size]
	if data[0] >= Classes {
		return 0, 0, fmt.Errorf("the label is %d instead of 0 to %d", data[0], Classes-1)
	}
	if err := unpack(data[1:], d.pixels[:]); err != nil {
		return 0, 0, fmt.Errorf("not an image in PNG: %w", err)
	}
	d.input.Fill(numbers, d.pixels[:])
	return data[0], lengthBytes + size, nil
}

// line parses the numbers of a line.
func (d *Decoder) line(text []byte, numbers []float32) error {
	n := 0
	for at := 0; ; n++ {
		for at < len(text) && text[at] == ' ' {
			at++
		}
		if at == len(text) {
			break
		}
		from := at
		for at < len(text) && text[at] != ' ' {
			at++
		}
		if n >= Numbers {
			continue // counted for the message
		}
		if err := d.number(text[from:at], &numbers[n], n); err != nil {
			return err
		}
	}
	if n != Numbers {
		return fmt.Errorf("%d numbers instead of %d", n, Numbers)
	}
	switch d.encoding {
	case FloatText:
		d.input.restore(numbers)
	default:
		d.input.Fill(numbers, d.pixels[:])
	}
	return nil
}

func (d *Decoder) number(word []byte, into *float32, place int) error {
	if d.encoding == FloatText {
		x, ok := parseFloat(word)
		if !ok {
			return fmt.Errorf("number %d is %q", place+1, excerpt(word))
		}
		*into = x
		return nil
	}
	p := 0
	for _, c := range word {
		if c < '0' || c > '9' || len(word) > 3 {
			return fmt.Errorf("number %d is %q instead of a pixel", place+1, excerpt(word))
		}
		p = 10*p + int(c-'0')
	}
	if p > 255 {
		return fmt.Errorf("number %d is %d: the most is 255", place+1, p)
	}
	d.pixels[place] = byte(p)
	return nil
}

func excerpt(text []byte) string { return string(text[:min(len(text), 40)]) }

// decimals are the powers of ten that a float64 holds exactly and that texts of images need.
var decimals = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parseFloat parses a finite number. Fifteen digits with a point are read at once: both parts of
// the quotient are exact, so that its rounding is right (Clinger 1990, "How to read floating
// point numbers accurately").
func parseFloat(word []byte) (float32, bool) {
	digits, negative := word, false
	if len(digits) > 0 && digits[0] == '-' {
		digits, negative = digits[1:], true
	}
	n, seen, point := uint64(0), 0, -1
	for i, c := range digits {
		switch {
		case c >= '0' && c <= '9':
			n = 10*n + uint64(c-'0')
			seen++
		case c == '.' && point < 0:
			point = i
		default:
			return parseSlowly(word)
		}
	}
	if seen == 0 || seen > 15 {
		return parseSlowly(word)
	}
	x := float64(n)
	if point >= 0 {
		x /= decimals[len(digits)-1-point]
	}
	if negative {
		x = -x
	}
	return float32(x), true
}

func parseSlowly(word []byte) (float32, bool) {
	x, err := strconv.ParseFloat(string(word), 32)
	return float32(x), err == nil && x-x == 0
}
