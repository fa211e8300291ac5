package guard

import (
	"errors"
	"io"
	"strings"
	"testing"

	"plimsoll/internal/platform"
)

// The arguments of allowed programs may not make them run others, or write outside the scratch
// folder.
func TestProgramsThatCouldRunOthers(t *testing.T) {
	for line, ok := range map[string]bool{
		"fio --name=a --filename=/scratch/a:/scratch/b --rw=randread --ioengine=libaio --bs=4096": true,
		"fio --name=a --filename=/dev/nvme0n1 --ioengine=io_uring":                                true,
		`fio --name=a --filename=/scratch/a\:b`:                                                   true,
		"fio --enghelp":                                                                           true,
		"fio --name=a --exec_prerun=/bin/sh":                                                      false,
		"fio --name=a --exec_postrun=reboot":                                                      false,
		"fio --name=a --ioengine=exec --program=/bin/sh":                                          false,
		"fio --name=a --ioengine=external:/scratch/x.so":                                          false,
		"fio --name=a --ioengine=/scratch/x.so":                                                   false,
		"fio --name=a --filename=/etc/cron.d/x":                                                   false,
		"fio --name=a --filename=/scratch/a:/etc/passwd":                                          false,
		"fio --name=a --filename=/scratch/../etc/passwd":                                          false,
		"fio --name=a --directory=/etc":                                                           false,
		"fio --name=a --write_bw_log=/etc/cron.d/x":                                               false,
		"fio /scratch/job.fio":                                                                    false,
		"fio -":                                                                                   false,
		"fio --server":                                                                            false,
		"fio --output=/etc/cron.d/x":                                                              false,
		"fio --name=a --buffer_pattern='x'":                                                       false,
		"fio --name=a --lockfile=/etc/x":                                                          false,
		"memcached --version":                                                                     true,
		"memcached -l 127.0.0.1 -p 1 -U 0 -t 4 -o slab_chunk_max=1024":                            true,
		"memcached -P /etc/cron.d/x":                                                              false,
		"memcached -o memory_file=/etc/x":                                                         false,
		"memcached -o slab_chunk_max=1024,memory_file=/etc/x":                                     false,
		"memcached -d":                                                                            false,
		"ethtool -c eth0":                                                                         true,
		"ethtool -C eth0 rx-usecs 3":                                                              true,
		"ethtool --flash eth0 x":                                                                  false,
		"ethtool -f eth0 x":                                                                       false,
		"nginx -p /scratch/s/ -e error.log -c good.conf":                                          true,
		"nginx -p /scratch/s/ -e error.log -c good.conf -g load_module":                           false,
		"nginx -p /scratch/s/ -e ../../etc/x -c good.conf":                                        false,
		"nginx -p /etc/ -e error.log -c good.conf":                                                false,
		"nginx -p /scratch/s/ -e error.log -c module.conf":                                        false,
		"nginx -p /scratch/s/ -e error.log -c log.conf":                                           false,
		"nginx -p /scratch/s/ -e error.log -c quoted.conf":                                        false,
		"nginx -p /scratch/s/ -e error.log -c absent.conf":                                        false,
		"redis-server /scratch/good.conf":                                                         true,
		"redis-server /scratch/module.conf":                                                       false,
		"redis-server /scratch/dir.conf":                                                          false,
		"redis-server /scratch/good.conf --loadmodule /scratch/x.so":                              false,
		"redis-server --loadmodule":                                                               false,
		"redis-server /etc/redis.conf":                                                            false,
		"setpriv --reuid=1 -- redis-server /scratch/good.conf":                                    true,
		"setpriv --reuid=1 -- redis-server /scratch/module.conf":                                  false,
		"setpriv --reuid=1 -- fio --name=a --exec_prerun=x":                                       false,
		"setpriv --reuid=1 --apparmor-profile x -- redis-server /scratch/go":                      false,
	} {
		f := &fake{files: map[string]string{
			"/scratch/s/good.conf":   "daemon off;\nevents { worker_connections 3; }\nhttp {\naccess_log off;\nserver { listen 127.0.0.1:1; root www; location = / { try_files /0/page.html =404; } }\n}\n",
			"/scratch/s/module.conf": "load_module x.so;",
			"/scratch/s/log.conf":    "http { access_log /etc/cron.d/x; }",
			"/scratch/s/quoted.conf": `http { "load_module" x.so; }`,
			"/scratch/good.conf":     "port 1\ndir \"/scratch/s\"\nappendonly no\n",
			"/scratch/module.conf":   "port 1\nloadmodule /scratch/x.so\n",
			"/scratch/dir.conf":      "dir \"/etc/cron.d\"\n",
			"/etc/redis.conf":        "port 1\n",
			"/etc/good.conf":         "daemon off;",
		}}
		_, err := guard(t, f, Rules{}).Run(t.Context(), platform.Command{Argv: strings.Fields(line)})
		if ran := len(f.ran) == 1; ran != ok || (err == nil) != ok {
			t.Errorf("%s: ran %v, %v", line, ran, err)
		}
	}
}

// The configuration of a server cannot be changed between its check and its start.
func TestAConfigurationInUseIsNotWritten(t *testing.T) {
	f := &fake{files: map[string]string{"/scratch/good.conf": "port 1\n"}}
	w := guard(t, f, Rules{})
	f.during = func() {
		if err := w.WriteFile(t.Context(), "/scratch/./good.conf", []byte("loadmodule x")); !errors.Is(err, ErrNotAllowed) {
			t.Errorf("the configuration of a server was written: %v", err)
		}
		for _, line := range []string{"tee -- /scratch/good.conf", "fio --name=a --filename=/scratch/good.conf"} {
			if _, err := w.Run(t.Context(), platform.Command{Argv: strings.Fields(line)}); !errors.Is(err, ErrNotAllowed) {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
	if _, err := w.Run(t.Context(), platform.Command{Argv: []string{"redis-server", "/scratch/good.conf"}}); err != nil {
		t.Fatal(err)
	}
	f.during = nil
	if err := w.WriteFile(t.Context(), "/scratch/good.conf", []byte("port 2\n")); err != nil {
		t.Errorf("after the server ended: %v", err)
	}
}

// A worker gets its job unchanged, unless the job would run a program named by the study.
func TestTheJobOfAWorker(t *testing.T) {
	for job, ok := range map[string]bool{
		`{"workload":"web","settings":{"rate":"1/s"}}`:          true,
		`{"workload":"compile","settings":{"compiler":"sh"}}`:   false,
		`{"workload":"web","Workload":"compile"}`:               false,
		`{"settings":{"workload":"compile"},"workload":"null"}`: true,
		`not JSON`: false,
	} {
		f := &fake{}
		var got []byte
		f.during = func() { got, _ = io.ReadAll(f.stdin) }
		_, err := guard(t, f, Rules{}).Run(t.Context(), platform.Command{Argv: []string{"/opt/plimsoll", "worker"}, Stdin: strings.NewReader(job)})
		if (err == nil) != ok || ok && string(got) != job {
			t.Errorf("%s: %v, the worker got %s", job, err, got)
		}
	}
}
