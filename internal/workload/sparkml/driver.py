"""Driver of the workload sparkml: makes data from a seed, trains on it as often as it is told to, and tells how long that took.

    python driver.py JOB        reads requests, one per line: train, stream, end; answers with lines of JSON after a mark
    python driver.py JOB FILE   reads them from a file
    python driver.py send JOB   is the sender of the stream of sensors
"""
import hashlib
import json
import os
import random
import select
import socket
import subprocess
import sys
import threading
import time

MARK = b"\x1e"
SILENCE = 60  # seconds without a decision, after which what was sent is lost
saying = threading.Lock()


def say(**answer):
    with saying:
        text = MARK + json.dumps(answer).encode() + b"\n"
        while text:
            text = text[os.write(1, text):]


def seed(job, *name):
    """A seed for each column: Spark adds the number of the partition to it, so that seeds in sequence would repeat columns in other partitions."""
    return int.from_bytes(hashlib.sha256(repr((job["seed"], name)).encode()).digest()[:8], "big") >> 1


def features(job, part, column):
    from pyspark.sql import functions as f

    return f.array(*[column(f, j, seed(job, part, j)) for j in range(job["features"])])


def frame(spark, job, part, rows):
    """Rows with a vector of features and, but for k-means, a label."""
    from pyspark.sql import Column
    from pyspark.sql import functions as f

    ids = spark.range(0, rows, 1, job["partitions"])
    if job["algorithm"] == "kmeans":
        k = job["clusters"]
        drawn = ids.select(f.rand(seed(job, part, "cluster")).alias("u"))
        cluster = sum((f.col("u") >= i * (i + 1) / (k * (k + 1))).cast("int") for i in range(1, k))  # the sizes are as 1 to k
        chosen = drawn.select((cluster if k > 1 else f.lit(0)).alias("cluster"))
        centres = random.Random(seed(job, "centres"))
        at = [[centres.gauss(0, 1) for _ in range(k)] for _ in range(job["features"])]
        x = features(job, part, lambda f, j, s: f.element_at(f.array(*map(f.lit, at[j])), f.col("cluster") + 1) + f.randn(s))
        made = chosen.select("cluster", x.alias("x"))
    elif job["algorithm"] == "sensors":
        x = ids.select(features(job, part, lambda f, j, s: f.rand(s)).alias("x"))
        made = x.select("x", f.expr("aggregate(transform(x, (v, i) -> v * (i + 1)), 0D, (a, b) -> a + b) > %rD" % job["cutoff"]).cast("double").alias("label"))
    else:
        labels = ids.select((f.rand(seed(job, part, "label")) < 0.5).cast("double").alias("label"))
        made = labels.select("label", features(job, part, lambda f, j, s: (f.col("label") * 2 - 1) * job["shift"] + f.randn(s)).alias("x"))
    # By way of Java: the module of the function in Python needs pandas.
    vector = Column(spark.sparkContext._jvm.org.apache.spark.ml.functions.array_to_vector(f.col("x")._jc))
    return made.select(vector.alias("features"), *[c for c in made.columns if c != "x"])


def estimator(job):
    from pyspark.ml.classification import LogisticRegression, RandomForestClassifier
    from pyspark.ml.clustering import KMeans

    s = seed(job, "algorithm")
    if job["algorithm"] == "kmeans":
        return KMeans(k=job["clusters"], maxIter=job["iterations"], tol=0.0, seed=s)
    if job["algorithm"] == "forest":
        return RandomForestClassifier(numTrees=job["trees"], maxDepth=job["depth"], maxBins=32, seed=s)
    return LogisticRegression(maxIter=job["iterations"], tol=0.0)


