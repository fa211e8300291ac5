package appliance

import (
	"context"
	"crypto/sha1" //nolint:gosec // the fingerprints of ESXi hosts that a vCenter gives
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/nfc"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/ovf"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"plimsoll/internal/guest/disk"
)

const (
	// beat is the interval of progress reports of an upload. A lease expires after five
	// minutes without one.
	beat = 10 * time.Second
	// patience is the time limit of calls that free resources of the vCenter.
	patience = 20 * time.Second
)

// Import uploads an appliance as a VM, which stays off and is cloned. Version is the virtual
// hardware version, such as vmx-20; empty is that of the appliance.
func (s *DeployTarget) Import(ctx context.Context, name, mark, version string, a *disk.Appliance) (*VM, error) {
	v, err := s.upload(ctx, name, mark, version, a)
	if err != nil {
		return nil, fmt.Errorf("deploy the appliance to datastore %s: %w", s.storeName, err)
	}
	return v, nil
}

func (s *DeployTarget) upload(ctx context.Context, name, mark, version string, a *disk.Appliance) (*VM, error) {
	made, err := ovf.NewManager(s.vim()).CreateImportSpec(ctx, string(a.OVF), object.NewReference(s.vim(), s.pool), object.NewReference(s.vim(), s.store), &types.OvfCreateImportSpecParams{
		EntityName: name, DiskProvisioning: string(types.OvfCreateImportSpecParamsDiskProvisioningTypeThin),
		NetworkMapping: []types.OvfNetworkMapping{{Name: "VM Network", Network: s.attach}},
	})
	if err != nil {
		return nil, err
	}
	if len(made.Error) > 0 {
		return nil, errors.New(made.Error[0].LocalizedMessage)
	}
	spec, is := made.ImportSpec.(*types.VirtualMachineImportSpec)
	if !is {
		return nil, fmt.Errorf("the vCenter created a %T", made.ImportSpec)
	}
	spec.ConfigSpec.Annotation = mark
	if version != "" {
		spec.ConfigSpec.Version = version
	}
	answer, err := methods.ImportVApp(ctx, s.vim(), &types.ImportVApp{This: s.pool, Spec: spec, Folder: &s.folder})
	if err != nil {
		return nil, err
	}
	lease := nfc.NewLease(s.vim(), answer.Returnval)
	info, err := lease.Wait(ctx, made.FileItem)
	if err != nil {
		return nil, err
	}
	if err := s.fill(ctx, lease, info, a); err != nil {
		return nil, errors.Join(err, s.abort(lease, err))
	}
	if err := lease.Complete(ctx); err != nil {
		return nil, err
	}
	return &VM{site: s, ref: info.Entity, name: name}, nil
}

// abort makes the vCenter remove the VM of an upload.
func (s *DeployTarget) abort(lease *nfc.Lease, why error) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return lease.Abort(ctx, &types.LocalizedMethodFault{Fault: &types.OvfImportFailed{}, LocalizedMessage: why.Error()})
}

// fill sends the files, and reports progress to the vCenter.
func (s *DeployTarget) fill(ctx context.Context, lease *nfc.Lease, info *nfc.LeaseInfo, a *disk.Appliance) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var sent atomic.Int64
	total := int64(1)
	for _, f := range a.Disks {
		total += f.Size
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		tick := time.NewTicker(beat)
		defer tick.Stop()
		for {
			if err := lease.Progress(ctx, int32(sent.Load()*100/total)); err != nil && ctx.Err() == nil {
				cancel(fmt.Errorf("keep the upload alive: %w", err))
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	var err error
	for _, f := range a.Disks {
		if err = s.sendDisk(ctx, info, f, &sent); err != nil {
			break
		}
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	cancel(nil)
	<-told
	return err
}

func (s *DeployTarget) sendDisk(ctx context.Context, info *nfc.LeaseInfo, f disk.File, sent *atomic.Int64) error {
	for _, item := range info.Items {
		if item.Path != f.Name {
			continue
		}
		in, err := os.Open(f.Path)
		if err != nil {
			return err
		}
		defer in.Close() //nolint:errcheck // only read
		request, err := http.NewRequestWithContext(ctx, http.MethodPost, item.URL.String(), &counted{in, sent})
		if err != nil {
			return err
		}
		request.ContentLength = f.Size
		request.Header.Set("Content-Type", "application/x-vnd.vmware-streamVmdk")
		return send(s.web(item.Thumbprint), request)
	}
	return fmt.Errorf("the vCenter did not request the file %s", f.Name)
}

// counted counts bytes read.
type counted struct {
	io.Reader
	to *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.to.Add(int64(n))
	return n, err
}

func send(c *http.Client, r *http.Request) error {
	answer, err := c.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close() //nolint:errcheck // the response is not used
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s of a file to %s: %s", r.Method, r.URL.Host, answer.Status)
	}
	return nil
}

// web is a client for a host with a certificate of a SHA-1 thumbprint, which the vCenter
// reported over its verified connection. Without a thumbprint the peer is the vCenter, or its
// certificate is of the same authority.
func (s *DeployTarget) web(print string) *http.Client {
	if print == "" {
		return &http.Client{Transport: s.vim().Client.Client.Transport, Jar: s.vim().Client.Client.Jar}
	}
	want := strings.ToLower(strings.ReplaceAll(print, ":", ""))
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		InsecureSkipVerify: true, // VerifyConnection does it
		VerifyConnection: func(c tls.ConnectionState) error {
			if sum := sha1.Sum(c.PeerCertificates[0].Raw); hex.EncodeToString(sum[:]) != want { //nolint:gosec // see above
				return errors.New("the thumbprint of the host's certificate differs from the one that the vCenter reports")
			}
			return nil
		},
	}}}
}

// put writes a file to the datastore, in a folder that exists.
func (s *DeployTarget) put(ctx context.Context, path string, content []byte) error {
	at := object.NewDatastore(s.vim(), s.store)
	at.DatacenterPath, at.InventoryPath = s.datacenter, s.storeName
	u := at.NewURL(path)
	if err := s.vim().Upload(ctx, strings.NewReader(string(content)), u, &soap.Upload{
		Method: http.MethodPut, Type: "application/octet-stream", ContentLength: int64(len(content)),
	}); err != nil {
		return fmt.Errorf("write %s to datastore %s: %w", path, s.storeName, err)
	}
	return nil
}
