package guard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"plimsoll/internal/charset"
	"plimsoll/internal/platform"
)

// Some of the programs can run others: fio by options and engines, servers by their
// configuration. Only the lists below are allowed.

// fioOptions are the options that plimsoll passes to fio.
var fioOptions = strings.Fields(`allrandrepeat bs bssplit buffer_compress_percentage clat_percentiles dedupe_percentage direct do_verify
	end_fsync enghelp eta exitall_on_error fallocate filename group_reporting iodepth ioengine lat_percentiles name norandommap numjobs offset
	offset_increment output-format overwrite percentage_random randseed rate_iops rate_process readonly refill_buffers runtime rw rwmixread
	scramble_buffers size status-interval time_based verify verify_fatal verify_interval verify_state_save version zero_buffers`)

// fioEngines are the engines that only read and write.
var fioEngines = strings.Fields("io_uring libaio mmap null posixaio psync pvsync pvsync2 splice sync vsync")

// checkFio allows known options only, and files in the scratch folder or devices.
func (w *Machine) checkFio(argv []string) error {
	for _, arg := range argv[1:] {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		switch {
		case !strings.HasPrefix(arg, "--") || !slices.Contains(fioOptions, name):
			return fmt.Errorf("run fio with %s: %w", arg, ErrNotAllowed)
		case name == "ioengine" && !slices.Contains(fioEngines, value):
			return fmt.Errorf("run fio with engine %s: %w", value, ErrNotAllowed)
		case name == "filename":
			for _, file := range fioFiles(value) {
				if !w.rules.inScratch(file) && !leadsBelow(file, "/dev") || w.isFrozen(file) {
					return fmt.Errorf("run fio on %s, which is neither a device nor in the scratch folder %s: %w", file, w.rules.Scratch, ErrNotAllowed)
				}
			}
		}
	}
	return nil
}

// fioFiles splits a file list of fio at colons; names escape theirs.
func fioFiles(list string) []string {
	const inside = "\x00"
	names := strings.Split(strings.ReplaceAll(list, `\:`, inside), ":")
	for i, name := range names {
		names[i] = strings.ReplaceAll(name, inside, ":")
	}
	return names
}

// memcachedOptions are the options that plimsoll passes to memcached. None names a file.
var memcachedOptions = strings.Fields("-l -p -U -t -m -c -I -o -u")

func checkMemcached(argv []string) error {
	if len(argv) == 2 && argv[1] == "--version" {
		return nil
	}
	for i, arg := range argv[1:] {
		if option := i%2 == 0; option && !slices.Contains(memcachedOptions, arg) ||
			!option && argv[i] == "-o" && !strings.HasPrefix(arg, "slab_chunk_max=") || strings.Contains(arg, ",") {
			return fmt.Errorf("run memcached with %s: %w", arg, ErrNotAllowed)
		}
	}
	return nil
}

// ethtoolOptions read and write interrupt coalescing; others write firmware.
var ethtoolOptions = strings.Fields("-c -C --show-coalesce --coalesce --version")

func checkEthtool(argv []string) error {
	if len(argv) < 2 || !slices.Contains(ethtoolOptions, argv[1]) {
		return fmt.Errorf("run ethtool %s: %w", strings.Join(argv[1:], " "), ErrNotAllowed)
	}
	return nil
}

// configuration describes the configuration file of a server.
type configuration struct {
	version []string // arguments that print the version
	// the file named by the arguments, empty for rejected arguments
	file  func(argv []string) string
	check func(r Rules, text string) error
}

var configurations = map[string]configuration{
	"nginx":         {[]string{"-V", "-v"}, nginxFile, checkNginx},
	"redis-server":  {[]string{"--version"}, redisFile, checkRedis},
	"valkey-server": {[]string{"--version"}, redisFile, checkRedis},
}

// checkServer checks the configuration of a server, and blocks writes to it until the
// server has exited.
func (w *Machine) checkServer(ctx context.Context, name string, argv []string) (release func(), err error) {
	c := configurations[name]
	if len(argv) == 2 && slices.Contains(c.version, argv[1]) {
		return func() {}, nil
	}
	file := c.file(argv)
	if !w.rules.inScratch(file) {
		return nil, fmt.Errorf("run %s with a configuration that is not in the scratch folder %s: %w", name, w.rules.Scratch, ErrNotAllowed)
	}
	release = w.freeze(file)
	text, err := w.ReadFile(ctx, file)
	if err == nil {
		err = c.check(w.rules, string(text))
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("run %s with %s: %w", name, file, err)
	}
	return release, nil
}

