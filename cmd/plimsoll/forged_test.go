package main

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"plimsoll/internal/hosttest"
)

// forge writes a journal as plimsoll would, with checksums that match.
func forge(t *testing.T, dir string, entries ...map[string]any) {
	t.Helper()
	var text strings.Builder
	for i, e := range entries {
		e["seq"], e["time"] = i+1, "2026-01-02T03:04:05Z"
		line, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		body := string(line[:len(line)-1])
		fmt.Fprintf(&text, "%s,\"crc\":\"%08x\"}\n", body, crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
	}
	if err := os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

type fields = map[string]any

// beginning is the first entry of a forged journal.
func beginning(scratch string, more fields) fields {
	b := fields{"study": "s", "seed": 1, "version": "x", "platform": fields{"Kind": "local"}, "workload": "storage", "scratch": scratch, "made": true}
	for name, value := range more {
		b[name] = value
	}
	return fields{"kind": "begin", "begin": b}
}

// restore and resume believe no journal of a results folder that this user did not leave unfinished on this host: nothing changes, and the
// exit status is 2.
func TestForgedJournals(t *testing.T) {
	if !contained(t) {
		return
	}
	former := kept(t, finTimeout)
	kept(t, "/proc/sys/kernel/core_pattern")
	changed := func(factor, target, value string) fields {
		return fields{"kind": "change", "setting": fields{"factor": factor, "target": target, "former": value, "level": "x", "seen": ""}}
	}
	command := fields{"commands": []fields{{"Name": "mine", "Read": "echo x", "Apply": "touch /tmp/ran", "Restore": "touch /tmp/ran"}}}
	tests := []struct {
		name string
		make func(t *testing.T, l *labRig, dir string)
	}{
		{"a setting", func(t *testing.T, l *labRig, dir string) {
			forge(t, dir, beginning(dir+"/scratch", nil), changed("host.sysctl", "kernel.core_pattern", "|/tmp/evil"))
		}},
		{"a command", func(t *testing.T, l *labRig, dir string) {
			forge(t, dir, beginning(dir+"/scratch", command), changed("command.mine", "", "y"))
		}},
		{"files of a service", func(t *testing.T, l *labRig, dir string) {
			forge(t, dir, beginning("/tmp/precious", nil), fields{"kind": "serve"})
		}},
		{"files of a load", func(t *testing.T, l *labRig, dir string) {
			forge(t, dir, beginning("/tmp/precious", nil), fields{"kind": "prepare", "load": fields{}})
		}},
		{"a path that climbs", func(t *testing.T, l *labRig, dir string) {
			forge(t, dir, beginning("/tmp/x/../precious", fields{"run": "../../precious/file"}), fields{"kind": "serve"})
		}},
		{"links", func(t *testing.T, l *labRig, dir string) {
			forge(t, dir, beginning(dir+"/scratch", nil), fields{"kind": "serve"})
			sh(t, "cd "+dir+" && rm -f lock && ln -s /tmp/precious scratch && ln -s /tmp/precious/file lock && mv journal.jsonl real && ln -s real journal.jsonl")
		}},
		{"several names", func(t *testing.T, l *labRig, dir string) {
			forge(t, dir, beginning(dir+"/scratch", nil), fields{"kind": "serve"})
			sh(t, "cd "+dir+" && rm -f lock && ln /tmp/precious/file lock")
		}},
		{"a journal from before its run was put back", func(t *testing.T, l *labRig, dir string) {
			l.write("study.yaml", studyOf("host.sysctl:net.ipv4.tcp_fin_timeout", two(t, former)...))
			c, _ := l.start("run", "study.yaml", "--quiet", "--out", "out")
			l.until(finTimeout, former)
			l.kill(c)
			sh(t, "cp -r "+l.dir+"/out/. "+dir)
			l.plimsoll(0, "restore")
		}},
		{"of another user", func(t *testing.T, l *labRig, dir string) {
			forge(t, dir, beginning(dir+"/scratch", nil), changed("host.sysctl", "kernel.core_pattern", "|/tmp/evil"))
			sh(t, "chown -R 1234 "+dir)
		}},
		{"a torn line", func(t *testing.T, l *labRig, dir string) {
			forge(t, dir, beginning(dir+"/scratch", nil), changed("host.sysctl", "kernel.core_pattern", "|/tmp/evil"), fields{"kind": "serve"})
			sh(t, "cd "+dir+" && truncate -s -9 journal.jsonl")
		}},
		{"huge", func(t *testing.T, l *labRig, dir string) {
			sh(t, "rm "+dir+"/journal.jsonl; truncate -s 2G "+dir+"/journal.jsonl")
		}},
		{"a pipe", func(t *testing.T, l *labRig, dir string) {
			sh(t, "rm "+dir+"/journal.jsonl; mkfifo "+dir+"/journal.jsonl")
		}},
		{"a folder", func(t *testing.T, l *labRig, dir string) {
			sh(t, "rm "+dir+"/journal.jsonl; mkdir "+dir+"/journal.jsonl")
		}},
	}
	sh(t, "mkdir -m 700 /var/lib/plimsoll/undo; mkdir -p /tmp/precious/service && echo precious >/tmp/precious/file && cp /tmp/precious/file /tmp/precious/service")
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			l := newLab(t)
			host := hosttest.Watch(t, l.dir)
			// A genuine folder, so that nothing but its journal is forged.
			dir := filepath.Join(l.dir, "forged")
			l.write("plain.yaml", strings.ReplaceAll(studyOf("host.sysctl:net.ipv4.tcp_fin_timeout", two(t, former)...), "blocks: 200", "blocks: 1"))
			l.plimsoll(0, "run", "plain.yaml", "--quiet", "--out", dir, "--seed", "1")
			test.make(t, l, dir)
			for _, verb := range []string{"restore", "resume"} {
				said := l.plimsoll(2, verb, dir)
				t.Logf("%s: %s", verb, said)
				if strings.Count(said, "\n") != 1 {
					t.Errorf("%s says in several lines: %s", verb, said)
				}
			}
			if said := l.plimsoll(0, "restore"); said != "nothing to restore\n" {
				t.Errorf("restore: %s", said)
			}
			if value(t, "/tmp/precious/file") != "precious" || value(t, "/tmp/precious/service/file") != "precious" {
				t.Error("files were changed")
			}
			host.Unchanged(t)
		})
	}
}
