// Package envelope encodes and decodes common SOAP messages at a fraction of the cost of a
// general XML parser. It leaves other messages to that parser: those with headers, comments,
// faults, and other rare elements. For the messages that it accepts, both give the same
// result.
package envelope

import (
	"reflect"
	"strings"
)

const (
	head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	// The namespaces of the calls: vSphere, the default of a body, and storage policies.
	vim = "urn:vim25"
	pbm = "urn:pbm"
)

// Request is the message of a call, whose body has the fields Req and Res. If it is not ok, a
// general encoder is needed. Session is the vSphere session in calls to other endpoints; it is
// empty in calls to vSphere.
func Request(body any, session string) (text []byte, ok bool) {
	w := &writer{text: make([]byte, 0, 768), ok: true}
	w.add(head, `<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">`)
	if session != "" {
		w.add(`<Header><vcSessionCookie xmlns="">`)
		w.escape(session)
		w.add("</vcSessionCookie></Header>")
	}
	w.add("<Body>")
	w.member(body, "Req")
	w.add("</Body></Envelope>")
	return w.text, w.ok
}

// Response is the message of a reply, whose body has the field Res.
func Response(body any) (text []byte, ok bool) {
	w := &writer{text: make([]byte, 0, 768), ok: true}
	w.add(head, `<soapenv:Envelope xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/" xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>`)
	w.member(body, "Res")
	w.add(`</soapenv:Body></soapenv:Envelope>`)
	return w.text, w.ok
}

// member is a field of a body, with the name of its element and its namespace.
func member(body any, field string) (v reflect.Value, space, name string) {
	v = reflect.ValueOf(body)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, "", ""
	}
	f, is := v.Elem().Type().FieldByName(field)
	if !is || f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, "", ""
	}
	space = vim
	name, _, _ = strings.Cut(f.Tag.Get("xml"), ",")
	if of, local, spaced := strings.Cut(name, " "); spaced {
		if space, name = of, local; of != vim && of != pbm {
			return reflect.Value{}, "", ""
		}
	}
	if name == "" {
		name = f.Type.Elem().Name()
	}
	return v.Elem().FieldByIndex(f.Index), space, name
}

// member writes a field of a body.
func (w *writer) member(body any, field string) {
	v, space, name := member(body, field)
	if !v.IsValid() || v.IsNil() {
		w.ok = false
		return
	}
	w.add("<", name, ` xmlns="`, space, `">`)
	w.fields(v.Elem())
	w.add("</", name, ">")
}

// Call decodes the message of a call: a pointer to the request, whose type is looked up by
// name.
func Call(text []byte, types func(string) (reflect.Type, bool)) (name string, request any, ok bool) {
	r := &reader{text: string(text)}
	name = r.open()
	kind, known := types(name)
	if r.failed || !known || kind.Kind() != reflect.Struct {
		return name, nil, false
	}
	v := reflect.New(kind)
	r.fields(v.Elem())
	r.close()
	return name, v.Interface(), !r.failed
}

// Reply decodes the message of a reply into the field Res of a body. The body is unchanged if
// it is not ok.
func Reply(text []byte, body any) (ok bool) {
	res, space, name := member(body, "Res")
	if !res.IsValid() {
		return false
	}
	r := &reader{text: string(text), beside: space == pbm}
	if r.open() != name {
		return false
	}
	v := reflect.New(res.Type().Elem())
	r.fields(v.Elem())
	r.close()
	if !r.failed {
		res.Set(v)
	}
	return !r.failed
}
