package front

import (
	"bytes"
	"log"
	"net/http"
	"reflect"

	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/xml"

	"plimsoll/internal/vsphere/envelope"
)

// plainText is the type of replies, which nobody changes.
var plainText = []string{"text/xml; charset=utf-8"}

// reply writes the reply to a call.
func reply(w http.ResponseWriter, body soap.HasFault) {
	status, content := http.StatusOK, any(&response{body})
	var text []byte
	plain := false
	if f := body.Fault(); f != nil {
		status, content = http.StatusInternalServerError, faulty(f)
	} else {
		text, plain = envelope.Response(body)
	}
	if !plain {
		var err error
		if text, err = general(content); err != nil {
			log.Printf("write the reply %T: %v", body, err)
			w.WriteHeader(http.StatusInternalServerError)
			return
		}
	}
	w.Header()["Content-Type"] = plainText
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

// general is the message encoded by the simulator's general encoder.
func general(content any) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(xml.Header)
	err := xml.NewEncoder(&out).Encode(&message{
		Enc: "http://schemas.xmlsoap.org/soap/encoding/", Env: "http://schemas.xmlsoap.org/soap/envelope/",
		XSD: "http://www.w3.org/2001/XMLSchema", XSI: "http://www.w3.org/2001/XMLSchema-instance", Body: content,
	})
	return out.Bytes(), err
}

type message struct {
	XMLName xml.Name `xml:"soapenv:Envelope"`
	Enc     string   `xml:"xmlns:soapenc,attr"`
	Env     string   `xml:"xmlns:soapenv,attr"`
	XSD     string   `xml:"xmlns:xsd,attr"`
	XSI     string   `xml:"xmlns:xsi,attr"`
	Body    any      `xml:"soapenv:Body"`
}

// response is the body of a reply, in the namespace of the calls.
type response struct{ body soap.HasFault }

// MarshalXML writes the field Res of the body.
func (r *response) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	res := reflect.ValueOf(r.body).Elem().FieldByName("Res")
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	name := xml.Name{Space: "urn:" + vim25.Namespace, Local: res.Type().Elem().Name()}
	if err := e.EncodeElement(res.Interface(), xml.StartElement{Name: name}); err != nil {
		return err
	}
	return e.EncodeToken(start.End())
}

// faulty is the body of a fault reply.
func faulty(f *soap.Fault) any {
	is := &fault{Code: f.Code, String: f.String}
	is.Detail.Fault = &detail{f.Detail.Fault}
	return struct{ Fault *fault }{is}
}

type fault struct {
	XMLName xml.Name `xml:"soapenv:Fault"`
	Code    string   `xml:"faultcode"`
	String  string   `xml:"faultstring"`
	Detail  struct {
		Fault *detail
	} `xml:"detail"`
}

type detail struct{ fault any }

// MarshalXML names the element after the type of the fault.
func (d *detail) MarshalXML(e *xml.Encoder, start xml.StartElement) error {
	kind := reflect.TypeOf(d.fault).Elem().Name()
	start.Name.Local = kind + "Fault"
	start.Attr = append(start.Attr, xml.Attr{Name: xml.Name{Local: "xmlns"}, Value: "urn:" + vim25.Namespace}, xml.Attr{Name: xml.Name{Local: "xsi:type"}, Value: kind})
	return e.EncodeElement(d.fault, start)
}