func nginxFile(argv []string) string {
	if len(argv) != 7 || argv[1] != "-p" || argv[3] != "-e" || argv[5] != "-c" || strings.Contains(argv[4], "/") || strings.Contains(argv[6], "/") {
		return ""
	}
	return path.Join(argv[2], argv[6])
}

func redisFile(argv []string) string {
	if len(argv) != 2 || strings.HasPrefix(argv[1], "-") {
		return ""
	}
	return argv[1]
}

// nginxDirectives are the directives that plimsoll writes. None loads a module or names a
// program.
var nginxDirectives = strings.Fields(`daemon user worker_processes pid worker_rlimit_nofile events worker_connections http access_log sendfile
	keepalive_timeout keepalive_requests types text/html text/plain image/jpeg client_body_temp_path proxy_temp_path fastcgi_temp_path
	uwsgi_temp_path scgi_temp_path server listen http2 root ssl_certificate ssl_certificate_key location try_files stub_status`)

// nginxNames are the directives whose arguments are names on the server, not files.
var nginxNames = []string{"location", "try_files"}

// checkNginx parses a configuration as far as needed: quotes and variables, which plimsoll
// never writes, are rejected.
func checkNginx(_ Rules, text string) error {
	if strings.ContainsAny(text, "\"'`\\$#") {
		return fmt.Errorf("quotes, variables or remarks: %w", ErrNotAllowed)
	}
	for statement := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(";{}", r) }) {
		words := strings.Fields(statement)
		if len(words) == 0 {
			continue
		}
		if !slices.Contains(nginxDirectives, words[0]) {
			return fmt.Errorf("%s: %w", words[0], ErrNotAllowed)
		}
		for _, word := range words[1:] {
			if strings.Contains(word, "..") || strings.HasPrefix(word, "/") && !slices.Contains(nginxNames, words[0]) || words[0] == "access_log" && word != "off" {
				return fmt.Errorf("%s: %w", strings.Join(words, " "), ErrNotAllowed)
			}
		}
	}
	return nil
}

// redisKeys are the keys that plimsoll writes. None loads a module or names a program.
var redisKeys = strings.Fields(`bind port protected-mode daemonize dir maxmemory maxmemory-policy appendonly appendfsync save hz dynamic-hz
	io-threads set-proc-title`)

func checkRedis(r Rules, text string) error {
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case key == "":
		case !slices.Contains(redisKeys, key):
			return fmt.Errorf("%s: %w", key, ErrNotAllowed)
		case key == "dir" && !r.inScratch(strings.Trim(value, `"`)):
			return fmt.Errorf("dir %s, which is not in the scratch folder %s: %w", value, r.Scratch, ErrNotAllowed)
		}
	}
	return nil
}

// freeze blocks writes to a file until release is called.
func (w *Machine) freeze(name string) (release func()) {
	name = place(name)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.frozen == nil {
		w.frozen = map[string]int{}
	}
	w.frozen[name]++
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.frozen[name]--; w.frozen[name] == 0 {
			delete(w.frozen, name)
		}
	}
}

func (w *Machine) isFrozen(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.frozen[place(name)] > 0
}

// place is the canonical name of a file with several names.
func place(name string) string {
	if to, err := lead(name); err == nil {
		return to
	}
	return path.Clean(name)
}

// worker is the argument that makes plimsoll generate load.
const worker = "worker"

// programmed are the workloads that run a program given in the study.
var programmed = []string{"compile"}

// mostJob is the maximum size of a worker's job, in bytes.
const mostJob = 16 << 20

// checkJob inspects the job of a worker, and returns it to the front of the input.
func checkJob(c platform.Command) (platform.Command, error) {
	if c.Stdin == nil {
		return c, nil
	}
	var seen strings.Builder
	var job struct {
		Workload string `json:"workload"`
	}
	decoder := json.NewDecoder(io.TeeReader(io.LimitReader(c.Stdin, mostJob), &seen))
	if err := decoder.Decode(&job); err != nil && !errors.Is(err, io.EOF) {
		return c, fmt.Errorf("read the job of a worker: %w", err)
	}
	if slices.Contains(programmed, job.Workload) {
		return c, fmt.Errorf("run workload %s, which runs a program that the study names: %w", job.Workload, ErrNotAllowed)
	}
	c.Stdin = io.MultiReader(strings.NewReader(seen.String()), c.Stdin)
	return c, nil
}

// drops reports whether an argument of setpriv only drops a server's privileges.
func drops(arg string) bool {
	switch key, value, valued := strings.Cut(arg, "="); key {
	case "--reuid", "--regid":
		return charset.Only(value, charset.Digits)
	case "--clear-groups", "--pdeathsig", "keep":
		return !valued
	}
	return false
}
