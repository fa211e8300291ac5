// Package state saves the state of a simulator to a file, and loads it.
//
// The file is a tar archive, compressed by gzip: a header, the objects of the inventory in the
// XML of the API, the content of the managers, and the files of the datastores. It ends with a
// special entry, so that a truncated file is detected.
package state

import (
	"bytes"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// format is the version of the file.
const format = 1

// The entries of the file, in their order.
const (
	headerName = "plimsoll-vcenter.json"
	objectsDir = "objects/"
	partName   = "parts.xml"
	policyName = "policies.xml"
	filesDir   = "files/"
	endName    = "end"
)

// Limits.
const (
	mostFile    = 16 << 20  // bytes of a file of a datastore; larger ones are skipped
	mostEntry   = 512 << 20 // bytes of any other entry
	mostEntries = 4 << 20
	keptTasks   = 200
)

// header is the first entry.
type header struct {
	Format   int       `json:"format"`
	Saved    time.Time `json:"saved"`
	Instance string    `json:"instance"` // of the vCenter
	Folder   string    `json:"folder"`   // former folder of the datastores
	Begun    uint64    `json:"begun"`    // tasks
}

// State is the content of a file.
type State struct {
	header
	objects []types.ObjectContent
	parts   parts
	files   []file
	// Policies are the storage policies, in their own form.
	Policies []byte
}

// file is a file or folder of a datastore.
type file struct {
	name   string
	folder bool
	text   []byte
}

// parts are the content of the managers.
type parts struct {
	XMLName     xml.Name                  `xml:"parts"`
	Fields      []types.CustomFieldDef    `xml:"field"`
	Roles       []types.AuthorizationRole `xml:"role"`
	Permissions []types.Permission        `xml:"permission"`
	//lint:ignore SA5008 govmomi's decoder of XML knows this option.
	Settings   []types.BaseOptionValue `xml:"setting,typeattr"`
	Extensions []types.Extension       `xml:"extension"`
	//lint:ignore SA5008 govmomi's decoder of XML knows this option.
	Events       []types.BaseEvent     `xml:"event,typeattr"`
	Tasks        []types.TaskInfo      `xml:"task"`
	Unregistered []types.ObjectContent `xml:"unregistered"`
	Categories   []labelled            `xml:"category"`
	Tags         []labelled            `xml:"tag"`
	Attached     []attached            `xml:"attached"`
}

// labelled is a tag or a category, in JSON.
type labelled struct {
	ID   string `xml:"id"`
	JSON string `xml:"json"`
}

// attached are the tags of an object.
type attached struct {
	Object types.ManagedObjectReference `xml:"object"`
	Tags   []string                     `xml:"tag"`
}

// Instance identifies the vCenter that was saved.
func (s *State) Instance() string { return s.header.Instance }

// Begun is the number of tasks that it had started.
func (s *State) Begun() uint64 { return s.header.Begun }

// encode writes a value in the XML of the API.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := xml.NewEncoder(&b)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	err := e.Flush()
	return b.Bytes(), err
}

// decode reads it.
func decode(text []byte, into any) (err error) {
	defer func() { // govmomi's decoder panics on values of a wrong type
		if r := recover(); r != nil {
			err = fmt.Errorf("it is not in the XML of the API: %v", r)
		}
	}()
	d := xml.NewDecoder(bytes.NewReader(text))
	d.TypeFunc = types.TypeFunc()
	return d.Decode(into)
}
