// Package images holds labelled images of 32 x 32 pixels, how they are encoded on the wire, and
// the protocol "images" between a load and a classifier.
package images

import (
	_ "embed"
	"encoding/binary"
	"math"
	"sync"
)

// The size of an image, in the order of its bytes: row by row, pixel by pixel, red, green, blue.
const (
	Side    = 32
	Depth   = 3
	Numbers = Side * Side * Depth
	Classes = 10
)

// Image is an image with its class.
type Image struct {
	Label  byte // 0 to 9
	Pixels [Numbers]byte
}

// Input is what a model computes with.
type Input string

// The inputs of models.
const (
	Pixels  Input = "pixels"  // 0 to 255
	Unit    Input = "unit"    // pixels / 255
	Centred Input = "centred" // pixels / 255, minus the mean image
)

// Known reports whether there is such an input.
func (i Input) Known() bool { return i == Pixels || i == Unit || i == Centred }

// training is how many images the mean image is of.
const training = 50_000

// sums are those of the 50,000 training images of CIFAR-10, number by number, as 32-bit
// little-endian integers.
//
//go:embed mean.bin
var sums []byte

// mean is the mean image, of numbers between 0 and 1.
var mean = sync.OnceValue(func() (m [Numbers]float64) {
	for i := range m {
		m[i] = float64(binary.LittleEndian.Uint32(sums[4*i:])) / training / 255
	}
	return m
})

// Fill writes what a model with the input computes with.
func (i Input) Fill(numbers []float32, pixels []byte) {
	numbers = numbers[:Numbers]
	pixels = pixels[:Numbers]
	switch i {
	case Unit:
		for k, p := range pixels {
			numbers[k] = float32(p) / 255
		}
	case Centred:
		m := centre()
		for k, p := range pixels {
			numbers[k] = float32(p)/255 - m[k]
		}
	default:
		for k, p := range pixels {
			numbers[k] = float32(p)
		}
	}
}

var centre = sync.OnceValue(func() (c [Numbers]float32) {
	for i, m := range mean() {
		c[i] = float32(m)
	}
	return c
})

// restore makes the input of numbers that were sent as text. A sender divides pixels by 255 for
// a model that takes them as they are, too.
func (i Input) restore(numbers []float32) {
	if i != Pixels {
		return
	}
	for k, x := range numbers {
		numbers[k] = float32(math.Round(float64(x) * 255))
	}
}
