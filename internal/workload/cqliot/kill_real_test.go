package cqliot

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"plimsoll/internal/cql"
	"plimsoll/internal/load"
	"plimsoll/internal/load/socket"
	"plimsoll/internal/measure"
	"plimsoll/internal/parameter"
	"plimsoll/internal/workload/cqliot/driver"
)

// processes finds those whose command line holds a word, with their command lines.
func processes(t *testing.T, word string) map[int][]string {
	t.Helper()
	found := map[int][]string{}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range lines {
		data, err := os.ReadFile(name)
		if argv := strings.Split(strings.TrimRight(string(data), "\x00"), "\x00"); err == nil && strings.Contains(string(data), word) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
			found[pid] = argv
		}
	}
	return found
}

// A server that is killed in the middle of a trial holds, once it is started again, all
// that it acknowledged.
func TestRealKill(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_REAL=1 PLIMSOLL_DEEP=1 to kill Cassandra and start it again")
	}
	env := real(t, "1")
	l, err := Kind(driver.Open).New(parameter.Settings{"rampup": "1000", "read_ratio": "0"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Prepare(t.Context(), env); err != nil {
		t.Fatal(err)
	}
	c, err := l.(*iot).begin(t.Context(), env)
	if err != nil {
		t.Fatal(err)
	}
	at, _ := env.Target(protocol)
	port := at.Address[strings.LastIndexByte(at.Address, ':')+1:]
	var starter []string
	var java int
	for pid, argv := range processes(t, "-Dcassandra.") {
		settings, _ := os.ReadFile(filepath.Join(folderOf(argv), "0.yaml"))
		if !strings.Contains(string(settings), "native_transport_port: "+port) {
			continue
		}
		if strings.HasSuffix(argv[0], "java") {
			java = pid
		} else if strings.HasSuffix(argv[1], "start.sh") {
			starter = argv
		}
	}
	if java == 0 || starter == nil {
		t.Fatal("the server is not found")
	}
	kill := time.AfterFunc(2*time.Second, func() { _ = syscall.Kill(java, syscall.SIGKILL) })
	defer kill.Stop()
	out := measure.NewRecorder(nil)
	if err := socket.Run(t.Context(), c.job(load.Stage{Length: 3 * time.Second, Interval: time.Second / 2, Seed: 1}), out); err != nil {
		t.Fatal(err)
	}
	sum := c.sum()
	done, failed := counted(out)
	t.Logf("%d done, %d failed, %d kept", done, failed, len(sum.acknowledged))
	if done < 100 || failed == 0 {
		t.Errorf("%d done, %d failed", done, failed)
	}
	again := exec.Command(starter[0], starter[1:]...)
	info, err := os.Stat(folderOf(starter))
	if err != nil {
		t.Fatal(err)
	}
	owner := info.Sys().(*syscall.Stat_t)
	again.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		again.SysProcAttr.Credential = &syscall.Credential{Uid: owner.Uid, Gid: owner.Gid}
	}
	if err := again.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = syscall.Kill(-again.Process.Pid, syscall.SIGKILL)
		_ = again.Wait()
	}()
	for over := time.Now().Add(time.Minute); ; {
		session, err := cql.Dial(t.Context(), c.nodes[0])
		if err == nil {
			session.Close()
			break
		} else if time.Now().After(over) {
			t.Fatal(err)
		}
		<-time.After(100 * time.Millisecond)
	}
	if wrong, why, err := c.verify(t.Context(), sum.acknowledged); wrong != 0 || err != nil {
		t.Errorf("%d of %d acknowledged writes are lost%s, %v", wrong, len(sum.acknowledged), why, err)
	}
}

// folderOf is the folder of the instance that a command line is of.
func folderOf(argv []string) string {
	for _, word := range argv {
		if i := strings.Index(word, "/instance/"); i >= 0 && strings.HasPrefix(word, "/") {
			return word[:i] + "/instance"
		}
		if at, ok := strings.CutPrefix(word, "-Dcassandra.config=file://"); ok {
			return filepath.Dir(at)
		}
	}
	return "/"
}

// A ring of three nodes gets each row to a node that holds it.
func TestRealRing(t *testing.T) {
	if os.Getenv("PLIMSOLL_DEEP") == "" {
		t.Skip("set PLIMSOLL_REAL=1 PLIMSOLL_DEEP=1 to start a ring of Cassandra, which takes a minute and 2 GB")
	}
	env := real(t, "3")
	out := trial(t, env, parameter.Settings{"rampup": "2000", "replication": "2", "connections": "2", "write_consistency": "one", "read_consistency": "one"}, 2*time.Second)
	done, failed := counted(out)
	t.Logf("%d done, %d failed, %v", done, failed, out.Values())
	if done < 200 || failed > 0 || out.Values()["elsewhere"] > .2 || !passes(t, out, "data") {
		t.Errorf("%d done, %d failed, %v", done, failed, out.Values())
	}
	// The same rows by the other nodes.
	at, _ := env.Target(protocol)
	if len(at.More) != 2 {
		t.Fatalf("the ring is %v", at)
	}
}
