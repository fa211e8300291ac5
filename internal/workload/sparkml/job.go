package sparkml

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/spark"
)

// data is what the quality of a training depends on.
type data struct {
	Algorithm  string  `json:"algorithm"`
	Seed       string  `json:"seed"` // as text: numbers of 64 bits are no numbers of JSON
	Rows       int     `json:"rows"`
	Features   int     `json:"features"`
	Partitions int     `json:"partitions"`
	Iterations int     `json:"iterations"`
	Clusters   int     `json:"clusters"`
	Trees      int     `json:"trees"`
	Depth      int     `json:"depth"`
	Shift      float64 `json:"shift"`
	Cutoff     float64 `json:"cutoff"`
}

// job is what the driver is told.
type job struct {
	data
	Storage string            `json:"storage"`
	Conf    map[string]string `json:"conf"` // settings of Spark
	Folder  string            `json:"-"`
	Rate    float64           `json:"rate"`  // events per second
	Every   int64             `json:"every"` // ms
}

func (l *learning) data(seed uint64) data {
	return data{
		Algorithm: l.Algorithm, Seed: strconv.FormatUint(seed, 10), Rows: l.Rows, Features: l.Features, Partitions: l.Partitions, Iterations: l.Iterations,
		Clusters: l.Clusters, Trees: l.Trees, Depth: l.Depth, Shift: shift(l.Features), Cutoff: cutoff(l.Features),
	}
}

// key names data.
func (d data) key() string {
	text, err := json.Marshal(d)
	if err != nil { // of numbers and text there is none
		panic(err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// site is where executors are.
type site struct {
	master   string // local[2] or spark://host:port
	cores    int    // of all executors
	memory   int64  // MiB of an executor
	loopback bool   // they reach the driver at the loopback
}

func here(threads int) site {
	return site{master: fmt.Sprintf("local[%d]", threads), cores: threads, loopback: true}
}

// siteOf is the cluster of a master.
func siteOf(s spark.Status) (site, error) {
	at := site{master: s.URL}
	for _, w := range s.Alive() {
		at.cores += w.Cores
		if at.memory == 0 || w.Memory < at.memory {
			at.memory = w.Memory
		}
	}
	if at.cores == 0 {
		return at, fmt.Errorf("the master %s has no worker: nothing can be trained", s.URL)
	}
	if at.memory < leastExecutor {
		return at, fmt.Errorf("a worker of %s has %d MiB, and an executor needs %d: raise spark.memory", s.URL, at.memory, leastExecutor)
	}
	host, _, err := net.SplitHostPort(strings.TrimPrefix(s.URL, "spark://"))
	if err != nil {
		return at, fmt.Errorf("the master has the address %q: %w", s.URL, err)
	}
	ip, err := netip.ParseAddr(host)
	at.loopback = err == nil && ip.IsLoopback()
	return at, nil
}

// leastExecutor is the least heap of an executor, in MiB (UnifiedMemoryManager: one and a half of the reserved 300).
const leastExecutor = 450

const (
	registering = 10 * time.Minute // of executors; on a machine without CPU time left they take minutes
	network     = 5 * time.Minute  // without a sign of life
)

// job is what the driver is told for a site, with files below a folder.
func (l *learning) job(at site, seed uint64, folder string) job {
	temporary := "-Djava.io.tmpdir=" + path.Join(folder, "tmp")
	conf := map[string]string{
		"spark.app.name":                                    "plimsoll sparkml",
		"spark.master":                                      at.master,
		"spark.log.level":                                   "WARN", // of the driver, however it is started
		"spark.ui.enabled":                                  "false",
		"spark.ui.showConsoleProgress":                      "false",
		"spark.ui.retainedJobs":                             "100000", // whose counters are read at the end
		"spark.ui.retainedStages":                           "100000",
		"spark.ui.retainedTasks":                            "1000",
		"spark.driver.memory":                               fmt.Sprintf("%dm", int64(l.DriverMemory)>>20),
		"spark.driver.extraJavaOptions":                     "-XX:+PerfDisableSharedMem -XX:+ExitOnOutOfMemoryError " + temporary,
		"spark.executor.extraJavaOptions":                   "-XX:+PerfDisableSharedMem -Djava.io.tmpdir=.",
		"spark.cores.max":                                   strconv.Itoa(at.cores),
		"spark.scheduler.minRegisteredResourcesRatio":       "1.0", // or the first executor would have all data
		"spark.scheduler.maxRegisteredResourcesWaitingTime": fmt.Sprintf("%ds", int(registering.Seconds())),
		"spark.network.timeout":                             fmt.Sprintf("%ds", int(network.Seconds())),
		"spark.default.parallelism":                         strconv.Itoa(l.Partitions),
		"spark.sql.shuffle.partitions":                      strconv.Itoa(l.Partitions),
		"spark.sql.adaptive.enabled":                        "false", // partitions do not depend on the cluster
		"spark.sql.warehouse.dir":                           path.Join(folder, "warehouse"),
		"spark.local.dir":                                   path.Join(folder, "local"),
	}
	if at.memory > 0 {
		conf["spark.executor.memory"] = fmt.Sprintf("%dm", at.memory)
	}
	if at.loopback {
		conf["spark.driver.host"], conf["spark.driver.bindAddress"] = "127.0.0.1", "127.0.0.1"
	}
	return job{data: l.data(seed), Storage: l.Storage, Conf: conf, Folder: folder, Rate: float64(l.Rate), Every: time.Duration(l.Every).Milliseconds()}
}

// command starts the driver.
func (j job) command(on spark.Installed, script string) ([]string, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("encode the job of the driver: %w", err)
	}
	var local []string
	if j.Conf["spark.driver.host"] != "" {
		local = []string{"SPARK_LOCAL_IP=" + j.Conf["spark.driver.host"]}
	}
	return slices.Concat([]string{"env"}, local, []string{
		"SPARK_HOME=" + on.Folder, "JAVA_HOME=" + strings.TrimSuffix(on.Java, "/bin/java"), "PYSPARK_PYTHON=" + on.Python,
		"TMPDIR=" + path.Join(j.Folder, "tmp"), "PYTHONDONTWRITEBYTECODE=1", "OPENBLAS_NUM_THREADS=1", on.Python, script, string(text),
	}), nil
}
