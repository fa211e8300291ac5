"""Classifies images with ONNX Runtime for plimsoll, over standard input and output.

Input: a line of JSON with the size of the model, the layout of its input, and the most images that
are computed together; the model; then frames: the number of images in four bytes, and their numbers
as 32-bit floats, row by row, pixel by pixel. Output: a line of JSON, then for each frame the CPU
time of this process in seconds as a 64-bit float, and a byte for the class of each image. All
numbers are little-endian.
"""
import json
import signal
import struct
import sys
import time

import numpy
import onnxruntime

NUMBERS = 32 * 32 * 3


def exactly(stream, size):
    data = stream.read(size)
    if len(data) == 0:
        sys.exit(0)
    if len(data) < size:
        sys.exit("the input ended within a frame")
    return data


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process
    source, sink = open(0, "rb", buffering=1 << 18, closefd=False), sys.stdout.buffer
    order = json.loads(source.readline())
    onnxruntime.set_default_logger_severity(3)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    model = exactly(source, order["size"])
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name
    session.run(None, {name: numpy.zeros([1] + order["shape"], numpy.float32)})
    about = {"version": onnxruntime.__version__, "threads": options.intra_op_num_threads}
    sink.write(json.dumps(about).encode() + b"\n")
    sink.flush()
    planes, most = order["shape"][0] == 3, order["batch"]
    while True:
        (count,) = struct.unpack("<I", exactly(source, 4))
        frame = numpy.frombuffer(exactly(source, 4 * NUMBERS * count), numpy.float32)
        frame = frame.reshape(count, 32, 32, 3)
        if planes:
            frame = numpy.ascontiguousarray(frame.transpose(0, 3, 1, 2))
        classes = []
        for begin in range(0, count, most):
            batch = frame[begin:begin + most]
            classes += session.run(None, {name: batch})[0].argmax(axis=1).tolist()
        sink.write(struct.pack("<d", time.process_time()) + bytes(classes))
        sink.flush()


main()
