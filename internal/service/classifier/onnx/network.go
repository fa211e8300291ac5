package onnx

import (
	"fmt"
	"math"
	"slices"
)

// array is a tensor of one image, without the dimension of images.
type array struct {
	dims []int
	data []float32
}

func newArray(dims ...int) array {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return array{dims, make([]float32, n)}
}

// step computes one node. Its output was allocated before.
type step func()

// Network computes a model for one image at a time. It is used by one goroutine.
type Network struct {
	input  []float32
	output []float32
	steps  []step
}

// builder makes a network, node by node.
type builder struct {
	*Model
	values map[string]array
	steps  []step
}

// Network makes a network of a model that Classifies has accepted. Its error names an operator,
// or a form of one, that is not known.
func (m *Model) Network() (*Network, error) {
	b := &builder{Model: m, values: map[string]array{}}
	in := m.inputs[0]
	var dims []int
	for _, d := range in.dims[1:] {
		dims = append(dims, int(d))
	}
	first := newArray(dims...)
	b.values[in.name] = first
	for i := range m.nodes {
		n := &m.nodes[i]
		if len(n.outputs) == 0 {
			return nil, errWire
		}
		out, err := b.add(n)
		if err != nil {
			return nil, fmt.Errorf("operator %s: %w", n.operator, err)
		}
		b.values[n.outputs[0]] = out
	}
	last, known := b.values[m.outputs[0].name]
	if !known || int64(len(last.data)) != m.outputs[0].dims[1] {
		return nil, fmt.Errorf("no node computes %s with %d numbers", m.outputs[0].name, m.outputs[0].dims[1])
	}
	return &Network{input: first.data, output: last.data, steps: b.steps}, nil
}

// Classify is the class with the highest result, the first of several.
func (n *Network) Classify(numbers []float32) int {
	copy(n.input, numbers)
	for _, s := range n.steps {
		s()
	}
	best := 0
	for i, x := range n.output {
		if x > n.output[best] {
			best = i
		}
	}
	return best
}

// operators make the output of a node and its step, from the first input.
var operators = map[string]func(*builder, *node, array) (array, error){
	"Identity": same, "Dropout": same, "Flatten": flatten, "Reshape": flatten,
	"Transpose": transpose, "Relu": relu, "Softmax": softmax,
	"Conv": convolution, "BatchNormalization": normalization,
	"MaxPool": pool, "AveragePool": pool, "GlobalAveragePool": averageAll,
	"Gemm": product, "MatMul": product, "Add": sum,
}

func (b *builder) add(n *node) (array, error) {
	make, known := operators[n.operator]
	if !known {
		return array{}, fmt.Errorf("not one that the Go engine knows: use engine onnxruntime")
	}
	if len(n.inputs) == 0 {
		return array{}, errWire
	}
	in, known := b.values[n.inputs[0]]
	if !known {
		return array{}, fmt.Errorf("no node computes %s before it", n.inputs[0])
	}
	return make(b, n, in)
}

// constant is a constant input of a node, with a number of elements; 0 accepts any.
func (b *builder) constant(n *node, place, elements int) (tensor, error) {
	if place >= len(n.inputs) {
		return tensor{}, fmt.Errorf("it lacks input %d", place+1)
	}
	t, known := b.tensors[n.inputs[place]]
	if !known || len(t.floats) == 0 || elements > 0 && len(t.floats) != elements {
		return t, fmt.Errorf("input %s is no constant of %d numbers", n.inputs[place], elements)
	}
	return t, nil
}

func (b *builder) then(s step) { b.steps = append(b.steps, s) }

func same(_ *builder, _ *node, in array) (array, error) { return in, nil }

// flatten makes one dimension of all: the rows of a batch.
func flatten(b *builder, n *node, in array) (array, error) {
	if n.operator == "Flatten" {
		if axis := n.integers["axis"]; len(axis) == 1 && axis[0] != 1 {
			return array{}, fmt.Errorf("axis %d", axis[0])
		}
	} else if len(n.inputs) != 2 || len(b.tensors[n.inputs[1]].integers) != 2 {
		return array{}, fmt.Errorf("a shape other than that of rows")
	}
	return array{[]int{len(in.data)}, in.data}, nil
}

