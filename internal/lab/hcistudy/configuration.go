// Package hcistudy turns the configuration of HCIBench and its parameter files, those of fio and of vdbench, into studies.
package hcistudy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"plimsoll/internal/document"
)

// Configuration is what a configuration of HCIBench (perf-conf.yaml, or hcibench.cfg of a case) has an equivalent of here. Addresses and accounts are not read.
type Configuration struct {
	Name        string
	VMs         int
	CPUs        int // of a VM
	Memory      int // of a VM, GiB
	Disks       int // of a VM
	DiskGiB     int
	Preparation string // NONE, ZERO or RANDOM
	Seconds     int    // of the test; 0: by the parameter file
	EasyRun     bool
	Workloads   []string // of an easy run
	Target      string   // latency target of an easy run
	Groups      []Group
	Without     []string // keys that were set and have no equivalent
}

// Group is a VM group.
type Group struct {
	VMs  int
	File string
}

var format = document.Format{Most: 1 << 20, What: "configuration of HCIBench", Example: "number_vm: 4", Begin: "it begins with keys such as number_vm: 4"}

// ReadConfiguration reads a configuration. Empty values count as absent, as in HCIBench.
func ReadConfiguration(name string, data []byte) (*Configuration, error) {
	in := document.New(name, format)
	c := &Configuration{Name: filepath.Base(name)}
	root := in.Read(data)
	if root == nil {
		return nil, in.Err()
	}
	for i := 0; i+1 < len(root.Kids); i += 2 {
		key, value := &root.Kids[i], &root.Kids[i+1]
		if value.Kind == document.Scalar && value.Text == "" || value.Kind != document.Scalar && len(value.Kids) == 0 {
			continue
		}
		if !c.take(in, key.Text, value) {
			c.Without = append(c.Without, key.Text)
		}
	}
	return c, in.Err()
}

// take takes the value of a key; false for one without an equivalent.
func (c *Configuration) take(in *document.File, key string, value *document.Node) bool {
	numbers := map[string]*int{
		"number_vm": &c.VMs, "number_cpu": &c.CPUs, "size_ram": &c.Memory, "number_data_disk": &c.Disks, "size_data_disk": &c.DiskGiB, "testing_duration": &c.Seconds,
	}
	texts := map[string]*string{"warm_up_disk_before_testing": &c.Preparation, "latency_target": &c.Target}
	switch into := numbers[key]; {
	case into != nil:
		*into = whole(in, key, value)
	case texts[key] != nil:
		*texts[key] = value.Text
	case key == "easy_run":
		c.EasyRun = value.Text == "true"
	case key == "workloads":
		for _, w := range value.Kids {
			c.Workloads = append(c.Workloads, w.Text)
		}
	case key == "vm_groups":
		c.groups(in, value)
	case slices.Contains([]string{"tool", "self_defined_param_file_path", "output_path", "vm_prefix", "test_target"}, key):
		// Said by the parameter files, or names only.
	default:
		return false
	}
	return true
}

// mostWhole bounds the numbers of a configuration.
const mostWhole = 1 << 20

func whole(in *document.File, key string, value *document.Node) int {
	n, err := strconv.Atoi(value.Text)
	if value.Kind != document.Scalar || err != nil || n < 0 || n > mostWhole {
		in.Complain(value, "%s is a whole number", key)
		return 0
	}
	return n
}

func (c *Configuration) groups(in *document.File, list *document.Node) {
	for i := range list.Kids {
		g := &list.Kids[i]
		n, file := g.Find("number_vm"), g.Find("param_file")
		if n == nil || file == nil {
			in.Complain(g, "a VM group has number_vm and param_file")
			continue
		}
		c.Groups = append(c.Groups, Group{whole(in, "number_vm", n), file.Text})
	}
}

// easyJobs are the jobs of an easy run by HCIBench's names of its workloads, as far as they tell them apart.
var easyJobs = []struct{ words, job string }{
	{"Random Read with Small", "4k-read"}, {"Random Write with Small", "4k-write"}, {"Sequential Read", "large-read"}, {"Sequential Write", "large-write"}, {"70/30", "4k-70-30"}, {"50/50", "8k-50-50"},
}

// easyCommand is the command of an easy run with the same jobs and latency target.
func (c *Configuration) easyCommand() string {
	command := "plimsoll run hci-easy --set hci.policy=hcibench"
	if target := strings.ToLower(c.Target); slices.Contains([]string{"low", "medium", "high"}, target) {
		command += " --set hci.profile=" + target
	}
	var jobs []string
	for _, w := range c.Workloads {
		for _, j := range easyJobs {
			if strings.Contains(w, j.words) {
				jobs = append(jobs, j.job)
			}
		}
	}
	if len(jobs) > 0 {
		command += " --set hci.jobs=" + strings.Join(jobs, ",")
	}
	return fmt.Sprintf("%s --set ceph.address=CEPH.CONF --set ceph.pool=POOL", command)
}
