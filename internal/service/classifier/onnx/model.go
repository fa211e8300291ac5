// Package onnx reads models in the format of ONNX, and computes those of a few operators in Go.
//
// Source: the ONNX specification, onnx.proto and its list of operators.
package onnx

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Model is what a file says.
type Model struct {
	Metadata map[string]string
	inputs   []value // without initializers
	outputs  []value
	nodes    []node
	tensors  map[string]tensor
}

// value is an input or output of the graph.
type value struct {
	name string
	kind int64   // of its elements
	dims []int64 // -1 if free
}

const (
	kindFloat = 1
	kindInt64 = 7
	free      = -1
)

// tensor is a constant.
type tensor struct {
	dims     []int64
	floats   []float32
	integers []int64
}

// node applies an operator.
type node struct {
	operator        string
	inputs, outputs []string
	integers        map[string][]int64
	floats          map[string]float32
	texts           map[string]string
}

// Parse parses a file.
func Parse(data []byte) (*Model, error) {
	m := &Model{Metadata: map[string]string{}, tensors: map[string]tensor{}}
	seen := false
	err := fields(data, func(f field) error {
		switch f.number {
		case 7:
			seen = true
			return m.graph(f.data)
		case 14:
			return m.entry(f.data)
		}
		return nil
	})
	if err == nil && !seen {
		err = errWire
	}
	if err != nil {
		return nil, err
	}
	m.inputs = slices.DeleteFunc(m.inputs, func(v value) bool { _, constant := m.tensors[v.name]; return constant })
	return m, nil
}

func (m *Model) entry(data []byte) error {
	var key, text string
	err := fields(data, func(f field) error {
		switch f.number {
		case 1:
			key = string(f.data)
		case 2:
			text = string(f.data)
		}
		return nil
	})
	m.Metadata[key] = text
	return err
}

func (m *Model) graph(data []byte) error {
	return fields(data, func(f field) error {
		switch f.number {
		case 1:
			n, err := parseNode(f.data)
			m.nodes = append(m.nodes, n)
			return err
		case 5:
			name, t, err := parseTensor(f.data)
			m.tensors[name] = t
			return err
		case 11:
			v, err := parseValue(f.data)
			m.inputs = append(m.inputs, v)
			return err
		case 12:
			v, err := parseValue(f.data)
			m.outputs = append(m.outputs, v)
			return err
		}
		return nil
	})
}

func parseNode(data []byte) (node, error) {
	n := node{integers: map[string][]int64{}, floats: map[string]float32{}, texts: map[string]string{}}
	err := fields(data, func(f field) error {
		switch f.number {
		case 1:
			n.inputs = append(n.inputs, string(f.data))
		case 2:
			n.outputs = append(n.outputs, string(f.data))
		case 4:
			n.operator = string(f.data)
		case 5:
			return n.attribute(f.data)
		}
		return nil
	})
	return n, err
}

func (n *node) attribute(data []byte) error {
	var name, text string
	var number float32
	var all []int64
	err := fields(data, func(f field) (err error) {
		switch f.number {
		case 1:
			name = string(f.data)
		case 2:
			one, err := floats(nil, binary.LittleEndian.AppendUint32(nil, uint32(f.value)))
			if err == nil {
				number = one[0]
			}
			return err
		case 3, 8:
			all, err = f.integers(all)
		case 4:
			text = string(f.data)
		}
		return err
	})
	n.integers[name], n.floats[name], n.texts[name] = all, number, text
	return err
}

