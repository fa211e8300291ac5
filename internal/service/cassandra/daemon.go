package cassandra

import (
	"context"
	_ "embed"
	"fmt"
	"net"
	"path"
	"strconv"
	"strings"
	"time"

	"plimsoll/internal/load"
	"plimsoll/internal/platform"
	"plimsoll/internal/service"
)

// starter starts the nodes.
//
//go:embed start.sh
var starter string

// logback makes each node log to its own file, and all of them errors to a common file, one
// per line, and compactions to another.
const logback = `<configuration><appender name="FILE" class="ch.qos.logback.core.FileAppender"><file>${cassandra.logdir}/system.log</file>
<encoder><pattern>%-5level [%thread] %date{ISO8601} %F:%L - %msg%n</pattern></encoder></appender>
<appender name="ERRORS" class="ch.qos.logback.core.FileAppender"><file>${cassandra.logdir}/../` + errorLog + `</file>
<filter class="ch.qos.logback.classic.filter.ThresholdFilter"><level>ERROR</level></filter>
<encoder><pattern>%replace(%msg %ex{short}){'\s+', ' '}%nopex%n</pattern></encoder></appender>
<appender name="DIARY" class="ch.qos.logback.core.FileAppender"><file>${cassandra.logdir}/../` + diary + `</file>
<encoder><pattern>%date{"yyyy-MM-dd HH:mm:ss.SSS", "UTC"} %.-200msg%n</pattern></encoder></appender>
<logger name="org.apache.cassandra.db.compaction.CompactionTask" level="INFO"><appender-ref ref="DIARY"/></logger>
<root level="INFO"><appender-ref ref="FILE"/><appender-ref ref="ERRORS"/></root></configuration>
`

// errorLog is the common file of errors.
const errorLog = "errors.log"

// diary is the common file of compactions.
const diary = "compactions.log"

// beginning is the time limit for a node to start: it takes seconds as a rule, and many
// minutes under emulation. A node that exits is noticed at once.
const beginning = 15 * time.Minute

// nodes are the nodes of a ring at a place. With an address of its own they differ by port; on
// the loopback, where gossip requires one port for all, by address.
func (s Settings) nodes(place service.Location) []node {
	var all []node
	for n := range s.Nodes {
		host := place.Host
		if s.Nodes > 1 && host == service.Loopback {
			host = fmt.Sprintf("127.0.0.%d", n+1)
		}
		one := node{
			number: n, host: host, gossip: place.Ports[0], port: place.Ports[2], cluster: "plimsoll " + place.Dir,
			dir: path.Join(place.Dir, strconv.Itoa(n)),
		}
		one.seed = net.JoinHostPort(place.Host, strconv.Itoa(place.Ports[0]))
		all = append(all, one)
	}
	return all
}

func (s Settings) daemon(m platform.Machine, place service.Location, java string) (service.Daemon, error) {
	nodes := s.nodes(place)
	var hosts []string
	for _, n := range nodes {
		hosts = append(hosts, n.host)
	}
	vouched, err := service.NewServerCertificate(s.TLS, hosts...)
	if err != nil {
		return service.Daemon{}, err
	}
	at := load.Endpoint{Network: "tcp", CA: vouched.CA}
	for i, n := range nodes {
		address := net.JoinHostPort(n.host, strconv.Itoa(n.port))
		if i == 0 {
			at.Address = address
		} else {
			at.More = append(at.More, address)
		}
	}
	c := newClient(m, at)
	return service.Daemon{
		Argv: append([]string{"sh", path.Join(place.Dir, "start.sh"), java, place.Dir, strconv.Itoa(len(nodes))}, s.flags()...),
		Files: func(yield func(string, []byte) bool) {
			if !yield("start.sh", []byte(starter)) || !yield("logback.xml", []byte(logback)) {
				return
			}
			if vouched.Cert != nil && !yield(keyFile, append(vouched.Key, vouched.Cert...)) {
				return
			}
			for _, n := range nodes {
				folder := strconv.Itoa(n.number)
				if !yield(folder+".yaml", s.config(n)) || !yield(folder+".flags", joining(n, place.Ports[1])) {
					return
				}
			}
		},
		Log: errorLog, Diary: diary, Patience: time.Duration(len(nodes)) * beginning,
		Ready: func(ctx context.Context) (service.Live, error) {
			live, err := c.ready(ctx, nodes[0].cluster, len(nodes))
			live.Observe = func(ctx context.Context) (map[string]string, error) {
				observed, err := c.observe(ctx)
				if err != nil {
					return nil, err
				}
				rows, err := c.Ask(ctx, "SELECT peer FROM system.peers_v2")
				if err == nil {
					observed["nodes"] = strconv.Itoa(1 + len(rows))
				}
				observeJava(ctx, m, place.Dir, observed)
				return observed, err
			}
			return live, err
		},
	}, nil
}

