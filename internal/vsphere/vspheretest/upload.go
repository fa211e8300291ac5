package vspheretest

import (
	"bytes"
	"io"
	"net/http"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
)

// KeepUploads keeps the files that are uploaded to VMs of a simulator, which itself forgets them. The
// function returns those that have come.
func KeepUploads(m *simulator.Model) func() [][]byte {
	var mu sync.Mutex
	var came [][]byte
	m.Service.ServeMux.HandleFunc("POST /nfc/", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		mu.Lock()
		came = append(came, body)
		mu.Unlock()
		simulator.ServeNFC(w, r)
	})
	return func() [][]byte {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(came)
	}
}
