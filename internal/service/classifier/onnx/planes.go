package onnx

import (
	"fmt"
	"math"
)

// window is what an operator sees of a plane at once.
type window struct {
	height, width          int
	down, right            int // strides
	top, left, bottom, end int // padding
}

// windowOf reads the attributes of an operator on planes.
func windowOf(n *node, height, width int) (window, error) {
	w := window{height: height, width: width, down: 1, right: 1}
	if s := n.integers["strides"]; len(s) == 2 {
		w.down, w.right = int(s[0]), int(s[1])
	}
	if p := n.integers["pads"]; len(p) == 4 {
		w.top, w.left, w.bottom, w.end = int(p[0]), int(p[1]), int(p[2]), int(p[3])
	}
	for _, d := range n.integers["dilations"] {
		if d != 1 {
			return w, fmt.Errorf("dilation %d", d)
		}
	}
	if g := n.integers["group"]; len(g) == 1 && g[0] != 1 {
		return w, fmt.Errorf("%d groups", g[0])
	}
	if pad := n.texts["auto_pad"]; pad != "" && pad != "NOTSET" && pad != "VALID" {
		return w, fmt.Errorf("auto_pad %s", pad)
	}
	if first(n.integers["ceil_mode"]) != 0 {
		return w, fmt.Errorf("ceil_mode")
	}
	for _, x := range []int{w.height, w.width, w.down, w.right} {
		if x < 1 || x > mostSide {
			return w, fmt.Errorf("a window of %d x %d with strides %d and %d", w.height, w.width, w.down, w.right)
		}
	}
	for _, x := range []int{w.top, w.left, w.bottom, w.end} {
		if x < 0 || x > mostSide {
			return w, fmt.Errorf("padding of %d", x)
		}
	}
	return w, nil
}

// mostSide is more than any window of these images has.
const mostSide = 1024

// planes is the shape of an operator's output.
func (w window) planes(n int, in array) (array, error) {
	if len(in.dims) != 3 {
		return array{}, fmt.Errorf("%d dimensions", len(in.dims)+1)
	}
	high, wide := in.dims[1]+w.top+w.bottom-w.height, in.dims[2]+w.left+w.end-w.width
	if high < 0 || wide < 0 {
		return array{}, fmt.Errorf("a window of %d x %d on planes of %d x %d", w.height, w.width, in.dims[1], in.dims[2])
	}
	dims := []int{n, high/w.down + 1, wide/w.right + 1}
	if int64(n)*int64(dims[1])*int64(dims[2]) > mostElements/64 {
		return array{}, fmt.Errorf("planes of %v", dims)
	}
	return newArray(dims...), nil
}

// padded is a copy of planes with a border of a value, and the step that makes it.
func (w window) padded(b *builder, in array, border float32) array {
	if w.top+w.left+w.bottom+w.end == 0 {
		return in
	}
	out := newArray(in.dims[0], in.dims[1]+w.top+w.bottom, in.dims[2]+w.left+w.end)
	for i := range out.data {
		out.data[i] = border
	}
	b.then(func() {
		for c := range in.dims[0] {
			for y := range in.dims[1] {
				copy(out.data[(c*out.dims[1]+y+w.top)*out.dims[2]+w.left:], in.data[(c*in.dims[1]+y)*in.dims[2]:][:in.dims[2]])
			}
		}
	})
	return out
}

// block is how many planes of output are computed together: each row of input is then read once
// for all of them.
const block = 4

func convolution(b *builder, n *node, in array) (array, error) {
	weights, err := b.constant(n, 1, 0)
	if err != nil {
		return array{}, err
	}
	if len(weights.dims) != 4 || len(in.dims) != 3 || int(weights.dims[1]) != in.dims[0] {
		return array{}, fmt.Errorf("weights of %v for planes of %v", weights.dims, in.dims)
	}
	w, err := windowOf(n, int(weights.dims[2]), int(weights.dims[3]))
	if err != nil {
		return array{}, err
	}
	count := int(weights.dims[0])
	out, err := w.planes(count, in)
	if err != nil {
		return array{}, err
	}
	bias := make([]float32, count)
	if len(n.inputs) > 2 {
		t, err := b.constant(n, 2, count)
		if err != nil {
			return array{}, err
		}
		bias = t.floats
	}
	in = w.padded(b, in, 0)
	plane, each := out.dims[1]*out.dims[2], len(weights.floats)/count
	b.then(func() {
		for m := 0; m < count; m += block {
			var outs, ws [block][]float32
			for k := range block {
				o := min(m+k, count-1) // a plane beyond the last is computed again
				outs[k], ws[k] = out.data[o*plane:][:plane], weights.floats[o*each:][:each]
				for i := range outs[k] {
					outs[k][i] = bias[o]
				}
			}
			if m+block > count {
				for o := m; o < count; o++ {
					w.convolve(in, out.dims[2], outs[o-m], ws[o-m])
				}
				continue
			}
			w.convolveBlock(in, out.dims[2], outs, ws)
		}
	})
	return out, nil
}

