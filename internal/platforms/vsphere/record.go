package vsphere

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"plimsoll/internal/agent/fabric"
	homes "plimsoll/internal/guest/folder"
	"plimsoll/internal/live"
	"plimsoll/internal/vsphere/appliance"
)

// record says which VMs a run makes, and where. It is written before the first one is made, and
// removed after the last one is gone. The run holds its lock as long as it lives.
type record struct {
	URL    string `json:"url"`    // with references to secrets only
	Folder string `json:"folder"` // of the VMs
	Prefix string `json:"prefix"` // of their names
	Mark   string `json:"mark"`   // their annotation

	file *os.File
}

const recordSuffix = ".json"

// newRecord writes a record with a name of its own.
func newRecord(s Settings) (*record, error) {
	folder, err := fabric.StateFolder(machineName)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("record the VMs of this run: %w", err)
	}
	where, err := absolute(s.URL)
	if err != nil {
		return nil, fmt.Errorf("record the VMs of this run: %w", err)
	}
	id := strings.ToLower(rand.Text()[:8])
	r := &record{URL: where, Folder: s.Folder, Prefix: "plimsoll-" + id + "-", Mark: "made by plimsoll, platform vsphere, run " + id}
	if err := r.write(folder, id); err != nil {
		return nil, fmt.Errorf("record the VMs of this run: %w", err)
	}
	return r, nil
}

// absolute is an address whose files are found from every folder.
func absolute(address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	parameters := u.Query()
	for name, kind := range map[string]string{"password": "file:", "ca": ""} {
		path, is := strings.CutPrefix(parameters.Get(name), kind)
		if !is || path == "" {
			continue
		}
		if path, err = filepath.Abs(path); err != nil {
			return "", err
		}
		parameters.Set(name, kind+path)
	}
	u.RawQuery = parameters.Encode()
	return u.String(), nil
}

// write makes a file that is complete and locked as soon as it has its name.
func (r *record) write(folder, id string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	draft := filepath.Join(folder, id+".new")
	if r.file, err = os.OpenFile(draft, os.O_RDWR|os.O_CREATE|os.O_EXCL|syscall.O_CLOEXEC, 0o600); err != nil {
		return err
	}
	_, err = r.file.Write(text)
	err = errors.Join(err, r.file.Sync(), syscall.Flock(int(r.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	if err == nil {
		err = os.Rename(draft, filepath.Join(folder, id+recordSuffix))
	}
	if err != nil {
		return errors.Join(err, os.Remove(draft), r.file.Close())
	}
	return nil
}

// name is the file of a record that was renamed.
func (r *record) name() string {
	return strings.TrimSuffix(r.file.Name(), ".new") + recordSuffix
}

// forget removes the record: no VM is left.
func (r *record) forget() error { return errors.Join(os.Remove(r.name()), r.file.Close()) }

// leave keeps the record, for plimsoll restore.
func (r *record) leave() error { return r.file.Close() }

// sweep removes the VMs of this user's dead runs.
func sweep(ctx context.Context) (said []string, err error) {
	folder, err := fabric.StateFolder(machineName)
	if err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"+recordSuffix))
	if err != nil {
		return nil, err
	}
	for _, name := range files {
		lines, e := sweepOne(ctx, name)
		said, err = append(said, lines...), errors.Join(err, e)
	}
	lines, e := homes.SweepAll(folderPrefix)
	return append(said, lines...), errors.Join(err, e)
}

func sweepOne(ctx context.Context, name string) ([]string, error) {
	f, err := os.OpenFile(name, os.O_RDWR|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil // its run has ended
	}
	defer f.Close() //nolint:errcheck // it was read
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return nil, nil // its run lives
	}
	var r record
	if err := json.NewDecoder(f).Decode(&r); err != nil || r.Prefix == "" || r.Mark == "" {
		return nil, fmt.Errorf("read %s, the record of VMs of a dead run: %w", name, errors.Join(err, errors.New("it is damaged")))
	}
	at, err := live.ParseAddress(r.URL)
	if err != nil {
		return nil, fmt.Errorf("read %s, the record of VMs of a dead run: %w", name, err)
	}
	site, err := appliance.Reopen(ctx, at, r.Folder)
	if err != nil {
		return nil, fmt.Errorf("remove the VMs %s* of a dead run from %s: %w", r.Prefix, at, err)
	}
	removed, err := site.Sweep(ctx, r.Prefix, r.Mark)
	said := make([]string, len(removed))
	for i, vm := range removed {
		said[i] = fmt.Sprintf("removed VM %s of a dead run from %s", vm, at)
	}
	if err = errors.Join(err, site.Close()); err != nil {
		return said, err
	}
	return said, os.Remove(name)
}