// joining are the flags of one node. A node that joins a ring gives up if it hears of no other
// within the delay; otherwise it proceeds at once.
func joining(n node, management int) []byte {
	ring := 0
	if n.number > 0 {
		ring = 60_000
	}
	return fmt.Appendf(nil, "-Dcassandra.jmx.local.port=%d -Dcassandra.ring_delay_ms=%d -Dcassandra.consistent.rangemovement=false\n", management+n.number, ring)
}

// flags are the Java flags of all nodes: those of Cassandra's own scripts for Java 17, memory
// and collector.
func (s Settings) flags() []string {
	all := []string{
		"-ea", "-da:net.openhft...", "-XX:+UseThreadPriorities", "-XX:+HeapDumpOnOutOfMemoryError", "-XX:HeapDumpPath=/dev/null", "-Xss256k", "-XX:+PerfDisableSharedMem",
		"-Djava.net.preferIPv4Stack=true", "-XX:+ExitOnOutOfMemoryError", "-XX:MaxDirectMemorySize=512m", "-Djdk.attach.allowAttachSelf=true",
		fmt.Sprintf("-Xms%dm", int64(s.Heap)>>20), fmt.Sprintf("-Xmx%dm", int64(s.Heap)>>20),
		"-Dio.netty.tryReflectionSetAccessible=true", "-Dio.netty.allocator.useCacheForAllThreads=true", "-Dio.netty.allocator.maxOrder=11",
		"-javaagent:lib/jamm-0.4.0.jar", "-Dcassandra-foreground=yes",
		"-Dcassandra.skip_wait_for_gossip_to_settle=0", "-Dcassandra.superuser_setup_delay_ms=0",
	}
	switch s.Collector {
	case "g1":
		all = append(all, "-XX:+UseG1GC", "-XX:+ParallelRefProcEnabled", "-XX:MaxGCPauseMillis=300")
	case "parallel":
		all = append(all, "-XX:+UseParallelGC")
	default:
		all = append(all, "-XX:+UseSerialGC")
	}
	if s.Compiler == "quick" {
		all = append(all, "-XX:TieredStopAtLevel=1")
	}
	for _, name := range strings.Fields(`java.base/jdk.internal.misc java.base/java.lang.ref java.management.rmi/com.sun.jmx.remote.internal.rmi
		java.rmi/sun.rmi.registry java.rmi/sun.rmi.server java.sql/java.sql jdk.unsupported/sun.misc jdk.compiler/com.sun.tools.javac.file jdk.attach/sun.tools.attach`) {
		all = append(all, "--add-exports", name+"=ALL-UNNAMED")
	}
	for _, name := range strings.Fields(`java.base/java.lang java.base/java.lang.module java.base/java.lang.reflect java.base/java.io java.base/java.nio java.base/java.util
		java.base/sun.nio.ch java.base/jdk.internal.loader java.base/jdk.internal.ref java.base/jdk.internal.reflect java.base/jdk.internal.math
		java.base/jdk.internal.module java.base/jdk.internal.util.jar jdk.management/com.sun.management.internal jdk.compiler/com.sun.tools.javac`) {
		all = append(all, "--add-opens", name+"=ALL-UNNAMED")
	}
	return all
}
