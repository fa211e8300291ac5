package spark

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/platforms/local"
)

const recorded = `{"url":"spark://127.0.0.1:17077","workers":[
{"id":"worker-1","host":"127.0.0.1","port":36011,"webuiaddress":"http://127.0.0.1:1","cores":1,"coresused":1,"coresfree":0,"memory":900,"memoryused":900,"memoryfree":0,"resources":{},"resourcesused":{},"resourcesfree":{},"state":"ALIVE","lastheartbeat":1},
{"id":"worker-2","host":"127.0.0.1","port":36012,"webuiaddress":"http://127.0.0.1:2","cores":1,"coresused":0,"coresfree":1,"memory":900,"memoryused":0,"memoryfree":900,"state":"DEAD","lastheartbeat":1}],
"aliveworkers":1,"cores":2,"coresused":1,"memory":1800,"memoryused":900,"resources":[],"resourcesused":[],"activeapps":[{"id":"app-1","name":"k","cores":1}],"completedapps":[],"activedrivers":[],"completeddrivers":[],"status":"ALIVE"}`

func TestStatus(t *testing.T) {
	s, err := parseStatus([]byte(recorded))
	if err != nil || s.URL != "spark://127.0.0.1:17077" || len(s.Workers) != 2 || len(s.Alive()) != 1 || s.Alive()[0].Memory != 900 || len(s.Active) != 1 {
		t.Errorf("got %+v, %v", s, err)
	}
	for _, text := range []string{"", "{}", "[]", `{"url":"spark://h:1"}`, `{"url":"u","status":"ALIVE","workers":[{"cores":-1}]}`, "<html>"} {
		if _, err := parseStatus([]byte(text)); err == nil {
			t.Errorf("%q is a status", text)
		}
	}
}

func FuzzStatus(f *testing.F) {
	f.Add([]byte(recorded))
	f.Fuzz(func(t *testing.T, page []byte) {
		if s, err := parseStatus(page); err == nil && len(s.Alive()) > len(s.Workers) {
			t.Errorf("%+v", s)
		}
	})
}

func TestAsk(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/json/":
			_, _ = w.Write([]byte(recorded))
		case "/":
			_, _ = w.Write([]byte("<a><span class=\"version\" style=\"margin-right: 15px;\">3.5.9</span></a>"))
		}
	}))
	at := server.Listener.Addr().String()
	dial := (&net.Dialer{}).DialContext
	if s, err := Ask(t.Context(), dial, at); err != nil || s.State != alive {
		t.Errorf("got %+v, %v", s, err)
	}
	if v, err := Version(t.Context(), dial, at); v != "3.5.9" || err != nil {
		t.Errorf("the version is %q, %v", v, err)
	}
	server.Close()
	if _, err := Ask(t.Context(), dial, at); err == nil {
		t.Error("a server that has ended answers")
	}
}

func TestMajor(t *testing.T) {
	for version, want := range map[string]string{"17.0.15": "17", "1.8.0_402": "8", "21": "21", "": ""} {
		if got := major(version); got != want {
			t.Errorf("%q is Java %q, want %q", version, got, want)
		}
	}
}

// An environment is made of empty files, and Java of a script.
func TestFindNamesWhatIsLacking(t *testing.T) {
	p, err := local.Kind().Open(t.Context(), nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	home := t.TempDir()
	site := "lib/python3.11/site-packages/"
	touch := func(name, text string) {
		t.Helper()
		full := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	java := filepath.Join(home, "java")
	for _, step := range []struct{ name, text, want string }{
		{"empty", "", "PySpark " + Release + " is not in " + home + ": python3 -m venv"},
		{"bin/python", "", "PySpark " + Release + " is not in"},
		{site + "pyspark/jars/spark-core_2.12-3.4.1.jar", "", "has Spark 3.4.1, but plimsoll drives 3.5.x"},
		{site + "pyspark/jars/spark-core_2.12-3.5.9.jar", "", "has no numpy"},
		{site + "numpy/version.py", "", "is no program"},
		{"java", "#!/bin/sh\necho 'openjdk version \"21.0.1\" 2023' >&2\n", "is Java 21.0.1, but Spark 3.5.9 needs Java 17, 11 or 8: apt install openjdk-17-jre-headless"},
		{"java", "#!/bin/sh\necho 'openjdk version \"17.0.15\" 2025' >&2\n", ""},
	} {
		touch(step.name, step.text)
		i, err := Find(t.Context(), p.Machine(), home, java)
		if step.want == "" {
			if err != nil || i.Version != "3.5.9" || i.JavaVersion != "17.0.15" || i.Java != java || i.Folder != filepath.Join(home, site, "pyspark") {
				t.Errorf("with all: %+v, %v", i, err)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), step.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("with %s: %v, want %q", step.name, err, step.want)
		}
	}
}
