package onnx

import (
	"encoding/binary"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// message builds messages of Protocol Buffers.
type message []byte

func (m message) bytes(number int, data []byte) message {
	m = binary.AppendUvarint(m, uint64(number)<<3|2)
	m = binary.AppendUvarint(m, uint64(len(data)))
	return append(m, data...)
}

func (m message) text(number int, text string) message { return m.bytes(number, []byte(text)) }

func (m message) integer(number int, value int64) message {
	m = binary.AppendUvarint(m, uint64(number)<<3)
	return binary.AppendUvarint(m, uint64(value))
}

// made is a model that a test makes.
type made struct {
	graph message
}

func (m *made) node(operator string, integers map[string][]int64, names ...string) {
	var n message
	for _, in := range names[:len(names)-1] {
		n = n.text(1, in)
	}
	n = n.text(2, names[len(names)-1]).text(4, operator)
	for name, all := range integers {
		a := message{}.text(1, name)
		for _, v := range all {
			a = a.integer(8, v)
		}
		n = n.bytes(5, a)
	}
	m.graph = m.graph.bytes(1, n)
}

func (m *made) constant(name string, values []float32, dims ...int64) {
	t := message{}
	for _, d := range dims {
		t = t.integer(1, d)
	}
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	m.graph = m.graph.bytes(5, t.integer(2, kindFloat).text(8, name).bytes(9, raw))
}

func (m *made) value(number int, name string, dims ...int64) {
	var shape message
	for _, d := range dims {
		if d == free {
			shape = shape.bytes(1, message{}.text(2, "N"))
		} else {
			shape = shape.bytes(1, message{}.integer(1, d))
		}
	}
	tensor := message{}.integer(1, kindFloat).bytes(2, shape)
	m.graph = m.graph.bytes(number, message{}.text(1, name).bytes(2, message{}.bytes(1, tensor)))
}

func (m *made) file() []byte {
	return message{}.bytes(7, m.graph).bytes(14, message{}.text(1, "plimsoll.input").text(2, "unit"))
}

// network is that of a model from an image of side x side x depth to classes.
func (m *made) network(t *testing.T, side, depth, classes int64) *Network {
	t.Helper()
	m.value(11, "images", free, side, side, depth)
	m.value(12, "out", free, classes)
	p, err := Parse(m.file())
	if err != nil {
		t.Fatal(err)
	}
	if layout, batch, err := p.Classifies(side, depth, classes); err != nil || layout != PixelByPixel || batch != 0 || p.Metadata["plimsoll.input"] != "unit" {
		t.Fatalf("layout %s, batch %d, metadata %v, %v", layout, batch, p.Metadata, err)
	}
	n, err := p.Network()
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func ramp(n int) []float32 {
	all := make([]float32, n)
	for i := range all {
		all[i] = float32(i%7) - 3
	}
	return all
}

// direct is a convolution by its definition.
func direct(in array, weights, bias []float32, w window) array {
	count := len(bias)
	out, err := w.planes(count, in)
	if err != nil {
		panic(err)
	}
	for m := range count {
		for y := range out.dims[1] {
			for x := range out.dims[2] {
				sum := bias[m]
				for c := range in.dims[0] {
					for ky := range w.height {
						for kx := range w.width {
							iy, ix := y*w.down+ky-w.top, x*w.right+kx-w.left
							if iy >= 0 && iy < in.dims[1] && ix >= 0 && ix < in.dims[2] {
								sum += in.data[(c*in.dims[1]+iy)*in.dims[2]+ix] * weights[((m*in.dims[0]+c)*w.height+ky)*w.width+kx]
							}
						}
					}
				}
				out.data[(m*out.dims[1]+y)*out.dims[2]+x] = sum
			}
		}
	}
	return out
}

func TestConvolution(t *testing.T) {
	const side, depth = 6, 3
	for _, c := range []struct {
		count, height, width int
		strides, pads        []int64
	}{
		{4, 3, 3, nil, nil},
		{5, 3, 3, []int64{1, 1}, []int64{1, 1, 1, 1}},
		{8, 3, 3, []int64{2, 2}, []int64{0, 0, 1, 1}},
		{1, 1, 1, []int64{2, 2}, nil},
		{3, 2, 3, []int64{2, 1}, []int64{1, 0, 0, 2}},
	} {
		w := window{height: c.height, width: c.width, down: 1, right: 1}
		attributes := map[string][]int64{}
		if c.strides != nil {
			attributes["strides"], w.down, w.right = c.strides, int(c.strides[0]), int(c.strides[1])
		}
		if c.pads != nil {
			attributes["pads"], w.top, w.left, w.bottom, w.end = c.pads, int(c.pads[0]), int(c.pads[1]), int(c.pads[2]), int(c.pads[3])
		}
		weights, bias := ramp(c.count*depth*c.height*c.width), ramp(c.count)
		in := newArray(depth, side, side)
		image := ramp(side * side * depth)
		for i := range image { // pixel by pixel to planes
			in.data[i%depth*side*side+i/depth] = image[i]
		}
		want := direct(in, weights, bias, w)
		m := &made{}
		m.constant("w", weights, int64(c.count), depth, int64(c.height), int64(c.width))
		m.constant("b", bias, int64(c.count))
		m.node("Transpose", map[string][]int64{"perm": {0, 3, 1, 2}}, "images", "planes")
		m.node("Conv", attributes, "planes", "w", "b", "conv")
		m.node("Flatten", map[string][]int64{"axis": {1}}, "conv", "out")
		n := m.network(t, side, depth, int64(len(want.data)))
		best := n.Classify(image)
		if !slices.Equal(n.output, want.data) {
			t.Errorf("%+v gives\n%v, want\n%v", c, n.output, want.data)
		}
		if want.data[best] != slices.Max(want.data) {
			t.Errorf("%+v: class %d of %v", c, best, want.data)
		}
	}
}

// A chain of all other operators, by hand.
func TestOperators(t *testing.T) {
	m := &made{}
	m.constant("scale", []float32{2}, 1)
	m.constant("shift", []float32{1}, 1)
	m.constant("mean", []float32{3}, 1)
	m.constant("variance", []float32{1 - 1e-5}, 1)
	m.constant("matrix", []float32{1, 0, 0, 1, 1, 1, 0, -1}, 2, 4)
	m.constant("bias", []float32{0, 10}, 2)
	m.constant("more", []float32{1, 2}, 2)
	m.node("Transpose", map[string][]int64{"perm": {0, 3, 1, 2}}, "images", "planes")
	m.node("BatchNormalization", nil, "planes", "scale", "shift", "mean", "variance", "normal") // 2(x - 3) + 1
	m.node("Relu", nil, "normal", "positive")
	m.node("MaxPool", map[string][]int64{"kernel_shape": {2, 2}, "strides": {2, 2}}, "positive", "pooled")
	m.node("Dropout", nil, "pooled", "same")
	m.node("Flatten", nil, "same", "flat")
	m.node("Gemm", map[string][]int64{"transB": {1}}, "flat", "matrix", "bias", "product")
	m.node("Add", nil, "product", "more", "added")
	m.node("Softmax", map[string][]int64{"axis": {1}}, "added", "out")
	n := m.network(t, 4, 1, 2)
	// The most of the four quarters are 5, 7, 13 and 15, which become 5, 9, 21 and 25.
	image := make([]float32, 16)
	for i := range image {
		image[i] = float32(i)
	}
	if class := n.Classify(image); class != 0 {
		t.Errorf("class %d of %v", class, n.output)
	}
	a, b := 5.+25+1, 5.+9-25+10+2
	if want := float32(1 / (1 + math.Exp(b-a))); math.Abs(float64(n.output[0]-want)) > 1e-6 || math.Abs(float64(n.output[0]+n.output[1]-1)) > 1e-6 {
		t.Errorf("the output is %v, want %g first", n.output, want)
	}

	m = &made{}
	m.node("Transpose", map[string][]int64{"perm": {0, 3, 1, 2}}, "images", "planes")
	m.node("GlobalAveragePool", nil, "planes", "all")
	m.node("AveragePool", map[string][]int64{"kernel_shape": {4, 4}}, "planes", "also")
	m.node("Add", nil, "all", "also", "twice")
	m.node("Flatten", nil, "twice", "out")
	n = m.network(t, 4, 1, 1)
	if n.Classify(image); n.output[0] != 15 {
		t.Errorf("twice the mean is %v", n.output)
	}
}

func TestModelsThatAreRefused(t *testing.T) {
	whole := func(change func(*made)) []byte {
		m := &made{}
		change(m)
		return m.file()
	}
	for _, c := range []struct {
		file []byte
		want string
	}{
		{[]byte("no model"), "it is damaged, or no ONNX file"},
		{nil, "it is damaged, or no ONNX file"},
		{whole(func(m *made) { m.value(11, "images", free, 28, 28, 1); m.value(12, "out", free, 10) }), "its input is float [N,28,28,1] instead of float [N,32,32,3] or [N,3,32,32]"},
		{whole(func(m *made) { m.value(11, "images", 1, 32, 32, 3); m.value(12, "out", free, 100) }), "its output is float [N,100] instead of float [N,10]"},
		{whole(func(m *made) { m.value(11, "images", free, 32, 32, 3) }), "1 inputs and 0 outputs"},
		{whole(func(m *made) {
			m.value(11, "images", free, 32, 32, 3)
			m.value(12, "out", free, 10)
			m.node("LSTM", nil, "images", "out")
		}), "operator LSTM: not one that the Go engine knows: use engine onnxruntime"},
		{whole(func(m *made) {
			m.value(11, "images", free, 32, 32, 3)
			m.value(12, "out", free, 10)
			m.node("Relu", nil, "nothing", "out")
		}), "no node computes nothing before it"},
		{whole(func(m *made) {
			m.value(11, "images", free, 32, 32, 3)
			m.value(12, "out", free, 10)
			m.node("Flatten", nil, "images", "out")
		}), "no node computes out with 10 numbers"},
		{whole(func(m *made) { m.constant("w", []float32{1}, 2, 2) }), "constant w has 1 numbers instead of 4"},
	} {
		m, err := Parse(c.file)
		if err == nil {
			_, _, err = m.Classifies(32, 3, 10)
		}
		if err == nil {
			_, err = m.Network()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	file, err := os.ReadFile("../small/small.onnx")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file[:4096])
	f.Add(file[max(0, len(file)-2048):])
	m := &made{}
	m.constant("w", ramp(30*3), 10, 3, 3, 1)
	m.node("Transpose", map[string][]int64{"perm": {0, 3, 1, 2}}, "images", "planes")
	m.node("Conv", map[string][]int64{"strides": {2, 2}, "pads": {1, 1, 1, 1}}, "planes", "w", "conv")
	m.node("GlobalAveragePool", nil, "conv", "mean")
	m.node("Flatten", nil, "mean", "out")
	m.value(11, "images", free, 32, 32, 3)
	m.value(12, "out", free, 10)
	f.Add(m.file())
	f.Fuzz(func(_ *testing.T, data []byte) {
		m, err := Parse(data)
		if err != nil {
			return
		}
		if _, _, err := m.Classifies(32, 3, 10); err != nil {
			return
		}
		if n, err := m.Network(); err == nil {
			n.Classify(make([]float32, 32*32*3))
		}
	})
}
