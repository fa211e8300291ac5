package sim_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/event"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vapi/tags"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"plimsoll/internal/effort"
	"plimsoll/internal/vsphere/sim"
	"plimsoll/internal/vsphere/sim/state"
)

// everything is all properties of all objects in a container view, and of the managers with state, as the API tells
// them, one text for each. Folders of files and what a session or a round of DRS makes are left out.
func everything(t *testing.T, c *govmomi.Client) map[string]string {
	t.Helper()
	v, err := view.NewManager(c.Client).CreateContainerView(t.Context(), c.ServiceContent.RootFolder, nil, true)
	if err != nil {
		t.Fatal(err)
	}
	var list []types.ManagedObjectReference
	if list, err = v.Find(t.Context(), nil, property.Match{}); err != nil || len(list) == 0 {
		t.Fatal(list, err)
	}
	list = append(list, c.ServiceContent.RootFolder, *c.ServiceContent.CustomFieldsManager, *c.ServiceContent.AuthorizationManager)
	told := map[string]string{}
	for _, ref := range list {
		tell(t, c, ref, told)
	}
	return told
}

// statistics are computed anew all the time, as are the runtime of pools and the usage and the score of clusters.
var statistics = regexp.MustCompile(`(?s)<quickStats>.*?</quickStats>|<runtime><memory>.*?</runtime>|<usageSummary>.*?</usageSummary>|<(?:drsScore|currentBalance)>.*?</(?:drsScore|currentBalance)>`)

// tell adds an object, and the snapshots, managers and browsers that it refers to.
func tell(t *testing.T, c *govmomi.Client, ref types.ManagedObjectReference, told map[string]string) {
	t.Helper()
	var content []types.ObjectContent
	if err := property.DefaultCollector(c.Client).Retrieve(t.Context(), []types.ManagedObjectReference{ref}, nil, &content); err != nil {
		told[ref.String()] = err.Error() // govmomi's simulator has references to nothing
		return
	}
	for _, p := range content[0].PropSet {
		if slices.Contains([]string{"recentTask", "recommendation", "drsRecommendation", "drsFault"}, p.Name) || ref.Type == "ResourcePool" && p.Name == "runtime" {
			continue
		}
		text, err := xml.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		told[ref.String()+"."+p.Name] = folders(statistics.ReplaceAllString(string(text), ""))
		switch v := p.Val.(type) {
		case types.ManagedObjectReference:
			if strings.HasSuffix(v.Type, "Browser") {
				tell(t, c, v, told)
			}
		case types.HostConfigManager:
			for _, m := range []*types.ManagedObjectReference{v.DatastoreSystem, v.NetworkSystem, v.StorageSystem, v.FirewallSystem, v.AdvancedOption, v.VirtualNicManager} {
				tell(t, c, *m, told)
			}
		case types.VirtualMachineSnapshotInfo:
			for _, root := range v.RootSnapshotList {
				tell(t, c, root.Snapshot, told)
			}
		}
	}
}

// folders replaces the folder of a simulator in a text.
func folders(text string) string {
	for {
		i := strings.Index(text, "/vcenter-")
		if i < 0 {
			return text
		}
		start := strings.LastIndexAny(text[:i], ">\"; ") + 1
		end := i + 1 + strings.IndexAny(text[i+1:], "/<\"; ")
		text = text[:start] + "FOLDER" + text[end:]
	}
}

// disorder does random operations, of which some fail.
func disorder(t *testing.T, c *govmomi.Client, seed uint64) {
	t.Helper()
	ctx, r := t.Context(), rand.New(rand.NewPCG(seed, 1))
	var vms []mo.VirtualMachine
	var hosts []mo.HostSystem
	var pools []mo.ResourcePool
	all(t, c, "VirtualMachine", []string{"parent", "runtime.host"}, &vms)
	all(t, c, "HostSystem", []string{"name"}, &hosts)
	all(t, c, "ResourcePool", []string{"name"}, &pools)
	wait := func(task *object.Task, err error) bool { return err == nil && task.Wait(ctx) == nil }
	for i := range 60 {
		is := vms[r.IntN(len(vms))]
		vm := object.NewVirtualMachine(c.Client, is.Self)
		switch r.IntN(11) {
		case 0:
			wait(vm.PowerOff(ctx))
		case 1:
			wait(vm.PowerOn(ctx))
		case 2:
			wait(vm.Suspend(ctx))
		case 3, 4:
			wait(vm.CreateSnapshot(ctx, fmt.Sprint("snapshot ", i, " <&>"), "of a test", r.IntN(2) == 0, false))
		case 5:
			wait(vm.RevertToSnapshot(ctx, fmt.Sprint("snapshot ", r.IntN(i+1), " <&>"), true))
		case 6:
			wait(vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{Annotation: fmt.Sprint("ünusual ", i), CpuAllocation: &types.ResourceAllocationInfo{Reservation: types.NewInt64(int64(i))}}))
		case 7:
			wait(vm.Clone(ctx, object.NewFolder(c.Client, *is.Parent), fmt.Sprint("copy-", seed, "-", i), types.VirtualMachineCloneSpec{PowerOn: r.IntN(2) == 0}))
		case 8:
			wait(vm.Migrate(ctx, nil, object.NewHostSystem(c.Client, hosts[r.IntN(len(hosts))].Self), types.VirtualMachineMovePriorityDefaultPriority, ""))
		case 9:
			_, _ = object.NewResourcePool(c.Client, pools[r.IntN(len(pools))].Self).Create(ctx, fmt.Sprint("pool-", i), types.DefaultResourceConfigSpec())
		default:
			wait(vm.Reconfigure(ctx, types.VirtualMachineConfigSpec{ExtraConfig: []types.BaseOptionValue{&types.OptionValue{Key: fmt.Sprint("guestinfo.", i), Value: "a]]>b"}}}))
		}
	}
}