func transpose(b *builder, n *node, in array) (array, error) {
	perm := n.integers["perm"]
	order := make([]int, len(in.dims))
	seen := make([]bool, len(in.dims))
	if len(perm) != len(in.dims)+1 || perm[0] != 0 {
		return array{}, fmt.Errorf("an order of %v", perm)
	}
	for i, p := range perm[1:] {
		if p < 1 || int(p) > len(in.dims) || seen[p-1] {
			return array{}, fmt.Errorf("an order of %v", perm)
		}
		order[i], seen[p-1] = int(p)-1, true
	}
	if len(order) != 3 {
		return array{}, fmt.Errorf("%d dimensions", len(order)+1)
	}
	strides := []int{in.dims[1] * in.dims[2], in.dims[2], 1}
	out := newArray(in.dims[order[0]], in.dims[order[1]], in.dims[order[2]])
	b.then(func() {
		at := 0
		for i := range out.dims[0] {
			for j := range out.dims[1] {
				from := i*strides[order[0]] + j*strides[order[1]]
				for range out.dims[2] {
					out.data[at] = in.data[from]
					at++
					from += strides[order[2]]
				}
			}
		}
	})
	return out, nil
}

func relu(b *builder, _ *node, in array) (array, error) {
	out := newArray(in.dims...)
	b.then(func() {
		for i, x := range in.data {
			out.data[i] = max(x, 0)
		}
	})
	return out, nil
}

func softmax(b *builder, _ *node, in array) (array, error) {
	if len(in.dims) != 1 {
		return array{}, fmt.Errorf("%d dimensions", len(in.dims)+1)
	}
	out := newArray(in.dims...)
	b.then(func() {
		most, all := slices.Max(in.data), 0.
		for i, x := range in.data {
			e := math.Exp(float64(x - most))
			out.data[i] = float32(e)
			all += e
		}
		for i := range out.data {
			out.data[i] /= float32(all)
		}
	})
	return out, nil
}

// sum adds a constant, or the output of another node of the same shape.
func sum(b *builder, n *node, in array) (array, error) {
	if len(n.inputs) != 2 {
		return array{}, fmt.Errorf("%d inputs", len(n.inputs))
	}
	var other []float32
	if computed, known := b.values[n.inputs[1]]; known {
		other = computed.data
	} else {
		t, err := b.constant(n, 1, len(in.data))
		if err != nil {
			return array{}, err
		}
		other = t.floats
	}
	if len(other) != len(in.data) {
		return array{}, fmt.Errorf("%d and %d numbers", len(in.data), len(other))
	}
	out := newArray(in.dims...)
	b.then(func() {
		for i, x := range in.data {
			out.data[i] = x + other[i]
		}
	})
	return out, nil
}

// product is a layer of weights in rows, one for each input; or for each output, with transB.
func product(b *builder, n *node, in array) (array, error) {
	w, err := b.constant(n, 1, 0)
	if err != nil {
		return array{}, err
	}
	alpha, given := n.floats["alpha"]
	beta, also := n.floats["beta"]
	if len(w.dims) != 2 || len(in.dims) != 1 || given && alpha != 1 || also && beta != 1 || first(n.integers["transA"]) != 0 {
		return array{}, fmt.Errorf("a form other than rows times weights")
	}
	weights := transposed(w, first(n.integers["transB"]) == 1)
	if int(weights.dims[0]) != len(in.data) {
		return array{}, fmt.Errorf("%d weights for %d numbers", weights.dims[0], len(in.data))
	}
	out := newArray(int(weights.dims[1]))
	bias := make([]float32, len(out.data))
	if n.operator == "Gemm" && len(n.inputs) > 2 {
		t, err := b.constant(n, 2, len(bias))
		if err != nil {
			return array{}, err
		}
		bias = t.floats
	}
	b.then(func() {
		copy(out.data, bias)
		for i, x := range in.data {
			if x != 0 {
				axpy(out.data, weights.floats[i*len(out.data):], x)
			}
		}
	})
	return out, nil
}

func first(all []int64) int64 {
	if len(all) == 0 {
		return 0
	}
	return all[0]
}

// transposed is a matrix with its rows as columns, if asked.
func transposed(t tensor, turn bool) tensor {
	if !turn {
		return t
	}
	rows, columns := int(t.dims[0]), int(t.dims[1])
	out := tensor{dims: []int64{t.dims[1], t.dims[0]}, floats: make([]float32, len(t.floats))}
	for i := range rows {
		for j := range columns {
			out.floats[j*rows+i] = t.floats[i*columns+j]
		}
	}
	return out
}

// axpy adds a multiple of from to into.
func axpy(into, from []float32, by float32) {
	from = from[:len(into)]
	for i := range into {
		into[i] += by * from[i]
	}
}
