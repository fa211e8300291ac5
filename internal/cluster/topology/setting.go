package topology

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Setting is the configuration of a VM's virtual topology on a platform.
type Setting struct {
	VCPUs          int
	CoresPerSocket int // 0: the platform chooses
	CoresPerNode   int // of virtual NUMA; 0: the platform chooses
	HotAdd         bool
	ShowOnHotAdd   bool // virtual NUMA is exposed despite hot-add
	// Advanced are the platform's advanced settings that concern the topology.
	Advanced map[string]string
}

const auto = "auto"

// String is the setting on one line, which ParseSetting reads.
func (s Setting) String() string {
	number := func(n int) string {
		if n == 0 {
			return auto
		}
		return strconv.Itoa(n)
	}
	words := []string{"vcpus=" + strconv.Itoa(s.VCPUs), "cores-per-socket=" + number(s.CoresPerSocket), "cores-per-node=" + number(s.CoresPerNode)}
	if s.HotAdd {
		words = append(words, "hot-add=on")
	}
	if s.ShowOnHotAdd {
		words = append(words, "show-nodes-on-hot-add=on")
	}
	for _, name := range slices.Sorted(maps.Keys(s.Advanced)) {
		words = append(words, url.QueryEscape(name)+":"+url.QueryEscape(s.Advanced[name]))
	}
	return strings.Join(words, " ")
}

// ParseSetting reads what String wrote.
func ParseSetting(text string) (Setting, error) {
	s := Setting{Advanced: map[string]string{}}
	for i, word := range strings.Split(text, " ") {
		var err error
		if name, value, found := strings.Cut(word, "="); found {
			err = s.take(name, value)
		} else {
			err = s.takeAdvanced(word)
		}
		if err != nil {
			return Setting{}, fmt.Errorf("word %d of the setting, %.60q: %w", i+1, word, err)
		}
	}
	if s.VCPUs == 0 {
		return Setting{}, errors.New("the setting has no vCPUs")
	}
	return s, nil
}

func (s *Setting) take(name, value string) (err error) {
	into := map[string]*int{"vcpus": &s.VCPUs, "cores-per-socket": &s.CoresPerSocket, "cores-per-node": &s.CoresPerNode}[name]
	flag := map[string]*bool{"hot-add": &s.HotAdd, "show-nodes-on-hot-add": &s.ShowOnHotAdd}[name]
	switch {
	case flag != nil && value == "on":
		*flag = true
	case into != nil && value == auto && name != "vcpus":
		*into = 0
	case into != nil:
		if *into, err = strconv.Atoi(value); err != nil || *into < 1 || *into > most {
			return fmt.Errorf("must be %s or a number from 1 to %d", auto, most)
		}
	default:
		return errors.New("unknown")
	}
	return nil
}

func (s *Setting) takeAdvanced(word string) error {
	name, value, found := strings.Cut(word, ":")
	key, err := url.QueryUnescape(name)
	if err != nil || !found || key == "" {
		return errors.New("must be a name and a value with : between them")
	}
	if value, err = url.QueryUnescape(value); err != nil || value == "" {
		return errors.New("invalid value")
	}
	s.Advanced[key] = value
	return nil
}

// AdvancedNames are the advanced settings of vSphere that concern the topology of a VM, except
// those that vSphere writes itself.
func AdvancedNames() []string {
	return []string{preferHT, least, once, largestNode}
}

const (
	preferHT    = "numa.vcpu.preferHT"
	least       = "numa.vcpu.min"
	once        = "numa.autosize.once"
	largestNode = "numa.autosize.vcpu.maxPerVirtualNode"
)

// Present is the present setting of a VM.
type Present struct {
	Setting
	// Automatic reports that the platform can choose sockets and nodes, as vSphere 8 does for
	// VMs of hardware version 20.
	Automatic bool
	// NodePerSocket reports that a virtual node is a socket, as on Proxmox VE: the cores of a
	// node are 0 for a single node, or those of a socket.
	NodePerSocket bool
	// Cells says that the nodes of a VM are listed in its definition, as libvirt's cells are: the cores
	// of a node are 0 without a list. Without cores per socket, a socket has one.
	Cells bool
	// MostNodes is how many nodes the memory of a VM can be divided into; 0 is any number.
	MostNodes int
}