// govern changes what the managers hold.
func govern(t *testing.T, c *govmomi.Client) {
	t.Helper()
	ctx := t.Context()
	var vms []mo.VirtualMachine
	var clusters []mo.ClusterComputeResource
	all(t, c, "VirtualMachine", []string{"name"}, &vms)
	all(t, c, "ClusterComputeResource", []string{"name"}, &clusters)
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	fields, err := object.GetCustomFieldsManager(c.Client)
	check(err)
	def, err := fields.Add(ctx, "owner", "VirtualMachine", nil, nil)
	check(err)
	check(fields.Set(ctx, vms[0].Self, def.Key, "somebody"))
	rights := object.NewAuthorizationManager(c.Client)
	role, err := rights.AddRole(ctx, "operators", []string{"VirtualMachine.Interact.PowerOn"})
	check(err)
	check(rights.SetEntityPermissions(ctx, vms[1].Self, []types.Permission{{Principal: "somebody", RoleId: role, Propagate: true}}))
	api := rest.NewClient(c.Client)
	check(api.Login(ctx, url.UserPassword("operator", "secret")))
	m := tags.NewManager(api)
	category, err := m.CreateCategory(ctx, &tags.Category{Name: "colour", Cardinality: "MULTIPLE", AssociableTypes: []string{"VirtualMachine"}})
	check(err)
	_, err = m.CreateTag(ctx, &tags.Tag{Name: "red", CategoryID: category, Description: "not blue"})
	check(err)
	check(m.AttachTag(ctx, "red", vms[0].Self))
	task, err := object.NewClusterComputeResource(c.Client, clusters[0].Self).Reconfigure(ctx, &types.ClusterConfigSpecEx{RulesSpec: []types.ClusterRuleSpec{{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationAdd},
		Info:            &types.ClusterAntiAffinityRuleSpec{ClusterRuleInfo: types.ClusterRuleInfo{Name: "apart", Enabled: types.NewBool(true)}, Vm: []types.ManagedObjectReference{vms[0].Self, vms[1].Self}},
	}}}, true)
	check(err)
	check(task.Wait(ctx))
}

