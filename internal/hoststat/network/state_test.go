package network

import (
	"testing"
	"testing/fstest"
)

// recorded is a tree with the files of a test.
type recorded struct{ fstest.MapFS }

func (t recorded) Append(buffer []byte, name string) ([]byte, error) {
	text, err := t.ReadFile(name)
	return append(buffer, text...), err
}
func (t recorded) Names(string) ([]string, error)       { return nil, nil }
func (t recorded) ReadLink(name string) (string, error) { return t.MapFS.ReadLink(name) }

func TestLimitsOfServers(t *testing.T) {
	for _, c := range []struct {
		program, command, file, text string
		want                         float64
		from                         string
	}{
		{"postgres", "postgres\x00-D\x00/data\x00-c\x00max_connections=20\x00", "", "", 20, "the command line"},
		{"postgres", "postgres\x00-D\x00/data\x00", "proc/7/root/data/postgresql.conf", "# max_connections = 7\nmax_connections = 50\t# (change requires restart)\n", 50, "/data/postgresql.conf"},
		{"postgres", "postgres\x00", "proc/7/cwd/postgresql.conf", "max_connections=60\n", 60, "postgresql.conf"},
		{"redis-server", "redis-server\x00--maxclients\x0030\x00", "", "", 30, "the command line"},
		{"redis-server", "redis-server 127.0.0.1:6379\x00", "", "", 10000, ""},
		{"nginx", "nginx: master process nginx -c /x/nginx.conf -p /x\x00", "proc/7/root/x/nginx.conf", "events { worker_connections 64; }\n", 64, "/x/nginx.conf"},
		{"mariadbd", "mariadbd\x00--defaults-file=/etc/a.cnf\x00", "proc/7/root/etc/a.cnf", "[mysqld]\nmax-connections=40\n", 40, "/etc/a.cnf"},
		{"mariadbd", "mariadbd\x00--max_connections=9\x00", "", "", 9, "the command line"},
		{"memcached", "memcached\x00-c\x0016\x00", "", "", 16, "the command line"},
		{"sshd", "sshd\x00", "", "", 0, ""},
	} {
		tree := recorded{fstest.MapFS{"proc/7/cmdline": {Data: []byte(c.command)}}}
		if c.file != "" {
			tree.MapFS[c.file] = &fstest.MapFile{Data: []byte(c.text)}
		}
		r := NewReader(tree)
		l := Listener{PID: 7, Program: c.program}
		r.limit(&l, nil)
		if l.Limit != c.want || l.Config != c.from {
			t.Errorf("%q: %v from %q, not %v from %q", c.command, l.Limit, l.Config, c.want, c.from)
		}
	}
}

func TestNetworkFiles(t *testing.T) {
	soft := parseSoftnet([]byte("00000010 00000002 00000003 00000000\n0000000f 00000000 00000001 00000000\n"))
	if len(soft) != 2 || soft[0] != (Softnet{16, 2, 3}) || soft[1].Processed != 15 {
		t.Errorf("%+v", soft)
	}
	if n := parseConntrack([]byte("entries  searched drop early_drop\n00000001 00000000 00000010 00000001\n00000001 00000000 00000001 00000000\n")); n != 18 {
		t.Errorf("%v drops of tracked connections", n)
	}
	udp := parseUDP([]byte("   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode ref pointer drops\n" +
		" 2590: 00000000:14E9 00000000:0000 07 00000000:00001000 00:00000000 00000000     0        0 4242 2 0000000000000000 17\n" +
		" 2591: 00000000:0044 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4243 2 0000000000000000 0\n"))
	if len(udp) != 1 || udp[0] != (Datagrams{Port: 5353, Inode: 4242, Drops: 17, Unread: 4096}) {
		t.Errorf("%+v", udp)
	}
	of6 := map[string]float64{}
	ParseCounters6([]byte("Ip6InReceives                   \t7\nUdp6InDatagrams                 \t41\nUdp6RcvbufErrors \t3\nUdp6 1 2\nUdp6MemErrors x\n"), of6)
	if len(of6) != 2 || of6["Udp6.InDatagrams"] != 41 || of6["Udp6.RcvbufErrors"] != 3 {
		t.Errorf("counters of IPv6 %v", of6)
	}
	if n := fileLimit([]byte("Limit   Soft Limit  Hard Limit  Units\nMax open files            1024                 4096                 files     \n")); n != 1024 {
		t.Errorf("limit of %v files", n)
	}
}

// Means include flows that began, flows that ended, and gauges that were high for a while.
func TestMeanOfFlows(t *testing.T) {
	var parts []Part
	var last *State
	at := func(second float64, queue float64, flows ...Flow) {
		now := &State{Flows: flows, Listeners: []Listener{{Port: 80, Queue: queue, Waiting: second / 2}}}
		if last != nil {
			parts = append(parts, Part{now.Rates(last, 1), .5})
		}
		last = now
	}
	first := &State{Listeners: []Listener{{Port: 80}}}
	ended := Flow{PID: 1, Program: "a", SentBytes: 100, Connections: 4}
	at(0, 0, ended)
	ended.SentBytes = 300
	at(1, 8, ended)
	at(2, 0, Flow{PID: 2, Program: "b", SentBytes: 50})
	n := last.Rates(first, .5)
	n.Average(parts)
	if len(n.Flows) != 2 || n.Flows[0].SentBytes != 100 || n.Flows[0].Connections != 2 || n.Flows[1].SentBytes != 25 || n.Flows[1].Program != "b" {
		t.Errorf("flows %+v", n.Flows)
	}
	if l := n.Listeners[0]; l.Queue != 4 || l.Waiting != .5 {
		t.Errorf("listening socket %+v", l)
	}
	began := (&State{Listeners: []Listener{{Port: 81, Drops: 9, Full: 1}}}).Rates(first, .5).Listeners
	if len(began) != 1 || began[0].Full != .5 || began[0].Drops != 0 {
		t.Errorf("a listening socket of a program that started meanwhile: %+v", began)
	}
}

func FuzzNetworkFiles(f *testing.F) {
	f.Add([]byte("entries drop\n0001 0002\nmax_connections = 5 ; x {\nMax open files 1 2\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range parseSoftnet(text) {
			if s.Dropped < 0 {
				t.Error(s)
			}
		}
		for _, d := range parseUDP(text) {
			if d.Drops <= 0 || d.Unread < 0 {
				t.Error(d)
			}
		}
		v, ok := setting(text, "max_connections")
		if parseConntrack(text) < 0 || fileLimit(text) < 0 || v < 0 || v > 0 && !ok {
			t.Error("a negative number")
		}
	})
}