// Change is the setting that makes a VM as recommended, or why there is none.
func (a Advice) Change(now Present) (want Setting, why string) {
	switch {
	case now.VCPUs != a.VM.VCPUs:
		return want, fmt.Sprintf("it has %d vCPUs now", now.VCPUs)
	case a.Grade == ExceedsHost:
		return want, "it exceeds every host: reduce its vCPUs or its memory"
	case a.Grade == Odd:
		return want, "its vCPUs do not divide evenly over nodes: change their number"
	case a.fulfilled(now) && a.Grade == HotAddFlat:
		return want, "CPU hot-add hides the nodes: see --without-hot-add and --expose-on-hot-add"
	case a.fulfilled(now) && a.Grade == Flat:
		return want, fmt.Sprintf("it has fewer vCPUs than --vnuma-min: with --vnuma-min %d it is shown its nodes", a.VM.VCPUs)
	case a.fulfilled(now) && a.Grade == Stale:
		return want, "its setting is as recommended, and takes effect at the next power-on"
	case a.fulfilled(now):
		return want, "it is as recommended"
	case now.NodePerSocket && a.apart() && a.CoresPerSocket != a.Nodes[0].VCPUs:
		return want, fmt.Sprintf("sockets are nodes on this platform, but sockets of %d are recommended for nodes of %d", a.CoresPerSocket, a.Nodes[0].VCPUs)
	case now.NodePerSocket:
		return a.sockets(), ""
	case now.Cells && a.apart() && a.VM.VCPUs%len(a.Nodes) != 0:
		return want, "its vCPUs do not divide evenly over nodes: change their number"
	case now.MostNodes > 0 && a.apart() && len(a.Nodes) > now.MostNodes:
		return want, fmt.Sprintf("%d nodes are advised, and its huge pages can be divided among %d", len(a.Nodes), now.MostNodes)
	case now.Cells:
		return a.listed(now), ""
	}
	return a.wanted(now), ""
}

// apart reports whether the guest is shown several nodes.
func (a Advice) apart() bool { return len(a.Nodes) > 1 && a.Exposed }

// sockets is the setting on a platform where nodes are sockets.
func (a Advice) sockets() Setting {
	want := Setting{VCPUs: a.VM.VCPUs, CoresPerSocket: a.CoresPerSocket, HotAdd: a.VM.HotAdd, Advanced: map[string]string{}}
	if a.apart() {
		want.CoresPerNode = a.CoresPerSocket
	}
	return want
}

// listed is the setting on a platform with a list of nodes. A list that is there stays, if only with
// one node: devices may depend on it.
func (a Advice) listed(now Present) Setting {
	want := Setting{VCPUs: a.VM.VCPUs, CoresPerSocket: a.CoresPerSocket, HotAdd: a.VM.HotAdd, Advanced: map[string]string{}}
	switch {
	case a.apart():
		want.CoresPerNode = a.Nodes[0].VCPUs
	case now.CoresPerNode > 0:
		want.CoresPerNode = a.VM.VCPUs
	}
	return want
}

// wanted is the setting on vSphere.
func (a Advice) wanted(now Present) Setting {
	want := Setting{VCPUs: a.VM.VCPUs, CoresPerSocket: a.CoresPerSocket, CoresPerNode: a.coresPerNode(), HotAdd: a.VM.HotAdd, Advanced: map[string]string{}}
	want.ShowOnHotAdd = a.VM.HotAdd && a.Options.ExposeOnHotAdd && now.Automatic
	for _, f := range a.extra() {
		if slices.Contains(AdvancedNames(), f.Path) {
			want.Advanced[f.Path] = f.Value
		}
	}
	switch {
	case !now.Automatic: // nodes are given by their size, in an advanced setting
		if want.CoresPerNode = 0; len(a.Nodes) > 1 {
			want.Advanced[largestNode] = strconv.Itoa(a.Nodes[0].VCPUs)
		}
	case a.Automatic:
		want.CoresPerSocket, want.CoresPerNode = 0, 0
	}
	return want
}

// fulfilled reports whether a VM is set up as recommended, by itself or by its setting.
func (a Advice) fulfilled(now Present) bool {
	cores := now.CoresPerSocket
	if cores == 0 && now.Automatic && a.Automatic {
		cores = a.CoresPerSocket
	}
	if cores == 0 && now.Cells {
		cores = 1
	}
	node := now.CoresPerNode
	if now.NodePerSocket || now.Cells {
		fits := a.apart() && node == a.Nodes[0].VCPUs || !a.apart() && (node == 0 || node >= a.VM.VCPUs)
		return cores == a.CoresPerSocket && fits && now.HotAdd == a.VM.HotAdd
	}
	if !now.Automatic {
		node, _ = strconv.Atoi(now.Advanced[largestNode])
	}
	fits := node == 0 || node == a.Nodes[0].VCPUs
	if wanted := a.coresPerNode(); len(a.Nodes) == 1 {
		fits = node == 0 || node >= a.VM.VCPUs
	} else if a.Exposed && !a.Automatic && wanted > 0 {
		fits = node == wanted
	}
	shown := now.ShowOnHotAdd || !now.Automatic || !(a.Exposed && a.VM.HotAdd)
	few := !a.Exposed || a.VM.VCPUs >= DefaultVNUMAMin || now.Advanced[least] != ""
	threads := !a.Options.PreferHT || strings.EqualFold(now.Advanced[preferHT], "TRUE")
	return cores == a.CoresPerSocket && fits && shown && few && threads && now.HotAdd == a.VM.HotAdd
}
