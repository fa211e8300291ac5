// Package envelope reads and writes the SOAP messages of calls of a plain shape, at a small part of the cost of a
// general reader of XML. What is not plain it leaves to that one: headers, comments, faults,
// and whatever else most calls do not have. What it reads is what the general one reads.
package envelope

import (
	"reflect"
	"strings"
)

const (
	head = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"
	// space is the namespace of the calls.
	space = "urn:vim25"
)

// Request is the message of a call, whose body has the fields Req and Res. It is not ok where it is not plain.
func Request(body any) (text []byte, ok bool) {
	req, name := member(body, "Req")
	if !req.IsValid() || req.IsNil() {
		return nil, false
	}
	return write(`<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><Body>`, name, req.Elem(), `</Body></Envelope>`)
}

// Response is the message of a reply, whose body has the field Res.
func Response(body any) (text []byte, ok bool) {
	res, name := member(body, "Res")
	if !res.IsValid() || res.IsNil() {
		return nil, false
	}
	return write(`<soapenv:Envelope xmlns:soapenc="http://schemas.xmlsoap.org/soap/encoding/" xmlns:soapenv="http://schemas.xmlsoap.org/soap/envelope/" xmlns:xsd="http://www.w3.org/2001/XMLSchema" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><soapenv:Body>`,
		name, res.Elem(), `</soapenv:Body></soapenv:Envelope>`)
}

// member is a field of a body, and the name of its element.
func member(body any, field string) (v reflect.Value, name string) {
	v = reflect.ValueOf(body)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, ""
	}
	f, is := v.Elem().Type().FieldByName(field)
	if !is || f.Type.Kind() != reflect.Pointer || f.Type.Elem().Kind() != reflect.Struct {
		return reflect.Value{}, ""
	}
	name, _, _ = strings.Cut(f.Tag.Get("xml"), ",")
	if of, local, spaced := strings.Cut(name, " "); spaced {
		if name = local; of != space {
			return reflect.Value{}, ""
		}
	}
	if name == "" {
		name = f.Type.Elem().Name()
	}
	return v.Elem().FieldByIndex(f.Index), name
}

func write(open, name string, v reflect.Value, end string) ([]byte, bool) {
	w := writer{text: make([]byte, 0, 512), ok: true}
	w.add(head, open, "<", name, ` xmlns="`, space, `">`)
	w.fields(v)
	w.add("</", name, ">", end)
	return w.text, w.ok
}

// Call reads the message of a call: a pointer to the request, whose type is found by its name.
func Call(text []byte, types func(string) (reflect.Type, bool)) (name string, request any, ok bool) {
	r := &reader{text: text}
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

// Reply reads the message of a reply into the field Res of a body, which it leaves alone where it is not ok.
func Reply(text []byte, body any) (ok bool) {
	res, name := member(body, "Res")
	if !res.IsValid() {
		return false
	}
	r := &reader{text: text}
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