class Driver:
    def __init__(self, job):
        from pyspark import StorageLevel
        from pyspark.sql import SparkSession

        began = time.perf_counter()
        self.job, self.trainings, self.model = job, 0, None
        self.decided, self.news = 0, threading.Condition()
        builder = SparkSession.builder
        for name, value in job["conf"].items():
            builder = builder.config(name, value)
        self.spark = builder.getOrCreate()
        self.context = self.spark.sparkContext
        started = time.perf_counter()
        level = {"memory": StorageLevel.MEMORY_ONLY, "memory-disk": StorageLevel.MEMORY_AND_DISK, "disk": StorageLevel.DISK_ONLY}[job["storage"]]
        self.train = frame(self.spark, job, "train", job["rows"]).persist(level)
        self.test = frame(self.spark, job, "test", max(1, job["rows"] // 4)).persist(level)
        rows = self.train.count()
        self.test.count()
        say(ready={
            "start": started - began, "data": time.perf_counter() - started, "rows": rows, "partitions": self.train._jdf.rdd().getNumPartitions(),
            "features": self.train.first()["features"].size, "executors": self.executors(), "version": self.spark.version,
        })

    def executors(self):
        """The block managers, which are others after an executor was lost. One is that of the driver."""
        return sorted(self.context._jsc.sc().getExecutorMemoryStatus().keys().mkString(" ").split())

    def once(self):
        """Trains and tests once."""
        self.context.setJobGroup("training %d" % self.trainings, "")
        self.trainings += 1
        began = time.perf_counter()
        self.model = estimator(self.job).fit(self.train)
        trained = time.perf_counter()
        self.context.setJobGroup("test", "")
        from pyspark.sql import functions as f

        predicted = self.model.transform(self.test)
        if self.job["algorithm"] == "kmeans":
            predicted.groupBy("prediction").count().collect()
            quality, done = self.model.summary.trainingCost / self.job["rows"], self.model.summary.numIter
        else:
            quality = predicted.select(f.avg((f.col("prediction") == f.col("label")).cast("double"))).first()[0]
            done = self.model._java_obj.getNumTrees() if self.job["algorithm"] == "forest" else self.model.summary.totalIterations
        tested = time.perf_counter()
        most = done if self.job["algorithm"] == "forest" else self.model._java_obj.getMaxIter()
        say(trained={"train": trained - began, "test": tested - trained, "quality": quality, "iterations": done, "most": most, "executors": self.executors()})

    def totals(self):
        """What the tasks of each training took, by Spark's own counters."""
        jvm = self.context._jvm
        store = self.context._jsc.sc().statusStore()
        stages = store.stageList(None, False, False, self.context._gateway.new_array(jvm.double, 0), jvm.java.util.ArrayList())
        told = json.loads(jvm.org.apache.spark.status.api.v1.JacksonMessageWriter().mapper().writeValueAsString(stages))
        by = {}
        for s in told:
            by.setdefault(s["stageId"], []).append(s)
        tracker, all_of_them = self.context.statusTracker(), []
        for n in range(self.trainings):
            jobs = [tracker.getJobInfo(j) for j in tracker.getJobIdsForGroup("training %d" % n)]
            mine = [s for i in {i for j in jobs if j for i in j.stageIds} for s in by.get(i, [])]
            all_of_them.append({
                "cpu": sum(s["executorCpuTime"] for s in mine) / 1e9, "gc": sum(s["jvmGcTime"] for s in mine) / 1e3,
                "shuffle": sum(s["shuffleWriteBytes"] for s in mine), "spill": sum(s["diskBytesSpilled"] for s in mine),
                "failed": sum(s["numFailedTasks"] for s in mine),
            })
        return all_of_them

    def stream(self):
        """Decides by the model at each interval, from the last value of each sensor."""
        from pyspark.ml.linalg import Vectors
        from pyspark.sql import functions as f

        job, last = self.job, [0.5] * self.job["features"]
        self.sender = subprocess.Popen([sys.executable, __file__, "send", json.dumps(job)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        port = int(self.sender.stdout.readline())
        lines = self.spark.readStream.format("socket").option("host", "127.0.0.1").option("port", port).load()
        fields = f.split("value", ",")
        events = lines.select(fields[0].cast("double").alias("time"), fields[1].cast("int").alias("number"), fields[3].cast("double").alias("value"))

        def decide(batch, _):
            rows = batch.groupBy("number").agg(f.max_by("value", "time").alias("value"), f.collect_list("time").alias("times")).collect()
            if not rows:
                return
            for row in rows:
                last[row["number"] - 1] = row["value"]
            decision = self.model.predict(Vectors.dense(last))
            now, delays = time.time(), {}
            for row in rows:
                for t in row["times"]:
                    ms = max(0, round(1000 * (now - t)))
                    delays[ms] = delays.get(ms, 0) + 1
            truth = sum((i + 1) * v for i, v in enumerate(last)) > job["cutoff"]
            say(decided={"delays": delays, "correct": bool(decision) == truth})
            with self.news:
                self.decided += sum(delays.values())
                self.news.notify()

        # Its checkpoint is a temporary one, by default: a stream that finds that of another has the other's offsets.
        self.query = events.writeStream.foreachBatch(decide) \
            .trigger(processingTime="%d milliseconds" % job["every"]).start()

        def watch():
            try:
                self.query.awaitTermination()
            except Exception as e:
                say(error=cause(e))

        threading.Thread(target=watch, daemon=True).start()
        say(streaming=True)

    def finish(self):
        """Ends the stream once it has decided on all that was sent."""
        answer = {"trainings": self.totals(), "cpu": time.process_time()}
        if self.job["algorithm"] == "sensors" and self.trainings:
            self.sender.stdin.close()
            answer["sent"] = int(self.sender.stdout.readline())
            with self.news:  # what Spark has not read from its socket yet is no data to it
                while self.decided < answer["sent"] and self.query.isActive and self.news.wait(SILENCE):
                    pass
            self.query.stop()
        say(end=answer)


def cause(e):
    """The first lines of an error, without the trace."""
    java = getattr(e, "java_exception", None)
    return (java.toString() if java is not None else "%s: %s" % (type(e).__name__, e)).split("\n\tat ")[0][:1000]


def send(job):
    """Sends values of sensors at their due times, whatever becomes of them, until its input ends."""
    server = socket.create_server(("127.0.0.1", 0))
    print(server.getsockname()[1], flush=True)
    client, _ = server.accept()
    values, sent, began = random.Random(seed(job, "stream")), 0, time.time()
    while not select.select([sys.stdin], [], [], 0.005)[0]:
        due, lines = int((time.time() - began) * job["rate"]), []
        while sent < due:
            number = sent % job["features"] + 1
            lines.append("%.3f,%d,sensor%d,%.6f\n" % (began + (sent + 1) / job["rate"], number, number, values.random()))
            sent += 1
        client.sendall("".join(lines).encode())
    client.close()
    print(sent, flush=True)


def main():
    if sys.argv[1] == "send":
        send(json.loads(sys.argv[2]))
        return
    try:
        driver = Driver(json.loads(sys.argv[1]))
        requests = open(sys.argv[2]) if len(sys.argv) > 2 else sys.stdin
        for request in filter(str.strip, requests):  # empty ones show that somebody is there
            {"train": driver.once, "stream": driver.stream, "end": driver.finish}[request.strip()]()
        driver.spark.stop()
    except Exception as e:
        say(error=cause(e))
        sys.exit(1)


main()
