package operation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// Strays lists the configuration files on the datastore of VMs that are not in the inventory.
func (c *client) Strays(ctx context.Context, prefix string) (paths []string, err error) {
	browser, err := c.browser(ctx)
	if err != nil {
		return nil, err
	}
	made, err := methods.SearchDatastoreSubFolders_Task(ctx, c.vim(), &types.SearchDatastoreSubFolders_Task{
		This: browser, DatastorePath: "[" + c.site.store + "]", SearchSpec: &types.HostDatastoreBrowserSearchSpec{MatchPattern: []string{prefix + "*.vmx"}},
	})
	if err != nil {
		return nil, fmt.Errorf("search datastore %s: %w", c.site.store, err)
	}
	info, err := c.tasks.Wait(ctx, made.Returnval)
	if err != nil {
		return nil, fmt.Errorf("search datastore %s: %w", c.site.store, err)
	}
	// The inventory is read after the files: a VM that is being registered is in it by then,
	// or its files count as strays.
	known, err := c.files(ctx)
	if err != nil {
		return nil, err
	}
	found, _ := info.Result.(types.ArrayOfHostDatastoreBrowserSearchResults)
	for _, folder := range found.HostDatastoreBrowserSearchResults {
		for _, f := range folder.File {
			if path := plain(folder.FolderPath + "/" + f.GetFileInfo().Path); !known[path] {
				paths = append(paths, path)
			}
		}
	}
	slices.Sort(paths)
	return paths, nil
}

// plain is the canonical form of a datastore path, "[store] folder/file".
func plain(path string) string {
	store, file, _ := strings.Cut(path, "]")
	parts := strings.FieldsFunc(file, func(r rune) bool { return r == '/' })
	if len(parts) > 0 {
		parts[0] = strings.TrimLeft(parts[0], " ")
	}
	return store + "] " + strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "/")
}

func (c *client) browser(ctx context.Context) (browser reference, err error) {
	objects, err := c.retrieve(ctx, []types.ObjectSpec{{Obj: c.site.disks}}, "Datastore", "browser")
	for _, o := range objects {
		for _, p := range o.PropSet {
			browser, _ = p.Val.(reference)
		}
	}
	if err == nil && browser.Value == "" {
		err = fmt.Errorf("datastore %s cannot be searched: the account may not browse it", c.site.store)
	}
	return browser, err
}

// files are those of the VMs in the datacenter's folder.
func (c *client) files(ctx context.Context) (map[string]bool, error) {
	objects, err := c.below(ctx, c.site.folder, "VirtualMachine", "config.files.vmPathName")
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, o := range objects {
		for _, p := range o.PropSet {
			if path, is := p.Val.(string); is {
				known[plain(path)] = true
			}
		}
	}
	return known, nil
}

// Erase registers the VM of a file, so that the vCenter knows its files, and deletes it.
func (c *client) Erase(ctx context.Context, path string) error {
	known, err := c.files(ctx)
	if err != nil {
		return err
	}
	if known[plain(path)] {
		return fmt.Errorf("%s is of a VM in the inventory", path)
	}
	name := path[strings.LastIndexAny(path, "/ ")+1:]
	task, err := methods.RegisterVM_Task(ctx, c.vim(), &types.RegisterVM_Task{This: c.site.folder, Path: path, Name: strings.TrimSuffix(name, ".vmx"), Pool: &c.site.pool})
	if err != nil {
		return fmt.Errorf("register %s: %w", path, err)
	}
	info, err := c.tasks.Wait(ctx, task.Returnval)
	if err != nil {
		return fmt.Errorf("register %s: %w", path, err)
	}
	vm, is := info.Result.(reference)
	if !is {
		return fmt.Errorf("register %s: the vCenter returned no VM", path)
	}
	gone, err := methods.Destroy_Task(ctx, c.vim(), &types.Destroy_Task{This: vm})
	if err != nil {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	if _, err := c.tasks.Wait(ctx, gone.Returnval); err != nil && !fault.Is(err, &types.ManagedObjectNotFound{}) {
		return fmt.Errorf("delete %s: %w", path, err)
	}
	return nil
}