// tagsOf tells the tags of all VMs.
func tagsOf(t *testing.T, c *govmomi.Client) (told []string) {
	t.Helper()
	api := rest.NewClient(c.Client)
	if err := api.Login(t.Context(), url.UserPassword("operator", "secret")); err != nil {
		t.Fatal(err)
	}
	m := tags.NewManager(api)
	kinds, err := m.GetTags(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds {
		objects, err := m.ListAttachedObjects(t.Context(), k.ID)
		if err != nil {
			t.Fatal(err)
		}
		told = append(told, fmt.Sprint(k, objects))
	}
	return told
}

// messages are those of the latest events, without those of sessions.
func messages(t *testing.T, c *govmomi.Client) (list []string) {
	t.Helper()
	events, err := event.NewManager(c.Client).QueryEvents(t.Context(), types.EventFilterSpec{MaxCount: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if name := fmt.Sprintf("%T", e); !strings.Contains(name, "Session") {
			list = append(list, fmt.Sprint(name, e.GetEvent().CreatedTime.UTC(), e.GetEvent().FullFormattedMessage))
		}
	}
	slices.Sort(list)
	return list
}

// again saves a simulator, and starts one from what was saved.
func again(t *testing.T, s *sim.Server) (*sim.Server, *govmomi.Client, []byte) {
	t.Helper()
	var file bytes.Buffer
	if left, err := s.Save(&file); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	read, err := state.Read(bytes.NewReader(file.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	made, c := loaded(t, read)
	return made, c, file.Bytes()
}

// loaded is a simulator of a state.
func loaded(t *testing.T, read *state.State) (*sim.Server, *govmomi.Client) {
	t.Helper()
	made, err := sim.Start(context.Background(), sim.Options{State: read, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := made.Close(); err != nil {
			t.Error(err)
		}
	})
	return made, connect(t, made)
}

// After random operations, all properties of all objects are the same in a simulator that was loaded, and it works.
func TestStateComesBack(t *testing.T) {
	t.Parallel()
	seeds := uint64(1)
	if effort.Full() {
		seeds = 8
	}
	for seed := range seeds {
		s, c := serve(t, lab(3, 8))
		disorder(t, c, seed)
		govern(t, c)
		want, labels, said := everything(t, c), tagsOf(t, c), messages(t, c)
		s, c, _ = again(t, s)
		got := everything(t, c)
		differences := 0
		for name, text := range want {
			if d := cmp.Diff(text, got[name]); d != "" && differences < 5 {
				differences++
				t.Errorf("seed %d: %s: %.2000s", seed, name, d)
			}
		}
		for name := range got {
			if _, had := want[name]; !had {
				t.Errorf("seed %d: %s is new", seed, name)
			}
		}
		if d := cmp.Diff(labels, tagsOf(t, c)); d != "" || len(labels) == 0 {
			t.Errorf("seed %d: tags %v: %s", seed, labels, d)
		}
		if d := cmp.Diff(said, messages(t, c)); d != "" {
			t.Errorf("seed %d: events: %.2000s", seed, d)
		}
		disorder(t, c, seed+100) // and no reference is given twice, or the next state would differ
		want = everything(t, c)
		_, c, _ = again(t, s)
		if d := cmp.Diff(want, everything(t, c)); d != "" {
			t.Errorf("seed %d, loaded twice: %.2000s", seed, d)
		}
	}
}

// States that are written while clients work and wait are consistent, and what is under way goes on.
func TestCheckpointsAreConsistent(t *testing.T) {
	s, c := serve(t, lab(3, 8))
	b := &bed{TB: t, ctx: t.Context(), Client: c}
	w := b.watch(c.ServiceContent.RootFolder, "runtime.powerState")
	w.next(10)
	waits := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, err := methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{This: w.pc, Version: w.version})
		waits <- err
	}()
	worked, ended := make(chan struct{}), make(chan struct{})
	var files [][]byte
	go func() {
		defer close(ended)
		for last := false; !last; {
			select {
			case <-worked:
				last = true
			case <-time.After(20 * time.Millisecond): // in which clients work
			}
			var file bytes.Buffer
			if _, err := s.Checkpoint(&file); err != nil {
				t.Error(err)
			}
			files = append(files, file.Bytes())
		}
	}()
	disorder(t, c, 7)
	close(worked)
	<-ended
	want := everything(t, c)
	cancel()
	<-waits
	for i, file := range [][]byte{files[len(files)/2], files[len(files)-1]} {
		read, err := state.Read(bytes.NewReader(file))
		if err != nil {
			t.Fatal(err)
		}
		_, c := loaded(t, read)
		(&bed{TB: t, ctx: t.Context(), Client: c}).consistent()
		if d := cmp.Diff(want, everything(t, c)); d != "" && i > 0 {
			t.Errorf("the last of %d states differs: %.2000s", len(files), d)
		}
	}
}

// A VM that was unregistered is registered as it was, also after loading.
func TestUnregisteredVMsComeBack(t *testing.T) {
	t.Parallel()
	s, c := serve(t, simple())
	b := bed{TB: t, ctx: t.Context(), Client: c}
	var vms []mo.VirtualMachine
	all(t, c, "VirtualMachine", []string{"config", "parent", "resourcePool", "runtime.host"}, &vms)
	is := vms[0]
	vm := object.NewVirtualMachine(c.Client, is.Self)
	b.done(vm.PowerOff(b.ctx))
	if err := vm.Unregister(b.ctx); err != nil {
		t.Fatal(err)
	}
	_, c, _ = again(t, s)
	task, err := object.NewFolder(c.Client, *is.Parent).RegisterVM(b.ctx, is.Config.Files.VmPathName, "", false, object.NewResourcePool(c.Client, *is.ResourcePool), object.NewHostSystem(c.Client, *is.Runtime.Host))
	if err != nil {
		t.Fatal(err)
	}
	info, err := task.WaitForResult(b.ctx)
	if err != nil {
		t.Fatal(err)
	}
	var back mo.VirtualMachine
	if err := property.DefaultCollector(c.Client).RetrieveOne(b.ctx, info.Result.(types.ManagedObjectReference), []string{"config"}, &back); err != nil {
		t.Fatal(err)
	}
	if back.Config.Uuid != is.Config.Uuid || back.Config.Hardware.NumCPU != is.Config.Hardware.NumCPU {
		t.Errorf("back is %+v", back.Config)
	}
}

// Files that are truncated, damaged or of another kind are refused.
func TestDamagedStatesAreRefused(t *testing.T) {
	t.Parallel()
	s, _ := serve(t, lab(2, 2))
	_, _, file := again(t, s)
	for n := 0; n < len(file); n += 1 + len(file)/12 {
		if _, err := state.Read(bytes.NewReader(file[:n])); err == nil {
			t.Errorf("the first %d of %d bytes are read", n, len(file))
		}
		damaged := slices.Clone(file)
		damaged[n] ^= 0x55
		if read, err := state.Read(bytes.NewReader(damaged)); err == nil && n > 10 { // the header of gzip has no checksum
			t.Errorf("a file with byte %d changed is read: %d tasks", n, read.Begun())
		}
	}
}
