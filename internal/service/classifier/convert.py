"""Converts a Keras model in HDF5 for CIFAR-10 to ONNX: convert.py INPUT FILE.h5 FILE.onnx

INPUT is what the model computes with: pixels, unit (pixels / 255) or centred (the same, minus the
mean image of the training images). The layers that are known are those of the table below.
"""
import json
import math
import sys

import h5py
import numpy
import onnx
from onnx import helper, numpy_helper


class Graph:
    """Nodes and constants, on planes: Keras has the colours last, ONNX first."""

    def __init__(self, file):
        self.file, self.nodes, self.constants = file, [], []

    def node(self, operator, inputs, name, **attributes):
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def constant(self, name, values):
        values = numpy.ascontiguousarray(values, dtype=numpy.float32)
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def weights(self, layer):
        group = self.file["model_weights"][layer]
        names = [n.decode() if isinstance(n, bytes) else n for n in group.attrs["weight_names"]]
        return [group[n][()] for n in names]

    def activate(self, config, at, name):
        operator = {"linear": None, "relu": "Relu", "softmax": "Softmax"}[config.get("activation", "linear")]
        if operator is None:
            return at
        return self.node(operator, [at], name + "/activation", **({"axis": 1} if operator == "Softmax" else {}))


def padding(config, shape, size, strides):
    """The shape of the output, and the padding: "same" puts an odd row and column at the end."""
    pads, out = [0, 0, 0, 0], []
    for i in range(2):
        if config["padding"] == "same":
            count = math.ceil(shape[i] / strides[i])
            total = max((count - 1) * strides[i] + size[i] - shape[i], 0)
            pads[i], pads[i + 2] = total // 2, total - total // 2
        else:
            count = (shape[i] - size[i]) // strides[i] + 1
        out.append(count)
    return out, pads


def convolution(g, name, config, inputs, shape):
    kernel, *bias = g.weights(name)
    at = [inputs[0], g.constant(name + "/kernel", kernel.transpose(3, 2, 0, 1))]
    at += [g.constant(name + "/bias", b) for b in bias]
    size, pads = padding(config, shape, config["kernel_size"], config["strides"])
    out = g.node("Conv", at, name, kernel_shape=config["kernel_size"], strides=config["strides"], pads=pads)
    return g.activate(config, out, name), size + [config["filters"]]


def normalization(g, name, config, inputs, shape):
    weights = iter(g.weights(name))
    one = numpy.ones(shape[-1], numpy.float32)
    gamma = next(weights) if config["scale"] else one
    beta = next(weights) if config["center"] else 0 * one
    values = [gamma, beta, *weights]
    at = [g.constant(f"{name}/{i}", v) for i, v in enumerate(values)]
    return g.node("BatchNormalization", inputs + at, name, epsilon=config["epsilon"]), shape


def pool(operator):
    def make(g, name, config, inputs, shape):
        size, pads = padding(config, shape, config["pool_size"], config["strides"])
        attributes = {"kernel_shape": config["pool_size"], "strides": config["strides"], "pads": pads}
        return g.node(operator, inputs, name, **attributes), size + [shape[2]]

    return make


def average_all(g, name, config, inputs, shape):
    at = g.node("GlobalAveragePool", inputs, name + "/planes")
    return g.node("Flatten", [at], name, axis=1), [shape[2]]


def flatten(g, name, config, inputs, shape):
    at = inputs[0]
    if len(shape) == 3 and shape[:2] != [1, 1]:
        at = g.node("Transpose", [at], name + "/colours", perm=[0, 2, 3, 1])
    return g.node("Flatten", [at], name, axis=1), [math.prod(shape)]


def dense(g, name, config, inputs, shape):
    kernel, *bias = g.weights(name)
    at = [inputs[0], g.constant(name + "/kernel", kernel)]
    at += [g.constant(name + "/bias", b) for b in bias]
    return g.activate(config, g.node("Gemm", at, name), name), [config["units"]]


def activation(g, name, config, inputs, shape):
    return g.activate(config, inputs[0], name), shape


LAYERS = {
    "Conv2D": convolution,
    "BatchNormalization": normalization,
    "MaxPooling2D": pool("MaxPool"),
    "AveragePooling2D": pool("AveragePool"),
    "GlobalAveragePooling2D": average_all,
    "Flatten": flatten,
    "Dense": dense,
    "Activation": activation,
    "Dropout": lambda g, name, config, inputs, shape: (inputs[0], shape),
    "Add": lambda g, name, config, inputs, shape: (g.node("Add", inputs, name), shape),
}


def sources(layer, previous):
    """The names of the layers before a layer."""
    inbound = layer.get("inbound_nodes")
    if not inbound:
        return [previous]
    if isinstance(inbound[0], dict):  # since Keras 3
        found = []

        def look(value):
            if isinstance(value, dict) and "keras_history" in value.get("config", {}):
                found.append(value["config"]["keras_history"][0])
            elif isinstance(value, (list, tuple)):
                for one in value:
                    look(one)

        look(inbound[0]["args"])
        return found
    return [one[0] for one in inbound[0]]


def convert(file, kind):
    config = file.attrs["model_config"]
    config = json.loads(config.decode() if isinstance(config, bytes) else config)["config"]
    g = Graph(file)
    start = g.node("Transpose", ["images"], "planes", perm=[0, 3, 1, 2])
    known = {None: (start, [32, 32, 3])}
    previous = None
    for layer in config["layers"]:
        c = layer["config"]
        name = c.get("name") or layer["name"]
        if layer["class_name"] == "InputLayer":
            known[name] = known[None]
        elif layer["class_name"] not in LAYERS:
            sys.exit(f"layer {name}: {layer['class_name']} is none of {', '.join(LAYERS)}")
        else:
            before = [known[n] for n in sources(layer, previous)]
            known[name] = LAYERS[layer["class_name"]](g, name, c, [b[0] for b in before], before[0][1])
        previous = name
    result, shape = known[previous]
    floats = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        g.nodes, "classifier",
        [helper.make_tensor_value_info("images", floats, ["N", 32, 32, 3])],
        [helper.make_tensor_value_info(result, floats, ["N"] + shape)],
        g.constants,
    )
    model = helper.make_model(graph, producer_name="plimsoll", opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    helper.set_model_props(model, {"plimsoll.input": kind})
    onnx.checker.check_model(model)
    return model


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("pixels", "unit", "centred"):
        sys.exit("usage: convert.py pixels|unit|centred FILE.h5 FILE.onnx")
    with h5py.File(sys.argv[2]) as file:
        onnx.save(convert(file, sys.argv[1]), sys.argv[3])


main()