// convolve adds the contribution of all planes of input to one of output with rows of wide.
func (w window) convolve(in array, wide int, out, weights []float32) {
	at := 0
	for c := range in.dims[0] {
		for ky := range w.height {
			for kx := range w.width {
				x := weights[at]
				at++
				for y := range len(out) / wide {
					row := in.data[(c*in.dims[1]+y*w.down+ky)*in.dims[2]+kx:]
					to := out[y*wide:][:wide]
					for i := range to {
						to[i] += x * row[i*w.right]
					}
				}
			}
		}
	}
}

func (w window) convolveBlock(in array, wide int, out, weights [block][]float32) {
	at := 0
	for c := range in.dims[0] {
		for ky := range w.height {
			for kx := range w.width {
				x0, x1, x2, x3 := weights[0][at], weights[1][at], weights[2][at], weights[3][at]
				at++
				for y := range len(out[0]) / wide {
					row := in.data[(c*in.dims[1]+y*w.down+ky)*in.dims[2]+kx:]
					from := y * wide
					to0, to1, to2, to3 := out[0][from:][:wide], out[1][from:][:wide], out[2][from:][:wide], out[3][from:][:wide]
					if w.right == 1 {
						row = row[:wide]
						for i, x := range row {
							to0[i] += x0 * x
							to1[i] += x1 * x
							to2[i] += x2 * x
							to3[i] += x3 * x
						}
						continue
					}
					for i := range to0 {
						x := row[i*w.right]
						to0[i] += x0 * x
						to1[i] += x1 * x
						to2[i] += x2 * x
						to3[i] += x3 * x
					}
				}
			}
		}
	}
}

func normalization(b *builder, n *node, in array) (array, error) {
	if len(in.dims) == 0 {
		return array{}, errWire
	}
	var all [4][]float32 // scale, bias, mean, variance
	for i := range all {
		t, err := b.constant(n, i+1, in.dims[0])
		if err != nil {
			return array{}, err
		}
		all[i] = t.floats
	}
	epsilon, given := n.floats["epsilon"]
	if !given {
		epsilon = 1e-5
	}
	factor, shift := make([]float32, in.dims[0]), make([]float32, in.dims[0])
	for c := range factor {
		factor[c] = all[0][c] / root(all[3][c]+epsilon)
		shift[c] = all[1][c] - all[2][c]*factor[c]
	}
	out := newArray(in.dims...)
	plane := len(in.data) / in.dims[0]
	b.then(func() {
		for c := range factor {
			f, s := factor[c], shift[c]
			to := out.data[c*plane:][:plane]
			for i, x := range in.data[c*plane:][:plane] {
				to[i] = x*f + s
			}
		}
	})
	return out, nil
}

// pool reduces what a window sees to its maximum, or to its mean.
func pool(b *builder, n *node, in array) (array, error) {
	shape := n.integers["kernel_shape"]
	if len(shape) != 2 {
		return array{}, fmt.Errorf("a window of %v", shape)
	}
	w, err := windowOf(n, int(shape[0]), int(shape[1]))
	if err != nil {
		return array{}, err
	}
	out, err := w.planes(in.dims[0], in)
	if err != nil {
		return array{}, err
	}
	if n.operator == "AveragePool" {
		if w.top+w.left+w.bottom+w.end > 0 {
			return array{}, fmt.Errorf("padding")
		}
		b.then(func() { w.average(in, out) })
		return out, nil
	}
	in = w.padded(b, in, lowest)
	b.then(func() { w.most(in, out) })
	return out, nil
}

func (w window) average(in, out array) {
	at := 0
	for c := range out.dims[0] {
		for y := range out.dims[1] {
			for x := range out.dims[2] {
				all := float32(0)
				for ky := range w.height {
					for _, v := range in.data[(c*in.dims[1]+y*w.down+ky)*in.dims[2]+x*w.right:][:w.width] {
						all += v
					}
				}
				out.data[at] = all / float32(w.height*w.width)
				at++
			}
		}
	}
}

func (w window) most(in, out array) {
	at := 0
	for c := range out.dims[0] {
		for y := range out.dims[1] {
			for x := range out.dims[2] {
				most := float32(lowest)
				for ky := range w.height {
					row := in.data[(c*in.dims[1]+y*w.down+ky)*in.dims[2]+x*w.right:][:w.width]
					for _, v := range row {
						most = max(most, v)
					}
				}
				out.data[at] = most
				at++
			}
		}
	}
}

func averageAll(b *builder, _ *node, in array) (array, error) {
	if len(in.dims) != 3 || in.dims[0] == 0 {
		return array{}, fmt.Errorf("%d dimensions", len(in.dims)+1)
	}
	out := newArray(in.dims[0], 1, 1)
	plane := len(in.data) / in.dims[0]
	b.then(func() {
		for c := range out.data {
			all := float32(0)
			for _, x := range in.data[c*plane:][:plane] {
				all += x
			}
			out.data[c] = all / float32(plane)
		}
	})
	return out, nil
}

// lowest is below all numbers of a network.
const lowest = -math.MaxFloat32

func root(x float32) float32 { return float32(math.Sqrt(float64(x))) }
