// Package vijson serves VI/JSON, the vSphere API in JSON over HTTP: POST
// /sdk/vim25/RELEASE/TYPE/ID/METHOD calls a method, and GET
// /sdk/vim25/RELEASE/TYPE/ID/PROPERTY reads a property. Each call is converted to a SOAP call,
// so both have the same methods, sessions and faults.
package vijson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// Path is the path of the API.
const Path = "/sdk/vim25/"

// sessionHeader is the header with the session of a call, and of the reply to a login.
const sessionHeader = "vmware-api-session-id"

// mostBody is the maximum size of a call in bytes.
const mostBody = 32 << 20

// Handler serves VI/JSON by a SOAP handler.
func Handler(sdk http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		parts := strings.Split(strings.TrimPrefix(r.URL.Path, Path), "/")
		if len(parts) != 4 || parts[0] == "" || parts[1] == "" || parts[2] == "" || parts[3] == "" {
			http.NotFound(w, r)
			return
		}
		c := call{sdk: sdk, w: w, r: r, this: types.ManagedObjectReference{Type: parts[1], Value: parts[2]}}
		switch r.Method {
		case http.MethodPost:
			c.method(parts[3])
		case http.MethodGet:
			c.property(parts[3])
		default:
			w.Header().Set("Allow", "GET, POST")
			http.Error(w, "GET or POST", http.StatusMethodNotAllowed)
		}
	})
}

type call struct {
	sdk  http.Handler
	w    http.ResponseWriter
	r    *http.Request
	this types.ManagedObjectReference
}

// method calls a method with the arguments of the body.
func (c call) method(name string) {
	w, r := c.w, c.r
	kind, known := types.TypeFunc()(name)
	if !known || kind.Kind() != reflect.Struct {
		http.Error(w, "no such method", http.StatusNotFound)
		return
	}
	arguments := reflect.New(kind)
	this := arguments.Elem().FieldByName("This")
	if !this.IsValid() || this.Type() != reflect.TypeFor[types.ManagedObjectReference]() {
		http.Error(w, "no such method", http.StatusNotFound)
		return
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostBody))
	if err == nil && len(bytes.TrimSpace(text)) > 0 {
		err = Decode(text, arguments.Interface())
	}
	if err != nil {
		http.Error(w, "the arguments: "+err.Error(), http.StatusBadRequest)
		return
	}
	this.Set(reflect.ValueOf(c.this))
	c.answer(name, arguments.Interface(), nil)
}

// Decode decodes JSON of the API.
func Decode(text []byte, into any) (err error) {
	defer func() { // govmomi's decoder panics on values of a wrong type
		if recover() != nil {
			err = errors.New("they are not valid JSON of the API")
		}
	}()
	return types.NewJSONDecoder(bytes.NewReader(text)).Decode(into)
}

// property reads a property.
func (c call) property(name string) {
	collector := types.ManagedObjectReference{Type: "PropertyCollector", Value: "propertyCollector"}
	c.answer("RetrievePropertiesEx", &types.RetrievePropertiesEx{This: collector, SpecSet: []types.PropertyFilterSpec{{
		ObjectSet: []types.ObjectSpec{{Obj: c.this}}, PropSet: []types.PropertySpec{{Type: c.this.Type, PathSet: []string{name}}},
	}}}, func(v any) any {
		list, _ := v.(*types.RetrieveResult)
		if list == nil || len(list.Objects) == 0 || len(list.Objects[0].PropSet) == 0 {
			return nil
		}
		return plain(list.Objects[0].PropSet[0].Val)
	})
}

// plain is a list without its type in SOAP.
func plain(v any) any {
	is := reflect.ValueOf(v)
	if is.Kind() == reflect.Struct && strings.HasPrefix(is.Type().Name(), "ArrayOf") && is.NumField() == 1 {
		return is.Field(0).Interface()
	}
	return v
}

// answer makes a SOAP call and sends its reply in JSON.
func (c call) answer(name string, arguments any, change func(any) any) {
	w := c.w
	reply, err := c.pass(name, arguments)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	for _, cookie := range (&http.Response{Header: reply.header}).Cookies() {
		if cookie.Name == soap.SessionCookieName {
			w.Header().Set(sessionHeader, cookie.Value)
		}
	}
	if reply.fault != nil {
		write(w, http.StatusInternalServerError, faultOf(reply.fault))
		return
	}
	value := reflect.Indirect(reply.value).FieldByName("Returnval")
	if !value.IsValid() || (value.Kind() == reflect.Pointer || value.Kind() == reflect.Interface || value.Kind() == reflect.Slice) && value.IsNil() && change == nil {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	v := value.Interface()
	if change != nil {
		if v = change(v); v == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
	}
	text, err := Encode(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	write(w, http.StatusOK, text)
}

func write(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// Encode encodes a value in the JSON of the API.
func Encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case time.Time, *time.Time, string, bool, int16, int32, int64, float32, float64: // without a type
		return json.Marshal(v)
	}
	var b bytes.Buffer
	err := types.NewJSONEncoder(&b).Encode(v)
	return b.Bytes(), err
}

// faultOf is a fault in the JSON of the API.
func faultOf(f *soap.Fault) []byte {
	fields := map[string]any{"_typeName": "RuntimeFault"}
	if f.Detail.Fault != nil {
		if text, err := Encode(f.Detail.Fault); err == nil {
			_ = json.Unmarshal(text, &fields) // the output of Encode
		}
	}
	fields["faultstring"] = f.String
	text, _ := json.Marshal(fields) // maps always encode
	return text
}
