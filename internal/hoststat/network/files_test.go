package network

import (
	"net"
	"os"
	"slices"
	"testing"
	"testing/fstest"
)

// A host whose kernel is not asked: a listening socket with two connections waiting, one that
// it accepted, a client, and sockets in TIME_WAIT.
const (
	tcpFile = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 0100007F:1F90 00000000:0000 0A 00000000:00000002 00:00000000 00000000  1000        0 4242 1 0000000000000000 100 0 0 10 0\n" +
		"   1: 0100007F:1F90 0100007F:D2F0 01 00000000:00000000 00:00000000 00000000  1000        0 4243 1 0000000000000000 20 4 30 10 -1\n" +
		"   2: 0200000A:C350 0900000A:1538 01 00000000:00000000 00:00000000 00000000  1000        0 4244 1 0000000000000000 20 4 30 10 -1\n" +
		"   3: 0200000A:C351 0900000A:1538 06 00000000:00000000 03:00001389 00000000     0        0 0 3 0000000000000000\n"
	tcp6File = "  sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n" +
		"   0: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4245 1\n" +
		"   1: 0000000000000000FFFF00000100007F:0016 0000000000000000FFFF00000100007F:D2F1 01 00000000:00000000 00:00000000 00000000     0        0 4246 1\n"
)

func file(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }

func TestSocketFiles(t *testing.T) {
	r := NewReader(recorded{fstest.MapFS{"proc/net/tcp": file(tcpFile), "proc/net/tcp6": file(tcp6File)}})
	var n State
	for at := range 2 {
		n = State{}
		if err := r.ReadSockets(&n, 10*float64(at), nil); err != nil {
			t.Fatal(err)
		}
	}
	if n.Partial == "" || n.Readings != 2 {
		t.Errorf("%v readings, %q", n.Readings, n.Partial)
	}
	want := []Listener{
		{Address: "::", Port: 22, Connections: 1},
		{Address: "127.0.0.1", Port: 8080, Queue: 2, Waiting: 10, Connections: 1},
	}
	if !slices.Equal(n.Listeners, want) {
		t.Errorf("listening sockets %+v", n.Listeners)
	}
	if at := slices.IndexFunc(n.Flows, func(f Flow) bool { return f.Peer == "10.0.0.9:5432" }); at < 0 || n.Flows[at].Connections != 1 {
		t.Errorf("flows %+v", n.Flows)
	}
	if err := NewReader(recorded{fstest.MapFS{}}).ReadSockets(&n, 0, nil); err == nil {
		t.Error("no error without files of sockets")
	}
}

// The files of this host say the same of a socket as its kernel.
func TestSocketFilesOfThisHost(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	waiting, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer waiting.Close()
	for name, files := range map[string]*socketFiles{"netlink": nil, "files": {root: thisHost{}}} {
		table := newTable(func(uint32) (int, string) { return 1, "test" })
		table.files = files
		r, err := table.Read(Local(), 0, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(r.Listeners, func(x Listener) bool { return x.Port == l.Addr().(*net.TCPAddr).Port })
		if at < 0 || r.Listeners[at].Queue != 1 || r.Listeners[at].Address != "127.0.0.1" || r.Listeners[at].Connections != 1 {
			t.Errorf("%s: %+v", name, r.Listeners)
		}
	}
}

func FuzzSocketFiles(f *testing.F) {
	f.Add([]byte(tcpFile))
	f.Add([]byte(tcp6File))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range parseSockets(nil, text, 0) {
			if !s.local.IsValid() || !s.remote.IsValid() || s.state > 31 {
				t.Errorf("%+v", s)
			}
		}
	})
}

// thisHost is the tree of this host.
type thisHost struct{}

func (thisHost) Append(buffer []byte, name string) ([]byte, error) {
	text, err := os.ReadFile("/" + name)
	return append(buffer, text...), err
}
func (thisHost) Names(string) ([]string, error)       { return nil, nil }
func (thisHost) ReadLink(name string) (string, error) { return os.Readlink("/" + name) }