func parseTensor(data []byte) (name string, t tensor, err error) {
	kind := int64(0)
	var raw []byte
	err = fields(data, func(f field) (err error) {
		switch f.number {
		case 1:
			t.dims, err = f.integers(t.dims)
		case 2:
			kind = int64(f.value)
		case 4:
			if f.data == nil {
				f.data = binary.LittleEndian.AppendUint32(nil, uint32(f.value))
			}
			t.floats, err = floats(t.floats, f.data)
		case 7:
			t.integers, err = f.integers(t.integers)
		case 8:
			name = string(f.data)
		case 9:
			raw = f.data
		}
		return err
	})
	switch {
	case err != nil:
		return name, t, err
	case kind == kindFloat && len(raw) > 0:
		t.floats, err = floats(t.floats, raw)
	case kind == kindInt64:
		for ; len(raw) >= 8; raw = raw[8:] {
			t.integers = append(t.integers, int64(binary.LittleEndian.Uint64(raw)))
		}
	}
	if err == nil && kind == kindFloat && size(t.dims) != len(t.floats) {
		err = fmt.Errorf("constant %s has %d numbers instead of %d", name, len(t.floats), size(t.dims))
	}
	return name, t, err
}

// mostElements bounds a tensor, so that a damaged file takes no memory.
const mostElements = 1 << 28

// size is the number of elements; -1 if a dimension is none, or there are too many.
func size(dims []int64) int {
	n := int64(1)
	for _, d := range dims {
		if d < 0 || d > mostElements {
			return -1
		}
		if n *= d; n > mostElements {
			return -1
		}
	}
	return int(n)
}

func parseValue(data []byte) (v value, err error) {
	err = fields(data, func(f field) error {
		switch f.number {
		case 1:
			v.name = string(f.data)
		case 2:
			return fields(f.data, func(f field) error {
				if f.number != 1 {
					return nil
				}
				return v.tensorType(f.data)
			})
		}
		return nil
	})
	return v, err
}

func (v *value) tensorType(data []byte) error {
	return fields(data, func(f field) error {
		switch f.number {
		case 1:
			v.kind = int64(f.value)
		case 2:
			return fields(f.data, func(f field) error {
				if f.number != 1 {
					return nil
				}
				dim := int64(free)
				err := fields(f.data, func(f field) error {
					if f.number == 1 {
						dim = int64(f.value)
					}
					return nil
				})
				v.dims = append(v.dims, dim)
				return err
			})
		}
		return nil
	})
}

// Layout is the order of the numbers of an image.
type Layout string

// The layouts, with a free or fixed number of images in front.
const (
	PixelByPixel Layout = "hwc" // 32 x 32 x 3
	ColourPlanes Layout = "chw" // 3 x 32 x 32
)

// Classifies reports how a model takes images, and the number of images at once, 0 for any. Its
// error is for one that does not classify 32 x 32 images into a number of classes.
func (m *Model) Classifies(side, depth, classes int64) (layout Layout, batch int, err error) {
	if len(m.inputs) != 1 || len(m.outputs) != 1 {
		return "", 0, fmt.Errorf("it has %d inputs and %d outputs instead of one each", len(m.inputs), len(m.outputs))
	}
	in, out := m.inputs[0], m.outputs[0]
	switch {
	case in.kind != kindFloat || len(in.dims) != 4:
	case slices.Equal(in.dims[1:], []int64{side, side, depth}):
		layout = PixelByPixel
	case slices.Equal(in.dims[1:], []int64{depth, side, side}):
		layout = ColourPlanes
	}
	if layout == "" {
		return "", 0, fmt.Errorf("its input is %s instead of float [N,%d,%d,%d] or [N,%d,%d,%d]", in.shape(), side, side, depth, depth, side, side)
	}
	if out.kind != kindFloat || len(out.dims) != 2 || out.dims[1] != classes {
		return "", 0, fmt.Errorf("its output is %s instead of float [N,%d]", out.shape(), classes)
	}
	return layout, int(max(0, in.dims[0])), nil
}

func (v value) shape() string {
	kind := "float"
	if v.kind != kindFloat {
		kind = fmt.Sprintf("type %d", v.kind)
	}
	var dims []string
	for _, d := range v.dims {
		if d == free {
			dims = append(dims, "N")
		} else {
			dims = append(dims, fmt.Sprint(d))
		}
	}
	return kind + " [" + strings.Join(dims, ",") + "]"
}
