package sim_test

import (
	"context"
	"encoding/xml"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi"
	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/cluster"
	"plimsoll/internal/vsphere/sim"
)

// sessions lists the keys of the sessions.
func sessions(t testing.TB, c *govmomi.Client) (keys []string) {
	t.Helper()
	var m mo.SessionManager
	if err := property.DefaultCollector(c.Client).RetrieveOne(t.Context(), *c.ServiceContent.SessionManager, []string{"sessionList"}, &m); err != nil {
		t.Fatal(err)
	}
	for _, s := range m.SessionList {
		keys = append(keys, s.Key)
	}
	return keys
}

// eventually waits for a condition.
func eventually(t testing.TB, what string, is func() bool) {
	t.Helper()
	each := time.NewTicker(5 * time.Millisecond)
	defer each.Stop()
	for limit := time.Now().Add(20 * time.Second); !is(); <-each.C {
		if time.Now().After(limit) {
			t.Fatal("not in 20 s: " + what)
		}
	}
}

// A session that waits for changes lives; one whose client has gone ends, with its wait and its views.
func TestSessionOfAClientThatHasGoneEnds(t *testing.T) {
	t.Parallel()
	s, err := sim.Start(t.Context(), sim.Options{
		Clusters: []*cluster.Cluster{lab(2, 3)}, Listen: "127.0.0.1:0", User: "operator", Password: "secret", Folder: t.TempDir(), Idle: 300 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		before := time.Now()
		if err := s.Close(); err != nil || time.Since(before) > 4*time.Second {
			t.Errorf("close: %v after %v", err, time.Since(before))
		}
	}()
	looks, gone := connect(t, s), connect(t, s)
	key, err := gone.SessionManager.UserSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	v, err := view.NewManager(gone.Client).CreateContainerView(t.Context(), gone.ServiceContent.RootFolder, []string{"VirtualMachine"}, true)
	if err != nil {
		t.Fatal(err)
	}
	ctx, vanish := context.WithCancel(t.Context())
	first, ended := make(chan bool), make(chan error, 1)
	go func() {
		filter := new(property.WaitFilter).Add(v.Reference(), "ContainerView", []string{"view"})
		told := false
		ended <- property.WaitForUpdates(ctx, property.DefaultCollector(gone.Client), filter, func([]types.ObjectUpdate) bool {
			if !told {
				told = true
				close(first)
			}
			return false
		})
	}()
	<-first
	lives := time.Now()
	eventually(t, "the wait lasts longer than a session may be idle", func() bool {
		if !slices.Contains(sessions(t, looks), key.Key) {
			t.Fatal("a session that waits has ended")
		}
		return time.Since(lives) > 900*time.Millisecond
	})
	vanish()
	<-ended
	eventually(t, "the session ends", func() bool { return !slices.Contains(sessions(t, looks), key.Key) })
}

func TestVersionIsThatOfVSphere8(t *testing.T) {
	t.Parallel()
	s, c := serve(t, lab(2, 3))
	if about := c.ServiceContent.About; about.Version != "8.0.2" || about.ApiVersion != "8.0.2.0" || !strings.Contains(about.FullName, "8.0.2") {
		t.Errorf("about: %+v", about)
	}
	var hosts []mo.HostSystem
	all(t, c, "HostSystem", []string{"config.product", "summary.config.product"}, &hosts)
	for _, h := range hosts {
		if h.Config.Product.Version != "8.0.2" || h.Summary.Config.Product.Version != "8.0.2" {
			t.Errorf("host: %+v", h.Config.Product)
		}
	}
	var vms []mo.VirtualMachine
	all(t, c, "VirtualMachine", []string{"config.version"}, &vms)
	if vms[0].Config.Version != "vmx-21" {
		t.Errorf("virtual hardware %s", vms[0].Config.Version)
	}
	u := s.URL()
	u.Path += "/vimServiceVersions.xml"
	r, err := (&http.Client{Transport: c.Client.Client.Transport}).Get(u.String())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	var list struct {
		Version string   `xml:"namespace>version"`
		Prior   []string `xml:"namespace>priorVersions>version"`
	}
	if err := xml.Unmarshal(text, &list); err != nil || list.Version != "8.0.2.0" || !slices.Contains(list.Prior, "7.0.3.0") {
		t.Errorf("%v: %s", err, text)
	}
}

// A session that was ended is no longer known, however its calls were answered before.
func TestEndedSessionsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s, own := serve(t, lab(2, 3))
	ctx := t.Context()
	for range 20 {
		other := connect(t, s)
		key, err := other.SessionManager.UserSession(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := methods.GetCurrentTime(ctx, other); err != nil {
				t.Fatal(err)
			}
		}
		if err := own.SessionManager.TerminateSession(ctx, []string{key.Key}); err != nil {
			t.Fatal(err)
		}
		if _, err := methods.GetCurrentTime(ctx, other); !fault.Is(err, &types.NotAuthenticated{}) {
			t.Fatalf("a call in a session that was ended: %v", err)
		}
	}
	if _, err := methods.GetCurrentTime(ctx, own); err != nil {
		t.Error(err)
	}
}

// What is answered without the simulator's own reader and writer of XML has the same faults.
func TestFaultsOfUsualCalls(t *testing.T) {
	t.Parallel()
	_, c := serve(t, lab(2, 3))
	ctx := t.Context()
	none := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-none"}
	for range 3 {
		if _, err := methods.PowerOnVM_Task(ctx, c, &types.PowerOnVM_Task{This: none}); !fault.Is(err, &types.ManagedObjectNotFound{}) {
			t.Errorf("a VM that is not there: %v", err)
		}
		if _, err := methods.PowerOnVM_Task(ctx, c, &types.PowerOnVM_Task{This: c.ServiceContent.RootFolder}); err == nil || !strings.Contains(err.Error(), "does not implement") {
			t.Errorf("a folder powered on: %v", err)
		}
		if _, err := methods.WaitForUpdatesEx(ctx, c, &types.WaitForUpdatesEx{This: c.ServiceContent.PropertyCollector, Version: "7"}); !fault.Is(err, &types.InvalidCollectorVersion{}) {
			t.Errorf("a version that was never given: %v", err)
		}
		now, err := methods.GetCurrentTime(ctx, c)
		if err != nil || time.Since(*now).Abs() > time.Minute {
			t.Errorf("time %v, %v", now, err)
		}
	}
}
